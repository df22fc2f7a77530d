package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// display shows a person how a campaign goes, and asks them what it needs. Its
// methods may be called from several goroutines.
type display interface {
	console.Prompter
	// open begins the display.
	open()
	// happened shows an event, in the order of the log.
	happened(e events.Event, payload events.Payload)
	// stands shows where the campaign stands.
	stands(p view.Progress)
	// remark shows a line that is about no event.
	remark(text string)
	// close leaves the terminal as it was.
	close()
}

// feed brings the events of a campaign from the bus to a display.
type feed struct {
	bus  *bus.Bus
	done chan struct{}

	mu      sync.Mutex
	seen    events.Sequence
	changed chan struct{}
}

// startFeed shows the events after a sequence; what came before is only read,
// for the definition. It goes on until close.
func startFeed(
	ctx context.Context, log events.Log, name string, after events.Sequence, d display,
) (*feed, error) {
	f := &feed{
		bus:     bus.New(log, bus.Config{}),
		done:    make(chan struct{}),
		changed: make(chan struct{}),
	}
	messages, err := f.bus.Subscriber("").Subscribe(ctx, name)
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(f.done)
		for message := range messages {
			if e, err := bus.FromMessage(message); err == nil && e.Campaign == name {
				if payload, err := events.Decode(e); err == nil {
					_, defines := payload.(*events.CampaignDefined)
					_, amends := payload.(*events.CampaignAmended)
					if e.Sequence > after || defines || amends {
						d.happened(e, payload)
					}
				}
				f.advance(e.Sequence)
			}
			message.Ack()
		}
	}()
	return f, nil
}

func (f *feed) advance(s events.Sequence) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = s
	close(f.changed)
	f.changed = make(chan struct{})
}

// close waits until the display has shown everything up to a sequence, for at
// most a moment, and ends the feed.
func (f *feed) close(last events.Sequence) {
	limit := time.After(2 * time.Second)
	for waiting := true; waiting; {
		f.mu.Lock()
		seen, changed := f.seen, f.changed
		f.mu.Unlock()
		if seen >= last {
			break
		}
		select {
		case <-changed:
		case <-f.done:
			waiting = false
		case <-limit:
			waiting = false
		}
	}
	_ = f.bus.Close()
	<-f.done
}

// plain is the display of a pipe: a line for each noteworthy event.
type plain struct {
	lines *console.Lines

	mu      sync.Mutex
	out     io.Writer
	story   *view.Story
	after   events.Sequence // what came before was told by an earlier process
	waiting string          // the last wait for a person that was told
	// questions are those open, silent those that nobody here can answer and
	// that is not told yet.
	def       *definition.Campaign
	questions map[string]campaign.Question
	silent    []string
	target    target
	// slow tells of a computation that takes long.
	slow *time.Timer
}

func newPlain(in io.Reader, out io.Writer, after events.Sequence, t target) *plain {
	lines := console.NewLines(in, out, isTerminal(in))
	lines.Size = sizeOf(out)
	return &plain{story: view.NewStory(nil), target: t, lines: lines, out: out, after: after}
}

func (p *plain) open() {}

func (p *plain) happened(e events.Event, payload events.Payload) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := tell(p.story, e, payload)
	if e.Sequence <= p.after {
		return
	}
	for _, line := range lines {
		fmt.Fprintln(p.out, line)
	}
}

// stands tells what a person must do before the campaign goes on.
func (p *plain) stands(now view.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slow != nil {
		p.slow.Stop()
		p.slow = nil
	}
	if c := now.Computing; c.What != "" {
		p.slow = time.AfterFunc(slowComputation,
			func() { p.remark(view.Computing(c.What, c.Since, time.Now())) })
	}
	waiting := ""
	if len(now.Unresolved) > 0 || now.Status == campaign.Paused {
		waiting = now.WaitingFor
	}
	if waiting != "" && waiting != p.waiting {
		fmt.Fprintf(p.out, "waiting for %s\n", waiting)
	}
	p.waiting = waiting
	p.questions, p.def = now.Questions, now.Definition
	p.tellSilent()
}

// slowComputation is after how long a computation is worth a line of its own.
const slowComputation = 5 * time.Second

// tellSilent says how questions that nobody at this terminal can answer are
// answered, once it is known what they ask for.
func (p *plain) tellSilent() {
	p.silent = slices.DeleteFunc(p.silent, func(id string) bool {
		q, open := p.questions[id]
		if open {
			fmt.Fprintln(p.out, elsewhere(id, commandsOn(p.target)(view.AnswerTo(p.def, &q))))
		}
		return open
	})
}

// elsewhere says how something is done that nobody at this terminal can do.
func elsewhere(what, command string) string {
	return what + " waits, and nobody is at this terminal. From another one: " + command
}

func (p *plain) remark(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.out, text)
}

func (p *plain) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slow != nil {
		p.slow.Stop()
	}
}

// Prompt implements console.Prompter. Where the input has ended nobody can
// answer here, but somebody can from another terminal: the form stays open as
// long as it is wanted.
func (p *plain) Prompt(ctx context.Context, f console.Form) (string, error) {
	line, err := p.lines.Prompt(ctx, f)
	if !errors.Is(err, console.ErrClosed) {
		return line, err
	}
	if strings.HasPrefix(f.Key, "q") {
		p.mu.Lock()
		p.silent = append(p.silent, f.Key)
		p.tellSilent()
		p.mu.Unlock()
	} else {
		value := problem.Remedy{Action: problem.Tell, Subject: f.Key}
		p.remark(elsewhere(f.Key, commandFor(value)))
	}
	<-ctx.Done()
	return "", ctx.Err()
}
