package engine

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
)

// A measurement is suspect if it deviates from the prediction made without it by the
// definition's threshold, in standard deviations of the prediction, and by leastDeviation, in
// standard deviations of all measurements: a deviation that is significant and small derails
// nothing, and is not worth an experiment. Another measurement of its composition that agrees
// with it clears it.
const leastDeviation = 1.0

// seenFactor multiplies the threshold for a measurement that a fit has believed
// already: it is compared after each further measurement, and is more likely to
// look odd some time.
const seenFactor = 1.25

// Two measurements of a composition agree within so many standard deviations of
// their difference. The noise counts as at least leastNoise of the spread of
// all measurements: where it is inferred it is not known better.
const (
	agreement  = 4.0
	leastNoise = 0.01
)

// nextOutlier has each measurement judged before a fit relies on it, doubts those far from
// their prediction, and settles doubts whose repetition has been measured.
//
// Three steps follow each other: a judgment is recorded, then each doubt is settled or raised
// from that record alone, and only then may a fit follow. One doubt is raised at a time, since
// each changes the predictions that the others are compared with.
func nextOutlier(c Now) (Step, error) {
	outliers := c.Definition.Outliers
	if outliers.Threshold == nil ||
		outliers.Action != definition.OutlierRepeat && outliers.Action != definition.OutlierFlag {
		return nil, nil
	}
	// A repetition must find a place.
	room := underWay(c.State) < c.Definition.Parallel
	if !c.objective.Judged() && (settles(c) || room && c.objective.HasUnreviewed()) {
		return Judge{Version: c.objective.Version()}, nil
	}
	for _, o := range c.objective.SuspectedOutliers() {
		if payloads := settled(c, o); payloads != nil {
			return Record{payloads}, nil
		}
	}
	if !room {
		return nil, nil
	}
	// The worst first: it may be what makes others look odd.
	var worst quantity.Observation
	var expectedOfWorst events.Expected
	greatest := 0.0
	for _, expected := range c.objective.Expected() {
		observed := c.objective.Of(expected.Experiment)
		if observed == nil || observed.Suspect {
			continue // in a log that was changed, an audit meets a judgment of what was never measured
		}
		o := *observed
		off := o.Value - expected.Predicted.Mean
		deviation, threshold := off/expected.Predicted.SD, *outliers.Threshold
		if !c.objective.Unseen(o) {
			threshold *= seenFactor
		}
		if math.Abs(deviation) < threshold || math.Abs(off) < leastDeviation*expected.Spread {
			continue
		}
		if math.Abs(deviation) > math.Abs(greatest) && !replicated(c, o, expected) {
			worst = o
			expectedOfWorst = expected
			greatest = deviation
		}
	}
	if greatest == 0 {
		return nil, nil
	}
	return Record{flagOutlier(c, worst, expectedOfWorst, greatest)}, nil
}

