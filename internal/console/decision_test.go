package console_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/attest"
	"github.com/campaignd/campaignd/internal/console"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// simulatedLab is a campaign that measures itself.
const simulatedLab = `name: branin
parameters: [{name: x1, min: -5, max: 10}, {name: x2, min: 0, max: 15}]
objective: {name: value, goal: minimize}
initial: {experiments: 3}
budget: {experiments: 7}
instrument: {simulated: branin}
policy: logei
`

// Law: the page of a decision says where it is in the log; whoever may audit gets a proof there that
// holds without the log, of the record of that decision and no other; nobody else does.
func TestProofOfDecision(t *testing.T) {
	s := serve(t, 0)
	c := s.begin(simulatedLab)
	s.until(c, "ends", func(st *campaign.State) bool { return st.Status.Ended() })
	decisions := s.events(c, events.KindDecisionMade)
	for i, id := range []string{"d1", "d2"} {
		status, page := s.get("/campaigns/branin/decisions/" + id)
		if status != http.StatusOK || !strings.Contains(page, decisions[i].ID) || !strings.Contains(page, `href="/campaigns/branin/proofs/`+id+`"`) {
			t.Errorf("the page of %s: %d %s", id, status, page)
		}
		status, proof := s.get("/campaigns/branin/proofs/" + id)
		if status != http.StatusOK {
			t.Fatalf("the proof of %s: %d %s", id, status, proof)
		}
		v := attest.VerifyFiles([]attest.Text{{File: "proof", Bytes: []byte(proof)}}, nil, false)
		if !v.Hold() || v.Files[0].Position != decisions[i].Position || !strings.Contains(string(v.Files[0].Event), decisions[i].ID) {
			t.Errorf("the proof of %s at %d: %+v", id, decisions[i].Position, v.Files[0])
		}
	}
	s.visitor.May = func(permission, _ string) error {
		if permission == console.Audit {
			return problem.New(problem.Forbidden, "no auditor")
		}
		return nil
	}
	if status, page := s.get("/campaigns/branin/decisions/d1"); status != http.StatusOK || strings.Contains(page, "/proofs/d1") {
		t.Errorf("to somebody else the page is %d, and offers the proof: %s", status, page)
	}
	if status, text := s.get("/campaigns/branin/proofs/d1"); status != http.StatusForbidden || strings.Contains(text, "tlog-proof") {
		t.Errorf("to somebody else the proof is %d: %s", status, text)
	}
}

// Law: whoever may answer in a campaign can ask from the page of a decision what would have been otherwise;
// the page that comes of it says that it is imagined and what stood in for the lab, beside what really happened;
// whoever may see the campaign sees it; what makes no sense is refused where it was asked. The campaign's log
// is as it was.
func TestWhatIf(t *testing.T) {
	s := serve(t, 0)
	c := s.begin(electrolyte)
	s.until(c, "ends", func(st *campaign.State) bool { return st.Status.Ended() })
	before := c.Sequence()
	const path = "/campaigns/done/decisions/d2"
	for _, f := range []struct {
		form url.Values
		want string
	}{
		{url.Values{}, "say what is to be otherwise"},
		{url.Values{"method": {"nonsense"}}, ""}, // found out when its turn comes
		{url.Values{"without": {"bob"}, "experiments": {"many"}}, `value="many"`},
		{url.Values{"without": {"bob"}, "experiments": {"1000"}}, "no number of experiments"},
	} {
		status, location, text := s.post(path+"/whatif", f.form)
		if f.want != "" && (status != http.StatusBadRequest || !strings.Contains(strings.ToLower(text), strings.ToLower(f.want))) {
			t.Errorf("%v: %d, without %q: %s", f.form, status, f.want, text)
		}
		if f.want == "" && !strings.Contains(s.imagined(location), "That did not work") {
			t.Errorf("%v was imagined", f.form)
		}
	}
	page := s.imagined(s.sent(path+"/whatif", url.Values{"without": {"bob"}, "method": {"logei"}, "experiments": {"4"}}))
	for _, want := range []string{
		"This is imagined, and not what happened", "instrument is a simulation", "What if, from d2, with logei, without bob", "Really", "Imagined",
		`class="best imagined"`, "Best after 6 experiments: really",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q: %s", want, page)
		}
	}
	if _, page := s.get(path); !strings.Contains(page, "/campaigns/done/whatif/w2") {
		t.Error("the page of the decision does not lead there")
	}
	by := s.begin(strings.NewReplacer("simulated: {task: electrolyte, noise: 0.27}", "manual: {}", "name: done", "name: hand", "coexbo", "logei").
		Replace(strings.Split(electrolyte, "experts:")[0]))
	for i := 1; i <= 6; i++ {
		id := events.ExperimentID(i)
		s.until(by, "asks for "+id, func(st *campaign.State) bool { return len(st.Experiments) >= i })
		s.sent("/campaigns/hand/tell", url.Values{"experiment": {id}, "outcome": {"measured"}, "value": {strconv.Itoa(3 + i*i%5)}})
	}
	s.until(by, "ends", func(st *campaign.State) bool { return st.Status.Ended() })
	page = s.imagined(s.sent("/campaigns/hand/decisions/d1/whatif", url.Values{"method": {"sobol"}}))
	for _, want := range []string{"the mean of the campaign’s own model as of now stands in", "no evidence of what the lab would have found", "the model’s mean"} {
		if !strings.Contains(page, want) {
			t.Errorf("of a campaign by hand the page does not say %q: %s", want, page)
		}
	}
	if c.Sequence() != before {
		t.Errorf("the log grew from %d to %d events", before, c.Sequence())
	}
	s.crawl(func(path, page string, _ *html.Node) {
		if !strings.Contains(page, "</html>") {
			t.Errorf("%s is not whole", path)
		}
	})
	may := map[string]bool{console.See: true}
	s.visitor.May = func(permission, _ string) error {
		if may[permission] {
			return nil
		}
		return problem.New(problem.Forbidden, "you may not %s here", permission)
	}
	for _, doing := range []string{path + "/whatif", "/campaigns/done/whatif/w2/cancel"} {
		if status, _, _ := s.post(doing, url.Values{"method": {"logei"}}); status != http.StatusForbidden {
			t.Errorf("%s by somebody who may only look: %d", doing, status)
		}
	}
	if status, page := s.get("/campaigns/done/whatif/w2"); status != http.StatusOK || !strings.Contains(page, "This is imagined") {
		t.Errorf("to somebody who may only look: %d", status)
	}
	if _, page := s.get(path); strings.Contains(page, `action="`+path+`/whatif"`) {
		t.Error("somebody who may only look is offered the form")
	}
	for _, path := range []string{"/campaigns/hand/whatif/w2", "/campaigns/done/whatif/w99"} {
		if status, _ := s.get(path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
	may[console.See] = false
	if status, _ := s.get("/campaigns/done/whatif/w2"); status != http.StatusNotFound {
		t.Errorf("to somebody who may not see the campaign: %d", status)
	}
}

// imagined waits until what was asked for is worked out, and returns its page.
func (s *site) imagined(path string) string {
	s.t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(20 * time.Millisecond) {
		status, page := s.get(path)
		if status != http.StatusOK {
			s.t.Fatalf("%s: %d %s", path, status, page)
		}
		if !strings.Contains(page, "data-poll") {
			return page
		}
	}
	s.t.Fatalf("%s is never worked out", path)
	return ""
}
