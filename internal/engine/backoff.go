package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/campaignd/campaignd/projections/campaign"
)

// An instrument that puts an experiment off, or fails twice in a row, is left alone before it
// is given the next one: at first for firstRest, then for twice as long each time, at most for
// longestRest. It may be rebooting, and a person may be on the way to the door that is open.
// Experiments that ended together count once (see together.go). An experiment put off until
// patience ran out is left to a person.
const (
	firstRest   = 5 * time.Second
	longestRest = 10 * time.Minute
	patience    = time.Hour
)

// failingRow returns the experiments that the instrument gave nothing for, one after the other,
// last, for a reason that need not be their composition's: in the order of their ends, which
// with several under way is not that of their requests. Any other end, including a person's
// word, ends the row; so does resuming.
//
// ResumedAt is the number of experiments requested before the last resumption,
// ResumedOn its time: one that was requested before it and ended after it
// counts, for its instrument was still the one in doubt.
func failingRow(s *campaign.State) (row []*campaign.Experiment) {
	var last *campaign.Experiment // that ended in another way
	for i := range s.Experiments {
		x := &s.Experiments[i]
		switch {
		case x.Status.Open() || i < s.ResumedAt && !x.EndedAt.After(s.ResumedOn):
		case blamesInstrument(x):
			row = append(row, x)
		case last == nil || !x.EndedAt.Before(last.EndedAt):
			last = x
		}
	}
	row = slices.DeleteFunc(
		row,
		func(x *campaign.Experiment) bool { return last != nil && x.EndedAt.Before(last.EndedAt) },
	)
	sortByEnd(row)
	return row
}

// blamesInstrument reports whether an experiment counts against the instrument. A composition
// that cannot be made is a sign of a working instrument.
func blamesInstrument(x *campaign.Experiment) bool {
	return withoutResult(x) && x.Status != campaign.Infeasible
}

// restsUntil returns until when the instrument is left alone, by the times of
// the log alone; zero where it need not be. One failure may happen to anybody,
// and a person at the bench knows when to go on.
//
// It reads the times of events and no clock, unless that was set back, so that a
// process that takes the campaign over rests until the same moment, and an audit
// finds the same steps.
// Unless the row begins with a deferral its first occurrence does not count
// (n--).
func restsUntil(c Now) time.Time {
	row := failingRow(c.State)
	if len(row) == 0 {
		return time.Time{}
	}
	return restFrom(c, len(occurrences(row)), row[0].Status == campaign.Deferred, row[len(row)-1].EndedAt, "")
}

// restFrom returns until when an instrument is left alone after n occurrences in a row, the last of which
// ended then; putOff is set where the row begins with a deferral.
func restFrom(c Now, n int, putOff bool, ended time.Time, resource string) time.Time {
	if !putOff {
		n--
	}
	if n == 0 || c.Eager || c.Definition.At(resource).ByHand {
		return time.Time{}
	}
	rest := longestRest
	if n < 10 { // no overflow
		rest = min(rest, firstRest<<(n-1))
	}
	return c.end(ended, ended.Add(rest))
}

// rest describes why the experiment x waits, and until when. It is called only if restsUntil
// has a time, so that the row is not empty.
func rest(s *campaign.State, x *campaign.Experiment, until time.Time) string {
	row := failingRow(s)
	last := row[len(row)-1]
	name := last.Command.Instrument
	if name == "" {
		name = "the instrument"
	}
	at := until.Format(time.TimeOnly)
	if last.Status == campaign.Deferred {
		return fmt.Sprintf(
			"%s, which puts off %s (%s); tried again as %s at %s", name, last.ID, last.Cause, x.ID,
			at,
		)
	}
	return fmt.Sprintf(
		"%s, which gave no result %d times in a row (%s: %s); %s follows at %s", name, len(occurrences(row)),
		last.ID, last.Cause, x.ID, at,
	)
}
