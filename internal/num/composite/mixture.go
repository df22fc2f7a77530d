package composite

import (
	"fmt"
	"math"

	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/internal/num/jet"
)

// Posterior is the models' prediction of the quantities at a design.
type Posterior struct {
	// Means of each quantity, standardized: of each member, or one for all.
	Means [][]float64
	// SDs of each quantity, standardized, common to the members.
	SDs []float64
	// Parameters of the design, in the user's units.
	Parameters []float64
}

// Gradient holds derivatives with respect to each number of a [Posterior], in its
// shape. The gradient in the design follows by those of means, standard deviations
// and parameters.
type Gradient struct {
	Means      [][]float64
	SDs        []float64
	Parameters []float64
}

// Mixture evaluates the distribution of a problem's functions at a design, and acquisitions of it.
// It is an ensemble where the models have members, possible values of the designs tried: each
// member has its share of the components, with points that follow one another. It is a workspace:
// one goroutine uses it at a time.
type Mixture struct {
	problem Problem
	parts   []*part            // the objective, then the constraints
	bounds  acquisition.Bounds // of the objective, minimized, within which it can improve
	members int
	each    int // components of a member
	points  [][]float64
	logs    []float64 // ln of each component's term; then its share
}

// New returns the mixture of a problem whose models have the given number of
// members. It fails where a function depends on more than [jet.MaxRandom]
// quantities.
func New(problem Problem, members int) (*Mixture, error) {
	if members < 1 {
		panic(fmt.Sprintf("composite: %d members", members))
	}
	m := &Mixture{problem: problem, members: members, each: 1}
	var err error
	if m.parts, err = newParts(&problem); err != nil {
		return nil, err
	}
	for _, q := range m.parts {
		if !q.exact && !q.within {
			m.each = max(1, Points/members)
		}
	}
	m.bounds = problem.bounds()
	m.logs = make([]float64, members*m.each)
	m.points, err = normals(len(m.logs), len(problem.Quantities), problem.Seed)
	return m, err
}

// Components returns the number of components of the mixture.
func (m *Mixture) Components() int { return len(m.logs) }

// LogEI returns the logarithm of the expected improvement under the constraints,
//
//	ln (1/N) Σ_i EI_i Π_j P_ij,
//
// EI_i of the objective's component i on the best value of its member, P_ij the
// probability of constraint j in the same component: of one member the expected
// improvement on best, of several the noisy one (Letham et al. 2019). It is −Inf
// where nothing can be gained. A component in which a function is not finite counts
// as no improvement. best is in the objective's units: see
// [Problem.Incumbent].
func (m *Mixture) LogEI(at Posterior, best []float64) float64 {
	value, _ := m.evaluate(at, best)
	return value
}

// LogEIGrad is LogEI and writes its derivatives. A design where nothing can be
// gained has none.
func (m *Mixture) LogEIGrad(at Posterior, best []float64, dst *Gradient) float64 {
	value, sum := m.evaluate(at, best)
	dst.reset(at)
	if sum > 0 {
		m.differentiate(at, best, sum, dst)
	}
	return value
}

// LogKept fills logs with ln of the probability of each member that all constraints
// are kept. It is for problems without an objective.
func (m *Mixture) LogKept(at Posterior, logs []float64) {
	m.prepare(at, false)
	for s := range m.members {
		terms := m.logs[s*m.each : (s+1)*m.each]
		common, greatest := m.factors(at, s, nil, nil, math.Inf(-1)), math.Inf(-1)
		for i := range terms {
			if terms[i] = common; !math.IsInf(common, -1) {
				terms[i] += m.factors(at, s, nil, m.points[s*m.each+i], math.Inf(-1))
			}
			greatest = math.Max(greatest, terms[i])
		}
		if logs[s] = greatest; math.IsInf(greatest, -1) {
			clear(terms)
			continue
		}
		sum := 0.0
		for i, v := range terms {
			terms[i] = math.Exp(v - greatest)
			sum += terms[i]
		}
		for i := range terms {
			terms[i] /= sum
		}
		logs[s] += math.Log(sum / float64(m.each))
	}
}

