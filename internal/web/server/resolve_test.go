package server_test

import (
	"net/http"
	"strings"
	"testing"
)

// Law: a table over HTTP settles what it says, whole or not at all, with each fault in its line; what
// it leaves alone is settled as the address says.
func TestResolveTable(t *testing.T) {
	r := tries(t)
	for _, c := range []struct {
		query, table string
		status       int
		want         string
	}{
		{"", "experiment,flow,sd\ne1,2.5,0.25\n", http.StatusOK, `"resolution":"measured"`},
		{"?reason=jammed", "experiment,outcome\ne1,failed\n", http.StatusOK, `"reason":"jammed"`},
		{"?experiments=e1&resolution=not-performed&repeat=true", "experiment,outcome\ne1,\n", http.StatusOK, `"resolution":"not-performed","repeat":true`},
		{"?voided=power", "experiment,outcome\ne1,failed\n", http.StatusOK, `"by":"power"`},
		{"", "experiment,outcome\ne1,lost\n", http.StatusUnprocessableEntity, `"field":"outcome"`},
		{"", "experiment,outcome\ne2,failed\n", http.StatusUnprocessableEntity, `"line":2`},
		{"", "experiment,outcome\ne1,\n", http.StatusUnprocessableEntity, "says nothing of any experiment"},
	} {
		r.campaign = ""
		r.fresh(sample{campaign: unknown})
		status, _, text := r.do("POST", "/api/v1/campaigns/"+r.campaign+"/resolutions/csv"+c.query, "text/csv", c.table)
		if status != c.status || !strings.Contains(string(text), c.want) {
			t.Errorf("%s %q: %d %s, want %d with %s", c.query, c.table, status, text, c.status, c.want)
		}
	}
}
