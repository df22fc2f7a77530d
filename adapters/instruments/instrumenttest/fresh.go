package instrumenttest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
)

// order is that of the two compositions in the check "fresh", after the first:
// each follows each about equally often, and of five runs in a row one at least
// follows the other composition, wherever one begins to count. A stale value
// shows only where the run before was at the other composition, and a fresh one
// only where it is repeated.
var order = []int{0, 1, 0, 1, 0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 1}

const (
	// LeastReadings is how many measurements the check "fresh" takes at least,
	// with the one before it: what comes seldom, or is small, is not seen in them.
	LeastReadings = 5
	// Readings is how many it takes by default. Every fifth value of another run is among them, and
	// the carry-over from one run to the next exceeds the noise.
	Readings = 11
	// confirmations is how many measurements a value of another run is to happen
	// in twice more: of ten that follow another one, a fifth.
	confirmations = 11
	// manyPoints is how many compositions have to give the same value before
	// that is taken for a fault.
	manyPoints = 4
)

// alone holds measurements made one command at a time at two compositions. Checks with two commands
// at a time compare with it.
type alone struct {
	points   [2]definition.Point
	readings []reading
}

// fresh measures at two compositions in turn. It looks for an instrument that reads before the
// sample has changed, or reports the last value for ever: each value is plausible alone, and all of
// them are wrong.
func fresh(ctx context.Context, s *Session) error {
	cmd, first, err := s.done(ctx)
	if err != nil {
		return err
	}
	a := &alone{points: [2]definition.Point{cmd.Parameters}}
	a.readings = []reading{{own: 0, before: -1, start: s.completed.start, value: gave(first)}}
	if err := s.take(ctx, a, order[0]); err != nil {
		return err
	}
	others := s.others(cmd.Parameters)
	if len(others) == 0 {
		return unjudged("there is only one composition to measure at: name another one")
	}
	if others, err = s.second(ctx, a, others); err != nil {
		return err
	}
	confirmed := false
	for _, which := range order[2:] {
		if err := s.take(ctx, a, which); err != nil {
			return err
		}
		if len(a.readings) < LeastReadings {
			continue
		}
		if which := swapped(a.readings); len(which) > 0 && !confirmed {
			confirmed = true
			if err := s.confirm(ctx, a, a.readings[which[0]]); err != nil {
				return err
			}
		}
		switch origins(a.readings) {
		case ofOwn:
			if len(a.readings) >= s.env.Readings {
				s.alone = a
				return nil
			}
		case ofBefore:
			return fmt.Errorf("its values are those of the run before, "+
				"and not of the composition they are given for: %s", a)
		case ofNothing:
			return s.constant(ctx, a, others)
		}
	}
	return unjudged("its values do not tell the two compositions apart, in %d measurements: %s. "+
		"Name compositions that differ more", len(a.readings), a)
}

// confirm measures on after one value was that of the run before, at as many
// compositions as there are, each of them another one than that before. Where it
// happens twice more, and no two values are the same otherwise, that is a fault;
// an instrument with few different values ties by chance, also with other runs.
func (s *Session) confirm(ctx context.Context, a *alone, suspect reading) error {
	found := fmt.Sprintf("at (%s) it gave %g, which is the value of the run before, at (%s)",
		composition(a.points[suspect.own]), suspect.value, composition(a.points[1-suspect.own]))
	points := append([]definition.Point{a.points[0]}, s.others(a.points[0])...)
	var more []reading
	for n := range confirmations {
		own := n % len(points)
		before := s.starts
		_, o, err := s.measuredAt(ctx, s.commandAt(points[own]))
		if err != nil {
			return err
		}
		more = append(more, reading{own: own, follows: s.starts == before+1, value: gave(o)})
	}
	if which := swapped(more); len(which) > 1 {
		last := which[len(which)-1]
		return fmt.Errorf("%s; and %s in %d more, the last %g at (%s), after (%s)",
			found, times(len(which)), len(more),
			more[last].value, composition(points[more[last].own]), composition(points[more[last-1].own]))
	}
	s.remark("%s; that was not confirmed in %d more measurements", found, len(more))
	return nil
}

// carry analyses the measurements of the check "fresh": A after A against A after B. A rinse that
// leaves a part of the last sample shows in no single value.
func carry(_ context.Context, s *Session) error {
	switch {
	case s.alone == nil:
		return skip("the check %q has given no values to compare", "fresh")
	case len(s.alone.readings) < Readings:
		return skip("%d measurements are too few to tell it from noise: it takes %d (Env.Readings, --readings)",
			len(s.alone.readings), Readings)
	}
	if part := carried(s.alone.readings); part != 0 {
		return fmt.Errorf("%.0f %% of what lies between the two compositions is carried over from the run before: %s",
			100*part, s.alone)
	}
	return nil
}

// second measures at the first of others where it can, which becomes the second composition. It
// returns those that were not tried. After an honest failure at one it goes on to the next, unless
// the failure says that it would succeed later.
func (s *Session) second(
	ctx context.Context, a *alone, others []definition.Point,
) ([]definition.Point, error) {
	var honest *noMeasurement
	for n, point := range others {
		a.points[1] = point
		err := s.take(ctx, a, 1)
		if err == nil || !errors.As(err, &honest) || honest.later || n == len(others)-1 {
			return others[n+1:], err
		}
	}
	return nil, nil
}

