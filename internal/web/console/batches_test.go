package console_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: an act whose fate is unknown waits for a person on the page of its campaign; its cell among the
// batches is red, with a button, and the form that this leads to settles it. A form without a choice is
// refused where it stands.
func TestActIsSettled(t *testing.T) {
	s := serve(t, time.Hour)
	c := s.begin("name: plate" + space + `initial: {experiments: 2}
budget: {experiments: 2}
batch: {of: 2}
instruments:
  arm: {simulated: {latency: 1h}, give_up_after: 20ms, stall_after: 10ms}
  meter: {manual: {}}
procedure:
  load: {on: arm, together: true}
  measure: {on: meter, after: load, gives: [flow]}
`)
	s.until(c, "does not know", func(st *campaign.State) bool {
		return len(st.Acts) > 0 && st.Acts[0].Command.Fate == campaign.Unknown
	})
	_, page := s.get("/campaigns/plate?tab=batches&act=a1")
	for _, want := range []string{
		"The fate of a1 (load of b1) is unknown", `<td class="act unknown">0 of 2`, "Settle a1</a>",
		`<option value="a1" selected>`, "1 unresolved",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if status, _, page := s.post("/campaigns/plate/resolve?tab=batches", url.Values{"experiment": {"a1"}}); status/100 == 3 ||
		!strings.Contains(page, "hoose what became of a1") || !strings.Contains(page, `id="settle"`) {
		t.Errorf("without a choice: %d %s", status, page)
	}
	s.sent("/campaigns/plate/resolve?tab=batches", url.Values{
		"experiment": {"a1"}, "resolution": {"failed"}, "voided": {"power"}, "reason": {"it fell"},
	})
	s.until(c, "is settled", func(st *campaign.State) bool {
		return st.Acts[0].Status == events.ActFailed && st.Experiment("e2").Status == campaign.Failed
	})
	if _, page := s.get("/campaigns/plate?tab=batches"); !strings.Contains(page, `<td class="act failed">0 of 2, 2 failed</td>`) {
		t.Errorf("the table does not say that it failed: %s", page)
	}
}

// Law: what an act by hand measured is typed into the form that settles it, and enters the campaign.
func TestActByHandIsMeasured(t *testing.T) {
	s := serve(t, time.Hour)
	c := s.begin("name: bench" + space + `initial: {experiments: 1}
budget: {experiments: 1}
instruments: {meter: manual}
procedure:
  stir: {on: meter}
  measure: {on: meter, after: stir, gives: [flow]}
`)
	open := func(act string) {
		s.until(c, act+" is open", func(st *campaign.State) bool {
			a := st.Act(act)
			return a != nil && a.Open() && a.Command.Fate == campaign.Begun
		})
	}
	open("a1")
	if _, page := s.get("/campaigns/bench?tab=batches&act=a1"); strings.Contains(page, `name="gave.`) {
		t.Error("the form asks for a value, and nothing is measured")
	}
	s.sent("/campaigns/bench/resolve?tab=batches", url.Values{"experiment": {"a1"}, "resolution": {"done"}})
	open("a2")
	if _, page := s.get("/campaigns/bench?tab=batches&act=a2"); !strings.Contains(page, `name="gave.flow"`) {
		t.Error("the form does not ask for the value")
	}
	for says, form := range map[string]url.Values{
		"done without a value": {"experiment": {"a2"}, "resolution": {"done"}},
		"is not a number":      {"experiment": {"a2"}, "gave.flow": {"much"}},
	} {
		if status, _, page := s.post("/campaigns/bench/resolve?tab=batches", form); status/100 == 3 || !strings.Contains(page, says) {
			t.Errorf("%v: %d, and not %q", form, status, says)
		}
	}
	s.sent("/campaigns/bench/resolve?tab=batches", url.Values{"experiment": {"a2"}, "gave.flow": {"3.5"}})
	s.until(c, "is measured", func(st *campaign.State) bool { return st.Experiment("e1").Status == campaign.Measured })
}

// Law: the picture of a stock tells labels that are with an act under way from those that are used up, each with its
// experiment; the experiment's page has its acts and what they used up. A cause of which nobody said why does
// not end in a colon.
func TestStocksOfActs(t *testing.T) {
	s := serve(t, time.Hour)
	c := s.begin("name: tray" + space + `initial: {experiments: 2}
budget: {experiments: 2}
batch: {of: 2}
instruments: {bench: manual}
stocks: {tips: {labels: A1-D2}}
procedure:
  dose: {on: bench, together: true, draws: {tips: 2}}
  measure: {on: bench, after: dose, gives: [flow]}
`)
	s.until(c, "a1 is open", func(st *campaign.State) bool { return len(st.Acts) > 0 && st.Acts[0].Command.Fate == campaign.Begun })
	shows := func(path string, want ...string) {
		t.Helper()
		_, page := s.get(path)
		for _, text := range want {
			if !strings.Contains(page, text) {
				t.Errorf("%s lacks %q", path, text)
			}
		}
	}
	shows("/campaigns/tray?tab=stocks", `aria-label="D1: e2, under way"><circle class="well under"`, "is in b1, since",
		"a1 (dose of b1) is done by hand at bench, with tips A1, B1, C1, D1.")
	s.sent("/campaigns/tray/resolve?tab=batches", url.Values{"experiment": {"a1"}, "resolution": {"failed"}})
	s.until(c, "is settled", func(st *campaign.State) bool { return st.Experiment("e2").Status == campaign.Failed })
	shows("/campaigns/tray?tab=stocks", `aria-label="D1: e2"><circle class="well full"`, "<title>A2: next</title>")
	shows("/campaigns/tray/experiments/e2", "Its acts, in b1", "a1   dose at bench for e1, e2", "tips C1, D1", "e2 failed: dose (a1)<")
}
