package drive_test

import (
	"context"
	"errors"
	"hash/fnv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// moody is a simulated instrument that works on several experiments at once and
// takes another time for each, so that results arrive in any order.
type moody struct {
	*simulated.Instrument
	capacity int
	mood     uint64
}

func (m moody) Describe(ctx context.Context) (instruments.Description, error) {
	d, err := m.Instrument.Describe(ctx)
	d.Capacity = m.capacity
	return d, err
}

func (m moody) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	h := fnv.New64a()
	h.Write([]byte(cmd.ID))
	time.Sleep(time.Duration((h.Sum64()^m.mood)%8) * 200 * time.Microsecond)
	return m.Instrument.Await(ctx, cmd)
}

// errKilled ends a run as a crash would: in the middle of anything.
var errKilled = errors.New("killed")

// Law: with several experiments under way, whatever the order of their results,
// however small the instrument, and killed at any place: never more are under way
// than the campaign allows, never more handed out than the instrument takes, no
// composition is suggested that is under way, the budget is kept, and the audit
// makes every decision again.
func TestParallel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		parallel, capacity := rapid.IntRange(1, 4).Draw(rt, "parallel"), rapid.IntRange(1, 4).Draw(rt, "capacity")
		finite := rapid.Bool().Draw(rt, "finite")
		def := electrolyte(t, rapid.Uint64Range(1, 1000).Draw(rt, "seed"), rapid.IntRange(4, 9).Draw(rt, "experiments"), func(def *definition.Campaign) {
			if rapid.Bool().Draw(rt, "unaided") {
				unaided(def)
			}
			def.Parallel = parallel
			if finite {
				for _, x := range []float64{0.3, 1, 1.8} {
					for _, y := range []float64{0, 1} {
						def.Candidates = append(def.Candidates, definition.Point{"lipf6": definition.Number(x), "ec": definition.Number(0.4), "dmc": definition.Number(y)})
					}
				}
			} else if rapid.Bool().Draw(rt, "steps") {
				def.Instrument.Steps = map[string]float64{"lipf6": 0.5, "ec": 0.1, "dmc": 0.5}
			}
		})
		log := memlog.New()
		for killed := true; killed; {
			instrument := must.Get(simulated.Driver.Open(t.Context(), def, instruments.Environment{}))(rt)
			r, err := studytest.Runner(t.Context(), log, def, moody{instrument.(*simulated.Instrument), capacity, rapid.Uint64().Draw(rt, "mood")})
			if err != nil {
				rt.Fatal(err)
			}
			ctx, kill := context.WithCancelCause(t.Context())
			after := events.Sequence(rapid.IntRange(5, 60).Draw(rt, "killed after")) + r.Core().State().Sequence
			r.Observe = func(core *engine.Core, _ engine.Wait) {
				if core.State().Status == campaign.Paused {
					kill(nil)
				} else if core.State().Sequence > after {
					kill(errKilled)
				}
			}
			err = r.Run(ctx)
			killed = errors.Is(err, errKilled)
			if err != nil && !killed && !errors.Is(err, context.Canceled) {
				rt.Fatal(err)
			}
		}
		all := history(t, log)
		checkParallel(rt, def, all, parallel, capacity)
		report, err := decisions.Audit(t.Context(), builtin.Registry(), log, def.Name, events.Build{}, nil)
		if err != nil || len(report.Mismatches) > 0 {
			rt.Fatalf("audit: %+v %v", report.Mismatches, err)
		}
	})
}

// checkParallel walks a history and reports what breaks the law.
func checkParallel(rt *rapid.T, def definition.Campaign, all []events.Event, parallel, capacity int) {
	core := engine.NewCore(builtin.Registry())
	for _, e := range all {
		payload := must.Get(events.Decode(e))(rt)
		if p, ok := payload.(*events.ExperimentRequested); ok && p.Origin == events.OriginPolicy {
			for _, x := range core.State().Experiments {
				if x.Status.Open() && sameKey(rt, core, x.Parameters, p.Parameters) {
					rt.Fatalf("event %d: %s repeats %s, which is under way", e.Sequence, p.Experiment, x.ID)
				}
			}
		}
		must.Do(rt, core.Apply(e))
		s := core.State()
		if n := s.Count(campaign.Dispatched, campaign.Started); n > capacity {
			rt.Fatalf("event %d: %d experiments were handed to an instrument that takes %d", e.Sequence, n, capacity)
		}
		if n := s.Count(campaign.Requested, campaign.Dispatched, campaign.Started); n > parallel {
			rt.Fatalf("event %d: %d experiments are under way, %d are allowed", e.Sequence, n, parallel)
		}
		if s.Spent() > def.Budget.Experiments {
			rt.Fatalf("event %d: %d of %d experiments are spent", e.Sequence, s.Spent(), def.Budget.Experiments)
		}
	}
}

func sameKey(rt *rapid.T, core *engine.Core, a, b definition.Point) bool {
	x, errX := core.Space().Key(a)
	y, errY := core.Space().Key(b)
	if errX != nil || errY != nil {
		rt.Fatal(errX, errY)
	}
	return x == y
}
