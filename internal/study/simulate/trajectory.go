package simulate

import (
	"context"
	"math"
	"strings"

	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Trajectory is the course of a campaign: a step for each experiment, in the order they were
// requested, the initial ones included; in a campaign without an instrument a step for each
// comparison.
type Trajectory []Step

// Step is one experiment, or comparison, and the state of the campaign after it. Values and regrets
// are in the objective's unit; those without noise are the task's truth.
type Step struct {
	// Measured is the result, noise included; nil where the experiment failed,
	// for comparisons, and of a trade-off, which has several.
	Measured *float64 `json:"measured"`
	// True is the noiseless value at the composition ([Truth.Value]); of a
	// comparison the mean over its options.
	True float64 `json:"true"`
	// Best is the best noiseless value at a measured, or compared, composition
	// so far; before anything was measured, the worst value of the space. Of a
	// trade-off it is the part of the greatest hypervolume that the measured
	// compositions cover together, in per cent.
	Best float64 `json:"best"`
	// Regret is simple regret: how much worse Best is than the optimum, 0 at
	// best. Where nothing is measured, the best composition is unknown, and
	// Regret is Recommended.
	Regret float64 `json:"regret"`
	// Cumulative is the sum of the regrets of all compositions so far; of a
	// trade-off that of Regret after each experiment; of
	// comparisons that of (P(x* ≻ x) + P(x* ≻ x') − 1)/2 (Kayal et al. 2025,
	// Eq. 1).
	Cumulative float64 `json:"cumulative"`
	// Recommended is the regret of the composition that the campaign itself would name as its best:
	// the one with the best posterior mean. If it names none, it is the regret of True, and for a
	// trade-off it is Regret.
	Recommended float64 `json:"recommended"`
	// Asked counts the questions put so far, without volunteered examples.
	Asked int `json:"asked"`
	// Trust is the mean over the experts of the dual variable λ when the experiment was chosen; nil
	// without one.
	Trust *float64 `json:"trust,omitempty"`
	// Helps is the mean over the experts of the probability that their labels
	// help (policies.Help), likewise.
	Helps *float64 `json:"helps,omitempty"`
	// Source is "log" or "surrogate" if a store's task answered, [Identified] after the end of the
	// comparisons, else empty.
	Source string `json:"source,omitempty"`
	// Risk is set after comparisons by anchored experts.
	Risk *Risk `json:"risk,omitempty"`
}

// follower folds a campaign's log into its trajectory.
//
// It folds the log once, and keeps the facts that the final state no longer shows: the trust and
// the recommendation at each step.
type follower struct {
	core  *engine.Core
	truth Truth
	// trust and helps are those at the request of each experiment.
	trust, helps []*float64
	// recommended is the regret of the composition that the campaign would name after each step;
	// NaN if it named none.
	recommended []float64
	// next is the number of comparisons after which the preferred composition
	// is next computed, by policy.
	next   int
	policy policies.Preferrer
	// noises are those of anchored experts, adjusted their risk-adjusted best value after each
	// step; NaN without one.
	noises   map[string]humansim.Noise
	adjusted []float64
}

// follow folds a campaign's log into its trajectory, and picks the times of the
// steps from those of all requests.
//
// times has an entry for each request; experiments that did not take place are
// left out of the trajectory, and their times with them.
func follow(
	ctx context.Context, reg registry.Registry, log events.Log, name string, truth Truth, times []float64,
) (Trajectory, []float64, error) {
	f := follower{core: engine.NewCore(reg), truth: truth}
	// Every step needs the state after its own event.
	each := func(e events.Event, _ events.Payload) (err error) {
		switch e.Kind {
		case events.KindCampaignDefined:
			f.noises, err = noises(*f.core.State().Definition)
		case events.KindExperimentRequested:
			f.trust = append(f.trust, meanTrust(f.core.State()))
			var helps []policies.Help
			helps, err = engine.Helps(ctx, f.core.At(engine.World{}))
			f.helps = append(f.helps, meanHelps(helps))
		}
		if err != nil {
			return err
		}
		return f.look(ctx, e.Kind == events.KindDecisionMade)
	}
	if err := f.core.Follow(ctx, log, name, events.AnySequence, each); err != nil {
		return nil, nil, err
	}
	if err := f.recommend(ctx); err != nil {
		return nil, nil, err
	}
	if compares(f.core.State()) {
		return f.comparisons(times)
	}
	return f.experiments(times)
}

// compares reports whether the campaign measures nothing. Then comparisons are
// its steps.
func compares(s *campaign.State) bool { return !s.Definition.Measures() }

// ended counts the steps that have a result.
func (f *follower) ended() int {
	s := f.core.State()
	if compares(s) {
		return s.Comparisons()
	}
	n := 0
	for i := range s.Experiments {
		if x := &s.Experiments[i]; !x.Status.Open() && !x.Status.CalledOff() && !x.Reference() {
			n++
		}
	}
	return n
}

// look records the campaign's recommendation after each experiment: at its result, by the last fit,
// and again at the next decision, after the next fit. A preference after comparisons takes longer
// to compute: it is computed after each of the first few, then each time their number has grown by
// a tenth.
func (f *follower) look(ctx context.Context, decided bool) error {
	now := f.ended()
	switch {
	case now == 0:
		return nil
	case compares(f.core.State()):
		if !decided || now < f.next {
			return nil
		}
		f.next = now + 1
		if now >= everyComparison {
			f.next = now + now/10
		}
	case now == len(f.recommended) && !decided:
		return nil
	}
	return f.recommend(ctx)
}

// everyComparison is the number of comparisons up to which the preferred composition is computed
// after each. Early comparisons change much, and a search over the space costs little then.
const everyComparison = 20

// recommend records the composition that the campaign names now.
//
// If several experts prefer different compositions the regret is the mean over theirs. NaN means
// that none is named yet, which is not a regret of 0.
func (f *follower) recommend(ctx context.Context) error {
	n := f.ended()
	if n == 0 {
		return nil
	}
	points, err := f.named(ctx)
	if err != nil {
		return err
	}
	regret := math.NaN()
	for i, p := range points {
		_, each, err := f.truth.At(p)
		if err != nil {
			return err
		}
		if i == 0 {
			regret = 0
		}
		regret += each / float64(len(points))
	}
	f.recommended = after(f.recommended, n, regret)
	if Anchored(*f.core.State().Definition) {
		adjusted, err := f.lookAtRisk(ctx)
		if err != nil {
			return err
		}
		f.adjusted = after(f.adjusted, n, adjusted)
	}
	return nil
}

// after records value for n steps; steps without a value get that of the step
// before.
func after(list []float64, n int, value float64) []float64 {
	for len(list) < n {
		before := math.NaN()
		if len(list) > 0 {
			before = list[len(list)-1]
		}
		list = append(list, before)
	}
	list[n-1] = value
	return list
}

// named returns the composition that the campaign names as its best; where experts' preferences are
// the objective, one for each expert. Before the first model it is the best measured one; a
// trade-off names none.
func (f *follower) named(ctx context.Context) ([]definition.Point, error) {
	if s := f.core.State(); compares(s) {
		if f.policy == nil { // it remembers its computations
			policy, err := f.core.Registry().Methods.New(*s.Definition)
			if err != nil {
				return nil, err
			}
			f.policy = policy.(policies.Preferrer) // as every policy of a campaign that only compares
		}
		view, err := f.core.View(ctx)
		if err != nil {
			return nil, err
		}
		preferred, err := f.policy.Preferred(ctx, view)
		var points []definition.Point
		for _, best := range preferred {
			points = append(points, best.Parameters)
		}
		return points, err
	}

	if f.truth.Front != nil {
		return nil, nil
	}
	models, err := f.core.Quantities().Models(ctx) // of the fits that were recorded by then
	if err != nil {
		return nil, err
	}
	best, err := seek.BestOf(f.core.State(), f.core.Space(), models)
	if err != nil {
		return nil, err
	}
	if best != nil {
		return []definition.Point{models.Objective().Observations[best.Index].Point}, nil
	}
	if best := f.core.Counts().BestMeasured; best != nil {
		return []definition.Point{best.Parameters}, nil
	}
	return nil, nil
}

// recommendedAfter is the regret of the composition that was named after the i-th step, from 0.
func (f *follower) recommendedAfter(i int, otherwise float64) float64 {
	if n := len(f.recommended); n > 0 {
		if regret := f.recommended[min(i, n-1)]; !math.IsNaN(regret) {
			return regret
		}
	}
	return otherwise
}

// asked counts the questions put before the i-th request of an experiment, from
// 0.
func asked(s *campaign.State, i int) (n int) {
	for k := range s.Questions {
		if q := &s.Questions[k]; !q.Volunteered && q.Experiments <= i {
			n++
		}
	}
	return n
}

// experiments makes the steps of a campaign that measures. Regret is judged at the actual
// composition, by the truth: a lucky measurement does not improve it.
func (f *follower) experiments(times []float64) (Trajectory, []float64, error) {
	s := f.core.State()
	var trajectory Trajectory
	var seconds []float64
	found, cumulative := f.truth.nothing(), 0.0
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Status.CalledOff() || x.Reference() {
			continue
		}
		step := Step{Trust: f.trust[i], Helps: f.helps[i], Asked: asked(s, i)}
		point := x.Parameters
		if measured, ok := s.Value(x); ok {
			point = x.Measurement.Actual
			step.Measured = &measured.Value
			step.Source = source(x.Measurement.Identity)
		}
		value, regret, err := f.truth.At(point)
		if err != nil {
			return nil, nil, err
		}
		if x.Status == campaign.Measured { // not failed, with some quantities given
			if err := found.add(point, value, regret); err != nil {
				return nil, nil, err
			}
		}
		step.True = value
		step.Best = found.value
		step.Regret = f.truth.Regret(found.value)
		step.Recommended = f.recommendedAfter(len(trajectory), f.truth.Regret(f.truth.Worst))
		if f.truth.Front != nil { // a trade-off has no single best composition
			step.Measured = nil
			step.Recommended = step.Regret
			regret = step.Regret
		}
		cumulative += regret
		step.Cumulative = cumulative
		trajectory, seconds = append(trajectory, step), append(seconds, times[i])
	}
	return trajectory, seconds, nil
}

