package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/projections/campaign"
)

// togetherWithin is the time after the first outcome within which others belong to the same
// occurrence: a program reports the wells of a plate one after the other.
const togetherWithin = time.Minute

// occurrences groups experiments that gave no result, in the order of their ends: those that
// ended together, with one cause, are one occurrence. A plate of 24 that could not be made is
// no more evidence about the instrument than one experiment. A group is defined by its first:
// experiments that ended within the minute after that one belong to it, whatever came in
// between.
func occurrences(row []*campaign.Experiment) (groups [][]*campaign.Experiment) {
	for _, x := range row {
		i := slices.IndexFunc(groups, func(g []*campaign.Experiment) bool { return endedTogether(g[0], x) })
		if i < 0 {
			groups = append(groups, []*campaign.Experiment{x})
			continue
		}
		groups[i] = append(groups[i], x)
	}
	return groups
}

// endedTogether reports whether x ended with first: it was under way when first
// ended, so that nothing could be learned from the one for the other, and ended
// soon after it, in the same way and for the same reason.
func endedTogether(first, x *campaign.Experiment) bool {
	return x.Status == first.Status && x.Command.Instrument == first.Command.Instrument &&
		ownCause(x) == ownCause(first) &&
		!x.Command.DispatchedAt.IsZero() && x.Command.DispatchedAt.Before(first.EndedAt) &&
		x.EndedAt.Sub(first.EndedAt) <= togetherWithin
}

// ownCause is the cause of an experiment without a result, with the command's identifier
// removed. Programs like to name the command in their messages, which would make every cause a
// different one.
func ownCause(x *campaign.Experiment) string {
	if x.Command.ID == "" {
		return x.Cause
	}
	return strings.ReplaceAll(x.Cause, x.Command.ID, "")
}
