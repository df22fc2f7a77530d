package ehvi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"testing"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// oracle reads an oracle's file into v, or skips the test.
func oracle(t *testing.T, name string, v any) {
	t.Helper()
	data, err := os.ReadFile("../../../../shared/oracles/" + name + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("oracle %s is not beside this checkout", name)
	} else if err != nil {
		t.Fatal(err)
	}
	must.Do(t, json.Unmarshal(data, v))
}

// near fails the test where got is not within the tolerance of want, relative to a scale.
func near(t *testing.T, what string, got, want, tolerance, scale float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*scale) {
		t.Errorf("%s is %.17g, want %.17g", what, got, want)
	}
}

// Oracle m: ln EHVI from far beyond the front to far behind it, with 50 digits, to 1e-10; derivatives to 1e-8 relative, the
// tolerances the file states.
func TestClosedOracle(t *testing.T) {
	type front struct {
		Name string
		Y    [][]float64
		Ref  []float64
	}
	var fronts struct {
		Results struct{ Cases []front }
	}
	oracle(t, "l_hypervolume", &fronts)
	byName := make(map[string]front)
	for _, c := range fronts.Results.Cases {
		byName[c.Name] = c
	}
	var cases struct {
		Results []struct {
			Front, What string
			Mu, SD      []float64
			EHVI        float64
			LogEHVI     float64   `json:"log_ehvi"`
			DMu         []float64 `json:"dlog_dmu"`
			DSD         []float64 `json:"dlog_dsd"`
		}
	}
	oracle(t, "m_ehvi", &cases)
	if len(cases.Results) == 0 {
		t.Fatal("the oracle holds no case")
	}
	for _, c := range cases.Results {
		f := byName[c.Front]
		closed := NewClosed(f.Y, f.Ref, nil)
		at := fmt.Sprintf(", %s, %s", c.Front, c.What)
		m := len(c.Mu)
		dMean, dSD := make([]float64, m), make([]float64, m)
		got := closed.LogGrad(c.Mu, c.SD, dMean, dSD)
		near(t, "ln EHVI"+at, got, c.LogEHVI, 1e-10, 1+math.Abs(c.LogEHVI))
		near(t, "EHVI"+at, math.Exp(got), c.EHVI, 1e-10, c.EHVI)
		if plain := closed.Log(c.Mu, c.SD); plain != got {
			t.Errorf("without derivatives it is %v, with them %v", plain, got)
		}
		for k := range m {
			near(t, fmt.Sprint("the derivative by mean ", k, at), dMean[k], c.DMu[k], 1e-8, math.Abs(c.DMu[k])+1e-6/c.SD[k])
			near(t, fmt.Sprint("the derivative by sd ", k, at), dSD[k], c.DSD[k], 1e-8, math.Abs(c.DSD[k])+1e-6/c.SD[k])
		}
	}
}

// Oracle o: the improvement of one objective on a best value, where values above a bound do not count, to 1e-11.
func TestLimitOracle(t *testing.T) {
	var cases struct {
		Results struct {
			Capped []struct {
				Mu, SD, Best, Cap float64
				LogEI             *float64 `json:"log_ei"`
			}
		}
	}
	oracle(t, "o_constrained", &cases)
	if len(cases.Results.Capped) == 0 {
		t.Fatal("the oracle holds no case")
	}
	for _, c := range cases.Results.Capped {
		if c.LogEI == nil { // the bound is the best value: nothing is to be gained
			continue
		}
		closed := NewClosed(nil, []float64{c.Best}, []Limit{{Bounded: true, At: c.Cap}})
		got := closed.Log([]float64{c.Mu}, []float64{c.SD})
		near(t, fmt.Sprintf("ln EI of %+v", c), got, *c.LogEI, 1e-11, max(1, math.Abs(*c.LogEI)))
	}
}

