package quantity_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/projectiontest"
	"github.com/campaignd/campaignd/projections/quantity"
)

func ptr[T any](x T) *T { return &x }

// line is a campaign over x from 0 to 10, square one over a and b from −1 to 1.
func line(goal string) definition.Campaign {
	return definition.Campaign{
		Name: "line", Parameters: []definition.Parameter{{Name: "x", Min: ptr(0.0), Max: ptr(10.0)}},
		Objective: definition.Objective{Name: "y", Unit: "V", Goal: goal}, Model: definition.Model{Kernel: "rbf"},
	}
}

func square(goal, kernel string) definition.Campaign {
	return definition.Campaign{
		Name: "square", Parameters: []definition.Parameter{{Name: "a", Min: ptr(-1.0), Max: ptr(1.0)}, {Name: "b", Min: ptr(-1.0), Max: ptr(1.0)}},
		Objective: definition.Objective{Name: "y", Unit: "V", Goal: goal}, Model: definition.Model{Kernel: kernel},
	}
}

func at(x float64) definition.Point { return definition.Point{"x": definition.Number(x)} }

// fold is a campaign whose events are applied one after the other.
type fold struct {
	t *testing.T
	*quantity.Projection
	history []events.Event
}

func begin(t *testing.T, def definition.Campaign) *fold {
	f := &fold{t: t, Projection: quantity.New()}
	f.apply(&events.CampaignDefined{Definition: def})
	return f
}

func (f *fold) apply(payloads ...events.Payload) {
	f.t.Helper()
	for _, p := range payloads {
		e := must.Get(events.New("c", p))(f.t)
		e.Sequence = events.Sequence(len(f.history) + 1)
		e.ID = fmt.Sprint("i", e.Sequence)
		f.history = append(f.history, e)
		must.Do(f.t, f.Apply(e, p))
	}
}

func measured(n int, p definition.Point, y float64) *events.ExperimentMeasured {
	return &events.ExperimentMeasured{Experiment: fmt.Sprintf("e%d", n),
		Measurement: events.Measurement{Actual: p, Objective: definition.Quantity{Name: "y", Value: y}}}
}

// fitted is a fit with the given hyperparameters.
func fitted(kernel string, shift, scale, noise, mean, output float64, lengthscales ...float64) *events.ModelFitted {
	return &events.ModelFitted{Model: events.ModelObjective, Objective: &events.ObjectiveFit{
		Kernel: kernel, Lengthscales: lengthscales, OutputScale: output, Noise: noise, Mean: mean, Shift: shift, Scale: scale, Observations: 100,
	}}
}

// observations are those that there are.
func (f *fold) observations(ids ...string) (list []quantity.Observation) {
	for _, id := range ids {
		if o := f.Of(id); o != nil {
			list = append(list, *o)
		}
	}
	return list
}

// order is that of the experiments that the model is made from.
func (f *fold) order() (ids []string) {
	m, err := f.Model(f.t.Context())
	if err != nil || m == nil {
		f.t.Fatal(m, err)
	}
	for _, o := range m.Observations {
		ids = append(ids, o.Experiment)
	}
	return ids
}

