package reliability

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// TestOracle compares densities, likelihoods and noise with values computed independently, to
// 1e-10; the bandwidth to 1e-8: the tolerances the file states.
func TestOracle(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "oracles", "g_kde_loo.json"))
	if err != nil {
		t.Skip("the oracle file lies outside the repository and is not here: ", err)
	}
	var o struct {
		Inputs struct {
			Anchors, T [][]float64
			A          float64
		}
		Results struct {
			NegLOO     map[string]float64 `json:"neg_loo"`
			Slope      map[string]float64 `json:"dnegloo_dh"`
			HFree      float64            `json:"h_free"`
			NegLOOFree float64            `json:"neg_loo_at_h_free"`
			HPaper     float64            `json:"h_paper"`
			QFree      []float64          `json:"q_h_free"`
			Q1         []float64          `json:"q_h1"`
			NoiseFree  []float64          `json:"sig2_h_free"`
			Noise1     []float64          `json:"sig2_h1"`
		}
	}
	must.Do(t, json.Unmarshal(raw, &o))
	in, want := o.Inputs, o.Results
	close := func(what string, got, want, tol float64) {
		t.Helper()
		if !(math.Abs(got-want) <= tol) {
			t.Errorf("%s = %.17g, want %.17g", what, got, want)
		}
	}
	number := func(s string) float64 {
		return must.Get(strconv.ParseFloat(s, 64))(t)
	}
	for h, v := range want.NegLOO {
		got, _ := LeaveOneOut(in.Anchors, number(h))
		close("LOO at "+h, -got, v, 1e-10)
	}
	for h, v := range want.Slope {
		_, got := LeaveOneOut(in.Anchors, number(h))
		close("slope of LOO at "+h, -got, v, 1e-10)
	}
	free := must.Get(Bandwidth(in.Anchors, 0, 0))(t)
	close("bandwidth", free, want.HFree, 1e-8)
	value, slope := LeaveOneOut(in.Anchors, free)
	close("LOO there", -value, want.NegLOOFree, 1e-10)
	close("slope there", slope, 0, 1e-10)
	boxed := must.Get(Bandwidth(in.Anchors, 1, 2))(t)
	close("bandwidth within the paper's bounds", boxed, want.HPaper, 1e-8)

	for _, c := range []struct {
		h        float64
		q, noise []float64
	}{{want.HFree, want.QFree, want.NoiseFree}, {1, want.Q1, want.Noise1}} {
		q := must.Get(NewDensity(in.Anchors, c.h))(t)
		m := must.Get(NewMap(in.Anchors, Config{Level: in.A, Paper: true, Bandwidth: c.h}))(t)
		for i, x := range in.T {
			close("density", q.At(x, nil), c.q[i], 1e-10)
			close("noise", m.At(x, nil), c.noise[i], 1e-10)
		}
	}
}

func drawAnchors(t *rapid.T, least int) [][]float64 {
	d := rapid.IntRange(1, 4).Draw(t, "d")
	coord := rapid.Float64Range(0, 1)
	return rapid.SliceOfN(rapid.SliceOfN(coord, d, d), least, 8).Draw(t, "anchors")
}

