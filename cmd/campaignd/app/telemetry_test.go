package app

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// With the standard variables set, a run exports traces and metrics, and
// campaign, decision, command and measurement share one trace, which is carried
// in the events.
func TestTelemetry(t *testing.T) {
	var mu sync.Mutex
	received := map[string]string{}
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		body.ReadFrom(r.Body)
		mu.Lock()
		defer mu.Unlock()
		received[r.URL.Path] += body.String()
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)

	store := filepath.Join(t.TempDir(), "tiny.campaign")
	campaignd := func(args ...string) string {
		var stdout, stderr bytes.Buffer
		if code := Run(t.Context(), Builtin(), append(args, "--store", store), strings.NewReader(""), &stdout, &stderr); code != exitOK {
			t.Fatalf("exit code %d: %s", code, stderr.String())
		}
		return stdout.String()
	}
	campaignd("run", "testdata/tiny.yaml")

	traces := map[string]bool{}
	for line := range strings.Lines(campaignd("events")) {
		var e struct{ Type, Traceparent string }
		must.Do(t, json.Unmarshal([]byte(line), &e))
		trace, _, ok := strings.Cut(strings.TrimPrefix(e.Traceparent, "00-"), "-")
		if !ok {
			t.Errorf("%s carries no trace", e.Type)
		}
		traces[trace] = true
	}
	if len(traces) != 1 {
		t.Errorf("%d traces, want 1", len(traces))
	}
	for path, names := range map[string][]string{
		"/v1/traces":  {"campaign", "decision", "fit objective", "measurement"},
		"/v1/metrics": {"campaignd.log.append.duration", "campaignd.decision.duration", "campaignd.question.duration"},
	} {
		for _, name := range names {
			if !strings.Contains(received[path], name) {
				t.Errorf("%s holds no %q", path, name)
			}
		}
	}
}
