package app

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
	"github.com/campaignd/campaignd/internal/view"
)

// live is the display of a terminal: a panel at the bottom that is drawn anew,
// events in words that scroll away above it, and, while something is asked, a
// form with a line to fill in.
//
// The campaign's goroutines send messages to the panel, a model of Bubble Tea
// that changes in one goroutine only. Events and forms are sent as they come;
// progress, which comes often, is overwritten until the panel takes it.
type live struct {
	program *tea.Program
	out     io.Writer
	done    chan struct{} // closed when the program has left the terminal

	mu     sync.Mutex
	opened bool
	early  []string // remarks from before open, printed by it or by close
	story  *teller
	after  events.Sequence
	review *events.ChoiceReview // the latest review of an expert's choice
	// newest is the progress that the panel has not taken yet: the engine's
	// loop must not wait for a terminal.
	newest  *view.Campaign
	waiting chan struct{} // holds one token while newest is not taken
	closing sync.Once
}

// newLive returns a display on a terminal. Events up to after are not shown.
// interrupt is called at each Ctrl-C: the terminal is in raw mode, so that the
// key sends no signal. The width of 80 holds until the terminal has said its
// own.
func newLive(in io.Reader, out io.Writer, after events.Sequence, interrupt func()) *live {
	l := &live{
		out:     out,
		after:   after,
		done:    make(chan struct{}),
		waiting: make(chan struct{}, 1),
	}
	model := &panel{began: time.Now(), now: time.Now(), width: 80, interrupt: interrupt}
	l.story = newTeller(nil, func(lines []string) { l.program.Send(linesMsg(lines)) })
	l.program = tea.NewProgram(model, tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())
	return l
}

// open implements display. It starts the panel, and a goroutine that gives it
// the newest progress; both end with close.
//
// The second goroutine is the only one that sends progress, so that a slow
// terminal never has more than one waiting.
func (l *live) open() {
	l.mu.Lock()
	l.opened = true
	early := l.early
	l.mu.Unlock()
	go func() {
		defer close(l.done)
		_, _ = l.program.Run() // a terminal that is gone must not end the campaign
	}()
	go func() {
		for {
			select {
			case <-l.waiting:
			case <-l.done:
				return
			}
			l.mu.Lock()
			p := *l.newest
			p.Review = l.review
			l.mu.Unlock()
			l.program.Send(p)
		}
	}()
	if len(early) > 0 {
		l.program.Send(linesMsg(early))
	}
}

// happened implements display. Send blocks while the panel is busy: it is called
// by the feed, which may wait.
func (l *live) happened(e events.Event, payload events.Payload) {
	if d, ok := payload.(*events.DecisionMade); ok && d.Review != nil {
		l.mu.Lock()
		l.review = d.Review
		l.mu.Unlock()
	}
	l.story.tell(e, payload, e.Sequence <= l.after)
}

// stands implements display. An older progress that was not taken yet is
// replaced: only the newest is worth drawing.
func (l *live) stands(p view.Campaign) {
	l.mu.Lock()
	l.newest = &p
	l.mu.Unlock()
	select {
	case l.waiting <- struct{}{}:
	default:
	}
}

// remark implements display. A text before open waits: the panel is not there yet, and a line
// printed now would be drawn over.
func (l *live) remark(text string) {
	l.mu.Lock()
	opened := l.opened
	if !opened {
		l.early = append(l.early, text)
	}
	l.mu.Unlock()
	if opened {
		l.program.Send(linesMsg{text})
	}
}

// close implements display. A panel that does not leave the terminal within two
// seconds, because the terminal itself has stopped, is killed: the program has
// to end.
func (l *live) close() {
	l.closing.Do(func() {
		l.mu.Lock()
		opened, early := l.opened, l.early
		l.mu.Unlock()
		if !opened { // the adapters' messages explain why
			for _, text := range early {
				fmt.Fprintln(l.out, plaintext.Text(text))
			}
			return
		}
		l.story.rest()
		l.program.Send(closeMsg{})
		select {
		case <-l.done:
		case <-time.After(2 * time.Second):
			l.program.Kill()
			<-l.done
		}
	})
}

// Prompt implements console.Prompter: it opens a form in the panel and waits
// until the person has filled it in. Several may be open; they are answered one
// after another. ErrClosed is returned when the terminal is gone.
func (l *live) Prompt(ctx context.Context, f console.Form) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	asked := &openForm{Pending: console.NewPending(f)}
	l.program.Send(asked)
	return asked.Wait(ctx, l.done, func() {
		// Only once the panel has confirmed that the form is gone is it known whether the
		// person filled it in at the same moment.
		taken := make(chan struct{})
		l.program.Send(takeAway{asked, taken})
		select {
		case <-taken:
		case <-l.done:
		}
	})
}

// Messages to the panel, besides progress: lines to print above it, a form to
// open, one to take away (taken is closed once that is done), the clock, that
// lines were printed, and that the display closes.
type (
	linesMsg []string
	openForm struct {
		*console.Pending
		input []rune // the typed text so far
	}
	takeAway struct {
		form  *openForm
		taken chan<- struct{}
	}
	tickMsg    time.Time
	printedMsg struct{}
	closeMsg   struct{}
)

