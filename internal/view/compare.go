package view

import (
	"maps"
	"math"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Progress is how far a course had come after each experiment.
type Progress struct {
	// Best is the best measured value so far, of those that keep the constraints on outcomes
	// as far as is known (see [campaign.BestSoFar]); NaN for none.
	Best []float64
	// Values are the measured values, as the best so far takes them. Breaking counts those that
	// count and break a constraint.
	Values   []campaign.Judged
	Breaking int
	// From is the place of the best one up to each experiment, −1 for none.
	From []int
	// Cost is the cost spent by then, nil where courses have no cost; an unknown cost counts as
	// zero.
	Cost []float64
	// Hours is the time since the first outcome at which an outcome was recorded, nil where
	// none has a time.
	Hours []float64
}

// ProgressOf follows a course in its first quantity, the objective.
func ProgressOf(c *Course, sought definition.Objective) (p Progress) {
	p.Values = c.judged(0)
	p.From = campaign.BestSoFar(p.Values, sought)
	p.Best = campaign.ValuesAt(p.From, p.Values)
	spent := 0.0
	var begun *CourseExperiment
	last := 0.0
	for i := range c.Experiments {
		x := &c.Experiments[i]
		if v := p.Values[i]; !math.IsNaN(v.Value) && v.Keeps == campaign.KeepsNot {
			p.Breaking++
		}
		if x.Cost != nil {
			spent += *x.Cost
		}
		if c.CostUnit != "" {
			p.Cost = append(p.Cost, spent)
		}
		if x.Ended != nil {
			if begun == nil {
				begun = x
			}
			last = max(last, x.Ended.Sub(*begun.Ended).Hours())
		}
		p.Hours = append(p.Hours, last)
	}
	if begun == nil {
		p.Hours = nil
	}
	return p
}

// SharedStart counts the experiments at the beginning in which two courses measured the same
// compositions, in the same order.
func SharedStart(a, b *Course) (n int) {
	for n < len(a.Experiments) && n < len(b.Experiments) {
		x, y := &a.Experiments[n], &b.Experiments[n]
		if x.Status != campaign.Measured || y.Status != campaign.Measured || !maps.Equal(x.Parameters, y.Parameters) {
			break
		}
		n++
	}
	return n
}

// Reaches returns after how many experiments the best so far was as good as a value; 0
// where it never was.
func (p Progress) Reaches(value float64, sought definition.Objective) int {
	for i, best := range p.Best {
		if !math.IsNaN(best) && !sought.Better(value, best) {
			return i + 1
		}
	}
	return 0
}
