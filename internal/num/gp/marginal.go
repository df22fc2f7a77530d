package gp

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Around returns hyperparameters around fitted ones, as far from them as the data leave open: 2p
// points for p that were fitted. The log posterior that Fit maximizes is taken for a Gaussian of
// the logarithms, with its curvature at h (Laplace's approximation); the points lie at ±√p columns
// of the symmetric root of that Gaussian's covariance, and so have its mean and covariance (Julier
// and Uhlmann 1997). Rounding of the curvature moves that root no further than by rounding; it
// turns the Gaussian's axes where two are equally long. The prior bounds the points: none is
// further away than where the widest prior alone puts it, and none outside the bounds. The constant
// mean is the best at each.
//
// h is a fit of the data with the same configuration; the settings of its searches do not matter.
// It fails with ErrData, kernel.ErrUnknown, ErrHyper, ErrNotPositiveDefinite where the posterior
// cannot be evaluated next to h, or the context's error, wrapped.
func Around(ctx context.Context, data Data, cfg FitConfig, h Hyper) ([]Hyper, error) {
	cfg.Warm = &h
	o, err := prepare(ctx, data, &cfg)
	if err != nil {
		return nil, err
	}
	at := make([]float64, len(o.priors))
	for j, l := range h.Lengthscales {
		at[j] = math.Log(l)
	}
	if o.scale >= 0 {
		at[o.scale] = math.Log(h.OutputScale)
	}
	if o.noise >= 0 {
		at[o.noise] = math.Log(h.Noise)
	}
	o.clip(at)
	root, ok := o.laplace(at)
	if ctx.Err() != nil { // evaluations that were called off look like failed ones
		return nil, fmt.Errorf("around a fit: called off: %w", context.Cause(ctx))
	}
	if !ok {
		return nil, fmt.Errorf("around a fit: %w", ErrNotPositiveDefinite)
	}
	p := len(at)
	var around []Hyper
	for k := range p {
		for _, side := range []float64{-1, 1} {
			theta := make([]float64, p)
			for j := range theta {
				theta[j] = at[j] + side*math.Sqrt(float64(p))*root.At(j, k)
			}
			o.clip(theta)
			there := o.hyper(theta)
			if _, there.Mean, err = o.like.eval(ctx, there, true, nil); err != nil {
				return nil, fmt.Errorf("around a fit: %w", err)
			}
			around = append(around, there)
		}
	}
	return around, nil
}

// clip moves θ into the bounds.
func (o *objective) clip(theta []float64) {
	for j := range theta {
		theta[j] = min(max(theta[j], o.lower[j]), o.upper[j])
	}
}

// laplace returns the symmetric root of the covariance of the Gaussian with the
// curvature of the log posterior at θ; ok is false where that is not finite.
func (o *objective) laplace(theta []float64) (root *mat.Dense, ok bool) {
	const step = 1e-3 // of a logarithm, between the rounding of gradients and the change of the curvature
	p := len(theta)
	rows := mat.NewDense(p, p, nil)
	x := make([]float64, p)
	above := make([]float64, p)
	below := make([]float64, p)
	widest := 0.0
	for j := range p {
		copy(x, theta)
		up, down := min(theta[j]+step, o.upper[j]), max(theta[j]-step, o.lower[j])
		x[j] = up
		fUp := o.eval(x, above)
		x[j] = down
		fDown := o.eval(x, below)
		if math.IsInf(fUp, 0) || math.IsInf(fDown, 0) {
			return nil, false
		}
		for k := range p {
			rows.Set(j, k, (above[k]-below[k])/(up-down))
		}
		widest = max(widest, o.priors[j].Sigma)
	}
	hessian := mat.NewSymDense(p, nil)
	for j := range p {
		for k := range j + 1 {
			v := (rows.At(j, k) + rows.At(k, j)) / 2
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, false
			}
			hessian.SetSym(j, k, v)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(hessian, true) {
		return nil, false
	}
	var axes, stretched mat.Dense
	eigen.VectorsTo(&axes)
	sds := make([]float64, p)
	for k, curvature := range eigen.Values(nil) {
		sds[k] = 1 / math.Sqrt(max(curvature, 1/(widest*widest)))
	}
	stretched.Mul(&axes, mat.NewDiagDense(p, sds))
	root = mat.NewDense(p, p, nil)
	root.Mul(&stretched, axes.T())
	return root, true
}

// Marginal says how far off the posterior of a process may be whose
// hyperparameters were fitted, and are not known. Its mean is that of the
// process; its variance is the mean, over hyperparameters around the fitted
// ones, of their variance and of the square of how far their mean is from that
// of the process, times 1 + q/n, by which q constants fitted to n data are off
// at new ones (Akaike 1970). q counts the hyperparameters and the mean, n
// distinct points.
type Marginal struct {
	g      *GP
	around []*GP
	factor float64
}

// Marginal returns the posterior of this process for hyperparameters around its
// own, which [Around] returns. Those at which the data have no posterior are
// left out; it fails with the error of a context that is done, or where none is
// left. The kernel has to be one of kernel.New.
func (g *GP) Marginal(ctx context.Context, around []Hyper) (*Marginal, error) {
	m := &Marginal{g: g, factor: 1 + float64(len(around)/2+1)/float64(len(g.x))}
	var failed error
	for _, h := range around {
		other, err := NewContext(ctx, g.data, g.family().String(), h)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			failed = err
			continue
		}
		m.around = append(m.around, other)
	}
	if len(m.around) == 0 {
		return nil, fmt.Errorf("no hyperparameters around the fitted ones can be used: %w", failed)
	}
	return m, nil
}

// Posterior returns the mean and standard deviation of f(x), noise not
// included.
func (m *Marginal) Posterior(x []float64) (mean, sd float64) {
	mean, _ = m.g.Posterior(x)
	variance := 0.0
	for _, other := range m.around {
		there, s := other.Posterior(x)
		variance += s*s + (there-mean)*(there-mean)
	}
	return mean, math.Sqrt(m.factor * variance / float64(len(m.around)))
}

// LeaveOneOut is [GP.LeaveOneOut] with these standard deviations.
func (m *Marginal) LeaveOneOut() (y, mean, sd []float64) {
	y, mean, sd = m.g.LeaveOneOut()
	clear(sd)
	for _, other := range m.around {
		_, there, s := other.LeaveOneOut()
		for i := range sd {
			sd[i] += s[i]*s[i] + (there[i]-mean[i])*(there[i]-mean[i])
		}
	}
	for i := range sd {
		sd[i] = math.Sqrt(m.factor * sd[i] / float64(len(m.around)))
	}
	return y, mean, sd
}