// comparisons makes the steps of a campaign that only compares. Answers of "can't tell" are not
// steps; volunteered examples are steps that took no time.
func (f *follower) comparisons(times []float64) (Trajectory, []float64, error) {
	s := f.core.State()
	var trajectory Trajectory
	var seconds []float64
	best := f.truth.Worst
	cumulative := 0.0
	requests := 0
	var risk *Risk
	for i := range s.Questions {
		q := &s.Questions[i]
		if q.Form != events.FormComparison {
			continue
		}
		if !q.Volunteered {
			requests++
		}
		if len(q.Answer.Order) == 0 {
			continue
		}
		var value, chance float64
		for _, o := range q.Options {
			v, err := f.truth.Value(o.Parameters)
			if err != nil {
				return nil, nil, err
			}
			if f.truth.Regret(v) < f.truth.Regret(best) {
				best = v
			}
			value += v / float64(len(q.Options))
			beaten, err := f.beaten(q.Expert, o.Parameters, v)
			if err != nil {
				return nil, nil, err
			}
			chance += (beaten - 0.5) / float64(len(q.Options))
		}
		var err error
		if risk, err = f.risk(len(trajectory), q.Expert, q.Options, risk); err != nil {
			return nil, nil, err
		}
		cumulative += chance
		step := Step{True: value, Best: best, Cumulative: cumulative, Asked: requests, Risk: risk}
		step.Recommended = f.recommendedAfter(len(trajectory), f.truth.Regret(value))
		step.Regret = step.Recommended
		trajectory = append(trajectory, step)
		took := 0.0
		if !q.Volunteered && requests <= len(times) {
			took = times[requests-1]
		}
		seconds = append(seconds, took)
	}
	trajectory, err := f.settled(trajectory)
	return trajectory, seconds, err
}

