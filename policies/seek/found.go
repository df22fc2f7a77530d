package seek

import (
	"cmp"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/pareto"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Front is the estimated front of a trade-off: the compositions that are better than every
// other one in some respect, feasible, and better than the reference in every objective. Values
// are in the user's units.
type Front struct {
	Objectives []Traded `json:"objectives"`
	// Members are the measured compositions that are on the front and feasible with
	// a probability of 5 % at least: from the best in the first objective on.
	Members []Member `json:"members"`
	// Others are the other measured compositions, in the order of their experiments,
	// Behind how many more there are that an earlier one is surely better than in all
	// objectives, or that are surely of no interest: of more than 500 they are left out.
	Others []Member `json:"others"`
	Behind int      `json:"behind,omitempty"`
	// Compromise is a suggestion: the member whose least satisfaction is greatest.
	// Nil where no member is rather feasible than not.
	Compromise *Compromise `json:"compromise,omitempty"`
	// Closest is the measured composition that comes closest to being feasible; nil
	// where one is rather feasible than not.
	Closest *Closest `json:"closest,omitempty"`
	// Hypervolume is that of the measured compositions' posterior means beyond the reference,
	// in the product of the units that the models work in.
	Hypervolume float64 `json:"hypervolume"`
	// Curve is the hypervolume after each experiment, by the models and the
	// reference of today.
	Curve []Covered `json:"curve"`
	// Expected is the front that the models expect, of compositions that were not
	// measured for the most part: from the best in the first objective on.
	Expected []Expected `json:"expected"`
	// Waiting are the constraints that cannot be judged yet.
	Waiting []Waiting `json:"waiting,omitempty"`
}

// Traded is one of the objectives.
type Traded struct {
	Quantity string `json:"quantity"`
	Unit     string `json:"unit,omitempty"`
	Goal     string `json:"goal"`
	// Log says that its model is of the logarithm.
	Log bool `json:"log,omitempty"`
	// Reference is the worst value that is of interest: Given by the definition, or
	// inferred from what was measured.
	Reference float64 `json:"reference"`
	Given     bool    `json:"given,omitempty"`
	// Best is the experiment of the member that is expected to be best in this
	// objective, among those that are rather feasible than not; "" for none, and
	// where it is constant.
	Best string `json:"best,omitempty"`
	// Constant is set where it is the same at all compositions that were measured: it
	// decides nothing.
	Constant bool `json:"constant,omitempty"`
}

// Member is a measured composition.
type Member struct {
	// Experiment measured it first, Repeats measured it again.
	Experiment string           `json:"experiment"`
	Repeats    []string         `json:"repeats,omitempty"`
	Parameters definition.Point `json:"parameters"`
	// Quantities are the objectives in their order, then the other quantities that
	// constraints are on.
	Quantities []Believed `json:"quantities"`
	// OnFront is the probability that it is on the front and feasible.
	OnFront float64 `json:"on_front"`
	// Feasible is the probability that the constraints are kept; nil for none.
	Feasible *events.Feasible `json:"feasible,omitempty"`
	// Keeps says whether the measured values keep them.
	Keeps campaign.Keeps `json:"keeps,omitempty"`
	// Share is the share of the hypervolume that it alone holds, by posterior means.
	Share float64 `json:"share"`
}

// Believed is a quantity of a measured composition.
type Believed struct {
	Quantity string `json:"quantity"`
	Unit     string `json:"unit,omitempty"`
	// Measured is the mean of what was measured, absent where that is missing.
	Measured *float64 `json:"measured,omitempty"`
	// Mean and SD are the posterior, without noise; SD is 0 of what follows from the
	// parameters.
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
}

// Compromise is the member with the greatest least satisfaction: of an objective
// that is 0 at the reference and 1 at the best value of the members
// ([pareto.Compromise]).
type Compromise struct {
	Experiment   string           `json:"experiment"`
	Parameters   definition.Point `json:"parameters"`
	Satisfaction float64          `json:"satisfaction"`
}

// Closest is the composition that comes closest to being feasible, as in [BestOf].
type Closest struct {
	Experiment  string  `json:"experiment"`
	Probability float64 `json:"probability"`
}

// Covered is the hypervolume after an experiment: of posterior means, and the 10 %
// and 90 % quantiles of draws.
type Covered struct {
	Experiment  string  `json:"experiment"`
	Hypervolume float64 `json:"hypervolume"`
	Lower       float64 `json:"lower"`
	Upper       float64 `json:"upper"`
}

// Expected is a composition that the models expect on the front.
type Expected struct {
	Parameters definition.Point `json:"parameters"`
	// Experiment measured it; "" where none did.
	Experiment string                      `json:"experiment,omitempty"`
	Quantities []events.QuantityPrediction `json:"quantities"`
	Feasible   *events.Feasible            `json:"feasible,omitempty"`
}

// leastOnFront is the probability from which on a composition is a member.
const leastOnFront = 0.05

// Front returns the estimated front, without the models' expectations beyond the measured
// compositions. It is deterministic.
func (p *Problem) Front(state *campaign.State, s *Standing) (*Front, error) {
	f := &Front{
		Members: []Member{}, Others: []Member{}, Expected: []Expected{},
		Hypervolume: s.Hypervolume, Waiting: p.Waiting,
	}
	for k, a := range p.Aims {
		_, constant := p.constant(k, s)
		f.Objectives = append(f.Objectives, Traded{
			Quantity: a.Name, Unit: a.Unit, Goal: a.Goal, Log: a.Model >= 0 && p.Models[a.Model].Scale().Log,
			Reference: p.Value(k, s.Reference[k]), Given: p.Given(a), Constant: constant,
		})
	}
	distinct := s.distinct()
	near := p.near(s, distinct)
	f.Behind = len(distinct) - len(near)
	drawn, err := p.drawAt(s, near)
	if err != nil {
		return nil, err
	}
	for k, o := range f.Objectives {
		if o.Constant {
			drawn.level(k, s.Scores[distinct[0][0]][k])
		}
	}
	members, err := p.members(state, s, near, drawn.onFront(s.Reference))
	if err != nil {
		return nil, err
	}
	s.share(members, near, distinct)
	f.divide(s, near, members)
	if f.Compromise == nil {
		if f.Closest, err = p.closest(s); err != nil {
			return nil, err
		}
	}
	f.Curve = s.curve(near, drawn)
	return f, nil
}

// Given reports whether the worst value of an objective that is of interest is given
// by the definition: as such, or as a bound on it in its own direction.
func (p *Problem) Given(a Aim) bool {
	_, bounded := p.strictest(a, true)
	return a.Worst != nil || bounded
}

// Compromise is the experiment of the front, by posterior means, with the greatest
// least satisfaction, where the reference lies so many ranges of the front farther
// away in the marked objectives; "" where the front is empty.
func (s *Standing) Compromise(farther float64, marked []bool) string {
	if len(s.Front) == 0 {
		return ""
	}
	points, reference := make([][]float64, len(s.Front)), slices.Clone(s.Reference)
	for i, at := range s.Front {
		points[i] = s.Scores[at]
	}
	for k, moves := range marked {
		of := func(a, b []float64) int { return cmp.Compare(a[k], b[k]) }
		if moves {
			reference[k] -= farther * (slices.MaxFunc(points, of)[k] - slices.MinFunc(points, of)[k])
		}
	}
	best, _ := pareto.Compromise(points, reference)
	return s.Measured[s.Front[best]].Experiment
}

// distinct returns the indices of the measurements, composition by composition: those of one
// are in one list, in the order of their experiments.
func (s *Standing) distinct() (compositions [][]int) {
	for i, m := range s.Measured {
		at := slices.IndexFunc(compositions, func(c []int) bool { return slices.Equal(s.Measured[c[0]].X, m.X) })
		if at < 0 {
			compositions = append(compositions, []int{i})
			continue
		}
		compositions[at] = append(compositions[at], i)
	}
	return compositions
}

// members returns the compositions; those on the front have the given probabilities.
func (p *Problem) members(state *campaign.State, s *Standing, distinct [][]int, onFront []float64) ([]Member, error) {
	w, err := p.NewPredictor()
	if err != nil {
		return nil, err
	}
	members := make([]Member, len(distinct))
	for i, c := range distinct {
		m := s.Measured[c[0]]
		out := w.At(m.X)
		members[i] = Member{
			Experiment: m.Experiment, Parameters: m.Point, OnFront: onFront[i], Feasible: out.Feasible,
			Quantities: p.believed(out.Quantities),
		}
		experiments := make([]*campaign.Experiment, len(c))
		for j, at := range c {
			experiments[j] = state.Experiment(s.Measured[at].Experiment)
			if j > 0 {
				members[i].Repeats = append(members[i].Repeats, s.Measured[at].Experiment)
			}
		}
		members[i].read(state, experiments)
	}
	return members, nil
}

// share fills in each member's own part of the hypervolume, of all compositions.
func (s *Standing) share(members []Member, of, distinct [][]int) {
	var counting [][]float64
	place := make(map[int]int, len(distinct))
	for _, c := range distinct {
		if s.Feasible[c[0]] >= ratherFeasible {
			place[c[0]] = len(counting)
			counting = append(counting, s.Scores[c[0]])
		}
	}
	shares := pareto.Shares(counting, s.Reference)
	for i, c := range of {
		if at, counts := place[c[0]]; counts {
			members[i].Share = shares[at]
		}
	}
}

// Compositions is the number of measured compositions.
func (f *Front) Compositions() int { return len(f.Members) + len(f.Others) + f.Behind }

// believed orders the predictions of quantities: the objectives first.
func (p *Problem) believed(quantities []events.QuantityPrediction) []Believed {
	place := func(q events.QuantityPrediction) int {
		k := slices.IndexFunc(p.Aims, func(a Aim) bool { return a.Name == q.Quantity })
		if k < 0 {
			return len(p.Aims)
		}
		return k
	}
	ordered := slices.Clone(quantities)
	slices.SortStableFunc(ordered, func(a, b events.QuantityPrediction) int { return place(a) - place(b) })
	out := make([]Believed, len(ordered))
	for i, q := range ordered {
		out[i] = Believed{Quantity: q.Quantity, Unit: q.Unit, Mean: q.Mean, SD: q.SD}
	}
	return out
}

// read adds the measurements.
func (m *Member) read(state *campaign.State, experiments []*campaign.Experiment) {
	for i := range m.Quantities {
		q := &m.Quantities[i]
		sum := 0.0
		n := 0
		for _, x := range experiments {
			if value, ok := state.Quantity(x, q.Quantity); ok && x.Counts(q.Quantity) {
				sum += value.Value
				n++
			}
		}
		if n > 0 {
			mean := sum / float64(n)
			q.Measured = &mean
		}
	}
	for _, x := range experiments {
		if keeps := state.Keeps(x); keeps == campaign.KeepsNot || m.Keeps == "" || m.Keeps == campaign.KeepsUnknown {
			m.Keeps = keeps
		}
	}
}

// varied are the objectives that are not constant.
func (f *Front) varied() (varied []int) {
	for k, o := range f.Objectives {
		if !o.Constant {
			varied = append(varied, k)
		}
	}
	return varied
}

// divide separates the members of the front from the others, and names those that
// stand out. Where one objective alone varies nothing is traded off: the one that
// is expected to be best in it is the front. Where none varies the front is empty.
func (f *Front) divide(s *Standing, distinct [][]int, all []Member) {
	var on []int // indices of members
	score := func(i int) []float64 { return s.Scores[distinct[i][0]] }
	varied := f.varied()
	isOn := func(i int) bool { return all[i].OnFront >= leastOnFront }
	switch len(varied) {
	case 0:
		isOn = func(int) bool { return false }
	case 1:
		best := -1
		for i := range all {
			if isOn(i) && (best < 0 || score(i)[varied[0]] > score(best)[varied[0]]) {
				best = i
			}
		}
		isOn = func(i int) bool { return i == best }
	}
	for i := range all {
		for k, o := range f.Objectives {
			if o.Constant && k < len(all[i].Quantities) {
				all[i].Quantities[k].SD = 0
			}
		}
		if isOn(i) {
			on = append(on, i)
		} else {
			f.Others = append(f.Others, all[i])
		}
	}
	slices.SortStableFunc(on, func(i, j int) int { return cmp.Compare(score(j)[0], score(i)[0]) })
	var counting []int
	var scores [][]float64
	for _, i := range on {
		f.Members = append(f.Members, all[i])
		if s.Feasible[distinct[i][0]] >= ratherFeasible {
			counting, scores = append(counting, i), append(scores, score(i))
		}
	}
	if len(counting) == 0 {
		return
	}
	at, satisfaction := pareto.Compromise(scores, s.Reference)
	best := all[counting[at]]
	f.Compromise = &Compromise{best.Experiment, best.Parameters, satisfaction}
	for _, k := range varied {
		first := slices.MaxFunc(counting, func(i, j int) int { return cmp.Compare(score(i)[k], score(j)[k]) })
		f.Objectives[k].Best = all[first].Experiment
	}
}

// closest is the composition that comes closest to being feasible; nil where one is
// rather than not.
func (p *Problem) closest(s *Standing) (*Closest, error) {
	if len(s.Feasible) == 0 || slices.Max(s.Feasible) >= ratherFeasible {
		return nil, nil
	}
	points := make([][]float64, len(s.Measured))
	for i, m := range s.Measured {
		points[i] = m.X
	}
	all, err := p.closenesses(points)
	if err != nil {
		return nil, err
	}
	best := 0
	for i := range all {
		if all[i].closer(all[best]) {
			best = i
		}
	}
	return &Closest{s.Measured[best].Experiment, s.Feasible[best]}, nil
}

// Member returns the member of an experiment, nil for none.
func (f *Front) Member(experiment string) *Member {
	for i := range f.Members {
		if m := &f.Members[i]; m.Experiment == experiment || slices.Contains(m.Repeats, experiment) {
			return m
		}
	}
	return nil
}
