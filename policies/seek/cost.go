package seek

import (
	"fmt"
	"math"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/internal/num/composite"
	"github.com/campaignd/campaignd/internal/num/formula"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
	"github.com/campaignd/campaignd/projections/space"
)

// Cost predicts the cost of an experiment as a function of the composition. It is a workspace:
// one goroutine uses it at a time.
type Cost struct {
	unit   string
	median float64 // of the costs so far, 1 before the first

	// Of a cost that follows from the parameters.
	axes       axes
	follows    func(parameters, grad []float64) float64
	parameters []float64
	slopes     []float64

	// Of one that is that of a source: by its number.
	fidelity *space.Fidelity
	sources  []float64

	// Of one that is measured: its logarithm has a Gaussian process.
	model      *quantity.Model
	predictor  quantity.Predictor
	dMean, dSD []float64
}

// NewCost returns the cost of a campaign's experiments; nil if the definition gives none, and
// while it has no model.
func NewCost(s *campaign.State, sp *space.Space, models quantity.Models) (*Cost, error) {
	spent := s.Cost()
	if spent == nil {
		return nil, nil
	}
	def := s.Definition
	c := &Cost{unit: spent.Unit, median: spent.Median}
	if c.median == 0 {
		c.median = 1
	}
	if computed.CostOfSource(def) {
		f, err := space.NewFidelity(*def, sp)
		if err != nil {
			return nil, fmt.Errorf("the cost: %w", err)
		}
		c.fidelity, c.sources = f, make([]float64, len(def.Fidelity.Sources))
		for i, source := range def.Fidelity.Sources {
			c.sources[i] = source.Cost
		}
		return c, nil
	}
	if q := computed.CostFollows(def); q != nil {
		f, err := formula.Of(q.From)
		if err != nil {
			return nil, fmt.Errorf("the cost: %w", err)
		}
		c.axes = axesOf(def, sp)
		bound, err := f.Bind(c.axes.names())
		if err != nil {
			return nil, fmt.Errorf("the cost: %w", err)
		}
		c.follows = composite.Known(bound, 0, len(c.axes))
		c.parameters, c.slopes = make([]float64, len(c.axes)), make([]float64, len(c.axes))
		return c, nil
	}
	if c.model = models.Of(def.Cost.Of); c.model == nil {
		return nil, nil
	}
	c.predictor = c.model.NewPredictor()
	c.dMean, c.dSD = make([]float64, sp.Dim()), make([]float64, sp.Dim())
	return c, nil
}

// Log returns ln of the expected cost at a point of the unit cube; where grad is not
// nil it is filled. Costs below a thousandth of the median count as that.
func (c *Cost) Log(x, grad []float64) float64 {
	cost, logarithmic := c.expected(x, grad)
	if logarithmic {
		least, _ := acquisition.LogCost(0, c.median)
		if !(cost > least) {
			clear(grad)
		}
		return math.Max(cost, least)
	}
	log, slope := acquisition.LogCost(cost, c.median)
	for i := range grad {
		grad[i] *= slope
	}
	return log
}

// expected returns the expected cost, or the logarithm of it, with its gradient: 0 for a
// formula that is not finite, as if the experiment cost nothing.
func (c *Cost) expected(x, grad []float64) (cost float64, logarithmic bool) {
	if c.model != nil {
		scale := c.model.Scale()
		if grad == nil {
			mean, sd := c.predictor.Posterior(x)
			return acquisition.ExpectedLogCost(nil, scale.Center+scale.Spread*mean, math.Abs(scale.Spread)*sd, nil, nil), true
		}
		mean, sd := c.predictor.PosteriorGrad(x, c.dMean, c.dSD)
		for i := range c.dMean {
			c.dMean[i] *= scale.Spread
			c.dSD[i] *= math.Abs(scale.Spread)
		}
		return acquisition.ExpectedLogCost(grad, scale.Center+scale.Spread*mean, math.Abs(scale.Spread)*sd, c.dMean, c.dSD), true
	}
	clear(grad)
	if c.sources != nil {
		return c.sources[int(c.fidelity.Source(x))], false
	}
	c.axes.at(c.parameters, x)
	if grad == nil {
		cost = c.follows(c.parameters, nil)
	} else {
		cost = c.follows(c.parameters, c.slopes)
	}
	if !finite(cost) {
		return 0, false
	}
	if grad != nil {
		c.axes.addGrad(grad, c.slopes, 1)
	}
	return cost, false
}

// At returns the predicted cost of an experiment at a point of the unit cube.
func (c *Cost) At(x []float64) events.Prediction {
	cost, logarithmic := c.expected(x, nil)
	if !logarithmic {
		return events.Prediction{Mean: math.Max(0, cost), Unit: c.unit}
	}
	p := c.model.PredictAt(x)
	p.Mean = math.Exp(cost)
	return p
}

// Measured reports whether the cost is measured; otherwise it follows from the
// composition.
func (c *Cost) Measured() bool { return c.model != nil }
