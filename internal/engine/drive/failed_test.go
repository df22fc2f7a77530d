package drive_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/manual"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: what an experiment gave before it failed is learned by the models of these quantities, its
// failure by that of what is feasible, and it is never the best: reported so, settled so or corrected to
// it and back. A campaign that declares no quantities takes none.
func TestFailedAllTheSame(t *testing.T) {
	def := electrolyte(t, 4, 20, unaided, func(def *definition.Campaign) {
		def.Policy.Next = next.Sobol{}.Choice()
		def.Initial.Experiments = ptr(0)
		def.Quantities = []definition.QuantityDef{{Name: "conductivity", Unit: "mS/cm"}, {Name: "viscosity", Unit: "mPa·s"}}
		def.Instrument = definition.Instrument{Driver: manual.Choose(manual.Settings{})}
	})
	log, core, ask := asked(t, def)
	both := func(conductivity, viscosity float64) []definition.Quantity {
		return []definition.Quantity{valueOf("conductivity", conductivity), valueOf("viscosity", viscosity)}
	}
	is := func(best string, failed int, want ...string) {
		t.Helper()
		if got := learned(core); got != strings.Join(want, "\n") {
			t.Errorf("the models learn from\n%s\nand should from\n%s", got, strings.Join(want, "\n"))
		}
		if x, _ := core.State().Best(); x == nil || x.ID != best {
			t.Errorf("the best is %+v, and should be %s", x, best)
		}
		if m := viewOf(t, core).Feasibility; m == nil && failed > 0 || m != nil && m.Failed != failed {
			t.Errorf("what is feasible is learned from %+v, and should be from %d that failed", m, failed)
		}
		coherent(t, log, core)
	}
	for _, r := range []engine.Tell{
		{Parameters: at(1, 0.35, 0.5), Quantities: both(9, 3)},
		{Parameters: at(1.2, 0.4, 0.8), Quantities: both(8, 4)},
		{Parameters: at(0.6, 0.45, 0.4), Failed: "it leaked", Quantities: both(14, 2.5)},
		{Parameters: at(1.5, 0.45, 0.4), Failed: "it leaked", Quantities: both(0, 6)[1:]},
	} {
		must.Do(t, ask(engine.Request{Tell: &r}))
	}
	is("e1", 2, "objective: e1 9, e2 8, e3 14", "quantity viscosity: e1 3, e2 4, e3 2.5, e4 6")
	correct := func(id string, c engine.Correct) {
		t.Helper()
		c.Experiment, c.Reason = id, "looked again"
		must.Do(t, ask(engine.Request{Correct: &c}))
	}
	correct("e4", engine.Correct{Outcome: events.ResolvedFailed}) // for another reason: the values stay
	is("e1", 2, "objective: e1 9, e2 8, e3 14", "quantity viscosity: e1 3, e2 4, e3 2.5, e4 6")
	correct("e3", engine.Correct{Outcome: events.ResolvedMeasured})
	is("e3", 1, "objective: e1 9, e2 8, e3 14", "quantity viscosity: e1 3, e2 4, e3 2.5, e4 6")
	correct("e3", engine.Correct{Outcome: events.ResolvedFailed, Quantities: both(13, 0)[:1]})
	is("e1", 2, "objective: e1 9, e2 8, e3 13", "quantity viscosity: e1 3, e2 4, e4 6")
	exclude := engine.Correct{Experiment: "e3", Exclude: true, Reason: "another cell"}
	if err := ask(engine.Request{Correct: &exclude}); err != nil || core.State().Experiment("e3").Cause != "looked again" {
		t.Fatalf("it failed for %q, %v; an exclusion leaves the cause", core.State().Experiment("e3").Cause, err)
	}
	is("e1", 1, "objective: e1 9, e2 8", "quantity viscosity: e1 3, e2 4, e4 6")
	correct("e3", engine.Correct{})
	is("e1", 2, "objective: e1 9, e2 8, e3 13", "quantity viscosity: e1 3, e2 4, e4 6")
	correct("e1", engine.Correct{Outcome: events.ResolvedFailed})
	correct("e2", engine.Correct{Outcome: events.ResolvedFailed, Quantities: both(8, 4)})
	if n := core.Quantities().Objective().Observed(); n > 0 {
		t.Errorf("nothing gave a result, and the model learns from %d", n)
	}
	coherent(t, log, core)

	_, _, ask = asked(t, electrolyte(t, 4, 20, unaided, func(def *definition.Campaign) {
		def.Instrument = definition.Instrument{Driver: manual.Choose(manual.Settings{})}
	}))
	err := ask(engine.Request{Tell: &engine.Tell{Parameters: at(1, 0.35, 0.5), Failed: "it leaked", Quantities: both(9, 3)[:1]}})
	if err == nil || !strings.Contains(err.Error(), "declares no quantities") {
		t.Errorf("it is not refused: %v", err)
	}
}

