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
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// display shows a person the course of a campaign, and asks them for its needs. There are two: live
// draws in a terminal, plain prints lines. Its methods may be called from several goroutines: the
// engine's loop, the feed, and each adapter that asks something.
type display interface {
	console.Prompter
	// open begins the display. What is remarked before it is kept or printed,
	// and nothing else happens before.
	open()
	// happened shows an event. It is called in the order of the log, from the
	// first event on, because the story of later ones needs the earlier.
	happened(e events.Event, payload events.Payload)
	// stands shows where the campaign stands. It must not block: the engine's
	// loop calls it.
	stands(p view.Campaign)
	// remark shows a line that is about no event.
	remark(text string)
	// close leaves the terminal as it was. It may be called twice, and before
	// open.
	close()
}

// feed brings the events of a campaign to a display, in a goroutine of its own, so that a slow
// terminal does not hold up the campaign. It follows the log like any other reader: a display shows
// recorded events, never intentions.
type feed struct {
	end  context.CancelFunc
	done chan struct{} // closed once nothing more is shown

	// seen is the last event that was shown; changed is closed, and replaced,
	// each time it moves.
	mu      sync.Mutex
	seen    events.Sequence
	changed chan struct{}
}

// startFeed shows the events after a sequence, the ones that this process adds.
// Earlier ones are only read: the display needs the definition and its
// amendments to know units and names. The feed goes on until close.
//
// An amendment among the earlier events is shown to the display as well, which
// leaves out its line by its own `after`.
func startFeed(
	ctx context.Context, log events.Log, name string, after events.Sequence, d display,
) *feed {
	ctx, end := context.WithCancel(ctx)
	f := &feed{end: end, done: make(chan struct{}), changed: make(chan struct{})}
	go func() {
		defer close(f.done)
		// What ends the log ends the run, which says so.
		_ = followCampaign(ctx, log, name, func(e events.Event) error {
			// An event that cannot be read is not worth ending a run for: it is
			// left out of the display, and stays in the log.
			if payload, err := events.Decode(e); err == nil {
				_, defines := payload.(*events.CampaignDefined)
				_, amends := payload.(*events.CampaignAmended)
				if e.Sequence > after || defines || amends {
					d.happened(e, payload)
				}
			}
			f.advance(e.Sequence)
			return nil
		})
	}()
	return f
}

// errFollowed ends [followCampaign] without an error.
var errFollowed = errors.New("nothing more is to come")

// followCampaign hands on the events of a campaign, those that are there and
// further ones, until take fails or ctx is done.
//
// It starts at the first event of the log, since a campaign's own events may
// stand anywhere in it.
func followCampaign(
	ctx context.Context, log events.Log, name string, take func(events.Event) error,
) error {
	for e, err := range log.Follow(ctx, 0) {
		if err == nil && e.Campaign == name {
			err = take(e)
		}
		if err != nil {
			if errors.Is(err, errFollowed) {
				return nil
			}
			return err
		}
	}
	return nil
}

// advance notes that everything up to a sequence is shown, and wakes close.
func (f *feed) advance(s events.Sequence) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = s
	close(f.changed)
	f.changed = make(chan struct{})
}

// close waits until the display has shown everything up to a sequence, for two
// seconds at most, and ends the feed. Without the wait the summary would be
// printed above the last events.
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
	f.end()
	<-f.done
}

// plain is the display without a terminal: a line for each event worth reading. Questions are asked
// on the lines of standard input, if it has any.
//
// mu guards the state that the loop, the feed and adapters touch; lines has a lock of its own.
type plain struct {
	lines *console.Lines
	story *teller

	mu      sync.Mutex
	out     io.Writer
	after   events.Sequence // an earlier process printed the events before
	waiting string          // the last wait for a person that was printed
	// now is the state of the campaign. silent names the open questions that no one can answer at
	// this input, and for which the way to answer from elsewhere has not been printed yet.
	now    view.Campaign
	silent []string
	target target
	// slow prints, once it fires, which computation takes so long.
	slow *time.Timer
}

