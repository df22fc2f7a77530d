package console_test

import (
	"bytes"
	"html"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// upload sends a form with a file, as a browser does.
func (s *site) upload(path string, form url.Values, file string) (int, string, string) {
	s.t.Helper()
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	for name := range form {
		must.Do(s.t, parts.WriteField(name, form.Get(name)))
	}
	part, err := parts.CreateFormFile("file", "old.csv")
	if err == nil {
		_, err = part.Write([]byte(file))
	}
	if err == nil {
		err = parts.Close()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	r := must.Get(http.NewRequest(http.MethodPost, s.server.URL+path, &body))(s.t)
	r.Header.Set("Content-Type", parts.FormDataContentType())
	status, header, text := s.do(r)
	return status, header.Get("Location"), text
}

// Law: the example of a table is one of the campaign: its first line names all columns that
// the page asks for, and it is taken as it is.
func TestTheExampleOfATableIsTaken(t *testing.T) {
	s := serve(t, time.Hour)
	s.begin(byHand("bench", "{experiments: 2}", "logei"))
	const path = "/campaigns/bench/bring"
	_, page := s.get(path)
	_, example, _ := strings.Cut(page, `placeholder="`)
	example, _, _ = strings.Cut(example, `"`)
	example = html.UnescapeString(example)
	if header, _, _ := strings.Cut(example, "\n"); header != "x,salt,flow" || !strings.Contains(page, "names the columns: x, salt and flow;") {
		t.Errorf("the example is %q: %s", example, page)
	}
	if status, _, page := s.upload(path, url.Values{"do": {"look"}}, example); status != http.StatusOK || !strings.Contains(page, "<b>1</b> new") {
		t.Errorf("%d: %s", status, page)
	}
}

// Law: a table that is brought shows what becomes of each row, with the column and what to do
// about what is wrong, and writes nothing; with a fault none is taken, without one all are, and
// once, however often and from however many pages it is sent; what was not looked at is not taken.
func TestBringMeasurements(t *testing.T) {
	s := serve(t, time.Hour)
	c := s.begin(byHand("bench", "{experiments: 2}", "logei"))
	const path = "/campaigns/bench/bring"
	_, location, _ := s.post("/campaigns/bench/tell", url.Values{"own.x": {"0.5"}, "own.salt": {"A"}, "value": {"7"}})
	if location == "" {
		t.Fatal("nothing is measured")
	}
	experiments := func() (n int) {
		c.Read(func(core *engine.Core) {
			for _, x := range core.State().Experiments {
				if x.Measurement != nil {
					n++
				}
			}
		})
		return n
	}
	before := experiments()
	const faulty = "x,salt,flow,lot\n0.1,A,3,old\n0.5,A,7,\n0.2,C,4,\n0.3,B,\"3,500\",\n4,B,2,\n0.25,B,inf,\n"
	look := url.Values{"do": {"look"}}
	status, _, page := s.upload(path, look, "\ufeff"+strings.ReplaceAll(faulty, "\n", "\r\n"))
	for _, want := range []string{
		"<b>1</b> new", "<b>1</b> in the campaign already", "<b>4</b> faulty",
		"none of A, B", "may be 3.500 or 3500", "above 1", "taken nevertheless", "not a finite number",
		"experiments/e", `name="use.lot"`,
	} {
		if status != http.StatusOK || !strings.Contains(page, want) {
			t.Errorf("%d, without %q: %s", status, want, page)
		}
	}
	if strings.Contains(page, `value="take"`) || experiments() != before {
		t.Error("a table with faults can be taken, or was")
	}
	for class, n := range map[string]int{"is-new": 1, "left-out": 1, "is-wrong": 4} {
		if rows := strings.Count(page, `<tr class="`+class+`">`); rows != n {
			t.Errorf("%d rows are marked as %s, not %d", rows, class, n)
		}
	}
	_, _, page = s.post(path, url.Values{"table": {faulty}, "do": {"look"}, "use.lot": {"ignore"}})
	if strings.Contains(page, `value="take"`) {
		t.Error("what becomes of each column is said, and a table with faults can be taken")
	}
	for _, wrong := range []string{"", "x,salt\n1,A\n", "x;salt;flow\n1;A;2;3\n", "x,salt,flow\n", "x,salt,flow\n1,A\n", "\xff\xfex,", "x,salt,flow\n\x81,A,1\n",
		"x,salt,flow\n" + strings.Repeat("0.5,A,1\n", 5001), strings.Repeat("x", 5<<20)} {
		if status, _, page := s.upload(path, look, wrong); status < 400 || status >= 500 || !strings.Contains(page, `class="box bad"`) {
			t.Errorf("%.20q: %d", wrong, status)
		}
	}
	_, _, page = s.upload(path, look, "Gemessen im Mai,,\nx,salt,flow\n0.1,A,3\n0.2,A,\xb5\n")
	for _, want := range []string{"Line 1 (Gemessen im Mai) is left out: a title.", "read as Windows-1252", "without a result (µ)"} {
		if !strings.Contains(page, want) {
			t.Errorf("of a table with a title, in Windows-1252, it is not said: %s", want)
		}
	}
	// A good one, as a spreadsheet pastes it: nothing before it was looked at, then all, once.
	const good = "x\tsalt\tflow\tlot\n0.1\tA\t3\told\n0.1\tA\t3\told\n0.5\tA\t7\t\n0.2\tB\t4\tnew\n"
	status, _, _ = s.post(path, url.Values{"table": {good}, "do": {"take"}, "use.lot": {"note"}})
	if status != http.StatusConflict || experiments() != before {
		t.Errorf("taken, and never looked at: %d", status)
	}
	_, _, page = s.post(path, url.Values{"table": {good}, "do": {"look"}, "use.lot": {"note"}})
	form := s.hidden(page, path)
	form.Set("do", "take")
	form.Set("use.lot", "note")
	form.Set("table", good)
	changed := url.Values{"seen": form["seen"], "once": form["once"], "do": {"take"}, "use.lot": {"note"},
		"table": {strings.ReplaceAll(good, "0.2", "0.3")}}
	if status, _, page := s.post(path, changed); status != http.StatusConflict || experiments() != before || !strings.Contains(page, "not the one that you looked at") {
		t.Errorf("another table than was looked at: %d", status)
	}
	_, _, other := s.post(path, url.Values{"table": {good}, "do": {"look"}, "use.lot": {"note"}})
	second := s.hidden(other, path)
	for name := range form {
		if second.Get(name) == "" {
			second.Set(name, form.Get(name))
		}
	}
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			sent := form
			if i%2 > 0 {
				sent = second
			}
			if status, to, page := s.post(path, sent); status != http.StatusSeeOther || !strings.HasPrefix(to, "/campaigns/bench?said=") {
				t.Errorf("%d %s %s", status, to, page)
			}
		})
	}
	all.Wait()
	if n := experiments(); n != 4 {
		t.Errorf("of three new rows and one measured before, %d are there", n)
	}
	notes := 0
	c.Read(func(core *engine.Core) { notes = len(core.State().Notes) })
	if notes != 3 {
		t.Errorf("%d notes", notes)
	}
	// The same again on purpose, pressed twice.
	_, _, page = s.post(path, url.Values{"table": {good}, "do": {"look"}, "use.lot": {"ignore"}, "again": {"on"}})
	form = s.hidden(page, path)
	for name, value := range map[string]string{"do": "take", "use.lot": "ignore", "again": "on", "table": good} {
		form.Set(name, value)
	}
	s.sent(path, form)
	s.sent(path, form)
	if n := experiments(); n != 8 {
		t.Errorf("four rows more of four, pressed twice: %d", n)
	}
}

