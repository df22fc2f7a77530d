package drive_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// station is an instrument of a procedure that takes ten minutes for each act. How long it takes for
// one, and what it says of it, may be set; without a memory it cannot tell what became of an act of before.
type station struct {
	name  string
	says  map[string]instruments.Outcome // by act, in place of done
	takes map[string]time.Duration       // by act

	mu     sync.Mutex
	serial int // of the device that is there
	given  []instruments.Command
	by     []int // the device that was sent each of them
}

const actTakes = 10 * time.Minute

// never is how long an act takes that is not ended.
const never = 1000 * time.Hour

func (s *station) Describe(context.Context) (instruments.Description, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return instruments.Description{Name: s.name, Identity: fmt.Sprintf("%s, serial %d", s.name, s.serial), Capacity: 1}, nil
}

func (s *station) Start(_ context.Context, cmd instruments.Command) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given, s.by = append(s.given, cmd), append(s.by, s.serial)
	return nil
}

// exchange puts another device in its place.
func (s *station) exchange() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
}

func (s *station) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	takes := actTakes
	if set, ok := s.takes[cmd.Act]; ok {
		takes = set
	}
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return instruments.Outcome{}, ctx.Err()
	}
	if said, ok := s.says[cmd.Act]; ok {
		return said, nil
	}
	if cmd.Gives == nil {
		return instruments.Outcome{Status: instruments.Done}, nil
	}
	x, _ := cmd.Parameters["x"].Float()
	return instruments.Outcome{Status: instruments.Measured, Measurement: &events.Measurement{
		Actual:     cmd.Parameters,
		Quantities: []definition.Quantity{{Name: "y", Value: 4 - (x-0.3)*(x-0.3), Unit: "mS"}},
	}}, nil
}

func (s *station) Cancel(context.Context, instruments.Command) error { return nil }

// commands are what it was sent.
func (s *station) commands() []instruments.Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.given)
}

// tipsOf are the labels that an instrument was given.
func tipsOf(s *station) (tips []string) {
	for _, cmd := range s.commands() {
		for _, d := range cmd.Drawn {
			tips = append(tips, d.Labels...)
		}
	}
	return tips
}

// plated is a campaign of plates of three: dosed and loaded together, unloaded after two to three
// hours, measured one by one, twice where that fails, and cleaned up after.
func plated(change ...func(*definition.Campaign)) definition.Campaign {
	instrument := func(name string) definition.Instrument {
		return definition.Instrument{Driver: process.Choose(process.Settings{Command: []string{name}})}
	}
	after := func(stage string) []definition.Edge { return []definition.Edge{{Stage: stage}} }
	def := definition.Campaign{
		Name: "plates", Seed: 1,
		Parameters: []definition.Parameter{{Name: "x", Min: ptr(0.0), Max: ptr(1.0)}},
		Objective:  definition.Objective{Name: "y", Unit: "mS", Goal: definition.Maximize},
		Quantities: []definition.QuantityDef{{Name: "y", Unit: "mS"}},
		Policy:     policiesByName()["sobol"],
		Initial:    definition.Initial{Experiments: ptr(3)},
		Budget:     definition.Budget{Experiments: 6},
		Parallel:   3,
		Instruments: map[string]definition.Instrument{
			"doser": instrument("doser"), "arm": instrument("arm"), "meter": instrument("meter"),
		},
		Batch:  definition.Batch{Of: 3},
		Places: []definition.Place{{Name: "oven"}},
		Stocks: map[string]definition.Stock{"tips": {Labels: "A1-H3"}},
		Procedure: []definition.Stage{
			{Name: "dose", On: "doser", Together: true, Draws: map[string]definition.Draw{"tips": "2"}},
			{Name: "load", On: "arm", Together: true, After: after("dose"), Holds: "oven"},
			{Name: "unload", On: "arm", Together: true, Frees: "oven", After: []definition.Edge{{
				Stage: "load", From: definition.Duration(2 * time.Hour), Until: definition.Duration(3 * time.Hour),
			}}},
			{Name: "measure", On: "meter", After: after("unload"), Gives: []string{"y"}, Repeatable: true, Tries: 2},
			{Name: "clean", On: "doser", Together: true, After: after("measure"), Always: true},
		},
	}
	for _, c := range change {
		c(&def)
	}
	return campaignfile.Complete(builtin.Registry(), def)
}

// stations are the instruments of [plated].
type stations map[string]*station

func newStations() stations {
	all := make(stations)
	for _, name := range []string{"doser", "arm", "meter"} {
		all[name] = &station{
			name: name, says: make(map[string]instruments.Outcome), takes: make(map[string]time.Duration), serial: 1,
		}
	}
	return all
}