// newPlain returns a display that prints to out. Events up to after are not
// printed.
func newPlain(in io.Reader, out io.Writer, after events.Sequence, t target) *plain {
	lines := console.NewLines(in, out, isTerminal(in))
	lines.Size = sizeOf(out)
	p := &plain{target: t, lines: lines, out: out, after: after}
	p.story = newTeller(nil, func(lines []string) { p.remark(strings.Join(lines, "\n")) })
	return p
}

// open implements display: lines need no preparation.
func (p *plain) open() {}

// happened implements display. The story is brought forward by all events, and
// printed from those that are new.
func (p *plain) happened(e events.Event, payload events.Payload) {
	p.story.tell(e, payload, e.Sequence <= p.after)
}

// stands prints a person's tasks before the campaign goes on, once each time they change.
func (p *plain) stands(now view.Campaign) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slow != nil {
		p.slow.Stop()
		p.slow = nil
	}
	if c := now.Computing; c.What != "" {
		p.slow = time.AfterFunc(slowComputation,
			func() { p.remark(view.Computing(c.What, c.Since, clock.Now())) })
	}
	// A campaign waits for instruments all the time, so that is not worth a line. Only matters that
	// a person has to act on are printed.
	waiting := ""
	if len(now.Unresolved) > 0 || now.Status == campaign.Paused || now.Starved() {
		waiting = now.WaitingFor
	}
	if waiting != "" && waiting != p.waiting {
		fmt.Fprintf(p.out, "waiting for %s\n", waiting)
	}
	p.waiting = waiting
	p.now = now
	p.tellSilent()
}

// slowComputation is after how long a computation is worth a line of its own:
// shorter ones pass while a person reads.
const slowComputation = 5 * time.Second

// tellSilent prints how the questions in p.silent are answered from another terminal. A question is
// asked before the display knows its content, so each waits in p.silent until stands has brought
// it. p.mu is held.
func (p *plain) tellSilent() {
	p.silent = slices.DeleteFunc(p.silent, func(id string) bool {
		open := p.now.Questions
		i := slices.IndexFunc(open, func(q campaign.Question) bool { return q.ID == id })
		if i >= 0 {
			answer := view.AnswerTo(p.now.Definition, &open[i])
			fmt.Fprintln(p.out, elsewhere(id, commandsOn(p.target)(answer)))
		}
		return i >= 0
	})
}

// elsewhere says how something is done that no one at this input can do.
func elsewhere(what, command string) string {
	return what + " waits, and its input here has ended. From another terminal: " + command
}

// remark implements display.
func (p *plain) remark(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.out, text)
}

// close implements display.
func (p *plain) close() {
	p.story.rest()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slow != nil {
		p.slow.Stop()
	}
}

// Prompt implements console.Prompter. Where the input has ended no one can answer here, but someone
// can from another terminal: the form stays open until ctx says that it is no longer wanted.
//
// It never returns an answer that no one has typed: the end of the input does not mean "can't
// tell".
func (p *plain) Prompt(ctx context.Context, f console.Form) (string, error) {
	line, err := p.lines.Prompt(ctx, f)
	if !errors.Is(err, console.ErrClosed) {
		return line, err
	}
	// The keys of questions are q1, q2, …, those of acts a1, a2, …; other forms ask for the
	// value of an experiment.
	switch {
	case strings.HasPrefix(f.Key, "q"):
		p.mu.Lock()
		p.silent = append(p.silent, f.Key)
		p.tellSilent()
		p.mu.Unlock()
	case events.ActNumber(f.Key) > 0:
		word := problem.Remedy{Action: problem.Resolve, Subject: f.Key, Ways: []string{
			string(events.ResolvedDone), string(events.ResolvedFailed), string(events.ResolvedNotPerformed),
		}}
		p.remark(elsewhere(f.Key, commandFor(word)))
	default:
		value := problem.Remedy{Action: problem.Tell, Subject: f.Key}
		p.remark(elsewhere(f.Key, commandFor(value)))
	}
	<-ctx.Done()
	return "", ctx.Err()
}
