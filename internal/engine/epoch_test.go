package engine

import (
	"testing"

	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: no two histories of one campaign give their commands the same name, and those
// of old logs keep theirs.
func TestCommandID(t *testing.T) {
	for _, c := range []struct{ instance, epoch, want string }{
		{"", "", "p/e8"},
		{"K3JD", "", "p/K3JD/e8"},
		{"K3JD", "ZZ", "p/K3JD.ZZ/e8"},
		{"", "ZZ", "p/ZZ/e8"},
	} {
		if got := CommandID(&campaign.State{Name: "p", Instance: c.instance, Epoch: c.epoch}, "e8"); got != c.want {
			t.Errorf("instance %q, epoch %q: %s, want %s", c.instance, c.epoch, got, c.want)
		}
	}
}