// judge makes the judgment of a step: the prediction of each measurement that is to be judged,
// or whose doubt can be settled. The only errors are that of a cancelled context and of a
// composition outside the space.
//
// Imported measurements are not judged: they were made elsewhere and cannot be requested again.
// Nor are repetitions, which settle doubts.
func judge(ctx context.Context, c Now, build events.Build) (*events.MeasurementsJudged, error) {
	var judged []quantity.Observation
	for _, o := range c.objective.SuspectedOutliers() {
		if repetition(c, o) != nil {
			judged = append(judged, o)
		}
	}
	unreviewed, err := c.objective.Unreviewed(ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range unreviewed {
		if c.Experiment(o.Experiment).Origin != events.OriginImport && !RepeatsSuspect(c, o.Experiment) {
			judged = append(judged, o)
		}
	}
	payload := &events.MeasurementsJudged{Build: build, Version: projections.Version}
	for _, o := range judged {
		seed := seedFor(c.Definition.Seed, "expect", o.Experiment, c.objective.Revision())
		expected, ok, err := c.objective.LeaveOneOut(ctx, o, seed)
		if err != nil {
			return nil, fmt.Errorf("judging %s: %w", o.Experiment, err)
		}
		if ok {
			payload.Expected = append(payload.Expected, expected)
		}
	}
	return payload, nil
}

// settles reports whether a doubt can be settled.
func settles(c Now) bool {
	return slices.ContainsFunc(c.objective.SuspectedOutliers(), func(o quantity.Observation) bool {
		return repetition(c, o) != nil
	})
}

// repetition returns the measurement that settles a doubt about another; nil if none is
// available (yet), or if a person decides. One that was made elsewhere, or that a person has
// excluded, settles nothing.
func repetition(c Now, o quantity.Observation) *quantity.Observation {
	x := c.Experiment(o.Experiment)
	if x.Flag == nil || x.Flag.Repetition == "" {
		return nil
	}
	repetition := c.objective.Of(lastTry(c.State, x.Flag.Repetition))
	if repetition == nil || repetition.Excluded || c.Experiment(repetition.Experiment).Elsewhere {
		return nil
	}
	return repetition
}

// agree reports whether two measurements of a composition agree.
func agree(a, b float64, expected events.Expected) bool {
	return math.Abs(a-b) <= agreement*math.Sqrt2*max(expected.Noise, leastNoise*expected.Spread)
}

// replicated reports whether another measurement of its composition agrees with
// an observation.
func replicated(c Now, o quantity.Observation, expected events.Expected) bool {
	return slices.ContainsFunc(c.objective.Replicates(o), func(other quantity.Observation) bool {
		return agree(o.Value, other.Value, expected)
	})
}

// flagOutlier flags a measurement, and requests its repetition where that is
// wanted and possible.
//
// The reason tells why it is not repeated: the budget is spent, the composition is excluded, or
// it was made elsewhere.
func flagOutlier(
	c Now, o quantity.Observation, expected events.Expected, deviation float64,
) []events.Payload {
	x := c.Experiment(o.Experiment)
	flag := flag(c.State, o, expected, deviation, events.VerdictSuspect)
	flag.Reason = fmt.Sprintf("It is %s, and %s was expected from %d measurements of other compositions: ",
		amount(c.State, o.Value), interval(c.State, expected), expected.Observations)
	switch {
	case c.Definition.Outliers.Action == definition.OutlierFlag:
		flag.Reason += "look at it; it counts all the same."
	case x.Elsewhere:
		flag.Reason += "it was made elsewhere than was asked for, so that asking again says nothing of it; it is left out until a person decides."
	case c.Left() <= 0 || c.space.Contains(x.Parameters) != nil:
		flag.Reason += "it cannot be repeated any more, and is left out until a person decides."
	default:
		repetition := Retry(c.State, x, 1+RunsOf(c, x.Parameters))
		flag.Repetition = repetition.Experiment
		flag.Reason += fmt.Sprintf("it is measured again as %s, and left out until then.", repetition.Experiment)
		return []events.Payload{flag, repetition}
	}
	return []events.Payload{flag}
}

// settled returns the verdict that a repetition gives on a suspect measurement; nil without a
// repetition. If the two agree, the measurement is confirmed. If not, the one nearer to the
// prediction stands.
//
// Agreement has to be closer than the distance to the prediction: two values that both lie far
// off in the same way confirm each other.
func settled(c Now, o quantity.Observation) []events.Payload {
	repetition := repetition(c, o)
	if repetition == nil {
		return nil
	}
	expected, ok := expected(c, o)
	if !ok { // what it rested on has been excluded since
		predicted := c.Experiment(o.Experiment).Flag.Predicted
		expected = events.Expected{Experiment: o.Experiment, Predicted: predicted, Spread: predicted.SD}
	}
	apart := math.Abs(repetition.Value - o.Value)
	toExpected := math.Abs(repetition.Value - expected.Predicted.Mean)
	settle := func(o quantity.Observation, verdict events.Verdict, other, reason string) events.Payload {
		flag := flag(c.State, o, expected, (o.Value-expected.Predicted.Mean)/expected.Predicted.SD, verdict)
		flag.Repetition, flag.Reason = other, reason
		return flag
	}
	again := fmt.Sprintf(
		"%s measured %s at the same composition", repetition.Experiment, amount(c.State, repetition.Value),
	)
	switch {
	case agree(o.Value, repetition.Value, expected) && apart < toExpected:
		return []events.Payload{
			settle(
				o, events.VerdictConfirmed, repetition.Experiment,
				again+", which agrees with it: both count.",
			),
		}
	case toExpected <= math.Abs(o.Value-expected.Predicted.Mean):
		reason := fmt.Sprintf("%s, nearer to the %s that was expected: %s is left out.",
			again, interval(c.State, expected), o.Experiment)
		return []events.Payload{settle(o, events.VerdictOverturned, repetition.Experiment, reason)}
	}
	return []events.Payload{
		settle(
			o, events.VerdictConfirmed, repetition.Experiment,
			again+", even further from what was expected: the first one stands.",
		),
		settle(*repetition, events.VerdictOverturned, o.Experiment,
			fmt.Sprintf("%s measured %s at the same composition, nearer to the %s that was expected: %s is left out.",
				o.Experiment, amount(c.State, o.Value), interval(c.State, expected), repetition.Experiment)),
	}
}

// keep clears, in the engine's name, a suspect measurement whose composition the instrument can
// measure only once. Only a person can settle that doubt, and a campaign that left out all it
// cannot repeat would learn least from the most surprising results.
func keep(c Now, repetition string) []events.Payload {
	o := suspectRepeatedBy(c, repetition)
	if o == nil {
		return nil
	}
	kept := *c.Experiment(o.Experiment).Flag
	kept.Verdict, kept.Repetition = events.VerdictKept, ""
	kept.Reason = fmt.Sprintf(
		"It is %s, and %s was expected. The instrument cannot measure it again: it counts, in doubt until a person decides.",
		amount(c.State, o.Value), interval(c.State, events.Expected{Predicted: kept.Predicted}),
	)
	return []events.Payload{&kept}
}

// lastTry follows a repetition that was put off to the experiment that took its
// place. It is the later experiment of the same composition, decision, origin
// and replicate: what Retry requests.
func lastTry(s *campaign.State, id string) string {
	x := s.Experiment(id)
	if x == nil {
		return ""
	}
	for i := events.ExperimentNumber(id); i < len(s.Experiments) && x.Status == campaign.Deferred; i++ {
		y := &s.Experiments[i]
		if y.Replicate == x.Replicate && y.Decision == x.Decision && y.Origin == x.Origin &&
			maps.Equal(x.Parameters, y.Parameters) {
			x = y
		}
	}
	return x.ID
}

// RepeatsSuspect reports whether an experiment repeats one that is in doubt, so that its result
// is about that doubt.
func RepeatsSuspect(c Now, id string) bool {
	return suspectRepeatedBy(c, id) != nil && !c.Experiment(id).Elsewhere
}

// suspectRepeatedBy returns the measurement in doubt that an experiment was requested to
// settle, or nil.
func suspectRepeatedBy(c Now, id string) *quantity.Observation {
	for _, o := range c.objective.SuspectedOutliers() {
		flag := c.Experiment(o.Experiment).Flag
		if flag != nil && flag.Repetition != "" && lastTry(c.State, flag.Repetition) == id {
			return &o
		}
	}
	return nil
}

// flag is the word on a measurement without its reason and repetition.
func flag(
	s *campaign.State, o quantity.Observation, expected events.Expected, deviation float64, verdict events.Verdict,
) *events.MeasurementFlagged {
	return &events.MeasurementFlagged{
		Experiment: o.Experiment, Verdict: verdict, Deviation: deviation,
		Predicted: expected.Predicted, Quantity: doubted(s),
	}
}

// doubted names the doubted quantity if the campaign declares several: it is the objective.
// Doubts about the others are not raised. Of a formula it is not known which of its quantities
// is wrong: the whole measurement is in doubt.
func doubted(s *campaign.State) string {
	sought := sought(s)
	if !s.Definition.Several() || sought.Computed() {
		return ""
	}
	return sought.Name
}

// expected returns the present judgment's prediction of an observation.
func expected(c Now, o quantity.Observation) (events.Expected, bool) {
	for _, expected := range c.objective.Expected() {
		if expected.Experiment == o.Experiment {
			return expected, true
		}
	}
	return events.Expected{}, false
}

// amount writes a value of the objective, interval a prediction.
func amount(s *campaign.State, value float64) string {
	return strings.TrimSpace(fmt.Sprintf("%.4g %s", value, sought(s).Unit))
}

// interval writes a prediction: the mean ± one standard deviation, noise of a measurement
// included.
func interval(s *campaign.State, e events.Expected) string {
	return strings.TrimSpace(fmt.Sprintf(
		"%.4g ± %.2g %s", e.Predicted.Mean, e.Predicted.SD, sought(s).Unit,
	))
}
