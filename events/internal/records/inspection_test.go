package records

import (
	"testing"

	"github.com/campaignd/campaignd/events"
)

// Law: what makes a run of events unreadable is one fault: events that follow each other, for one
// cause. What is wrong with events that are there is said of each.
func TestRunsOfFaults(t *testing.T) {
	for _, c := range []struct {
		name         string
		lost, before string // what the second and the first say is lost
		what         string // the second's; the first's is "gone"
		from         events.Position
		want         int
	}{
		{"the next one", LostEvents, LostEvents, "gone", 8, 1},
		{"one after the next", LostEvents, LostEvents, "gone", 9, 2},
		{"one before", LostEvents, LostEvents, "gone", 7, 2},
		{"another cause", LostEvents, LostEvents, "torn", 8, 2},
		{"nothing is lost", "", "", "gone", 8, 2},
		{"nothing was lost before", LostEvents, "", "gone", 8, 2},
		{"nothing is lost any more", "", LostEvents, "gone", 8, 2},
	} {
		v := new(Inspection)
		v.Fault(6, 7, c.before, "%s", "gone")
		v.Fault(c.from, c.from+1, c.lost, "%s", c.what)
		if len(v.Faults) != c.want || v.More != 0 {
			t.Errorf("%s: %v, want %d", c.name, v.Faults, c.want)
		}
		if last := v.Faults[len(v.Faults)-1]; last.To != c.from+1 || v.Faults[0].From != 6 {
			t.Errorf("%s: %v", c.name, v.Faults)
		}
	}
}
