package server_test

import (
	"bytes"
	"flag"
	"net/http"
	"os"
	"testing"
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
		if err := os.WriteFile(openAPI, served, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile(openAPI)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(committed, served) {
		t.Errorf("%s has drifted; write it anew with `go test ./internal/web/server -run OpenAPI -rewrite`, and commit it", openAPI)
	}
}
