package ehvi

import "math"

// Members is the noisy expected hypervolume improvement. Where measurements are
// noisy or under way, the front so far is not known: the improvement on it is
// averaged over S possible fronts, the members,
//
//	NEHVI = (1/S)·Σ_s EHVI_s(mean_s, sd)
//
// (Daulton et al. 2021, Eq. 4, with the expectation over the new point in closed
// form; in logarithms as Ament et al. 2023). Members differ in their means and
// have a common standard deviation. It is a workspace: one goroutine uses it at a
// time.
type Members struct {
	regions   []region
	reference []float64
	limits    []Limit
	*work

	mean    []float64 // of one member, m values
	inverse []float64 // 1/σ_k
	most    []float64 // what ln EHVI/Π σ_k of each member does not exceed
	logs    []float64 // ln EHVI/Π σ_k of each member, then its term of the sum
	slopes  []float64 // S×m, its derivatives by the means
	growth  []float64 // S×m, and by the standard deviations
}

// NewMembers returns the improvement on the fronts of the members beyond a
// reference point. Points that are covered, or not beyond the reference, change
// nothing. limits are nil, or one of each objective, above the reference.
func NewMembers(fronts [][][]float64, reference []float64, limits []Limit) *Members {
	m := &Members{reference: reference, limits: limits}
	if limits == nil {
		m.limits = make([]Limit, len(reference))
	}
	for _, front := range fronts {
		m.regions = append(m.regions, newRegion(front, reference))
	}
	m.prepare()
	return m
}

// First returns the improvement on the first members alone, with a workspace of
// its own.
func (m *Members) First(members int) *Members {
	out := *m
	out.regions = m.regions[:members]
	out.prepare()
	return &out
}

// prepare makes the workspace.
func (m *Members) prepare() {
	corners := 0
	for _, r := range m.regions {
		corners = max(corners, len(r.corners))
	}
	members, objectives := len(m.regions), len(m.reference)
	m.work = newWork(objectives, corners)
	m.mean, m.inverse = make([]float64, objectives), make([]float64, objectives)
	m.most, m.logs = make([]float64, members), make([]float64, members)
	m.slopes = make([]float64, members*objectives)
	m.growth = make([]float64, members*objectives)
}

// Len returns the number of members.
func (m *Members) Len() int { return len(m.regions) }

// Log returns ln NEHVI. means holds, of each objective, the means of all
// members, and sd the standard deviation of each objective, positive. It is
// finite, and −Inf without a slope where no front leaves anything within the
// limits.
func (m *Members) Log(means [][]float64, sd []float64) float64 {
	value, _ := m.evaluate(means, sd, nil, false)
	return value
}

// LogGrad is Log, and fills dMeans, of the shape of means, and dSD with its
// derivatives.
func (m *Members) LogGrad(means [][]float64, sd []float64, dMeans [][]float64, dSD []float64) float64 {
	return m.weighedGrad(means, sd, nil, dMeans, dSD, nil)
}

// weighedGrad is LogGrad with ln of a factor of each member's EHVI, nil for none, and
// fills shares, unless nil, with what part of the sum each member has: the
// derivatives by those logarithms.
func (m *Members) weighedGrad(
	means [][]float64, sd, factors []float64, dMeans [][]float64, dSD, shares []float64,
) float64 {
	value, sum := m.evaluate(means, sd, factors, true)
	objectives := len(sd)
	clear(dSD)
	for s, share := range m.logs {
		share /= sum
		if shares != nil {
			shares[s] = share
		}
		for k := range objectives {
			dMeans[k][s] = share * m.slopes[s*objectives+k]
			dSD[k] += share * m.growth[s*objectives+k]
		}
	}
	return value
}

// negligible is ln of a share that is lost in a sum of float64.
const negligible = -45

// evaluate returns ln NEHVI, and the sum whose logarithm it takes: that of the
// members' EHVI, each divided by the greatest. It leaves the terms of the sum in
// logs. Members that are negligible next to another one are not computed. factors
// are ln of a factor of each, nil for none.
func (m *Members) evaluate(means [][]float64, sd, factors []float64, grad bool) (value, sum float64) {
	factor := func(s int) float64 {
		if factors == nil {
			return 0
		}
		return factors[s]
	}
	for k, v := range sd {
		m.inverse[k] = 1 / v
	}
	for s := range m.regions {
		m.gather(s, means)
		m.most[s] = m.regions[s].most(m.reference, m.mean, m.inverse) + factor(s)
	}
	likely := 0
	for s, most := range m.most {
		if most > m.most[likely] {
			likely = s
		}
	}
	m.member(likely, means, sd, grad)
	m.logs[likely] += factor(likely)
	greatest := m.logs[likely]
	for s, most := range m.most {
		switch {
		case s == likely:
		case most < greatest+negligible:
			m.logs[s] = math.Inf(-1)
		default:
			m.member(s, means, sd, grad)
			m.logs[s] += factor(s)
			greatest = max(greatest, m.logs[s])
		}
	}
	if math.IsInf(greatest, -1) {
		clear(m.logs)
		return greatest, 1
	}
	for s, v := range m.logs {
		m.logs[s] = math.Exp(v - greatest)
		sum += m.logs[s]
	}
	return greatest + math.Log(sum/float64(len(m.logs))) + sumLog(sd), sum
}

// gather copies the means of one member.
func (m *Members) gather(s int, means [][]float64) {
	for k, of := range means {
		m.mean[k] = of[s]
	}
}

// member computes ln EHVI/Π σ_k of one member, and its derivatives.
func (m *Members) member(s int, means [][]float64, sd []float64, grad bool) {
	m.gather(s, means)
	m.logs[s] = m.log(&m.regions[s], m.limits, m.mean, sd, grad)
	if grad {
		copy(m.slopes[s*len(sd):], m.dMean)
		copy(m.growth[s*len(sd):], m.dSD)
	}
}

// most returns a value that ln EHVI/Π σ_k does not exceed, at little cost. With h(z) ≤ max(z, 0) +
// 0.4, and times e^(−z²/2) below 0, two volumes are at least as great: all beyond the reference;
// and for any point y of the front the region greater than y in one objective and beyond the
// reference in the others, where y is at least d standard deviations above the means in all.
// inverse is 1/σ_k.
func (r *region) most(reference, mean, inverse []float64) float64 {
	all, below := 1.0, 0.0
	for k, v := range reference {
		z := (mean[k] - v) * inverse[k]
		all *= max(z, 0) + 0.4
		z = min(z, 0)
		below += z * z
	}
	deepest := 0.0
	for _, y := range r.front {
		d := math.Inf(1)
		for k, v := range y {
			d = min(d, (v-mean[k])*inverse[k])
		}
		deepest = max(deepest, d)
	}
	covered := deepest*deepest - 2*math.Log(float64(len(reference)))
	return math.Log(all) - max(below, covered)/2
}
