package report

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	humansimulated "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/policies/answers"
)

// The convergence curve of a log that can be read with the eye: excluded and
// failed experiments do not count, and better is what the goal says.
func TestConvergence(t *testing.T) {
	for _, test := range []struct {
		goal string
		best []float64
	}{
		{definition.Maximize, []float64{math.NaN(), 5, 5, 5, 7}},
		{definition.Minimize, []float64{math.NaN(), 5, 4, 4, 4}},
	} {
		def := electrolyte(20)
		def.Experts, def.Objective.Goal = nil, test.goal
		c := newTrial(t, def)
		point := func(seed uint64) definition.Point { return somePoint(t, c.def, seed) }
		c.ask(engine.Request{Tell: &engine.Tell{Parameters: point(1), Failed: "spilt"}})
		c.ask(engine.Request{Import: []engine.Tell{{Parameters: point(2), Value: new(5.0)}, {Parameters: point(3), Value: new(4.0)}}})
		c.ask(engine.Request{Tell: &engine.Tell{Parameters: point(4), Value: new(100.0)}})
		c.ask(engine.Request{Correct: &engine.Correct{Experiment: "e4", Exclude: true, Reason: "bubble"}})
		c.ask(engine.Request{Tell: &engine.Tell{Parameters: point(5), Value: new(7.0)}})

		course := c.history().converge()
		if !slices.EqualFunc(course.best, test.best,
			func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }) {
			t.Errorf("%s: best so far is %v, want %v", test.goal, course.best, test.best)
		}
		var got []class
		for _, r := range course.results {
			got = append(got, r.class)
		}
		if want := []class{classFailed, classImport, classImport, classExcluded,
			classPerson}; !slices.Equal(got, want) {
			t.Errorf("%s: the classes are %v, want %v", test.goal, got, want)
		}
	}
}

// The last point of the best posterior mean is the one that the campaign's own
// summary gives, and the curve has one point for every fit.
func TestProgressAgreesWithSummary(t *testing.T) {
	h := newTrial(t, electrolyte(12)).run(nil).history()
	last := h.progress[len(h.progress)-1]
	if last.mean != h.summary.BestByModel.Mean || last.experiment != h.summary.BestByModel.Experiment || last.experiments != 12 {
		t.Errorf("the curve ends with %+v, the summary says %+v", last, h.summary.BestByModel)
	}
	if len(h.progress) != 10 { // after the third experiment, …, after the twelfth
		t.Errorf("the curve has %d points, want one for each of 10 fits", len(h.progress))
	}
}

// Decisions between two experiments share the step between them, and the
// decision for an experiment falls on it.
func TestPlaces(t *testing.T) {
	h := newTrial(t, electrolyte(25)).run(nil).history()
	asked := 0
	for i := range h.decisions {
		d := &h.decisions[i]
		if i > 0 && !(d.spot > h.decisions[i-1].spot) {
			t.Errorf("%s is at %v, after %s at %v",
				d.Decision, d.spot, h.decisions[i-1].Decision, h.decisions[i-1].spot)
		}
		switch d.Action {
		case events.ActionRun:
			if want := experimentNumber(d.experiment); d.spot != want {
				t.Errorf("%s asked for %s and is at %v", d.Decision, d.experiment, d.spot)
			}
		case events.ActionAsk:
			asked++
			if d.question == "" || d.spot >= math.Floor(d.spot)+1 {
				t.Errorf("%s led to the question %q and is at %v", d.Decision, d.question, d.spot)
			}
		}
	}
	labels, initial := h.labels()
	if len(labels) != asked || initial[accepted] != 5 || initial[rejected] != 5 {
		t.Errorf("%d of %d questions are drawn, initial labels are %v", len(labels), asked, initial)
	}
}

func experimentNumber(id string) float64 {
	var n int
	for _, c := range id[1:] {
		n = 10*n + int(c-'0')
	}
	return float64(n)
}

// A prediction in the table of measurements is the one its decision recorded.
func TestPredictionsComeFromDecisions(t *testing.T) {
	h := newTrial(t, electrolyte(10)).run(nil).history()
	for i := range h.state.Experiments {
		x := &h.state.Experiments[i]
		p, noise := h.timeline.Predicted(h.state, x)
		if x.Origin == events.OriginInitial {
			if p != nil {
				t.Errorf("%s of the initial design has a prediction", x.ID)
			}
			continue
		}
		want := h.decision(x.Decision).Candidate(h.decision(x.Decision).Chosen)
		if p == nil || *p != *want.Prediction || noise != 0.27 {
			t.Errorf("%s has the prediction %v with noise %v, the decision %v", x.ID, p, noise, want.Prediction)
		}
	}
}

