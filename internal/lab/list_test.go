package lab

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Law: campaigns are listed in the order of their names, each that has come, and in as few steps
// again until another one comes; who has a list may change it.
func TestCampaignsAreListed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nothing is opened
	l := &Lab{stores: make(map[string]*member), ctx: ctx}
	for i, n := range rand.Perm(300) {
		s := l.add(fmt.Sprintf("/lab/%d.campaign", i))
		name := fmt.Sprintf("c%03d", n)
		s.enter(&Campaign{store: s, name: name})
		if i%50 > 0 {
			continue // so that some come between two lists, and some do not
		}
		var names []string
		all := l.Campaigns()
		for _, c := range all {
			names = append(names, c.name)
		}
		if len(names) != i+1 || !slices.IsSorted(names) || !slices.Contains(names, name) {
			t.Fatalf("after %d have come it lists %v", i+1, names)
		}
		slices.Reverse(all)
		if again := l.Campaigns(); again[0].name != names[0] {
			t.Fatalf("a list of others was changed with one: it begins with %s", again[0].name)
		}
	}
	l.wg.Wait()
	l.Campaigns()
	if n := testing.AllocsPerRun(10, func() { l.Campaigns() }); n > 1 {
		t.Errorf("to list them again makes %v things", n)
	}
}

// Law: stores are listed in the order of their paths, in whichever they came; to list them makes
// nothing, however many there are; and who has a list keeps it.
func TestStoresAreListed(t *testing.T) {
	l := &Lab{stores: make(map[string]*member)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nothing is opened
	l.ctx = ctx
	paths := func(stores []*member) (paths []string) {
		for _, s := range stores {
			paths = append(paths, s.path)
		}
		return paths
	}
	var before []string
	var early []*member
	for i, n := range rand.Perm(300) {
		if i == 150 {
			early = l.list()
			before = paths(early)
		}
		l.add(fmt.Sprintf("/lab/%d.campaign", n))
	}
	l.wg.Wait()
	if all := paths(l.list()); len(all) != 300 || !slices.IsSorted(all) {
		t.Errorf("it lists %d: %v", len(all), all)
	}
	if !slices.Equal(paths(early), before) {
		t.Error("a list has changed that was given before")
	}
	if n := testing.AllocsPerRun(10, func() { l.list() }); n != 0 {
		t.Errorf("to list them makes %v things", n)
	}
}
