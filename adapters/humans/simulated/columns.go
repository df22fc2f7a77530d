package simulated

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/study/tasks"
)

// quantitiesOf are the noiseless values of all quantities that a test problem gives.
func quantitiesOf(task tasks.Task) map[string]func(definition.Point) (float64, error) {
	sought := task.Objective
	of := map[string]func(definition.Point) (float64, error){sought.Name: task.Value}
	tradeoff, ok := tasks.LookupTradeoff(task.Name)
	if !ok {
		return of
	}
	for i, o := range tradeoff.Objectives {
		of[o.Name] = func(p definition.Point) (float64, error) {
			values, err := tradeoff.Values(p)
			if err != nil {
				return math.NaN(), err
			}
			return values[i], nil
		}
	}
	return of
}

// table estimates each quantity that a column asks for, at each option that the expert can judge.
// Their knowledge of one quantity is independent of that of another.
func (r *Reviewer) table(
	id string, options []definition.Point, scale events.Scale,
) (list []events.Estimate, err error) {
	subjects := make([]*subject, len(scale.Columns))
	for k, c := range scale.Columns {
		if subjects[k], err = r.subject(c); err != nil {
			return nil, err
		}
	}
	for i, p := range options {
		for _, s := range subjects {
			if r.draw(fmt.Sprintf("unsure of %s of %d", s.Quantity, i), id, p) < r.cfg.UnsureRate {
				continue
			}
			purpose, question := r.occasion("estimate "+s.Quantity, i, id)
			x, err := r.expectedOf(s, purpose, question, answered(id)+i, p)
			if err != nil {
				return nil, err
			}
			list = append(list, events.Estimate{Option: i, Value: x, Quantity: s.Quantity})
		}
	}
	return list, nil
}

// subject is a quantity that an expert says numbers of, by its logarithm where it is
// positive.
type subject struct {
	events.Column
	value func(definition.Point) (float64, error)
	truth truth
}

// subject finds out how a quantity is distributed over the space, once.
func (r *Reviewer) subject(c events.Column) (*subject, error) {
	knows, ok := r.knows.Quantities[c.Quantity]
	if !ok {
		return nil, fmt.Errorf("%w: %s knows nothing of %s", ErrConfig, r.name, c.Quantity)
	}
	s := &subject{Column: c, value: knows}
	if c.Positive {
		s.value = func(p definition.Point) (float64, error) {
			v, err := knows(p)
			return math.Log(v), err
		}
	}
	found, _ := r.subjects.LoadOrStore(c, sync.OnceValues(func() (truth, error) {
		return r.distribution(s.value, "prejudice "+c.Quantity)
	}))
	var err error
	s.truth, err = found.(func() (truth, error))()
	return s, err
}

// expectedOf is the expert's estimate of a quantity at p: by Correlations, by Correlation, or by
// the rank among compositions of the space, 3 for the greatest, with the accuracy.
func (r *Reviewer) expectedOf(s *subject, purpose, id string, n int, p definition.Point) (float64, error) {
	value, err := s.value(p)
	if err != nil {
		return math.NaN(), err
	}
	t := s.truth
	c, given := r.cfg.Correlations[s.Quantity]
	if !given && r.cfg.Correlation != nil {
		c, given = *r.cfg.Correlation, true
	}
	u := r.open(purpose, id, p)
	var x float64
	if given {
		c *= r.fresh(n)
		noise := math.Sqrt2 * math.Erfinv(2*u-1)
		if r.cfg.Prejudice > 0 {
			noise = t.prejudice(r.coordinates(p))
		}
		x = t.mean + float64(t.sd*(float64(c*t.score(value))+float64(math.Sqrt(1-c*c)*noise)))
	} else {
		least, greatest := t.sorted[0], t.sorted[len(t.sorted)-1]
		rank := 0.0
		if greatest > least {
			rank = min(max(-3+6*(value-least)/(greatest-least), -3), 3)
		}
		a := deref(r.cfg.Accuracy) // completed: there is one
		rank = (a*r.fresh(n)*rank + math.Log(u/(1-u))) / math.Max(1, math.Abs(a))
		x = (least+greatest)/2 + (greatest-least)/6*rank
	}
	if s.Positive {
		x = math.Exp(x)
	}
	return x, nil
}

// checkColumns says which quantities the expert is asked for and knows nothing of.
func (s *Settings) checkColumns(
	def *definition.Campaign, here definition.Path,
) (faults []definition.Fault) {
	e := expertAt(def, here)
	for _, name := range slices.Sorted(maps.Keys(s.Correlations)) {
		if !slices.Contains(e.Quantities, name) {
			faults = append(faults, definition.Fault{At: here.To("correlations", name),
				Problem: e.Name + " is not asked for " + name, Remedy: "add it to the quantities of " + e.Name})
		}
	}
	task, ok := tasks.Lookup(s.Task)
	if !ok {
		return faults
	}
	knows := quantitiesOf(task)
	for _, name := range e.Quantities {
		if knows[name] == nil {
			faults = append(faults, definition.Fault{At: here.To("task"),
				Problem: fmt.Sprintf("the task %s has no %s, which %s is asked for", s.Task, name, e.Name),
				Remedy:  "leave it out of the quantities of " + e.Name + ", or name a task that has it"})
		}
	}
	return faults
}
