package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
)

// maxLine is the longest line in bytes that is read. A longer one ends the
// input, and the error says so.
const maxLine = 1 << 20

// Lines is a Prompter over plain lines of text. Its methods are safe for concurrent use.
//
// A line that begins with the key of an open form answers that form. Without a key it answers the
// only open form. What happens otherwise depends on who writes the lines:
//
//   - A person at a terminal (interactive) gets an error. In particular, a line that comes when no
//     form is open, or that names a closed one, say just after a question was withdrawn, does not
//     answer the next question, which the person has not seen.
//   - Lines from a file or a pipe were written beforehand. One that begins with a key, such as "e7",
//     waits for that form alone; any other is kept until a form opens, and then answers the form
//     that has been open longest.
//
// No line is lost because a prompt was cancelled while it was being waited for.
type Lines struct {
	in          io.Reader
	interactive bool
	start       sync.Once

	// Size says how many columns and lines the screen has. Nil means 80 columns
	// and no limit of lines. Set it before the first prompt.
	Size func() (width, height int)

	mu     sync.Mutex
	out    io.Writer
	opened sync.Cond           // a form was added to open
	open   []*Pending          // in the order they were asked
	known  map[string]bool     // keys of all forms so far
	early  map[string][]string // lines from a pipe for forms that are not open yet, by their key
	err    error               // the input has ended
	ended  chan struct{}       // closed then
}

// NewLines returns a Prompter that reads in and writes out. Reading begins with
// the first prompt and goes on in one goroutine until in ends.
func NewLines(in io.Reader, out io.Writer, interactive bool) *Lines {
	l := &Lines{in: in, out: out, interactive: interactive, ended: make(chan struct{})}
	l.opened.L = &l.mu
	return l
}

// Prompt implements Prompter.
//
// Lines that came early answer before the end of input counts: a file may be
// read to its end while questions are still to come.
func (l *Lines) Prompt(ctx context.Context, f Form) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	p := NewPending(f)
	if waits, err := l.ask(p); !waits {
		return "", err
	}
	l.start.Do(func() { go l.read() })
	line, err := p.Wait(ctx, l.ended, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.remove(p) { // else a line, or the end of input, was quicker than the context
			l.say("%s is no longer asked.", f.Key)
		}
	})
	if errors.Is(err, ErrClosed) {
		err = l.err // set before ended was closed
	}
	return line, err
}

// ask shows a form and opens it, unless lines that came early fill it in. It reports whether
// there is something to wait for.
func (l *Lines) ask(p *Pending) (waits bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = make(map[string]bool)
	}
	l.known[p.Form.Key] = true
	for line, ok := l.takeEarly(p.Form); ok; line, ok = l.takeEarly(p.Form) {
		if p.Take(line) {
			return true, nil
		}
	}
	if l.err != nil {
		if p.Form.Problem != "" { // with the last line: say what became of it
			l.show(p.Form)
		}
		return false, l.err
	}
	l.open = append(l.open, p)
	l.show(p.Form)
	l.opened.Signal()
	return true, nil
}

