package tasks

import (
	"math"
	"math/rand/v2"
)

// search looks for the least of sign·value over the space of t: a compass
// search from each of the given number of starts, half of them uniform and
// half at corners, since the worst values of many tasks lie there. It is slow
// and obvious on purpose.
func search(t Task, sign float64, starts int) Extreme {
	rng := rand.New(rand.NewPCG(1, uint64(len(t.Name))))
	best := Extreme{Value: math.Inf(1)}
	for s := range starts {
		x := sample(t, rng, s%2 == 1)
		if v := descend(t, sign, x); v < best.Value {
			best = Extreme{At: x, Value: v}
		}
	}
	best.Value *= sign
	return best
}

// sample draws a point of the space; for a mixture by rejection on its last
// component, or, at a corner, by filling up components in random order.
func sample(t Task, rng *rand.Rand, corner bool) []float64 {
	d := len(t.Parameters)
	x := make([]float64, d)
	for {
		for i, p := range t.Parameters {
			u := rng.Float64()
			if n := len(p.Values); n > 0 {
				x[i] = p.Values[int(u*float64(n))]
				continue
			}
			if n := len(p.Categories); n > 0 {
				x[i] = math.Floor(u * float64(n))
				continue
			}
			if corner && t.Constraints == nil {
				u = math.Round(u)
			}
			x[i] = *p.Min + u*(*p.Max-*p.Min)
		}
		if t.Constraints == nil {
			return x
		}
		if corner {
			for i, p := range t.Parameters {
				x[i] = *p.Min
			}
			left := 1 - sum(x)
			for _, i := range rng.Perm(d) {
				add := min(left, *t.Parameters[i].Max-x[i])
				x[i] += add
				left -= add
			}
			return x
		}
		x[d-1] += 1 - sum(x)
		if x[d-1] >= *t.Parameters[d-1].Min && x[d-1] <= *t.Parameters[d-1].Max {
			return x
		}
	}
}

// descend moves x along the axes, or along exchanges of two components of a
// mixture, as long as that lowers sign·value, with ever smaller steps.
func descend(t Task, sign float64, x []float64) float64 {
	d := len(x)
	type move struct{ up, down int } // down < 0: along an axis
	var moves []move
	for i := range d {
		if t.Parameters[i].Categories != nil {
			continue // it stays in the one in which it began
		}
		if t.Constraints == nil {
			moves = append(moves, move{i, -1})
			continue
		}
		for j := range d {
			if i != j {
				moves = append(moves, move{i, j})
			}
		}
	}
	inside := func(i int, v float64) bool {
		return v >= *t.Parameters[i].Min && v <= *t.Parameters[i].Max
	}
	now := sign * t.value(x)
	try := func(m move, step float64) bool {
		a, b := x[m.up], 0.0
		v := a + step*(*t.Parameters[m.up].Max-*t.Parameters[m.up].Min)
		if m.down < 0 {
			v = min(max(v, *t.Parameters[m.up].Min), *t.Parameters[m.up].Max)
		} else {
			b = x[m.down]
			v = min(a+step, *t.Parameters[m.up].Max)
			v = min(v, a+b-*t.Parameters[m.down].Min)
			if v <= a || !inside(m.down, b-(v-a)) {
				return false
			}
			x[m.down] = b - (v - a)
		}
		x[m.up] = v
		if f := sign * t.value(x); f < now {
			now = f
			return true
		}
		x[m.up] = a
		if m.down >= 0 {
			x[m.down] = b
		}
		return false
	}
	for step := 0.25; step > 1e-10; step /= 2 {
		for range 200 {
			moved := false
			for _, m := range moves {
				if try(m, step) || m.down < 0 && try(m, -step) {
					moved = true
				}
			}
			if !moved {
				break
			}
		}
	}
	return now
}

func sum(x []float64) float64 {
	var s float64
	for _, v := range x {
		s += v
	}
	return s
}