// TestGradients against central differences: density, both maps, and the likelihood in h.
func TestGradients(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		anchors := drawAnchors(t, 2)
		d := len(anchors[0])
		h := rapid.Float64Range(0.1, 2).Draw(t, "h")
		x := rapid.SliceOfN(rapid.Float64Range(-0.2, 1.2), d, d).Draw(t, "x")
		q := must.Get(NewDensity(anchors, h))(t)
		ours := must.Get(NewMap(anchors, Config{Level: 0.7, Bandwidth: h}))(t)
		paper, err := NewMap(anchors, Config{Level: 0.7, Bandwidth: max(h, 0.4), Paper: true}) // above its floor
		if err != nil {
			t.Fatal(err)
		}
		const step = 1e-5
		grad := make([]float64, d)
		for name, f := range map[string]func(x, grad []float64) float64{"density": q.At, "map": ours.At,
			"paper": paper.At} {
			v := f(x, grad)
			if plain := f(x, nil); plain != v {
				t.Fatalf("%s: %v with its gradient, %v without", name, v, plain)
			}
			for j := range d {
				up, down := append([]float64{}, x...), append([]float64{}, x...)
				up[j] += step
				down[j] -= step
				fu, fd := f(up, nil), f(down, nil)
				diff := (fu - fd) / (2 * step)
				// The third derivative of q grows with q/h³, that of the map with its strength too.
				if math.Abs(grad[j]-diff) > 1e-5*(1+math.Abs(diff))+1e-7*q.At(x, nil) {
					t.Fatalf("∂%s/∂x_%d = %v, finite difference %v", name, j, grad[j], diff)
				}
			}
		}
		_, slope := LeaveOneOut(anchors, h)
		up, _ := LeaveOneOut(anchors, h+1e-6)
		down, _ := LeaveOneOut(anchors, h-1e-6)
		if diff := (up - down) / 2e-6; math.Abs(slope-diff) > 1e-4*(1+math.Abs(diff)) {
			t.Fatalf("slope of LOO %v, finite difference %v", slope, diff)
		}
	})
}

// TestBandwidthIsTheBest of a fine grid, wherever the anchors lie, and it is inside the bounds.
func TestBandwidthIsTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		anchors := drawAnchors(t, 2)
		h := must.Get(Bandwidth(anchors, 0, 0))(t)
		if h < DefaultLower || h > DefaultUpper {
			t.Fatalf("bandwidth %v outside its bounds", h)
		}
		best, _ := LeaveOneOut(anchors, h)
		for i := range 1000 {
			g := DefaultLower * math.Pow(DefaultUpper/DefaultLower, float64(i)/999)
			// A maximum narrower than the search's grid would show here.
			if v, _ := LeaveOneOut(anchors, g); v > best+1e-9*(1+math.Abs(best)) {
				t.Fatalf("LOO(%v) = %v, but LOO(%v) = %v", h, best, g, v)
			}
		}
	})
}

// TestFewAnchors: none is homoscedastic; one is a dip of the default width; coinciding ones are as
// one, at the lower bound.
func TestFewAnchors(t *testing.T) {
	a, far := []float64{0.3, 0.4}, []float64{0.9, 0.95}
	for _, c := range []struct {
		name              string
		anchors           [][]float64
		bandwidth, at, to float64
	}{
		{"none", nil, 0, 1, 1},
		{"one", [][]float64{a}, 0.2, math.Exp(-4), 0.96},
		{"the same twice", [][]float64{a, a}, DefaultLower, math.Exp(-4), 1},
		{"the same five times", [][]float64{a, a, a, a, a}, DefaultLower, math.Exp(-4), 1},
	} {
		m := must.Get(NewMap(c.anchors, Config{}))(t)
		grad := []float64{7, 7}
		if v := m.At(a, grad); math.Abs(v-c.at) > 1e-12 || math.Abs(grad[0])+math.Abs(grad[1]) > 1e-12 {
			t.Errorf("%s: noise at the anchor %v with gradient %v, want %v and 0", c.name, v, grad, c.at)
		}
		if v := m.At(far, nil); v < c.to || v > 1 {
			t.Errorf("%s: noise far away %v, want about 1", c.name, v)
		}
		if math.Abs(m.Bandwidth()-c.bandwidth) > 1e-12 {
			t.Errorf("%s: bandwidth %v, want %v", c.name, m.Bandwidth(), c.bandwidth)
		}
	}
}

