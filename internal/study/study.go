// Package study is shared by whole simulated campaigns in memory, those of tests (studytest) and of
// scientific comparisons (simulate).
package study

import (
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/space"
)

// Reviewers returns the simulated experts of a definition by name.
func Reviewers(def definition.Campaign) (map[string]humans.Reviewer, error) {
	sp, err := space.New(def)
	if err != nil {
		return nil, err
	}
	var failed error
	sample := func(n int, seed uint64) []definition.Point {
		points, err := sp.Sample(n, seed)
		if err != nil {
			failed = err
		}
		return points
	}
	reviewers := make(map[string]humans.Reviewer, len(def.Experts))
	for _, expert := range def.Experts {
		if expert.Asked() {
			continue
		}
		reviewer, err := humansim.New(expert, def, sample)
		if err != nil {
			return nil, err
		}
		reviewers[expert.Name] = reviewer
	}
	return reviewers, failed
}

// Epoch is the time at which simulated campaigns begin; they take no time.
var Epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Clock returns a clock that begins at a fixed time and advances by one second
// with each reading.
func Clock() func() time.Time {
	now := Epoch
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}
