package answers

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/internal/num/channel"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/policies/step"
	"github.com/campaignd/campaignd/policies/turn"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
)

// WorthName is the name of the rule in a campaign file.
const WorthName = "worth"

// Defaults of the settings.
const (
	defaultLeast         = 0.002
	defaultShare         = 0.02
	defaultPerExperiment = 2
)

// Worth asks the expert to accept or reject a composition where the answer is
// expected to improve the next experiment by enough. Least, the absolute
// threshold, is what hands over to the model: what an experiment is expected to
// bring shrinks in the course of a campaign, and with it what an answer can
// add.
type Worth struct {
	// Least is the improvement of the next experiment below which nothing is
	// asked, in standard deviations of what has been measured. Default 0.002.
	Least *float64 `json:"least,omitempty" jsonschema:"minimum=0"`
	// Share is the same relative to what the next experiment is expected to
	// bring: a question may cost a fiftieth of it. Default 0.02.
	Share *float64 `json:"share,omitempty" jsonschema:"minimum=0"`
	// MaxPerExperiment is the largest number of questions before one
	// experiment. Default 2.
	MaxPerExperiment *int `json:"per_experiment,omitempty" jsonschema:"minimum=1"`
}

// Choice returns the choice of this rule.
func (s Worth) Choice() definition.Choice { return definition.NewChoice(WorthName, s) }

// Complete implements definition.Settings.
func (s *Worth) Complete(*definition.Campaign) {
	definition.DefaultTo(&s.Least, defaultLeast)
	definition.DefaultTo(&s.Share, defaultShare)
	definition.DefaultTo(&s.MaxPerExperiment, defaultPerExperiment)
}

// Check implements definition.Settings.
func (s *Worth) Check(def *definition.Campaign, _ definition.Path) []definition.Fault {
	if def.Policy.Trust.Name == Name {
		return nil
	}
	return []definition.Fault{{At: definition.At("policy", "handover"),
		Problem: "worth asks where an answer improves the model, and trust lets no answer into it",
		Remedy:  "write trust: answers, or handover: never"}}
}

// Words implements definition.Settings.
func (s *Worth) Words(*definition.Campaign) string {
	return fmt.Sprintf(
		"an expert is asked to accept or reject where that is expected to improve the next experiment by %s standard deviations"+
			" of what was measured, and by %s of what it is expected to bring; at most %s before one experiment",
		format.Optional(s.Least),
		format.Percent(*s.Share),
		format.Count(*s.MaxPerExperiment, "question"),
	)
}

const (
	// compared is on how many compositions the value of an answer is computed:
	// each needs a posterior for either answer. screened is of how many
	// space-filling points they are the best.
	compared = 12
	screened = 256
	// apart is the least distance between them, and fresh the least distance of
	// a question to an earlier one, in the unit cube.
	apart = 0.08
	fresh = 0.03
)

// ask puts a question if its answer is worth it. Otherwise the decision is unchanged, and
// notAsked explains that for the decision's reason; it is empty if this policy never asks. The
// test is recorded in either case, so that an audit can make it again.
func (p *policy) ask(
	ctx context.Context, s *step.Step, d policies.Decision, l *learned, informed *quantity.Model,
	best search.Result,
) (_ policies.Decision, notAsked string, err error) {
	switch {
	case p.worth == nil || len(p.def.Experts) == 0:
		return d, "", nil
	case s.QuestionsSpent():
		return d, fmt.Sprintf(" Nobody is asked: %s.", turn.WhyNotAsked(s.View.Campaign, s.Def)), nil
	case len(s.Turn) >= *p.worth.MaxPerExperiment:
		return d, fmt.Sprintf(" Nobody is asked any more before this experiment: %s is the most.",
			format.Count(*p.worth.MaxPerExperiment, "question")), nil
	}
	expert := p.def.Experts[s.Expert()].Name
	v, err := p.newValuation(ctx, s, l.whole(), expert, informed, best)
	if err != nil {
		return d, "", err
	}
	most, at := 0.0, -1
	for i, x := range v.points {
		if askedNear(s, expert, x) {
			continue
		}
		// Two posteriors for each composition: they are the cost of deciding on a question.
		value, err := v.of(ctx, s, i)
		if err != nil {
			return d, "", err
		}
		if value > most {
			most, at = value, i
		}
	}
	now := slices.Max(v.improvements(informed))
	least := max(*p.worth.Least, *p.worth.Share*now)
	unit := s.Def.Sought().Unit
	gain, floor := amount(most*s.Measured.Fit.Scale, unit), amount(least*s.Measured.Fit.Scale, unit)
	asks := at >= 0 && most >= least
	d.Tests = append(d.Tests, events.Test{
		Name: "worth asking: improvement of the next experiment", Left: most, Relation: ">=",
		Right: least, Holds: asks,
	})
	switch {
	case at < 0:
		return d, fmt.Sprintf(" Nobody is asked: no answer of %s is expected to improve it.", expert), nil
	case !asks:
		return d, fmt.Sprintf(
			" Nobody is asked: the answer of %s that would tell the most is expected to improve it by %s, and a question"+
				" has to by %s.",
			expert,
			gain,
			floor,
		), nil
	}
	point, err := s.View.Space.Snap(v.points[at])
	if err != nil {
		return d, "", err
	}
	r, err := s.Place(point)
	if err != nil {
		return d, "", err
	}
	if d, err = s.Add(d, policies.Queried, r); err != nil {
		return d, "", err
	}
	if err := l.predict(s, &d, informed, r); err != nil {
		return d, "", err
	}
	d.Chosen = policies.Queried
	reason := fmt.Sprintf(
		"%s's answer is expected to improve the next experiment by %s; a question is asked from %s on.",
		expert,
		gain,
		floor,
	)
	explanation := fmt.Sprintf(
		"What you say of it is expected to improve the next experiment by %s. It is not run because of that alone.",
		gain,
	)
	return d.Ask(events.FormLabel, expert, policies.RuleAsk, reason, explanation), "", nil
}

