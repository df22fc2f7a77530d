package belief_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/cobol"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/projectiontest"
	"github.com/campaignd/campaignd/projections/quantity"
)

func ptr[T any](x T) *T { return &x }

func at(x float64) definition.Point { return definition.Point{"x": definition.Number(x)} }

// line is a campaign over x from 0 to 10 with two experts and the given belief.
func line(b belief.Settings) definition.Campaign {
	if b.Confidence == nil {
		b.Confidence = ptr(0.1)
	}
	return definition.Campaign{
		Name: "line", Parameters: []definition.Parameter{{Name: "x", Min: ptr(0.0), Max: ptr(10.0)}},
		Objective: definition.Objective{Name: "y", Goal: definition.Minimize}, Model: definition.Model{Kernel: "rbf"},
		Policy: definition.Policy{Trust: cobol.COBOL{Settings: b}.Choice()}, Experts: []definition.Expert{{Name: "ada"}, {Name: "bob"}},
	}
}

// needs are those of the campaign's policy, one of package cobol.
func needs(def definition.Campaign) *belief.Needs {
	var rule cobol.COBOL
	if def.Policy.Trust.Decode(&rule) != nil || rule.Feedback == "" {
		return nil
	}
	return &belief.Needs{Settings: rule.Settings, DoubleConfidence: rule.Paper}
}

// fold is a campaign whose events are applied one after the other, with a model of the
// objective whose kernel has the output scale 1 and the lengthscale 1 (in x).
type fold struct {
	t *testing.T
	*belief.Projection
	objective *quantity.Model
	history   []events.Event
}

func begin(t *testing.T, def definition.Campaign) *fold {
	f := &fold{t: t, Projection: belief.New(), objective: modelOf(t, def, 0.1)}
	f.Configure(needs(def))
	f.apply(&events.CampaignDefined{Definition: def})
	return f
}

// modelOf is a model of the objective whose kernel has the given lengthscale.
func modelOf(t *testing.T, def definition.Campaign, lengthscale float64) *quantity.Model {
	t.Helper()
	p := quantity.New()
	for _, payload := range []events.Payload{
		&events.CampaignDefined{Definition: def},
		&events.ExperimentMeasured{Experiment: "e1", Measurement: events.Measurement{Actual: at(5)}},
		&events.ModelFitted{Model: events.ModelObjective, Objective: &events.ObjectiveFit{Kernel: "rbf", Lengthscales: []float64{lengthscale}, OutputScale: 1, Noise: 1, Scale: 1}},
	} {
		must.Do(t, p.Apply(events.Event{}, payload))
	}
	return must.Get(p.Model(t.Context()))(t)
}

func (f *fold) apply(payloads ...events.Payload) {
	f.t.Helper()
	for _, p := range payloads {
		e := must.Get(events.New("c", p))(f.t)
		e.Sequence = events.Sequence(len(f.history) + 1)
		f.history = append(f.history, e)
		must.Do(f.t, f.Apply(e, p))
	}
}

// label is an answer to a label: a word, or "" where the expert cannot tell.
func label(expert string, n int, x float64, said events.Label) *events.QuestionAnswered {
	return &events.QuestionAnswered{
		Question: fmt.Sprintf("q%d", n), Form: events.FormLabel, Expert: expert,
		Options: []definition.Point{at(x)}, Answer: events.Answer{Label: said},
	}
}

// relabel is an answer in place of an earlier one to the same question.
func relabel(expert string, n int, x float64, said events.Label) *events.QuestionSuperseded {
	given := label(expert, n, x, said)
	return &events.QuestionSuperseded{
		Question: given.Question, Form: given.Form, Expert: expert, Options: given.Options, Answer: given.Answer,
	}
}

func compared(expert string, n int, order ...int) *events.QuestionAnswered {
	return &events.QuestionAnswered{
		Question: fmt.Sprintf("q%d", n), Form: events.FormComparison, Expert: expert,
		Options: []definition.Point{at(1), at(4), at(9)}, Answer: events.Answer{Order: order},
	}
}

// fitted is a fit of norm bound b and confidence c.
func fitted(expert string, b, c float64) *events.ModelFitted {
	return &events.ModelFitted{Model: events.ModelBelief, Expert: expert, Belief: &events.BeliefFit{NormBound: b, Confidence: c}}
}

