package campaign

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/shewhart"
)

// Reference reports whether the experiment is a reference experiment. Its outcome is left out of
// the models from the beginning.
func (x *Experiment) Reference() bool { return x.Origin == events.OriginReference }

// Counted reports whether the experiment counts against the budget.
func (x *Experiment) Counted() bool {
	return x.Origin != events.OriginImport && !x.Reference() && !x.Status.CalledOff()
}

// measuring yields the reference experiments of a composition, in order of request.
func (s *State) measuring(composition definition.Point) iter.Seq[*Experiment] {
	return func(yield func(*Experiment) bool) {
		for i := range s.Experiments {
			x := &s.Experiments[i]
			if x.Reference() && maps.Equal(x.Parameters, composition) && !yield(x) {
				return
			}
		}
	}
}

// ReferencesOf counts the reference experiments of a composition, and returns the last; nil before it.
func (s *State) ReferencesOf(composition definition.Point) (n int, last *Experiment) {
	for x := range s.measuring(composition) {
		n++
		last = x
	}
	return n, last
}

// CountedSince counts the experiments against the budget that were requested after another one.
func (s *State) CountedSince(x *Experiment) (n int) {
	for i := events.ExperimentNumber(x.ID); i < len(s.Experiments); i++ {
		if s.Experiments[i].Counted() {
			n++
		}
	}
	return n
}

// Searched is the state that decisions are made from: reference experiments are as if they had been
// called off.
func (s *State) Searched() *State {
	if !slices.ContainsFunc(s.Experiments, func(x Experiment) bool { return x.Reference() }) {
		return s
	}
	own := *s
	own.Experiments = slices.Clone(s.Experiments)
	for i := range own.Experiments {
		if x := &own.Experiments[i]; x.Reference() {
			x.Status, x.Measurement, x.Outside, x.Astray = Cancelled, nil, "", false
		}
	}
	return &own
}

// Control is the control chart of a quantity of a reference experiment.
type Control struct {
	Reference string
	Quantity  string
	Unit      string
	// Given is set where the definition has the limits; else they follow from the values.
	Given  bool
	Points []ControlPoint
}

// ControlPoint is a value on a control chart, in order of request.
type ControlPoint struct {
	Experiment string
	At         time.Time
	Value      float64
	// Limits are those that it is judged by; nil of the first ones, from which they follow.
	Limits *ControlLimits
}

// ControlLimits are the limits of a value, in its unit, with the center in their middle.
type ControlLimits struct {
	Lower  float64
	Center float64
	Upper  float64
}

// Sigma is the standard deviation: three of it lie on each side of the center.
func (l *ControlLimits) Sigma() float64 { return (l.Upper - l.Lower) / 6 }

// Out reports whether the value is outside its limits.
func (p *ControlPoint) Out() bool {
	return p.Limits != nil && (p.Value < p.Limits.Lower || p.Value > p.Limits.Upper)
}

// Controls are the control charts of the reference experiments as they are defined now: in the order
// of their names, and for each in that of the quantities. What was made elsewhere than asked for, or left
// out, is on none. A chart is empty before its first value.
func (s *State) Controls() (all []Control) {
	for name, r := range s.Definition.References() {
		for _, quantity := range s.Definition.DeclaredNames() {
			c := Control{Reference: name, Quantity: quantity, Unit: s.Definition.Quantity(quantity).Unit}
			var values []float64
			for x := range s.measuring(r.Composition) {
				value, ok := s.Quantity(x, quantity)
				if ok && x.Status == Measured && !x.Elsewhere && !slices.Contains(x.Without, quantity) {
					c.Points = append(c.Points, ControlPoint{Experiment: x.ID, At: x.EndedAt, Value: value.Value})
					values = append(values, value.Value)
				}
			}
			var given definition.ControlLimits
			given, c.Given = r.Limits[quantity]
			limits := shewhart.Individuals(values)
			for i := range c.Points {
				if l := limits[i]; c.Given {
					c.Points[i].Limits = &ControlLimits{given.Target - given.Tolerance, given.Target, given.Target + given.Tolerance}
				} else if l != nil {
					c.Points[i].Limits = &ControlLimits{l.Lower, l.Center, l.Upper}
				}
			}
			all = append(all, c)
		}
	}
	return all
}

// Drift is a reference experiment whose last value is outside its limits.
type Drift struct {
	Control
	ControlPoint
	// Known is set once a person knows of it: a note on the experiment was written, or the campaign
	// resumed, since it ended.
	Known bool
}

// Drifts are the charts whose last value is outside its limits.
func (s *State) Drifts() (all []Drift) {
	for _, c := range s.Controls() {
		if len(c.Points) == 0 || !c.Points[len(c.Points)-1].Out() {
			continue
		}
		d := Drift{Control: c, ControlPoint: c.Points[len(c.Points)-1]}
		seen := func(n Note) bool { return n.About == d.Experiment && !n.Time.Before(d.At) }
		d.Known = s.ResumedOn.After(d.At) || slices.ContainsFunc(s.Notes, seen)
		all = append(all, d)
	}
	return all
}

// Name of what has drifted: "standard", and its quantity where there are several.
func (d *Drift) Name(def *definition.Campaign) string {
	if len(def.DeclaredNames()) == 1 {
		return d.Reference
	}
	return d.Quantity + " of " + d.Reference
}
