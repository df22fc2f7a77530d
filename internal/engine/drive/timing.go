package drive

import (
	"time"

	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/projections/campaign"
)

// timing holds a runner's knowledge of its clock. It belongs to the loop.
type timing struct {
	// steps notices that the machine's clock was set; nil for another clock.
	steps *clock.Steps
	// last is the time at which the clock was last looked at, even the time since
	// when it was not seen to be set back: at first the time of the first look,
	// since a process knows nothing of the clock of an earlier one.
	last, even time.Time
	// ahead is the total by which it was set ahead since resumed: a person who resumes the
	// campaign has accepted the clock.
	ahead   time.Duration
	resumed time.Time
}

// look takes in the clock's present time.
func (t *timing) look(now time.Time, s *campaign.State) {
	if t.even.IsZero() || now.Before(t.last) {
		t.even = now
	}
	t.last = now
	if !s.ResumedOn.Equal(t.resumed) {
		t.resumed, t.ahead = s.ResumedOn, 0
	}
	if t.steps != nil {
		t.ahead = max(0, t.ahead+t.steps.Look())
	}
}
