package drive_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/cobol"
)

// One COBOL decision from the moment a measurement and a label have arrived:
// the fit of the objective, that of the belief, both candidates, both bounds
// and the handover. d = 4.
func BenchmarkDecision(b *testing.B) {
	for _, n := range []int{25, 50, 100, 200} {
		b.Run(fmt.Sprintf("measurements=%d/labels=%d", n, n), func(b *testing.B) {
			history := undecided(b, n)
			b.ResetTimer()
			for b.Loop() {
				b.StopTimer()
				core, sequence := engine.NewCore(builtin.Registry()), events.Sequence(0)
				apply := func(e events.Event) {
					sequence++
					e.Sequence, e.ID = sequence, strconv.Itoa(int(sequence))
					must.Do(b, core.Apply(e))
				}
				for _, e := range history {
					apply(e)
				}
				b.StartTimer()
				for decided := false; !decided; {
					step, err := core.Next(engine.World{Now: time.Unix(0, 0), Resources: engine.Only(engine.Resource{Capacity: 1})})
					if err != nil {
						b.Fatal(err)
					}
					var made []events.Payload
					switch step := step.(type) {
					case engine.Fit, engine.Judge:
						made, err = core.Make(b.Context(), step, events.Build{}, engine.World{})
					case engine.Decide:
						if _, err := core.Decide(b.Context(), step, events.Build{}, engine.World{Now: time.Unix(0, 0)}); err != nil {
							b.Fatal(err)
						}
						decided = true
						continue
					default:
						b.Fatalf("unexpected step %T", step)
					}
					if err != nil {
						b.Fatal(err)
					}
					e := must.Get(events.New("ackley4", made[0]))(b)
					apply(e)
				}
			}
		})
	}
}

// undecided returns the history of a campaign with n random measurements and n
// random labels up to the first fit.
func undecided(b *testing.B, n int) []events.Event {
	b.Helper()
	def, err := studytest.Define("ackley4", 1, n+1, studytest.WithExpert(1), func(def *definition.Campaign) {
		def.Initial = definition.Initial{Experiments: ptr(n), Design: definition.DesignRandom, Labels: ptr(n), Balanced: ptr(false)}
		def.Policy.Handover = cobol.Width{Gate: ptr(false), OnlyIfDecisive: ptr(false)}.Choice()
	})
	if err != nil {
		b.Fatal(err)
	}
	log := memlog.New()
	must.Get(studytest.Simulate(b.Context(), log, def))(b)
	var all []events.Event
	for e := range must.Each(b, log.Read(b.Context(), 0)) {
		if e.Kind == events.KindModelFitted {
			break
		}
		all = append(all, e)
	}
	return all
}
