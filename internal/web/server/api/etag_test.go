package api

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// left is the answer of a client that has gone: nothing can be written to it.
type left struct {
	http.ResponseWriter
	statuses []int
}

func (l *left) WriteHeader(status int)    { l.statuses = append(l.statuses, status) }
func (l *left) Write([]byte) (int, error) { return 0, errors.New("the client has gone") }

// Law: an answer has one status, whatever becomes of the client meanwhile, and that its bytes
// cannot be written is no fault of the server. The library writes a second status, or
// panics, where it cannot write what follows the first.
func TestAnswerHasOneStatus(t *testing.T) {
	mux := http.NewServeMux()
	library := humago.New(mux, huma.DefaultConfig("test", "1"))
	type answer struct{ Body struct{ Text string } }
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		huma.Register(library, huma.Operation{OperationID: method, Method: method, Path: "/"},
			func(context.Context, *struct{}) (*answer, error) { return new(answer), nil })
	}
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		for _, known := range []bool{true, false} { // that it has gone
			ctx, cancel := context.WithCancel(t.Context())
			if known {
				cancel()
			}
			w := &left{ResponseWriter: httptest.NewRecorder()}
			tagged(mux).ServeHTTP(w, httptest.NewRequestWithContext(ctx, method, "/", strings.NewReader("")))
			if len(w.statuses) != 1 || w.statuses[0] != http.StatusOK {
				t.Errorf("%s, known %t: the statuses %d", method, known, w.statuses)
			}
			cancel()
		}
	}
}