// read hands out lines until the input ends. Prompts that come later find err
// and do not wait.
//
// There is one reader for all prompts: two would take lines from each other,
// and one that waits for input cannot be stopped.
func (l *Lines) read() {
	s := bufio.NewScanner(l.in)
	s.Buffer(nil, maxLine)
	for s.Scan() {
		l.deliver(strings.TrimSpace(clean(s.Text())))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = ErrClosed
	if err := s.Err(); err != nil {
		l.err = fmt.Errorf("%w: %w", ErrClosed, err)
	}
	l.open = nil
	close(l.ended)
}

// deliver gives a line to the form it answers. With lines of a pipe it waits
// until something is asked, which stops reading: the pipe holds the rest.
func (l *Lines) deliver(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.named(line) {
		return
	}
	for len(l.open) == 0 && !l.interactive {
		l.opened.Wait()
	}
	if blank := len(l.open) > 0 && l.open[0].Form.Blank &&
		(len(l.open) == 1 || !l.interactive); line == "" && !blank {
		if l.interactive {
			for _, p := range l.open {
				whole := p.Form
				whole.Problem, whole.Brisk = "", nil
				l.show(whole)
			}
		}
		return
	}
	key, rest, _ := strings.Cut(line, " ")
	for _, p := range l.open {
		if p.Form.Key != "" && strings.TrimSuffix(key, ":") == p.Form.Key {
			l.give(p, strings.TrimSpace(rest))
			return
		}
	}
	switch {
	case len(l.open) == 1 || len(l.open) > 1 && !l.interactive:
		l.give(l.open[0], line)
	case len(l.open) == 0:
		l.say("Nothing is asked at the moment; %q was not used.", line)
	default:
		var keys []string
		for _, p := range l.open {
			keys = append(keys, p.Form.Key)
		}
		l.say("Several things are asked; begin the line with %s.", strings.Join(keys, " or "))
	}
}

// keyed is a line that begins with the key of an experiment or a question.
var keyed = regexp.MustCompile(`^([eq][0-9]+):?(?: +(.*))?$`)

// named handles a line that names a form which is not open: it must not answer another one. From a
// pipe it is kept for its form; a person is told that it is too late. It reports whether the line
// is done with.
func (l *Lines) named(line string) bool {
	parts := keyed.FindStringSubmatch(line)
	if parts == nil {
		return false
	}
	key, rest := parts[1], parts[2]
	isOpen := slices.ContainsFunc(l.open, func(p *Pending) bool { return p.Form.Key == key })
	switch {
	case isOpen, l.interactive && !l.known[key]:
		return false
	case l.interactive:
		l.say("%s is not asked any more; %q was not used.", key, line)
		return true
	}
	if l.early == nil {
		l.early = make(map[string][]string)
	}
	l.early[key] = append(l.early[key], rest)
	return true
}

// takeEarly returns the line that was kept for a form, which is shown with it.
// The caller holds mu, so that the form and the line that answers it stand
// together on the screen.
func (l *Lines) takeEarly(f Form) (line string, ok bool) {
	kept := l.early[f.Key]
	if len(kept) == 0 {
		return "", false
	}
	l.early[f.Key] = kept[1:]
	l.show(f)
	return kept[0], true
}

// give passes a line to an open form, with the lock held. [Form.Then] must
// therefore not prompt itself.
func (l *Lines) give(p *Pending, line string) {
	if !p.Take(line) {
		l.show(p.Form)
		return
	}
	l.remove(p)
}

// remove reports whether p was open. False means that a line or the end of input
// has reached it.
func (l *Lines) remove(p *Pending) bool {
	k := slices.Index(l.open, p)
	if k < 0 {
		return false
	}
	l.open = slices.Delete(l.open, k, k+1)
	return true
}

// show writes a form: the whole of it, or only the fault of the last answer and the next question.
// On a low screen the body is shortened first, then title and hint; the background information
// scrolls away above, since the line to fill in must stay in sight.
func (l *Lines) show(f Form) {
	width, height := 80, math.MaxInt
	if l.Size != nil {
		width, height = l.Size()
	}
	width = max(width, 20)
	if f.Problem != "" {
		for i, line := range Wrap(f.Problem, width-len(indent)) {
			if i == 0 {
				line = f.Key + "> " + line
			} else {
				line = indent + line
			}
			l.say("%s", line)
		}
	}
	for i, line := range f.Brisk.Lines(width - len(indent)) {
		head := f.Key + "> "
		if i > 0 || f.Problem != "" {
			head = indent
		}
		l.say("%s%s", head, line)
	}
	if f.Problem != "" || f.Brisk != nil {
		return
	}
	// The options come last, next to where the person types.
	if more := f.More.Lines(width - len(indent)); len(more) > 0 {
		l.say("\n%s  to help you judge:", f.Key)
		for _, line := range more {
			l.say("%s%s", indent, line)
		}
	}
	title := hanging(f.Key+"  ", f.Title, width)
	hint := hanging(f.Key+"> ", f.Hint, width)
	room := height - len(title) - 1 // and the line that is typed
	body, tight := f.Body.Within(width-len(indent), room-len(hint)), false
	if len(body)+len(hint) > room && f.Brief != "" {
		title = []string{format.Shorten(f.Key+"  "+f.Title, width)}
		hint = hanging(f.Key+"> ", f.Brief, width)
		room = height - len(title) // typed text stands behind the hint
		body = f.Body.Within(width-len(indent), room-len(hint))
		tight = true
	}
	l.say("\n%s", title[0])
	for _, line := range title[1:] {
		l.say("%s", line)
	}
	for _, line := range body {
		l.say("%s%s", indent, line)
	}
	for i, line := range hint {
		if tight && i == len(hint)-1 {
			_, _ = io.WriteString(l.out, plaintext.Line(line)+" ")
			break
		}
		l.say("%s", line)
	}
}

// indent stands before what belongs to a form.
const indent = "    "

// hanging breaks a text after a heading of its own. Further lines are indented
// alike, however long the heading is, so that all that belongs to a form stands
// in one column.
func hanging(head, text string, width int) []string {
	lines := Wrap(text, width-utf8.RuneCountInString(head))
	if lines == nil {
		return []string{head}
	}
	for i := range lines {
		if i == 0 {
			lines[i] = head + lines[i]
		} else {
			lines[i] = indent + lines[i]
		}
	}
	return lines
}

// say writes a line. A failing output is ignored: no other way reaches the person.
func (l *Lines) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	blank := strings.HasPrefix(text, "\n")
	text = plaintext.Line(strings.TrimPrefix(text, "\n"))
	if blank {
		text = "\n" + text
	}
	_, _ = io.WriteString(l.out, text+"\n")
}
