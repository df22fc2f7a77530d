package drive_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/manual"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/campaign"
)

// reference is a reference experiment of a campaign of [referencing], at x.
func reference(x float64, every int, within time.Duration) definition.ReferenceExperiment {
	return definition.ReferenceExperiment{
		Composition: definition.Point{"x": definition.Number(x)}, Every: every, Within: definition.Duration(within),
	}
}

// referencing is a campaign with reference experiments.
func referencing(experiments int, references map[string]definition.ReferenceExperiment, change ...func(*definition.Campaign)) definition.Campaign {
	def := definition.Campaign{
		Name: "referencing", Seed: 1,
		Parameters:           []definition.Parameter{{Name: "x", Min: ptr(0.0), Max: ptr(1.0)}},
		Objective:            definition.Objective{Name: "y", Unit: "mS", Goal: definition.Maximize},
		Policy:               definition.Policy{Next: next.Random{}.Choice()},
		Initial:              definition.Initial{Experiments: ptr(2)},
		Budget:               definition.Budget{Experiments: experiments},
		ReferenceExperiments: references,
	}
	def.Instrument.GiveUpAfter = definition.Duration(1000 * time.Hour)
	for _, c := range change {
		c(&def)
	}
	return campaignfile.Complete(builtin.Registry(), def)
}

// meter takes an hour for each command. Each reference gives the next of its values, and the last again.
type meter struct {
	*device
	mu     sync.Mutex
	values map[float64][]float64 // by x
}

func newMeter(values map[float64][]float64) *meter {
	m := &meter{device: newDevice("serial 7"), values: values}
	m.await = func(cmd instruments.Command) (instruments.Outcome, error) {
		time.Sleep(time.Hour)
		m.mu.Lock()
		defer m.mu.Unlock()
		x, _ := cmd.Parameters["x"].Float()
		y := 4 - (x-0.3)*(x-0.3)
		if given := m.values[x]; given != nil {
			if y = given[0]; len(given) > 1 {
				m.values[x] = given[1:]
			}
		}
		return instruments.Outcome{Status: instruments.Measured, Measurement: &events.Measurement{
			Actual: cmd.Parameters, Objective: definition.Quantity{Name: "y", Value: y, Unit: "mS"},
		}}, nil
	}
	return m
}

// origins are where the experiments of a campaign came from, in order of request: "r" of a reference
// experiment, and "." of any other.
func origins(s *campaign.State) string {
	var b strings.Builder
	for i := range s.Experiments {
		if s.Experiments[i].Reference() {
			b.WriteByte('r')
		} else {
			b.WriteByte('.')
		}
	}
	return b.String()
}

func referenced(t *testing.T) (all []events.Event) {
	synctest.Test(t, func(t *testing.T) {
		standard := reference(0.5, 1, 0)
		standard.Pause = true
		known := reference(0.25, 0, 5*time.Hour)
		known.Limits = map[string]definition.ControlLimits{"y": {Target: 4, Tolerance: 0.1}}
		def := referencing(12, map[string]definition.ReferenceExperiment{"standard": standard, "known": known})
		values := map[float64][]float64{0.5: {3.95, 3.97, 3.94, 3.96, 3.95, 3.96, 3.95, 3.94, 3.95, 3.2, 3.95}, 0.25: {4, 4.05, 4.3, 4.02}}
		log := memlog.New()
		first := attend(t, log, def, newMeter(values))
		time.Sleep(3*time.Hour + 30*time.Minute) // e4, a reference, is under way
		first.end()
		<-first.over
		second := attend(t, log, def, newMeter(values))
		ask := func(after time.Duration, r engine.Request) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			must.Do(t, second.ask(t, r))
		}
		ask(time.Hour, engine.Request{Resolve: &engine.Resolve{
			Experiment: "e4", Resolution: events.ResolvedMeasured, Value: new(3.96), Reason: "it is in its memory",
		}})
		for !second.isPaused() {
			time.Sleep(time.Hour)
			synctest.Wait()
		}
		ask(time.Minute, engine.Request{Note: &engine.Note{Text: "the window was dirty", About: pausedAt(t, log)}})
		ask(time.Minute, engine.Request{Resume: &events.CampaignResumed{Reason: "it is clean"}})
		amended := must.Get(engine.Load(t.Context(), builtin.Registry(), log, def.Name))(t).State().Definition
		changed := *amended
		standard.Every = 3
		changed.ReferenceExperiments = map[string]definition.ReferenceExperiment{"standard": standard}
		ask(0, engine.Request{Amend: &events.CampaignAmended{Definition: changed, Reason: "one is enough"}})
		must.Do(t, <-second.over)
		all = history(t, log)
	})
	return all
}

// pausedAt is the reference experiment for which a campaign is paused.
func pausedAt(t *testing.T, log events.Log) string {
	t.Helper()
	id, _, _ := strings.Cut(stateOf(t, log, "referencing").Reason, ",")
	return id
}

