package drive_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// recalling is a station that answers for acts of before, one answer after the other, and stays with the last.
type recalling struct {
	*station
	fates []instruments.Fate
}

func (r *recalling) Recover(context.Context, instruments.Command) (instruments.Fate, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fate := r.fates[0]
	if len(r.fates) > 1 {
		r.fates = r.fates[1:]
	}
	return fate, nil
}

// killedMeasuring is the history of a campaign of three experiments, whose campaignd is killed while the first is
// measured, and of the answers of its meter afterwards.
func killedMeasuring(t *testing.T, fates ...instruments.Fate) (all []events.Event, s *campaign.State) {
	synctest.Test(t, func(t *testing.T) {
		def := plated(func(def *definition.Campaign) { def.Budget.Experiments = 3 })
		log, used := memlog.New(), newStations()
		first := used.attend(t, log, def)
		time.Sleep(2*time.Hour + 35*time.Minute)
		first.end()
		<-first.over
		r := &drive.Runner{
			Registry: first.runner.Registry, Log: log, Campaign: def.Name, Instruments: make(map[string]instruments.Instrument),
		}
		for name, station := range used {
			r.Instruments[name] = station
		}
		r.Instruments["meter"] = &recalling{used["meter"], fates}
		must.Do(t, r.Start(t.Context()))
		second := attendTo(t, log, r)
		if len(fates) == 1 {
			time.Sleep(time.Hour)
			synctest.Wait()
			must.Do(t, second.ask(t, engine.Request{Resolve: &engine.Resolve{
				Experiment: "a4", Resolution: events.ResolvedFailed, Reason: "the display is dark",
			}}))
		}
		must.Do(t, <-second.over)
		audited(t, log, def.Name)
		all, s = history(t, log), platesState(t, log)
	})
	return all, s
}

// remade is the history of an act that is made again, since its instrument says that it was not started.
func remade(t *testing.T) []events.Event {
	all, _ := killedMeasuring(t, instruments.FateUnknown, instruments.FateNotStarted)
	return all
}

// Law: an act of a repeatable stage whose fate is unknown is called off first. Where it had been performed after
// all its result counts; where it was not started it is made again, as often as its stage says, and no person
// is asked. Where the instrument does not know, it may be at work on it, and a person looks.
func TestUnknownActOfARepeatableStage(t *testing.T) {
	rest := []string{"a1 dose e1-e3 done", "a2 load e1-e3 done", "a3 unload e1-e3 done"}
	for _, c := range []struct {
		name  string
		fates []instruments.Fate
		acts  []string
	}{
		{"it was not started", []instruments.Fate{instruments.FateUnknown, instruments.FateNotStarted}, []string{
			"a4 measure e1 failed", "a5 measure e1 done", "a6 measure e2 done", "a7 measure e3 done", "a8 clean e1-e3 done",
		}},
		{"it does not know", []instruments.Fate{instruments.FateUnknown}, []string{
			"a4 measure e1 failed", "a5 measure e1 done", "a6 measure e2 done", "a7 measure e3 done", "a8 clean e1-e3 done",
		}},
		{"it was performed", []instruments.Fate{instruments.FateUnknown, instruments.FateFinished}, []string{
			"a4 measure e1 done", "a5 measure e2 done", "a6 measure e3 done", "a7 clean e1-e3 done",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, s := killedMeasuring(t, c.fates...)
			if got, want := acts(s), slices.Concat(rest, c.acts); !slices.Equal(got, want) {
				t.Errorf("the acts are %v", got)
			}
			if n := s.Count(campaign.Measured); n != 3 {
				t.Errorf("%d experiments are measured", n)
			}
			if by := s.Act("a4").Command.CallOff.By; by != "engine" {
				t.Errorf("%s had it called off", by)
			}
		})
	}
}
