package equip

import (
	"context"
	"errors"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
)

// A device that is off when a run begins is waited for as in the middle of one:
// it is asked again after firstAsked, and then after twice as long each time,
// at most longestAsked.
const (
	firstAsked   = 5 * time.Second
	longestAsked = 10 * time.Minute
)

// Described calls try, which asks an instrument for its description, until it succeeds, or fails
// for good. tell hears why it has no description yet ([instruments.ErrLater]), and when it is asked
// again. The error of an ended context is its cause. Only [instruments.ErrLater] is waited for: any
// other error would recur.
func Described(
	ctx context.Context, try func() error, tell func(err error, again time.Duration),
) error {
	for rest := firstAsked; ; rest = min(2*rest, longestAsked) {
		err := try()
		if !errors.Is(err, instruments.ErrLater) {
			return err
		}
		tell(err, rest)
		timer := time.NewTimer(rest)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}
