package decisions

import (
	"fmt"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
)

// A clock can be set, and a person may report a result from a computer with another one. So an
// event dated before its cause does not by itself prove a changed date. A clock that was set stays
// set: a single time out of line by more than clockStep does not come from a clock.
const clockStep = 24 * time.Hour

// dated is the time of a batch.
type dated struct {
	place Mismatch // without a problem
	time  time.Time
}

// checkClock checks the order of the times of all batches.
//
// It runs at the end, since only later times show whether one is out of line alone. It compares
// batches and not events: all events of a batch have one time.
func checkClock(a *auditor) {
	say := func(list *[]Mismatch, b dated, problem string) {
		b.place.Problem = problem
		*list = append(*list, b.place)
	}
	for i := 1; i < len(a.clock); i++ {
		before, b := a.clock[i-1], a.clock[i]
		back := before.time.Sub(b.time)
		if back <= 0 {
			continue
		}
		alone := i+1 < len(a.clock) && !a.clock[i+1].time.Before(before.time) // without it the order is right
		ahead := i == 1 || !b.time.Before(a.clock[i-2].time)                  // without the one before it is
		switch {
		case back > clockStep && alone:
			say(&a.report.Mismatches, b, fmt.Sprintf(
				"it is dated %s, %s before the event that it follows, and what follows it is not",
				clockTime(b.time), back))
		case back > clockStep && ahead:
			say(&a.report.Mismatches, before, fmt.Sprintf(
				"it is dated %s, %s after the event that follows it", clockTime(before.time), back))
		default:
			say(&a.report.Remarks, b, fmt.Sprintf(
				"it is dated %s, %s before the event that it follows: a clock was set back, or a date was changed",
				clockTime(b.time), back))
		}
	}
}

// clockTime writes a time as precisely as events have it.
func clockTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.999999") }

// checkExpiry checks the expiry of a question against the time of the question: no earlier than
// from the event that it was asked after, and no later than from its record. It differs if people
// run the experiments, as the question says.
//
// The log does not hold the moment at which the engine asked, which lies between the two; so the
// expiry is checked against an interval.
func checkExpiry(a *auditor, payload events.Payload) {
	asked, ok := payload.(*events.QuestionAsked)
	if !ok {
		return
	}
	question, expires := asked.Question, asked.Expires
	expiry := func(since time.Time, byHand bool) time.Time {
		w := engine.World{Now: since, ByHand: byHand}
		return engine.Expiry(a.core.At(w), asked)
	}
	since, byHand := a.now, false
	d, decided := a.batch.opening.(*events.DecisionMade)
	if decided && d.At >= 1 && int(d.At) <= len(a.times) { // another version's may be anything
		since = a.times[d.At-1]
	}
	switch {
	case asked.ByHand != nil:
		byHand = *asked.ByHand
	case decided && d.Build == a.build:
		a.mismatch(question, "it does not say whether people ran the experiments, as this program would have")
		return
	default: // an earlier program did not record it
		byHand = expires.IsZero()
	}
	if expiry(since, byHand).IsZero() != expires.IsZero() {
		a.mismatch(question, "it expires at %s; the definition says otherwise", clockTime(expires))
		return
	}
	if a.event.Time.Before(since) { // the clock was set back
		return
	}
	earliest := expiry(since, byHand)
	latest := expiry(a.event.Time, byHand)
	if expires.Before(earliest) || expires.After(latest) {
		a.mismatch(question, "it expires at %s; asked at %s, it expires at %s",
			clockTime(expires), clockTime(a.event.Time), clockTime(latest))
	}
}
