package forgery

import (
	"slices"
	"strconv"

	"github.com/campaignd/campaignd/events"
)

// Move is a history in which one event is gone, stands twice, or stands behind its
// successor, and all that follows is numbered anew.
type Move struct {
	// At is the place of the event in the honest history.
	At int
	// What was done to it.
	What string
	// Events are the forged history.
	Events []events.Event
}

// What is done to an event.
const (
	Removed   = "removed"
	Doubled   = "doubled"
	Exchanged = "exchanged with the next"
)

// Moves returns every move of a history, in a fixed order. The first event stays: it is the
// beginning of a campaign. The last one stays, too: without it the history is an honest earlier
// one.
func Moves(all []events.Event) (list []Move) {
	for i := 1; i < len(all)-1; i++ {
		order := make([]int, len(all))
		for j := range order {
			order[j] = j
		}
		exchanged := slices.Clone(order)
		exchanged[i], exchanged[i+1] = i+1, i
		list = append(list,
			Move{i, Removed, arrange(all, slices.Delete(slices.Clone(order), i, i+1))},
			Move{i, Doubled, arrange(all, slices.Insert(order, i, i))},
			Move{i, Exchanged, arrange(all, exchanged)})
	}
	return list
}

// arrange returns the events in an order, numbered anew. Causes are kept: an event caused by a
// removed one gets the cause of that one.
func arrange(all []events.Event, order []int) []events.Event {
	now := make(map[string]string, len(all))
	for place, i := range order {
		if _, doubled := now[all[i].ID]; !doubled {
			now[all[i].ID] = strconv.Itoa(place + 1)
		}
	}
	for _, e := range all {
		if _, kept := now[e.ID]; !kept {
			now[e.ID] = now[e.Cause]
		}
	}
	forged := make([]events.Event, len(order))
	for place, i := range order {
		e := all[i]
		e.Position, e.Sequence = events.Position(place+1), events.Sequence(place+1)
		e.ID, e.Cause = strconv.Itoa(place+1), now[e.Cause]
		forged[place] = e
	}
	return forged
}
