package server_test

import (
	"bytes"
	"flag"
	"net/http"
	"os"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

var rewrite = flag.Bool("rewrite", false, "rewrite docs/openapi.json")

// openAPI is the committed document, for those who write clients.
const openAPI = "../../../docs/openapi.json"

// Law: the document that is committed is the one that is served. After a change of the API:
//
//	go test ./internal/web/server -run OpenAPI -rewrite
func TestOpenAPI(t *testing.T) {
	c := serve(t)
	status, _, served := c.do("GET", "/api/v1/openapi.json", "", "")
	if status != http.StatusOK {
		t.Fatalf("%d: %s", status, served)
	}
	if *rewrite {
		must.Do(t, os.WriteFile(openAPI, served, 0o644))
	}
	committed := must.Get(os.ReadFile(openAPI))(t)
	if !bytes.Equal(committed, served) {
		t.Errorf("%s has drifted; write it anew with `go test ./internal/web/server -run OpenAPI -rewrite`, and commit it", openAPI)
	}
}
