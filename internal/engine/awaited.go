package engine

import (
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Awaited says what a batch under way waits for, by the log alone: a person first. What a run knows of
// its instruments besides is in its [Wait].
func Awaited(c Now, b *campaign.Batch) (text string, remedies []problem.Remedy) {
	return awaitedOf(c, b)
}