// valuation is the measure of an answer's value: the expected improvement on a fixed value, at
// a few compositions that might be run. Improvements are in standard deviations of the
// measurements, as the thresholds are.
type valuation struct {
	points [][]float64
	best   float64
	// others are all answers but the choices of the expert who may be asked,
	// which are own; the compositions are the last points of both.
	others *channel.Mixture
	own    channel.Answers
	first  int // index of the first of the compositions there
}

// newValuation chooses the compositions: the one that would be run, and the
// best of screened points that lie apart from each other. Everything that other
// experts said is conditioned on once, here; only the expert's own labels vary
// with the answer. Compositions that lie close to each other would be one
// choice, counted several times.
func (p *policy) newValuation(
	ctx context.Context, s *step.Step, said heard, expert string, informed *quantity.Model,
	best search.Result,
) (*valuation, error) {
	v := &valuation{best: math.Inf(1)}
	// The value to be improved on is the best mean at a measured composition:
	// it does not move with the answer, so that the values before and after it
	// can be compared.
	predictor := informed.NewPredictor()
	for i, x := range informed.X {
		if mean, _ := predictor.Posterior(x); !informed.IsOutside(i) {
			v.best = min(v.best, mean)
		}
	}
	starts, err := s.View.Space.Starts(screened, s.Seed())
	if err != nil {
		return nil, err
	}
	type scored struct {
		x     []float64
		value float64
	}
	all := make([]scored, len(starts))
	for i, x := range starts {
		mean, sd := predictor.Posterior(x)
		all[i] = scored{x, acquisition.EI(nil, mean, sd, v.best, nil, nil)}
	}
	slices.SortStableFunc(all, func(a, b scored) int {
		switch {
		case a.value > b.value:
			return -1
		case a.value < b.value:
			return 1
		}
		return 0
	})
	v.points = [][]float64{best.X}
	for _, c := range all {
		if len(v.points) == compared {
			break
		}
		if !slices.ContainsFunc(v.points, func(x []float64) bool { return within(x, c.x, apart) }) {
			v.points = append(v.points, c.x)
		}
	}
	v.first = len(said.points)
	v.others = channel.Begin(s.Measured.GP(), slices.Concat(said.points, v.points), p.config)
	for _, c := range said.channels {
		if c.expert == expert && c.kind == kindChoices {
			v.own = c.answers
			continue
		}
		if v.others, err = v.others.Add(ctx, c.answers); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// improvements are the expected improvements at the compositions. They are on the fixed value
// best, for any model.
func (v *valuation) improvements(m *quantity.Model) []float64 {
	predictor := m.NewPredictor()
	values := make([]float64, len(v.points))
	for i, x := range v.points {
		mean, sd := predictor.Posterior(x)
		values[i] = acquisition.EI(nil, mean, sd, v.best, nil, nil)
	}
	return values
}

// of is the value of a label at one of the compositions: how much better the
// best choice is expected to be once the answer y is known than the best choice
// of today,
//
//	V = Σ_y P(y) max_x EI(x | y)  −  max_x Σ_y P(y) EI(x | y).
//
// It is never negative, and 0 where both answers lead to the same choice. P(y)
// is the ratio of the evidence of either answer. The second term is not today's
// best improvement but that of the mean over both answers, so that the
// approximation of the posterior cannot make a question worth something by
// itself.
func (v *valuation) of(ctx context.Context, s *step.Step, at int) (float64, error) {
	var logs [2]float64
	var values [2][]float64
	for i, reject := range []bool{false, true} {
		own := v.own
		own.Labels = append(
			slices.Clone(own.Labels),
			channel.Label{Point: v.first + at, Reject: reject, Group: groupQuestions},
		)
		learned, err := v.others.With(ctx, own)
		if err != nil {
			return 0, err
		}
		m, err := s.Expecting(ctx, s.Measured.Given(learned.Objective))
		if err != nil {
			return 0, err
		}
		logs[i], values[i] = learned.LogEvidence, v.improvements(m)
	}
	rejects := 1 / (1 + math.Exp(logs[0]-logs[1]))
	expected := 0.0
	for i := range v.points {
		expected = max(expected, (1-rejects)*values[0][i]+rejects*values[1][i])
	}
	return (1-rejects)*slices.Max(values[0]) + rejects*slices.Max(values[1]) - expected, nil
}

// askedNear reports whether an expert has been asked about a composition that
// hardly differs from x. Also where they did not answer: asking again would not
// help.
func askedNear(s *step.Step, expert string, x []float64) bool {
	return slices.ContainsFunc(s.View.Campaign.Questions, func(q campaign.Question) bool {
		if q.Expert != expert || q.Form != events.FormLabel {
			return false
		}
		u, err := s.View.Space.Encode(q.Composition())
		return err == nil && within(u, x, fresh)
	})
}

// within reports whether the Euclidean distance of two points is at most
// distance.
func within(x, y []float64, distance float64) bool {
	squares := 0.0
	for i := range x {
		squares += (x[i] - y[i]) * (x[i] - y[i])
	}
	return squares <= distance*distance
}
