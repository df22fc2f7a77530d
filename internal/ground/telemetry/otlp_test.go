package telemetry

import (
	"compress/gzip"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/tests/must"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// request is one that a collector has got.
type request struct {
	path   string
	header http.Header
	body   []byte
}

// collecting is a collector that keeps requests; answer, if any, answers the n-th.
func collecting(t *testing.T, requests *[]request, answer func(n int, w http.ResponseWriter)) *httptest.Server {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			body = z
		}
		data, err := io.ReadAll(body)
		if err != nil {
			t.Error(err)
		}
		*requests = append(*requests, request{r.URL.Path, r.Header, data})
		if answer != nil {
			answer(len(*requests), w)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// unset removes the variables of OpenTelemetry for a test, and sets others.
func unset(t *testing.T, variables ...string) {
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
		}
	}
	for i := 0; i < len(variables); i += 2 {
		t.Setenv("OTEL_EXPORTER_OTLP_"+variables[i], variables[i+1])
	}
}

// Law: of the same measurements OpenTelemetry's own exporter, the oracle, sends the
// same bytes of meaning, for each kind of instrument, and whatever the preferences.
func TestMetricsAsOpenTelemetry(t *testing.T) {
	for _, preferences := range [][]string{
		nil,
		{"METRICS_TEMPORALITY_PREFERENCE", "delta", "METRICS_DEFAULT_HISTOGRAM_AGGREGATION", "base2_exponential_bucket_histogram"},
		{"METRICS_TEMPORALITY_PREFERENCE", "LowMemory"},
		{"METRICS_TEMPORALITY_PREFERENCE", "nonsense"},
	} {
		var requests []request
		server := collecting(t, &requests, nil)
		server.Start()
		unset(t, append(preferences, "ENDPOINT", server.URL)...)
		theirs := must.Get(otlpmetrichttp.New(t.Context()))(t)
		ours := must.Get(newMetricExporter())(t)
		for kind := sdkmetric.InstrumentKindCounter; kind <= sdkmetric.InstrumentKindGauge; kind++ {
			if ours.Temporality(kind) != theirs.Temporality(kind) {
				t.Errorf("%v: %v is %v, want %v", preferences, kind, ours.Temporality(kind), theirs.Temporality(kind))
			}
		}
		reader := sdkmetric.NewManualReader(sdkmetric.WithTemporalitySelector(theirs.Temporality),
			sdkmetric.WithAggregationSelector(ours.Aggregation))
		of := resource.NewSchemaless(attribute.String("service.name", "x"), attribute.Bool("b", true), attribute.Int("i", 3),
			attribute.Float64("f", 1.5), attribute.StringSlice("s", []string{"a", "b"}), attribute.Int64Slice("is", []int64{1}),
			attribute.BoolSlice("bs", []bool{false}), attribute.Float64Slice("fs", []float64{2.5}))
		provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(of))
		meter := provider.Meter("scope", metric.WithInstrumentationVersion("v1"), metric.WithSchemaURL("https://example.org"),
			metric.WithInstrumentationAttributes(attribute.String("k", "v")))
		record(t, meter)
		var collected metricdata.ResourceMetrics
		must.Do(t, reader.Collect(t.Context(), &collected))
		for _, exporter := range []sdkmetric.Exporter{theirs, ours} {
			must.Do(t, exporter.Export(t.Context(), &collected))
		}
		var decoded [2]collectormetrics.ExportMetricsServiceRequest
		if len(requests) != 2 {
			t.Fatalf("%d requests", len(requests))
		}
		for i := range decoded {
			must.Do(t, proto.Unmarshal(requests[i].body, &decoded[i]))
		}
		if len(decoded[0].ResourceMetrics[0].ScopeMetrics[0].Metrics) != 8 || !proto.Equal(&decoded[0], &decoded[1]) {
			t.Errorf("%v: sent\n%v\nwant\n%v", preferences, &decoded[1], &decoded[0])
		}
	}
}

