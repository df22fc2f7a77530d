package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/internal/console"
	"github.com/campaignd/campaignd/internal/engine"
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
	stands(p progress)
	// remark shows a line that is about no event.
	remark(text string)
	// close leaves the terminal as it was.
	close()
}

// progress is where a campaign stands.
type progress struct {
	Campaign   string
	Status     campaign.Status
	Done       int // experiments that have an outcome
	Open       int // experiments under way
	Budget     int
	Labels     int
	Asked      int
	Best       *engine.Best
	Definition *events.Definition
	Trust      []campaign.Trust
	Failure    string
	WaitingFor string
	Began      time.Time
	Unresolved []string
	Values     []float64 // what was measured, in order
}

func progressOf(core *engine.Core, waitingFor string) progress {
	s := core.State()
	p := progress{
		Campaign: s.Name, Status: s.Status, Definition: s.Definition, Budget: s.Definition.Budget.Experiments,
		Labels: s.Labels(), Asked: s.AskedCount(), Failure: s.Failure, WaitingFor: waitingFor, Began: s.DefinedAt,
	}
	p.Trust = append(p.Trust, s.Trust...)
	for i := range s.Experiments {
		x := &s.Experiments[i]
		switch {
		case x.Origin == events.OriginImport || x.Status.CalledOff():
		case x.Status.Open():
			p.Open++
		default:
			p.Done++
		}
		if x.Status == campaign.Unresolved {
			p.Unresolved = append(p.Unresolved, x.ID)
		}
		if x.Measurement != nil && !x.Excluded {
			p.Values = append(p.Values, x.Measurement.Objective.Value)
		}
	}
	if summary, err := core.Summarize(); err == nil {
		p.Best = summary.Best
	}
	return p
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
func startFeed(ctx context.Context, log events.Log, name string, after events.Sequence, d display) (*feed, error) {
	f := &feed{bus: bus.New(log, bus.Config{}), done: make(chan struct{}), changed: make(chan struct{})}
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

	mu       sync.Mutex
	out      io.Writer
	narrator narrator
	after    events.Sequence // what came before was told by an earlier process
	waiting  string          // the last wait for a person that was told
}

func newPlain(in io.Reader, out io.Writer, after events.Sequence) *plain {
	return &plain{lines: console.NewLines(in, out, isTerminal(in)), out: out, after: after}
}

func (p *plain) open() {}

func (p *plain) happened(e events.Event, payload events.Payload) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := p.narrator.tell(e, payload)
	if e.Sequence <= p.after {
		return
	}
	for _, line := range lines {
		fmt.Fprintln(p.out, line)
	}
}

// stands tells what a person must do before the campaign goes on.
func (p *plain) stands(now progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting := ""
	if len(now.Unresolved) > 0 || now.Status == campaign.Paused {
		waiting = now.WaitingFor
	}
	if waiting != "" && waiting != p.waiting {
		fmt.Fprintf(p.out, "waiting for %s\n", waiting)
	}
	p.waiting = waiting
}

func (p *plain) remark(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.out, text)
}

func (p *plain) close() {}

// Prompt implements console.Prompter. Where the input has ended nobody can
// answer here, but somebody can from another terminal: the form stays open as
// long as it is wanted.
func (p *plain) Prompt(ctx context.Context, f console.Form) (string, error) {
	line, err := p.lines.Prompt(ctx, f)
	if !errors.Is(err, console.ErrClosed) {
		return line, err
	}
	what := "VALUE"
	if strings.HasPrefix(f.Key, "q") {
		what = "accept|reject|unsure"
	}
	p.remark(fmt.Sprintf("%s waits, and nobody is at this terminal. From another one: campaignd tell %s %s", f.Key, f.Key, what))
	<-ctx.Done()
	return "", ctx.Err()
}
