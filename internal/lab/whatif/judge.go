package whatif

import (
	"context"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/campaign"
)

// The objectives that both courses are judged by.
const (
	ByToday    = "today"    // what the campaign seeks and requires as it is now
	ByImagined = "imagined" // the imagined objective and constraints
)

// Judged compares the real and the imagined course by one and the same objective, constraints
// and worst values of interest, after as many experiments of both.
type Judged struct {
	// By is [ByToday] or [ByImagined].
	By string `json:"by"`
	// Experiments is the number after which they are compared.
	Experiments int    `json:"experiments"`
	Really      Course `json:"really"`
	Imagined    Course `json:"imagined"`
	// Reference are the worst values of interest of a trade-off, the same for both: those that
	// are given, and otherwise inferred from the real measurements.
	Reference []definition.Quantity `json:"reference,omitempty"`
	// Difference is the relative gain of the imagined front's hypervolume over the real one's,
	// a loss if it is negative; nil if nothing is covered, and without a trade-off.
	Difference *float64 `json:"difference,omitempty"`

	what string // the name of the finding
}

// Course is the state that a course has reached.
type Course struct {
	// Keep is the number of its experiments whose measurements keep the constraints on
	// outcomes; nil without constraints.
	Keep *int `json:"keep_constraints,omitempty"`
	// Hypervolume is that of the front beyond the reference, by the posterior means of the
	// course's own models after its experiments, in the product of the units that they work in;
	// nil without a trade-off.
	Hypervolume *float64 `json:"hypervolume,omitempty"`
	// Found is the experiment to go by: the compromise of a trade-off; the expert's predicted
	// preference; otherwise the best measured value, of those that keep the constraints if some
	// do. Nil for none.
	Found *Experiment `json:"found"`
	// NoModel gives the reason for a missing front or preference; empty otherwise.
	NoModel string `json:"no_model,omitempty"`
}

// course is a campaign that was imagined, with the log in memory that it wrote.
type course struct {
	core *engine.Core
	log  events.Log
}

// yardstick judges both courses, each as it would be with the same definition.
type yardstick struct {
	by             string
	def            *definition.Campaign
	real, imagined *engine.Core
	// realThen and imaginedThen are the courses after as many experiments as both had an
	// outcome of: models have the data that they had then.
	realThen, imaginedThen *engine.Core
}

// severalOf reports whether a campaign is judged by more than one number.
func severalOf(def *definition.Campaign) bool {
	return def.Several() || len(def.ConstraintsOnOutcomes) > 0
}

// required returns the constraints on outcomes of a definition, with their references.
func required(def *definition.Campaign) definition.Campaign {
	return definition.Campaign{
		Quantities: def.Quantities, ConstraintsOnOutcomes: def.ConstraintsOnOutcomes, Reference: def.Reference,
	}
}

// judge tells all quantities of the experiments and compares the courses; nothing
// where one number is all that there is.
func (a *Answer) judge(ctx context.Context, in Input, now *engine.Core, imagined course) error {
	today := now.State().Definition
	if !today.Measures() || !severalOf(today) && !severalOf(a.Changed) {
		return nil
	}
	y := yardstick{real: now, imagined: imagined.core, realThen: now, imaginedThen: imagined.core}
	n := min(len(a.RealOutcomes()), len(a.Imagined))
	var err error
	// A course that was cut off lacks the fit that came after its last result, so that
	// the other one is taken without it as well.
	cut := a.Ended == ""
	if cut || n < len(a.RealOutcomes()) {
		if y.realThen, err = after(ctx, in, in.Log, a.At, a.RealOutcomes()[:n]); err != nil {
			return err
		}
	}
	if cut || n < len(a.Imagined) {
		if y.imaginedThen, err = after(ctx, in, imagined.log, a.At, a.Imagined[:n]); err != nil {
			return err
		}
	}
	is, other := required(today), required(a.Changed)
	constraints := campaignfile.Diff(is, other) != nil
	is.Objective, other.Objective = today.Objective, a.Changed.Objective
	first, err := y.with(ByToday, today)
	if err != nil {
		return err
	}
	by := []yardstick{first}
	if !a.Sought.IsZero() && campaignfile.Diff(is, other) != nil {
		second, err := y.with(ByImagined, a.Changed)
		if err != nil {
			return err
		}
		by = append(by, second)
	}
	a.detail(by, constraints)
	if len(a.Imagined) == 0 {
		return nil
	}
	for _, y := range by {
		judged, err := a.judgedBy(ctx, y)
		if err != nil {
			return err
		}
		a.Judged = append(a.Judged, *judged)
	}
	return nil
}