// A slice passes through the best composition with the prediction that the model
// makes there.
func TestSlicesPassThroughTheBest(t *testing.T) {
	for name, def := range map[string]definition.Campaign{"electrolyte": electrolyte(8), "mixture": mixture(10)} {
		h := newTrial(t, def).run(nil).history()
		all, err := h.slices()
		if err != nil || len(all) == 0 {
			t.Fatalf("%s: %d slices, %v", name, len(all), err)
		}
		p := must.Get(h.model.Predict(h.summary.BestByModel.Parameters))(t)
		for _, s := range all {
			if got := interpolate(s.X, s.Mean,
				s.Best); math.Abs(got-p.Mean) > 0.02*math.Abs(p.Mean) { // between two of 61 samples
				t.Errorf("%s: the slice along %d gives %v at the best composition, the model %v",
					name, s.Index, got, p.Mean)
			}
		}
	}
}

// Law: figures for a page with a theme have no inline style and no color of their own;
// their spots lead to where the page says, and their captions name no color that the theme
// changes.
func TestFiguresFollowATheme(t *testing.T) {
	c := newTrial(t, electrolyte(8)).run(nil)
	groups := must.Get(Figures(t.Context(), Input{
		Registry: builtin.Registry(), Log: c.log, Campaign: c.def.Name, Store: "x",
	}, figure.Page{
		Palette: figure.Classes,
		Link:    func(id string) string { return "/of/" + id },
	}))(t)
	literal := regexp.MustCompile(`style=|="#[0-9a-fA-F]+"|rgb\(|href="#`)
	drawn := map[string]bool{}
	for _, g := range groups {
		for _, f := range g.Figures {
			drawn[f.ID] = true
			all := string(f.SVG)
			for _, s := range f.Legend {
				all += string(s.Symbol)
			}
			if found := literal.FindString(all); found != "" {
				t.Errorf("%s has %s", f.ID, found)
			}
			if strings.Contains(strings.ToLower(f.Caption), "black") {
				t.Errorf("%s: %s", f.ID, f.Caption)
			}
			if f.ID == "convergence" && !strings.Contains(all, `<a href="/of/e8">`) {
				t.Error("nothing leads to e8")
			}
		}
	}
	for _, id := range []string{"convergence", "heat-mean", "slice-1", "leave-one-out"} {
		if !drawn[id] {
			t.Errorf("%s is not drawn", id)
		}
	}
}

// Ticks are round numbers inside the range, evenly spaced, not too many.
func TestTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(-1e6, 1e6).Draw(t, "low")
		span := math.Pow(10, rapid.Float64Range(-6, 6).Draw(t, "log span"))
		high := low + span
		if !(high > low) || span < 1e-9*math.Abs(low) {
			t.Skip("no range")
		}
		got := figure.Ticks{Want: 6}.Ticks(low, high)
		if len(got) > 8 {
			t.Fatalf("%d ticks", len(got))
		}
		for _, tick := range got {
			if tick.Value < low-1e-6*span || tick.Value > high+1e-6*span {
				t.Fatalf("tick %v outside %v to %v", tick.Value, low, high)
			}
		}
	})
}

// The chart of what answers are worth has a line for each expert and kind, at the worth that each decision recorded,
// below zero where they were turned over; a campaign without such answers has no chart.
func TestWorth(t *testing.T) {
	def := electrolyte(8)
	def.Experts = append(def.Experts, def.Experts[0])
	for i, correlation := range []float64{0.95, -0.95} {
		def.Experts[i].Name = []string{"ada", "eve"}[i]
		def.Experts[i].Channel = humansimulated.Choose(humansimulated.Settings{Accuracy: pointer(2.0), Correlation: &correlation})
	}
	def.Policy.Trust = answers.Answers{}.Choice()
	def.Initial = definition.Initial{Labels: pointer(4), Estimates: pointer(20)}
	c := newTrial(t, def).run(nil)
	h := c.history()
	lines := h.worthLines()
	if len(lines) != 4 {
		t.Fatalf("there are %d lines", len(lines))
	}
	for _, l := range lines {
		k := 0
		for _, d := range h.decisions {
			for _, w := range d.Answers {
				if w.Expert != l.expert || w.Kind != l.kind {
					continue
				}
				if p := l.points[k]; p.X != d.spot || math.Abs(p.Y) != w.Worth || (p.Y < 0) != (w.Misleads > w.Helps) {
					t.Errorf("%s's %s are at %v, %s has %+v", l.expert, l.kind, p, d.Decision, w)
				}
				k++
			}
		}
		if final := l.points[len(l.points)-1].Y; k != len(l.points) || k < 4 ||
			l.kind == "estimates" && (final < 0) != (l.expert == "eve") {
			t.Errorf("%s's %s have %d points, %d decisions, and end at %v", l.expert, l.kind, len(l.points), k, final)
		}
	}
	doc := parse(t, c.html())
	doc.wellFormed()
	if text := doc.id("worth"); !strings.Contains(text, "eve's word in estimates is turned over") ||
		!strings.Contains(text, "ada's word in estimates is worth") {
		t.Error(text)
	}
	if drawn := figureWorth(newTrial(t, electrolyte(6)).run(nil).history()); drawn != nil {
		t.Error("it is drawn where answers are no measurements")
	}
}
