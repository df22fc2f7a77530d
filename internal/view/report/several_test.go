package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/adapters/instruments/manual"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/policies/seek"
)

// thirds is a mixture of four components in which a yield is sought that has to be thin enough.
func thirds() definition.Campaign {
	component := func(name string) definition.Parameter {
		return definition.Parameter{Name: name, Unit: "kg/kg", Min: new(0.0), Max: new(0.9)}
	}
	terms := map[string]float64{"a": 1, "b": 1, "c": 1, "d": 1}
	return definition.Campaign{
		Name: "thirds", Seed: 4,
		Parameters:  []definition.Parameter{component("a"), component("b"), component("c"), component("d")},
		Constraints: []definition.Constraint{{Terms: terms, Equals: new(1.0)}},
		Quantities: []definition.QuantityDef{
			{Name: "yield", Unit: "%", Noise: new(0.01)}, {Name: "viscosity", Unit: "mPa·s", Noise: new(0.01)},
		},
		Objective:             definition.Objective{Name: "yield", Unit: "%", Goal: definition.Maximize},
		ConstraintsOnOutcomes: []definition.OutcomeConstraint{{Require: "viscosity <= 2"}},
		Budget:                definition.Budget{Experiments: 20},
		Instrument:            definition.Instrument{Driver: manual.Choose(manual.Settings{})},
	}
}

// measuredThirds is that campaign with measurements of two quantities that follow from a.
func measuredThirds(t *testing.T) *trial {
	c := newTrial(t, thirds())
	var rows []engine.Tell
	for _, at := range [][4]float64{
		{0.9, 0.05, 0.05, 0}, {0.05, 0.9, 0.05, 0}, {0.05, 0.05, 0.9, 0}, {0.5, 0.4, 0.1, 0},
		{0.1, 0.5, 0.4, 0}, {0.4, 0.1, 0.5, 0}, {0.3, 0.3, 0.3, 0.1}, {0.6, 0.2, 0.1, 0.1},
	} {
		point := definition.Point{}
		for k, p := range c.def.Parameters {
			point[p.Name] = definition.Number(at[k])
		}
		rows = append(rows, engine.Tell{Parameters: point, Quantities: []definition.Quantity{
			{Name: "yield", Unit: "%", Value: 10 + 50*at[0]}, {Name: "viscosity", Unit: "mPa·s", Value: 1 + 2*at[0]},
		}})
	}
	return c.ask(engine.Request{Import: rows})
}

// Law: the triangle of a mixture shows every quantity and how probably the constraints are kept,
// with the components that vary most or those that are asked for in its corners, and says in
// words where the least and the greatest values are, which is where they are.
func TestTriangles(t *testing.T) {
	h := measuredThirds(t).history()
	d, err := h.page(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, f := range d.Ternary {
		titles = append(titles, f.Title)
	}
	if got := fmt.Sprint(titles); got != "[Expected yield (%) Expected viscosity (mPa·s) Probability that the constraints are kept]" {
		t.Errorf("the triangles are %s", got)
	}
	if d.Mixture == nil || d.Mixture.Drawn != [3]string{"a", "b", "c"} || !d.Mixture.Choice() {
		t.Fatalf("drawn are %+v", d.Mixture)
	}
	where := regexp.MustCompile(`From (\S+) %? ?at a (\S+), .* to (\S+) %? ?at a (\S+),`).FindStringSubmatch(d.Ternary[0].Caption)
	if where == nil || where[2] != "0.000" || where[4] < "0.8" || !strings.Contains(d.Ternary[0].Caption, "which is better") {
		t.Errorf("of the yield, which grows with a, it says %q", d.Ternary[0].Caption)
	}
	if said := string(d.Ternary[1].SVG); !strings.Contains(said, `aria-label="Expected viscosity (mPa·s). From `) {
		t.Error("those who do not see the map are not told what it shows")
	}
	h.triangle = [3]string{"d", "c", "a"}
	if d, err = h.page(t.Context(), "s"); err != nil || d.Mixture.Drawn != h.triangle {
		t.Errorf("asked for %v, drawn %+v: %v", h.triangle, d.Mixture, err)
	}
	if len(d.Others) != 1 || d.Others[0].Name != "viscosity" || len(d.Others[0].Figures) != 4 {
		t.Errorf("besides the yield there are slices of %d quantities", len(d.Others))
	}
}

// Law: between its nodes a triangle's map of something linear is exact, in the middle and at
// its edges.
func TestBarycentric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 9).Draw(t, "n")
		p := rapid.Float64Range(-5, 5).Draw(t, "p")
		q := rapid.Float64Range(-5, 5).Draw(t, "q")
		var values [][]float64
		for a := range n + 1 {
			row := make([]float64, n+1-a)
			for c := range row {
				row[c] = 1 + p*float64(a)/float64(n) + q*float64(c)/float64(n)
			}
			values = append(values, row)
		}
		a := float64(rapid.IntRange(0, 1000).Draw(t, "a")) / 1000
		c := (1 - a) * float64(rapid.IntRange(0, 1000).Draw(t, "c")) / 1000
		want := 1 + p*a + q*c
		if got := barycentric(values, [3]float64{a, 1 - a - c, c}); math.Abs(got-want) > 1e-9 {
			t.Fatalf("at %g, %g it is %g, want %g", a, c, got, want)
		}
	})
}

