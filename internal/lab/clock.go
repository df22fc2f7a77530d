package lab

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/campaignd/campaignd/internal/clock"
)

// clockSet is the newest step of this machine's clock that was noticed, nil for none.
var clockSet atomic.Pointer[clockStep]

// clockStep is a step of the clock.
type clockStep struct {
	how  string    // set ahead or back, and by how much
	seen time.Time // by time itself
}

// WatchClock says when the clock of this machine is set, until ctx is done: what was
// recorded before then has another time than one would think, and people wonder. The
// campaigns that this process runs meanwhile say so, too ([control.Running.Clock]).
func WatchClock(ctx context.Context, say func(text string)) {
	var steps clock.Steps
	for {
		if step := steps.Look(); step != 0 {
			how, so := "set ahead by "+step.String(), ""
			if step < 0 {
				how, so = "set back by "+(-step).String(), ": times that are recorded may lie ahead, and count as of now"
			}
			clockSet.Store(&clockStep{how: how, seen: time.Now()})
			say("the clock of this machine was " + how + so)
		}
		select {
		case <-time.After(clock.Pause(time.Hour)):
		case <-ctx.Done():
			return
		}
	}
}

// clockSetSince is how the clock of this machine was set last since a moment; empty
// where it was not.
func clockSetSince(moment time.Time) string {
	if s := clockSet.Load(); s != nil && s.seen.After(moment) {
		return s.how
	}
	return ""
}
