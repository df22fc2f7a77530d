package lab

import (
	"fmt"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: campaigns that are folded side by side stand in the order of their
// beginnings, in which they go on: who came first is first at a device.
func TestCampaignsStandInTheOrderOfTheirBeginnings(t *testing.T) {
	f := open(t)
	var began []string
	for n := range 60 { // a lane that is quicker than another is not rare then
		name := fmt.Sprintf("c%d", n*37%60)
		f.define(name, "pump "+name)
		began = append(began, name)
	}
	l := must.Get(Open(t.Context(), Options{Folder: t.TempDir(), Registry: f.registry}))(t)
	defer l.Close()
	s := newMember(l, f.address)
	last, err := s.catchUp(t.Context(), f.Local)
	if err != nil || last != f.Log().Last() {
		t.Fatalf("folded up to %d of %d: %v", last, f.Log().Last(), err)
	}
	var listed []string
	for _, c := range s.list() {
		listed = append(listed, c.Name())
	}
	if !slices.Equal(listed, began) {
		t.Errorf("they stand as %v, they began as %v", listed, began)
	}
}
