package view_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/diagnose"
)

// surveyed simulates a campaign and surveys it.
func surveyed(t *testing.T, source string) (*engine.Core, *view.Survey) {
	t.Helper()
	file := must.Get(campaignfile.Parse(builtin.Registry(), "file.yaml", []byte(source)))(t)
	core := must.Get(studytest.Simulate(t.Context(), memlog.New(), file.Definition))(t)
	s := must.Get(view.NewSurvey(t.Context(), core))(t)
	return core, s
}

// example reads a file of the examples.
func example(t *testing.T, name string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("..", "..", "examples", name)))(t)
	return strings.Replace(string(text), "experiments: 30", "experiments: 10", 1)
}

// near reports whether a number of a chart is v, to its six digits.
func near(got *float64, v float64) bool {
	return got != nil && math.Abs(*got-v) <= 1e-5*math.Max(1, math.Abs(v))
}

// Law: every node of slices and maps is what is predicted of its composition, for each
// quantity and for the probability that constraints are kept.
func TestSurveyIsWhatIsPredicted(t *testing.T) {
	core, s := surveyed(t, boxFile)
	predictor := must.Get(view.NewPredictor(t.Context(), core))(t)
	check := func(what string, g *view.Grid, node int, at definition.Point) {
		t.Helper()
		p := must.Get(predictor.Predict(t.Context(), at))(t)
		want := []float64{*p.Mean, p.Quantities[1].Mean, p.Feasible.Probability}
		for l, mean := range want {
			if !near(g.Mean[l][node], mean) {
				t.Errorf("%s, node %d: %s is %v, want %v", what, node, g.Layers[l].Name, g.Mean[l][node], mean)
			}
		}
		if !near(g.SD[0][node], *p.SD) || g.SD[2][node] != nil {
			t.Errorf("%s, node %d: sd %v, want %v", what, node, g.SD[0][node], *p.SD)
		}
	}
	at := definition.Point{"lipf6": definition.Number(1), "ec": definition.Number(0.4), "dmc": definition.Number(0.5)}
	slices, err := s.Slices(t.Context(), at)
	if err != nil || len(slices.Slices) != 3 || *slices.Slices[1].Here != 0.4 {
		t.Fatalf("%+v, %v", slices, err)
	}
	for _, along := range slices.Slices {
		for _, k := range []int{0, 7, len(along.X) - 1} {
			moved := definition.Point{"lipf6": at["lipf6"], "ec": at["ec"], "dmc": at["dmc"]}
			low, high := map[string][2]float64{"lipf6": {0.2, 2.1}, "ec": {0.3, 0.52}, "dmc": {0, 1}}[along.Parameter], float64(len(along.X)-1)
			moved[along.Parameter] = definition.Number(low[0] + (low[1]-low[0])*float64(k)/high)
			check("along "+along.Parameter, &along.Grid, k, moved)
		}
	}
	m, err := s.Map(t.Context(), "dmc", "lipf6", at, 9)
	if err != nil || len(m.Mean[0]) != 81 {
		t.Fatalf("%+v, %v", m, err)
	}
	check("map", &m.Grid, 2*9+5, definition.Point{"dmc": definition.Number(5. / 8), "lipf6": definition.Number(0.2 + 1.9*2/8), "ec": at["ec"]})
}

