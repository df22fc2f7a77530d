package simulated

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// ErrExamples is wrapped by the errors of [Reviewer.Examples] and
// [Reviewer.Comparisons] where the space has no compositions, or where the
// expert gives one of the two labels too rarely to balance them.
var ErrExamples = errors.New("there are no such examples")

// The greatest number of compositions that Examples labels, and how many are
// drawn at a time.
const (
	maxSampled = 200_000
	chunk      = 256
)

// Examples implements humans.InitialLabeler. Balanced examples are the first of
// a sequence of random compositions to get each label; they are given in the
// order they were drawn. The expert is never unsure of an example.
func (r *Reviewer) Examples(ctx context.Context, n int, balanced bool) ([]humans.Example, error) {
	want := map[events.Label]int{events.LabelAccept: n / 2, events.LabelReject: n - n/2}
	examples := make([]humans.Example, 0, max(n, 0))
	for drawn := 0; len(examples) < n; drawn += chunk {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if drawn >= maxSampled {
			return nil, fmt.Errorf("%w: of %d random compositions expert %s labeled too few as wanted "+
				"(missing: %d to accept, %d to reject); set balanced: false",
				ErrExamples, drawn, r.name, want[events.LabelAccept], want[events.LabelReject])
		}
		points := r.sample(chunk, r.word("sample", fmt.Sprint(drawn/chunk)))
		if len(points) == 0 {
			return nil, fmt.Errorf("%w: the space has no compositions to label", ErrExamples)
		}
		for k, p := range points {
			label, err := r.label(len(examples), fmt.Sprint("example ", drawn+k), p)
			if err != nil {
				return nil, fmt.Errorf("simulated expert %s: %w", r.name, err)
			}
			if balanced && want[label] == 0 {
				continue
			}
			want[label]--
			if examples = append(examples, humans.Example{Point: p, Label: label}); len(examples) == n {
				break
			}
		}
	}
	return examples, ctx.Err()
}

// Comparisons implements humans.InitialComparer. The expert is never unsure of
// an example. It panics if size is less than 2.
func (r *Reviewer) Comparisons(ctx context.Context, n, size int) ([]humans.Ranking, error) {
	if size < 2 {
		panic(fmt.Sprintf("simulated: a comparison of %d compositions", size))
	}
	compared := make([]humans.Ranking, 0, max(n, 0))
	drawn := 0
	var pool []definition.Point
	next := func() (p definition.Point, err error) {
		if len(pool) == 0 {
			if pool = r.sample(chunk, r.word("comparison sample", fmt.Sprint(drawn))); len(pool) == 0 {
				return nil, fmt.Errorf("%w: the space has no compositions to compare", ErrExamples)
			}
			drawn++
		}
		p, pool = pool[0], pool[1:]
		return p, nil
	}
	for k := range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		points := make([]definition.Point, 0, size)
		for repeats := 0; len(points) < size; {
			p, err := next()
			if err != nil {
				return nil, err
			}
			// Comparing a composition with itself teaches nothing, but a short
			// list may have no other.
			same := func(other definition.Point) bool { return maps.Equal(p, other) }
			if slices.ContainsFunc(points, same) && repeats < chunk {
				repeats++
				continue
			}
			points = append(points, p)
		}
		order, err := r.order(k, fmt.Sprint("comparison ", k), points)
		if err != nil {
			return nil, fmt.Errorf("simulated expert %s: %w", r.name, err)
		}
		compared = append(compared, humans.Ranking{Points: points, Order: order})
	}
	return compared, ctx.Err()
}
