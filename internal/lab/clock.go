package lab

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/campaignd/campaignd/internal/ground/clock"
)

// clockSet is the newest step of this machine's clock that was noticed, nil for none.
var clockSet atomic.Pointer[clockStep]

// clockStep is a step of the clock.
type clockStep struct {
	how  string    // set ahead or back, and by how much
	seen time.Time // by time itself
}

// WatchClock reports each time the clock of this machine is set, until ctx is done: events
// recorded before then have other times than people expect. The campaigns that this process
// runs meanwhile report it, too ([control.Running.Clock]).
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

// clockSetSince describes how the clock of this machine was last set since a moment; empty if
// it was not.
func clockSetSince(moment time.Time) string {
	if s := clockSet.Load(); s != nil && s.seen.After(moment) {
		return s.how
	}
	return ""
}