// model is an expert's belief, which there must be.
func (f *fold) model(expert string) *belief.Model {
	f.t.Helper()
	m, err := f.Model(expert, f.objective)
	if err != nil || m == nil {
		f.t.Fatal(m, err)
	}
	return m
}

// labels writes what a belief was made from: "q1+ q2−", + for an accept.
func (f *fold) labels(expert string) (text string) {
	f.t.Helper()
	for i, l := range f.model(expert).Labels {
		if i > 0 {
			text += " "
		}
		text += l.Question + map[bool]string{false: "+", true: "−"}[l.Reject]
	}
	return text
}

// Law: labels are in the order of their questions, whoever answered first, each
// expert's for themselves; "can't tell" is none. So the belief is the same, bit for bit.
func TestLabelsAreInOrderOfQuestions(t *testing.T) {
	answers := map[int]events.Label{1: "accept", 2: "reject", 3: "", 9: "accept", 10: "reject", 11: "accept", 100: "reject"}
	numbers := []int{1, 2, 3, 9, 10, 11, 100}
	const want = "q1+ q2− q9+ q10− q11+ q100−"
	var first [2]float64
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 3))
		f := begin(t, line(belief.Settings{Feedback: belief.FeedbackLabel}))
		for _, i := range rng.Perm(len(numbers)) {
			n := numbers[i]
			x := float64(i)
			switch rng.IntN(3) {
			case 0:
				f.apply(label("ada", n, x, answers[n]))
			case 1: // answered otherwise first
				f.apply(label("ada", n, x, "accept"), relabel("ada", n, x, ""), relabel("ada", n, x, answers[n]))
			case 2:
				f.apply(label("ada", n, x, ""), relabel("ada", n, x, answers[n]))
			}
			f.apply(label("bob", n+200, x, "accept"))
		}
		f.apply(fitted("ada", 2, 0.1), fitted("bob", 2, 0.1))
		if got := f.labels("ada"); got != want {
			t.Fatalf("seed %d: the labels are %s, want %s", seed, got, want)
		}
		lower, upper := must.Get2(f.model("ada").Bounds([]float64{0.25}))(t)
		if seed == 0 {
			first = [2]float64{lower, upper}
		}
		if first != [2]float64{lower, upper} {
			t.Fatalf("seed %d: the belief is [%v, %v], with another order of arrival %v", seed, lower, upper, first)
		}
		if n := len(f.model("bob").Labels); n != 7 {
			t.Fatalf("bob has %d labels", n)
		}
	}
}

// Law: every admitted answer reads as what it is, given or superseding, and no other
// word reads as an accept.
func TestAnswers(t *testing.T) {
	for answer, want := range map[events.Label]string{"accept": "q1+", "reject": "q1−", "refuse": "q1−", "yes": "q1−", "": ""} {
		given, superseding := begin(t, line(belief.Settings{Feedback: belief.FeedbackLabel})), begin(t, line(belief.Settings{Feedback: belief.FeedbackLabel}))
		given.apply(label("ada", 1, 3, answer), fitted("ada", 2, 0.1))
		superseding.apply(label("ada", 1, 3, "accept"), relabel("ada", 1, 3, answer), fitted("ada", 2, 0.1))
		if a, b := given.labels("ada"), superseding.labels("ada"); a != want || b != want {
			t.Errorf("%q is read as %q, and where it supersedes as %q; want %q", answer, a, b, want)
		}
	}
}

