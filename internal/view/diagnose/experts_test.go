package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/study/tasks"
	"github.com/campaignd/campaignd/projections/space"
)

// reviewed is an electrolyte campaign of n measurements on which three
// simulated experts labeled the same 30 compositions: one who knows, one who
// guesses and one who misleads.
func reviewed(t *testing.T, n int) *bench {
	def, truth := electrolyte(t, 2)
	accuracies := []float64{2, 0, -2}
	for i, name := range []string{"ada", "gus", "eve"} {
		def.Experts = append(def.Experts, definition.Expert{
			Name:    name,
			Channel: humansim.Choose(humansim.Settings{Accuracy: &accuracies[i]}),
		})
	}
	for i := range 3 {
		studytest.SimulatedExpert(&def, i, func(s *humansim.Settings) { s.Task = "electrolyte" })
	}
	b := newBench(t, def)
	b.measure(b.points(n), func(_ int, p definition.Point) float64 { return truth(p) })
	s, err := space.New(b.def)
	b.check(err)
	points, err := s.Sample(30, 11)
	b.check(err)
	task, _ := tasks.Lookup("electrolyte")
	rng := rand.New(rand.NewPCG(1, 13))
	q := 0
	for i, e := range b.def.Experts {
		for _, p := range points {
			rank, err := task.Rank(p)
			b.check(err)
			label := events.LabelAccept
			if rng.Float64() < 1/(1+math.Exp(-accuracies[i]*rank)) {
				label = events.LabelReject
			}
			q++
			b.record(labeled(q, e.Name, p, label))
		}
	}
	return b
}

// labeled is a label that an expert gave unasked; an empty one: "can't tell".
func labeled(q int, expert string, p definition.Point, label events.Label) events.Payload {
	return &events.QuestionAnswered{
		Question: fmt.Sprintf("q%d", q), Form: events.FormLabel, Expert: expert, Options: []definition.Point{p},
		Answer: events.Answer{Label: label}, Volunteered: true,
	}
}

// One who knows is better than guessing, one who misleads is worse and is
// named, and one who guesses can be told from neither.
func TestExpertsAreToldApart(t *testing.T) {
	d := reviewed(t, 25).fit(nil).diagnosis()
	for i, want := range []string{ReadingAgrees, ReadingUnclear, ReadingDisagree} {
		if x := d.Experts[i]; x.Reading != want || x.Accepted+x.Rejected != 30 ||
			x.Labels.Pairs != x.Accepted*x.Rejected {
			t.Errorf("%s is read as %q: %+v, %+v", x.Name, x.Reading, x, x.Labels)
		}
	}
	f := found(d, Misleading)
	if f == nil || f.Expert != "eve" || !strings.Contains(f.Text, "eve's labels are worse than guessing") ||
		d.Verdict != Good {
		t.Errorf("the verdict is %s, the finding %+v", d.Verdict, f)
	}
}

// estimating adds a sitting of each expert about the same 30 compositions, their numbers made by said of the truth.
func estimating(t *testing.T, said func(expert int, truth float64) float64) *Diagnosis {
	def, truth := electrolyte(t, 2)
	for _, name := range []string{"ada", "gus", "eve"} {
		def.Experts = append(def.Experts, definition.Expert{Name: name, Channel: humansim.Choose(humansim.Settings{})})
	}
	for i := range def.Experts {
		studytest.SimulatedExpert(&def, i, func(s *humansim.Settings) { s.Task = "electrolyte" })
	}
	b := newBench(t, def)
	b.measure(b.points(25), func(_ int, p definition.Point) float64 { return truth(p) })
	s, err := space.New(b.def)
	b.check(err)
	points, err := s.Sample(30, 11)
	b.check(err)
	for i, e := range b.def.Experts {
		a := &events.QuestionAnswered{
			Question: fmt.Sprintf("q%d", i+1), Form: events.FormEstimate, Expert: e.Name, Options: points, Volunteered: true,
			Scale: &events.Scale{Quantity: "conductivity", Better: events.BetterHigher},
		}
		for k, p := range points {
			a.Answer.Estimates = append(a.Answer.Estimates, events.Estimate{Option: k, Value: said(i, truth(p))})
		}
		b.record(a)
	}
	d := b.fit(nil).diagnosis()
	return &d
}

