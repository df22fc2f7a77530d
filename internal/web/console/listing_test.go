package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// namesIn are the campaigns that a list shows, in its order.
func namesIn(page string) string {
	var names []string
	for _, m := range regexp.MustCompile(`<h2><a href="/campaigns/([a-z]+)">`).FindAllStringSubmatch(page, -1) {
		names = append(names, m[1])
	}
	return strings.Join(names, " ")
}

// Law: the list is sorted as its address says, shows those with a tag, keeps the archive out of all other
// parts, and says how many are in each; a tag that is chosen stays to be left, also where no campaign has it any more; what a person files outlives the server, and who may not run a
// campaign does not file it.
func TestTheListIsSortedAndFiled(t *testing.T) {
	private(t)
	folder := t.TempDir()
	s := open(t, folder, 0)
	for name, value := range map[string]string{"alpha": "1", "beta": "3", "gamma": "2"} {
		c := s.begin(byHand(name, "{experiments: 2}", "sobol"))
		s.until(c, "asks", func(st *campaign.State) bool { return len(st.Experiments) > 0 })
		s.sent("/campaigns/"+name+"/tell", url.Values{"experiment": {"e1"}, "outcome": {"measured"}, "value": {value}})
	}
	list := func(query string) string {
		t.Helper()
		status, page := s.get("/campaigns" + query)
		if status != http.StatusOK {
			t.Fatal(query, status)
		}
		return page
	}
	for query, want := range map[string]string{
		"": "alpha beta gamma", "?sort=best": "beta gamma alpha", "?sort=best&turned=on": "alpha gamma beta",
		"?sort=nonsense": "alpha beta gamma", "?turned=on": "gamma beta alpha", "?show=mine": "",
	} {
		if got := namesIn(list(query)); got != want {
			t.Errorf("%q lists %q, not %q", query, got, want)
		}
	}
	if back := s.sent("/campaigns/beta/filing", url.Values{"add": {"polymers, urgent"}, "list": {"sort=best&page=2"}}); back != "/campaigns?page=2&sort=best&said=filed" {
		t.Errorf("it leads back to %s", back)
	}
	s.sent("/campaigns/gamma/filing", url.Values{"add": {"polymers"}})
	s.sent("/campaigns/gamma/filing", url.Values{"remove": {"none"}, "list": {"https://elsewhere.example"}})
	if got := namesIn(list("?tag=polymers")); got != "beta gamma" {
		t.Errorf("with the tag: %s", got)
	}
	if got := namesIn(list("?q=URGENT")); got != "beta" {
		t.Errorf("found by its tag: %s", got)
	}
	for tag, n := range map[string]int{"polymers": 2, "urgent": 1, "gone": 0} {
		back := fmt.Sprintf(`<a class="tag" href="/campaigns" aria-current="true"><span class="visually-hidden">tag </span>%s <span class="hint">%d</span>`, tag, n)
		if page := list("?tag=" + tag); strings.Count(page, back) != 1 {
			t.Errorf("from the tag %s, of %d, no way leads back: %s", tag, n, page)
		}
	}
	if status, _, _ := s.post("/campaigns/alpha/filing", url.Values{"archive": {"on"}}); status != http.StatusConflict && status != http.StatusUnprocessableEntity {
		t.Errorf("what runs is archived: %d", status)
	}
	s.sent("/campaigns/alpha/halt", nil)
	s.sent("/campaigns/alpha/filing", url.Values{"archive": {"on"}})
	s.close()
	s = open(t, folder, 0)
	t.Cleanup(func() { s.close() })
	if got := namesIn(list("")); got != "beta gamma" {
		t.Errorf("beside the archive: %s", got)
	}
	if got := namesIn(list("?show=archived")); got != "alpha" {
		t.Errorf("in the archive: %s", got)
	}
	if page := list(""); !strings.Contains(page, `Archived <span class="hint">1</span>`) || !strings.Contains(page, `polymers <span class="hint">2</span>`) {
		t.Error("the list does not count them")
	}
	s.sent("/campaigns/alpha/filing", url.Values{"archive": {"off"}})
	if got := namesIn(list("")); got != "alpha beta gamma" {
		t.Errorf("out of the archive: %s", got)
	}
}