// Law: a change of an answer calls for a fit, of that expert alone, once; what is
// never fitted never does.
func TestStale(t *testing.T) {
	for feedback, fits := range map[string]bool{
		belief.FeedbackLabel: true, belief.FeedbackComparison: true, belief.FeedbackRanking: true, belief.FeedbackPinpoint: false, belief.FeedbackGaussian: false, "": false,
	} {
		f := begin(t, line(belief.Settings{Feedback: feedback}))
		stale := func(what string, ada, bob bool) {
			t.Helper()
			if f.Stale("ada") != (ada && fits) || f.Stale("bob") != (bob && fits) || f.Stale("eve") {
				t.Errorf("%s, feedback %q: stale %v, %v", what, feedback, f.Stale("ada"), f.Stale("bob"))
			}
		}
		stale("at first", true, true)
		f.apply(fitted("ada", 1, 0.1), &events.ModelFitFailed{Model: events.ModelBelief, Expert: "bob"})
		stale("fitted", false, false)
		f.apply(label("ada", 1, 1, ""), compared("bob", 2))
		stale("can't tell", false, false)
		f.apply(label("ada", 3, 1, "accept"))
		stale("a label", true, false)
		f.apply(&events.ModelFitted{Model: events.ModelObjective, Expert: "ada"}, &events.ModelFitFailed{Model: events.ModelPreference, Expert: "ada"})
		stale("another model's fit", true, false)
		f.apply(fitted("ada", 1, 0.1), compared("bob", 4, 0))
		stale("a comparison", false, true)
		f.apply(&events.ModelFitFailed{Model: events.ModelBelief, Expert: "bob"}, relabel("ada", 3, 1, ""))
		stale("a label taken back", true, false)
		f.apply(fitted("ada", 1, 0.1), relabel("ada", 3, 1, ""))
		stale("no label taken back", false, false)
		f.apply(&events.QuestionAnswered{Question: "q5", Form: events.FormPinpoint, Expert: "ada", Answer: events.Answer{Point: at(3)}})
		stale("a pinpoint, which says nothing of a belief", false, false)
		f.apply(&events.CampaignAmended{Definition: line(belief.Settings{Feedback: feedback})})
		stale("an amendment", true, true)
	}
	f := begin(t, line(belief.Settings{Feedback: belief.FeedbackLabel}))
	f.apply(label("ada", 1, 1, "accept"), relabel("ada", 1, 1, "reject"), label("bob", 2, 1, "accept"))
	if a, b, e := f.Revision("ada"), f.Revision("bob"), f.Revision("eve"); a != 3 || b != 1 || e != 0 { // given, taken away, given
		t.Errorf("revisions %d, %d, %d", a, b, e)
	}
}

func sigmoid(g float64) float64 { return 1 / (1 + math.Exp(-g)) }
func logit(p float64) float64   { return math.Log(p / (1 - p)) }

// within, times the norm, is how exactly the numerical bounds agree with closed forms:
// with a jitter of 1e-8 the score at a labeled composition is that of the label to √(2e-8).
const within = 2e-4

// Law: one rejected composition, with the norm bound B and the confidence c: the
// likeliest score there is B, at least it is that whose likelihood is e^(−c√2) times
// as great (Xu et al. 2024, Eq. 5). An accept is its mirror image.
func TestBeliefOfOneLabel(t *testing.T) {
	for _, c := range []struct{ b, confidence float64 }{{1, 0.1}, {2, 0.1}, {2, 0.3}, {4, 0.05}} {
		f := begin(t, line(belief.Settings{Feedback: belief.FeedbackLabel}))
		f.apply(label("ada", 1, 3, "reject"), label("bob", 2, 3, "accept"), fitted("ada", c.b, c.confidence), fitted("bob", c.b, c.confidence))
		least := max(-c.b, logit(sigmoid(c.b)*math.Exp(-c.confidence*math.Sqrt2)))
		x := []float64{0.3}
		lower, upper := must.Get2(f.model("ada").Bounds(x))(t)
		if mle := f.model("ada").MLEAt(x, nil); math.Abs(mle-c.b) > within*c.b || math.Abs(upper-c.b) > within*c.b || math.Abs(lower-least) > within*c.b {
			t.Errorf("B = %v, c = %v: %v in [%v, %v], want %v in [%v, %v]", c.b, c.confidence, mle, lower, upper, c.b, least, c.b)
		}
		accepted, _, err := f.model("bob").Bounds(x)
		if err != nil || math.Abs(accepted+upper) > within*c.b {
			t.Errorf("B = %v, c = %v: accepted, the bound is %v (%v), want %v", c.b, c.confidence, accepted, err, -upper)
		}
		if m := f.model("ada"); m.Expert != "ada" || m.Fit.NormBound != c.b || len(m.X) != 1 || m.X[0][0] != 0.3 || m.Comparisons != nil {
			t.Errorf("the belief is %+v", m)
		}
	}
}