// Law: observations are in the order of their experiments, whichever instrument was
// faster and whoever corrected what later; e10 comes after e9. So the model is the
// same, bit for bit.
func TestObservationsAreInOrderOfExperiments(t *testing.T) {
	numbers := []int{1, 2, 3, 9, 10, 11, 100}
	want := []string{"e1", "e2", "e3", "e9", "e10", "e11", "e100"}
	var first [2]float64
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 7))
		f := begin(t, line(definition.Minimize))
		for _, i := range rng.Perm(len(numbers)) {
			x := float64(i + 1)
			m := measured(numbers[i], at(x), math.Sin(x))
			switch rng.IntN(3) {
			case 0:
				f.apply(m)
			case 1:
				f.apply(&events.ExperimentResolved{Experiment: m.Experiment, Resolution: events.ResolvedMeasured, Measurement: &m.Measurement})
			case 2: // it was taken for a failure first
				f.apply(&events.ExperimentFailed{Experiment: m.Experiment},
					&events.ExperimentCorrected{Experiment: m.Experiment, Outcome: events.ResolvedMeasured, Measurement: &m.Measurement})
			}
		}
		f.apply(fitted("rbf", 0, 1, 0.01, 0, 1, 0.3))
		if got := f.order(); !slices.Equal(got, want) {
			t.Fatalf("seed %d: the observations are %v, want %v", seed, got, want)
		}
		m, _ := f.Model(t.Context())
		mean, sd := m.Posterior([]float64{0.123})
		if seed == 0 {
			first = [2]float64{mean, sd}
		}
		if first != [2]float64{mean, sd} {
			t.Fatalf("seed %d: the posterior is %v ± %v, with another order of arrival %v", seed, mean, sd, first)
		}
	}
}

// Law: what is corrected is an observation as if it had been reported so from the
// start, but for its being judged and when it came; a person's word is the last.
func TestCorrectedObservations(t *testing.T) {
	sd := 0.5
	judged := quantity.Observation{Experiment: "e1", Point: at(1), Value: 5, Judged: true}
	with := func(change func(*quantity.Observation)) []quantity.Observation {
		o := judged
		change(&o)
		return []quantity.Observation{o}
	}
	flag := func(verdict events.Verdict) *events.MeasurementFlagged {
		return &events.MeasurementFlagged{Experiment: "e1", Verdict: verdict, Repetition: "e2"}
	}
	other := events.Measurement{Actual: at(3), Objective: definition.Quantity{Name: "y", Value: 8, SD: &sd}}
	for _, c := range []struct {
		name string
		fix  []events.Payload
		want []quantity.Observation
	}{
		{"nothing", nil, with(func(o *quantity.Observation) { o.Judged = false })},
		{"the value", []events.Payload{&events.MeasurementCorrected{Experiment: "e1", New: &definition.Quantity{Value: 6, SD: &sd}}},
			with(func(o *quantity.Observation) { o.Value, o.SD = 6, &sd })},
		{"the composition", []events.Payload{&events.MeasurementCorrected{Experiment: "e1", Actual: at(2)}},
			with(func(o *quantity.Observation) { o.Point = at(2) })},
		{"excluded", []events.Payload{&events.MeasurementCorrected{Experiment: "e1", Excluded: true}},
			with(func(o *quantity.Observation) { o.Excluded = true })},
		{"suspect", []events.Payload{flag(events.VerdictSuspect)}, with(func(o *quantity.Observation) { o.Suspect = true })},
		{"suspect, and a person says it is right", []events.Payload{flag(events.VerdictSuspect), &events.MeasurementCorrected{Experiment: "e1"}}, []quantity.Observation{judged}},
		{"confirmed", []events.Payload{flag(events.VerdictSuspect), flag(events.VerdictConfirmed)}, []quantity.Observation{judged}},
		{"overturned", []events.Payload{flag(events.VerdictSuspect), flag(events.VerdictOverturned)}, with(func(o *quantity.Observation) { o.Excluded = true })},
		{"excluded, then confirmed", []events.Payload{&events.MeasurementCorrected{Experiment: "e1", Excluded: true}, flag(events.VerdictConfirmed)},
			with(func(o *quantity.Observation) { o.Excluded = true })},
		{"overturned, and a person says it is right", []events.Payload{flag(events.VerdictOverturned), &events.MeasurementCorrected{Experiment: "e1"}}, []quantity.Observation{judged}},
		{"made elsewhere", []events.Payload{flag(events.VerdictElsewhere)}, with(func(o *quantity.Observation) { o.Judged = false })},
		{"a failure", []events.Payload{&events.ExperimentCorrected{Experiment: "e1", Outcome: events.ResolvedFailed}}, nil},
		{"a failure, and a measurement after all", []events.Payload{&events.ExperimentCorrected{Experiment: "e1", Outcome: events.ResolvedFailed},
			&events.ExperimentCorrected{Experiment: "e1", Outcome: events.ResolvedMeasured, Measurement: &other}},
			with(func(o *quantity.Observation) { o.Point, o.Value, o.SD = at(3), 8, &sd })},
		{"another measurement, excluded", []events.Payload{&events.ExperimentCorrected{Experiment: "e1", Outcome: events.ResolvedMeasured, Measurement: &other, Excluded: true}},
			with(func(o *quantity.Observation) { o.Point, o.Value, o.SD, o.Excluded = at(3), 8, &sd, true })},
	} {
		f := begin(t, line(definition.Minimize))
		f.apply(measured(1, at(1), 5))
		before := f.Revision()
		f.apply(c.fix...)
		if diff := cmp.Diff(c.want, f.observations("e1"), cmp.AllowUnexported(definition.Value{}), cmpopts.IgnoreFields(quantity.Observation{}, "Since")); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
		if changed := c.name != "nothing" && c.name != "made elsewhere"; (f.Revision() > before) != changed {
			t.Errorf("%s: revision %d after %d", c.name, f.Revision(), before)
		}
		// The repetition is judged with what it settles.
		f.apply(measured(2, at(1), 5))
		f.apply(flag(events.VerdictConfirmed))
		if o := f.Of("e2"); f.Of("e1") != nil && !o.Judged {
			t.Errorf("%s: the repetition is not judged", c.name)
		}
	}
	// What was never measured is nothing to correct.
	f := begin(t, line(definition.Minimize))
	f.apply(&events.MeasurementCorrected{Experiment: "e1"}, flag(events.VerdictSuspect), &events.ExperimentCorrected{Experiment: "e1", Outcome: events.ResolvedFailed})
	if f.Of("e1") != nil || f.Revision() != 0 || f.Observed() != 0 {
		t.Errorf("revision %d, %d observations", f.Revision(), f.Observed())
	}
}