// Law: what is right in a table of results is recorded once, however often the form is sent; what is
// faulty, not whole or not there any more is not, stays with what was typed, and says why.
func TestATableOfResults(t *testing.T) {
	s := serve(t, 0)
	c := s.begin(strings.Replace(byHand("plate", "{experiments: 6}", "sobol"), "budget:", "parallel: 6\nbudget:", 1))
	s.until(c, "asks for six", func(st *campaign.State) bool {
		return len(st.Experiments) == 6 && st.Experiments[5].Status != campaign.Requested
	})
	const path = "/campaigns/plate/batch"
	s.sent("/campaigns/plate/tell", url.Values{"experiment": {"e6"}, "outcome": {"measured"}, "value": {"9"}})
	_, page := s.get(path)
	form := s.hidden(page, path)
	form["row"] = []string{"e1", "e2", "e3", "e4", "e5", "e6"}
	form.Set("v.e1.flow", "1,25")
	form.Set("s.e1.flow", "0.5")
	form.Set("v.e2.flow", "1.2.3")
	form.Set("v.e3.flow", "")
	form.Set("o.e4", "failed")
	form.Set("w.e4", "it leaked")
	form.Set("o.e5", "failed")
	form.Set("v.e6.flow", "4")
	status, check := 0, ""
	for range 2 {
		status, _, check = s.post(path+"/check", form)
		if status != http.StatusOK || !strings.Contains(check, `"e1":{"state":"ready"}`) || !strings.Contains(check, `"e5":{"state":"open"`) {
			t.Errorf("the check: %d %s", status, check)
		}
	}
	if n := len(s.events(c, "experiment.measured")); n != 1 {
		t.Errorf("a check records: %d", n)
	}
	for sent := range 2 {
		status, _, page = s.post(path, form)
		for _, said := range []string{
			"2 results recorded: e1 and e4.", `value="1.2.3" aria-invalid="true"`, "say in a word or two why", "has a result already", "2 rows",
		} {
			if !strings.Contains(page, said) {
				t.Errorf("sent %d times, the page does not say %q", sent+1, said)
			}
		}
		if status != http.StatusUnprocessableEntity || strings.Contains(page, `name="v.e1.flow"`) {
			t.Errorf("sent %d times: %d", sent+1, status)
		}
	}
	measured, failed := s.events(c, "experiment.measured"), s.events(c, "experiment.failed")
	if len(measured) != 2 || len(failed) != 1 {
		t.Errorf("%d are measured, %d failed", len(measured), len(failed))
	}
	c.Read(func(core *engine.Core) {
		x := core.State().Experiment("e1")
		if q := x.Measurement.Objective; q.Value != 1.25 || q.SD == nil || *q.SD != 0.5 {
			t.Errorf("e1 gave %+v", q)
		}
		if x := core.State().Experiment("e6"); x.Measurement.Objective.Value != 9 {
			t.Errorf("e6 gave %+v", x.Measurement.Objective)
		}
	})
	_, page = s.get(path)
	form = s.hidden(page, path)
	form["row"] = []string{"e2"}
	form.Set("v.e2.flow", "1.3")
	if to := s.sent(path, form); to != path+"?said=toldall" {
		t.Errorf("it leads to %s", to)
	}
	form = url.Values{"row": {"e3", "e5"}}
	if status, _, page = s.post(path, form); status != http.StatusBadRequest || !strings.Contains(page, "Nothing is typed into the table") {
		t.Errorf("an empty table: %d", status)
	}
}

// Law: a value far from what the decision expected is asked about while it is typed, and one that
// was expected is not; a design's experiments, of which nothing was expected, are asked about never.
func TestASurpriseIsAskedAbout(t *testing.T) {
	s := serve(t, 0)
	c := s.begin(byHand("bench", "{experiments: 2}", "logei"))
	check := func(id, value string) string {
		t.Helper()
		s.until(c, "asks for "+id, func(st *campaign.State) bool { return st.Experiment(id) != nil })
		status, _, said := s.post("/campaigns/bench/batch/check", url.Values{"row": {id}, "v." + id + ".flow": {value}})
		if status != http.StatusOK || !strings.Contains(said, `"state":"ready"`) {
			t.Errorf("%s gave %s: %d %s", id, value, status, said)
		}
		return said
	}
	for i, value := range []string{"3", "4"} {
		id := events.ExperimentID(i + 1)
		if said := check(id, "1e6"); strings.Contains(said, "surprise") {
			t.Errorf("nothing was expected of %s: %s", id, said)
		}
		s.sent("/campaigns/bench/tell", url.Values{"experiment": {id}, "outcome": {"measured"}, "value": {value}})
	}
	if said := check("e3", "1e6"); !strings.Contains(said, "The model expects") {
		t.Errorf("a million after 3 and 4 is no surprise: %s", said)
	}
	if said := check("e3", "3.5"); strings.Contains(said, "surprise") {
		t.Errorf("3.5 after 3 and 4 is a surprise: %s", said)
	}
}

