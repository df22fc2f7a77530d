package diagnose

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Quantity is a declared quantity besides the objective, and the quality of its model.
type Quantity struct {
	Quantity string `json:"quantity"`
	Unit     string `json:"unit,omitempty"`
	// LeaveOneOut is at the campaign's own hyperparameters; nil for fewer than three
	// compositions.
	LeaveOneOut *LeaveOneOut `json:"leave_one_out"`
}

// Calibration compares probabilities of keeping the constraints on outcomes with the results. Each
// composition is predicted from all others, including its noise.
type Calibration struct {
	// Rows are experiments for which it is known whether they kept the constraints; Kept did.
	Rows int `json:"rows"`
	Kept int `json:"kept"`
	// Brier is the mean of (probability − result)², and BaseRate the same for a constant
	// probability: the share that kept them.
	Brier    float64 `json:"brier"`
	BaseRate float64 `json:"base_rate"`
}

// Correlation is the correlation of two models' surprises: of their left-out errors, in standard
// deviations, in the direction of the quantities.
type Correlation struct {
	First  string  `json:"first"`
	Second string  `json:"second"`
	R      float64 `json:"r"`
	Rows   int     `json:"rows"`
	// Together relates an increase of both to the objectives: 1 if errors in the same direction are
	// good or bad for both, −1 if they are good for one and bad for the other, 0 if they are not
	// both objectives.
	Together int `json:"together"`
	// Both is the probability that both objectives of a trade-off are better than expected at once:
	// for independent models, and with this correlation of errors. Nil if they are not both
	// objectives.
	Both *Changed `json:"both,omitempty"`
	// Value is the standard deviation of the objective's formula, at the best composition; nil if
	// it is not computed from both.
	Value *Changed `json:"value_sd,omitempty"`
	// Best is the probability to keep the constraints at the best composition, the suggestion of a
	// trade-off; Most is that of the measured one whose probability changes most, nil if that is
	// little. Both are nil if the judged constraints do not depend on both.
	Best *Changed `json:"feasible_best,omitempty"`
	Most *Changed `json:"feasible_most,omitempty"`
}

// Changed is a number for independent models, and with a correlation.
type Changed struct {
	// Experiment measured the composition; "" for a number that does not depend on one.
	Experiment  string  `json:"experiment,omitempty"`
	Independent float64 `json:"independent"`
	Correlated  float64 `json:"correlated"`
}

// Reference shows how far a front depends on inferred worst values of interest: the suggestion with
// these moved a range of the front farther away.
type Reference struct {
	// Inferred are the objectives without a given worst value.
	Inferred []string `json:"inferred"`
	// Compromise and Farther are the present suggestion, and that with the farther reference.
	Compromise string `json:"compromise"`
	Farther    string `json:"farther"`
}

// Thresholds.
const (
	leastCorrelated = 15   // minimum number of rows for a correlation
	correlated      = 0.5  // minimum |r| of a named correlation
	leastCalibrated = 15   // rows, and
	leastOfEach     = 3    // of either kind, for a verdict on probabilities
	open            = 0.01 // minimum distance from 0 and 1 at which a correlation matters to a probability
	changes         = 0.02 // minimum change of a probability worth mentioning
)

// modelled is a quantity with its model and its left-out predictions.
type modelled struct {
	name, unit string
	model      *quantity.Model
	left       leftOut
	z          []float64 // left-out errors, in the direction of the quantity
}