// with is a yardstick by a definition.
func (y yardstick) with(by string, def *definition.Campaign) (yardstick, error) {
	y.by, y.def = by, def
	for _, core := range []**engine.Core{&y.real, &y.imagined, &y.realThen, &y.imaginedThen} {
		changed, err := under(*core, *def)
		if err != nil {
			return y, err
		}
		*core = changed
	}
	return y, nil
}

// after returns a campaign as it was when the last of some experiments had an outcome; before
// any if there are none.
func after(ctx context.Context, in Input, log events.Log, at events.Sequence, of []Experiment) (*engine.Core, error) {
	for e, err := range events.ReadCampaign(ctx, log, in.Campaign, at) {
		if err != nil {
			return nil, err
		}
		switch payload, err := events.Decode(e); payload.(type) {
		case *events.ExperimentMeasured, *events.ExperimentFailed, *events.ExperimentInfeasible:
			if placeOf(of, payload.Subject()) >= 0 {
				at = e.Sequence
			}
		default:
			if err != nil {
				return nil, err
			}
		}
	}
	core := engine.NewCore(in.Registry)
	each := func(events.Event, events.Payload) error { return nil }
	return core, core.Follow(ctx, log, in.Campaign, at, each)
}

// detail tells the quantities of all experiments, and whether they keep the
// constraints: those of today, and the imagined ones where they are others.
func (a *Answer) detail(by []yardstick, others bool) {
	for _, y := range by {
		really, imagined := y.real.State(), y.imagined.State()
		tell := func(s *campaign.State, all []Experiment) {
			for i := range all {
				all[i].detail(s)
				switch keeps := s.Keeps(s.Experiment(all[i].ID)); {
				case all[i].Status != campaign.Measured:
				case y.by == ByToday:
					all[i].Keeps = keeps
				case others:
					all[i].KeepsImagined = keeps
				}
			}
		}
		tell(imagined, a.Before)
		tell(imagined, a.Imagined)
		tell(really, a.Real)
	}
}

// detail adds the quantities that an experiment gave, by a state of its campaign, where they
// are not there yet; those computed from them come last.
func (x *Experiment) detail(s *campaign.State) {
	def, given := s.Definition, s.Experiment(x.ID)
	add := func(q definition.Quantity, ok bool) {
		is := func(other definition.Quantity) bool { return other.Name == q.Name }
		if ok && !slices.ContainsFunc(x.Quantities, is) {
			x.Quantities = append(x.Quantities, q)
		}
	}
	if given == nil || given.Status != campaign.Measured {
		return
	}
	declared := def.Declared()
	for _, q := range slices.Concat(declared, def.Quantities) {
		add(s.Quantity(given, q.Name))
	}
	if def.Sought().Computed() {
		add(s.Value(given))
	}
}

// judgedBy compares the courses by one definition, after as many experiments as both
// have had an outcome of.
func (a *Answer) judgedBy(ctx context.Context, y yardstick) (j *Judged, err error) {
	ended := a.RealOutcomes()
	n := min(len(ended), len(a.Imagined))
	j = &Judged{By: y.by, Experiments: len(a.Before) + n, what: "best"}
	real, imagined := slices.Concat(a.Before, ended[:n]), slices.Concat(a.Before, a.Imagined[:n])
	j.Really.keep(y.def, y.real.State(), real)
	j.Imagined.keep(y.def, y.imagined.State(), imagined)
	switch {
	case y.def.Tradeoff() != nil:
		j.what = "compromise"
		return j, j.fronts(ctx, y, real, imagined)
	case y.def.Preferred() != nil:
		j.what = "preferred"
		if err := j.Really.prefer(ctx, y.realThen, real); err != nil {
			return nil, err
		}
		return j, j.Imagined.prefer(ctx, y.imaginedThen, imagined)
	}
	j.Really.best(y.def, y.real.State(), real)
	j.Imagined.best(y.def, y.imagined.State(), imagined)
	return j, nil
}

