package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Law: the fields of a row stand in the order of the campaign file, as a data frame takes them.
func TestRowsInTheOrderOfTheFile(t *testing.T) {
	c := serve(t)
	c.begin(`
name: order
parameters: [{name: zinc, min: 0, max: 1}, {name: acid, min: 0, max: 1}, {name: mass, min: 0, max: 1}]
objective: {name: yield, goal: maximize}
initial: {experiments: 2}
budget: {experiments: 3}
instrument: manual
`)
	const table = "zinc,acid,mass,yield\n0.1,0.2,0.3,4\n"
	status, _, text := c.do(http.MethodPost, "/api/v1/campaigns/order/import/csv", "text/csv", table)
	c.read("import", status, http.StatusOK, text, nil)
	status, _, text = c.do(http.MethodGet, "/api/v1/campaigns/order/rows", "", "")
	var rows struct{ Columns, Rows json.RawMessage }
	c.read("rows", status, http.StatusOK, text, &rows)
	for what, is := range map[string]struct{ text, want string }{
		"columns": {string(rows.Columns), `"zinc","acid","mass","zinc_actual","acid_actual","mass_actual","yield"`},
		"rows":    {string(rows.Rows), `"zinc":0.1,"acid":0.2,"mass":0.3,"zinc_actual":0.1,"acid_actual":0.2,"mass_actual":0.3,"yield":4`},
	} {
		if !strings.Contains(is.text, is.want) {
			t.Errorf("the %s are\n%s\nand hold nowhere\n%s", what, is.text, is.want)
		}
	}
}

// Law: a table that was taken over with --anyway is read once, like any other: what the campaign has taken it does not
// refuse the second time, alone or beside a new row. A new row it could not take is refused as ever.
func TestOnceOfWhatWasTakenAnyway(t *testing.T) {
	c := serve(t)
	c.begin(bench)
	const outside = "x,salt,flow\n1.5,1,3\n"
	send := func(query, table string, wanted int) (leftOut int) {
		t.Helper()
		var reply struct {
			LeftOut map[string]int `json:"left_out"`
		}
		status, _, text := c.do(http.MethodPost, "/api/v1/campaigns/bench/import/csv"+query, "text/csv", table)
		c.read(query, status, wanted, text, &reply)
		return reply.LeftOut["in the campaign already"]
	}
	measured := func() int {
		t.Helper()
		var found struct{ Experiments []json.RawMessage }
		status, _, text := c.do(http.MethodGet, "/api/v1/campaigns/bench/experiments?status=measured", "", "")
		c.read("experiments", status, http.StatusOK, text, &found)
		return len(found.Experiments)
	}
	send("?once=true", outside, http.StatusUnprocessableEntity)
	send("?once=true&anyway=true", outside, http.StatusOK)
	if n := send("?once=true", outside, http.StatusOK); n != 1 {
		t.Errorf("the second time %d rows are left out as known, not 1", n)
	}
	if n := send("?once=true", outside+"0.5,2,4\n", http.StatusOK); n != 1 {
		t.Errorf("beside a new row %d are left out as known, not 1", n)
	}
	send("?once=true", outside+"1.6,1,3\n", http.StatusUnprocessableEntity)
	if n := measured(); n != 2 {
		t.Errorf("%d measurements were taken over, not 2", n)
	}
}

// Law: the acts of a procedure come in pages, those of one experiment or one batch alone where that is asked for; a
// cursor that names none is refused.
func TestActs(t *testing.T) {
	c := serve(t)
	c.begin(`
name: plates
parameters: [{name: x, min: 0, max: 1}]
objective: {name: yield, goal: maximize}
initial: {experiments: 2}
budget: {experiments: 2}
parallel: 2
stocks: {tips: {labels: A1-H1}}
instruments: {bench: manual}
procedure:
  read: {on: bench, gives: yield, draws: {tips: 2}}
`)
	type page struct {
		Acts []struct {
			ID, Stage, Batch string
			Attempt          int
			Experiments      []string
			Command          struct {
				Drawn []struct{ Labels []string }
			}
		}
		Next string
	}
	acts := func(query string, wanted int) (found page) {
		t.Helper()
		status, _, text := c.do(http.MethodGet, "/api/v1/campaigns/plates/acts"+query, "", "")
		c.read(query, status, wanted, text, &found)
		return found
	}
	for late := time.Now().Add(time.Minute); len(acts("", http.StatusOK).Acts) < 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("the acts were not dispatched")
		}
	}
	first := acts("?limit=1", http.StatusOK)
	second := acts("?limit=1&cursor="+first.Next, http.StatusOK)
	if a := first.Acts[0]; a.ID != "a1" || first.Next != "a1" || a.Stage != "read" || a.Attempt != 1 || len(a.Command.Drawn[0].Labels) != 2 {
		t.Errorf("the first page is %+v", first)
	}
	if second.Acts[0].ID != "a2" || second.Next != "" {
		t.Errorf("the second page is %+v", second)
	}
	for query, want := range map[string]int{"?experiment=e2": 1, "?batch=b1": 1, "?experiment=e9": 0} {
		if got := acts(query, http.StatusOK).Acts; len(got) != want {
			t.Errorf("%s: %+v, want %d", query, got, want)
		}
	}
	acts("?cursor=e1", http.StatusBadRequest)
}
