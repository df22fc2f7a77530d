// Package telemetry sets up OpenTelemetry: what campaignd traces and measures
// about itself, for people who run it along with other services.
//
// It is off, and nearly free, unless the standard environment variables ask for
// it; see [Setup]. The log stays the record of what happened in a campaign:
// nothing is decided from telemetry and nothing is lost without it.
//
// A trace follows a campaign through its events: a span's [Inject] goes into an
// event's Trace, and the code that acts on the event begins with [Extract]. So
// campaign, decision, command and measurement share one trace, even across a
// restart.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"
)

// scopeName is the instrumentation scope of all spans and metrics.
const scopeName = "github.com/campaignd/campaignd"

// shutdownLimit bounds the last export: a program must not hang at its end because the collector is
// missing.
const shutdownLimit = 5 * time.Second

// Setup starts the export of traces and metrics by OTLP over HTTP where the
// standard variables ask for it, and does nothing otherwise:
//
//   - OTEL_EXPORTER_OTLP_ENDPOINT exports both;
//     OTEL_EXPORTER_OTLP_TRACES_ENDPOINT and OTEL_EXPORTER_OTLP_METRICS_ENDPOINT
//     one each. OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER, "otlp" or
//     "none", switch one on (at the exporter's default place) or off.
//   - OTEL_SDK_DISABLED=true switches everything off.
//   - OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say who reports; the
//     service is "campaignd" at the given version unless they say otherwise.
//   - The other variables of OpenTelemetry's SDK and of OTLP (headers,
//     certificates, timeouts, compression, sampler, intervals) hold as well.
//
// A variable that cannot be followed is an error; nothing is exported then, and
// the caller may go on without telemetry. shutdown is never nil.
//
// While the program runs nothing is written to the terminal, not even when the
// collector is gone: failing, if not nil, hears of the first failure, once. shutdown exports the rest, within 5 seconds, stops the
// export, and returns the first failure and the number of those that followed.
func Setup(ctx context.Context, version string, failing func(error)) (shutdown func(context.Context) error, err error) {
	shutdown = func(context.Context) error { return nil }
	traces, metrics, err := wanted()
	if err != nil || !traces && !metrics {
		return shutdown, err
	}
	failures := new(failures)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(failures.add))
	otel.SetLogger(failures.logger())

	// The environment comes last, and so takes precedence.
	source, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "campaignd"),
			attribute.String("service.version", version)),
		resource.WithFromEnv())
	if err != nil {
		return shutdown, fmt.Errorf("telemetry: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	var stops []func(context.Context) error
	stopAll := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, shutdownLimit)
		defer cancel()
		errs := make([]error, len(stops))
		var stopping sync.WaitGroup
		for i, stop := range stops { // at once: they share the time
			stopping.Go(func() { errs[i] = stop(ctx) })
		}
		stopping.Wait()
		return errors.Join(errs...)
	}
	var tracing *sdktrace.TracerProvider
	if traces {
		sender, err := newSender("TRACES")
		if err != nil {
			return shutdown, fmt.Errorf("telemetry: an OTEL_ variable: %w", err)
		}
		exporter, err := otlptrace.New(ctx, traceClient{sender})
		if err != nil {
			return shutdown, fmt.Errorf("telemetry: export of traces: %w", err)
		}
		tracing = sdktrace.NewTracerProvider(sdktrace.WithResource(source), sdktrace.WithBatcher(exporter))
		stops = append(stops, tracing.Shutdown)
	}
	var metering *sdkmetric.MeterProvider
	if metrics {
		exporter, err := newMetricExporter()
		if err != nil {
			return shutdown, errors.Join(fmt.Errorf("telemetry: an OTEL_ variable: %w", err), stopAll(ctx))
		}
		metering = sdkmetric.NewMeterProvider(sdkmetric.WithResource(source),
			sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))
		stops = append(stops, metering.Shutdown)
	}
	// OpenTelemetry's SDK reports a variable that it cannot read, and continues.
	if err := failures.err(); err != nil {
		_ = stopAll(ctx) // nothing was recorded yet
		return shutdown, fmt.Errorf("telemetry: an OTEL_ variable: %w", err)
	}
	failures.heard(failing)
	if tracing != nil {
		otel.SetTracerProvider(tracing)
	}
	if metering != nil {
		otel.SetMeterProvider(metering)
	}
	return once(func(ctx context.Context) error {
		failures.stop()
		if err := stopAll(ctx); err != nil {
			failures.add(err)
		}
		otel.SetTracerProvider(nooptrace.NewTracerProvider())
		otel.SetMeterProvider(noopmetric.NewMeterProvider())
		if err := failures.err(); err != nil {
			return fmt.Errorf("telemetry: export by OTLP: %w", err)
		}
		return nil
	}), nil
}

// once makes stop run once; later calls return the first result.
func once(stop func(context.Context) error) func(context.Context) error {
	var first sync.Once
	var err error
	return func(ctx context.Context) error {
		first.Do(func() { err = stop(ctx) })
		return err
	}
}

// wanted reads from the environment which signals are to be exported.
func wanted() (traces, metrics bool, err error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false, false, nil
	}
	traces, errTraces := wantedSignal("TRACES")
	metrics, errMetrics := wantedSignal("METRICS")
	return traces, metrics, errors.Join(errTraces, errMetrics)
}

func wantedSignal(signal string) (bool, error) {
	name := "OTEL_" + signal + "_EXPORTER"
	switch exporter := os.Getenv(name); exporter {
	case "none":
		return false, nil
	case "":
		if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" &&
			os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") == "" {
			return false, nil
		}
	case "otlp":
	default:
		return false, fmt.Errorf("telemetry: %s is %q; campaignd exports by \"otlp\" or \"none\"",
			name, exporter)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL",
		"OTEL_EXPORTER_OTLP_PROTOCOL"} {
		switch protocol := os.Getenv(name); protocol {
		case "":
			continue
		case "http/protobuf", "http/json":
			return true, nil
		default:
			return false, fmt.Errorf("telemetry: %s is %q; campaignd speaks \"http/protobuf\" or \"http/json\"",
				name, protocol)
		}
	}
	return true, nil
}

// failures collects OpenTelemetry's reports about itself, which by default go
// to standard error, into the middle of a progress display.
type failures struct {
	mu       sync.Mutex
	first    error
	count    int
	stopping bool
	failing  func(error) // gets the first
}

// add counts a failure. An export of metrics that the end cuts off does not count: the last one,
// which follows it, includes its data.
func (f *failures) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopping && errors.Is(err, context.Canceled) {
		return
	}
	if f.count++; f.first == nil {
		f.first = err
		if f.failing != nil && !f.stopping {
			f.failing(err)
		}
	}
}

// heard registers a function for the first failure from now on.
func (f *failures) heard(failing func(error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failing = failing
}

// stop marks the beginning of the end of the export.
func (f *failures) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopping = true
}

// err returns the first failure with the number of all, or nil.
func (f *failures) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch f.count {
	case 0:
		return nil
	case 1:
		return f.first
	default:
		return fmt.Errorf("%w (the first of %d failures)", f.first, f.count)
	}
}

// logger returns OpenTelemetry's internal logger: errors count as failures, its warnings (verbosity
// 1 and more) are dropped.
func (f *failures) logger() logr.Logger {
	return funcr.New(func(_, text string) { f.add(errors.New(text)) }, funcr.Options{})
}