// settled extends the trajectory to the end of the budget if the best
// composition was identified before: nothing is asked, and that composition is
// compared with itself (Kayal et al. 2025, Alg. 1).
func (f *follower) settled(trajectory Trajectory) (Trajectory, error) {
	s := f.core.State()
	if s.Reason != events.CompletedIdentified || len(trajectory) == 0 {
		return trajectory, nil
	}
	step := trajectory[len(trajectory)-1]
	value := f.truth.Best + f.truth.Sought.Sign()*step.Recommended
	step.True, step.Source = value, Identified
	beaten, err := f.beaten(s.Definition.Experts[0].Name, nil, value)
	if err != nil {
		return nil, err
	}
	for len(trajectory) < s.Definition.Budget.Comparisons {
		step.Cumulative += beaten - 0.5
		trajectory = append(trajectory, step)
	}
	return trajectory, nil
}

// Identified is the source of steps after the best composition was identified.
const Identified = "identified"

// beaten is P(x* ≻ x), the probability that an expert prefers the optimum to a
// composition of the given value: the simulated expert's own, reversed for a
// misleading one. Where the optimum's place is unknown, an anchored expert's
// noise there is taken to be that at x.
func (f *follower) beaten(expert string, p definition.Point, value float64) (float64, error) {
	accuracy := 1.0
	var variance float64 // of the difference of the two perceived values
	normal := false
	for _, e := range f.core.State().Definition.Experts {
		if e.Name != expert || e.Channel.Name != humansim.Name {
			continue
		}
		settings, err := humansim.SettingsOf(e)
		if err != nil {
			return 0, err
		}
		if a := settings.Accuracy; a != nil && *a != 0 {
			accuracy = math.Abs(*a)
		}
		if sd := settings.ChoiceNoise; sd != nil {
			variance, normal = 2**sd**sd, true
		}
	}
	if noise := f.noises[expert]; noise != nil && p != nil {
		here, err := noise(p)
		if err != nil {
			return 0, err
		}
		there := here
		if f.truth.BestAt != nil {
			if there, err = noise(f.truth.BestAt); err != nil {
				return 0, err
			}
		}
		variance, normal = here+there, true
	}
	if !normal {
		return 1 / (1 + math.Exp(-accuracy*(f.truth.rankOf(value)+3))), nil
	}
	regret := f.truth.Regret(value)
	if regret == 0 {
		return 0.5, nil
	}
	return 0.5 * math.Erfc(-regret/math.Sqrt(2*variance)), nil // 1 without noise
}

// source is where a store's task found a result, by the measurement's identity.
func source(identity string) string {
	first, _, _ := strings.Cut(identity, " ")
	if first == fromLog || first == fromSurrogate {
		return first
	}
	return ""
}

// meanTrust is the mean dual variable over the experts, nil for methods without one.
func meanTrust(s *campaign.State) *float64 {
	if len(s.Trust) == 0 {
		return nil
	}
	sum := 0.0
	for _, t := range s.Trust {
		sum += t.Lambda
	}
	mean := sum / float64(len(s.Trust))
	return &mean
}

// meanHelps is the mean probability that an expert helps, nil if unknown.
func meanHelps(all []policies.Help) *float64 {
	if len(all) == 0 {
		return nil
	}
	mean := 0.0
	for _, h := range all {
		mean += h.Helps / float64(len(all))
	}
	return &mean
}
