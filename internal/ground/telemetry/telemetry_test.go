package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/campaignd/campaignd/internal/ground/telemetry"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// collector is an OTLP/HTTP collector within the test.
type collector struct {
	url    string
	status int // answered instead of 200, where set

	mu       sync.Mutex
	requests int
	resource map[string]string // of the last request
	spans    map[string]*tracepb.Span
	metrics  map[string]*metricspb.Metric
	faults   []error
}

func newCollector(t *testing.T) *collector { return newCollectorAnswering(t, 0) }

func newCollectorAnswering(t *testing.T, status int) *collector {
	c := &collector{status: status, spans: make(map[string]*tracepb.Span), metrics: make(map[string]*metricspb.Metric)}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	if c.status != 0 {
		w.WriteHeader(c.status)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = c.decode(r.URL.Path, body)
	}
	if err != nil {
		c.faults = append(c.faults, err)
		w.WriteHeader(http.StatusBadRequest)
	}
}

func (c *collector) decode(path string, body []byte) error {
	switch path {
	case "/v1/traces":
		var request collectortrace.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &request); err != nil {
			return err
		}
		for _, r := range request.ResourceSpans {
			c.resource = attributesOf(r.Resource.Attributes)
			for _, s := range r.ScopeSpans {
				for _, span := range s.Spans {
					c.spans[span.Name] = span
				}
			}
		}
	case "/v1/metrics":
		var request collectormetrics.ExportMetricsServiceRequest
		if err := proto.Unmarshal(body, &request); err != nil {
			return err
		}
		for _, r := range request.ResourceMetrics {
			c.resource = attributesOf(r.Resource.Attributes)
			for _, s := range r.ScopeMetrics {
				for _, m := range s.Metrics {
					c.metrics[m.Name] = m
				}
			}
		}
	default:
		return errors.New("unexpected path " + path)
	}
	return nil
}

func attributesOf(list []*commonpb.KeyValue) map[string]string {
	m := make(map[string]string)
	for _, a := range list {
		m[a.Key] = a.Value.GetStringValue()
	}
	return m
}

// setenv sets the variables of OpenTelemetry to exactly those given.
func setenv(t *testing.T, variables map[string]string) {
	t.Helper()
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
			os.Unsetenv(name) // Setenv puts it back after the test
		}
	}
	for name, value := range variables {
		t.Setenv(name, value)
	}
}

// work does what a program does: a span and an append.
func work(t *testing.T, name string) {
	t.Helper()
	instruments := must.Get(telemetry.NewInstruments())(t)
	_, span := telemetry.Start(t.Context(), name)
	instruments.Appended(t.Context(), 3, time.Millisecond)
	telemetry.End(span, nil)
}

// The standard variables decide what is exported, and to where.
func TestSetupFollowsTheEnvironment(t *testing.T) {
	tests := []struct {
		name            string
		variables       map[string]string // URL stands for the collector's
		traces, metrics bool
	}{
		{"nothing set", nil, false, false},
		{"one endpoint for both", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL"}, true, true},
		{"traces only", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "URL/v1/traces"}, true, false},
		{"metrics only", map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "URL/v1/metrics"}, false, true},
		{"traces switched off",
			map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_TRACES_EXPORTER": "none"}, false, true},
		{"all switched off",
			map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_SDK_DISABLED": "true"}, false, false},
		{"only a name", map[string]string{"OTEL_SERVICE_NAME": "lab"}, false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := newCollector(t)
			variables := make(map[string]string)
			for name, value := range test.variables {
				variables[name] = strings.Replace(value, "URL", c.url, 1)
			}
			setenv(t, variables)
			shutdown := must.Get(telemetry.Setup(t.Context(), "v1.2.3", nil))(t)
			work(t, "work")
			if err := shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			work(t, "too late")
			if err := shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if (c.spans["work"] != nil) != test.traces || (c.metrics["campaignd.log.events"] != nil) != test.metrics {
				t.Errorf("got %d spans and %d metrics", len(c.spans), len(c.metrics))
			}
			if !test.traces && !test.metrics && c.requests > 0 {
				t.Errorf("%d requests although telemetry is off", c.requests)
			}
			if c.spans["too late"] != nil || len(c.faults) > 0 {
				t.Errorf("spans %v, faults %v", c.spans, c.faults)
			}
		})
	}
}

