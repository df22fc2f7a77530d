package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// asking carries out a command that makes a request of a campaign, and prints the outcome. own is
// how many arguments the command has behind an optional target.
func asking(own int, ask func(args []string) engine.Request) runner {
	return func(c *call, args []string) error {
		t, args, err := c.targetAndArgs(args, own)
		if err != nil {
			return err
		}
		return c.record(c.ctx, t, func(*session) (engine.Request, error) { return ask(args), nil })
	}
}

// askingOf is asking for a request that depends on how the campaign stands.
func askingOf(own int, ask func(s *campaign.State, args []string) (engine.Request, error)) runner {
	return func(c *call, args []string) error {
		t, args, err := c.targetAndArgs(args, own)
		if err != nil {
			return err
		}
		return c.requestWith(c.ctx, t, func(s *campaign.State) (engine.Request, error) { return ask(s, args) })
	}
}

// forTheRecord is the help of most reasons.
const forTheRecord = "why, for the record"

// record has the request that build returns recorded, and prints the outcome.
func (a *app) record(ctx context.Context, t target, build func(*session) (engine.Request, error)) error {
	return a.recordAll(ctx, t, step{build: build})
}

// step is a request. send, if set, submits it, for a request with files.
type step struct {
	build func(*session) (engine.Request, error)
	send  func(context.Context, *session, engine.Request) ([]events.Event, error)
}