// Law: a row of several quantities that is not whole is not a result: it waits for the rest, unless a
// person says that there is none, and why.
func TestARowThatIsNotWhole(t *testing.T) {
	s := serve(t, 0)
	c := s.begin("name: pair\nparameters: [{name: x, min: 0, max: 1}]\nquantities: [{name: gain, unit: dB}, {name: noise}]\n" +
		"objective: {maximize: gain}\ninitial: {experiments: 3}\nparallel: 3\nbudget: {experiments: 3}\ninstrument: manual\npolicy: sobol\n")
	s.until(c, "asks for three", func(st *campaign.State) bool { return len(st.Experiments) == 3 })
	const path = "/campaigns/pair/batch"
	_, page := s.get(path)
	form := s.hidden(page, path)
	form["row"] = []string{"e1", "e2", "e3"}
	form.Set("v.e1.gain", "1")
	form.Set("v.e1.noise", "2")
	form.Set("v.e2.gain", "3")
	form.Set("v.e3.gain", "4")
	form.Set("o.e3", "missing")
	form.Set("w.e3", "the probe broke")
	_, _, page = s.post(path, form)
	for _, said := range []string{"2 results recorded: e1 and e3.", "still without noise", `value="3"`} {
		if !strings.Contains(page, said) {
			t.Errorf("the page does not say %q", said)
		}
	}
	c.Read(func(core *engine.Core) {
		if x := core.State().Experiment("e2"); x.Measurement != nil {
			t.Errorf("half a row is recorded: %+v", x.Measurement)
		}
		x := core.State().Experiment("e3")
		if x.Measurement == nil || len(x.Measurement.Missing) != 1 || x.Measurement.Missing[0].Reason != "the probe broke" {
			t.Errorf("e3 gave %+v", x.Measurement)
		}
	})
}

// Law: what is on a plate stays in its wells while results come in.
func TestAPlateStaysAsItWasFilled(t *testing.T) {
	s := serve(t, 0)
	c := s.begin(strings.Replace(byHand("plate", "{experiments: 6}", "sobol"), "budget:", "parallel: 3\nbudget:", 1))
	s.until(c, "asks for three", func(st *campaign.State) bool {
		return len(st.Experiments) == 3 && st.Experiments[2].Status != campaign.Requested
	})
	r := must.Get(http.NewRequest(http.MethodGet, s.server.URL+"/campaigns/plate/sheet?wells=24", nil))(t)
	_, header, _ := s.do(r)
	sheet := header.Get("Location")
	s.sent("/campaigns/plate/tell", url.Values{"experiment": {"e1"}, "outcome": {"measured"}, "value": {"9"}})
	s.until(c, "asks for a fourth", func(st *campaign.State) bool { return len(st.Experiments) == 4 })
	_, page := s.get(sheet)
	if !strings.Contains(page, `aria-label="A2: e2"`) || strings.Contains(page, ": e1\"") || strings.Contains(page, ": e4\"") {
		t.Errorf("%s shows another plate", sheet)
	}
	_, page = s.get(strings.Replace(sheet, "/sheet", "/batch", 1))
	if !strings.Contains(page, `data-row="e2"`) || !strings.Contains(page, `data-well="A2"`) || strings.Contains(page, `data-row="e4"`) {
		t.Error("the table of its results has another plate")
	}
}

