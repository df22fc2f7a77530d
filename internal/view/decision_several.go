package view

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/policies/seek"
)

// severalQuantities are the rows of a decision's candidates where several quantities are sought or
// constrained: the prediction of each besides the objective, of the objective that is computed from
// them, and how probably each constraint is kept.
func severalQuantities(def *definition.Campaign, d *events.DecisionMade) (rows []candidateQuantity) {
	if len(d.Candidates) == 0 {
		return nil
	}
	sought, first := def.Sought(), &d.Candidates[0]
	for i, q := range first.Outcomes {
		if q.Quantity == sought.Name {
			continue // the row of the objective says it
		}
		rows = append(rows, candidateQuantity{
			"predicted " + format.Heading(q.Quantity, q.Unit), func(c *events.Candidate) string {
				if i >= len(c.Outcomes) {
					return ""
				}
				return expected(&c.Outcomes[i].Prediction)
			},
		})
	}
	rows = append(rows, candidateQuantity{
		"by these, " + format.HeadingOf(sought), func(c *events.Candidate) string { return expected(c.Value) },
	})
	if c := first.Cost; c != nil {
		rows = append(rows, candidateQuantity{format.Heading("cost", c.Unit), func(c *events.Candidate) string { return expected(c.Cost) }})
	}
	rows = append(rows, informedQuantities(d)...)
	if first.Feasible == nil {
		return rows
	}
	rows = append(rows, candidateQuantity{"probability to be feasible", func(c *events.Candidate) string {
		if c.Feasible == nil {
			return ""
		}
		return fmt.Sprintf("%.2f", c.Feasible.Probability)
	}})
	for i, kept := range first.Feasible.Constraints {
		if len(first.Feasible.Constraints) == 1 {
			break // it is that of all
		}
		rows = append(rows, candidateQuantity{"  " + kept.Require, func(c *events.Candidate) string {
			if c.Feasible == nil || i >= len(c.Feasible.Constraints) {
				return ""
			}
			return fmt.Sprintf("%.2f", c.Feasible.Constraints[i].Probability)
		}})
	}
	return rows
}

// informedQuantities are the rows of the predictions that include experts' numbers of single
// quantities.
func informedQuantities(d *events.DecisionMade) (rows []candidateQuantity) {
	first := &d.Candidates[0]
	for i, q := range first.InformedOutcomes {
		rows = append(rows, candidateQuantity{
			"with their answers, " + format.Heading(q.Quantity, q.Unit), func(c *events.Candidate) string {
				if i >= len(c.InformedOutcomes) {
					return ""
				}
				return expected(&c.InformedOutcomes[i].Prediction)
			},
		})
	}
	if first.InformedFeasible != nil {
		rows = append(rows, candidateQuantity{"with their answers, probability to be feasible", func(c *events.Candidate) string {
			if c.InformedFeasible == nil {
				return ""
			}
			return fmt.Sprintf("%.2f", c.InformedFeasible.Probability)
		}})
	}
	return rows
}

// several are the facts of a decision about several quantities: the front that it knew, what the
// chosen candidate is expected to add to it, and the quantity for whose sake.
func (d *Decision) several() (rows []Row) {
	if t := d.Decision.Tradeoff; t != nil {
		front := "no composition was on it"
		if len(t.Front) > 0 {
			front = fmt.Sprintf("%s by then: %s", format.Count(len(t.Front), "composition"), strings.Join(t.Front, ", "))
		}
		rows = append(rows, Row{"front", front}, Row{"interest", interestOf(d.Definition, t)})
		if t.Gain != nil {
			text := fmt.Sprintf("this experiment is expected to add %s of the hypervolume that the front covers",
				percentOf(*t.Gain))
			if t.Members > 1 {
				text += fmt.Sprintf(", as the mean over %d fronts that are possible", t.Members)
			}
			rows = append(rows, Row{"gain", text})
		}
	}
	if text := WorthText(d.Worth, d.chosen()); text != "" {
		rows = append(rows, Row{"worth", text})
	}
	if c := d.chosen(); c != nil && c.Fidelity != nil {
		rows = append(rows, waysWeighed(d.Definition, c)...)
	}
	return rows
}

