package view

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/view/diagnose"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/space"
)

// Course is how a campaign went, experiment by experiment, as charts draw it.
type Course struct {
	Campaign   string            `json:"campaign"`
	Parameters []CourseParameter `json:"parameters"`
	// Quantities are those with values, the objective first.
	Quantities []CourseQuantity `json:"quantities"`
	// Mixtures are the components of each mixture, by name.
	Mixtures    [][]string         `json:"mixtures,omitempty"`
	Experiments []CourseExperiment `json:"experiments"`
	// CostUnit is that of their costs.
	CostUnit string `json:"cost_unit,omitempty"`
	// Asked counts the questions that were put to experts.
	Asked int `json:"asked"`
}

// CourseParameter is a parameter of a course: its range, or its categories.
type CourseParameter struct {
	Name       string    `json:"name"`
	Unit       string    `json:"unit,omitempty"`
	Low        *float64  `json:"low,omitempty"`
	High       *float64  `json:"high,omitempty"`
	Values     []float64 `json:"values,omitempty"`
	Categories []string  `json:"categories,omitempty"`
}

// CourseQuantity is a quantity of a course. Goal is empty where it is not sought.
type CourseQuantity struct {
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"`
	Goal string `json:"goal,omitempty"`
}

// CourseExperiment is an experiment of a course.
type CourseExperiment struct {
	ID     string                    `json:"id"`
	Status campaign.ExperimentStatus `json:"status"`
	Origin events.Origin             `json:"origin"`
	// Parameters are those made, or else those asked for.
	Parameters definition.Point `json:"parameters"`
	// Values are the measured ones of the course's quantities, and Predicted those that
	// were expected when it was chosen; null where there is none.
	Values    []*float64           `json:"values"`
	SDs       []*float64           `json:"sds,omitempty"`
	Predicted []*events.Prediction `json:"predicted,omitempty"`
	// Best are the best values so far of the quantities that are sought, once this one is
	// there: of those that keep the constraints on outcomes, as far as is known. Null where
	// there is none yet. Absent where nothing is sought.
	Best []*float64 `json:"best,omitempty"`
	// Keeps says whether what was measured keeps the constraints on outcomes; absent where
	// there are none, or nothing was measured.
	Keeps campaign.Keeps `json:"keeps_constraints,omitempty"`
	// Counts is false of what is left out of the models, or below the target of the
	// fidelity: it does not count for the best so far.
	Counts bool `json:"counts"`
	// Outside says why the campaign could not ask for it now: it is in the models, and
	// counts for the best so far no more than one that is left out. Absent where it
	// could.
	Outside string `json:"outside,omitempty"`
	// Why it was chosen, in a sentence.
	Why      string   `json:"why,omitempty"`
	Decision string   `json:"decision,omitempty"`
	Cost     *float64 `json:"cost,omitempty"`
	// Ended is when its outcome was recorded.
	Ended *time.Time `json:"ended,omitempty"`
}

// CourseOf returns the course of a campaign.
func CourseOf(s *campaign.State, sp *space.Space, log *Timeline) *Course {
	def := s.Definition
	c := &Course{
		Campaign: def.Name, Mixtures: mixturesOf(def, diagnose.NewFrame(def, sp)), Quantities: courseQuantities(def),
		Experiments: []CourseExperiment{}, CostUnit: def.Cost.Unit, Asked: s.AskedCount(),
	}
	for _, p := range def.Parameters {
		out := CourseParameter{Name: p.Name, Unit: p.Unit, Low: p.Min, High: p.Max, Values: p.Values}
		if len(p.Values) > 0 {
			out.Low, out.High = whole(slices.Min(p.Values)), whole(slices.Max(p.Values))
		}
		for _, category := range p.Categories {
			out.Categories = append(out.Categories, category.Name)
		}
		c.Parameters = append(c.Parameters, out)
	}
	for i := range s.Experiments {
		if x := &s.Experiments[i]; !x.Reference() {
			c.Experiments = append(c.Experiments, c.experiment(s, x, log))
		}
	}
	c.follow()
	return c
}

