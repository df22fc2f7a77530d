package outcomes

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
)

// One decision of a trade-off on n noiseless measurements of DTLZ2 in six
// dimensions: "cold" fits the model of each objective from scratch, as BoTorch
// does at each suggestion; "fitted" has its hyperparameters, as most decisions of
// a campaign do. internal/study/peers/outcomes/outcomes.py --decisions times BoTorch
// on the same measurements.
func BenchmarkTradeoff(b *testing.B) {
	for _, size := range []struct{ n, m int }{{50, 2}, {100, 2}, {100, 3}, {200, 3}, {100, 4}} {
		history := measured(b, size.n, size.m)
		for _, cold := range []bool{true, false} {
			b.Run(fmt.Sprintf("n=%d/m=%d/cold=%t", size.n, size.m, cold), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					c := &folded{Core: engine.NewCore(builtin.Registry())}
					for _, e := range history {
						c.feed(b, e)
					}
					if !cold {
						c.fit(b)
					}
					b.StartTimer()
					step := c.fit(b)
					if _, err := c.Decide(b.Context(), step, events.Build{}, idle); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// measured is the history of a campaign that has just measured n points.
func measured(b *testing.B, n, m int) []events.Event {
	task, _ := Lookup(fmt.Sprintf("dtlz2-%d", m))
	def := task.Definition(1, halfNearTheFront(n, m))
	def.Budget.Experiments = n + 1
	log, err := task.run(b.Context(), def, &device{task: task, seed: 1}, nil)
	if err != nil {
		b.Fatal(err)
	}
	var history []events.Event
	count := 0
	for e, err := range log.Read(b.Context(), 0) {
		if err != nil {
			b.Fatal(err)
		}
		history = append(history, e)
		if e.Kind == events.KindExperimentMeasured {
			if count++; count == n {
				break
			}
		}
	}
	return history
}

// halfNearTheFront are n points spread over the six dimensions by a Kronecker
// sequence, of the square roots of primes. In every second one the coordinates
// that measure the distance from the front of m objectives are a tenth as far
// from it.
func halfNearTheFront(n, m int) [][]float64 {
	points := make([][]float64, n)
	for i := range points {
		points[i] = make([]float64, 6)
		for j, prime := range []float64{2, 3, 5, 7, 11, 13} {
			_, x := math.Modf(float64(i+1) * math.Sqrt(prime))
			if i%2 == 1 && j >= m-1 {
				x = 0.5 + (x-0.5)/10
			}
			points[i][j] = x
		}
	}
	return points
}

// folded is a core with the number of events that it has seen.
type folded struct {
	*engine.Core
	events events.Sequence
}

// feed folds an event as the next one.
func (c *folded) feed(b *testing.B, e events.Event) {
	c.events++
	e.Sequence, e.ID = c.events, strconv.Itoa(int(c.events))
	if err := c.Apply(e); err != nil {
		b.Fatal(err)
	}
}

// idle is a world in which nothing is under way.
var idle = engine.World{Now: time.Unix(0, 0), Resources: engine.Only(engine.Resource{Capacity: 1})}

// fit fits and judges until there is a decision to make.
func (c *folded) fit(b *testing.B) engine.Decide {
	for {
		step, err := c.Next(idle)
		if err != nil {
			b.Fatal(err)
		}
		if decide, ok := step.(engine.Decide); ok {
			return decide
		}
		made, err := c.Make(b.Context(), step, events.Build{}, idle)
		if err != nil {
			b.Fatal(err)
		}
		e, err := events.New("dtlz2", made[0])
		if err != nil {
			b.Fatal(err)
		}
		c.feed(b, e)
	}
}