// waysWeighed are the ways to measure a composition that a decision weighed, of many the chosen one
// and the target, and the prediction for it at the target.
func waysWeighed(def *definition.Campaign, c *events.Candidate) []Row {
	f := c.Fidelity
	rows := []Row{{"fidelity", fmt.Sprintf("%s is expected at the target; %s weighed by information for the cost",
		format.WithUnit(expected(&f.Target), f.Target.Unit), format.Count(len(f.Ways), "way"))}}
	for i, w := range f.Ways {
		few := len(f.Ways) <= definition.MaxSources
		if !few && i < len(f.Ways)-1 && w.Value != c.Parameters[def.Fidelity.Parameter] {
			continue
		}
		rows = append(rows, Row{"", fmt.Sprintf("%s %s tells %s nats of that for %s", def.Fidelity.Parameter, w.Value,
			format.Short(w.Information), format.Quantity(w.Cost, def.Cost.Unit))})
	}
	return rows
}

// chosen is the candidate that a decision chose; nil for none.
func (d *Decision) chosen() *events.Candidate {
	all := d.Decision.Candidates
	at := slices.IndexFunc(all, func(c events.Candidate) bool { return c.Name == d.Decision.Chosen })
	if at < 0 {
		return nil
	}
	return &all[at]
}

// WorthText says in a line why a candidate is worth an experiment: "worth it for its
// viscosity (71 %); probably feasible (0.88)". Where one quantity is sought under
// constraints it is their probability alone. It is empty where nothing is to say.
func WorthText(w *seek.Worth, c *events.Candidate) string {
	var parts []string
	if w != nil && shareText(w.Gain) != "" {
		parts = append(parts, "worth it for its "+shareText(w.Gain))
	}
	if w != nil && shareText(w.Uncertainty) != "" {
		parts = append(parts, "what is uncertain of it is its "+shareText(w.Uncertainty))
	}
	if c != nil && c.Feasible != nil {
		parts = append(parts, fmt.Sprintf("%s (%.2f)", feasibly(c.Feasible.Probability), c.Feasible.Probability))
	}
	return strings.Join(parts, "; ")
}

// smallShare is the share below which a quantity is not named.
const smallShare = 0.1

// shareText names the quantities with their shares, the greatest first.
func shareText(shares []seek.Share) string {
	ordered := slices.Clone(shares)
	slices.SortStableFunc(ordered, func(a, b seek.Share) int {
		return map[bool]int{true: -1, false: 1}[a.Share > b.Share]
	})
	var parts []string
	for i, s := range ordered {
		if i == 0 || s.Share >= smallShare {
			parts = append(parts, s.Quantity+" ("+format.Percent(s.Share)+")")
		}
	}
	return format.List(parts...)
}

// feasibly says in words how probably something is feasible.
func feasibly(probability float64) string {
	switch {
	case probability >= 0.95:
		return "feasible almost certainly"
	case probability >= 0.6:
		return "probably feasible"
	case probability >= 0.4:
		return "as probably feasible as not"
	case probability >= 0.05:
		return "probably not feasible"
	}
	return "hardly feasible"
}

// interestOf says from where on values were of interest to a decision.
func interestOf(def *definition.Campaign, t *events.Tradeoff) string {
	parts := make([]string, 0, len(t.Reference))
	for k, a := range def.Tradeoff() {
		if k >= len(t.Reference) {
			break
		}
		o := def.ObjectiveOf(a)
		parts = append(parts, o.Name+" "+o.Pick("over", "below")+" "+format.Quantity(t.Reference[k], o.Unit))
	}
	return strings.Join(parts, ", ")
}

// percentOf writes a small share: with decimals where it has no whole per cent.
func percentOf(share float64) string {
	if share < 0.1 {
		return format.Setting(math.Round(1e4*share)/100) + " %"
	}
	return format.Percent(share)
}