// keep counts the experiments that keep the constraints.
func (c *Course) keep(def *definition.Campaign, s *campaign.State, of []Experiment) {
	if len(def.ConstraintsOnOutcomes) == 0 {
		return
	}
	n := 0
	for _, x := range of {
		if x.Status == campaign.Measured && s.Keeps(s.Experiment(x.ID)) == campaign.KeepsAll {
			n++
		}
	}
	c.Keep = &n
}

// best is the best measured value, of those that keep the constraints where some do,
// as the campaign's status has it.
func (c *Course) best(def *definition.Campaign, s *campaign.State, of []Experiment) {
	var best campaign.Judged
	for x := range s.Compared() {
		judged := s.Judge(x)
		if i := placeOf(of, x.ID); i >= 0 && (c.Found == nil || judged.Before(best, def.Sought())) {
			found := of[i]
			c.Found, best = &found, judged
		}
	}
}

// placeOf is the place of an experiment in a list, -1 for none.
func placeOf(list []Experiment, id string) int {
	return slices.IndexFunc(list, func(x Experiment) bool { return x.ID == id })
}

// prefer fills in the expert's predicted preference among the measured experiments.
func (c *Course) prefer(ctx context.Context, core *engine.Core, of []Experiment) error {
	summary, err := core.Summarize(ctx)
	if err != nil {
		return err
	}
	c.NoModel = summary.NoModel
	for _, liked := range summary.Ranking {
		if i := placeOf(of, liked.Experiment); i >= 0 {
			found := of[i]
			c.Found = &found
			return nil
		}
	}
	return nil
}

// fronts compares the hypervolumes of both fronts, beyond the reference of all real
// measurements, so that a question has the same reference however far it goes.
func (j *Judged) fronts(ctx context.Context, y yardstick, real, imagined []Experiment) error {
	p, really, why, err := standing(ctx, y.real)
	if err != nil {
		return err
	}
	if really == nil {
		j.Really.NoModel, j.Imagined.NoModel = why, why
		return nil
	}
	for k, aim := range p.Aims {
		j.Reference = append(j.Reference, definition.Quantity{
			Name: aim.Name, Unit: aim.Unit, Value: p.Value(k, really.Reference[k]),
		})
	}
	for _, of := range []struct {
		course *Course
		then   *engine.Core
		list   []Experiment
	}{{&j.Really, y.realThen, real}, {&j.Imagined, y.imaginedThen, imagined}} {
		_, s, why, err := standing(ctx, of.then)
		if err != nil {
			return err
		}
		if of.course.NoModel = why; s != nil {
			counts := func(id string) bool { return placeOf(of.list, id) >= 0 }
			of.course.front(s.Against(really.Reference, counts), of.list)
		}
	}
	if j.Really.Hypervolume == nil || j.Imagined.Hypervolume == nil {
		return nil
	}
	if covered := *j.Really.Hypervolume; covered > 0 {
		more := (*j.Imagined.Hypervolume - covered) / covered
		j.Difference = &more
	}
	return nil
}

// standing returns the state of a trade-off by the models of a campaign; nil, with the reason,
// if they do not give one.
func standing(ctx context.Context, core *engine.Core) (p *seek.Problem, s *seek.Standing, why string, err error) {
	read, err := core.Read(ctx)
	if err != nil {
		return nil, nil, "", err
	}
	v, err := read.View(ctx)
	switch {
	case err != nil:
		return nil, nil, "", err
	case v.Objective() == nil:
		return nil, nil, core.Counts().NoModel, nil
	}
	if p, err = seek.NewProblem(v.Campaign, v.Space, v.Models); err == nil {
		s, err = p.Standing()
	}
	if ctx.Err() != nil {
		return nil, nil, "", context.Cause(ctx)
	}
	if err != nil { // an objective has no model yet
		return nil, nil, err.Error(), nil
	}
	return p, s, "", nil
}

// front fills in the hypervolume of a front, and its compromise.
func (c *Course) front(s *seek.Standing, of []Experiment) {
	c.Hypervolume = &s.Hypervolume
	if i := placeOf(of, s.Compromise(0, nil)); i >= 0 {
		found := of[i]
		c.Found = &found
	}
}