// Law: the model leaves out what is excluded, and what is in doubt while the
// campaign repeats that.
func TestWhatTheModelBelieves(t *testing.T) {
	for action, want := range map[string][]string{
		definition.OutlierRepeat: {"e1", "e4"}, definition.OutlierFlag: {"e1", "e3", "e4"}, definition.OutlierIgnore: {"e1", "e3", "e4"},
	} {
		def := line(definition.Minimize)
		def.Outliers.Action = action
		f := begin(t, def)
		for n := 1; n <= 4; n++ {
			f.apply(measured(n, at(float64(n)), float64(n)))
		}
		f.apply(fitted("rbf", 0, 1, 0.01, 0, 1, 0.3))
		f.apply(&events.MeasurementCorrected{Experiment: "e2", Excluded: true}, &events.MeasurementFlagged{Experiment: "e3", Verdict: events.VerdictSuspect})
		if got := f.order(); !slices.Equal(got, want) || f.Observed() != len(want) {
			t.Errorf("%s: the model is made from %v, want %v", action, got, want)
		}
		if s := f.SuspectedOutliers(); len(s) != 1 || s[0].Experiment != "e3" {
			t.Errorf("%s: in doubt is %v", action, s)
		}
		f.apply(&events.MeasurementCorrected{Experiment: "e1", Excluded: true}, &events.MeasurementCorrected{Experiment: "e3", Excluded: true},
			&events.MeasurementCorrected{Experiment: "e4", Excluded: true})
		if m, err := f.Model(t.Context()); m != nil || err != nil {
			t.Errorf("%s: there is a model of nothing: %v, %v", action, m, err)
		}
	}
}

