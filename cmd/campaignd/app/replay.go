package app

import (
	"context"
	"math"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// replayed is the document of `replay --json`. Two programs that print the same
// digest for the same position have folded the same state. State is one of the
// projections, for people to read; the digest covers all.
type replayed struct {
	Campaign string `json:"campaign"`
	// Position and Sequence are those of the last event that was folded.
	Position events.Position `json:"position"`
	Sequence events.Sequence `json:"sequence"`
	State    *campaign.State `json:"state"`
	// Digest is the SHA-256 of all projections, in hexadecimal.
	Digest string `json:"digest"`
}

// replayCommand is `campaignd replay`.
//
// It folds the log itself, from the first event, and uses no snapshot: others are compared with it.
var replayCommand = command{
	name: "replay",
	args: cobra.MaximumNArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		var at uint64
		flags.Uint64Var(&at, "at", 0, "the `position` of the last event to read (default: the newest)")
		return func(c *call, args []string) error {
			_, s, err := c.openToRead(c.ctx, args)
			if err != nil {
				return err
			}
			defer s.Close()
			limit := events.Position(math.MaxUint64) // the campaign as it is
			if c.cmd.Flags().Changed("at") {
				limit = events.Position(at)
				if there, err := holdsPosition(c.ctx, s.Log(), limit); err != nil {
					return err
				} else if !there {
					return badInput("there is no position %d; they go from 1 to %d",
						at, s.Log().Last())
				}
			}
			core, position, err := replayTo(c, s, limit)
			if err != nil {
				return err
			}
			digest, err := core.Digest()
			if err != nil {
				return err
			}
			state := core.State()
			if c.json {
				return c.printJSON(replayed{
					Campaign: s.name,
					Position: position,
					Sequence: state.Sequence,
					State:    state,
					Digest:   digest,
				})
			}
			summary, err := core.Summarize(c.ctx)
			if err != nil {
				return err
			}
			stands := view.Summarized(core, summary)
			c.printf("Campaign %s after position %d (its event %d): %s\n\n",
				s.name, position, stands.Sequence, stands.StatusText())
			for _, row := range append(stands.Effort(), stands.Found()...) {
				c.printf("  %-12s %s\n", row.Name, row.Text)
			}
			c.printf("  digest       %s\n", digest)
			return nil
		}
	},
}

// holdsPosition reports whether the log has an event at or beyond a position.
// Log.Last would not do: events may have been added since.
func holdsPosition(ctx context.Context, log events.Log, p events.Position) (bool, error) {
	if p == 0 {
		return false, nil
	}
	for _, err := range log.Read(ctx, p-1) {
		return err == nil, err
	}
	return false, nil
}

// replayTo folds a campaign's events up to and with a position of the log, and returns the position
// of the last one. It reads no snapshot: its output is to be compared with those. A position before
// the campaign's definition is bad input. Positions count over all campaigns of the store, so that
// the campaign's own last event up to there is looked for first.
func replayTo(c *call, s *session, limit events.Position) (core *engine.Core, at events.Position, err error) {
	last, at, err := view.LastUpTo(c.ctx, s.Log(), s.name, limit)
	if err != nil {
		return nil, 0, err
	}
	core = engine.NewCore(c.registry)
	if err := core.Forward(c.ctx, s.Log(), s.name, last); err != nil {
		return nil, 0, err
	}
	if core.State().Status == campaign.Undefined {
		return nil, 0, badInput("at position %d the campaign %s is not defined yet",
			min(limit, s.Log().Last()), s.name)
	}
	return core, at, nil
}