// Law: of many results that come together, a row may say nothing of an experiment that has been
// measured but remarks: the audit takes them for a part of the request, wherever the row stands.
func TestRemarksOnKnownResults(t *testing.T) {
	def := electrolyte(t, 4, 20, unaided, func(def *definition.Campaign) {
		def.Policy.Next = next.Sobol{}.Choice()
		def.Initial.Experiments = ptr(0)
		def.Quantities = []definition.QuantityDef{{Name: "conductivity", Unit: "mS/cm"}, {Name: "viscosity", Unit: "mPa·s"}}
		def.Instrument = definition.Instrument{Driver: manual.Choose(manual.Settings{})}
	})
	log, core, ask := asked(t, def)
	row := func(lipf6, conductivity float64, notes ...string) engine.Tell {
		return engine.Tell{
			Parameters: at(lipf6, 0.4, 0.5), Notes: notes,
			Quantities: []definition.Quantity{valueOf("conductivity", conductivity), valueOf("viscosity", 3)},
		}
	}
	remarks := func(id string, notes ...string) engine.Tell {
		return engine.Tell{Experiment: id, Quantities: []definition.Quantity{}, Notes: notes}
	}
	for i, rows := range [][]engine.Tell{
		{row(1, 9), row(1.2, 8, "warm"), row(0.6, 7)},
		{row(1.4, 6), remarks("e1", "cloudy")},
		{row(1.5, 5, "warm"), remarks("e2", "cloudy"), row(0.7, 4)},
		{remarks("e1", "cloudy still"), remarks("e2", "cloudy still"), row(0.75, 4)},
		{row(0.8, 3), remarks("e1", "clear again"), remarks("e2", "clear again", "and cold")},
	} {
		must.Do(t, ask(engine.Request{ID: fmt.Sprintf("table%d", i), Results: rows}))
		coherent(t, log, core)
	}
	notes := 0
	for _, e := range history(t, log) {
		if e.Kind == events.KindNoteAdded {
			notes++
		}
	}
	if notes != 9 {
		t.Errorf("of 9 remarks %d are recorded", notes)
	}
}

// leaking is an instrument every third experiment of which fails after it has measured. What it then
// says of the conductivity is too good to be true.
type leaking struct {
	instruments.Instrument
	answered *int
}

func (l leaking) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	o, err := l.Instrument.Await(ctx, cmd)
	if *l.answered++; *l.answered%3 == 0 && o.Measurement != nil {
		m := *o.Measurement
		m.Objective.Value *= 2
		o = instruments.Outcome{Status: instruments.Failed, Cause: "it leaked", Measurement: &m}
	}
	return o, err
}

// leaked is a campaign that trades conductivity off against viscosity, of which every third experiment
// fails after it has measured, and its log.
func leaked(t *testing.T) (*memlog.Log, *engine.Core) {
	t.Helper()
	def := electrolyte(t, 4, 12, unaided, func(def *definition.Campaign) {
		studytest.Simulated(def, func(s *simulated.Settings) { s.FailureRate = 0 })
	})
	simulation := must.Get(simulated.Driver.Open(t.Context(), def, instruments.Environment{}))(t)
	def.Quantities = []definition.QuantityDef{{Name: "conductivity", Unit: "mS/cm"}, {Name: "viscosity", Unit: "mPa·s", Scale: definition.ScaleLog}}
	def.Objective = definition.Objective{Name: "conductivity", Goal: "maximize", Tradeoff: []definition.Aim{
		{Name: "conductivity", Goal: "maximize"}, {Name: "viscosity", Goal: "minimize"},
	}}
	def.Policy, def.Model.Tails = definition.Policy{}, ""
	def = campaignfile.Complete(builtin.Registry(), def)
	log := memlog.New()
	r, err := studytest.Runner(t.Context(), log, def, leaking{viscometer{simulation, new(int)}, new(int)})
	if err != nil {
		t.Fatal(err)
	}
	must.Do(t, r.Run(t.Context()))
	return log, r.Core()
}

// Law: a trade-off of which experiments fail after they have measured runs to its end, learns from
// their values, has none of them on its front, and is audited bit for bit.
func TestTradeoffOfWhatFailed(t *testing.T) {
	log, core := leaked(t)
	s, view := core.State(), viewOf(t, core)
	if n := s.Count(campaign.Failed); n != 4 || view.Objective().Fit.Observations != 12 {
		t.Errorf("%d experiments failed and the model learns from %d; 4 and 12 are right", n, view.Objective().Fit.Observations)
	}
	p := must.Get(seek.NewProblem(s, view.Space, view.Models))(t)
	standing, err := p.Standing()
	if err != nil || len(standing.Measured) != 8 || len(standing.Front) == 0 {
		t.Fatalf("the trade-off stands at %+v, %v; 8 of its experiments gave a result", standing, err)
	}
	for _, m := range standing.Measured {
		if s.Experiment(m.Experiment).Status != campaign.Measured {
			t.Errorf("%s failed and counts as a result", m.Experiment)
		}
	}
	i, _ := view.Objective().Best()
	if best := view.Objective().Observations[i].Experiment; s.Experiment(best).Status != campaign.Measured {
		t.Errorf("%s failed and is the best by the model", best)
	}
	coherent(t, log, core)
}
