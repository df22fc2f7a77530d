package view

import (
	"iter"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
)

// ActRecord is an act with its course, for programs.
type ActRecord struct {
	campaign.Act
	// Attempt counts the acts of its stage for the same experiments, this one included.
	Attempt int `json:"attempt" doc:"Which act of its stage it is for its experiments, from 1."`
	// DueAt is when it could have begun: until it was dispatched it waited for its instrument, a place
	// or a stock.
	DueAt      time.Time       `json:"due_at" doc:"When it could have begun: the stages before it had ended, and their times had come."`
	AcceptedAt time.Time       `json:"accepted_at,omitzero" doc:"When its instrument confirmed it."`
	Files      []campaign.File `json:"files,omitempty" doc:"Those that its instrument gave, without those that were withdrawn."`
}

// ActRecords are the records of acts, in their order.
func (t *Timeline) ActRecords(s *campaign.State, acts iter.Seq[*campaign.Act]) (all []ActRecord) {
	accepted := make(map[string]time.Time)
	for _, line := range t.Lines {
		if line.Kind == events.KindActAccepted {
			accepted[line.Subject] = line.Time
		}
	}
	for a := range acts {
		all = append(all, ActRecord{
			Act: *a, Attempt: try(s, a), DueAt: couldBegin(s, a), AcceptedAt: accepted[a.ID], Files: s.FilesGiven(a),
		})
	}
	return all
}
