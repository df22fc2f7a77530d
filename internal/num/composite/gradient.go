package composite

import "github.com/campaignd/campaignd/internal/num/jet"

// differentiate adds up the derivatives of the acquisition that evaluate has
// computed: those of ln of each component's term, weighed by its share.
func (m *Mixture) differentiate(at Posterior, best []float64, sum float64, dst *Gradient) {
	m.prepare(at, true)
	for s := range m.members {
		total := 0.0
		for i := s * m.each; i < (s+1)*m.each; i++ {
			if share := m.logs[i] / sum; share > 0 {
				m.addParts(at, s, best, m.points[i], share, dst)
				total += share
			}
		}
		if total > 0 {
			m.addParts(at, s, best, nil, total, dst)
		}
	}
}

// addParts adds a share of the derivatives of the exact parts' contributions to a member, where the
// point is nil, and of the others at a point.
func (m *Mixture) addParts(
	at Posterior, member int, best []float64, point []float64, share float64, dst *Gradient,
) {
	for i, q := range m.parts {
		if q.exact != (point == nil) || q.within || i == 0 && m.problem.Objective == nil {
			continue
		}
		j := m.jet(q, at, member, point)
		q.moments(j, spread(point))
		if i == 0 {
			m.improvementGrad(q, best[memberOf(best, member)])
		} else {
			q.kept()
		}
		q.byMean *= share
		q.bySD *= share
		q.differentiate(j, spread(point))
		m.add(q, at, member, point, j, dst)
	}
}

// differentiate sets the derivatives by each coordinate, from
//
//	∂mean/∂x_i = g_i + ½ε² ∂L/∂x_i,   ∂sd/∂x_i = ε² Σ_k w_k g_k g_ki / sd.
func (q *part) differentiate(j jet.Jet, spread float64) {
	square := spread * spread
	gradient, laplacian := q.space.Gradient(j), q.space.LaplacianGradient(j)
	for i := range q.coordinates {
		q.coordinates[i] = q.byMean * (gradient[i] + 0.5*square*laplacian[i])
	}
	if !(q.sd > 0) {
		return
	}
	for k, w := range q.weights {
		factor := q.bySD * square * w * gradient[k] / q.sd
		for i, h := range q.space.Hessian(j, k) {
			q.coordinates[i] += factor * h
		}
	}
}

// add adds the derivatives of a part to those by means, standard deviations and
// parameters. A standard deviation moves the point, and the spread around it.
func (m *Mixture) add(q *part, at Posterior, member int, point []float64, j jet.Jet, dst *Gradient) {
	square := spread(point) * spread(point)
	gradient := q.space.Gradient(j)
	for c, k := range q.quantities {
		dst.Means[k][memberOf(dst.Means[k], member)] += q.coordinates[c]
		bySD := q.byMean * square * at.SDs[k] * q.space.Hessian(j, c)[c]
		if q.sd > 0 {
			bySD += q.bySD * square * at.SDs[k] * gradient[c] * gradient[c] / q.sd
		}
		if point != nil {
			bySD += rest * point[k] * q.coordinates[c]
		}
		dst.SDs[k] += bySD
	}
	for c, a := range q.parameters {
		dst.Parameters[a-len(m.problem.Quantities)] += q.coordinates[len(q.quantities)+c]
	}
}