// take adds a reading. It notes the command that was started last before it, the source of a stale
// value. That may be a run of another check or a failed attempt in between; then before is −1, and
// the reading tells nothing about staleness.
func (s *Session) take(ctx context.Context, a *alone, which int) error {
	before := slices.IndexFunc(a.points[:],
		func(p definition.Point) bool { return maps.Equal(p, s.latest) })
	if s.latest == nil {
		before = -1
	}
	last := a.readings[len(a.readings)-1]
	starts := s.starts
	_, o, err := s.measuredAt(ctx, s.commandAt(a.points[which]))
	if err != nil {
		return err
	}
	a.readings = append(a.readings, reading{
		own: which, before: before, start: s.starts, value: gave(o),
		follows: last.start == starts && s.starts == starts+1,
	})
	return nil
}

// constant judges an instrument that gave one value at two compositions by
// further ones. A flat objective does so, too: it is a fault only at several
// compositions, and unjudged before.
func (s *Session) constant(ctx context.Context, a *alone, others []definition.Point) error {
	value := a.readings[0].value
	same := 2
	for _, point := range others {
		if same == manyPoints {
			break
		}
		_, o, err := s.measuredAt(ctx, s.commandAt(point))
		switch {
		case errors.As(err, new(*noMeasurement)):
			continue
		case err != nil:
			return err
		case gave(o) != value:
			return unjudged("it measures the same at (%s) and (%s): name compositions that differ",
				composition(a.points[0]), composition(a.points[1]))
		}
		same++
	}
	if same < manyPoints {
		return unjudged("it measured %g every time, at %d compositions: name others, at which it must differ",
			value, same)
	}
	return fmt.Errorf("it measured %g every time, at %d different compositions", value, same)
}

// String lists the readings: "A 1.2, B 3.4 …", so that a person sees the data of the test.
func (a *alone) String() string {
	text := fmt.Sprintf("A is (%s), B is (%s):", composition(a.points[0]), composition(a.points[1]))
	for _, r := range a.readings {
		text += fmt.Sprintf(" %c %g", "AB"[r.own], r.value)
	}
	return text
}

// others returns the safe points that are not p, the farthest first. Distances are in shares of the
// ranges that the points span: the farthest should differ most in their values.
func (s *Session) others(p definition.Point) []definition.Point {
	var others []definition.Point
	for _, q := range s.env.Points {
		listed := slices.ContainsFunc(others, func(o definition.Point) bool { return maps.Equal(o, q) })
		if !listed && !maps.Equal(p, q) {
			others = append(others, q)
		}
	}
	width := map[string]float64{}
	for name := range p {
		least, greatest := math.Inf(1), math.Inf(-1)
		for _, q := range append(others, p) {
			if x, ok := q[name].Float(); ok {
				least, greatest = min(least, x), max(greatest, x)
			}
		}
		width[name] = greatest - least
	}
	far := func(q definition.Point) (sum float64) {
		for name := range p {
			x, number := p[name].Float()
			y, _ := q[name].Float()
			switch {
			case number && width[name] > 0:
				sum += math.Abs(x-y) / width[name]
			case !number && p[name].Name() != q[name].Name():
				sum++
			}
		}
		return sum
	}
	slices.SortStableFunc(others, func(a, b definition.Point) int {
		switch d := far(b) - far(a); {
		case d > 0:
			return 1
		case d < 0:
			return -1
		}
		return 0
	})
	return others
}

// sideLevel is the level of the t test by which a value measured side by side
// differs from those measured alone. It is taken of two pairs, one after the
// other, and both have to differ.
const sideLevel = 0.001

// asAlone compares measurements side by side with those of the same compositions alone, and
// measures another pair where they differ. Noise alone makes one pair in hundreds differ; two in a
// row are a fault.
func (s *Session) asAlone(ctx context.Context, outcomes []instruments.Outcome) error {
	if s.alone == nil {
		return nil
	}
	if s.alone.differ(outcomes) == "" {
		return nil
	}
	_, again, err := s.pair(ctx)
	if err != nil {
		return err
	}
	if how := s.alone.differ(again); how != "" {
		return errors.New(how)
	}
	s.remark("of two pairs, one gave other values than its compositions give alone: %g and %g",
		gave(outcomes[0]), gave(outcomes[1]))
	return nil
}

// gave is the objective's value in an outcome with a measurement.
func gave(o instruments.Outcome) float64 { return o.Measurement.Objective.Value }

// differ says how values measured side by side differ from those measured alone
// by more than noise: by a t test with the spread within both compositions, and
// by at least a quarter of what lies between the two. It is empty where they do
// not.
func (a *alone) differ(outcomes []instruments.Outcome) string {
	var mean [2]float64
	var count [2]int
	for _, r := range a.readings {
		mean[r.own] += r.value
		count[r.own]++
	}
	mean[0] /= float64(count[0])
	mean[1] /= float64(count[1])
	free := float64(len(a.readings) - 2)
	variance := unexplained(a.readings,
		func(r reading) []float64 { return []float64{1, float64(r.own)} }) / free
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: free}.Quantile(1 - sideLevel/2)
	for n, o := range outcomes {
		value := gave(o)
		noise := t * math.Sqrt(variance*(1+1/float64(count[n])))
		if away := math.Abs(value - mean[n]); away > noise && away > math.Abs(mean[1]-mean[0])/4 {
			return fmt.Sprintf("side by side with (%s), it measured %g at (%s), where it measures %g alone; "+
				"at the other, %g alone",
				composition(a.points[1-n]), value, composition(a.points[n]), mean[n], mean[1-n])
		}
	}
	return ""
}
