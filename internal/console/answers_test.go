package console

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// slowKeeper keeps texts in memory. Each look at them takes until it is let go on.
type slowKeeper struct {
	mu    sync.Mutex
	texts map[string][]byte
	looks int
	began chan struct{} // gets a value when a look has found what there is
	goOn  chan struct{} // lets one return
	away  error         // what they come to
}

func (k *slowKeeper) list(func(string, error)) (map[string][]byte, error) {
	k.mu.Lock()
	k.looks++
	found := make(map[string][]byte)
	for name, text := range k.texts {
		found[name] = text
	}
	k.mu.Unlock()
	k.began <- struct{}{}
	<-k.goOn
	return found, k.away
}

func (k *slowKeeper) swap(name string, _, after []byte) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.texts[name] = after
	return true, nil
}

// put is what another process keeps.
func (k *slowKeeper) put(campaign, name string) {
	text := fmt.Sprintf(`{"campaign": %q, "name": %q, "state": "undone"}`, campaign, name)
	_, _ = k.swap(fileOf(campaign, "q1", name), nil, []byte(text))
}

// Law: of any number of pages that are asked for while the database answers one of them, one more
// asks it: it finds what each of them has to show. Nobody who knows what to show waits meanwhile,
// and what this server was given then is not forgotten for what was found before.
func TestPagesShareALook(t *testing.T) {
	k := &slowKeeper{texts: make(map[string][]byte), began: make(chan struct{}), goOn: make(chan struct{})}
	a := &answers{shared: true, keeper: k, all: make(map[string]*pending), unread: make(map[string]bool)}
	var pages sync.WaitGroup
	pages.Go(func() { a.refresh(time.Now()) })
	<-k.began
	k.put("late", "eve") // the look that is under way does not find it
	asked := time.Now()
	for range 50 {
		pages.Go(func() {
			a.refresh(asked)
			if len(a.of("eve")) != 1 {
				t.Error("a page does not show what another process had kept before it was asked for")
			}
		})
	}
	known := make(chan int)
	go func() { known <- len(a.of("eve")) }()
	select {
	case <-known:
	case <-time.After(time.Minute):
		t.Fatal("who knows what to show waits for the database")
	}
	a.mu.Lock()
	given := &pending{file: "given", Campaign: "here", Name: "ada", State: undone}
	if err := a.store(given); err != nil {
		t.Error(err)
	}
	a.all["given"] = given
	a.mu.Unlock()
	k.goOn <- struct{}{} // it found nothing, and looks again
	<-k.began
	k.goOn <- struct{}{}
	if <-k.began; len(a.of("ada")) != 1 {
		t.Error("what was given here is forgotten")
	}
	k.goOn <- struct{}{}
	pages.Wait()
	if k.looks != 3 {
		t.Errorf("the database was asked %d times", k.looks)
	}
}

// Law: of pages that are asked for while the database is away one finds that out, and the others do
// not wait for the same; what is known here they show.
func TestPagesWhileTheDatabaseIsAway(t *testing.T) {
	k := &slowKeeper{began: make(chan struct{}, 1), goOn: make(chan struct{}, 1), away: errors.New("it is away")}
	a := &answers{shared: true, keeper: k, all: map[string]*pending{"given": {Name: "ada", State: undone}}}
	a.looking.Rest = time.Hour
	k.goOn <- struct{}{}
	for range 50 { // a second look would wait for ever
		a.refresh(time.Now())
	}
	if k.looks != 1 || len(a.of("ada")) != 1 {
		t.Errorf("after %d looks %d answers are known", k.looks, len(a.of("ada")))
	}
	a.looking.Rest = 0 // and later
	k.away, k.texts = nil, make(map[string][]byte)
	k.put("here", "eve")
	k.goOn <- struct{}{}
	<-k.began
	if a.refresh(time.Now()); len(a.of("eve")) != 1 {
		t.Error("it is not looked again")
	}
}
