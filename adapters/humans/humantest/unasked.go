package humantest

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
)

// examples asks twice for each number: what starts a campaign must be
// repeatable from its seed. No example at all is a number too. A balanced half
// is rounded down for the accepted ones. The usual faults are a generator that
// goes on from where it was, so that the second run begins another campaign
// than the first, and rounding: seven balanced examples are three and four.
func examples(ctx context.Context, s *session) error {
	e, ok := s.reviewer.(humans.InitialLabeler)
	if !ok {
		return fmt.Errorf("%w: the expert names no examples unasked", ErrSkipped)
	}
	for _, n := range []int{0, 1, 7, 10} {
		for _, balanced := range []bool{true, false} {
			got, err := e.Examples(ctx, n, balanced)
			if err != nil {
				return fmt.Errorf("%d examples, balanced %v: %w", n, balanced, err)
			}
			count := make(map[events.Label]int)
			for _, x := range got {
				count[x.Label]++
			}
			accepted, rejected := count[events.LabelAccept], count[events.LabelReject]
			switch {
			case len(got) != n || accepted+rejected != n:
				return fmt.Errorf("%d examples, balanced %v: got %d, %d accepted and %d rejected",
					n, balanced, len(got), accepted, rejected)
			case balanced && accepted != n/2:
				return fmt.Errorf("%d balanced examples: %d accepted and %d rejected", n, accepted, rejected)
			}
			again, err := e.Examples(ctx, n, balanced)
			if err != nil {
				return err
			}
			if len(got) > 0 && !reflect.DeepEqual(got, again) {
				return fmt.Errorf("%d examples, balanced %v: others the second time", n, balanced)
			}
		}
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := e.Examples(over, 10, true); err == nil {
		return errors.New("there were examples, and no error, after the context was over")
	}
	return nil
}

// comparisons is the same for comparisons, of two and of more. An order of each
// must be one that an answer to such a question could have. Sizes of two and
// four: code that knows only pairs passes with the first.
func comparisons(ctx context.Context, s *session) error {
	c, ok := s.reviewer.(humans.InitialComparer)
	if !ok {
		return fmt.Errorf("%w: the expert compares no examples unasked", ErrSkipped)
	}
	for _, n := range []int{0, 1, 7} {
		for _, size := range []int{2, 4} {
			got, err := c.Comparisons(ctx, n, size)
			if err != nil {
				return fmt.Errorf("%d comparisons of %d: %w", n, size, err)
			}
			if len(got) != n {
				return fmt.Errorf("%d comparisons of %d: got %d", n, size, len(got))
			}
			for _, x := range got {
				if len(x.Points) != size {
					return fmt.Errorf("a comparison of %d compositions has %d", size, len(x.Points))
				}
				if err := (events.Answer{Order: x.Order}).Check(events.FormComparison, size,
					nil); err != nil {
					return fmt.Errorf("a comparison of %d compositions: %w", size, err)
				}
			}
			again, err := c.Comparisons(ctx, n, size)
			if err != nil {
				return err
			}
			if n > 0 && !reflect.DeepEqual(got, again) {
				return fmt.Errorf("%d comparisons of %d: others the second time", n, size)
			}
		}
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.Comparisons(over, 10, 2); err == nil {
		return errors.New("there were comparisons, and no error, after the context was over")
	}
	return nil
}