// several adds the checks of several quantities.
func (d *Diagnosis) several(ctx context.Context, v policies.View) error {
	all := modelledOf(v)
	for _, q := range all {
		if q.name == d.Objective {
			continue // d.LeaveOneOut is its
		}
		check := Quantity{Quantity: q.name, Unit: q.unit}
		if q.model.GP().Len() >= leastRows {
			check.LeaveOneOut = q.left.seen(q.model)
			check.LeaveOneOut.judge()
		}
		d.Quantities = append(d.Quantities, check)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	d.Correlations = correlationsOf(v, all)
	p, err := seek.NewProblem(v.Campaign, v.Space, v.Models)
	if err != nil || p == nil {
		return nil // a model is missing: the findings say so
	}
	if p.Requires() {
		if d.Feasibility, err = calibrationOf(v, p, all); err != nil {
			return err
		}
	}
	if p.Aims != nil {
		if d.Reference, err = referenceOf(p); err != nil {
			return err
		}
	}
	return d.jointly(v, p)
}

// jointly adds to the correlations their effect on the joint expectations of both quantities.
func (d *Diagnosis) jointly(v policies.View, p *seek.Problem) error {
	if len(d.Correlations) == 0 {
		return nil
	}
	best, err := suggested(v, p)
	if err != nil {
		return err
	}
	w, err := p.NewPredictor()
	if err != nil {
		return err
	}
	for i := range d.Correlations {
		c := &d.Correlations[i]
		if c.Together != 0 {
			// P(x > 0, y > 0) of standard normal x and y with the correlation ρ
			// is 1/4 + arcsin(ρ)/2π (Sheppard 1899).
			c.Both = &Changed{Independent: 0.25, Correlated: 0.25 + math.Asin(float64(c.Together)*c.R)/(2*math.Pi)}
		}
		judged := p.Judges(c.First) && p.Judges(c.Second)
		computes := p.Computes(c.First) && p.Computes(c.Second)
		for _, m := range p.Measured() {
			at := m.Experiment == best
			// Each composition takes thousands of draws: besides the best, only those near a bound
			// are computed, where the probability can change.
			if !(at && (judged || computes)) && !(judged && nearBound(w.At(m.X).Feasible.Probability)) {
				continue
			}
			alone, joint, err := p.Together(m.X, c.First, c.Second, c.R)
			if err != nil {
				return err
			}
			if at && computes {
				c.Value = &Changed{m.Experiment, alone.SD, joint.SD}
			}
			if judged {
				changed := &Changed{m.Experiment, alone.Feasible, joint.Feasible}
				switch {
				case at:
					c.Best = changed
				case changed.size() >= changes && (c.Most == nil || changed.size() > c.Most.size()):
					c.Most = changed
				}
			}
		}
	}
	return nil
}

// nearBound reports whether a correlation can matter to a probability.
func nearBound(probability float64) bool { return probability >= open && probability <= 1-open }

// size returns the change.
func (c *Changed) size() float64 { return math.Abs(c.Correlated - c.Independent) }

// suggested returns the experiment of the composition that a campaign would suggest: the compromise
// of a trade-off, otherwise the best by the models; "" for none.
func suggested(v policies.View, p *seek.Problem) (string, error) {
	if p.Aims != nil {
		s, err := p.Standing()
		if err != nil {
			return "", err
		}
		return s.Compromise(0, nil), nil
	}
	best, err := seek.BestOf(v.Campaign, v.Space, v.Models)
	if err != nil || best == nil {
		return "", err
	}
	return v.Objective().Observations[best.Index].Experiment, nil
}

// weakest returns the worst predicted quantity of those that decisions rest on, and its check; the
// objective itself if it is measured, or if too little is known of the others.
func (d *Diagnosis) weakest(def *definition.Campaign) (name string, check *LeaveOneOut) {
	rests := computed.Sought(def)
	for _, c := range def.ConstraintsOnOutcomes {
		rests = append(rests, computed.Required(def, c)...)
	}
	name, check = d.Objective, d.LeaveOneOut
	for _, q := range d.Quantities {
		if own := q.LeaveOneOut; slices.Contains(rests, q.Quantity) && own != nil && own.R2 != nil && *own.R2 < *check.R2 {
			name, check = q.Quantity, own
		}
	}
	return name, check
}

// modelledOf returns the quantities with a model, the objective first unless it is computed from
// them.
func modelledOf(v policies.View) (all []modelled) {
	def := v.Campaign.Definition
	for _, o := range v.Models.Measured() {
		m := o.Model
		if m == nil {
			continue
		}
		q := modelled{name: o.Quantity, model: m, left: leftOutOf(m)}
		if declared := def.Quantity(o.Quantity); declared != nil {
			q.unit = declared.Unit
		}
		direction := 1.0
		if m.Scale().Spread < 0 {
			direction = -1
		}
		for i, y := range q.left.y {
			q.z = append(q.z, direction*(y-q.left.mean[i])/q.left.sd[i])
		}
		all = append(all, q)
	}
	return all
}

// correlationsOf returns the correlations worth naming.
func correlationsOf(v policies.View, all []modelled) (found []Correlation) {
	for i, a := range all {
		for _, b := range all[i+1:] {
			var x, y []float64
			used := make(map[int]bool) // rows of a, which repetitions share
			for k := range v.Campaign.Experiments {
				id := v.Campaign.Experiments[k].ID
				p, ok := a.left.at[id]
				q, also := b.left.at[id]
				if !ok || !also || used[p] {
					continue
				}
				used[p] = true
				x, y = append(x, a.z[p]), append(y, b.z[q])
			}
			if len(x) < leastCorrelated {
				continue
			}
			if r := stat.Correlation(x, y, nil); math.Abs(r) > correlated {
				found = append(found, Correlation{
					First: a.name, Second: b.name, R: r, Rows: len(x), Together: together(v.Campaign.Definition, a.name, b.name),
				})
			}
		}
	}
	return found
}

// together is [Correlation.Together] of two quantities.
func together(def *definition.Campaign, a, b string) int {
	way := func(name string) int {
		aims := def.Tradeoff()
		at := slices.IndexFunc(aims, func(a definition.Aim) bool { return a.Name == name })
		switch {
		case at < 0:
			return 0
		case aims[at].Goal == definition.Maximize:
			return 1
		}
		return -1
	}
	return way(a) * way(b)
}

// calibrationOf compares left-out probabilities with the results; nil if nothing can be compared.
func calibrationOf(v policies.View, p *seek.Problem, all []modelled) (*Calibration, error) {
	w, err := p.NewPredictor()
	if err != nil {
		return nil, err
	}
	of := make([]modelled, len(p.Quantities))
	for k, name := range p.Quantities {
		i := slices.IndexFunc(all, func(q modelled) bool { return q.name == name })
		if i < 0 {
			return nil, nil
		}
		of[k] = all[i]
	}
	c := &Calibration{}
	means, sds := make([]float64, len(of)), make([]float64, len(of))
	for i := range v.Campaign.Experiments {
		x := &v.Campaign.Experiments[i]
		keeps := v.Campaign.Keeps(x)
		if keeps != campaign.KeepsAll && keeps != campaign.KeepsNot {
			continue
		}
		known := true
		for k, q := range of {
			row, ok := q.left.at[x.ID]
			if known = known && ok; ok {
				means[k], sds[k] = q.left.mean[row], q.left.sd[row]
			}
		}
		if !known {
			continue
		}
		at, err := v.Space.Encode(x.Measurement.Actual)
		if err != nil {
			return nil, err
		}
		came := 0.0
		if keeps == campaign.KeepsAll {
			came = 1
			c.Kept++
		}
		off := w.FeasibleGiven(at, means, sds) - came
		c.Brier += off * off
		c.Rows++
	}
	if c.Rows == 0 {
		return nil, nil
	}
	share := float64(c.Kept) / float64(c.Rows)
	c.Brier /= float64(c.Rows)
	c.BaseRate = share * (1 - share)
	return c, nil
}

// referenceOf compares the compromise with that for a farther reference; nil if all worst values
// are given, or without a front.
func referenceOf(p *seek.Problem) (*Reference, error) {
	s, err := p.Standing()
	if err != nil {
		return nil, err
	}
	out := &Reference{Compromise: s.Compromise(0, nil)}
	inferred := make([]bool, len(p.Aims))
	for k, a := range p.Aims {
		if inferred[k] = !p.Given(a); inferred[k] {
			out.Inferred = append(out.Inferred, a.Name)
		}
	}
	if out.Inferred == nil || out.Compromise == "" {
		return nil, nil
	}
	out.Farther = s.Compromise(1, inferred)
	return out, nil
}
