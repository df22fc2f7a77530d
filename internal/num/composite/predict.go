package composite

import (
	"math"

	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/internal/num/special"
)

// Prediction is a mixture's prediction for a design, over all of its components.
type Prediction struct {
	// Mean and SD of the objective, in its units: NaN where it has no finite value.
	Mean, SD float64
	// Kept holds the probability of each constraint, Feasible that of all.
	Kept     []float64
	Feasible float64
	// Undefined counts the components in which a function was not finite. The
	// objective's moments leave them out; a constraint is broken there.
	Undefined int

	components []normal // of the objective, where they are finite
}

type normal struct{ mean, sd float64 }

// Predict returns the distribution of the objective, and the probabilities of the
// constraints.
func (m *Mixture) Predict(at Posterior) Prediction {
	m.prepare(at, false)
	p := Prediction{Kept: make([]float64, len(m.problem.Constraints))}
	for s := range m.members {
		for i := s * m.each; i < (s+1)*m.each; i++ {
			m.addTo(&p, at, s, m.points[i])
		}
	}
	n := float64(len(m.logs))
	for j := range p.Kept {
		p.Kept[j] /= n
	}
	p.Feasible /= n
	p.moments()
	return p
}

// addTo adds a component of a member.
func (m *Mixture) addTo(p *Prediction, at Posterior, member int, point []float64) {
	defined, feasible := true, 1.0
	for i, q := range m.parts {
		z := point
		if q.exact {
			z = nil
		}
		q.moments(m.jet(q, at, member, z), spread(z))
		ok := finite(q.mean) && finite(q.sd)
		defined = defined && ok
		switch {
		case i == 0 && ok:
			p.components = append(p.components, normal{q.mean, q.sd})
		case i == 0:
		case ok:
			log, _, _ := acquisition.LogProbability(q.mean, q.sd, q.own)
			p.Kept[i-1] += math.Exp(log)
			if q.counts {
				feasible *= math.Exp(q.kept())
			}
		default:
			feasible = 0
		}
	}
	p.Feasible += feasible
	if !defined {
		p.Undefined++
	}
}

// moments sets mean and standard deviation of the objective.
func (p *Prediction) moments() {
	n := float64(len(p.components))
	for _, c := range p.components {
		p.Mean += c.mean / n
	}
	variance := 0.0
	for _, c := range p.components {
		d := c.mean - p.Mean
		variance += (float64(d*d) + float64(c.sd*c.sd)) / n
	}
	if p.SD = math.Sqrt(variance); n == 0 {
		p.Mean, p.SD = math.NaN(), math.NaN()
	}
}

// Quantile returns the value below which the objective is with the given
// probability, between 0 and 1; NaN where it has no finite value.
func (p *Prediction) Quantile(probability float64) float64 {
	const far = 9 // standard deviations, beyond which nothing is
	low, high := math.Inf(1), math.Inf(-1)
	for _, c := range p.components {
		low, high = math.Min(low, c.mean-far*c.sd), math.Max(high, c.mean+far*c.sd)
	}
	if len(p.components) == 0 {
		return math.NaN()
	}
	for { // until no number lies between the two
		middle := low + (high-low)/2
		if middle <= low || middle >= high {
			return high
		}
		if p.below(middle) < probability {
			low = middle
		} else {
			high = middle
		}
	}
}

// below returns the probability that the objective is at most y.
func (p *Prediction) below(y float64) float64 {
	sum := 0.0
	for _, c := range p.components {
		switch {
		case c.sd > 0:
			sum += special.NormalCDF((y - c.mean) / c.sd)
		case c.mean <= y:
			sum++
		}
	}
	return sum / float64(len(p.components))
}

// Shares returns how much of the objective's variance comes from each quantity, to
// first order at the means of the first member: (σ_k ∂g/∂f_k)² over the sum. They
// add up to 1, and are 0 where nothing is uncertain.
func (m *Mixture) Shares(at Posterior) []float64 {
	m.prepare(at, false)
	q := m.parts[0]
	gradient := q.space.Gradient(m.jet(q, at, 0, nil))
	shares, sum := make([]float64, len(m.problem.Quantities)), 0.0
	for c, k := range q.quantities {
		shares[k] = q.weights[c] * gradient[c] * gradient[c]
		sum += shares[k]
	}
	for k := range shares {
		if sum > 0 {
			shares[k] /= sum
		}
	}
	return shares
}