// Law: in a mixture, a component is exchanged for the others in the ratio that they have; what
// bounds and constraints leave out is empty, and what is excluded is named.
func TestSurveyOfAMixture(t *testing.T) {
	_, s := surveyed(t, example(t, "mixture.yaml"))
	at := definition.Point{
		"ec": definition.Number(0.2), "dmc": definition.Number(0.4), "emc": definition.Number(0.3), "fec": definition.Number(0.1),
	}
	moved, err := s.Move(at, "ec", "0,36") // as a person types it
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"ec": 0.36, "dmc": 0.32, "emc": 0.24, "fec": 0.08} {
		if v, _ := moved[name].Float(); math.Abs(v-want) > 0.011 { // to the steps of the robot
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	far, err := s.Move(at, "fec", "0.9")
	sum := 0.0
	for _, v := range far {
		x, _ := v.Float()
		sum += x
	}
	if err != nil || far["fec"].String() != "0.15" || math.Abs(sum-1) > 0.011 {
		t.Errorf("beyond its bound: %v, of a sum of %v, %v", far, sum, err)
	}
	out, err := s.Ternary(t.Context(), [3]string{"ec", "dmc", "emc"}, at, 20)
	if err != nil || math.Abs(out.Corners[0].High-0.9) > 1e-9 {
		t.Fatalf("%v, the corners %+v", err, out.Corners)
	}
	// a parts of 20 of ec between 0.1 and 0.9; with 0.1 of fec at most 0.45 is allowed.
	for a, allowed := range map[int]bool{0: true, 8: true, 9: false, 20: false} {
		if got := out.Mean[0][a*21+4] != nil; got != (allowed && a+4 <= 20) {
			t.Errorf("ec at %d of 20 parts: drawn %v", a, got)
		}
	}
	if len(out.Excluded) != 0 {
		t.Errorf("excluded with ec below 0.5: %v", out.Excluded)
	}
	for _, wrong := range []func() error{
		func() error { _, err := s.Map(t.Context(), "ec", "ec", nil, 9); return err },
		func() error { _, err := s.Map(t.Context(), "ec", "water", nil, 9); return err },
		func() error { _, err := s.Ternary(t.Context(), [3]string{"ec", "ec", "dmc"}, nil, 9); return err },
		func() error { _, err := s.Move(at, "ec", "much"); return err },
		func() error {
			_, err := s.Slices(t.Context(), definition.Point{"ec": definition.Number(1)})
			return err
		},
	} {
		if err := wrong(); !errors.Is(err, problem.Invalid) {
			t.Errorf("%v is not a refusal of what was asked", err)
		}
	}
}

// Law: importance is that of the task itself where the model has learned it: in a task in which one
// parameter does nothing that one has next to none; the others' bounds hold their value. It depends on the log alone.
func TestImportance(t *testing.T) {
	_, s := surveyed(t, strings.Replace(boxFile, "budget: {experiments: 8}", "budget: {experiments: 16}", 1))
	first := must.Get(s.Importance(t.Context()))(t)
	again := must.Get(s.Importance(t.Context()))(t)
	a, _ := json.Marshal(first)
	b, _ := json.Marshal(again)
	if string(a) != string(b) {
		t.Error("it is another one each time")
	}
	of := first.Shares[0]
	if !(*of[0].Total > 0.4) || !(*of[1].Total < 0.1) {
		t.Errorf("of the conductivity, lipf6 has %v and ec %v", *of[0].Total, *of[1].Total)
	}
	for i, e := range of {
		if !(*e.Low <= *e.Total && *e.Total <= *e.High && *e.Low >= 0 && *e.High <= 1) {
			t.Errorf("%s: %v is not between %v and %v", first.Parameters[i], *e.Total, *e.Low, *e.High)
		}
	}
	if of[0].Learned.Reading != diagnose.ReadingBends || of[1].Learned.Reading != diagnose.ReadingNone {
		t.Errorf("of the conductivity is said: lipf6 %+v, ec %+v", of[0].Learned, of[1].Learned)
	}
	for i, e := range of[1:] {
		if !(*of[0].Learned.Change > *e.Learned.Change) {
			t.Errorf("%s changes the conductivity by %v, lipf6 by %v",
				first.Parameters[i+1], *e.Learned.Change, *of[0].Learned.Change)
		}
	}
	if last := first.Shares[2]; last[0].Total == nil || last[0].Low != nil {
		t.Errorf("of the constraints: %+v", last)
	}
}

func BenchmarkImportance(b *testing.B) {
	text := must.Get(os.ReadFile(filepath.Join("..", "..", "examples", "mixture.yaml")))(b)
	file := must.Get(campaignfile.Parse(builtin.Registry(), "file.yaml", text))(b)
	core := must.Get(studytest.Simulate(b.Context(), memlog.New(), file.Definition))(b)
	s := must.Get(view.NewSurvey(b.Context(), core))(b)
	for b.Loop() {
		must.Get(s.Importance(b.Context()))(b)
	}
}
