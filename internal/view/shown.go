package view

import "github.com/campaignd/campaignd/internal/engine"

// Shown keeps the summary of a campaign that was worked out last, for those who
// look at it: models take a while, and what is shown meanwhile is what they
// said last. The zero Shown is that of a campaign of which nothing has been
// worked out.
type Shown struct {
	revision engine.Revision
	summary  engine.Summary
	known    bool
}

// Keep keeps what was worked out of a revision of the campaign.
func (s *Shown) Keep(at engine.Revision, summary engine.Summary) {
	*s = Shown{revision: at, summary: summary, known: true}
}

// Of reports whether what is kept is of that revision.
func (s *Shown) Of(now engine.Revision) bool { return s.known && s.revision == now }

// Fill puts what models say into a summary that was counted of the campaign as
// it is now.
func (s *Shown) Fill(counted *engine.Summary) {
	if !s.known {
		return
	}
	counted.BestByModel = s.summary.BestByModel
	counted.NoModel = s.summary.NoModel
	counted.Preferred = s.summary.Preferred
	counted.Helps = s.summary.Helps
}
