package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: what is being called off is on the pages until it is answered, with what a person can do
// there, and that the instrument does not know of it while nothing drives the campaign.
func TestCalledOffIsShown(t *testing.T) {
	s := serve(t, time.Hour)
	lost := s.lose("lost")
	const off, unheard = "e1 is being called off", "does not know of it, since nothing drives the campaign"
	shows := func(path string, words, not []string) {
		t.Helper()
		_, page := s.get(path)
		for _, w := range words {
			if !strings.Contains(page, w) {
				t.Errorf("%s does not show %q: %s", path, w, page)
			}
		}
		for _, w := range not {
			if strings.Contains(page, w) {
				t.Errorf("%s shows %q", path, w)
			}
		}
	}
	const experiment = "/campaigns/lost/experiments/e1"
	shows(experiment, []string{"Call e1 off"}, []string{"It is being called off", "without power</button>"})
	s.sent("/campaigns/lost/cancel", url.Values{"experiment": {"e1"}, "reason": {"a leak"}})
	s.until(lost, "is being called off", func(st *campaign.State) bool { return st.Experiment("e1").Command.BeingCalledOff() })
	shows(experiment, []string{"It is being called off", "a leak", `name="end_program"`, "without power</button>"}, []string{"Call e1 off"})
	shows("/campaigns/lost", []string{off, unheard, "being called off</b>"}, []string{"The fate of e1 is unknown"})
	shows("/campaigns", []string{off, unheard}, nil)
	shows("/campaigns/lost?tab=instruments", []string{"being stopped", "Abort all of"}, nil)

	s.sent("/campaigns/lost/void", url.Values{"experiment": {"e1"}, "reason": {"the plug was out"}})
	s.until(lost, "cannot begin any more", func(st *campaign.State) bool { return st.Experiment("e1").Command.Void() })
	shows(experiment, []string{"the plug was out"}, []string{"It is being called off", "Call e1 off"})
	shows("/campaigns/lost", []string{"The fate of e1 is unknown"}, []string{off})

	// An abort pauses, also where nothing is left to call off; stopped now, it has ended.
	s.sent("/campaigns/lost/abort", url.Values{"reason": {"smoke"}})
	s.until(lost, "is paused", func(st *campaign.State) bool { return st.Status == campaign.Paused && st.Reason == "smoke" })
	if status, _, page := s.post("/campaigns/lost/abort-device", url.Values{"device": {"another"}}); status != http.StatusNotFound || !strings.Contains(page, "o campaign uses the device") {
		t.Errorf("a device that no campaign uses: %d %s", status, page)
	}
	s.sent("/campaigns/lost/stop", url.Values{"name": {"lost"}, "now": {"on"}})
	s.until(lost, "is stopped", func(st *campaign.State) bool { return st.Status == campaign.Stopped })
}

// Law: an order about a device reaches every campaign that uses it, and no other.
func TestDeviceIsAborted(t *testing.T) {
	s := serve(t, time.Hour)
	s.lose("one")
	s.lose("two")
	s.begin("name: three" + strings.Replace(space, ", unit: mL/s", "", 1) +
		"policy: eubo\nbudget: {comparisons: 12}\nexperts: [{name: ada, terminal: {}}]\n")
	device := ""
	called := func(name string) (off int, status campaign.Status) {
		c := must.Get(s.lab.Campaign(name))(t)
		c.Read(func(core *engine.Core) {
			off = len(core.State().BeingCalledOff())
			status = core.State().Status
			if name == "one" {
				device = core.State().Experiment("e1").Command.Instrument
			}
		})
		return off, status
	}
	called("one")
	s.sent("/campaigns/one/abort-device", url.Values{"device": {device}, "reason": {"smoke"}})
	for _, name := range []string{"one", "two"} {
		if off, status := called(name); off != 1 || status != campaign.Paused {
			t.Errorf("%s has %d called off and is %s", name, off, status)
		}
	}
	if off, status := called("three"); off != 0 || status != campaign.Running {
		t.Errorf("three, which compares and has no device, has %d called off and is %s", off, status)
	}
}