// Who reports: campaignd at its version, or what the environment says.
func TestResource(t *testing.T) {
	for _, test := range []struct {
		name                string
		variables, resource map[string]string
	}{
		{"by default", nil, map[string]string{"service.name": "campaignd", "service.version": "v1.2.3"}},
		{"by name", map[string]string{"OTEL_SERVICE_NAME": "lab-3"},
			map[string]string{"service.name": "lab-3", "service.version": "v1.2.3"}},
		{"by attributes",
			map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "service.name=lab-4,deployment.environment.name=cleanroom"},
			map[string]string{"service.name": "lab-4", "service.version": "v1.2.3",
				"deployment.environment.name": "cleanroom"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCollector(t)
			setenv(t, test.variables)
			t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.url+"/v1/traces")
			shutdown := must.Get(telemetry.Setup(t.Context(), "v1.2.3", nil))(t)
			work(t, "work")
			must.Do(t, shutdown(t.Context()))
			for name, want := range test.resource {
				if got := c.resource[name]; got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		})
	}
}

// A variable that cannot be followed is an error that names it, and nothing is
// sent anywhere.
func TestSetupRefuses(t *testing.T) {
	for _, test := range []struct{ name, value string }{
		{"OTEL_TRACES_EXPORTER", "zipkin"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"},
		{"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "carrier pigeon"},
		{"OTEL_RESOURCE_ATTRIBUTES", "no equals sign"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://[::1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCollector(t)
			setenv(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.url})
			t.Setenv(test.name, test.value)
			shutdown, err := telemetry.Setup(t.Context(), "v1.2.3", nil)
			if err == nil || !strings.Contains(err.Error(), "OTEL_") {
				t.Errorf("got %v", err)
			}
			work(t, "work")
			if err := shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if len(c.spans) > 0 {
				t.Errorf("nothing should arrive, got %v", c.spans)
			}
		})
	}
}

// TestMain lets the test binary be the program whose output is watched.
func TestMain(m *testing.M) {
	if os.Getenv("TELEMETRY_TEST_PROGRAM") != "" {
		program()
		return
	}
	os.Exit(m.Run())
}

// program works under telemetry for a while, and prints what Setup or shutdown
// found wrong.
func program() {
	ctx := context.Background()
	shutdown, err := telemetry.Setup(ctx, "v1.2.3", nil)
	if err != nil {
		fmt.Println("setup:", err)
		return
	}
	instruments, err := telemetry.NewInstruments()
	if err != nil {
		fmt.Println("instruments:", err)
		return
	}
	for range 5 {
		_, span := telemetry.Start(ctx, "work")
		instruments.Appended(ctx, 1, time.Millisecond)
		telemetry.End(span, nil)
		time.Sleep(30 * time.Millisecond) // lets periodic exports fail too
	}
	if err := shutdown(ctx); err != nil {
		fmt.Println("shutdown:", err)
	}
}

// Not a byte goes to the terminal while a program runs, without telemetry as
// with a collector that refuses or is gone; shutdown says what happened.
func TestTerminalStaysQuiet(t *testing.T) {
	accepting, refusing := newCollector(t), newCollectorAnswering(t, http.StatusForbidden)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, test := range []struct {
		name, variable, value, report string
	}{
		{"nothing set", "OTEL_SERVICE_NAME", "lab", ""},
		{"a collector", "OTEL_EXPORTER_OTLP_ENDPOINT", accepting.url, ""},
		{"a collector that refuses", "OTEL_EXPORTER_OTLP_ENDPOINT", refusing.url,
			"shutdown: telemetry: export by OTLP: "},
		{"a collector that is gone", "OTEL_EXPORTER_OTLP_ENDPOINT", gone.URL, "shutdown: telemetry: export by OTLP: "},
		{"an endpoint that is none", "OTEL_EXPORTER_OTLP_ENDPOINT", "http://[::1",
			"setup: telemetry: an OTEL_ variable: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			setenv(t, map[string]string{
				test.variable:                 test.value,
				"OTEL_EXPORTER_OTLP_TIMEOUT":  "200",
				"OTEL_METRIC_EXPORT_INTERVAL": "20",
				"OTEL_BSP_SCHEDULE_DELAY":     "20",
				"TELEMETRY_TEST_PROGRAM":      "1",
			})
			var stdout, stderr strings.Builder
			command := exec.CommandContext(t.Context(), os.Args[0])
			command.Stdout, command.Stderr = &stdout, &stderr
			must.Do(t, command.Run())
			if stderr.Len() > 0 {
				t.Errorf("written to the terminal: %s", &stderr)
			}
			report := stdout.String()
			if !strings.HasPrefix(report, test.report) || (test.report == "") != (report == "") ||
				strings.Count(report, "\n") > 1 {
				t.Errorf("reported: %s", report)
			}
		})
	}
}