// Law: references are requested when they are due, by experiments or by time, before anything else; after
// a crash not twice; by an amendment from then on. They cost nothing of the budget and are the best of
// nothing. One that is outside its limits is said once, pauses the campaign where the file says so, and
// is an alarm until a person has said a word or the next one is within them.
func TestReferences(t *testing.T) {
	all := referenced(t)
	log := refill(t, all)
	s := stateOf(t, log, "referencing")
	// The standard after each experiment, and the other one every five hours: it is killed during e4, which a
	// person resolves at the fifth. From e26 on the standard alone, after every three: then the budget is spent.
	if got, want := origins(s), "rr.rr.r.rr.r.rr.r.rr.r.rr..."; got != want {
		t.Errorf("the experiments are %s, want %s", got, want)
	}
	if n := s.Spent(); n != 12 || s.Reason != events.CompletedBudget {
		t.Errorf("%d experiments are spent: %s", n, s.Reason)
	}
	if best, _ := s.Best(); best == nil || best.Reference() {
		t.Errorf("the best is %+v", best)
	}
	var said []string
	for _, e := range all {
		switch p := must.Get(events.Decode(e))(t).(type) {
		case *events.MeasurementFlagged:
			said = append(said, fmt.Sprint(p.Verdict, " ", p.Reason))
		case *events.CampaignPaused:
			said = append(said, p.Reason)
		}
	}
	want := []string{
		"drift known is 4.300 mS, outside of 3.900 to 4.100.",
		"drift standard is 3.200 mS, outside of 3.918 to 3.984.",
		"e24, a reference experiment, is outside its limits: standard is 3.200 mS, outside of 3.918 to 3.984. See to the instrument",
	}
	if !slices.Equal(said, want) {
		t.Errorf("it is said\n%s", strings.Join(said, "\n"))
	}
	audited(t, log, s.Name)
}

// Law: a campaign with references makes the decisions, the fits and the design that it makes without.
func TestReferencesChangeNoDecision(t *testing.T) {
	for _, method := range []string{"cobol", "lognei", "logei", "lcb", "sobol"} {
		t.Run(method, func(t *testing.T) {
			decided := func(change func(*definition.Campaign)) (course []string) {
				def := electrolyte(t, 3, 10, func(def *definition.Campaign) {
					studytest.WithNoise(0)(def)
					def.Objective.Noise = ptr(0.1)
					if method != "cobol" {
						unaided(def)
						def.Policy = policiesByName()[method]
					}
					studytest.Simulated(def, func(s *simulated.Settings) { s.FailureRate = 0 })
					change(def)
				})
				log, core := simulate(t, def)
				for i := range core.State().Experiments {
					if x := &core.State().Experiments[i]; !x.Reference() {
						course = append(course, fmt.Sprint(x.Origin, x.Decision, x.Replicate, x.Parameters))
					}
				}
				for _, e := range history(t, log) {
					if fit, ok := must.Get(events.Decode(e))(t).(*events.ModelFitted); ok && fit.Objective != nil {
						course = append(course, fmt.Sprint(fit.Seed, *fit.Objective))
					}
				}
				return append(course, fmt.Sprint(must.Get(core.Summarize(t.Context()))(t).BestByModel.Parameters))
			}
			point := definition.Point{"lipf6": definition.Number(1), "ec": definition.Number(0.4), "dmc": definition.Number(0.5)}
			without := decided(func(*definition.Campaign) {})
			with := decided(func(def *definition.Campaign) {
				def.ReferenceExperiments = map[string]definition.ReferenceExperiment{"standard": {Composition: point, Every: 2}}
			})
			if diff := cmp.Diff(without, with); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Law: a reference takes the place of an experiment in its batch, and of those under way. The design of three
// is measured before anything else is decided on, so that the second batch has the last of it alone.
func TestReferenceInABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		def := plated(func(def *definition.Campaign) {
			def.Budget.Experiments = 7
			def.ReferenceExperiments = map[string]definition.ReferenceExperiment{"standard": reference(0.5, 3, 0)}
		})
		log := memlog.New()
		must.Do(t, <-newStations().attend(t, log, def).over)
		s := platesState(t, log)
		if got, want := origins(s), "r...r...r."; got != want {
			t.Errorf("the experiments are %s, want %s", got, want)
		}
		var batches []string
		for _, b := range s.Batches {
			batches = append(batches, events.ExperimentList(b.Experiments))
		}
		if want := []string{"e1-e3", "e4, e5", "e6-e8", "e9, e10"}; !slices.Equal(batches, want) {
			t.Errorf("the batches are %v", batches)
		}
		audited(t, log, s.Name)
	})
}

// Law: a reference that was put off is tried again, and one that gave nothing is not asked for until it is
// due again.
func TestReferenceWithoutAResult(t *testing.T) {
	device := &lab{outcomes: []func(instruments.Command) instruments.Outcome{
		gives(instruments.Deferred, "the door is open"), gives(instruments.Failed, "a bubble"),
	}}
	def := electrolyte(t, 1, 4, unaided, func(def *definition.Campaign) {
		def.ReferenceExperiments = map[string]definition.ReferenceExperiment{"standard": {Composition: definition.Point{
			"lipf6": definition.Number(1), "ec": definition.Number(0.4), "dmc": definition.Number(0.5),
		}, Every: 3}}
	})
	log := memlog.New()
	r, _ := start(t, log, def, device)
	must.Do(t, r.Run(t.Context()))
	s := r.Core().State()
	if got, want := origins(s), "rr...r."; got != want || s.Experiments[0].Status != campaign.Deferred || s.Experiments[1].Status != campaign.Failed {
		t.Errorf("the experiments are %s, want %s", got, want)
	}
	audited(t, log, s.Name)
}

// Law: an audit of a campaign by hand finds nothing where a reference became due while nothing happened.
func TestReferenceByHand(t *testing.T) {
	log, now := memlog.New(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	def := referencing(3, map[string]definition.ReferenceExperiment{"standard": reference(0.5, 0, 5*time.Hour)}, func(def *definition.Campaign) {
		def.Parallel = 3
		def.Instrument = definition.Instrument{Driver: manual.Choose(manual.Settings{})}
	})
	must.Do(t, engine.Define(t.Context(), log, events.CampaignDefined{Definition: def}, "person:ada", now, ""))
	suggest := func(hour int) string {
		t.Helper()
		r := &drive.Runner{Registry: builtin.Registry(), Log: log, Campaign: def.Name, Now: func() time.Time {
			return now.Add(time.Duration(hour) * time.Hour)
		}}
		must.Get(r.Suggest(t.Context()))(t)
		return origins(stateOf(t, log, def.Name))
	}
	suggest(0)
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, def.Name))(t)
	tell := engine.Request{Actor: "person:ada", Tell: &engine.Tell{Experiment: "e1", Value: new(3.0)}}
	must.Get(engine.Submit(t.Context(), log, core, tell, now.Add(time.Hour)))(t)
	if before, after := suggest(4), suggest(5); before != "r.." || after != "r..r" {
		t.Errorf("the experiments are %s, and then %s", before, after)
	}
	audited(t, log, def.Name)
}