// Estimates are judged by the order of their pairs: one who knows has nearly all of them right, one who says the same
// number always has none to be right in, and one who misleads is named.
func TestEstimatesAreToldApart(t *testing.T) {
	d := estimating(t, func(expert int, truth float64) float64 { return []float64{truth, 7, -truth}[expert] })
	ada, gus, eve := d.Experts[0], d.Experts[1], d.Experts[2]
	if ada.Reading != ReadingAgrees || ada.Estimates.Pairs != 30*29/2 || ada.Estimates.Share < 0.9 {
		t.Errorf("ada is read as %q: %+v", ada.Reading, ada.Estimates)
	}
	if gus.Estimates != nil || gus.Reading != ReadingOneKind {
		t.Errorf("gus is read as %q: %+v", gus.Reading, gus.Estimates)
	}
	if eve.Reading != ReadingDisagree || math.Abs(ada.Estimates.Share+eve.Estimates.Share-1) > 1e-9 {
		t.Errorf("eve is read as %q: %+v", eve.Reading, eve.Estimates)
	}
	if f := found(*d, Misleading); f == nil || f.Expert != "eve" || !strings.Contains(f.Title, "estimates of eve") {
		t.Errorf("the finding is %+v", f)
	}
}

// Nobody is accused before the measurements can tell: the intervals of two
// measurements hold a half, those of many are narrower.
func TestTooFewMeasurementsToAccuse(t *testing.T) {
	few, many := reviewed(t, 2).fit(nil).diagnosis(), reviewed(t, 25).fit(nil).diagnosis()
	for i := range few.Experts {
		x, y := few.Experts[i], many.Experts[i]
		if x.Reading == ReadingDisagree || x.Labels.Upper-x.Labels.Lower < y.Labels.Upper-y.Labels.Lower {
			t.Errorf("%s: %q after 2 measurements, %+v, and %+v after 25", x.Name, x.Reading, x.Labels, y.Labels)
		}
	}
	if d := reviewed(t, 2).diagnosis(); d.Experts[0].Reading != ReadingNoModel || d.Experts[0].Labels != nil {
		t.Errorf("without a model: %+v", d.Experts[0])
	}
}

// The share of pairs is counted as its definition says, ties for half.
func TestShareBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.Map(rapid.IntRange(0, 6), func(k int) float64 { return float64(k) })
		a := rapid.SliceOfN(few, 1, 12).Draw(t, "a")
		b := rapid.SliceOfN(few, 1, 12).Draw(t, "b")
		want := 0.0
		for _, x := range a {
			for _, y := range b {
				switch {
				case x < y:
					want++
				case x == y:
					want += 0.5
				}
			}
		}
		if want /= float64(len(a) * len(b)); math.Abs(shareBelow(a, b)-want) > 1e-12 {
			t.Fatalf("%v, want %v", shareBelow(a, b), want)
		}
	})
}