// attend runs the campaign with the stations, in a process of its own. with may change the runner before
// it starts.
func (all stations) attend(
	t *testing.T, log *memlog.Log, def definition.Campaign, with ...func(*drive.Runner),
) *attended {
	t.Helper()
	if must.Get(log.LastSequence(t.Context(), def.Name))(t) == 0 {
		defined := events.CampaignDefined{Instance: "PLATES", Definition: def}
		must.Do(t, engine.Define(t.Context(), log, defined, "person:study", study.Epoch, ""))
	}
	r := &drive.Runner{
		Registry: builtin.Registry(), Log: log, Campaign: def.Name, Instruments: make(map[string]instruments.Instrument),
	}
	for name, s := range all {
		r.Instruments[name] = s
	}
	for _, set := range with {
		set(r)
	}
	must.Do(t, r.Start(t.Context()))
	return attendTo(t, log, r)
}

// platedBy is the history of a campaign of three plates. Of the first the measurement of e1 fails once,
// and e1 cannot be made. campaignd is killed while the arm loads the second, of which a person finds
// that it was not loaded, and a measurement is called off that goes on. The third falls while it is
// unloaded: the arm says nothing more, and a person takes what is left out of the oven.
func platedBy(t *testing.T) (all []events.Event, used stations) {
	used = newStations()
	synctest.Test(t, func(t *testing.T) {
		def := plated(func(def *definition.Campaign) { def.Budget.Experiments = 9 })
		log := memlog.New()
		used["meter"].says["a4"] = instruments.Outcome{Status: instruments.Failed, Cause: "a bubble"}
		used["meter"].says["a5"] = instruments.Outcome{Status: instruments.Infeasible, Cause: "it does not dissolve"}
		used["arm"].takes["a19"] = never
		first := used.attend(t, log, def)
		time.Sleep(3*time.Hour + 35*time.Minute) // the second plate is being loaded
		first.end()
		<-first.over
		second := used.attend(t, log, def)
		ask := func(after time.Duration, r engine.Request) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			must.Do(t, second.ask(t, r))
		}
		ask(time.Hour, engine.Request{Resolve: &engine.Resolve{
			Experiment: "a10", Resolution: events.ResolvedNotPerformed, Reason: "the plate stands on the bench",
		}})
		ask(2*time.Hour+35*time.Minute, engine.Request{Cancel: &engine.Cancel{Experiment: "a14", Reason: "too late"}})
		ask(40*time.Hour, engine.Request{Resolve: &engine.Resolve{
			Experiment: "a19", Resolution: events.ResolvedFailed, Reason: "the plate fell",
		}})
		ask(time.Hour, engine.Request{Resolve: &engine.Resolve{
			Experiment: "b3", Resolution: events.ResolvedFailed, Reason: "the oven is empty",
		}})
		must.Do(t, <-second.over)
		all = history(t, log)
	})
	return all, used
}

// procedures is the history of a campaign with a procedure.
func procedures(t *testing.T) []events.Event {
	all, _ := platedBy(t)
	return all
}

// platesState is how the campaign of plates stands.
func platesState(t *testing.T, log events.Log) *campaign.State {
	t.Helper()
	return stateOf(t, log, "plates")
}

// stateOf is how a campaign stands.
func stateOf(t *testing.T, log events.Log, name string) *campaign.State {
	t.Helper()
	return must.Get(engine.Load(t.Context(), builtin.Registry(), log, name))(t).State()
}

// acts lists the acts of a campaign: "a1 dose e1-e3 done".
func acts(s *campaign.State) (list []string) {
	for i := range s.Acts {
		a := &s.Acts[i]
		list = append(list, fmt.Sprintf("%s %s %s %s", a.ID, a.Stage, events.ExperimentList(a.Experiments), a.Status))
	}
	return list
}

// Law: a plate goes through its stages in their order and times, each act once; what failed and may be
// repeated is, and what cannot be made is not; what is always done is done at the end. An act whose fate
// is unknown holds its plate until a person has looked; tips are handed out once, whatever became of the
// act.
func TestProcedure(t *testing.T) {
	all, used := platedBy(t)
	log := refill(t, all)
	s := platesState(t, log)
	want := []string{
		"a1 dose e1-e3 done", "a2 load e1-e3 done", "a3 unload e1-e3 done",
		"a4 measure e1 failed", "a5 measure e1 infeasible", "a6 measure e2 done", "a7 measure e3 done",
		"a8 clean e1-e3 done",
		"a9 dose e4-e6 done", "a10 load e4-e6 deferred", "a11 load e4-e6 done", "a12 unload e4-e6 done",
		"a13 measure e4 done", "a14 measure e5 done", "a15 measure e6 done", "a16 clean e4-e6 done",
		"a17 dose e7-e9 done", "a18 load e7-e9 done", "a19 unload e7-e9 failed", "a20 clean e7-e9 done",
	}
	if got := acts(s); !slices.Equal(got, want) {
		t.Errorf("the acts are %v", got)
	}
	if n, failed := s.Count(campaign.Measured), s.Count(campaign.Failed); n != 5 || failed != 3 {
		t.Errorf("%d experiments are measured and %d have failed", n, failed)
	}
	tips := tipsOf(used["doser"])
	if first := must.Get(definition.ParseLabels("A1-H3"))(t)[:18]; !slices.Equal(tips, first) {
		t.Errorf("the doser was given the tips %v", tips)
	}
	for _, b := range s.Batches {
		load, unload := lastOf(s, b, "load"), lastOf(s, b, "unload")
		if rest := unload.Command.DispatchedAt.Sub(load.EndedAt); rest < 2*time.Hour || rest > 3*time.Hour {
			t.Errorf("%s was in the oven for %s", b.ID, rest)
		}
	}
	audited(t, log, s.Name)
}

