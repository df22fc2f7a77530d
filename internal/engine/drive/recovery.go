package drive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/projections/campaign"
)

// No answer of a device about its past outweighs a confirmation in the log.
//
// An instrument's memory may be gone, be that of an earlier day or of another machine, or never
// have reached the disk. So "running" and "finished" are believed, since they repeat nothing,
// and "not started" of a command that was once sent to something real is not: its fate is
// unknown, and a person looks. That holds where the log has experiment.started, and where it
// has experiment.dispatched alone. There, too, the program may have acted and been killed
// before it confirmed, or before the confirmation was recorded; only a memory that is durable
// before the act could tell, and whether it is, no one can see from outside. An honest
// instrument says "not started" only in the moment between the two, so that hardly a person is
// called in vain. A command that certainly was not sent is refused ([instruments.ErrRefused])
// and put off.
//
// Where such a memory is declared ([instruments.Keeper]) "not started" is a fact about the
// past, and not about the future: the start may lie in a pipe that an earlier instance reads
// later. So the command is called off first, which has to be answered, and only then, if the
// ledger still knows of no start, is the experiment put off and requested by another command.
// The device has to say which one it is. No ledger outweighs a confirmation in the log.
//
// "Cancelled" is as much a word about the past: a device that has forgotten what it did notes of a
// command that is called off afterwards that it never took place. So it proves no more than "not
// started" of a command that the log has as confirmed, unless the ledger is durable: an arm loaded
// an oven, rebooted, and loaded it again.
//
// A simulation may forget, and is started again: nothing physical has happened.

// evidence holds the log's knowledge of a command and of the instrument it was sent to.
type evidence struct {
	confirmed  bool   // by experiment.started, or a sign of life
	identified bool   // it said which device it is, and is the same
	repeatable bool   // nothing physical has happened
	off        bool   // it was called off
	replaced   string // by which other device the instrument has been, if by any
}

// evidenceOf is called in the loop, for goroutines to come; now describes the present
// instrument. A simulation is repeatable only if it is the same one that the command was sent
// to.
func evidenceOf(c *campaign.Command, now instruments.Description) evidence {
	return evidence{
		confirmed:  c.Fate == campaign.Begun || c.Sign != nil,
		repeatable: !c.Real && now.Simulated && c.Instrument == now.Name,
		off:        c.CallOff != nil,
		identified: c.Identity != "" && c.Identity == now.Identity && c.Instrument == now.Name,
		replaced:   replacement(c, now),
	}
}

// replacement describes how the instrument differs from the one that a command was sent to;
// empty if it does not.
func replacement(c *campaign.Command, now instruments.Description) string {
	if c.Instrument == now.Name && (c.Identity == "" || c.Identity == now.Identity) {
		return ""
	}
	return fmt.Sprintf(
		"it was sent to %s, and now there is %s", named(c.Instrument, c.Identity),
		named(now.Name, now.Identity),
	)
}

// named writes an instrument with its identity, where it has one.
func named(name, identity string) string {
	if identity == "" {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, identity)
}

// withReplacement adds a remark to the first events of a run if another instrument has replaced
// the one that was sent the last command: its measurements count, and a reader of the log
// should know. It looks at the latest command alone, and says it once: a run that is started
// again finds the note.
func withReplacement(
	s *campaign.State, devices map[string]*device, payloads ...events.Payload,
) []events.Payload {
	last := make(map[string]campaign.Order) // by resource
	for o := range s.Orders() {
		if o.Instrument != "person" {
			last[o.Resource] = o
		}
	}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		d := devices[name]
		if d == nil || d.description.Name == "" {
			continue
		}
		how := replacement(last[name].Command, d.description)
		text := "the instrument has been replaced: " + how
		known := slices.ContainsFunc(s.Notes, func(n campaign.Note) bool {
			return n.Text == text && n.About == last[name].Subject
		})
		if how != "" && !known {
			payloads = append(payloads, &events.NoteAdded{About: last[name].Subject, Text: text})
		}
	}
	return payloads
}