// LogKeptGrad writes the derivatives of Σ_s weight_s·logs_s, where LogKept was asked
// last.
func (m *Mixture) LogKeptGrad(at Posterior, weights []float64, dst *Gradient) {
	dst.reset(at)
	m.prepare(at, true)
	for s, weight := range weights {
		if !(weight > 0) {
			continue
		}
		for i := s * m.each; i < (s+1)*m.each; i++ {
			if share := weight * m.logs[i]; share > 0 {
				m.addParts(at, s, nil, m.points[i], share, dst)
			}
		}
		m.addParts(at, s, nil, nil, weight, dst)
	}
}

// reset makes the gradient one of zeros in the shape of a posterior.
func (g *Gradient) reset(at Posterior) {
	if len(g.Means) != len(at.Means) {
		g.Means = make([][]float64, len(at.Means))
	}
	for k, means := range at.Means {
		g.Means[k] = zeros(g.Means[k], len(means))
	}
	g.SDs, g.Parameters = zeros(g.SDs, len(at.SDs)), zeros(g.Parameters, len(at.Parameters))
}

func zeros(dst []float64, n int) []float64 {
	if len(dst) != n {
		return make([]float64, n)
	}
	clear(dst)
	return dst
}

// mean returns the mean of a quantity in a member.
func (p *Posterior) mean(quantity, member int) float64 {
	return p.Means[quantity][memberOf(p.Means[quantity], member)]
}

// memberOf returns where a member stands in a list that may have one entry for
// all.
func memberOf(list []float64, member int) int {
	if len(list) == 1 {
		return 0
	}
	return member
}

// negligible is ln of a share that is lost in a sum of float64.
const negligible = -45

// evaluate returns the acquisition and leaves in logs the terms of the sum whose
// logarithm it takes, each divided by the greatest; sum is theirs. Terms that are
// negligible next to one before them are 0.
func (m *Mixture) evaluate(at Posterior, best []float64) (value, sum float64) {
	m.prepare(at, false)
	greatest := math.Inf(-1)
	for s := range m.members {
		// Probabilities only lower a term, so that it can be left out once it is
		// negligible with the improvement in it, and not before.
		least := math.Inf(-1)
		if m.parts[0].exact {
			least = greatest + negligible
		}
		common := m.factors(at, s, best, nil, least)
		for i := s * m.each; i < (s+1)*m.each; i++ {
			if m.logs[i] = common; !math.IsInf(common, -1) {
				m.logs[i] += m.factors(at, s, best, m.points[i], greatest+negligible-common)
			}
			greatest = math.Max(greatest, m.logs[i])
		}
	}
	if math.IsInf(greatest, -1) {
		return greatest, 0
	}
	for i, v := range m.logs {
		m.logs[i] = math.Exp(v - greatest)
		sum += m.logs[i]
	}
	return greatest + math.Log(sum/float64(len(m.logs))), sum
}

// prepare sets what all components have in common. Jets have all derivatives only
// where a gradient is asked for.
func (m *Mixture) prepare(at Posterior, gradient bool) {
	for _, q := range m.parts {
		q.space.Differentiate(gradient)
		for c, k := range q.quantities {
			q.weights[c] = at.SDs[k] * at.SDs[k]
		}
		q.space.Weigh(q.weights)
		for c, a := range q.parameters {
			q.space.Linear(q.arguments[a], len(q.quantities)+c,
				at.Parameters[a-len(m.problem.Quantities)], 1)
		}
	}
}