// Campaign, decision, command and measurement are one trace although each is
// handled at another time, with nothing but the event before in hand.
func TestTraceTravelsInEvents(t *testing.T) {
	c := newCollector(t)
	setenv(t, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": c.url + "/v1/traces"})
	shutdown := must.Get(telemetry.Setup(t.Context(), "v1.2.3", nil))(t)
	steps := []string{"campaign", "decision", "command", "measurement"}
	var carried string // an event's Trace
	for _, name := range steps {
		ctx := telemetry.Extract(context.Background(), carried)
		ctx, span := telemetry.Start(ctx, name, attribute.String("campaign", "electrolyte"))
		carried = telemetry.Inject(ctx)
		if len(carried) != 55 {
			t.Fatalf("%q is not a traceparent", carried)
		}
		var failure error
		if name == "measurement" {
			failure = errors.New("the pump is dry")
		}
		telemetry.End(span, failure)
	}
	must.Do(t, shutdown(t.Context()))
	for i, name := range steps {
		span := c.spans[name]
		if span == nil {
			t.Fatalf("no span %q", name)
		}
		if string(span.TraceId) != string(c.spans["campaign"].TraceId) {
			t.Errorf("%s is in another trace", name)
		}
		if i > 0 && string(span.ParentSpanId) != string(c.spans[steps[i-1]].SpanId) {
			t.Errorf("%s does not follow %s", name, steps[i-1])
		}
		failed := span.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR
		if failed != (name == "measurement") || attributesOf(span.Attributes)["campaign"] != "electrolyte" {
			t.Errorf("%s: status %v, attributes %v", name, span.Status, span.Attributes)
		}
	}
}

// Without telemetry an event carries no trace of its own but passes on what it
// got; what is not a traceparent is not a parent.
func TestInjectAndExtract(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, test := range []struct{ carried, want string }{
		{"", ""},
		{parent, parent},
		{"nonsense", ""},
		{"00-00000000000000000000000000000000-00f067aa0ba902b7-01", ""},
		{parent[:54], ""},
	} {
		ctx := telemetry.Extract(t.Context(), test.carried)
		ctx, span := telemetry.Start(ctx, "work")
		if span.IsRecording() {
			t.Error("a span records although telemetry is off")
		}
		if got := telemetry.Inject(ctx); got != test.want {
			t.Errorf("%q became %q, want %q", test.carried, got, test.want)
		}
		telemetry.End(span, nil)
	}
}

// Every metric arrives with its unit and only the attributes that are listed:
// none that grows with the number of campaigns or experiments.
func TestInstruments(t *testing.T) {
	c := newCollector(t)
	setenv(t, map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": c.url + "/v1/metrics"})
	shutdown := must.Get(telemetry.Setup(t.Context(), "v1.2.3", nil))(t)
	m := must.Get(telemetry.NewInstruments())(t)
	record := func(m *telemetry.Instruments) {
		ctx := t.Context()
		m.Appended(ctx, 3, time.Millisecond)
		m.Decided(ctx, "run", 80*time.Millisecond)
		m.Fitted(ctx, "objective", telemetry.OutcomeDone, 20*time.Millisecond)
		m.Answered(ctx, "accept", time.Minute)
		m.Experimented(ctx, telemetry.OutcomeDone, true, time.Hour)
		m.Stalled(ctx, "robot")
		if _, err := m.WatchQueue("questions",
			func() (time.Time, bool) { return time.Now().Add(-time.Hour), true }); err != nil {
			t.Error(err)
		}
		stop, err := m.WatchQueue("experiments", func() (time.Time, bool) { panic("called after stop") })
		if err != nil {
			t.Error(err)
		}
		stop()
	}
	record(m)
	record(nil) // does nothing
	stop, err := telemetry.WatchForwards(func() map[string]uint64 { return map[string]uint64{"archive": 7} })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	// Each number is another one, so that none is reported under the name of its neighbour.
	stop = must.Get(telemetry.WatchDatabase(func() telemetry.Database {
		return telemetry.Database{Held: 11, TakenOver: 12, Lost: 13, Missed: 14, HeartbeatSeconds: 3600,
			Settled: 15, Resent: 16, LettersAsked: 17, LettersServed: 18, Behind: 7}
	}))(t)
	defer stop()
	must.Do(t, shutdown(t.Context()))
	for name, want := range map[string]int64{
		"lease.held": 11, "lease.taken_over": 12, "lease.lost": 13, "heartbeat.missed": 14, "append.settled": 15,
		"append.resent": 16, "letter.asked": 17, "letter.answered": 18,
	} {
		var points []*metricspb.NumberDataPoint
		if m := c.metrics["campaignd."+name]; m.GetSum() != nil {
			points = m.GetSum().DataPoints
		} else {
			points = m.GetGauge().GetDataPoints()
		}
		if len(points) != 1 || points[0].GetAsInt() != want {
			t.Errorf("campaignd.%s: %v, want %d", name, points, want)
		}
	}
	tests := []struct {
		name, unit string
		attributes []string
	}{
		{"campaignd.log.append.duration", "s", nil},
		{"campaignd.log.events", "{event}", nil},
		{"campaignd.decision.duration", "s", []string{"action"}},
		{"campaignd.fit.duration", "s", []string{"model", "outcome"}},
		{"campaignd.question.duration", "s", []string{"answer"}},
		{"campaignd.experiment.duration", "s", []string{"outcome", "simulated"}},
		{"campaignd.instrument.stalls", "{stall}", []string{"instrument"}},
		{"campaignd.queue.age", "s", []string{"queue"}},
		{"campaignd.forward.behind", "{event}", []string{"target"}},
		{"campaignd.lease.held", "{store}", nil},
		{"campaignd.lease.taken_over", "{store}", nil},
		{"campaignd.lease.lost", "{store}", nil},
		{"campaignd.heartbeat.age", "s", nil},
		{"campaignd.heartbeat.missed", "{heartbeat}", nil},
		{"campaignd.append.settled", "{append}", nil},
		{"campaignd.append.resent", "{append}", nil},
		{"campaignd.letter.asked", "{letter}", nil},
		{"campaignd.letter.answered", "{letter}", nil},
		{"campaignd.follow.behind", "{event}", nil},
	}
	for _, test := range tests {
		got := c.metrics[test.name]
		if got == nil {
			t.Errorf("no metric %s", test.name)
			continue
		}
		var attributes []*commonpb.KeyValue
		points := 0
		switch data := got.Data.(type) {
		case *metricspb.Metric_Histogram:
			points = len(data.Histogram.DataPoints)
			attributes = data.Histogram.DataPoints[0].Attributes
		case *metricspb.Metric_Sum:
			points = len(data.Sum.DataPoints)
			attributes = data.Sum.DataPoints[0].Attributes
		case *metricspb.Metric_Gauge:
			points = len(data.Gauge.DataPoints)
			attributes = data.Gauge.DataPoints[0].Attributes
			point := data.Gauge.DataPoints[0]
			if test.unit == "s" && point.GetAsDouble() < 3600 {
				t.Errorf("the oldest question is %v s old", point.GetAsDouble())
			}
			if test.unit == "{event}" && point.GetAsInt() != 7 {
				t.Errorf("%d events have not been sent", point.GetAsInt())
			}
		}
		var names []string
		for _, a := range attributes {
			names = append(names, a.Key)
		}
		slices.Sort(names)
		if got.Unit != test.unit || points != 1 || !slices.Equal(names, test.attributes) {
			t.Errorf("%s: unit %q, %d points, attributes %v", test.name, got.Unit, points, names)
		}
	}
	if len(c.metrics) != len(tests) {
		t.Errorf("%d metrics, the list has %d", len(c.metrics), len(tests))
	}
}

// What telemetry costs where it is off.
func BenchmarkOff(b *testing.B) {
	m := must.Get(telemetry.NewInstruments())(b)
	ctx := context.Background()
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.Appended(ctx, 1, time.Millisecond)
		}
	})
	b.Run("decision", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.Decided(ctx, "run", time.Millisecond)
		}
	})
	b.Run("span", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ctx, span := telemetry.Start(ctx, "work")
			_ = telemetry.Inject(ctx)
			telemetry.End(span, nil)
		}
	})
}
