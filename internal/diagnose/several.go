package diagnose

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/computed"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/objective"
)

// Quantity is a declared quantity besides what is sought, and how its model does.
type Quantity struct {
	Quantity string `json:"quantity"`
	Unit     string `json:"unit,omitempty"`
	// LeaveOneOut is at the campaign's own hyperparameters; nil for fewer than three
	// compositions.
	LeaveOneOut *LeaveOneOut `json:"leave_one_out"`
}

// Calibration compares probabilities to keep the constraints on outcomes with what
// came. Each composition is predicted from all others, its noise included.
type Calibration struct {
	// Rows are experiments of which it is known whether they kept the constraints;
	// Kept did.
	Rows int `json:"rows"`
	Kept int `json:"kept"`
	// Brier is the mean of (probability − what came)², and BaseRate the same of one
	// probability for all: the share that kept them.
	Brier    float64 `json:"brier"`
	BaseRate float64 `json:"base_rate"`
}

// Correlation is that of what two models did not expect: of their left-out errors,
// in standard deviations, in the direction of the quantities.
type Correlation struct {
	First  string  `json:"first"`
	Second string  `json:"second"`
	R      float64 `json:"r"`
	Rows   int     `json:"rows"`
	// Together is how an increase of both relates to what is sought: 1 where errors
	// in the same direction are good or bad for both, −1 where for one each, 0 where
	// the two are not both sought.
	Together int `json:"together"`
	// Both is the probability that both are better than expected at once, of
	// objectives of a trade-off: as the models take it, and with errors that go
	// together like these. Nil where the two are not both sought.
	Both *Changed `json:"both,omitempty"`
	// Value is the standard deviation of the formula that is sought, at the best
	// composition; nil where it is not computed from both.
	Value *Changed `json:"value_sd,omitempty"`
	// Best is the probability to keep the constraints at the best composition, the
	// suggestion of a trade-off; Most is where it changes most of the others that were
	// measured, nil where that is little. Both are nil where the judged constraints do
	// not depend on both.
	Best *Changed `json:"feasible_best,omitempty"`
	Most *Changed `json:"feasible_most,omitempty"`
}

// Changed is a number as independent models have it, and with a correlation.
type Changed struct {
	// Experiment measured the composition; "" of what is the same at all.
	Experiment  string  `json:"experiment,omitempty"`
	Independent float64 `json:"independent"`
	Correlated  float64 `json:"correlated"`
}

// Reference is how much of a front depends on the worst values of interest that
// are not given: what it is where these are a range of the front farther away.
type Reference struct {
	// Inferred are the objectives without a given worst value.
	Inferred []string `json:"inferred"`
	// Compromise and Farther are the suggestion as it is, and with the farther
	// reference.
	Compromise string `json:"compromise"`
	Farther    string `json:"farther"`
}

// Thresholds.
const (
	leastCorrelated = 15   // rows from which on a correlation is looked at
	correlated      = 0.5  // |r| from which on it is named
	leastCalibrated = 15   // rows, and
	leastOfEach     = 3    // of either kind, for a verdict on probabilities
	open            = 0.01 // how far from 0 and 1 a probability has to be for a correlation to matter
	changes         = 0.02 // by how much it has to change a probability to be worth a word
)

// modelled is a quantity with its model and what is left out of it.
type modelled struct {
	name, unit string
	model      *objective.Model
	left       leftOut
	z          []float64 // left-out errors, in the direction of the quantity
}

// several adds what can be said of several quantities.
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
	p, err := seek.NewProblem(v.Campaign, v.Space, v.Objective, v.Outcomes)
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

// jointly adds to the correlations how much they change what is expected of both
// quantities at once.
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
			// Each composition takes thousands of draws: besides the best, only those
			// near a bound are looked at, where something can change.
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

// size is by how much it changes.
func (c *Changed) size() float64 { return math.Abs(c.Correlated - c.Independent) }

// suggested is the experiment of the composition that a campaign would be asked for: the
// compromise of a trade-off, otherwise the best by the models; "" for none.
func suggested(v policies.View, p *seek.Problem) (string, error) {
	if p.Aims != nil {
		s, err := p.Standing()
		if err != nil {
			return "", err
		}
		return s.Compromise(0, nil), nil
	}
	best, err := seek.BestOf(v.Campaign, v.Space, v.Objective, v.Outcomes)
	if err != nil || best == nil {
		return "", err
	}
	return v.Objective.Observations[best.Index].Experiment, nil
}

// weakest is the quantity that is predicted worst of those that decisions rest on, with
// how; what is sought itself where one is measured, or where too little is known of
// the others.
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

// modelledOf are the quantities that have a model, what is sought first unless it is
// computed from them.
func modelledOf(v policies.View) (all []modelled) {
	def := v.Campaign.Definition
	add := func(name, unit string, m *objective.Model) {
		if m == nil {
			return
		}
		q := modelled{name: name, unit: unit, model: m, left: leftOutOf(m)}
		direction := 1.0
		if m.Scale().Spread < 0 {
			direction = -1
		}
		for i, y := range q.left.y {
			q.z = append(q.z, direction*(y-q.left.mean[i])/q.left.sd[i])
		}
		all = append(all, q)
	}
	if sought := def.Sought(); !sought.Computed() {
		add(sought.Name, sought.Unit, v.Objective)
	}
	for _, o := range v.Outcomes {
		unit := ""
		if q := def.Quantity(o.Quantity); q != nil {
			unit = q.Unit
		}
		add(o.Quantity, unit, o.Model)
	}
	return all
}

// correlationsOf are those that are worth naming.
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

// calibrationOf compares left-out probabilities with what came; nil where nothing can
// be compared.
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

// referenceOf compares the compromise with that for a farther reference; nil where all
// worst values are given, and where there is no front.
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
