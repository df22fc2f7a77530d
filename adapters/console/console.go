// Package console asks a person something in the terminal that runs the campaign, for the adapters:
// an instrument that a person reads, an expert who accepts or rejects. One [Prompter] serves all of
// them; the program's own screen implements it, and [Lines] does so with plain lines of text.
package console

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/internal/ground/plaintext"
)

// ErrClosed is wrapped by the errors of prompts that cannot be answered any
// more because the input has ended.
var ErrClosed = errors.New("nobody is at the terminal: its input has ended")

// Prompter asks a person for one line of text.
type Prompter interface {
	// Prompt shows the form and waits for a line from the person, which it
	// returns without its end, or for as many as it takes: see [Form.Then]. Any
	// number of prompts may be open at once; each line goes to exactly one of
	// them. When ctx is done, the form is removed and the context's error
	// returned, unless a line was already given to the form: then that line is
	// returned. The error wraps [ErrClosed] when no line can come.
	Prompt(ctx context.Context, f Form) (string, error)
}

// PromptFunc is a function used as a Prompter.
type PromptFunc func(ctx context.Context, f Form) (string, error)

// Prompt implements Prompter.
func (p PromptFunc) Prompt(ctx context.Context, f Form) (string, error) { return p(ctx, f) }

// Form is a question to a person, with a line to fill in.
type Form struct {
	// Key is a short word for the question, for example "e7" or "q3". It is different for each open
	// form; a line may begin with it to name the form that it answers.
	Key string
	// Title is the question in one line.
	Title string
	// Body is the information without which the person cannot answer. It is always shown whole,
	// next to the line to fill in.
	Body Text
	// More helps to judge. It is shown above Body where there is room for both,
	// otherwise when the person asks for it with the word Page.
	More Text
	// Page is "m" where it is empty.
	Page string
	// Hint says what may be entered, Brief the same in a few words, for a
	// screen with little room.
	Hint, Brief string
	// Problem is set where the form is shown again because the last line was
	// not understood: it says why, and what to enter instead. It may be shown
	// alone.
	Problem string
	// Expires is when the form will be removed; zero means at no known time.
	Expires time.Time
	// Then is set where several lines fill the form in. It takes the next line,
	// and returns the form that is shown next, in the same place and under the
	// same key, or nil and the line that stands for all of them, which is the
	// answer. It is called for one line at a time, while the prompt is open.
	Then func(line string) (all string, next *Form)
	// Blank is set where an empty line says something too.
	Blank bool
	// Brisk is the next question in short, where the form before it can still be seen above: it may
	// be shown in place of the whole.
	Brisk Text
}

// Pending is a form that is open at a prompter, which gives it what the person types.
type Pending struct {
	Form Form
	line chan string // has room for the one line that it gets
}

// NewPending opens a form.
func NewPending(f Form) *Pending { return &Pending{f, make(chan string, 1)} }

// Take gives the form a line, and reports whether it is filled in: the line, or the one that
// stands for all, is sent then, which never waits. Otherwise the form that follows has replaced
// the one that was shown, under the same key and in its place among the others.
func (p *Pending) Take(line string) bool {
	if p.Form.Then != nil {
		all, next := p.Form.Then(line)
		if next != nil {
			p.Form = *next
			return false
		}
		line = all
	}
	p.line <- line
	return true
}

// Wait returns the line that fills the form in. Where ctx is done first, remove takes the form
// from the prompter; ended is closed where no line can come any more. A line that was given by then
// is not thrown away.
func (p *Pending) Wait(ctx context.Context, ended <-chan struct{}, remove func()) (string, error) {
	err := ErrClosed
	select {
	case line := <-p.line:
		return line, nil
	case <-ended:
	case <-ctx.Done():
		remove()
		err = ctx.Err()
	}
	select {
	case line := <-p.line:
		return line, nil
	default:
		return "", err
	}
}

// Text writes lines of at most width characters and, where possible, at most height of them. A word
// longer than the width gets a longer line of its own. A nil Text writes nothing.
type Text func(width, height int) []string

// Lines writes the text for a screen of any height.
func (t Text) Lines(width int) []string { return t.Within(width, math.MaxInt) }

// Within writes the text.
func (t Text) Within(width, height int) []string {
	if t == nil {
		return nil
	}
	return t(width, height)
}

// Sentences are broken between words, each from the beginning of a line.
func Sentences(sentences ...string) Text {
	return func(width, _ int) []string {
		var lines []string
		for _, s := range sentences {
			lines = append(lines, Wrap(s, width)...)
		}
		return lines
	}
}

// Join is one text after the other. Spare height goes to the first text that
// can use it.
//
// Every text is first written as long as it likes; only where all do not fit is
// the first made shorter, then the next, so that what comes last, nearest to
// the line to fill in, is cut last.
func Join(texts ...Text) Text {
	return func(width, height int) []string {
		written, total := make([][]string, len(texts)), 0
		for i, t := range texts {
			written[i] = t.Lines(width)
			total += len(written[i])
		}
		for i, t := range texts {
			if total <= height {
				break
			}
			total -= len(written[i])
			written[i] = t.Within(width, max(height-total, 0))
			total += len(written[i])
		}
		return slices.Concat(written...)
	}
}

// Shortest is the first of several ways to say the same that is short enough,
// or else the shortest. The ways come from the one that says most; later ones are
// not written once one fits.
func Shortest(ways ...Text) Text {
	return func(width, height int) (best []string) {
		for i, way := range ways {
			lines := way.Within(width, height)
			if i == 0 || len(lines) < len(best) {
				best = lines
			}
			if len(lines) <= height {
				return lines
			}
		}
		return best
	}
}

// clean makes a person's input one line of text: control characters, and those that change its
// direction, become spaces. It is recorded and shown to others, whose terminals it must not be able
// to control.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || plaintext.Unsafe(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
}