// Law: of compositions in order the better has the smaller score; those left out come
// after the others.
func TestBeliefOfComparisons(t *testing.T) {
	for _, feedback := range []string{belief.FeedbackComparison, belief.FeedbackRanking} {
		for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}, {1}} {
			f := begin(t, line(belief.Settings{Feedback: feedback}))
			f.apply(compared("ada", 1, order...), label("ada", 2, 5, "accept"), fitted("ada", 2, 0.1))
			m := f.model("ada")
			if m.Labels != nil || m.X != nil || len(m.Comparisons) != 1 {
				t.Errorf("%s: the belief is made from %v and %v", feedback, m.Labels, m.Comparisons)
			}
			score := func(i int) float64 { return m.MLEAt([]float64{[]float64{0.1, 0.4, 0.9}[i]}, nil) }
			for i, better := range order {
				for worse := range 3 {
					if !slices.Contains(order[:i+1], worse) && !(score(better) < score(worse)) {
						t.Errorf("%s %v: the score of %d is %v, that of %d is %v", feedback, order, better, score(better), worse, score(worse))
					}
				}
			}
		}
	}
}

// Law: a belief of labels is made from labels alone, whatever else the expert
// has answered.
func TestBeliefOfLabels(t *testing.T) {
	f := begin(t, line(belief.Settings{Feedback: belief.FeedbackLabel}))
	f.apply(compared("ada", 1, 0, 1, 2), label("ada", 2, 5, "accept"), fitted("ada", 2, 0.1))
	if m := f.model("ada"); m.Comparisons != nil || len(m.Labels) != 1 || len(m.X) != 1 {
		t.Errorf("the belief is made from %v and %v", m.Labels, m.Comparisons)
	}
}

// Law: with a window the last answers count, in the order of questions, and no others.
func TestWindow(t *testing.T) {
	f := begin(t, line(belief.Settings{Feedback: belief.FeedbackLabel, Window: ptr(2)}))
	f.apply(label("ada", 10, 1, "accept"), label("ada", 3, 2, "reject"), label("ada", 2, 3, "reject"), fitted("ada", 2, 0.1))
	if got := f.labels("ada"); got != "q3− q10+" {
		t.Errorf("the last two labels are %s", got)
	}
	f.apply(label("ada", 11, 1, "accept"))
	if got := f.labels("ada"); got != "q10+ q11+" {
		t.Errorf("the last two labels are %s", got)
	}
	g := begin(t, line(belief.Settings{Feedback: belief.FeedbackComparison, Window: ptr(1)}))
	g.apply(compared("ada", 4, 0, 1, 2), compared("ada", 1, 2, 1, 0), fitted("ada", 2, 0.1))
	if m := g.model("ada"); len(m.Comparisons) != 1 || m.Comparisons[0].Question != "q4" {
		t.Errorf("the last comparison is %v", m.Comparisons)
	}
	fit, err := g.FitBelief("ada", g.objective)
	if err != nil || fit.Labels != 2 { // an order of three is two choices
		t.Errorf("it is fitted to %d answers, %v", fit.Labels, err)
	}
}

