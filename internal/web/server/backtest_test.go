package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: wherever a campaign is shown whose results are looked up in a table, that is said: in the status and the list of
// the API, in the list of the browser and on its page. Of other campaigns it is not.
func TestBacktestIsSaidToBeOne(t *testing.T) {
	c := serve(t)
	table := filepath.Join(t.TempDir(), "rows.csv")
	must.Do(t, os.WriteFile(table, []byte("x,y\n1,5\n2,9\n3,7\n"), 0o600))
	c.begin(fmt.Sprintf(`
name: rows
parameters: [{name: x, min: 0, max: 10}]
objective: {name: y, unit: V, goal: maximize}
initial: {experiments: 2}
budget: {experiments: 3}
instrument: {table: %s}
`, table))
	const found = "found in e"
	var page []byte
	for late := time.Now().Add(20 * time.Second); !strings.Contains(string(page), found); time.Sleep(10 * time.Millisecond) {
		if _, _, page = c.do("GET", "/campaigns/rows", "", ""); time.Now().After(late) {
			t.Fatalf("the page says nowhere that the best of three rows was found by three experiments: %s", page)
		}
	}
	var status struct{ Backtest string }
	if c.get("/api/v1/campaigns/rows", &status); !strings.Contains(status.Backtest, found) {
		t.Errorf("the status says %q", status.Backtest)
	}
	c.begin(bench)
	var list struct {
		Campaigns []struct {
			Campaign string
			Backtest bool
		}
	}
	c.get("/api/v1/campaigns", &list)
	for _, listed := range list.Campaigns {
		if listed.Backtest != (listed.Campaign == "rows") {
			t.Errorf("%s is listed as a backtest: %t", listed.Campaign, listed.Backtest)
		}
	}
	const words = "Backtest: results are looked up in a table of past ones, and nothing is measured"
	for path, want := range map[string][]string{
		"/campaigns": {words}, "/campaigns/rows": {words, "the best row of 3 compositions has", found}, "/campaigns/bench": nil,
	} {
		_, _, page := c.do("GET", path, "", "")
		if strings.Count(string(page), words) != min(1, len(want)) {
			t.Errorf("%s says %d times that it is a backtest", path, strings.Count(string(page), words))
		}
		for _, want := range want {
			if !strings.Contains(string(page), want) {
				t.Errorf("%s does not say %q", path, want)
			}
		}
	}
}
