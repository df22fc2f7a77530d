package confset

import "fmt"

// Labels are an expert's answers: Reject[i] is true where the expert rejects
// the point X[i].
type Labels struct {
	X      [][]float64 // n points of d coordinates
	Reject []bool      // n answers
}

// Answers returns the number of labels.
func (l Labels) Answers() int { return len(l.X) }

// Points returns X.
func (l Labels) Points() [][]float64 { return l.X }

func (l Labels) likelihood(dim int) (*likelihood, error) {
	c := collection{dim: dim}
	if err := c.label(l); err != nil {
		return nil, err
	}
	return c.likelihood(), nil
}

// label collects labels.
func (c *collection) label(l Labels) error {
	if len(l.X) != len(l.Reject) {
		return fmt.Errorf("%w: %d points but %d answers", ErrFeedback, len(l.X), len(l.Reject))
	}
	for i, x := range l.X {
		at, err := c.point(x)
		if err != nil {
			return fmt.Errorf("label %d: %w", i, err)
		}
		if l.Reject[i] {
			c.rejects[at]++
		} else {
			c.accepts[at]++
		}
	}
	return nil
}
