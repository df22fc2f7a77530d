package composite

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"testing"

	"github.com/campaignd/campaignd/internal/num/jet"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// form is one of the oracle's functions, by its operations on jets.
type form struct {
	value  func(q []float64) float64
	jet    func(s *jet.Space, q []jet.Jet, dst [5]jet.Jet) jet.Jet
	affine bool

	space   *jet.Space
	scratch [5]jet.Jet
}

func (f *form) Value(q []float64) float64 { return f.value(q) }
func (f *form) Uses(argument int) bool    { return argument < 2 }
func (f *form) Affine([]bool) bool        { return f.affine }
func (f *form) Jet(s *jet.Space, q []jet.Jet) jet.Jet {
	if f.space != s {
		f.space = s
		for i := range f.scratch {
			f.scratch[i] = s.New()
		}
	}
	return f.jet(s, q, f.scratch)
}

// forms returns the functions of the oracle. Its affine one is not said to be
// affine, so that it has components too.
func forms(t *testing.T) map[string]Function {
	d, err := NewDesirability([]Goal{{Argument: 0, From: 0, To: 2, Weight: 2}, {Argument: 1, From: 3, To: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]Function{
		"affine": &form{
			value: func(q []float64) float64 { return 2*q[0] - 0.5*q[1] + 1 },
			jet: func(s *jet.Space, q []jet.Jet, dst [5]jet.Jet) jet.Jet {
				s.Scale(dst[0], q[0], 2)
				s.Scale(dst[1], q[1], 0.5)
				s.Sub(dst[2], dst[0], dst[1])
				s.Shift(dst[3], dst[2], 1)
				return dst[3]
			},
		},
		"ratio": &form{
			value: func(q []float64) float64 { return q[0] / (1 + math.Exp(q[1])) },
			jet: func(s *jet.Space, q []jet.Jet, dst [5]jet.Jet) jet.Jet {
				s.Exp(dst[0], q[1])
				s.Shift(dst[1], dst[0], 1)
				s.Div(dst[2], q[0], dst[1], dst[3])
				return dst[2]
			},
		},
		"square": &form{
			value: func(q []float64) float64 { return -(q[0]-1)*(q[0]-1) - 0.3*q[1]*q[1] },
			jet: func(s *jet.Space, q []jet.Jet, dst [5]jet.Jet) jet.Jet {
				s.Shift(dst[0], q[0], -1)
				s.Mul(dst[1], dst[0], dst[0])
				s.Power(dst[2], q[1], 2)
				s.Scale(dst[3], dst[2], -0.3)
				s.Sub(dst[4], dst[3], dst[1])
				return dst[4]
			},
		},
		"desirability": d,
	}
}

type formulas struct {
	Inputs struct {
		Z [][]float64
	}
	Results struct {
		Cases []struct {
			Form          string
			Mu, SD        []float64
			Best          float64
			ComponentMean []float64 `json:"component_mean"`
			ComponentSD   []float64 `json:"component_sd"`
			EI            float64
			LogEI         float64 `json:"log_ei"`
			Converged     float64 `json:"ei_by_65536_points"`
		}
		Desirability []struct {
			Y []float64
			D float64
		}
	}
	Checks struct {
		Mixture []float64 `json:"relative_error_mixture"`
	}
}

func readFormulas(t *testing.T) (o formulas) {
	t.Helper()
	data, err := os.ReadFile("../../../../shared/oracles/s_formulas.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("oracle s is not beside this checkout")
	} else if err != nil {
		t.Fatal(err)
	}
	must.Do(t, json.Unmarshal(data, &o))
	if len(o.Results.Cases) == 0 || len(o.Results.Cases) != len(o.Checks.Mixture) || len(o.Results.Desirability) == 0 {
		t.Fatal("the oracle holds no case")
	}
	return o
}

func relative(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*math.Abs(want)) {
		t.Errorf("%s = %.17g, want %.17g", what, got, want)
	}
}

// Oracle s: components, expected improvements and desirabilities to 1e-10; and from the converged value
// each is as far as the oracle says that its points bring it.
func TestFormulasOracle(t *testing.T) {
	o := readFormulas(t)
	functions := forms(t)
	for i, c := range o.Results.Cases {
		m := must.Get(New(Problem{
			Quantities: []Scale{{Spread: 1}, {Spread: 1}}, Objective: functions[c.Form], Maximize: true,
		}, 1))(t)
		m.points, m.each = o.Inputs.Z, len(o.Inputs.Z)
		m.logs = m.logs[:m.each]
		at := Posterior{Means: [][]float64{c.Mu[:1], c.Mu[1:]}, SDs: c.SD}
		m.prepare(at, false)
		for s, z := range m.points {
			m.parts[0].moments(m.jet(m.parts[0], at, 0, z), epsilon)
			relative(t, c.Form+": mean of a component", m.parts[0].mean, c.ComponentMean[s], 1e-10)
			relative(t, c.Form+": sd of a component", m.parts[0].sd, c.ComponentSD[s], 1e-10)
		}
		log := m.LogEI(at, []float64{c.Best})
		relative(t, c.Form+": log EI", log, c.LogEI, 1e-10)
		relative(t, c.Form+": EI", math.Exp(log), c.EI, 1e-10)
		relative(t, c.Form+": distance from the converged EI",
			math.Abs(math.Exp(log)-c.Converged)/c.Converged, o.Checks.Mixture[i], 1e-9)
	}
	for _, c := range o.Results.Desirability {
		relative(t, "desirability", functions["desirability"].Value(c.Y), c.D, 1e-10)
	}
}

// Law: with 256 points the logarithm of the improvement is within 0.1 of the converged one, and what is
// affine is exact.
func TestPointsSuffice(t *testing.T) {
	o := readFormulas(t)
	for _, c := range o.Results.Cases {
		for _, exact := range []bool{false, true} {
			f := forms(t)[c.Form]
			tolerance := 0.1
			if exact {
				affine, ok := f.(*form)
				if !ok || c.Form != "affine" {
					continue
				}
				affine.affine = true
				tolerance = 0.01 // of the sample it is compared with
			}
			m, err := New(Problem{Quantities: []Scale{{Spread: 1}, {Spread: 1}}, Objective: f, Maximize: true}, 1)
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int{false: Points, true: 1}[exact]; m.Components() != want {
				t.Fatalf("%d components, want %d", m.Components(), want)
			}
			log := m.LogEI(Posterior{Means: [][]float64{c.Mu[:1], c.Mu[1:]}, SDs: c.SD}, []float64{c.Best})
			t.Logf("%s %v: %+.4f", c.Form, exact, log-math.Log(c.Converged))
			if d := log - math.Log(c.Converged); !(math.Abs(d) <= tolerance) {
				t.Errorf("%s: log EI is off by %v", c.Form, d)
			}
		}
	}
}
