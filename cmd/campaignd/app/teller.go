package app

import (
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/view"
)

// teller prints the story of a campaign as it happens. The story holds back an entry, to join what
// several experiments have in common; teller prints it a moment later, whatever happens.
type teller struct {
	print func(lines []string)

	mu    sync.Mutex
	story *view.Story
	later *time.Timer // nil unless something is held back
}

// heldBack is how long a line waits for those that go on with it: the experiments of a
// plate were sent one after the other, and fall silent so.
const heldBack = time.Second

// newTeller returns a teller of a campaign of that definition; nil where it
// begins with the campaign. print is called with a few lines at a time, and never
// twice at once.
func newTeller(def *definition.Campaign, print func(lines []string)) *teller {
	return &teller{story: view.NewStory(def), print: print}
}

// tell brings the story forward by an event, and prints it unless it is known
// already.
func (t *teller) tell(e events.Event, payload events.Payload, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	entries := t.story.Tell(e, payload)
	if known {
		t.story.Rest()
		return
	}
	t.say(entries)
	if t.later == nil {
		t.later = time.AfterFunc(heldBack, t.rest)
	}
}

// rest prints the entry that the story holds back.
func (t *teller) rest() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.later != nil {
		t.later.Stop()
		t.later = nil
	}
	t.say(t.story.Rest())
}

// say prints entries. t.mu is held.
func (t *teller) say(entries []view.Entry) {
	var lines []string
	for _, entry := range entries {
		lines = append(lines, entry.Line(commandFor))
	}
	if lines != nil {
		t.print(lines)
	}
}
