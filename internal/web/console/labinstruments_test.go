package console_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: whoever may run campaigns says on the page of the lab's instruments that one is out of service, and that it is
// back; a campaign that waits for it leads there, the list of campaigns says so, and what cannot hold is refused with
// what was typed.
func TestLabInstruments(t *testing.T) {
	s := serve(t, time.Hour)
	must.Do(t, os.WriteFile(filepath.Join(s.folder, "lab.yaml"), []byte("instruments: {oven: manual, press: manual}\n"), 0o600))
	shows := func(path string, want ...string) {
		t.Helper()
		_, page := s.get(path)
		for _, text := range want {
			if !strings.Contains(page, text) {
				t.Errorf("%s lacks %q", path, text)
			}
		}
	}
	shows("/campaigns", `href="/instruments">Instruments</a>`)
	shows("/instruments", "oven is in service.", "press is in service.")
	s.sent("/instruments", url.Values{"resource": {"oven"}, "state": {"out"}, "reason": {"lamp <exchanged>"}})
	c := s.begin("name: bread" + space + "initial: {experiments: 1}\nbudget: {experiments: 1}\ninstrument: {lab: oven}\n")
	for began := time.Now(); !strings.Contains(c.Standing().WaitingFor, "oven is out of service"); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatalf("it waits for %q", c.Standing().WaitingFor)
		}
	}
	shows("/instruments", "oven is out of service since ", ": lamp &lt;exchanged&gt; (person:", "<b class=\"mark\">not in use</b>",
		"<option selected>oven</option>")
	shows("/instruments?resource=press", "<option selected>press</option>")
	shows("/campaigns", `<p class="box bad">oven is out of service since `, `<a href="/instruments">See to it</a>`)
	shows("/campaigns/bread", `href="/instruments?resource=oven"`, "Waiting for a person: oven is out of service since ")
	status, _, page := s.post("/instruments", url.Values{"resource": {"oven"}, "state": {"back"}, "until": {"2020-01-01"}})
	if status/100 == 3 || !strings.Contains(page, "alibration until 2020-01-01 is over") || !strings.Contains(page, `value="2020-01-01"`) {
		t.Errorf("a calibration that is over: %d", status)
	}
	tomorrow := time.Now().AddDate(0, 0, 1).Format(time.DateOnly)
	s.sent("/instruments", url.Values{
		"resource": {"oven"}, "state": {"back"}, "until": {tomorrow}, "file": {"https://lab.example.org/2206.pdf"},
	})
	s.until(c, "is handed out", func(st *campaign.State) bool {
		return st.Experiment("e1") != nil && st.Experiment("e1").Status != campaign.Requested
	})
	shows("/instruments", "oven is in service, and calibrated until "+tomorrow, "its calibration expires soon",
		`<a href="https://lab.example.org/2206.pdf" rel="noreferrer">2206.pdf</a>`)
}