// Law: up to 200 observations each change calls for a fit, of n observations
// ⌈n/200⌉ changes do; the first fit waits for two observations alone. A fit that
// failed is not tried again on the same observations; that of another model is none.
func TestStale(t *testing.T) {
	for _, c := range []struct {
		n, changes int
		want       bool
	}{
		{2, 0, false}, {2, 1, true}, {200, 1, true}, {201, 1, false}, {201, 2, true}, {400, 2, true}, {401, 2, false}, {401, 3, true},
	} {
		f := begin(t, line(definition.Minimize))
		for n := 1; n <= c.n; n++ {
			f.apply(measured(n, at(float64(n%11)), 1))
			if f.Stale() != (n >= 2) {
				t.Fatalf("%d observations without a fit: stale %v", n, f.Stale())
			}
		}
		f.apply(&events.ModelFitted{Model: events.ModelBelief, Belief: &events.BeliefFit{}})
		if !f.Stale() || f.Fitted() {
			t.Error("another model's fit is taken for the objective's")
		}
		f.apply(fitted("rbf", 0, 1, 0.01, 0, 1, 0.3))
		for k := range c.changes {
			f.apply(&events.MeasurementCorrected{Experiment: "e1", New: &definition.Quantity{Value: float64(k)}})
		}
		if f.Stale() != c.want || !f.Fitted() {
			t.Errorf("%d observations, %d changed: stale %v", c.n, c.changes, f.Stale())
		}
	}
	f := begin(t, line(definition.Minimize))
	f.apply(measured(1, at(1), 1), measured(2, at(2), 2), &events.ModelFitFailed{Model: events.ModelBelief})
	version := f.Version()
	if !f.Stale() {
		t.Error("another model's failure is taken for the objective's")
	}
	f.apply(&events.ModelFitFailed{Model: events.ModelObjective})
	if f.Stale() || f.Fitted() || f.Version() == version {
		t.Error("the failed fit is to be made again")
	}
	f.apply(measured(3, at(3), 3))
	if !f.Stale() {
		t.Error("a further observation calls for no fit")
	}
	// An amendment may have changed the space: what was fitted says nothing of the new one.
	f.apply(fitted("rbf", 0, 1, 0.01, 0, 1, 0.3), &events.CampaignAmended{Definition: line(definition.Maximize)})
	if !f.Stale() || f.Fitted() {
		t.Error("a fit outlives an amendment")
	}
	if m, err := f.Model(t.Context()); m != nil || err != nil {
		t.Errorf("a model outlives an amendment: %v %v", m, err)
	}
}

// Law: live = replayed = restored, after every event.
func TestSnapshots(t *testing.T) {
	f := begin(t, line(definition.Maximize))
	sd := 0.1
	for n := 1; n <= 4; n++ {
		f.apply(measured(n, at(float64(n)), float64(n)))
	}
	f.apply(fitted("matern52", 2, 1.5, 0.1, 0.2, 1, 0.4), &events.MeasurementFlagged{Experiment: "e2", Verdict: events.VerdictSuspect},
		&events.MeasurementCorrected{Experiment: "e1", New: &definition.Quantity{Value: 3, SD: &sd}},
		&events.ExperimentCorrected{Experiment: "e3", Outcome: events.ResolvedFailed}, &events.ModelFitFailed{Model: events.ModelObjective},
		&events.CampaignAmended{Definition: line(definition.Minimize)}, measured(5, at(9), 0), fitted("rbf", 0, 1, 0.1, 0, 1, 1))
	projectiontest.Run(t, func() []projections.Projection { return []projections.Projection{quantity.New()} }, f.history)
	restored := quantity.New()
	snapshot := must.Get(f.Snapshot())(t)
	must.Do(t, restored.Restore(snapshot))
	live, _ := f.Model(t.Context())
	again := must.Get(restored.Model(t.Context()))(t)
	if a, b := live.PredictAt([]float64{0.3}), again.PredictAt([]float64{0.3}); a != b {
		t.Errorf("restored it predicts %v, live %v", b, a)
	}
	if restored.Restore([]byte("{")) == nil {
		t.Error("half a snapshot is restored")
	}
}