// Law: a column under another name can be told to be a parameter, what is sought, its standard
// deviation or a further quantity with its unit; until then nothing is taken. What its heading
// says is offered, and only a person says that it is so; what was chosen stays so, and what another
// column is already is not offered. A workbook is called one.
func TestBringColumns(t *testing.T) {
	s := serve(t, time.Hour)
	c := s.begin(byHand("bench", "{experiments: 2}", "logei"))
	const path = "/campaigns/bench/bring"
	const table = "X (mol/kg);salt;yield;error;viscosity (mPa s)\n0,1;A;3;0,2;12,5\n0,5;B;7;;\n"
	_, _, page := s.upload(path, url.Values{"do": {"look"}}, table)
	for _, want := range []string{"<b>x</b>, <b>flow</b> are missing", `<option value="is.x" selected>it is the parameter x, in mol/kg`,
		`<option value="is.flow">`, `value="viscosity"`, `value="mPa s"`} {
		if !strings.Contains(page, want) {
			t.Errorf("without %q: %s", want, page)
		}
	}
	if strings.Contains(page, `value="take"`) || strings.Contains(page, `value="is.salt"`) {
		t.Error("a table without its columns can be taken, or two columns can be the same")
	}
	form := url.Values{
		"table": {table}, "do": {"look"}, "use.X (mol/kg)": {"is.x"}, "use.yield": {"is.flow"}, "use.error": {"is.sd"},
		"use.viscosity (mPa s)": {"further"}, "name.viscosity (mPa s)": {"viscosity"}, "unit.viscosity (mPa s)": {"mPas"},
	}
	_, _, page = s.post(path, form)
	if !strings.Contains(page, "<b>2</b> new") || !strings.Contains(page, `value="take"`) {
		t.Errorf("it cannot be taken: %s", page)
	}
	if strings.Count(page, `value="is.x"`) != 1 || !strings.Contains(page, `value="is.x" selected`) {
		t.Errorf("X is not chosen any more, or another column can be x, too: %s", page)
	}
	hidden := s.hidden(page, path)
	form["do"], form["seen"], form["once"] = []string{"take"}, hidden["seen"], hidden["once"]
	other := url.Values{}
	for name, values := range form {
		other[name] = values
	}
	other["unit.viscosity (mPa s)"] = []string{"Pas"}
	if status, _, _ := s.post(path, other); status != http.StatusConflict {
		t.Errorf("another unit than was looked at: %d", status)
	}
	s.sent(path, form)
	var m events.Measurement
	c.Read(func(core *engine.Core) {
		for _, x := range core.State().Experiments {
			if x.Measurement != nil && x.Measurement.Objective.Value == 3 {
				m = *x.Measurement
			}
		}
	})
	if x, _ := m.Actual["x"].Float(); x != 0.1 || m.Objective.SD == nil || *m.Objective.SD != 0.2 ||
		len(m.Further) != 1 || m.Further[0] != (definition.Quantity{Name: "viscosity", Value: 12.5, Unit: "mPas"}) {
		t.Errorf("taken over: %+v", m)
	}
	if _, _, page := s.upload(path, url.Values{"do": {"look"}}, "PK\x03\x04\x14\x00"); !strings.Contains(page, "is a workbook") || !strings.Contains(page, "save it as CSV") {
		t.Errorf("of a workbook it says: %s", page)
	}
}