// TestMapLevels: the noise lies in (0, a], is the stated fraction of a at the densest anchor and no
// lower at any other, and does not depend on how often the whole set of anchors is repeated.
func TestMapLevels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		anchors := drawAnchors(t, 1)
		cfg := Config{
			Level: rapid.Float64Range(0.01, 10).Draw(t, "level"), Strength: rapid.Float64Range(0.1, 8).Draw(t, "strength"),
			Bandwidth: rapid.Float64Range(0.02, 2).Draw(t, "h"),
		}
		m := must.Get(NewMap(anchors, cfg))(t)
		twice := must.Get(NewMap(append(append([][]float64{}, anchors...), anchors...), cfg))(t)
		least := math.Inf(1)
		for _, a := range anchors {
			v := m.At(a, nil)
			least = min(least, v)
			if w := twice.At(a, nil); math.Abs(w-v) > 1e-12*cfg.Level {
				t.Fatalf("noise %v, with every anchor twice %v", v, w)
			}
		}
		if want := cfg.Level * math.Exp(-cfg.Strength); math.Abs(least-want) > 1e-12*cfg.Level {
			t.Fatalf("least noise at an anchor %v, want %v", least, want)
		}
		x := rapid.SliceOfN(rapid.Float64Range(0, 1), len(anchors[0]), len(anchors[0])).Draw(t, "x")
		if v := m.At(x, nil); !(v > 0) || v > cfg.Level {
			t.Fatalf("noise %v outside (0, %v]", v, cfg.Level)
		}
	})
}

// TestFloor: Eq. 6 as printed vanishes for a small bandwidth in four dimensions; the map stops at
// a/10⁴, and is flat there.
func TestFloor(t *testing.T) {
	a := []float64{.5, .5, .5, .5}
	m := must.Get(NewMap([][]float64{a}, Config{Level: 2, Paper: true, Bandwidth: 0.02}))(t)
	grad := []float64{1, 1, 1, 1}
	if v := m.At([]float64{.5, .5, .5, .51}, grad); v != 2e-4 || grad[3] != 0 {
		t.Errorf("noise %v, gradient %v", v, grad)
	}
}

func TestBadInput(t *testing.T) {
	ok := [][]float64{{0.5}, {0.7}}
	for _, c := range []struct {
		name    string
		anchors [][]float64
		cfg     Config
	}{
		{"NaN", [][]float64{{math.NaN()}}, Config{}},
		{"infinite, bandwidth given", [][]float64{{math.Inf(1)}}, Config{Bandwidth: 1}},
		{"level", ok, Config{Level: -1}},
		{"strength", ok, Config{Strength: math.Inf(1)}},
		{"bandwidth", ok, Config{Bandwidth: -1}},
		{"tiny bandwidth", ok, Config{Bandwidth: 1e-300}},
		{"bounds", ok, Config{Lower: 3}},
		{"no anchors, but a bad level", nil, Config{Level: math.NaN()}},
	} {
		if _, err := NewMap(c.anchors, c.cfg); !errors.Is(err, ErrAnchors) {
			t.Errorf("%s: %v, want ErrAnchors", c.name, err)
		}
	}
	if _, err := NewDensity(nil, 1); !errors.Is(err, ErrAnchors) {
		t.Errorf("a density of nothing: %v", err)
	}
}

func TestNoAllocation(t *testing.T) {
	m := must.Get(NewMap([][]float64{{.1, .2}, {.3, .4}, {.8, .7}}, Config{}))(t)
	x, grad := []float64{.5, .5}, make([]float64, 2)
	if n := testing.AllocsPerRun(10, func() { m.At(x, grad) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkMap(b *testing.B) {
	var anchors [][]float64
	for i := range 30 {
		t := float64(i)
		anchors = append(anchors, []float64{math.Mod(.37*t, 1), math.Mod(.61*t, 1), math.Mod(.73*t, 1),
			math.Mod(.19*t, 1)})
	}
	m := must.Get(NewMap(anchors, Config{}))(b)
	x, grad := []float64{.5, .5, .5, .5}, make([]float64, 4)
	for b.Loop() {
		m.At(x, grad)
	}
}

func BenchmarkBandwidth(b *testing.B) {
	var anchors [][]float64
	for i := range 30 {
		t := float64(i)
		anchors = append(anchors, []float64{math.Mod(.37*t, 1), math.Mod(.61*t, 1)})
	}
	for b.Loop() {
		must.Get(Bandwidth(anchors, 0, 0))(b)
	}
}