// follow sets the best values so far.
func (c *Course) follow() {
	for k, q := range c.Quantities {
		if q.Goal == "" {
			continue
		}
		values := c.judged(k)
		for i, v := range campaign.ValuesAt(campaign.BestSoFar(values, definition.Objective{Goal: q.Goal}), values) {
			x := &c.Experiments[i]
			if x.Best == nil {
				x.Best = make([]*float64, len(c.Quantities))
			}
			if !math.IsNaN(v) {
				x.Best[k] = &v
			}
		}
	}
}

// judged are the values of a quantity as the best so far takes them.
func (c *Course) judged(k int) []campaign.Judged {
	all := make([]campaign.Judged, len(c.Experiments))
	for i := range c.Experiments {
		x := &c.Experiments[i]
		all[i] = campaign.Judged{Value: math.NaN(), Keeps: x.Keeps}
		if x.Counts && x.Outside == "" && k < len(x.Values) && x.Values[k] != nil {
			all[i].Value = *x.Values[k]
		}
	}
	return all
}

// mixturesOf are the components of a campaign's mixtures, by their names.
func mixturesOf(def *definition.Campaign, f *diagnose.Frame) (all [][]string) {
	for _, components := range f.Mixtures() {
		var names []string
		for _, i := range components {
			names = append(names, def.Parameters[i].Name)
		}
		all = append(all, names)
	}
	return all
}

// courseQuantities are the objective, if it is one value, then all declared quantities.
func courseQuantities(def *definition.Campaign) (all []CourseQuantity) {
	sought := def.Sought()
	if def.Single() {
		all = append(all, CourseQuantity{sought.Name, sought.Unit, sought.Goal})
	}
	goals := make(map[string]string) // only looked up
	for _, a := range def.Tradeoff() {
		goals[a.Name] = def.ObjectiveOf(a).Goal
	}
	for _, q := range def.Quantities {
		if !def.Single() || q.Name != sought.Name {
			all = append(all, CourseQuantity{q.Name, q.Unit, goals[q.Name]})
		}
	}
	return all
}

func (c *Course) experiment(s *campaign.State, x *campaign.Experiment, log *Timeline) CourseExperiment {
	out := CourseExperiment{
		ID: x.ID, Status: x.Status, Origin: x.Origin, Parameters: madeIn(x), Decision: x.Decision, Outside: x.Outside,
		Counts: x.Status == campaign.Measured && s.Counts(x) && s.AtTarget(x),
	}
	if x.Status == campaign.Measured {
		out.Keeps = s.Keeps(x)
	}
	decided, _ := log.Decision(x.Decision)
	if out.Why = decided.Reason; x.Decision == "" {
		_, out.Why = DecisionBehind(s, x.ID)
	}
	if x.Cause != "" {
		out.Why = strings.TrimSpace(x.Cause + ". " + out.Why)
	}
	expected, anything := false, false
	for k, q := range c.Quantities {
		value, ok := s.Quantity(x, q.Name)
		if k == 0 && s.Definition.Single() {
			value, ok = s.Value(x)
		}
		v, sd := (*float64)(nil), (*float64)(nil)
		if ok && x.Status == campaign.Measured {
			v, sd = whole(value.Value), value.SD
		}
		predicted := expectedOf(decided, q.Name, k == 0 && s.Definition.Single())
		expected, anything = expected || predicted != nil, anything || sd != nil
		out.Values = append(out.Values, v)
		out.SDs = append(out.SDs, sd)
		out.Predicted = append(out.Predicted, predicted)
	}
	if !expected {
		out.Predicted = nil
	}
	if !anything {
		out.SDs = nil
	}
	if cost, ok := computed.Cost(s.Definition, x.Parameters, x.Measurement); ok && c.CostUnit != "" && !x.Status.CalledOff() {
		out.Cost = &cost
	}
	if !x.EndedAt.IsZero() {
		out.Ended = &x.EndedAt
	}
	return out
}

// expectedOf returns a decision's prediction of a quantity; nil where it had none.
func expectedOf(d Decided, quantity string, sought bool) *events.Prediction {
	for i := range d.Outcomes {
		if d.Outcomes[i].Quantity == quantity {
			return &d.Outcomes[i].Prediction
		}
	}
	if sought {
		return d.Prediction
	}
	return nil
}
