package server_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Law: a preview says what becomes of each row and records nothing; a table that is sent twice
// with once is recorded once, and the second answer says that all was there; without it the
// campaign refuses what it has, and names the line. Columns may have other names, which are told.
func TestImportOnce(t *testing.T) {
	c := serve(t)
	c.begin(bench)
	send := func(query, table string, wanted int) (out struct {
		Recorded []json.RawMessage
		LeftOut  map[string]int `json:"left_out"`
		Table    *struct {
			Rows []struct {
				Line int
				Fate string
			}
		}
		Faults []struct {
			Line  int
			Field string
		}
	}) {
		t.Helper()
		status, _, text := c.do(http.MethodPost, "/api/v1/campaigns/bench/import/csv"+query, "text/csv", table)
		c.read(query, status, wanted, text, &out)
		return out
	}
	const table = "x,salt,flow\n0.25,1,3\n0.25,1,3\n0.5,2,4\n"
	if seen := send("?preview=true", table, http.StatusOK); len(seen.Recorded) > 0 || seen.Table == nil || len(seen.Table.Rows) != 3 ||
		seen.Table.Rows[2].Line != 4 || seen.Table.Rows[2].Fate != "new" {
		t.Errorf("seen: %+v", seen)
	}
	if first := send("?once=true", table, http.StatusOK); len(first.Recorded) != 6 {
		t.Errorf("of three rows %d events", len(first.Recorded))
	}
	if again := send("?once=true", table, http.StatusOK); len(again.Recorded) != 0 || again.LeftOut["in the campaign already"] != 3 {
		t.Errorf("sent twice: %+v", again)
	}
	if more := send("?once=true", table+"0.75,3,5\n", http.StatusOK); len(more.Recorded) != 2 {
		t.Errorf("a row more: %+v", more)
	}
	if refused := send("", table, http.StatusUnprocessableEntity); len(refused.Faults) != 3 {
		t.Errorf("without once: %+v", refused)
	}
	named := "?column=" + url.QueryEscape("x (mol/kg)=x") + "&column=" + url.QueryEscape("visc. (mPa s)=further_viscosity")
	sent := send(named, "x (mol/kg),salt,flow,visc. (mPa s)\n0.125,1,9,12\n", http.StatusOK)
	if text, _ := json.Marshal(sent.Recorded); !strings.Contains(string(text), `"further":[{"name":"viscosity","value":12,"unit":"mPa s"}]`) {
		t.Errorf("columns under other names: %s", text)
	}
	wrong := send("?once=true", "x,salt,flow\n0.25,1,9 or more\n", http.StatusUnprocessableEntity)
	if len(wrong.Faults) != 1 || wrong.Faults[0].Line != 2 || wrong.Faults[0].Field != "flow" {
		t.Errorf("a remark for a number: %+v", wrong)
	}
}
