package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/console"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/policies"
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
	Campaign string
	Status   campaign.Status
	Done     int // experiments that have an outcome; comparisons made, where nothing is measured
	Open     int // experiments under way
	Budget   int
	Labels   int
	Asked    int
	// Compared counts the comparisons made, which are what a campaign that
	// measures nothing spends; Named the compositions that experts named.
	Compared, Named int
	// Questions are the open questions.
	Questions  map[string]campaign.Question
	Best       *engine.Best
	Preferred  []policies.Best // instead of Best, where nothing is measured
	Definition *definition.Campaign
	Trust      []campaign.Trust
	Helps      []policies.Help
	Failure    string
	WaitingFor string
	// Computing is what has been computed for a while.
	Computing  engine.Computation
	Began      time.Time
	Unresolved []string
	Values     []float64 // what was measured, in order
	// Review looks back at the last choice whose composition was measured.
	Review *events.ChoiceReview
}

func progressOf(core *engine.Core, waitingFor string) progress {
	s := core.State()
	p := progress{
		Campaign: s.Name, Status: s.Status, Definition: s.Definition, Budget: s.Definition.Budget.Experiments,
		Labels: s.Labels(), Asked: s.AskedCount(), Failure: s.Failure, WaitingFor: waitingFor, Began: s.DefinedAt,
	}
	p.Trust = append(p.Trust, s.Trust...)
	p.Compared, p.Named, p.Questions = s.Comparisons(), pinpointed(s), make(map[string]campaign.Question)
	for i := range s.Questions {
		if q := &s.Questions[i]; q.Status == campaign.Asked {
			p.Questions[q.ID] = *q
		}
	}
	if !s.Definition.Measures() {
		p.Budget, p.Done = s.Definition.Budget.Comparisons, compared(s)
	}
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
		p.Best, p.Preferred, p.Helps = summary.Best, summary.Preferred, summary.Helps
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
	return &plain{target: t, lines: lines, out: out, after: after}
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
	if p.slow != nil {
		p.slow.Stop()
		p.slow = nil
	}
	if c := now.Computing; c.What != "" {
		p.slow = time.AfterFunc(slowComputation, func() { p.remark(computingInWords(c.What, c.Since)) })
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

// computingInWords says what is being computed.
func computingInWords(what string, since time.Time) string {
	return fmt.Sprintf("%s since %s", what, clock(since))
}

// tellSilent says how questions that nobody at this terminal can answer are
// answered, once it is known what they ask for.
func (p *plain) tellSilent() {
	p.silent = slices.DeleteFunc(p.silent, func(id string) bool {
		q, open := p.questions[id]
		if open {
			fmt.Fprintf(p.out, "%s waits, and nobody is at this terminal. From another one: %s\n", id, tellAnswer(p.def, &q, p.target))
		}
		return open
	})
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
		p.remark(fmt.Sprintf("%s waits, and nobody is at this terminal. From another one: campaignd tell %s VALUE", f.Key, f.Key))
	}
	<-ctx.Done()
	return "", ctx.Err()
}
