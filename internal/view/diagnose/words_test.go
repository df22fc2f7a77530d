package diagnose

import (
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/space"
)

// Law: numbers have three significant digits, as many decimals as that takes,
// and an exponent only where they would be hard to read.
func TestNumbersInWords(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 12.345: "12.3", -0.05: "-0.0500", 1.5: "1.50", 123456: "123456",
		0.0005: "0.0005", 1234567: "1.23e+06", -0.001: "-0.00100",
	} {
		if got := number(x); got != want {
			t.Errorf("%v is written %q, want %q", x, got, want)
		}
	}
}

// Law: a contradiction says what was measured, what the others predict and how
// far apart these are; the last one says how much better the model is without
// all of them.
func TestContradictionsInWords(t *testing.T) {
	outlier := func(id string) Outlier {
		return Outlier{Experiment: id, Measured: 0.05, Predicted: 12.1, SD: 0.3, Z: -40.2}
	}
	for _, c := range []struct {
		name     string
		outliers []Outlier
		without  string
	}{
		{"one", []Outlier{outlier("e3")},
			" Without it the leave-one-out R² is 0.930 instead of 0.420."},
		{"two", []Outlier{outlier("e3"), outlier("e7")},
			" Without them the leave-one-out R² is 0.930 instead of 0.420."},
	} {
		d := &Diagnosis{Unit: "mS/cm", Outliers: c.outliers, WithoutOutliers: pointer(0.93),
			LeaveOneOut: &LeaveOneOut{R2: pointer(0.42)}}
		r := reader{d: d, v: policies.View{Campaign: &campaign.State{}}}
		r.outliers()
		for i := range d.Findings {
			id := c.outliers[i].Experiment
			want := id + " measured 0.0500 mS/cm where all other measurements predict 12.1 ± 0.300 mS/cm:" +
				" 40.2 standard deviations away."
			if i == len(c.outliers)-1 {
				want += c.without
			}
			if got := d.Findings[i].Text; got != want {
				t.Errorf("%s, %s says\n%s\nwant\n%s", c.name, id, got, want)
			}
		}
		if len(d.Findings) != len(c.outliers) {
			t.Errorf("%s: %d findings of %d contradictions", c.name, len(d.Findings), len(c.outliers))
		}
	}
}

// Law: a frame knows where each parameter's coordinates begin: a category has
// one for each of its descriptors, or one for each category where it has none.
func TestCoordinatesOfAFrame(t *testing.T) {
	described := func(descriptors ...map[string]float64) (all []definition.CategoryDef) {
		for i, d := range descriptors {
			all = append(all, definition.CategoryDef{Name: string(rune('a' + i)), Descriptors: d})
		}
		return all
	}
	def := definition.Campaign{Parameters: []definition.Parameter{
		{Name: "plain", Categories: described(nil, nil, nil)},
		{Name: "x", Min: pointer(0.0), Max: pointer(1.0)},
		{Name: "seen", Categories: described(
			map[string]float64{"size": 1, "charge": 2}, map[string]float64{"size": 3, "charge": 0})},
		{Name: "y", Min: pointer(-1.0), Max: pointer(1.0)},
	}}
	s := must.Get(space.New(def))(t)
	f := NewFrame(&def, s)
	for i, want := range []int{0, 3, 4, 6} {
		if got := f.Coordinate(i); got != want {
			t.Errorf("%s begins at coordinate %d, want %d", def.Parameters[i].Name, got, want)
		}
	}
	if d := s.Dim(); d != 7 {
		t.Errorf("the space has %d coordinates, want 7", d)
	}
}

// Law: a space has as many free directions as numeric and categorical
// parameters that can be varied, less its equalities, and one at the least.
func TestFreeDirections(t *testing.T) {
	one := definition.Campaign{Parameters: []definition.Parameter{
		{Name: "x", Min: pointer(0.0), Max: pointer(1.0)},
	}}
	two := definition.Campaign{
		Parameters: []definition.Parameter{
			{Name: "x", Min: pointer(0.0), Max: pointer(1.0)},
			{Name: "y", Min: pointer(0.0), Max: pointer(1.0)},
		},
		Constraints: []definition.Constraint{
			{Terms: map[string]float64{"x": 1, "y": 1}, Equals: pointer(1.0)},
		},
	}
	for name, c := range map[string]struct {
		def  definition.Campaign
		want int
	}{"one": {one, 1}, "two that sum to one": {two, 1}, "a mixture of four": {mixture(), 3}} {
		s := must.Get(space.New(c.def))(t)
		if got := NewFrame(&c.def, s).free(); got != c.want {
			t.Errorf("%s: %d directions are free, want %d", name, got, c.want)
		}
	}
}

// Law: what is said of stale results needs more evidence in more than four
// dimensions.
func TestEvidenceOfStaleResults(t *testing.T) {
	for _, c := range []struct {
		evidence   float64
		dimensions int
		alarming   bool
	}{{-1.9, 2, false}, {-2.1, 2, true}, {-2.1, 4, true}, {-2.1, 5, false}, {-3.1, 5, true}} {
		if got := (&Lag{Evidence: c.evidence}).alarming(c.dimensions); got != c.alarming {
			t.Errorf("%v nats in %d dimensions alarm: %v", c.evidence, c.dimensions, got)
		}
	}
}

// Law: where the model is unusable an expert's answers are judged by nothing,
// and not held against them.
func TestNoJudge(t *testing.T) {
	for _, c := range []struct {
		level Verdict
		want  string
	}{{Unusable, ReadingNoJudge}, {Doubtful, "as it was"}} {
		r := reader{d: &Diagnosis{Findings: []Finding{{Level: c.level}}}}
		e := &Expert{Labels: new(Agreement), Reading: "as it was"}
		r.expert(e)
		if e.Reading != c.want {
			t.Errorf("with a finding of level %s the reading is %q, want %q", c.level, e.Reading, c.want)
		}
		silent := &Expert{Reading: "as it was"}
		if r.expert(silent); silent.Reading != "as it was" {
			t.Errorf("an expert without answers reads %q", silent.Reading)
		}
	}
}