// Law: a person corrects the value of a reference, or takes it off its chart as a failure; into the models it
// cannot be taken.
func TestCorrectedReferences(t *testing.T) {
	all := referenced(t)
	correct := func(r engine.Correct) (*campaign.State, error) {
		t.Helper()
		log := refill(t, all)
		core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, "referencing"))(t)
		r.Experiment, r.Reason = "e24", "the standard was old"
		_, err := engine.Submit(t.Context(), log, core, engine.Request{Actor: "person:ada", Correct: &r}, core.Last())
		audited(t, log, "referencing")
		return stateOf(t, log, "referencing"), err
	}
	for _, exclude := range []bool{false, true} {
		if _, err := correct(engine.Correct{Exclude: exclude}); err == nil || !strings.Contains(err.Error(), "in no model") {
			t.Errorf("exclude %t: %v", exclude, err)
		}
	}
	s, err := correct(engine.Correct{Value: new(3.95)})
	if err != nil || len(s.Drifts()) > 0 || !s.Experiment("e24").Excluded {
		t.Errorf("another value: %+v, %v", s.Drifts(), err)
	}
	s, err = correct(engine.Correct{Outcome: events.ResolvedFailed})
	if n := len(s.Controls()[0].Points); err != nil || len(s.Drifts()) > 0 || n != 9 {
		t.Errorf("a failure: %d values, %+v, %v", n, s.Drifts(), err)
	}
}

// Law: an audit finds a reference experiment that the definition does not declare, or that is not due, and
// one that is missing.
func TestForgedReferences(t *testing.T) {
	all := referenced(t)
	requested := func(i int) *events.ExperimentRequested {
		p, _ := must.Get(events.Decode(all[i]))(t).(*events.ExperimentRequested)
		return p
	}
	audits := func(forged []events.Event) int {
		report, err := auditAsMade(t, refill(t, forged), all)
		if err != nil {
			return 1 // it does not even fold
		}
		return len(report.Mismatches)
	}
	tried := 0
	for i := range all {
		p := requested(i)
		if p == nil {
			continue
		}
		for what, change := range map[string]func(*events.ExperimentRequested){
			"another origin": func(p *events.ExperimentRequested) {
				if p.Origin == events.OriginReference {
					p.Origin = events.OriginInitial
				} else {
					p.Origin = events.OriginReference
				}
			},
			"another composition": func(p *events.ExperimentRequested) { p.Parameters = definition.Point{"x": definition.Number(0.123)} },
			"another run":         func(p *events.ExperimentRequested) { p.Replicate++ },
		} {
			changed := *p
			change(&changed)
			forged := slices.Clone(all)
			made := must.Get(events.New(all[i].Campaign, &changed))(t)
			forged[i].Data = made.Data
			if tried++; audits(forged) == 0 {
				t.Errorf("%s (%s) with %s is not found", p.Experiment, p.Origin, what)
			}
		}
	}
	if tried < 50 {
		t.Errorf("%d forgeries were tried", tried)
	}
}