// Law: the norm bound doubles as long as the likelihood gains more than the margin by
// it (Xu et al. 2024, App. F), from 1 or from where it was. With one label it is
// ln S(B), so that a page of arithmetic says where it ends.
func TestFitBelief(t *testing.T) {
	for _, c := range []struct {
		name              string
		confidence        float64
		maxNorm, last     *float64
		paper             bool
		wantNorm, wantOwn float64
	}{
		// ln S(2) − ln S(1) = 0.186, ln S(4) − ln S(2) = 0.109, ln S(8) − ln S(4) = 0.018.
		{"margin 0.141", 0.1, nil, nil, false, 2, 0.1},
		{"margin 0.071", 0.05, nil, nil, false, 4, 0.05},
		{"margin 0.283", 0.2, nil, nil, false, 1, 0.2},
		{"margin 0.071, a norm of at most 3", 0.05, ptr(3.0), nil, false, 2, 0.05},
		{"margin 0.071, a norm of at most 4", 0.05, ptr(4.0), nil, false, 4, 0.05},
		{"margin 0.283 at once", 0.1, nil, nil, true, 1, 0.1},
		{"margin 0.141, then 0.283", 0.05, nil, nil, true, 2, 0.1},
		{"margin 0.141, from 2 on", 0.1, nil, ptr(2.0), false, 2, 0.1},
		{"margin 0.141, from 8 on", 0.1, nil, ptr(8.0), false, 8, 0.1},
	} {
		settings := belief.Settings{Feedback: belief.FeedbackLabel, Confidence: &c.confidence, MaxNorm: c.maxNorm}
		def := line(settings)
		def.Policy.Trust = cobol.COBOL{Settings: settings, Paper: c.paper}.Choice()
		f := begin(t, def)
		f.apply(label("ada", 1, 3, "reject"))
		if c.last != nil {
			f.apply(fitted("ada", *c.last, c.confidence))
		}
		fit := must.Get(f.FitBelief("ada", f.objective))(t)
		if fit.NormBound != c.wantNorm || math.Abs(fit.Confidence-c.wantOwn) > 1e-15 || fit.Labels != 1 || math.Abs(fit.LogLikelihood-math.Log(sigmoid(c.wantNorm))) > within {
			t.Errorf("%s: %+v, want B = %v and c = %v", c.name, fit, c.wantNorm, c.wantOwn)
		}
	}
}

// Law: a belief says of itself what is true of it: where the objective was fitted again after the last
// label, the likelihood of the labels under the estimate that is used, not under that of the kernel before.
func TestLikelihoodIsOfTheBeliefThatIsUsed(t *testing.T) {
	f := begin(t, line(belief.Settings{Feedback: belief.FeedbackLabel}))
	f.apply(label("ada", 1, 3, "reject"), label("ada", 2, 4, "accept"), label("ada", 3, 5, "reject"))
	fit := must.Get(f.FitBelief("ada", f.objective))(t)
	f.apply(&events.ModelFitted{Model: events.ModelBelief, Expert: "ada", Belief: &fit})
	likelihood := func(m *belief.Model) (sum float64) {
		for i, x := range m.X {
			score := m.MLEAt(x, nil)
			if !m.Labels[i].Reject {
				score = -score
			}
			sum += math.Log(sigmoid(score))
		}
		return sum
	}
	same := f.model("ada")
	refitted, err := f.Model("ada", modelOf(t, line(belief.Settings{Feedback: belief.FeedbackLabel}), 0.3))
	if err != nil {
		t.Fatal(err)
	}
	if likelihood(same)-likelihood(refitted) < 0.1 {
		t.Fatalf("the kernel hardly matters here: %v, %v", likelihood(same), likelihood(refitted))
	}
	for name, m := range map[string]*belief.Model{"as fitted": same, "the objective fitted again": refitted} {
		const within = 1e-5 // the jitter of the set's kernel
		if got, want := m.Fit.LogLikelihood, likelihood(m); math.Abs(got-want) > within {
			t.Errorf("%s: it records %v, its labels have %v", name, got, want)
		}
		if m.Fit.NormBound != fit.NormBound || m.Fit.Confidence != fit.Confidence || m.Fit.Labels != 3 {
			t.Errorf("%s: %+v, fitted %+v", name, m.Fit, fit)
		}
	}
	if math.Abs(fit.LogLikelihood-same.Fit.LogLikelihood) > 1e-12 {
		t.Errorf("with the kernel it was fitted with it has %v, the fit %v", same.Fit.LogLikelihood, fit.LogLikelihood)
	}
}