// Law: what became of an act for several experiments a person says of each of them, of all in one request.
// What was not performed comes again, for these alone, with labels that no act was given before.
//
// The case: campaignd is killed after some wells of a plate, and nobody knows which.
func TestPlateKilledAfterSomeWells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		def := plated(func(def *definition.Campaign) {
			def.Procedure[3].Draws = map[string]definition.Draw{"tips": "1"}
			def.Budget.Experiments = 3
			def.Procedure[3].Together, def.Procedure[3].Repeatable, def.Procedure[3].Tries = true, false, 0
		})
		log, used := memlog.New(), newStations()
		used["meter"].says["a5"] = instruments.Outcome{Status: instruments.Done, Gave: []events.Given{
			{Experiment: "e3", Measurement: &events.Measurement{
				Quantities: []definition.Quantity{{Name: "y", Value: 2.5, Unit: "mS"}},
			}},
		}}
		first := used.attend(t, log, def)
		time.Sleep(2*time.Hour + 35*time.Minute) // the plate is being measured
		first.end()
		<-first.over
		second := used.attend(t, log, def)
		ask := func(rows ...engine.Resolve) error {
			time.Sleep(time.Minute)
			synctest.Wait()
			return second.ask(t, engine.Request{Resolves: rows})
		}
		read := engine.Resolve{Experiment: "e1", Resolution: events.ResolvedMeasured, Value: ptr(3.5), Reason: "the display"}
		wrong := engine.Resolve{Experiment: "e2", Resolution: events.ResolvedInfeasible}
		for says, rows := range map[string][]engine.Resolve{
			"a4 serves e2, e3, too":    {read},
			"e1 of a4 is in two":       {read, {Experiment: "a4", Resolution: events.ResolvedFailed}},
			"have values each":         {{Experiment: "a4", Resolution: events.ResolvedDone}},
			"it has no value":          {{Experiment: "a4", Resolution: events.ResolvedFailed, Value: ptr(1.0)}},
			"leave repeat out":         {{Experiment: "a4", Resolution: events.ResolvedFailed, Repeat: true}},
			"not done without a value": {{Experiment: "e1", Resolution: events.ResolvedDone}, wrong},
			"given up by itself":       {read, {Experiment: "b1", Resolution: events.ResolvedFailed}},
			"is not a resolution of":   {{Experiment: "a4", Resolution: "lost"}},
		} {
			if err := ask(rows...); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", says, err)
			}
		}
		must.Do(t, ask(read, wrong, engine.Resolve{Experiment: "e3", Resolution: events.ResolvedNotPerformed}))
		must.Do(t, <-second.over)
		s := platesState(t, log)
		want := []string{
			"a1 dose e1-e3 done", "a2 load e1-e3 done", "a3 unload e1-e3 done",
			"a4 measure e1-e3 done", "a5 measure e3 done", "a6 clean e1-e3 done",
		}
		if got := acts(s); !slices.Equal(got, want) {
			t.Errorf("the acts are %v", got)
		}
		for id, status := range map[string]campaign.ExperimentStatus{
			"e1": campaign.Measured, "e2": campaign.Infeasible, "e3": campaign.Measured,
		} {
			if x := s.Experiment(id); x.Status != status {
				t.Errorf("%s is %s, want %s", id, x.Status, status)
			}
		}
		if v := s.Experiment("e1").Measurement.Quantities[0].Value; v != 3.5 {
			t.Errorf("e1 has the value %g, and a person read 3.5", v)
		}
		if got, want := tipsOf(used["meter"]), []string{"G1", "H1", "A2", "B2"}; !slices.Equal(got, want) {
			t.Errorf("the meter was given the tips %v, want %v", got, want)
		}
		audited(t, log, s.Name)
	})
}

// lastOf is the last act of a stage of a batch.
func lastOf(s *campaign.State, b campaign.Batch, stage string) (last *campaign.Act) {
	for _, id := range b.Acts {
		if a := s.Act(id); a.Stage == stage {
			last = a
		}
	}
	return last
}