// recovery asks for the fates of commands that another process dispatched. It runs in the
// background, since some instruments take long to find out. Until it is recorded nothing else
// begins; requests and deadlines are served. Queries and verdicts have the same order.
type recovery struct {
	queries  []query
	verdicts []verdict // of each query; nil until the instrument has answered
	since    time.Time
}

// query is a command whose fate is asked for, with the log's knowledge of it then.
type query struct {
	subject    string
	instrument instruments.Instrument
	cmd        instruments.Command
	evidence   evidence
}

// verdict is the part of an answer to be believed; cause explains an unknown fate, or why a
// command that was not started never will be.
type verdict struct {
	fate  instruments.Fate
	cause string
	void  bool // it was not started, and cannot begin any more
}

// recover begins to ask instruments for the fates of commands that another process
// dispatched.
//
// Each instrument is asked one after the other, in the order of the commands: it
// need not be able to answer two at once. The message comes when all
// have been answered, so that recovery.done lists them together.
func (c *couriers) recover(
	t *team, s *campaign.State, devices map[string]*device, subjects []string, since time.Time,
) {
	queries := make([]query, len(subjects))
	asked := make(map[string][]int) // of each instrument
	for i, id := range subjects {
		o := s.Order(id)
		d := devices[o.Resource]
		queries[i] = query{id, d.instrument, engine.CommandOf(s, id), evidenceOf(o.Command, d.description)}
		asked[o.Resource] = append(asked[o.Resource], i)
	}
	c.recovery = &recovery{queries: queries, since: since}
	t.consult(func() {
		verdicts := make([]verdict, len(queries))
		var all sync.WaitGroup
		for _, own := range asked {
			all.Go(func() {
				for _, i := range own {
					q := queries[i]
					verdicts[i] = fateOf(t.awaiting, q.instrument, q.cmd, q.evidence)
				}
			})
		}
		all.Wait()
		if t.awaiting.Err() == nil { // else that the wait ended says nothing about the commands
			t.send(t.awaiting, recalled{verdicts})
		}
	})
}

// recovered hands over the instrument's answers, nil before they are there.
func (c *couriers) recovered() *recovery {
	done := c.recovery
	if done == nil || done.verdicts == nil {
		return nil
	}
	c.recovery = nil
	return done
}

// payloads returns the events for the commands that are still under way; await lists the
// queries whose outcomes are to be awaited. An unknown fate is left to a person. An experiment
// that a person has settled meanwhile, or that was given up, is recorded already; its late
// answer is awaited.
//
// recovery.done comes first among these events, and an audit compares its list with the
// commands under way (checkRecovery).
func (r *recovery) payloads(
	s *campaign.State, devices map[string]*device, build events.Build,
) (payloads []events.Payload, await []int) {
	done := &events.RecoveryDone{Build: build}
	payloads = withReplacement(s, devices, done)
	for i, q := range r.queries {
		o := s.Order(q.subject)
		v := r.verdicts[i]
		if !o.UnderWay() {
			byHand := s.Definition.At(o.Resource).ByHand && !o.Open
			if !byHand && (v.fate == instruments.FateRunning || v.fate == instruments.FateFinished) {
				await = append(await, i)
			}
			continue
		}
		done.Commands = append(done.Commands, engine.Recovered(o, v.fate))
		if v.fate == instruments.FateUnknown {
			payloads = append(payloads, engine.UnresolvedFor(o, v.cause))
		} else {
			await = append(await, i)
		}
	}
	return payloads, await
}

