package diagnose

import (
	"context"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/objective"
	"github.com/campaignd/campaignd/projections/outcome"
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
	leastCorrelated = 15  // rows from which on a correlation is looked at
	correlated      = 0.5 // |r| from which on it is named
	leastCalibrated = 15  // rows, and
	leastOfEach     = 3   // of either kind, for a verdict on probabilities
)

// modelled is a quantity with its model and what is left out of it.
type modelled struct {
	name, unit string
	model      *objective.Model
	z          []float64      // left-out errors of the rows, in the direction of the quantity
	mean, sd   []float64      // left-out predictions, standardized
	row        map[string]int // of each experiment
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
			check.LeaveOneOut = seen(q.model)
			for k, row := range rowsOf(q.model) {
				r := &check.LeaveOneOut.Rows[row]
				r.Experiments = append(r.Experiments, q.model.Observations[k].Experiment)
			}
			check.LeaveOneOut.judge()
		}
		d.Quantities = append(d.Quantities, check)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	d.Correlations = correlationsOf(v, all)
	p, err := outcome.NewProblem(v.Campaign, v.Space, v.Objective, v.Outcomes)
	if err != nil || p == nil {
		return nil // a model is missing: the findings say so
	}
	if p.Requires() {
		if d.Feasibility, err = calibrationOf(v, p, all); err != nil {
			return err
		}
	}
	if p.Aims != nil {
		d.Reference, err = referenceOf(p)
	}
	return err
}

// modelledOf are the quantities that have a model, what is sought first unless it is
// computed from them.
func modelledOf(v policies.View) (all []modelled) {
	def := v.Campaign.Definition
	add := func(name, unit string, m *objective.Model) {
		if m == nil {
			return
		}
		q := modelled{name: name, unit: unit, model: m, row: make(map[string]int)}
		var y []float64
		y, q.mean, q.sd = m.LeaveOneOut()
		direction := 1.0
		if m.Scale().Spread < 0 {
			direction = -1
		}
		for i := range y {
			q.z = append(q.z, direction*(y[i]-q.mean[i])/q.sd[i])
		}
		for k, row := range rowsOf(m) {
			q.row[m.Observations[k].Experiment] = row
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
				p, ok := a.row[id]
				q, also := b.row[id]
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
				found = append(found, Correlation{a.name, b.name, r, len(x), together(v.Campaign.Definition, a.name, b.name)})
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
func calibrationOf(v policies.View, p *outcome.Problem, all []modelled) (*Calibration, error) {
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
			row, ok := q.row[x.ID]
			if known = known && ok; ok {
				means[k], sds[k] = q.mean[row], q.sd[row]
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
func referenceOf(p *outcome.Problem) (*Reference, error) {
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

// several judges what is known of several quantities. Nothing is said of few
// compositions.
func (r *reader) several() {
	d := r.d
	for _, q := range d.Quantities {
		check := q.LeaveOneOut
		if check != nil && check.R2 != nil && len(check.Rows) >= r.needed && *check.R2 < lowR2 {
			r.find(Doubtful, sayQuantity, q.Quantity, *check.R2, len(check.Rows)).titled(q.Quantity).offer(look, correct)
		}
	}
	if c := d.Feasibility; c != nil && c.Rows >= leastCalibrated && c.Kept >= leastOfEach &&
		c.Rows-c.Kept >= leastOfEach && c.Brier >= c.BaseRate {
		r.find(Doubtful, sayUncalibrated, c.Rows, c.Kept, c.Brier, c.BaseRate)
	}
	for _, c := range d.Correlations {
		way := "too"
		if c.R < 0 {
			way = "smaller"
		}
		r.find(Note, sayTogether, c.First, c.Second, way, c.R, c.Rows, c.meaning()).titled(c.First, c.Second)
	}
	if ref := d.Reference; ref != nil && ref.Farther != ref.Compromise {
		r.find(Note, sayReference, ref.Compromise, ref.Farther, strings.Join(ref.Inferred, " and "))
	}
}

// meaning says what follows from models that take two quantities for independent.
func (c Correlation) meaning() string {
	sense := float64(c.Together) * c.R
	switch {
	case sense > 0:
		return "that both are good at once is more probable than they say, and so is that both are bad."
	case sense < 0:
		return "that both are good at once is less probable than they say."
	}
	return "probabilities of both at once are off."
}
