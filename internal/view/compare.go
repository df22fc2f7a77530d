package view

import (
	"maps"
	"math"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Progress is how far a course had come after each experiment.
type Progress struct {
	// Value is what counts of each experiment, Best the best so far; NaN for none.
	Value, Best []float64
	// Cost is what was spent by then, nil where courses have no cost; one that is not
	// known counts as none.
	Cost []float64
	// Hours is the time since the first outcome at which an outcome was recorded, nil where
	// none has a time.
	Hours []float64
}

// ProgressOf follows a course in its first quantity, which is what is sought.
func ProgressOf(c *Course, sought definition.Objective) (p Progress) {
	best, spent := math.NaN(), 0.0
	var begun *CourseExperiment
	last := 0.0
	for i := range c.Experiments {
		x := &c.Experiments[i]
		value := math.NaN()
		if x.Counts && len(x.Values) > 0 && x.Values[0] != nil {
			value = *x.Values[0]
			if math.IsNaN(best) || sought.Better(value, best) {
				best = value
			}
		}
		p.Value, p.Best = append(p.Value, value), append(p.Best, best)
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

// SharedStart counts the first experiments of which two courses measured the same
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