// The interval holds the share, lies within 0 and 1, is turned over with it,
// grows with the model's doubt, and holds a half exactly where the test of Mann and
// Whitney does not reject that the expert guesses.
func TestAgreementInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, n := rapid.IntRange(1, 40).Draw(t, "m"), rapid.IntRange(1, 40).Draw(t, "n")
		share := rapid.Float64Range(0, 1).Draw(t, "share")
		variance := rapid.Float64Range(0, 0.1).Draw(t, "variance")
		agreement := func(share, variance float64, m, n int) *Agreement {
			return newAgreement(share, m*n, func(theta float64) float64 { return hanleyMcNeil(theta, m, n) + variance })
		}
		a := agreement(share, variance, m, n)
		if !(0 <= a.Lower && a.Lower <= share && share <= a.Upper && a.Upper <= 1) {
			t.Fatalf("%+v", a)
		}
		if b := agreement(1-share, variance, n, m); math.Abs(b.Lower-(1-a.Upper)) > 1e-9 ||
			math.Abs(b.Upper-(1-a.Lower)) > 1e-9 {
			t.Fatalf("%+v, turned over %+v", a, b)
		}
		if b := agreement(share, variance+0.01, m, n); b.Lower > a.Lower+1e-9 || b.Upper < a.Upper-1e-9 {
			t.Fatalf("%+v, with more doubt %+v", a, b)
		}
		null := float64(m+n+1) / float64(12*m*n)
		z := math.Abs(share-0.5) / math.Sqrt(null+variance)
		if math.Abs(z-1.96) > 0.01 && (a.reading() == ReadingUnclear) != (z < 1.96) {
			t.Fatalf("z is %v, %+v", z, a)
		}
	})
}

// Labeled compositions that were measured are counted on their side of the median.
func TestMeasuredLabels(t *testing.T) {
	def := box(1, 1)
	def.Experts = []definition.Expert{{Name: "ada", Channel: terminal.Choose(terminal.Settings{})}}
	b := newBench(t, def)
	points := b.points(6)
	b.measure(points[:5], func(i int, _ definition.Point) float64 { return float64(i) }).fit(nil) // the median is 2
	for i, label := range []events.Label{events.LabelReject, events.LabelAccept, events.LabelAccept,
		events.LabelReject, events.LabelAccept, events.LabelAccept} {
		b.record(labeled(i+1, "ada", points[i], label))
	}
	b.record(labeled(7, "ada", points[0], ""))
	x := b.diagnosis().Experts[0]
	if want := (Measured{
		Accepted:     3,
		AcceptedGood: 1,
		Rejected:     2,
		RejectedBad:  1,
	}); x.Measured != want || x.Unsure != 1 || x.Accepted != 4 {
		t.Errorf("%+v, want %+v", x, want)
	}
}

// Comparisons, rankings and compositions of the expert's own are held against the
// measurements too: one who always prefers the better option is better than guessing, one
// who always prefers the worse is named.
func TestChoices(t *testing.T) {
	def, truth := electrolyte(t, 2)
	for _, name := range []string{"ada", "eve"} {
		def.Experts = append(def.Experts, definition.Expert{Name: name, Channel: terminal.Choose(terminal.Settings{})})
	}
	b := newBench(t, def)
	b.measure(b.points(25), func(_ int, p definition.Point) float64 { return truth(p) }).fit(nil)
	s, err := space.New(b.def)
	b.check(err)
	points, err := s.Sample(30, 11)
	b.check(err)
	q := 0
	for who, e := range b.def.Experts {
		for k := 0; k < len(points); k += 3 { // the third is left out: it comes after the others
			q++
			order := []int{0, 1, 2}
			slices.SortFunc(order, func(i, j int) int { // the highest first, for eve the lowest
				return cmp.Compare(truth(points[k+j]), truth(points[k+i])) * (1 - 2*who)
			})
			b.record(&events.QuestionAnswered{
				Question: fmt.Sprintf("q%d", q), Form: events.FormComparison, Expert: e.Name, Options: points[k : k+3],
				Answer: events.Answer{Order: order[:2]}, Volunteered: true,
			})
		}
	}
	d := b.diagnosis()
	for i, want := range []string{ReadingAgrees, ReadingDisagree} {
		if x := d.Experts[i]; x.Reading != want || x.Labels != nil || x.Choices.Pairs != 30 {
			t.Errorf("%s is read as %q: %+v, %+v", x.Name, x.Reading, x, x.Choices)
		}
	}
	if f := found(d, Misleading); f == nil || f.Expert != "eve" || !strings.Contains(f.Title, "choices of eve") {
		t.Errorf("the finding is %+v", f)
	}
}
