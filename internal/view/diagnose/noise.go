package diagnose

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Sources of the model's noise.
const (
	NoiseDeclared   = "declared"   // objective.noise of the campaign
	NoiseInstrument = "instrument" // the instrument says it with each result
	NoiseInferred   = "inferred"   // from the measurements
)

// Noise compares the known scatters of one measurement. All standard deviations are in the
// objective's unit.
type Noise struct {
	// SD is the model's noise; Source is its origin. For noise given by the instrument, SD is the
	// root mean square.
	SD     float64 `json:"sd"`
	Source string  `json:"source"`
	// Spread is the standard deviation of all measurements.
	Spread float64 `json:"spread"`
	// Replicates is nil if no composition was measured twice.
	Replicates *Replicates `json:"replicates"`
}

// Replicates is the scatter among repeated measurements of one composition.
type Replicates struct {
	// SD is pooled over the compositions; Lower and Upper bound it with 95 %
	// confidence (χ²).
	SD    float64 `json:"sd"`
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
	// Freedom counts the repetitions: measurements less compositions.
	Freedom int `json:"freedom"`
	// Widest names the two measurements of one composition that differ most,
	// and Difference by how much.
	Widest     [2]string `json:"widest"`
	Difference float64   `json:"difference"`
	// Surprise is the probability that this many repetitions scatter this much
	// more, or less, than the SD of the model.
	Surprise float64 `json:"surprise"`
}

// noiseOf gathers the facts about the noise.
func noiseOf(sought definition.Objective, m *quantity.Model) *Noise {
	n := &Noise{Source: NoiseInferred, SD: math.Sqrt(m.Fit.Noise) * m.Fit.Scale}
	values := make([]float64, len(m.Observations))
	known := 0
	squares := 0.0
	declared := 0.0
	for k, o := range m.Observations {
		values[k] = o.Value
		if o.SD != nil {
			known++
			squares += *o.SD * *o.SD
		}
		if sd := sought.SD(o.Value); sd != nil {
			declared += *sd * *sd
		}
	}
	all := float64(len(m.Observations))
	switch {
	case known == len(m.Observations):
		n.Source, n.SD = NoiseInstrument, math.Sqrt(squares/all)
	case sought.RelativeNoise != nil:
		n.Source, n.SD = NoiseDeclared, math.Sqrt(declared/all)
	case sought.Noise != nil:
		n.Source, n.SD = NoiseDeclared, *sought.Noise
	}
	if len(values) > 1 {
		n.Spread = stat.StdDev(values, nil)
	}
	n.Replicates = replicates(m, n.SD)
	return n
}

// replicates pools the repetitions; noise is the value they are compared with. Surprise is
// two-sided, and 0 for a model without noise.
func replicates(m *quantity.Model, noise float64) *Replicates {
	var groups [][]int
	at := make(map[int]int) // only looked up
	for k, row := range rowsOf(m) {
		g, ok := at[row]
		if !ok {
			g = len(groups)
			at[row], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], k)
	}
	var r Replicates
	squares := 0.0
	for _, g := range groups {
		if len(g) < 2 {
			continue
		}
		mean := 0.0
		low, high := g[0], g[0]
		for _, k := range g {
			y := m.Observations[k].Value
			mean += y / float64(len(g))
			if y < m.Observations[low].Value {
				low = k
			}
			if y > m.Observations[high].Value {
				high = k
			}
		}
		for _, k := range g {
			e := m.Observations[k].Value - mean
			squares += e * e
		}
		r.Freedom += len(g) - 1
		if d := m.Observations[high].Value - m.Observations[low].Value; d > r.Difference {
			r.Difference = d
			r.Widest = [2]string{m.Observations[min(low, high)].Experiment,
				m.Observations[max(low, high)].Experiment}
		}
	}
	if r.Freedom == 0 {
		return nil
	}
	chi := distuv.ChiSquared{K: float64(r.Freedom)}
	r.SD = math.Sqrt(squares / float64(r.Freedom))
	r.Lower = math.Sqrt(squares / chi.Quantile(0.975))
	r.Upper = math.Sqrt(squares / chi.Quantile(0.025))
	if noise > 0 {
		below := chi.CDF(squares / (noise * noise))
		r.Surprise = 2 * min(below, 1-below)
	}
	return &r
}