// bounded is a campaign that declares quantities, one of which is bounded, as it is begun from a
// table with the heading Viskosität [mPa·s].
const bounded = `name: bounded
parameters: [{name: x, min: 0, max: 1}]
quantities: [{name: clean, unit: "%"}, {name: Viskositaet, unit: mPa·s}, {name: colour}]
objective: {maximize: clean}
constraints_on_outcomes: [Viskositaet <= 30]
initial: {experiments: 2}
budget: {experiments: 8}
instrument: manual
`

// Law: each quantity that a campaign declares is offered for a column that it does not know; the
// one is preselected of which the heading is, as a table would name it, unless in another unit. A
// quantity on which decisions rest and that rows do not have is named, with the rows, before
// anything is recorded.
func TestBringDeclaredQuantities(t *testing.T) {
	s := serve(t, time.Hour)
	c := s.begin(bounded)
	const path = "/campaigns/bounded/bring"
	if _, page := s.get(path); !strings.Contains(page, "x, clean, Viskositaet and colour") {
		t.Error("the page does not name what is measured")
	}
	const table = "x;clean;Viskosität [mPa·s];Farbe\n0,1;60;33,1;rot\n0,2;70;;\n0,3;80;12;\n"
	_, _, page := s.post(path, url.Values{"table": {table}, "do": {"look"}})
	for _, want := range []string{
		`<option value="is.Viskositaet" selected>it is Viskositaet, which is measured, in mPa·s`, `<option value="is.colour">`,
		"<b>Viskositaet</b> has no value in any row",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("without %q", want)
		}
	}
	if _, _, page := s.post(path, url.Values{"table": {strings.Replace(table, "mPa·s", "Pa·s", 1)}, "do": {"look"}}); strings.Contains(page, `value="is.Viskositaet" selected`) {
		t.Error("a column in another unit is taken for the quantity")
	}
	form := url.Values{"table": {table}, "do": {"look"}, "use.Viskosität [mPa·s]": {"is.Viskositaet"}, "use.Farbe": {"note"}}
	_, _, page = s.post(path, form)
	if !strings.Contains(page, "<b>Viskositaet</b> has no value in 1 row (line 3)") || strings.Contains(page, `has no value in any row`) {
		t.Error("the row without a value is not named")
	}
	hidden := s.hidden(page, path)
	form["do"], form["seen"], form["request"] = []string{"take"}, hidden["seen"], hidden["request"]
	s.sent(path, form)
	var values []float64
	c.Read(func(core *engine.Core) {
		for _, x := range core.State().Experiments {
			if x.Origin != events.OriginImport {
				continue
			}
			if q, ok := x.Measurement.Of("Viskositaet"); ok {
				values = append(values, q.Value)
			}
		}
	})
	if len(values) != 2 || values[0] != 33.1 || values[1] != 12 {
		t.Errorf("recorded are %v", values)
	}
}

