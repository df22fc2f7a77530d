package server_test

import (
	"encoding/json"
	"fmt"
	"html"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/internal/web/server"
)

const measuredBefore = `
name: roast
parameters: [{name: x, min: 0, max: 1}, {name: y, min: 0, max: 1}]
objective: {name: cup, unit: points, goal: maximize}
initial: {experiments: 30}
budget: {experiments: %d}
instrument: manual
policy: lognei
`

// Law: the best by the model and the best measured have one name and one number each, wherever they are shown: in the
// list and the status of the API, in a diagnosis, on the pages, in the report, in the last words of a run and in a
// status of the command line (both are written by view.Campaign.Found). That is so after an import into a new campaign, which
// has made no decision and has no recorded fit, after an amendment, which no recorded fit outlives, and while the
// campaign is run. Whoever looks records nothing.
func TestTwoBests(t *testing.T) {
	l, err := lab.Open(t.Context(), lab.Options{Folder: t.TempDir(), Registry: builtin.Registry(), Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(server.New(server.Options{Lab: l, Version: "test", Log: t.Logf}).Handler())
	t.Cleanup(func() { s.Close(); l.Close() })
	c := &client{t, s.URL}

	same := func(when string) {
		t.Helper()
		of := must.Get(l.Campaign("roast"))(t)
		before := of.Sequence()
		core := must.Get(of.Load(t.Context()))(t)
		summary, err := core.Summarize(t.Context())
		if err != nil || summary.BestByModel == nil || summary.BestMeasured == nil || summary.NoModel != "" {
			t.Fatalf("%s: %+v, %v", when, summary, err)
		}
		want := summary.Bests
		if want.BestByModel.Experiment == want.BestMeasured.Experiment {
			t.Fatalf("%s: the bests are the same experiment, which tests little", when)
		}
		var list struct{ Campaigns []engine.Summary }
		c.get("/api/v1/campaigns", &list)
		var status struct {
			engine.Summary
			Model struct{ Headline string }
		}
		c.get("/api/v1/campaigns/roast", &status)
		for where, got := range map[string]engine.Bests{"the list": list.Campaigns[0].Bests, "the status": status.Bests} {
			if fmt.Sprint(asJSON(t, got)) != fmt.Sprint(asJSON(t, want)) {
				t.Errorf("%s, %s: %s, want %s", when, where, asJSON(t, got), asJSON(t, want))
			}
		}
		var diagnosis struct {
			Best string
			Fit  *struct{ Observations int }
		}
		c.get("/api/v1/campaigns/roast/diagnosis", &diagnosis)
		if diagnosis.Fit == nil || diagnosis.Best != want.BestByModel.Experiment {
			t.Errorf("%s: the diagnosis has %+v", when, diagnosis)
		}
		var predicted struct{ Predictions []view.Prediction }
		c.post("/api/v1/campaigns/roast/predict", `{"points": [`+asJSON(t, want.BestByModel.Parameters)+`]}`, http.StatusOK, &predicted)
		if p := predicted.Predictions; len(p) != 1 || p[0].Mean == nil || math.Abs(*p[0].Mean-want.BestByModel.Mean) > 1e-9 {
			t.Errorf("%s: it is predicted as %+v", when, predicted)
		}
		stands := view.Summarized(core, summary)
		said := fmt.Sprint(stands.Found())
		byModel, measured := view.ByModel(want.BestByModel), view.Measured(want.BestMeasured)
		mean, _ := format.MeanSD(want.BestByModel.Mean, want.BestByModel.SD)
		for _, part := range []string{"by the model: cup " + byModel, "measured: cup " + measured} {
			if !strings.Contains(said, part) {
				t.Errorf("%s: the last words are %s, without %q", when, said, part)
			}
		}
		for _, path := range []string{"/campaigns", "/campaigns/roast"} {
			text := c.page(path)
			for _, part := range []string{"best by the model", "best measured", byModel, measured} {
				if !strings.Contains(text, part) {
					t.Errorf("%s: %s does not say %q", when, path, part)
				}
			}
		}
		_, header, text := c.do("GET", "/api/v1/campaigns/roast/report", "", "")
		// The styles are within the page, and it runs nothing.
		if got := header.Values("Content-Security-Policy"); len(got) != 1 || !strings.HasPrefix(got[0], "default-src 'none'; style-src 'unsafe-inline'") {
			t.Errorf("a browser shows the report by %q", got)
		}
		written := strings.ToLower(string(text))
		for _, part := range []string{"best by the model", "best measured", "<b>" + figure.Typeset(mean) + "</b>", "<h3>slices"} {
			if !strings.Contains(written, part) {
				t.Errorf("%s: the report does not say %q", when, part)
			}
		}
		if of.Running() == nil && of.Sequence() != before {
			t.Errorf("%s: whoever looked recorded %d events", when, of.Sequence()-before)
		}
	}

	status, _, text := c.do("POST", "/api/v1/campaigns?run=false", "application/yaml", fmt.Sprintf(measuredBefore, 40))
	c.read("begin", status, http.StatusCreated, text, nil)
	var early struct{ engine.Bests }
	c.get("/api/v1/campaigns/roast", &early)
	if early.BestMeasured != nil || early.BestByModel != nil || early.NoModel == "" {
		t.Errorf("before anything was measured: %+v", early)
	}
	// The best value is a lucky one, beside better neighbors.
	table := "x,y,cup\n0.1,0.1,9.9\n0.12,0.1,2.2\n0.1,0.12,1.7\n0.09,0.08,1.8\n0.11,0.09,2.0\n"
	for i := range 12 {
		x, y := 0.5+float64(i%4)/8, 0.4+float64(i/4)/6
		table += fmt.Sprintf("%g,%g,%g\n", x, y, 9-8*(x-0.7)*(x-0.7)-8*(y-0.6)*(y-0.6))
	}
	status, _, text = c.do(http.MethodPost, "/api/v1/campaigns/roast/import/csv", "text/csv", table)
	c.read("import", status, http.StatusOK, text, nil)
	same("after an import into a new campaign")

	amend := func(budget int) {
		t.Helper()
		status, _, text := c.do(http.MethodPut, "/api/v1/campaigns/roast/definition", "application/yaml", fmt.Sprintf(measuredBefore, budget))
		c.read("amend", status, http.StatusOK, text, nil)
	}
	amend(41)
	same("after an amendment")
	c.post("/api/v1/campaigns/roast/run", ``, http.StatusOK, nil)
	var asked suggestion
	c.post("/api/v1/campaigns/roast/suggest", ``, http.StatusOK, &asked)
	same("while it runs")
	amend(42)
	c.post("/api/v1/campaigns/roast/suggest", ``, http.StatusOK, &asked)
	same("amended while it runs")
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text := must.Get(json.Marshal(v))(t)
	return string(text)
}

// page is a page as it is read.
func (c *client) page(path string) string {
	c.t.Helper()
	status, _, text := c.do(http.MethodGet, path, "", "", "Accept", "text/html")
	if status != http.StatusOK {
		c.t.Fatalf("%s: %d", path, status)
	}
	return html.UnescapeString(string(text))
}