// fateOf asks for the fate of a command, and judges the answer.
func fateOf(
	ctx context.Context, instrument instruments.Instrument, cmd instruments.Command, e evidence,
) verdict {
	v := recalledBy(ctx, instrument, cmd)
	keeper, ok := instrument.(instruments.Keeper)
	provable := ok && keeper.Keeps() && e.identified && !e.confirmed
	if provable && !e.off && v.fate == instruments.FateFinished && cancelled(ctx, instrument, cmd) {
		// campaignd was killed between voiding it and the record of that. Nobody ordered it off.
		return notStarted
	}
	if e.confirmed && !e.repeatable && !(ok && keeper.Keeps()) &&
		v.fate == instruments.FateFinished && cancelled(ctx, instrument, cmd) {
		return verdict{fate: instruments.FateUnknown, cause: "the instrument had confirmed the command and now says " +
			"that it was called off and never took place, which its memory alone cannot prove"}
	}
	if v.fate != instruments.FateNotStarted || e.repeatable {
		return v
	}
	cause := "the command had been sent, and the instrument says that it never started it," +
		" which its memory alone cannot prove"
	if provable {
		if v = voided(ctx, instrument, cmd); v.fate != instruments.FateUnknown {
			return v
		}
		cause = v.cause
	}
	if e.confirmed {
		cause = "the instrument had confirmed the command and now says that it never started it"
	}
	if e.replaced != "" {
		cause += "; it is another one: " + e.replaced
	}
	return verdict{fate: instruments.FateUnknown, cause: cause}
}

// voided calls off a command that a durable and complete ledger does not know, and returns its
// fate by then. An earlier instance that has just read the start may be at work on it: then it
// is as little void as any other.
func voided(ctx context.Context, instrument instruments.Instrument, cmd instruments.Command) verdict {
	err := instrument.Cancel(ctx, cmd)
	for attempt := 1; err != nil && attempt < attempts && pause(ctx, retryPause); attempt++ {
		err = instrument.Cancel(ctx, cmd) // an earlier instance may be about to end
	}
	if err != nil && !errors.Is(err, instruments.ErrUnstoppable) {
		return verdict{fate: instruments.FateUnknown, cause: fmt.Sprintf(
			"the command had been sent, the instrument says that it never started it, and it could not be called off: %v", err)}
	}
	v := recalledBy(ctx, instrument, cmd)
	void := v.fate == instruments.FateNotStarted ||
		v.fate == instruments.FateFinished && cancelled(ctx, instrument, cmd)
	if !void {
		return v
	}
	return notStarted
}

// notStarted is the verdict on a command that a durable and complete ledger did not know, and that
// is called off.
var notStarted = verdict{
	fate: instruments.FateNotStarted,
	void: true,
	cause: "the command had been sent, and was not started: the instrument's ledger, which it says is durable and " +
		"complete, did not know it, and it was called off",
}

// cancelled reports whether the outcome of a command that has ended is that it did not take place.
func cancelled(ctx context.Context, instrument instruments.Instrument, cmd instruments.Command) bool {
	o, err := instrument.Await(ctx, cmd)
	return err == nil && o.Status == instruments.Cancelled
}

// recalledBy returns the instrument's account of a command's fate; without one the fate is unknown.
func recalledBy(
	ctx context.Context, instrument instruments.Instrument, cmd instruments.Command,
) verdict {
	v, err := askedFor(ctx, instrument, cmd)
	if err != nil {
		v = verdict{fate: instruments.FateUnknown, cause: fmt.Sprintf("the instrument cannot say: %v", err)}
	}
	return v
}

// askedFor asks the instrument for its account of a command's fate. Errors are tried again,
// since a device may be slow to come back; an answer is believed at once.
func askedFor(
	ctx context.Context, instrument instruments.Instrument, cmd instruments.Command,
) (verdict, error) {
	unknown := func(cause string) verdict { return verdict{fate: instruments.FateUnknown, cause: cause} }
	recoverer, ok := instrument.(instruments.Recoverer)
	if !ok {
		return unknown("the instrument keeps no memory of commands beyond its own process"), nil
	}
	fate, err := recoverer.Recover(ctx, cmd)
	for attempt := 1; err != nil && attempt < attempts && pause(ctx, retryPause); attempt++ {
		fate, err = recoverer.Recover(ctx, cmd)
	}
	if fate == instruments.FateUnknown {
		return unknown("the instrument does not know what became of the command"), err
	}
	return verdict{fate: fate}, err
}
