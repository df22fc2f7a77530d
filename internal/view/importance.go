package view

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/campaignd/campaignd/internal/num/sensitivity"
	"github.com/campaignd/campaignd/internal/view/diagnose"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Importance is each parameter's part in the variation that the models expect over the space: the
// total-effect index (see [sensitivity.Total]) over compositions drawn evenly from the space within
// bounds and constraints, of functions drawn from the posterior. Where others must give way to a
// parameter, as in a mixture, they do so as in slices, and their variation then counts for the
// parameter.
type Importance struct {
	Parameters []string   `json:"parameters"`
	Layers     []Layer    `json:"layers"`
	Shares     [][]Effect `json:"shares"` // by layer, then parameter
	// Compositions is how many were drawn.
	Compositions int `json:"compositions"`
}

// Effect is a total-effect index: the median of those of functions that are drawn from the
// posterior, and Low and High the bounds of their central 68 %, the model's uncertainty. For a
// value that is computed from several quantities it is that of the mean, without bounds. It is nil
// for a parameter that cannot be varied.
type Effect struct {
	Total *float64 `json:"total"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
	// Learned is the influence of the parameter in the model of a single quantity, as a
	// diagnosis says it.
	Learned *Learned `json:"learned,omitempty"`
}

// Learned is a model's knowledge about a parameter: in words, and the greatest difference of the
// mean along the slice through the best composition, ± its standard deviation, in the quantity's
// unit; nil where the parameter cannot be varied.
type Learned struct {
	Reading  string   `json:"reading"`
	Change   *float64 `json:"change,omitempty"`
	ChangeSD *float64 `json:"change_sd,omitempty"`
}

// What importance is worked out from.
const (
	importanceBase  = 128 // compositions
	importanceNodes = 6   // values along each parameter
	drawnBase       = 24  // compositions, for functions drawn from the posterior
	drawnNodes      = 5
	drawnFunctions  = 200
	drawnMost       = 1600           // points that are drawn together: the cost is their cube
	streamDrawn     = 0x696d706f7274 // "import", in ASCII
)

// Importance works it out, for all layers that have a mean. It depends on the log
// alone: points and functions are drawn by the campaign's seed.
func (s *Survey) Importance(ctx context.Context) (*Importance, error) {
	out := &Importance{Layers: s.layers, Compositions: importanceBase}
	for _, p := range s.def.Parameters {
		out.Parameters = append(out.Parameters, p.Name)
	}
	plan, err := s.plan(importanceBase, importanceNodes)
	if err != nil {
		return nil, err
	}
	out.Compositions = len(plan.base)
	out.Shares = make([][]Effect, len(s.layers))
	for i := range s.def.Parameters {
		along := make([][][]float64, len(s.layers))
		for b := range plan.base {
			row := make([][]float64, len(s.layers))
			for _, x := range plan.along[i][b] {
				mean, _, err := s.evaluate(ctx, x)
				if err != nil {
					return nil, err
				}
				for l, m := range mean {
					row[l] = append(row[l], m)
				}
			}
			for l := range s.layers {
				along[l] = append(along[l], row[l])
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		for l := range s.layers {
			var share Effect
			if plan.lines[i].Weights != nil {
				share.Total = finite(sensitivity.Total(along[l], plan.lines[i]))
			}
			out.Shares[l] = append(out.Shares[l], share)
		}
	}
	if err := s.learned(out); err != nil {
		return nil, err
	}
	if err := s.doubt(ctx, out); err != nil {
		return nil, err
	}
	for _, row := range out.Shares {
		for i := range row {
			row[i].reconcile()
		}
	}
	return out, nil
}

// leastShare is the share from which on something comes with a parameter.
const leastShare = 0.05

// reconcile withdraws the finding that a parameter has no effect along the slice through the best
// composition, where over the space even the lower bound of its effect is not negligible.
func (e *Effect) reconcile() {
	least := e.Low
	if least == nil {
		least = e.Total
	}
	if e.Learned != nil && e.Learned.Reading == diagnose.ReadingNone && least != nil && *least >= leastShare {
		e.Learned.Reading = diagnose.ReadingUnsure
	}
}

// learned adds the knowledge of the models of single quantities about each parameter.
func (s *Survey) learned(out *Importance) error {
	for l, layer := range s.layers {
		model := s.modelOf(layer)
		if model == nil {
			continue
		}
		parameters, err := diagnose.Learned(s.predictor.view, model)
		if err != nil {
			return err
		}
		for i, p := range parameters {
			out.Shares[l][i].Learned = &Learned{p.Reading, p.Effect, p.EffectSD}
		}
	}
	return nil
}

// plan are the points at which models are evaluated for importance: base points over
// the space, and those along each parameter through each of them. The line of a
// parameter that cannot be varied is empty.
type plan struct {
	base  [][]float64
	along [][][][]float64 // by parameter, base point, place on the line
	lines []sensitivity.Line
}

// plan lays the points.
func (s *Survey) plan(n, nodes int) (*plan, error) {
	points, err := s.space.Sample(n, s.predictor.core.State().Definition.Seed)
	if err != nil {
		return nil, err
	}
	p := &plan{along: make([][][][]float64, len(s.def.Parameters)), lines: make([]sensitivity.Line, len(s.def.Parameters))}
	for _, point := range points {
		x, err := s.space.Encode(point)
		if err != nil {
			return nil, err
		}
		p.base = append(p.base, x)
	}
	for i := range s.def.Parameters {
		for _, x := range p.base {
			p.along[i] = append(p.along[i], s.line(p, x, i, nodes))
		}
	}
	return p, nil
}

// line are the points along a parameter through x, and sets the parameter's line.
// Where it cannot be moved at x, all are x: nothing varies there.
func (s *Survey) line(p *plan, x []float64, i, nodes int) (points [][]float64) {
	m, ok := s.mover(x, i, nodes)
	if !ok {
		return nil
	}
	if m.Categories != nil || m.Allowed != nil {
		p.lines[i] = sensitivity.Even(len(m.X))
		for k := range m.X {
			to := m.to(x, k)
			if to == nil || !s.frame.Feasible(to) {
				to = x
			}
			points = append(points, to)
		}
		return points
	}
	p.lines[i] = sensitivity.Gauss(nodes)
	dir, _, _ := s.frame.Direction(x, i)
	from, to := s.frame.Reach(x, dir)
	for _, share := range p.lines[i].At {
		points = append(points, diagnose.Along(x, dir, from+share*(to-from)))
	}
	return points
}

// doubt adds how far the models leave the indices of single quantities open: functions
// are drawn from the posterior at all points of a smaller plan together. What the few
// points get wrong they get wrong of the posterior mean as well, so that the ratio of
// a function's index to the mean's is carried over.
func (s *Survey) doubt(ctx context.Context, out *Importance) error {
	plan, err := s.plan(drawnBase, drawnNodes)
	if err != nil {
		return err
	}
	var points [][]float64
	for i := range plan.along {
		for _, row := range plan.along[i] {
			points = append(points, row...)
		}
	}
	if len(points) > drawnMost {
		return nil
	}
	for l, layer := range s.layers {
		model := s.modelOf(layer)
		if model == nil {
			continue
		}
		mean, drawn, err := draw(ctx, model, points, s.def.Seed)
		if err != nil || drawn == nil {
			return err
		}
		expected := plan.indices(mean)
		ratios := make([][]float64, len(s.def.Parameters))
		for _, values := range drawn {
			for i, index := range plan.indices(values) {
				if expected[i] > 0 {
					ratios[i] = append(ratios[i], index/expected[i])
				}
			}
		}
		for i, of := range ratios {
			if share := &out.Shares[l][i]; of != nil && share.Total != nil {
				low, middle, high := central(of)
				mean := *share.Total
				share.Total = finite(min(mean*middle, 1))
				share.Low = finite(min(mean*low, 1))
				share.High = finite(min(mean*high, 1))
			}
		}
	}
	return nil
}

// indices are those of all parameters, by the values at the plan's points: each
// parameter's line through each base point.
func (p *plan) indices(values []float64) (indices []float64) {
	at := 0
	for i := range p.along {
		var along [][]float64
		for _, row := range p.along[i] {
			along = append(along, values[at:at+len(row)])
			at += len(row)
		}
		index := 0.0
		if p.lines[i].Weights != nil {
			index = sensitivity.Total(along, p.lines[i])
		}
		indices = append(indices, index)
	}
	return indices
}

// modelOf is the model of a layer of one quantity; nil for all others.
func (s *Survey) modelOf(l Layer) *quantity.Model {
	if l.Kind != LayerQuantity || l.Certain {
		return nil
	}
	return s.predictor.view.Models.Measured().Of(l.Name)
}

// draw draws functions from the posterior at points together, and returns its mean too, in the
// user's unit; nil where rounding leaves no covariance to draw by.
func draw(
	ctx context.Context, model *quantity.Model, points [][]float64, seed uint64,
) (mean []float64, drawn [][]float64, err error) {
	n := len(points)
	joint := model.GP().Joint(points)
	cov := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			v := joint.Cov[i*n+j]
			if i == j {
				v += 1e-8 * model.Kernel().OutputScale() // points that are nearly the same
			}
			cov.SetSym(i, j, v)
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(cov) {
		return nil, nil, nil
	}
	var lower mat.TriDense
	chol.LTo(&lower)
	rng := rand.New(rand.NewPCG(seed, streamDrawn))
	for range drawnFunctions {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		normals := mat.NewVecDense(n, nil)
		for k := range n {
			normals.SetVec(k, rng.NormFloat64())
		}
		var z mat.VecDense
		z.MulVec(&lower, normals)
		values := make([]float64, n)
		for k := range n {
			values[k] = model.Untransform(joint.Mean[k] + z.AtVec(k))
		}
		drawn = append(drawn, values)
	}
	for _, z := range joint.Mean {
		mean = append(mean, model.Untransform(z))
	}
	return mean, drawn, nil
}

// central are the bounds of the central 68 % of values, and their median.
func central(values []float64) (low, middle, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	at := func(share float64) float64 { return sorted[int(math.Round(share*float64(len(sorted)-1)))] }
	return at(0.16), at(0.5), at(0.84)
}