// The reference values, computed with 60 digits and more (mpmath) on the grid of all coordinates, and rounded: one to four
// objectives, with limits and without, points down to 1e-10 apart, near the front and far from it.
func TestClosedAgainstHighPrecision(t *testing.T) {
	data := must.Get(os.ReadFile("testdata/closed.json"))(t)
	var cases []struct {
		Front               [][]float64
		Reference, Mean, SD []float64
		Limits              []*float64
		Log                 float64
		DMean, DSD          []float64
	}
	must.Do(t, json.Unmarshal(data, &cases))
	if len(cases) == 0 {
		t.Fatal("there are no cases")
	}
	for i, c := range cases {
		m := len(c.Mean)
		limits := make([]Limit, m)
		for k, at := range c.Limits {
			if at != nil {
				limits[k] = Limit{Bounded: true, At: *at}
			}
		}
		closed := NewClosed(c.Front, c.Reference, limits)
		dMean, dSD := make([]float64, m), make([]float64, m)
		got := closed.LogGrad(c.Mean, c.SD, dMean, dSD)
		// Where objective k lies z standard deviations off, rounding of z alone costs z²·1e-16.
		near(t, fmt.Sprintf("case %d: ln EHVI", i), got, c.Log, 1e-11, 1+math.Abs(c.Log)/10)
		for k := range m {
			slope := (1 + math.Abs(c.DMean[k])*c.SD[k]) / c.SD[k]
			near(t, fmt.Sprintf("case %d: the derivative by mean %d", i, k), dMean[k], c.DMean[k], 1e-9, slope)
			slope = (1 + math.Abs(c.DSD[k])*c.SD[k]) / c.SD[k]
			near(t, fmt.Sprintf("case %d: the derivative by sd %d", i, k), dSD[k], c.DSD[k], 1e-9, slope)
		}
	}
}

// Oracle n: members' means, standard deviations and EHVI on given normal values, their mean to 1e-9, its gradient to 1e-7 relative,
// the tolerances the file states.
func TestNoisyOracle(t *testing.T) {
	var cases struct {
		Results []struct {
			What     string
			X, Y     [][]float64
			Ref      []float64
			Baseline [][]float64
			Z        [][][]float64
			Hyper    []struct {
				Ell             []float64
				S2, Noise, Mean float64
			}
			MemberValues [][][]float64 `json:"member_values"`
			Points       []struct {
				X           []float64
				Log         float64     `json:"log_nehvi"`
				Gradient    []float64   `json:"gradient"`
				MemberMeans [][]float64 `json:"member_means"`
				SD          []float64   `json:"sd"`
				MemberEHVI  []float64   `json:"member_ehvi"`
			}
		}
	}
	oracle(t, "n_nehvi", &cases)
	if len(cases.Results) == 0 {
		t.Fatal("the oracle holds no case")
	}
	for _, c := range cases.Results {
		b := &builder{points: c.Baseline, reference: c.Ref, limits: make([]Limit, len(c.Ref))}
		chosen := make([]int, len(c.Baseline))
		for i := range chosen {
			chosen[i] = i
		}
		for k, h := range c.Hyper {
			y := make([]float64, len(c.Y))
			for i := range y {
				y[i] = c.Y[i][k]
			}
			g := must.Get(gp.New(gp.Data{X: c.X, Y: y}, "rbf",
				gp.Hyper{Lengthscales: h.Ell, OutputScale: h.S2, Noise: h.Noise, Mean: h.Mean}))(t)
			model := g.Condition(nil, nil, nil)
			b.Objectives = append(b.Objectives, Objective{Model: model, Reference: c.Ref[k]})
			b.models = append(b.models, model)
			b.joints = append(b.joints, model.Joint(c.Baseline))
		}
		s := b.sample(chosen)
		normals := make([][]float64, len(c.Z))
		for i, z := range c.Z {
			for p := range chosen {
				for k := range c.Ref {
					normals[i] = append(normals[i], z[k][p])
				}
			}
			s.draw(normals[i])
			for p, values := range c.MemberValues[i] {
				for k, want := range values {
					near(t, "a member's value", s.Values[k][p], want, 1e-9, 1)
				}
			}
		}
		n := must.Get(s.suppose(normals, len(chosen)))(t)
		grad := make([]float64, len(c.X[0]))
		for i, p := range c.Points {
			at := fmt.Sprintf(" (%s, point %d)", c.What, i)
			near(t, "ln NEHVI"+at, n.LogGrad(p.X, grad), p.Log, 1e-9, 1)
			for k, sd := range p.SD {
				near(t, "a standard deviation"+at, n.sd[k], sd, 1e-9, 1)
				for s, of := range p.MemberMeans {
					near(t, "a member's mean"+at, n.means[k][s], of[k], 1e-9, 1)
				}
			}
			for j, want := range p.Gradient {
				near(t, "the gradient"+at, grad[j], want, 1e-7, max(1, math.Abs(want)))
			}
			if plain := n.Log(p.X); math.Abs(plain-p.Log) > 1e-9 {
				t.Errorf("without a gradient it is %v, want %v%s", plain, p.Log, at)
			}
			for s, want := range p.MemberEHVI {
				got := n.members.logs[s] / n.members.logs[0]
				near(t, "a member's share of the first one's"+at, got, want/p.MemberEHVI[0], 1e-8, max(1, got))
			}
		}
	}
}