// factors returns ln of the product of the parts' contributions to a component of a member: those
// that are exact where the point is nil, otherwise the others at the point. It is −Inf where it is
// below least, and where a part is not finite.
func (m *Mixture) factors(
	at Posterior, member int, best []float64, point []float64, least float64,
) float64 {
	log := 0.0
	for i, q := range m.parts {
		if q.exact != (point == nil) || q.within || i == 0 && m.problem.Objective == nil {
			continue
		}
		q.moments(m.jet(q, at, member, point), spread(point))
		switch {
		case !finite(q.mean) || !finite(q.sd):
			return math.Inf(-1)
		case i == 0:
			log += m.improvement(q, best[memberOf(best, member)], least)
		default:
			log += q.kept()
		}
		if !(log >= least) {
			return math.Inf(-1)
		}
	}
	return log
}

func finite(x float64) bool { return x-x == 0 }

// spread returns the share of the standard deviations in which a part is
// linearized: all at the means, where it is affine.
func spread(point []float64) float64 {
	if point == nil {
		return 1
	}
	return epsilon
}

// rest is √(1−ε²), the share that the points have.
var rest = math.Sqrt(1 - epsilon*epsilon)

// jet evaluates a part at a point, or at the means where that is nil.
func (m *Mixture) jet(q *part, at Posterior, member int, point []float64) jet.Jet {
	for c, k := range q.quantities {
		f := at.mean(k, member)
		if point != nil {
			f += float64(float64(rest*at.SDs[k]) * point[k])
		}
		scale := &m.problem.Quantities[k]
		y := scale.Center + float64(scale.Spread*f)
		if scale.Log && !q.logarithmic {
			q.space.Linear(q.logarithm, c, y, scale.Spread)
			q.space.Exp(q.arguments[k], q.logarithm)
		} else {
			q.space.Linear(q.arguments[k], c, y, scale.Spread)
		}
	}
	return q.Jet(q.space, q.arguments)
}

// moments sets mean and standard deviation of a component from a jet.
func (q *part) moments(j jet.Jet, spread float64) {
	gradient := q.space.Gradient(j)
	variance := 0.0
	for c, w := range q.weights {
		variance += float64(float64(w*gradient[c]) * gradient[c])
	}
	q.mean = j.Value() + float64(0.5*spread*spread*j.Laplacian())
	q.sd = spread * math.Sqrt(variance)
}

// improvement returns ln EI of the objective's component, on values within its cap;
// −Inf where it is below least.
func (m *Mixture) improvement(q *part, best, least float64) float64 {
	mean, best := m.problem.sign()*q.mean, m.problem.sign()*best
	// h(z) < φ(z) where z < 0, and a tail costs more than a look at it.
	if z := (best - mean) / q.sd; z < 0 && math.Log(q.sd)-0.5*z*z < least {
		return math.Inf(-1)
	}
	if m.bounds != acquisition.Unbounded() {
		log, _, _ := acquisition.LogBoundedEI(mean, q.sd, best, m.bounds)
		return log
	}
	return acquisition.LogEI(nil, mean, q.sd, best, nil, nil)
}

// The gradients of mean and sd in the coordinates (mean, sd).
var (
	alongMean = []float64{1, 0}
	alongSD   = []float64{0, 1}
)

// improvementGrad sets the derivatives of ln EI of the objective's component.
func (m *Mixture) improvementGrad(q *part, best float64) {
	sign := m.problem.sign()
	if m.bounds != acquisition.Unbounded() {
		_, byMean, bySD := acquisition.LogBoundedEI(sign*q.mean, q.sd, sign*best, m.bounds)
		q.byMean, q.bySD = sign*byMean, bySD
		return
	}
	var p [2]float64
	acquisition.LogEI(p[:], sign*q.mean, q.sd, sign*best, alongMean, alongSD)
	q.byMean, q.bySD = sign*p[0], p[1]
}

// kept returns ln of the probability that a constraint's component is ≤ 0, or within
// all exact limits of its argument, and sets its derivatives.
func (q *part) kept() float64 {
	var log float64
	log, q.byMean, q.bySD = acquisition.LogProbability(q.mean, q.sd, q.all)
	return log
}
