package console

import (
	"net/http"
	"slices"
)

// Mux is an http.ServeMux that lists what is registered in it, so that a test
// can hold every route against the table of rights: a page that is added
// without one fails it. It is filled before anything is served.
type Mux struct {
	mux      http.ServeMux
	patterns []string
}

// Handle is that of http.ServeMux.
func (m *Mux) Handle(pattern string, handler http.Handler) {
	m.mux.Handle(pattern, handler)
	m.patterns = append(m.patterns, pattern)
}

// HandleFunc is that of http.ServeMux.
func (m *Mux) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(handler))
}

// ServeHTTP implements http.Handler.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

// Patterns returns what is registered, in its order.
func (m *Mux) Patterns() []string { return slices.Clone(m.patterns) }
