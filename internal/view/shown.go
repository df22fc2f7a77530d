package view

import (
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/policies"
)

// Shown keeps the summary that was last computed for a campaign: models take a
// while, and displays show the last one meanwhile. The zero Shown is that of a
// campaign for which nothing was computed.
type Shown struct {
	revision engine.Revision
	summary  engine.Summary
	known    bool
}

// Keep keeps the summary of a revision of the campaign.
func (s *Shown) Keep(at engine.Revision, summary engine.Summary) {
	*s = Shown{revision: at, summary: summary, known: true}
}

// Of reports whether the kept summary is of that revision.
func (s *Shown) Of(now engine.Revision) bool { return s.known && s.revision == now }

// Helps is the worth of experts' labels as known then; nil before any was known.
func (s *Shown) Helps() []policies.Help { return s.summary.Helps }

// Fill copies the models' statements into a summary that was counted from the campaign as it is
// now. The counts are of now, and the models' statements may be of an earlier revision; [Shown.Of]
// tells the caller.
func (s *Shown) Fill(counted *engine.Summary) {
	if !s.known {
		return
	}
	counted.BestByModel = s.summary.BestByModel
	counted.Tradeoff = s.summary.Tradeoff
	counted.Ranking = s.summary.Ranking
	counted.NoModel = s.summary.NoModel
	counted.Preferred = s.summary.Preferred
	counted.Helps = s.summary.Helps
}
