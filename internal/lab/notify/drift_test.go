package notify

import (
	"testing"
	"time"
)

// Law: an alarm of a control chart is open until the reference is measured again: an experiment at its
// composition ends nothing.
func TestDriftIsOpenUntilMeasuredAgain(t *testing.T) {
	w := newWorld(t, "people: {ada: {notify: [\"ntfy://h/ada\"]}}\nalarms: [ada]\n", time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC))
	open := func(lines ...string) bool {
		for _, line := range lines {
			w.happens(line)
		}
		return w.planner.find("bread", drift, "e1") != nil
	}
	if !open("refer e1 0.5", "measure e1 9", "drift e1") || !open("request e2 0.5", "measure e2 3") || open("refer e3 0.5", "measure e3 3") {
		t.Error("it is not open until e3")
	}
}
