package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/attest"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/web/console"
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

// Law: the page of a decision leads to the one before and to the next one, and to none where
// there is none.
func TestDecisionsLeadToEachOther(t *testing.T) {
	s := serve(t, 0)
	c := s.begin(simulatedLab)
	s.until(c, "ends", func(st *campaign.State) bool { return st.Status.Ended() })
	last := len(s.events(c, events.KindDecisionMade))
	for n := 1; n <= last; n++ {
		_, page := s.get(fmt.Sprintf("/campaigns/branin/decisions/d%d", n))
		for text, to := range map[string]int{"The decision before": n - 1, "The next one": n + 1} {
			link := fmt.Sprintf(`<a href="/campaigns/branin/decisions/d%d">%s</a>`, to, text)
			if there := to >= 1 && to <= last; strings.Contains(page, link) != there || strings.Contains(page, text) != there {
				t.Errorf("d%d of %d: %s", n, last, page)
			}
		}
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
		{url.Values{}, "name a change"},
		{url.Values{"method": {"nonsense"}}, ""}, // found out when its turn comes
		{url.Values{"without": {"bob"}, "experiments": {"many"}}, `value="many"`},
		{url.Values{"without": {"bob"}, "experiments": {"1000"}}, "not a number of experiments"},
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

// severalLab is a trade-off under a bound that measures itself.
const severalLab = `name: several
parameters: [{name: lipf6, unit: mol/kg, min: 0.2, max: 2.1}, {name: ec, unit: kg/kg, min: 0.30, max: 0.52}, {name: dmc, min: 0, max: 1}]
quantities: [{name: conductivity, unit: mS/cm}, {name: viscosity, unit: mPa·s, scale: log}]
objective: {tradeoff: [{maximize: conductivity, worst: 6}, {minimize: viscosity}]}
constraints_on_outcomes: [viscosity <= 5]
initial: {experiments: 4}
budget: {experiments: 6}
instrument: {simulated: {task: electrolyte, noise: 0.14}}
`

// Law: of several quantities the form has the constraints on outcomes, worst values and objective; what was changed
// there is what is imagined, and what was not stays; the page has each quantity, and judges both courses by what is
// sought today and by what is imagined. What cannot be is refused where it was typed.
func TestWhatIfOfSeveral(t *testing.T) {
	s := serve(t, 0)
	c := s.begin(severalLab)
	s.until(c, "ends", func(st *campaign.State) bool { return st.Status.Ended() })
	const path = "/campaigns/several/decisions/d2"
	_, page := s.get(path)
	for _, want := range []string{">\nviscosity &lt;= 5</textarea>", `name="worst-conductivity"`, "empty for as it was: 6", "empty for as it was: inferred", `name="goal"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the form has no %q: %s", want, page)
		}
	}
	asItWas := url.Values{"constraints": {"viscosity <= 5"}, "worst-conductivity": {""}, "worst-viscosity": {""}, "goal": {""}, "of": {""}}
	with := func(name, value string) url.Values {
		form := url.Values{name: {value}}
		for key, was := range asItWas {
			if key != name {
				form[key] = was
			}
		}
		return form
	}
	for _, f := range []struct {
		form url.Values
		want string
	}{
		{asItWas, "name a change"},
		{with("constraints", "viscosity < 5"), "write a &lt;= b or a &gt;= b"},
		{with("worst-conductivity", "much"), "Worst conductivity (mS/cm): "},
		{with("goal", "maximize"), "name the quantity or formula to be maximized"},
		{with("of", "conductivity"), "say whether conductivity is to be maximized or minimized"},
	} {
		status, _, text := s.post(path+"/whatif", f.form)
		if status < 400 || status >= 500 || !strings.Contains(strings.ToLower(text), strings.ToLower(f.want)) {
			t.Errorf("%v: %d, without %q: %s", f.form, status, f.want, text)
		}
	}
	for _, f := range []struct {
		form url.Values
		want []string
	}{
		{with("constraints", "viscosity <= 4\r\nconductivity >= 7\r\n"), []string{
			"What if, from d2, with viscosity &lt;= 4, with conductivity &gt;= 7<", "keeps today’s constraints", "keeps the imagined ones",
			"By what is imagined that it seeks and requires, after ", "really compromise ", "viscosity (mPa·s)"}},
		{with("constraints", ""), []string{"What if, from d2, without viscosity &lt;= 5<", "hypervolume beyond conductivity 6 mS/cm, viscosity 5 mPa·s: really "}},
		{with("worst-conductivity", "8"), []string{"What if, from d2, with conductivity at worst 8<", "hypervolume beyond conductivity 8 mS/cm"}},
		{url.Values{"goal": {"maximize"}, "of": {"conductivity/viscosity"}}, []string{"maximizing conductivity/viscosity", "really best ", "objective.formula"}},
		{url.Values{"method": {"sobol"}}, []string{"imagined compromise "}},
	} {
		page := s.imagined(s.sent(path+"/whatif", f.form))
		for _, want := range f.want {
			if !strings.Contains(page, want) {
				t.Errorf("%v: the page does not say %q: %s", f.form, want, page)
			}
		}
		if strings.Contains(page, "Best after") || strings.Contains(page, "best imagined") {
			t.Errorf("%v: one number is judged: %s", f.form, page)
		}
	}
}
