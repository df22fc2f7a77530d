package events

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Assign returns a copy of batch as a log stores it after the given sequence of its campaign: with
// Campaign and Sequence filled in, ID too where it was empty, Time in UTC, cut to the microsecond,
// and Position 0, for the log to fill in when it knows it. The Append of every Log starts with it.
//
// It refuses the whole batch, with [ErrInvalidEvent], if an event names another campaign, has no
// record (see [AppendRecord]) or makes the batch larger than [MaxBatchSize]. Data is shared with
// batch, not copied.
func Assign(campaign string, sequence Sequence, batch []Event) ([]Event, error) {
	out := slices.Clone(batch)
	size := 0
	for i := range out {
		e := &out[i]
		if e.Campaign != "" && e.Campaign != campaign {
			return nil, fmt.Errorf("events: event %d of the batch: %w: it names campaign %q, the batch is for %q",
				i+1, ErrInvalidEvent, e.Campaign, campaign)
		}
		e.Campaign = campaign
		e.Position = 0
		e.Sequence = sequence + Sequence(i) + 1
		if e.ID == "" {
			e.ID = strconv.FormatUint(uint64(e.Sequence), 10)
		}
		e.Time = e.Time.UTC().Truncate(time.Microsecond)
		if err := checkEvent(e); err != nil {
			return nil, fmt.Errorf("events: event %d of the batch: %w", i+1, err)
		}
		if size += len(e.Data); size > MaxBatchSize {
			return nil, fmt.Errorf("events: %w: the batch's payloads exceed %d bytes; append it in parts",
				ErrInvalidEvent, MaxBatchSize)
		}
	}
	return out, nil
}
