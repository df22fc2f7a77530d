package whatif_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/whatif"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// electrolyte is a campaign on the simulated electrolyte, which has been run.
const electrolyte = `
name: bench
parameters:
  - {name: lipf6, unit: mol/kg, min: 0.2, max: 2.1}
  - {name: ec, unit: kg/kg, min: 0.30, max: 0.52}
  - {name: dmc, min: 0, max: 1}
objective: {name: conductivity, unit: mS/cm, goal: maximize, noise: 0.27}
initial: {experiments: 3}
policy: %s
budget: {experiments: 9}
parallel: %d
instrument: {simulated: {task: electrolyte, noise: 0.27}}
experts: [%s]
`

func run(t *testing.T, source string) whatif.Input {
	t.Helper()
	file := must.Get(campaignfile.Parse(builtin.Registry(), "bench.yaml", []byte(source)))(t)
	log := memlog.New()
	must.Get(studytest.Simulate(t.Context(), log, file.Definition))(t)
	name := file.Definition.Name
	record := must.Get(view.FoldRecord(t.Context(), builtin.Registry(), log, name))(t)
	return whatif.Input{Registry: builtin.Registry(), Log: log, Campaign: name, Record: record}
}

func work(t *testing.T, in whatif.Input, q whatif.Question) *whatif.Answer {
	t.Helper()
	a, err := whatif.Work(t.Context(), in, q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return a
}

// content is what an experiment measured, and where.
func content(all []whatif.Experiment) (list []string) {
	for _, x := range all {
		value := math.NaN()
		if x.Value != nil {
			value = *x.Value
		}
		list = append(list, fmt.Sprint(x.ID, x.Parameters, x.Status, value))
	}
	return list
}

// Law: a decision's turn begins with the first one that was made while as many turns were over.
func TestFirstOfTurn(t *testing.T) {
	for _, parallel := range []int{1, 3} {
		in := run(t, fmt.Sprintf(electrolyte, "cobol", parallel, "{name: bob, simulated: {accuracy: 2}}"))
		first := make(map[string]string)
		core, turns, began, several := engine.NewCore(in.Registry), -1, "", 0
		for e := range must.Each(t, events.ReadCampaign(t.Context(), in.Log, in.Campaign, 0)) {
			if e.Kind == events.KindDecisionMade {
				id := events.DecisionID(core.State().Decisions + 1)
				if over := core.State().Turns; over != turns {
					turns, began = over, id
				} else {
					several++
				}
				first[id] = began
			}
			must.Do(t, core.Apply(e))
		}
		for id, want := range first {
			if got := core.State().FirstOfTurn(id); got != want {
				t.Errorf("%d in parallel: the turn of %s begins with %s, want %s", parallel, id, got, want)
			}
		}
		if several == 0 {
			t.Error("no turn has several decisions")
		}
	}
}

// Law: where nothing is otherwise, the same is decided, for the same reason, and the campaign goes on
// as it really did, to its end, from any of its decisions. The campaign's log is as it was.
func TestNothingOtherwise(t *testing.T) {
	for _, source := range []string{
		fmt.Sprintf(electrolyte, "coexbo", 1, "{name: bob, simulated: {accuracy: 2}}"),
		fmt.Sprintf(electrolyte, "cobol", 1, "{name: bob, simulated: {accuracy: 2}}, {name: eve, simulated: {accuracy: -2}}"),
		fmt.Sprintf(electrolyte, "lognei", 1, ""),
		fmt.Sprintf(electrolyte, "lognei", 1, "") +
			"reference_experiments: {standard: {composition: {lipf6: 1, ec: 0.4, dmc: 0.5}, every: 2, pause: true}}\n",
	} {
		in := run(t, source)
		before := in.Log.Last()
		core := must.Get(engine.Load(t.Context(), in.Registry, in.Log, in.Campaign))(t)
		for n := 1; n <= core.State().Decisions; n += 3 {
			id := events.DecisionID(n)
			a := work(t, in, whatif.Question{Decision: id, Experiments: 50})
			real, imagined := *a.Decided, *a.Suggested
			imagined.At, imagined.Build = real.At, real.Build
			if !reflect.DeepEqual(real, imagined) {
				t.Errorf("%s: %s became %+v, not %+v", core.State().Definition.Policy.Trust.Name, id, imagined, real)
			}
			if got, want := content(a.Imagined), content(a.Real); !slices.Equal(got, want) || a.Ended == "" {
				t.Errorf("from %s: imagined\n%v\nand really\n%v (ended: %q)", id, got, want, a.Ended)
			}
			if of := core.State().Spent(); len(a.Before)+len(a.Real) != of { // references are in no course
				t.Errorf("from %s: %d before and %d after, of %d", id, len(a.Before), len(a.Real), of)
			}
		}
		if in.Log.Last() != before {
			t.Errorf("the log grew from %d to %d events", before, in.Log.Last())
		}
	}
}

// Law: without an expert nothing is asked of them and nothing they have said counts, in the middle of a
// turn as well; where the policy was for them alone, the campaign is left to its acquisition. With another
// policy, what was asked by the one that there was is not taken up.
func TestWithoutExpert(t *testing.T) {
	const bob, eve = "{name: bob, simulated: {accuracy: 2}}", "{name: eve, simulated: {accuracy: -2}}"
	for _, policy := range []string{"cobol", "coexbo", "{trust: answers}"} {
		for _, experts := range []string{bob, bob + ", " + eve} {
			if strings.Contains(experts, "eve") && strings.Contains(policy, "coexbo") {
				continue // an expert chooses
			}
			in := run(t, fmt.Sprintf(electrolyte, policy, 1, experts))
			core := must.Get(engine.Load(t.Context(), in.Registry, in.Log, in.Campaign))(t)
			for n := 1; n <= core.State().Decisions; n += 2 {
				id := events.DecisionID(n)
				for _, q := range []whatif.Question{{Decision: id, Without: "bob", Experiments: 1}, {Decision: id, Method: "lognei", Experiments: 1}} {
					a := work(t, in, q)
					told, _ := json.Marshal(a.Suggested)
					if strings.Contains(string(told), "bob") {
						t.Errorf("%s with %s: %+v says %s", policy, experts, q, told)
					}
					if q.Method != "" && (a.Suggested.Policy.Trust != "none" || a.Suggested.Action == events.ActionAsk) {
						t.Errorf("%s with %s: %+v is %s", policy, experts, q, told)
					}
					if events.DecisionNumber(a.From) > n {
						t.Errorf("%s is imagined from %s on", id, a.From)
					}
				}
			}
		}
	}
	in := run(t, fmt.Sprintf(electrolyte, "coexbo", 1, bob))
	if _, err := whatif.Work(t.Context(), in, whatif.Question{Decision: "d4", Without: "nobody"}); problem.CodeOf(err) != problem.NotFound {
		t.Errorf("without nobody: %v", err)
	}
}

// Law: every method that is offered can be imagined, gives the same answer to the same question, and what is
// refused is refused with a reason.
func TestEveryMethod(t *testing.T) {
	in := run(t, fmt.Sprintf(electrolyte, "lognei", 2, "{name: bob, simulated: {accuracy: 2}}"))
	core := must.Get(engine.Load(t.Context(), in.Registry, in.Log, in.Campaign))(t)
	choices := whatif.Choices(in.Registry, *core.State().Definition)
	if len(choices) < 10 {
		t.Errorf("only %d methods: %v", len(choices), choices)
	}
	for _, c := range choices {
		q := whatif.Question{Decision: "d3", Method: c.Name, Experiments: 1}
		a := work(t, in, q)
		if a.Suggested == nil || len(a.Imagined) == 0 {
			t.Errorf("%s: %+v", c.Name, a)
		}
		one, _ := json.Marshal(a)
		two, _ := json.Marshal(work(t, in, q))
		if string(one) != string(two) {
			t.Errorf("%s is imagined in two ways:\n%s\n%s", c.Name, one, two)
		}
	}
	for _, q := range []whatif.Question{
		{Decision: "d99"}, {Decision: ""}, {Decision: "d1", Method: "nonsense"}, {Decision: "d1", Method: "eubo"},
		{Decision: "d1", Experiments: whatif.Most + 1}, {Decision: "d1", Experiments: -1},
	} {
		if _, err := whatif.Work(t.Context(), in, q); err == nil || problem.CodeOf(err) == problem.Internal {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// Law: where a person measures, what the log holds is answered as it was measured, and elsewhere the mean of
// the campaign's model as of now; a person who is asked says again what they said of the same, and nothing
// else. Nobody is asked, and no instrument is opened.
func TestStandIns(t *testing.T) {
	in := run(t, fmt.Sprintf(electrolyte, "cobol", 1, "{name: bob, simulated: {accuracy: 2}}"))
	in = byHand(t, in)
	core := must.Get(engine.Load(t.Context(), in.Registry, in.Log, in.Campaign))(t)
	view := must.Get(core.View(t.Context()))(t)
	a := work(t, in, whatif.Question{Decision: "d1", Experiments: 50})
	if got, want := content(a.Imagined), content(a.Real); !slices.Equal(got, want) || a.Repeated == 0 || a.Unanswered > 0 {
		t.Errorf("nothing otherwise: imagined\n%v\nand really\n%v; %d answers repeated, %d not given", got, want, a.Repeated, a.Unanswered)
	}
	for _, x := range a.Imagined {
		if x.From != whatif.FromLog || x.Was != x.ID {
			t.Errorf("%s is from %s %s", x.ID, x.From, x.Was)
		}
	}
	a = work(t, in, whatif.Question{Decision: "d1", Method: "sobol"})
	if a.StandIn != whatif.FromModel || a.Fitted != len(view.Objective().Observations) {
		t.Errorf("%s with %d measurements stands in", a.StandIn, a.Fitted)
	}
	for _, x := range a.Imagined {
		want, err := view.Objective().Predict(x.Parameters)
		if err != nil || x.Value == nil || *x.Value != want.Mean || x.From != whatif.FromModel {
			t.Errorf("%+v, and the model says %v, %v", x, want.Mean, err)
		}
	}
}

// byHand makes of a campaign the same one as people would have measured and judged it, with an instrument that
// is soon held to be silent.
func byHand(t *testing.T, in whatif.Input) whatif.Input {
	return defined(t, in, func(def *definition.Campaign) {
		def.Instrument.Driver, def.Instrument.ByHand = definition.NewChoice("manual", map[string]any{}), true
		def.Instrument.StallAfter, def.Instrument.GiveUpAfter = definition.Duration(time.Second), definition.Duration(2*time.Second)
		def.Experts[0].Channel, def.Experts[0].Person = definition.NewChoice("web", map[string]any{}), true
	})
}

// Law: simulations that take their time are not waited for.
func TestAtOnce(t *testing.T) {
	in := run(t, fmt.Sprintf(electrolyte, "cobol", 1, "{name: bob, simulated: {accuracy: 2}}"))
	in = defined(t, in, func(def *definition.Campaign) {
		def.Instrument.Driver = definition.NewChoice("simulated", map[string]any{"task": "electrolyte", "noise": 0.27, "latency": "1000h"})
		def.Experts[0].Channel = definition.NewChoice("simulated", map[string]any{"task": "electrolyte", "accuracy": 2, "latency": "1000h"})
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	a, err := whatif.Work(ctx, in, whatif.Question{Decision: "d2", Method: "coexbo", Experiments: 2})
	if err != nil || len(a.Imagined) != 2 {
		t.Errorf("%+v, %v", a, err)
	}
}

// defined is a campaign with another definition.
func defined(t *testing.T, in whatif.Input, change func(*definition.Campaign)) whatif.Input {
	t.Helper()
	log := memlog.New()
	for e := range must.Each(t, events.ReadCampaign(t.Context(), in.Log, in.Campaign, 0)) {
		if e.Kind == events.KindCampaignDefined {
			payload := must.Get(events.Decode(e))(t)
			p := payload.(*events.CampaignDefined)
			change(&p.Definition)
			e.Data = must.Get(json.Marshal(p))(t)
		}
		must.Get(log.Append(t.Context(), in.Campaign, events.AnySequence, e))(t)
	}
	in.Log = log
	return in
}

// Law: a trade-off is imagined in all its quantities and has no best result; a campaign whose candidates are the rows
// of a table can be imagined with another policy.
func TestTradeoffOfATable(t *testing.T) {
	folder := must.Get(filepath.Abs("../../../examples/studies/fronts"))(t)
	file := must.Get(campaignfile.Read(builtin.Registry(), filepath.Join(folder, "suzuki1.yaml")))(t)
	def := file.Definition
	def.Budget.Experiments = 12
	env := instruments.Environment{Folder: folder}
	driver, _ := builtin.Registry().DriverOf(&def)
	rows := must.Get(driver.Open(t.Context(), def, env))(t)
	def.Candidates = must.Get(rows.(instruments.Candidates).Candidates(t.Context()))(t)
	log := memlog.New()
	if err := engine.Define(t.Context(), log, events.CampaignDefined{Definition: def}, "person:study", time.Unix(0, 0), ""); err != nil {
		t.Fatal(err)
	}
	runner := must.Get(studytest.Runner(t.Context(), log, def, rows))(t)
	must.Do(t, runner.Run(t.Context()))
	record := must.Get(view.FoldRecord(t.Context(), builtin.Registry(), runner.Log, def.Name))(t)
	a := work(t, whatif.Input{
		Registry: builtin.Registry(), Log: runner.Log, Campaign: def.Name, Record: record, Environment: env,
	}, whatif.Question{Decision: "d1", Method: "random", Experiments: 3})
	if len(a.Imagined) != 3 {
		t.Fatalf("%d experiments imagined, want 3", len(a.Imagined))
	}
	for _, x := range a.Imagined {
		if len(x.Quantities) != 2 || !strings.Contains(x.Result("%"), "turnover") {
			t.Errorf("%s: %s of %+v", x.ID, x.Result("%"), x.Quantities)
		}
	}
	if _, real, imagined := a.Bests(); real != nil || imagined != nil {
		t.Errorf("the best of a trade-off: really %+v, imagined %+v", real, imagined)
	}
}

// Law: the best of a course is one that keeps the constraints on outcomes; where none is known to,
// one of which it is not known; what is excluded, failed, or has no value is none.
func TestBestOfACourseKeepsTheConstraints(t *testing.T) {
	value := func(v float64, keeps campaign.Keeps) whatif.Experiment {
		return whatif.Experiment{ID: fmt.Sprint(v), Status: campaign.Measured, Value: &v, Keeps: keeps}
	}
	left, failed := value(99, campaign.KeepsAll), value(98, campaign.KeepsAll)
	left.Excluded, failed.Status = true, campaign.Failed
	breaks, unknown, keeps := value(9, campaign.KeepsNot), value(7, campaign.KeepsUnknown), value(5, campaign.KeepsAll)
	def := &definition.Campaign{Objective: definition.Objective{Name: "y", Goal: definition.Maximize}}
	for want, of := range map[string][]whatif.Experiment{
		"9": {left, breaks, failed}, "7": {breaks, unknown, left}, "5": {breaks, unknown, keeps},
	} {
		if best := whatif.Best(def, of[:1], of[1:]); best == nil || best.ID != want {
			t.Errorf("of %v it is %+v, want %s", of, best, want)
		}
	}
}