// Law: the list says what is expected of a trade-off's compromise, and what its small curve
// is of: how much the front covers, once the models are there.
func TestListSaysWhatATradeoffIsWorth(t *testing.T) {
	s := serve(t, 0)
	front := s.begin(compares("front", "random", "quantities: [{name: conductivity, unit: mS/cm}, {name: viscosity, unit: mPa·s}]\n"+
		"objective: {tradeoff: [{maximize: conductivity}, {minimize: viscosity}]}"))
	s.until(front, "ends", func(st *campaign.State) bool { return st.Status.Ended() })
	page := ""
	for range 200 { // the list does not wait for models
		if _, page = s.get("/campaigns"); strings.Contains(page, "suggested compromise") {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	said := regexp.MustCompile(`<b>e\d</b>: conductivity [\d.]+ ± [\d.]+ mS/cm, viscosity [\d.]+ ± [\d.]+ mPa·s`)
	if !said.MatchString(page) || !strings.Contains(page, "covered by the front") || !strings.Contains(page, "to 100.0 at best") {
		t.Errorf("the list says: %s", page)
	}
}

// Law: the table of experiments is sorted by the column that its address names, what has no
// value last in either direction, with the heading leading to the other one; what names no
// column leaves the newest first.
func TestExperimentsAreSorted(t *testing.T) {
	s := serve(t, time.Hour)
	bench := s.begin(byHand("bench", "{experiments: 4}", "sobol"))
	for i, value := range []string{"7", "", "8"} {
		id := fmt.Sprintf("e%d", i+1)
		s.until(bench, "asks for "+id, func(st *campaign.State) bool { return st.Experiment(id) != nil })
		outcome := "measured"
		if value == "" {
			outcome = "failed"
		}
		s.sent("/campaigns/bench/tell", url.Values{"experiment": {id}, "outcome": {outcome}, "value": {value}, "why": {"it leaked"}})
	}
	s.until(bench, "asks for the last", func(st *campaign.State) bool { return st.Experiment("e4") != nil })
	sought := ""
	bench.Read(func(core *engine.Core) { sought = core.State().Definition.Sought().Name })
	for query, want := range map[string]string{
		"":                    "e4 e3 e2 e1",
		"?sort=no-such":       "e4 e3 e2 e1",
		"?sort=" + sought:     "e1 e3 e4 e2",
		"?sort=-" + sought:    "e3 e1 e4 e2",
		"?all&sort=" + sought: "e1 e3 e4 e2",
	} {
		_, page := s.get("/campaigns/bench" + query)
		var ids []string
		for _, m := range regexp.MustCompile(`<tr data-x="(e\d)"`).FindAllStringSubmatch(page, -1) {
			ids = append(ids, m[1])
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%q lists %s, want %s", query, got, want)
		}
		if turned := `aria-sort="ascending"><a href="?sort=-` + sought + `"`; (query == "?sort="+sought) != strings.Contains(page, turned) {
			t.Errorf("%q does not lead to the other direction alone", query)
		}
	}
}

// Law: a campaign's page, its file and its report show the same table of experiments, each with the
// columns that package view has for it, in its words.
func TestTheTableIsOneEverywhere(t *testing.T) {
	s := serve(t, time.Hour)
	bench := s.begin(byHand("bench", "{experiments: 2}", "sobol"))
	s.until(bench, "asks", func(st *campaign.State) bool { return st.Experiment("e1") != nil })
	s.sent("/campaigns/bench/tell", url.Values{"experiment": {"e1"}, "outcome": {"measured"}, "value": {"7"}})
	log := must.Get(bench.Timeline(t.Context()))(t)
	_, page := s.get("/campaigns/bench")
	_, file := s.get("/campaigns/bench/export.csv")
	for surface, text := range map[view.Surface]string{view.OnPage: page, view.InFiles: file} {
		bench.Read(func(core *engine.Core) {
			write := format.CompositionsOf(core.State().Definition)
			table := view.ExperimentsFor(core.State(), surface, log, write, format.Short)
			for i, c := range table.Columns {
				head, cell := ">"+format.Heading(c.Heading(), c.Unit)+"<", ">"+table.Cells(core.State().Experiment("e1"))[i].Text+"<"
				if surface == view.InFiles {
					head, cell = c.Name, ""
				}
				if !strings.Contains(text, head) || !strings.Contains(text, cell) {
					t.Errorf("surface %d has no column %s with %s", surface, head, cell)
				}
			}
		})
	}
}