// record measures something with an instrument of each kind.
func record(t *testing.T, meter metric.Meter) {
	ctx, span := sdktrace.NewTracerProvider().Tracer("").Start(t.Context(), "sampled, so that there are exemplars")
	defer span.End()
	with := metric.WithAttributes(attribute.String("a", "b"))
	ic, err1 := meter.Int64Counter("ic", metric.WithUnit("1"), metric.WithDescription("d"))
	fc, err2 := meter.Float64UpDownCounter("fc")
	ih, err3 := meter.Int64Histogram("ih")
	fh, err4 := meter.Float64Histogram("fh")
	ig, err5 := meter.Int64Gauge("ig")
	fg, err6 := meter.Float64Gauge("fg")
	fs, err7 := meter.Float64Counter("fs")
	_, err8 := meter.Int64ObservableUpDownCounter("io", metric.WithInt64Callback(
		func(_ context.Context, o metric.Int64Observer) error { o.Observe(-4); return nil }))
	must.Do(t, errors.Join(err1, err2, err3, err4, err5, err6, err7, err8))
	ic.Add(ctx, 3, with)
	fc.Add(ctx, -1.5, with)
	fs.Add(ctx, 0.25)
	ig.Record(ctx, 7)
	fg.Record(ctx, 7.5, with)
	for _, v := range []int64{1, 20, 3000} {
		ih.Record(ctx, v, with)
		fh.Record(ctx, float64(v)-10)
	}
}

// Law: the variables of the specification say where and how a signal is sent; those
// of a signal come first.
func TestVariables(t *testing.T) {
	var requests []request
	server := collecting(t, &requests, nil)
	server.StartTLS()
	authority := filepath.Join(t.TempDir(), "authority.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	must.Do(t, os.WriteFile(authority, text, 0o600))
	unset(t, "ENDPOINT", server.URL+"/base/", "CERTIFICATE", authority, "HEADERS", "a=1,token=b%20c", "TRACES_HEADERS", "a=2",
		"COMPRESSION", "gzip", "METRICS_ENDPOINT", server.URL, "METRICS_COMPRESSION", "none")
	for _, signal := range []string{"TRACES", "METRICS"} {
		s := must.Get(newSender(signal))(t)
		if err := s.send(t.Context(), &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{SchemaUrl: "here"}}}); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []struct{ path, a, encoding string }{{"/base/v1/traces", "2", "gzip"}, {"/", "1", ""}} {
		got := requests[i]
		var sent collectortrace.ExportTraceServiceRequest
		if err := proto.Unmarshal(got.body, &sent); err != nil || len(sent.ResourceSpans) != 1 || sent.ResourceSpans[0].SchemaUrl != "here" {
			t.Errorf("sent %v, %v", &sent, err)
		}
		if got.path != want.path || got.header.Get("a") != want.a || got.header.Get("token") != "b c" ||
			got.header.Get("Content-Encoding") != want.encoding || got.header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s with %v, want %v", got.path, got.header, want)
		}
	}
	for _, wrong := range [][]string{{"TIMEOUT", "soon"}, {"HEADERS", "secret"}, {"CERTIFICATE", "/nowhere"}, {"ENDPOINT", "localhost:4318"},
		{"ENDPOINT", "http://localhost:4318", "CERTIFICATE", authority}, {"CLIENT_CERTIFICATE", authority, "CLIENT_KEY", authority}} {
		unset(t, "ENDPOINT", server.URL, "CERTIFICATE", "", "HEADERS", "", "METRICS_ENDPOINT", "")
		unset(t, wrong...)
		if _, err := newSender("TRACES"); err == nil || !strings.Contains(err.Error(), "OTEL_") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}

// Law: what may be sent again is, and nothing else; what a collector rejects is an
// error.
func TestAgain(t *testing.T) {
	partial, err := proto.Marshal(&collectortrace.ExportTraceServiceResponse{PartialSuccess: &collectortrace.ExportTracePartialSuccess{
		RejectedSpans: 3, ErrorMessage: "too many"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name     string
		status   int // of the first two answers
		body     []byte
		requests int
		failure  string
	}{
		{"overloaded", 429, nil, 3, ""},
		{"on its way back", 503, nil, 3, ""},
		{"refuses", 403, []byte("no"), 1, "403 Forbidden: no"},
		{"an error of its own", 500, nil, 1, "500"},
		{"leaves something out", 200, partial, 1, "rejected 3 spans or points: too many"},
		{"no answer of OTLP", 200, []byte{0xff}, 1, ""}, // nothing says that it is one
	} {
		var requests []request
		server := collecting(t, &requests, func(n int, w http.ResponseWriter) {
			if n > 2 {
				return
			}
			if len(test.body) > 1 {
				w.Header().Set("Content-Type", "application/x-protobuf")
			}
			w.WriteHeader(test.status)
			_, _ = w.Write(test.body)
		})
		server.Start()
		unset(t, "ENDPOINT", server.URL)
		s := must.Get(newSender("TRACES"))(t)
		s.backoff = time.Millisecond
		err := s.send(t.Context(), new(tracepb.TracesData))
		if len(requests) != test.requests || (err == nil) != (test.failure == "") || err != nil && !strings.Contains(err.Error(), test.failure) {
			t.Errorf("%s: %d requests, %v", test.name, len(requests), err)
		}
	}
}
