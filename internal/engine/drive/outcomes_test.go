package drive_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: what an instrument says late counts until a person has settled its experiment, and
// after that is kept, with the word that the experiment has to be corrected. That it does
// not know says nothing new, but for its reasons, which are kept; that the line is gone
// says nothing at all.
func TestLateOutcomes(t *testing.T) {
	said := func(status instruments.Status, cause string) instruments.Outcome {
		return instruments.Outcome{Status: status, Cause: cause}
	}
	for name, c := range map[string]struct {
		outcome       instruments.Outcome
		err           error
		open, settled []events.Kind // what is recorded where nobody has settled it, and where a person has
		note          string        // what the note says, if there is one
	}{
		"measured": {
			outcome: measured(12),
			open:    []events.Kind{events.KindExperimentMeasured},
			settled: []events.Kind{events.KindInstrumentAnswered},
		},
		"measured, and nothing measured": {
			outcome: said(instruments.Measured, ""),
			open:    []events.Kind{events.KindExperimentFailed},
			settled: []events.Kind{events.KindInstrumentAnswered},
		},
		"failed": {
			outcome: said(instruments.Failed, "a leak"),
			open:    []events.Kind{events.KindExperimentFailed},
			settled: []events.Kind{events.KindInstrumentAnswered},
		},
		"infeasible": {
			outcome: said(instruments.Infeasible, "a lump"),
			open:    []events.Kind{events.KindExperimentInfeasible},
			settled: []events.Kind{events.KindInstrumentAnswered},
		},
		"put off": {
			outcome: said(instruments.Deferred, "no argon"),
			open:    []events.Kind{events.KindExperimentDeferred, events.KindExperimentRequested},
			settled: []events.Kind{events.KindInstrumentAnswered},
		},
		"called off": {
			outcome: said(instruments.Cancelled, "the door was opened"),
			open:    []events.Kind{events.KindExperimentCancelled},
			settled: []events.Kind{events.KindInstrumentAnswered},
		},
		"it does not know, and says why": {
			outcome: said(instruments.Unknown, "the power was off"),
			open:    []events.Kind{events.KindNoteAdded},
			settled: []events.Kind{events.KindNoteAdded}, note: "answered late: unknown, the power was off",
		},
		"what it says is not an outcome": {
			outcome: said("exploded", "all over"),
			open:    []events.Kind{events.KindNoteAdded},
			settled: []events.Kind{events.KindNoteAdded}, note: "answered late: exploded, all over",
		},
		"it does not know":  {outcome: said(instruments.Unknown, "")},
		"the line is gone":  {err: errors.New("no route to host")},
		"it never began it": {err: instruments.ErrNotStarted},
	} {
		for situation, want := range map[string][]events.Kind{"nobody settled it": c.open, "a person settled it": c.settled} {
			t.Run(name+", "+situation, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					sleepUntilDefined()
					def := electrolyte(t, 1, 4, unaided, func(def *definition.Campaign) {
						def.Instrument.StallAfter = definition.Duration(5 * time.Second)
						def.Instrument.GiveUpAfter = definition.Duration(10 * time.Second)
					})
					answer := make(chan struct{})
					instrument := &bench{acts: make(map[string]int)}
					instrument.await = func(cmd instruments.Command) (instruments.Outcome, error) {
						<-answer
						if c.outcome.Measurement != nil {
							c.outcome.Measurement.Actual = cmd.Parameters
						}
						return c.outcome, c.err
					}
					log := memlog.New()
					r, waiting := start(t, log, def, instrument)
					r.Now = time.Now
					run(t, r)
					until(t, waiting, "the fate of e1")
					requests := []engine.Request{{Pause: &events.CampaignPaused{}}}
					if situation == "a person settled it" {
						settle := engine.Resolve{Experiment: "e1", Resolution: events.ResolvedFailed, Reason: "it hangs"}
						requests = append(requests, engine.Request{Resolve: &settle})
					}
					for _, request := range requests {
						request.Actor = "person:eve"
						must.Get(r.Submit(t.Context(), request))(t)
					}
					synctest.Wait() // what a person settled is called off first
					before := len(history(t, log))
					close(answer)
					synctest.Wait()
					all := history(t, log)
					if kinds := kindsAfter(t, log, before); !slices.Equal(kinds, want) {
						t.Fatalf("%v are recorded, want %v", kinds, want)
					}
					if slices.Contains(want, events.KindNoteAdded) && !strings.Contains(string(all[len(all)-1].Data), c.note) {
						t.Errorf("the note is %s, want %q in it", all[len(all)-1].Data, c.note)
					}
					sound(t, log)
				})
			})
		}
	}
}

// Law: a measurement names the device that made it: as it says itself, or else as the
// instrument described itself.
func TestWhichDeviceMeasured(t *testing.T) {
	d := newDevice("serial 1")
	d.await = func(cmd instruments.Command) (instruments.Outcome, error) {
		o := measured(12)
		if cmd.Experiment == "e2" {
			o.Measurement.Identity = "module 7"
		}
		return o, nil
	}
	r, _ := start(t, memlog.New(), electrolyte(t, 1, 3, unaided), d)
	must.Do(t, r.Run(t.Context()))
	for i, want := range []string{"serial 1", "module 7", "serial 1"} {
		if x := r.Core().State().Experiments[i]; x.Measurement.Identity != want {
			t.Errorf("%s was measured by %q, want %q", x.ID, x.Measurement.Identity, want)
		}
	}
}