// panel is the model of the program. It is used by Bubble Tea's goroutine only: every change
// happens in Update.
type panel struct {
	interrupt func()
	// began is when the display began, now the last tick: View reads no clock.
	began, now time.Time
	width      int
	height     int // 0 while it is not known
	page       int // of the front form, while it is paged through; 0: none
	progress   view.Campaign
	known      bool // progress holds something
	doneBefore int  // experiments done when it was first known
	forms      []*openForm
	leaving    bool // Ctrl-C was pressed
	closing    bool

	// Lines are printed one batch at a time: Bubble Tea runs commands at the
	// same time, and two batches could change places.
	lines    []string
	printing bool
}

// Init implements tea.Model.
func (p *panel) Init() tea.Cmd { return tick() }

// tick brings the next tickMsg. Five times a second is enough for clocks that
// count seconds, and costs a remote connection little.
func tick() tea.Cmd {
	return tea.Tick(200*time.Millisecond, func(t time.Time) tea.Msg { return tickMsg(t) })
}

// Update implements tea.Model.
//
// It returns p itself: the model is a pointer and changes in place, which is
// safe because Bubble Tea calls Update and View in one goroutine.
func (p *panel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		// Narrower than this nothing readable can be drawn.
		p.width, p.height = max(msg.Width, 20), msg.Height
	case tickMsg:
		p.now = time.Time(msg)
		return p, tick()
	case view.Campaign:
		if !p.known {
			p.known, p.doneBefore = true, msg.Done
		}
		p.progress = msg
	case linesMsg:
		p.lines = append(p.lines, msg...)
		return p, p.print()
	case printedMsg:
		p.printing = false
		return p, p.print()
	case *openForm:
		// The person has just typed into this form and gets it back with its fault: it stays in
		// front.
		if msg.Form.Problem != "" { // asked again: it stays where it was
			p.forms = slices.Insert(p.forms, 0, msg)
		} else {
			p.forms = append(p.forms, msg)
		}
		if p.forms[0] == msg {
			p.page = 0
		}
	case takeAway:
		if len(p.forms) > 0 && p.forms[0] == msg.form {
			p.page = 0
		}
		p.forms = slices.DeleteFunc(p.forms, func(f *openForm) bool { return f == msg.form })
		close(msg.taken)
	case closeMsg:
		p.closing = true
		return p, p.print()
	case tea.PasteMsg:
		p.insert(msg.Content)
	case tea.KeyPressMsg:
		p.key(msg)
	}
	return p, nil
}

// print prints the waiting lines above the panel, and quits after the last of
// them when the display closes.
//
// printedMsg comes once the terminal has the batch, and leads to the next one.
func (p *panel) print() tea.Cmd {
	if p.printing {
		return nil
	}
	if len(p.lines) == 0 {
		if p.closing {
			return tea.Quit
		}
		return nil
	}
	// Lines are broken here: the terminal would break them anywhere, and the drawing below would
	// not know of it.
	text := ansi.Wrap(plaintext.Text(strings.Join(p.lines, "\n")), p.width, "")
	p.lines, p.printing = nil, true
	return tea.Sequence(tea.Println(text), func() tea.Msg { return printedMsg{} })
}

// key handles a key press. Enter fills the form in; an empty line does so only
// where the form allows it, so that Enter alone never answers by mistake. Tab
// turns to the next form.
func (p *panel) key(k tea.KeyPressMsg) {
	if k.String() == "ctrl+c" {
		p.leaving = true
		p.interrupt()
		return
	}
	if len(p.forms) == 0 {
		return
	}
	f := p.forms[0]
	switch k.String() {
	case "enter":
		line := strings.TrimSpace(string(f.input))
		f.input = nil
		more := strings.EqualFold(line, f.word())
		_, hidden := p.asked(f, p.rows())
		switch {
		// The word for "more" turns pages only where something is hidden:
		// elsewhere it may be an answer.
		case p.page > 0 && (more || line == ""), more && hidden:
			p.turn()
		case line != "", f.Form.Blank:
			p.page = 0
			if f.Take(line) {
				p.forms = p.forms[1:]
			}
		}
	case "backspace", "ctrl+h":
		if n := len(f.input); n > 0 {
			f.input = f.input[:n-1]
		}
	case "ctrl+u":
		f.input = nil
	case "ctrl+w":
		text := strings.TrimRight(string(f.input), " ")
		f.input = []rune(text[:strings.LastIndexByte(text, ' ')+1])
	case "tab":
		p.page = 0
		p.forms = append(p.forms[1:], f)
	default:
		p.insert(k.Text)
	}
}

// insert types text into the form at the front. Line ends and tabs within
// pasted text become blanks, so that a column of numbers from a spreadsheet is
// one answer. What could steer the terminal is dropped.
func (p *panel) insert(text string) {
	if len(p.forms) == 0 {
		return
	}
	for _, r := range strings.TrimRight(text, "\r\n") {
		if r == '\n' || r == '\t' {
			r = ' '
		}
		if r >= ' ' && !plaintext.Unsafe(r) {
			p.forms[0].input = append(p.forms[0].input, r)
		}
	}
}
