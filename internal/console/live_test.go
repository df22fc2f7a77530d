package console

import (
	"fmt"
	"testing"
)

// Law: of all open pages those of a campaign that has changed are notified first, once, with all that
// has changed since; and then each of the others is.
func TestThePagesOfWhatChangedComeFirst(t *testing.T) {
	h := &hub{listeners: make(map[*listener]bool), more: make(chan struct{}, 1), stop: func() {}}
	open := func(campaign string) *listener {
		l := &listener{campaign: campaign, changed: make(chan []string, 1)}
		h.listeners[l] = true
		return l
	}
	for range 100 {
		open("")
	}
	other, mine := open("other"), open("mine")
	h.tell([]string{"elsewhere"})
	h.tell([]string{"mine", "third"})
	if !h.tellNext() || len(mine.changed) != 1 {
		t.Fatal("the page of the campaign that has changed waits for others")
	}
	if names := fmt.Sprint(<-mine.changed); names != "[elsewhere mine third]" {
		t.Errorf("it is told of %s", names)
	}
	told := 1
	for h.tellNext() {
		told++
	}
	if told != 102 || len(mine.changed) != 0 || len(other.changed) != 1 {
		t.Errorf("%d of 102 pages are told, the first one %d times more", told, len(mine.changed))
	}
	// However often pages of campaigns that change are due, the others are not starved.
	<-other.changed
	for range 1000 {
		h.tell([]string{"mine"})
		if h.tellNext(); len(other.changed) > 0 {
			return
		}
	}
	t.Error("a page waits for ever for those of a campaign that changes all the time")
}
