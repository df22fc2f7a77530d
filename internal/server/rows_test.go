package server_test

import (
	"net/http"
	"strings"
	"testing"
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
	status, _, text := c.do(http.MethodPost, "/api/v1/campaigns/order/import/csv", "text/csv", "zinc,acid,mass,yield\n0.1,0.2,0.3,4\n")
	c.read("import", status, http.StatusOK, text, nil)
	_, _, rows := c.do(http.MethodGet, "/api/v1/campaigns/order/rows", "", "")
	if want := `"zinc":0.1,"acid":0.2,"mass":0.3,"zinc_actual":`; !strings.Contains(string(rows), want) {
		t.Errorf("the rows are %s, want %s", rows, want)
	}
}

// Law: a table that was taken over with --anyway is read once, like any other: what the campaign has taken it does not
// refuse the second time.
func TestOnceOfWhatWasTakenAnyway(t *testing.T) {
	c := serve(t)
	c.begin(bench)
	const table = "x,salt,flow\n1.5,1,3\n"
	send := func(query string, wanted int, into any) {
		t.Helper()
		status, _, text := c.do(http.MethodPost, "/api/v1/campaigns/bench/import/csv"+query, "text/csv", table)
		c.read(query, status, wanted, text, into)
	}
	send("?once=true", http.StatusUnprocessableEntity, nil)
	send("?once=true&anyway=true", http.StatusOK, nil)
	var again struct {
		LeftOut map[string]int `json:"left_out"`
	}
	if send("?once=true", http.StatusOK, &again); again.LeftOut["in the campaign already"] != 1 {
		t.Errorf("the second time: %+v", again)
	}
}