// Law: a stated belief is the normal distribution of the expert's words, in the units
// of the campaign: at its mean p = 0.953, a standard deviation away S(−3) + (1 −
// 2S(−3))·e^(−½); of a category it says nothing. Who states none has none.
func TestStatedBelief(t *testing.T) {
	def := line(belief.Settings{Feedback: belief.FeedbackGaussian})
	def.Parameters = append(def.Parameters, definition.Parameter{Name: "salt", Categories: []definition.CategoryDef{{Name: "u"}, {Name: "v"}}})
	def.Experts[0].Belief = &definition.StatedBelief{Mean: definition.Point{"x": definition.Number(4), "salt": definition.Category("u")}, SD: map[string]float64{"x": 2}}
	f := &fold{t: t, Projection: belief.New(), objective: new(quantity.Model)}
	f.Configure(needs(def))
	f.apply(&events.CampaignDefined{Definition: def})
	m := f.model("ada")
	least := sigmoid(-3)
	for x, want := range map[float64]float64{0.4: 1 - least, 0.6: least + (1-2*least)*math.Exp(-0.5), 0.2: least + (1-2*least)*math.Exp(-0.5), 0.8: least + (1-2*least)*math.Exp(-2)} {
		for _, salt := range [][]float64{{1, 0}, {0, 1}} {
			if got := sigmoid(-m.MLEAt(append([]float64{x}, salt...), nil)); math.Abs(got-want) > 1e-5 {
				t.Errorf("at %v, %v it accepts with %v, want %v", x, salt, got, want)
			}
		}
	}
	if m, err := f.Model("bob", f.objective); m != nil || err != nil {
		t.Errorf("bob's belief is %v, %v", m, err)
	}
}

// Law: there is no belief without a fit, without a model of the objective, and of
// nobody; it is built anew for another model of the objective, and where an answer changes.
func TestModelIsOfWhatIsKnown(t *testing.T) {
	f := begin(t, line(belief.Settings{Feedback: belief.FeedbackLabel}))
	f.apply(label("ada", 1, 3, "reject"))
	none := func(expert string, obj *quantity.Model) {
		t.Helper()
		if m, err := f.Model(expert, obj); m != nil || err != nil {
			t.Errorf("%s has a belief: %v, %v", expert, m, err)
		}
	}
	none("ada", f.objective)
	f.apply(fitted("ada", 2, 0.1))
	none("ada", nil)
	none("eve", f.objective)
	first := f.model("ada")
	if f.model("ada") != first {
		t.Error("the same belief is built twice")
	}
	other := begin(t, line(belief.Settings{Feedback: belief.FeedbackLabel})).objective
	if m, err := f.Model("ada", other); err != nil || m == first {
		t.Errorf("for another model of the objective: %v, %v", m, err)
	}
	for _, p := range []events.Payload{label("ada", 2, 5, "accept"), relabel("ada", 2, 5, "reject"), compared("ada", 3, 0), fitted("ada", 4, 0.1)} {
		before := f.model("ada")
		f.apply(p)
		if f.model("ada") == before {
			t.Errorf("after %s it is as it was", events.KindOf(p))
		}
	}
	if score := first.MLEAt([]float64{0.5}, nil); first.Labels[0].Question != "q1" || len(first.Labels) != 1 || math.Abs(score) > 1 {
		t.Errorf("an older belief has changed: %v", first.Labels)
	}
	f.apply(&events.CampaignAmended{Definition: line(belief.Settings{Feedback: belief.FeedbackLabel})})
	none("ada", f.objective)
}

// Law: live = replayed = restored, after every event.
func TestSnapshots(t *testing.T) {
	f := begin(t, line(belief.Settings{Feedback: belief.FeedbackLabel}))
	f.apply(label("ada", 2, 3, "reject"), label("ada", 1, 5, "accept"), fitted("ada", 2, 0.1), compared("bob", 3, 1, 0), relabel("ada", 2, 3, ""),
		&events.ModelFitFailed{Model: events.ModelBelief, Expert: "bob"}, &events.QuestionSuperseded{Question: "q3", Form: events.FormComparison, Expert: "bob"},
		&events.CampaignAmended{Definition: line(belief.Settings{Feedback: belief.FeedbackLabel})}, label("eve", 4, 1, "accept"), fitted("ada", 2, 0.1))
	projectiontest.Run(t, func() []projections.Projection { return []projections.Projection{belief.New()} }, f.history)
	snapshot := must.Get(f.Snapshot())(t)
	restored := belief.New()
	restored.Configure(needs(line(belief.Settings{Feedback: belief.FeedbackLabel})))
	must.Do(t, restored.Restore(snapshot))
	again := must.Get(restored.Model("ada", f.objective))(t)
	x := []float64{0.31}
	if a, b := f.model("ada").MLEAt(x, nil), again.MLEAt(x, nil); a != b {
		t.Errorf("restored the score is %v, live %v", b, a)
	}
	if restored.Restore([]byte("{")) == nil {
		t.Error("half a snapshot is restored")
	}
}
