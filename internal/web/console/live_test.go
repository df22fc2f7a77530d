package console

import (
	"fmt"
	"testing"
	"time"
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
	now := time.Now()
	next := func() bool {
		told, _ := h.tellNext(now)
		return told
	}
	if !next() || len(mine.changed) != 1 {
		t.Fatal("the page of the campaign that has changed waits for others")
	}
	if names := fmt.Sprint(<-mine.changed); names != "[elsewhere mine third]" {
		t.Errorf("it is told of %s", names)
	}
	// A page that is made of all campaigns leaves more time to the next one.
	told := 2
	_, wait := h.tellNext(now)
	if len(other.changed) > 0 { // the one page in a hundred that is of a campaign came next
		told++
		_, wait = h.tellNext(now)
	}
	if wait != listsApart {
		t.Errorf("after a list the next page waits %v, want %v", wait, listsApart)
	}
	for next() {
		told++
	}
	if told != 102 || len(mine.changed) != 0 || len(other.changed) != 1 {
		t.Errorf("%d of 102 pages are told, the first one %d times more", told, len(mine.changed))
	}
	// However often pages of campaigns that change are due, the others are not starved.
	<-other.changed
	for range 1000 {
		h.tell([]string{"mine"})
		now = now.Add(apart)
		if next(); len(other.changed) > 0 {
			return
		}
	}
	t.Error("a page waits for ever for those of a campaign that changes all the time")
}

// Law: however often other campaigns change, a page is told of them once a second, at once for the
// first time, and with all that have changed; of its own it is told each time.
func TestListsAreToldOnceASecond(t *testing.T) {
	h := &hub{listeners: make(map[*listener]bool), more: make(chan struct{}, 1), stop: func() {}}
	list, mine := &listener{changed: make(chan []string, 1)}, &listener{campaign: "mine", changed: make(chan []string, 1)}
	h.listeners[list], h.listeners[mine] = true, true
	told := map[*listener]int{}
	var last []string
	now := time.Now()
	for range 40 { // each 100 ms, so for four seconds
		h.tell([]string{"mine", "theirs"})
		for again := true; again; {
			again, _ = h.tellNext(now)
			for _, l := range []*listener{list, mine} {
				select {
				case names := <-l.changed:
					if told[l]++; l == list {
						last = names
					}
				default:
				}
			}
		}
		now = now.Add(100 * time.Millisecond)
	}
	if told[list] != 4 || told[mine] != 40 {
		t.Errorf("a list is told %d times, want 4; a page of what changes %d times, want 40", told[list], told[mine])
	}
	if fmt.Sprint(last) != "[mine theirs]" {
		t.Errorf("the list is told of %s", last)
	}
}