// recordAll has one request after the other recorded, and prints their outcomes together. Where one
// fails, the outcomes of those before it are still printed.
func (a *app) recordAll(ctx context.Context, t target, steps ...step) error {
	var all []events.Event
	for i, next := range steps {
		s, stored, err := a.submit(ctx, t, next)
		if err != nil {
			return errors.Join(err, a.printSoFar(ctx, t, all))
		}
		all = append(all, stored...)
		if i == len(steps)-1 {
			defer s.Close()
			printed := a.printRecorded(ctx, s, all)
			// A run that took the request may have ended since, as it does once the
			// campaign is stopped, or was resumed and has used up its budget.
			if errors.Is(printed, events.ErrClosed) || control.IsLost(printed) {
				printed = a.printSoFar(ctx, t, all)
			}
			a.callsOff(ctx, s, t, all)
			return errors.Join(printed, a.afterwards(ctx, s, t, all))
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}

// printSoFar prints the recorded events, with the store opened anew: before something failed, or by
// a run that has ended since.
func (a *app) printSoFar(ctx context.Context, t target, stored []events.Event) error {
	if stored == nil {
		return nil
	}
	s, err := a.open(ctx, t, reading)
	if err != nil {
		return err
	}
	defer s.Close()
	return a.printRecorded(ctx, s, stored)
}

// afterwards follows up a change by hand: it brings the report of an ended campaign up to date, and
// prints how a campaign goes on that had ended and now has room in its budget. stored are the
// events that were just recorded.
//
// It does nothing where another process holds the store, which then does the same.
//
// The request is recorded whatever goes wrong here. The error of a report that could not be written
// says so.
func (a *app) afterwards(ctx context.Context, s *session, t target, stored []events.Event) error {
	local, ours := s.Store.(*lab.Local)
	if !ours {
		a.sayOutside(ctx, s, stored) // the process that runs the campaign sees to the rest
		return nil
	}
	// The whole log is folded for one question: whether the campaign had ended
	// before these events, and whether it has now. Only a campaign that had
	// gives its person something to do.
	core, ended := engine.NewCore(a.registry), false
	if len(stored) > 0 {
		if err := core.Forward(ctx, s.Log(), s.name, stored[0].Sequence-1); err != nil {
			return err
		}
		ended = core.State().Status.Ended()
	}
	if err := core.Forward(ctx, s.Log(), s.name, events.AnySequence); err != nil {
		return err
	}
	state := core.State()
	if !a.json {
		for _, line := range append(leftOutBecause(state, stored, a.about), outsideOf(state, stored)...) {
			a.printf("%s\n", line)
		}
	}
	if !ended && !state.Status.Ended() {
		return nil
	}
	left := state.Left()
	if !state.Status.Ended() && left > 0 && !a.json {
		a.printf("The budget has room for %s: `campaignd run %s` goes on.\n",
			format.Count(left, "experiment"), t)
	}
	path := reportPath(t.store, s.name)
	if _, err := os.Stat(path); err != nil {
		return nil // the campaign has no report
	}
	checkpoint := a.checkpointText(ctx, local.Events())
	err := a.writeReport(ctx, s.Log(), s.name, t.store, path, checkpoint, storeMode(t.store))
	if err != nil {
		return fmt.Errorf("it is recorded, and %s does not show it yet: %w", path, err)
	}
	if !a.json {
		a.printf("Wrote %s again.\n", path)
	}
	return nil
}

// sayOutside prints the lines of [outsideOf] for a campaign that another process runs. That one may
// have ended by now: the request is recorded, and the lines only help the reader.
func (a *app) sayOutside(ctx context.Context, s *session, stored []events.Event) {
	brings := func(e events.Event) bool { return measures[e.Kind] }
	if a.json || !slices.ContainsFunc(stored, brings) {
		return
	}
	core, err := s.core(ctx)
	if err != nil {
		return
	}
	for _, line := range outsideOf(core.State(), stored) {
		a.printf("%s\n", line)
	}
}

// measures are the kinds of events with a composition as it was made.
var measures = map[events.Kind]bool{
	events.KindExperimentMeasured: true, events.KindExperimentResolved: true,
	events.KindExperimentCorrected: true, events.KindMeasurementCorrected: true,
}

// outsideOf returns a line for each experiment of stored events that lies outside the space as it
// is now: a person who mistyped the composition should see it at once.
func outsideOf(state *campaign.State, stored []events.Event) (lines []string) {
	for _, e := range stored {
		x := state.Experiment(events.CloudEventAttributes(e)["subject"])
		if measures[e.Kind] && x != nil && x.Outside != "" {
			lines = append(lines, fmt.Sprintf(
				"%s lies outside the space: %s. It is in the model, and compared with no other experiment.", x.ID, x.Outside))
		}
	}
	return lines
}

// leftOutBecause returns a line for each measurement that was left out because
// of one that a person has just corrected (its flag was overturned by a
// repetition). It stays left out: whether it counts again is that person's
// decision, and the line says how to take it in.
func leftOutBecause(state *campaign.State, stored []events.Event, about commands) (lines []string) {
	for _, e := range stored {
		if e.Kind != events.KindExperimentCorrected && e.Kind != events.KindMeasurementCorrected {
			continue
		}
		// A cloud event's subject is the experiment that it is about, for both
		// kinds.
		corrected := events.CloudEventAttributes(e)["subject"]
		for i := range state.Experiments {
			x := &state.Experiments[i]
			overturned := x.Flag != nil && x.Flag.Verdict == events.VerdictOverturned
			if overturned && x.Flag.Repetition == corrected && x.Excluded {
				include := problem.Remedy{
					Text: "take it in again", Action: problem.Correct, Subject: x.ID,
					Ways: []string{problem.WayInclude},
				}
				line := fmt.Sprintf("%s was left out because of %s", x.ID, corrected)
				lines = append(lines, about.clause(line, []problem.Remedy{include}))
			}
		}
	}
	return lines
}

// submit opens the store, makes the request that build returns and has it
// recorded. It returns the events that were recorded; the caller closes the
// session. A store that changes hands on the way is opened again, and the same
// request sent once more: the log counts it once, by its identifier.
//
// Every command that makes a request of a campaign comes through here.
func (a *app) submit(ctx context.Context, t target, next step) (s *session, stored []events.Event, err error) {
	actor, err := a.actor()
	if err != nil {
		return nil, nil, err
	}
	find := func() (err error) {
		s, err = a.open(ctx, t, writing)
		return err
	}
	// Made once and sent again as it was. A request that was built anew might
	// differ, because the campaign may stand differently by now, perhaps
	// through this very request; then the log could not tell that it is the
	// same.
	var r engine.Request
	err = lab.Persist(ctx, true, find, func() (err error) {
		if r.ID == "" {
			if r, err = next.build(s); err == nil {
				r.Actor, r.Account = actor, control.OwnAccount()
				r = r.Identified(rand.Text())
			}
		}
		switch {
		case err != nil:
		case next.send != nil:
			stored, err = next.send(ctx, s, r)
		default:
			stored, err = s.Submit(ctx, s.name, r)
		}
		// The session is of no use any more: the next attempt opens the store
		// anew.
		if err != nil {
			return errors.Join(err, s.Close())
		}
		return nil
	})
	return s, stored, err
}

// recorded is the JSON document of commands that write. Becomes is an amendment's effect on the
// findings.
type recorded struct {
	Recorded []json.RawMessage `json:"recorded"`
	Becomes  *view.Becomes     `json:"becomes,omitempty"`
}

// printRecorded prints the recorded events: as sentences, or with --json as CloudEvents. An
// amendment is printed with its effect on the findings; where models cannot be worked out, it is
// recorded nevertheless.
func (a *app) printRecorded(ctx context.Context, s *session, stored []events.Event) error {
	becomes, err := view.BecomesOfAmendment(ctx, a.registry, s.Log(), s.name, stored)
	if control.IsLost(err) {
		return err
	}
	if ctx.Err() == nil && err != nil {
		a.remark("what the amendment makes of what was found cannot be said: %v", err)
	}
	if a.json {
		answer := recorded{Recorded: []json.RawMessage{}, Becomes: becomes}
		for _, e := range stored {
			text, err := events.MarshalCloudEvent(e)
			if err != nil {
				return err
			}
			answer.Recorded = append(answer.Recorded, text)
		}
		return a.printJSON(answer)
	}
	// The story needs the definition for units and names, and nothing else: the
	// log need not be read.
	def, err := lab.Definition(ctx, s, s.name)
	if err != nil {
		return err
	}
	story := newTeller(def, func(lines []string) {
		for _, line := range lines {
			a.printf("%s\n", line)
		}
	})
	for _, e := range stored {
		payload, err := events.Decode(e)
		if err != nil {
			return err
		}
		story.tell(e, payload, false)
	}
	story.rest()
	if becomes != nil {
		for _, line := range becomes.Lines() {
			a.printf("%s\n", line)
		}
	}
	return nil
}
