package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// several judges the checks of several quantities. With few compositions it finds nothing.
func (r *reader) several() {
	d := r.d
	for _, q := range d.Quantities {
		check := q.LeaveOneOut
		if check != nil && check.R2 != nil && len(check.Rows) >= r.needed && *check.R2 < lowR2 {
			r.predicted(q.Quantity, *check.R2, len(check.Rows))
		}
	}
	if c := d.Feasibility; c != nil && c.Rows >= leastCalibrated && c.Kept >= leastOfEach &&
		c.Rows-c.Kept >= leastOfEach && c.Brier >= c.BaseRate {
		r.find(Doubtful, sayUncalibrated, c.Rows, c.Kept, c.Brier, c.BaseRate)
	}
	for _, c := range d.Correlations {
		r.goesTogether(c)
	}
	if ref := d.Reference; ref != nil && ref.Farther != ref.Compromise {
		r.find(Note, sayReference, ref.Compromise, ref.Farther, strings.Join(ref.Inferred, " and "))
	}
}

// predicted reports a badly predicted quantity. The consequences depend on whether decisions rest
// on it.
func (r *reader) predicted(name string, r2 float64, compositions int) {
	def := r.v.Campaign.Definition
	var on []string
	if slices.Contains(computed.Sought(def), name) {
		on = append(on, map[bool]string{true: "the front", false: "the objective"}[def.Tradeoff() != nil])
	}
	for _, c := range def.ConstraintsOnOutcomes {
		if slices.Contains(computed.Required(def, c), name) {
			on = append(on, "whether "+c.Require+" is kept")
		}
	}
	if on == nil {
		r.find(Note, sayUnneeded, name, r2, compositions).titled(name)
		return
	}
	f := r.find(Doubtful, sayQuantity, name, r2, compositions, strings.Join(on, " and ")).titled(name)
	f.offer(look, correct)
}

// valueless names quantities that experiments lack, and experiments without a finite value of a
// formula. If no experiment at all has some quantity of the objective, the objective is unknown,
// whatever is known of the other quantities.
func (r *reader) valueless() {
	v := r.d.Valueless
	if v == nil {
		return
	}
	for _, m := range v.Missing {
		n := len(m.Experiments)
		level, w := Note, sayMissingInSome
		switch {
		case n < v.Measured:
		case m.Sought:
			level, w = Unusable, sayMissing
		default:
			level, w = Doubtful, sayMissingBound
		}
		f := r.find(level, w, m.Quantity, inAll(n, v.Measured), because(m))
		f.Experiments = m.Experiments
		f.titled(m.Quantity, inAll(n, v.Measured))
		f.offer(
			problem.Remedy{Text: "give the values that are known", Action: problem.Correct},
			problem.Remedy{Text: "or take " + m.Quantity + " out of the objective and the constraints", Action: problem.Amend},
		)
	}
	if n := len(v.NotFinite); n > 0 {
		level := Note
		if 2*n > v.Measured {
			level = Doubtful
		}
		f := r.find(level, sayNotFinite, n, plural(v.Measured, "measured experiment"), r.d.Objective, notFinite(v.NotFinite))
		f.titled(n, plural(v.Measured, "experiment"))
		for _, x := range v.NotFinite {
			f.Experiments = append(f.Experiments, x.Experiment)
		}
		f.offer(problem.Remedy{Text: "if it should have a value there, change the formula", Action: problem.Amend})
	}
}

// lacksSought reports whether not one experiment has some quantity of the objective.
func (r *reader) lacksSought() bool {
	v := r.d.Valueless
	return v != nil && slices.ContainsFunc(v.Nowhere(), func(m campaign.Missing) bool { return m.Sought })
}

// inAll counts the experiments for which something is true: "all 6 measured experiments".
func inAll(n, of int) string {
	switch {
	case n < of:
		return fmt.Sprintf("%d of %s", n, plural(of, "measured experiment"))
	case n == 1:
		return "the only measured experiment"
	}
	return fmt.Sprintf("all %d measured experiments", n)
}

// because gives the reason why a quantity is missing, if known.
func because(m campaign.Missing) string {
	if m.Reason == "" {
		return ""
	}
	return " (" + m.Reason + ")"
}

// fewNamed is the number of experiments that a finding names.
const fewNamed = 5

// notFinite names experiments with the reasons.
func notFinite(all []campaign.NotFinite) string {
	var parts []string
	for _, x := range all[:min(len(all), fewNamed)] {
		parts = append(parts, x.Experiment+": "+x.Why)
	}
	if more := len(all) - fewNamed; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}

// goesTogether reports that the surprises of two quantities are correlated, and the effect on joint
// probabilities.
func (r *reader) goesTogether(c Correlation) {
	way := "too"
	if c.R < 0 {
		way = "smaller"
	}
	f := r.find(Note, sayTogether, c.First, c.Second, way, c.R, c.Rows, c.meaning()).titled(c.First, c.Second)
	if !c.Best.falls() && !c.Most.falls() {
		return
	}
	var sure []string
	for _, on := range r.v.Campaign.Definition.ConstraintsOnOutcomes {
		sure = append(sure, fmt.Sprintf("{require: %q, confidence: %v}", on.Require, surer))
	}
	f.offer(amend("where it matters that nothing infeasible is taken for the best, ask for more confidence",
		problem.Setting{Key: "constraints_on_outcomes", Value: "[" + strings.Join(sure, ", ") + "]"}))
}

// falls reports whether the correlation lowers a probability by a share worth mentioning.
func (c *Changed) falls() bool { return c != nil && c.Correlated-c.Independent <= -changes }

// surer is the advised confidence if probabilities of feasibility are overstated.
const surer = 0.9

// meaning describes the consequences of treating two quantities as independent: the probability
// concerned and its change.
func (c Correlation) meaning() string {
	var parts []string
	if b := c.Both; b != nil {
		parts = append(parts, fmt.Sprintf("that both come out better than expected at once has a probability of %.2f, and not of %.2f",
			b.Correlated, b.Independent))
	}
	if v := c.Value; v != nil {
		parts = append(parts, fmt.Sprintf("the objective is uncertain at %s by ± %s, and not ± %s", v.Experiment,
			number(v.Correlated), number(v.Independent)))
	}
	if p := c.Best; p != nil && p.size() < changes {
		parts = append(parts, fmt.Sprintf("the probability that %s is feasible changes by less than %v", p.Experiment, changes))
	}
	for _, p := range []*Changed{c.Best, c.Most} {
		if p != nil && p.size() >= changes {
			parts = append(parts, fmt.Sprintf("%s is feasible with a probability of %.2f, and not of %.2f", p.Experiment,
				p.Correlated, p.Independent))
		}
	}
	if parts == nil {
		return "nothing that is decided depends on the probability of both at once."
	}
	return "where they go together like this, " + strings.Join(parts, "; ") + "."
}