// someFront is a front of three objectives.
func someFront() (*definition.Campaign, *seek.Front) {
	def := &definition.Campaign{
		Parameters: []definition.Parameter{{Name: "x", Min: new(0.0), Max: new(1.0)}},
		ConstraintsOnOutcomes: []definition.OutcomeConstraint{
			{Require: "b <= 6"}, {Require: "a + b <= 20"}, {Require: "2*b <= 14"},
		},
	}
	member := func(id string, share float64, feasible float64, values ...float64) seek.Member {
		m := seek.Member{Experiment: id, Share: share, OnFront: 0.9, Parameters: definition.Point{"x": definition.Number(0.5)},
			Feasible: &events.Feasible{Probability: feasible}}
		for k, v := range values {
			m.Quantities = append(m.Quantities, seek.Believed{Quantity: string(rune('a' + k)), Mean: v, SD: 0.1})
		}
		return m
	}
	f := &seek.Front{
		Objectives: []seek.Traded{
			{Quantity: "a", Unit: "g", Goal: definition.Maximize, Reference: 1, Given: true},
			{Quantity: "b", Goal: definition.Minimize, Log: true, Reference: 6, Given: true},
			{Quantity: "c", Goal: definition.Minimize},
		},
		Members:     []seek.Member{member("e3", 0.4, 1, 9, 2, 3), member("e1", 0.1, 0.9, 7, 1, 4), member("e5", 0, 0.8, 6, 1, 3)},
		Others:      []seek.Member{member("e2", 0, 1, 2, 5, 6), member("e4", 0, 0.1, 10, 9, 9)},
		Compromise:  &seek.Compromise{Experiment: "e1"},
		Hypervolume: 8,
		Curve: []seek.Covered{{Experiment: "e1", Hypervolume: 2, Lower: 0.8, Upper: 3.2},
			{Experiment: "e2", Hypervolume: 2, Lower: 0.8, Upper: 3.2}, {Experiment: "e5", Hypervolume: 8, Lower: 7, Upper: 9}},
		Expected: []seek.Expected{{Quantities: []events.QuantityPrediction{
			{Quantity: "a", Prediction: events.Prediction{Mean: 9.5}}, {Quantity: "b", Prediction: events.Prediction{Mean: 1.5}},
			{Quantity: "c", Prediction: events.Prediction{Mean: 2}},
		}}},
	}
	return def, f
}

// Law: every two objectives of a trade-off are drawn once, the first of them upwards; every
// composition that was measured is in each picture, as what it is; a bound on an objective alone is
// drawn, others are not; and what is on the front is said to those who do not see it.
func TestFrontFigures(t *testing.T) {
	def, f := someFront()
	figures := FrontFigures(def, f, figure.Page{})
	var titles []string
	for _, drawn := range figures {
		titles = append(titles, drawn.Title)
		for _, id := range []string{"e1", "e2", "e3", "e4", "e5"} {
			if !strings.Contains(string(drawn.SVG), `href="#`+id+`"`) {
				t.Errorf("%s does not show %s", drawn.Title, id)
			}
		}
		var legend []string
		for _, s := range drawn.Legend {
			legend = append(legend, s.Text)
		}
		want := "on the front (2), perhaps on the front (1), another one is better in everything (1), infeasible (1), " +
			"the suggested compromise, expected by the models, not measured"
		if got := strings.Join(legend, ", "); got != want {
			t.Errorf("%s: %s", drawn.Title, got)
		}
	}
	if got := strings.Join(titles, ", "); got != "A against b, A against c, B against c" {
		t.Errorf("drawn are %s", got)
	}
	if said := "On the front: e3 with 9.000 and 2.000; e1 with 7.000 and 1.000; e5 with 6.000 and 1.000."; !strings.Contains(string(figures[0].SVG), said) {
		t.Errorf("it does not say %q", said)
	}
	a, b := aimOf(def, &f.Objectives[0]), aimOf(def, &f.Objectives[1])
	bounds := []figure.Bound{{At: 6, Above: true, Text: "b ≤ 6"}, {At: 7, Above: true, Text: "2*b ≤ 14"}}
	if a.Bounds != nil || a.Worst == nil || b.Worst != nil || !slices.Equal(b.Bounds, bounds) {
		t.Errorf("the bounds are %+v and %+v", a, b)
	}
}

// The course of a front is in per cent of what it covers today, at the numbers of the experiments;
// a front that covers nothing has none.
func TestHypervolumeFigure(t *testing.T) {
	_, f := someFront()
	drawn := HypervolumeFigure(f, figure.Page{})
	for _, said := range []string{"after e1: 25 %, with probability 0.8 between 10 and 40 %", "25 % after e1, 100 % after e5"} {
		if len(drawn) != 1 || !strings.Contains(string(drawn[0].SVG), said) {
			t.Errorf("it does not say %q", said)
		}
	}
	if drawn := HypervolumeFigure(&seek.Front{Curve: f.Curve}, figure.Page{}); drawn != nil {
		t.Error("a front that covers nothing has a course")
	}
}