// Law: a result that leaves a quantity blank on which decisions rest is asked about, and recorded
// once its value is there or the reason why there is none; others may stay blank.
func TestABoundedQuantityIsAskedAbout(t *testing.T) {
	s := serve(t, time.Hour)
	c := s.begin(bounded)
	s.until(c, "an experiment", func(state *campaign.State) bool { return len(state.Experiments) > 0 })
	const path = "/campaigns/bounded/tell"
	form := url.Values{"experiment": {"e1"}, "outcome": {"measured"}, "value": {"61"}}
	status, _, page := s.post(path, form)
	if status != http.StatusBadRequest || !strings.Contains(page, "no value of Viskositaet") || !strings.Contains(page, "the reason for its absence below") ||
		!strings.Contains(page, `<details class="more" open><summary>A quantity has no value`) || !strings.Contains(page, `value="61"`) {
		t.Errorf("%d %s", status, page)
	}
	form.Set("missing.Viskositaet", "the viscometer is at the workshop")
	s.sent(path, form)
	s.until(c, "another experiment", func(state *campaign.State) bool { return len(state.Experiments) > 1 })
	whole := url.Values{"experiment": {"e2"}, "outcome": {"measured"}, "value": {"61"}, "further.name": {"Viskositaet"}, "further.value": {"12"}, "further.unit": {"mPa·s"}}
	s.sent(path, whole)
	c.Read(func(core *engine.Core) {
		m := core.State().Experiment("e1").Measurement
		if len(m.Missing) == 0 || m.Missing[0].Reason != "the viscometer is at the workshop" {
			t.Errorf("recorded is %+v", m)
		}
	})
}
