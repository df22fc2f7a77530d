package telemetry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// traceClient sends the output of OpenTelemetry's exporter of traces. Data and the request of an
// export are the same on the wire.
type traceClient struct{ *sender }

// Start implements otlptrace.Client.
func (traceClient) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (traceClient) Stop(context.Context) error { return nil }

// UploadTraces implements otlptrace.Client.
func (c traceClient) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	return c.send(ctx, &tracepb.TracesData{ResourceSpans: spans})
}

// metricExporter exports metrics.
type metricExporter struct {
	*sender
	temporality sdkmetric.TemporalitySelector
	aggregation sdkmetric.AggregationSelector
}

// newMetricExporter reads the aggregation of metrics; an invalid preference is ignored, as
// OpenTelemetry's exporters do.
func newMetricExporter() (*metricExporter, error) {
	s, err := newSender("METRICS")
	e := &metricExporter{s, sdkmetric.DefaultTemporalitySelector, sdkmetric.DefaultAggregationSelector}
	switch strings.ToLower(strings.TrimSpace(os.Getenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"))) {
	case "delta":
		e.temporality = sdkmetric.DeltaTemporalitySelector
	case "lowmemory":
		e.temporality = sdkmetric.LowMemoryTemporalitySelector
	}
	histogram := strings.TrimSpace(os.Getenv("OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION"))
	if strings.EqualFold(histogram, "base2_exponential_bucket_histogram") {
		e.aggregation = func(kind sdkmetric.InstrumentKind) sdkmetric.Aggregation {
			if kind == sdkmetric.InstrumentKindHistogram {
				return sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}
			}
			return sdkmetric.DefaultAggregationSelector(kind)
		}
	}
	return e, err
}

// Temporality implements sdkmetric.Exporter.
func (e *metricExporter) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return e.temporality(k)
}

// Aggregation implements sdkmetric.Exporter.
func (e *metricExporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return e.aggregation(k)
}

// ForceFlush implements sdkmetric.Exporter: nothing is held back.
func (*metricExporter) ForceFlush(ctx context.Context) error { return ctx.Err() }

// Shutdown implements sdkmetric.Exporter; the reader exports nothing after it.
func (*metricExporter) Shutdown(ctx context.Context) error { return ctx.Err() }

// Export implements sdkmetric.Exporter. Metrics without a form in OTLP are left out and reported;
// the rest is sent.
func (e *metricExporter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	out := &metricspb.ResourceMetrics{
		Resource:  &resourcepb.Resource{Attributes: pairs(rm.Resource.Attributes())},
		SchemaUrl: rm.Resource.SchemaURL(),
	}
	var unknown []error
	for _, sm := range rm.ScopeMetrics {
		scope := &metricspb.ScopeMetrics{
			Scope: &commonpb.InstrumentationScope{Name: sm.Scope.Name, Version: sm.Scope.Version,
				Attributes: pairs(sm.Scope.Attributes.ToSlice())},
			SchemaUrl: sm.Scope.SchemaURL,
		}
		for _, m := range sm.Metrics {
			if made := converted(m); made != nil {
				scope.Metrics = append(scope.Metrics, made)
			} else {
				unknown = append(unknown, fmt.Errorf("the metric %s is a %T, which OTLP does not have", m.Name, m.Data))
			}
		}
		out.ScopeMetrics = append(out.ScopeMetrics, scope)
	}
	return errors.Join(append(unknown, e.send(ctx, &metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{out}}))...)
}

// converted returns a metric of the SDK as one of OTLP, or nil.
func converted(m metricdata.Metrics) *metricspb.Metric {
	out := &metricspb.Metric{Name: m.Name, Description: m.Description, Unit: m.Unit}
	switch data := m.Data.(type) {
	case metricdata.Gauge[int64]:
		out.Data = &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{DataPoints: numbers(data.DataPoints)}}
	case metricdata.Gauge[float64]:
		out.Data = &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{DataPoints: numbers(data.DataPoints)}}
	case metricdata.Sum[int64]:
		out.Data = sum(data)
	case metricdata.Sum[float64]:
		out.Data = sum(data)
	case metricdata.Histogram[int64]:
		out.Data = histogram(data)
	case metricdata.Histogram[float64]:
		out.Data = histogram(data)
	case metricdata.ExponentialHistogram[int64]:
		out.Data = exponential(data)
	case metricdata.ExponentialHistogram[float64]:
		out.Data = exponential(data)
	default:
		return nil
	}
	return out
}

func temporality(t metricdata.Temporality) metricspb.AggregationTemporality {
	if t == metricdata.DeltaTemporality {
		return metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
	}
	return metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
}

func sum[N int64 | float64](s metricdata.Sum[N]) *metricspb.Metric_Sum {
	return &metricspb.Metric_Sum{Sum: &metricspb.Sum{AggregationTemporality: temporality(s.Temporality),
		IsMonotonic: s.IsMonotonic, DataPoints: numbers(s.DataPoints)}}
}

func numbers[N int64 | float64](points []metricdata.DataPoint[N]) (out []*metricspb.NumberDataPoint) {
	for _, p := range points {
		made := &metricspb.NumberDataPoint{Attributes: pairs(p.Attributes.ToSlice()), Exemplars: exemplars(p.Exemplars),
			StartTimeUnixNano: nanoseconds(p.StartTime), TimeUnixNano: nanoseconds(p.Time)}
		switch v := any(p.Value).(type) {
		case int64:
			made.Value = &metricspb.NumberDataPoint_AsInt{AsInt: v}
		case float64:
			made.Value = &metricspb.NumberDataPoint_AsDouble{AsDouble: v}
		}
		out = append(out, made)
	}
	return out
}

func histogram[N int64 | float64](h metricdata.Histogram[N]) *metricspb.Metric_Histogram {
	out := &metricspb.Histogram{AggregationTemporality: temporality(h.Temporality)}
	for _, p := range h.DataPoints {
		total := float64(p.Sum)
		out.DataPoints = append(out.DataPoints, &metricspb.HistogramDataPoint{
			Attributes: pairs(p.Attributes.ToSlice()), Exemplars: exemplars(p.Exemplars),
			StartTimeUnixNano: nanoseconds(p.StartTime), TimeUnixNano: nanoseconds(p.Time),
			Count: p.Count, Sum: &total, Min: extremum(p.Min), Max: extremum(p.Max),
			BucketCounts: p.BucketCounts, ExplicitBounds: p.Bounds,
		})
	}
	return &metricspb.Metric_Histogram{Histogram: out}
}

func exponential[N int64 | float64](h metricdata.ExponentialHistogram[N]) *metricspb.Metric_ExponentialHistogram {
	buckets := func(b metricdata.ExponentialBucket) *metricspb.ExponentialHistogramDataPoint_Buckets {
		return &metricspb.ExponentialHistogramDataPoint_Buckets{Offset: b.Offset, BucketCounts: b.Counts}
	}
	out := &metricspb.ExponentialHistogram{AggregationTemporality: temporality(h.Temporality)}
	for _, p := range h.DataPoints {
		total := float64(p.Sum)
		out.DataPoints = append(out.DataPoints, &metricspb.ExponentialHistogramDataPoint{
			Attributes: pairs(p.Attributes.ToSlice()), Exemplars: exemplars(p.Exemplars),
			StartTimeUnixNano: nanoseconds(p.StartTime), TimeUnixNano: nanoseconds(p.Time),
			Count: p.Count, Sum: &total, Min: extremum(p.Min), Max: extremum(p.Max),
			Scale: p.Scale, ZeroCount: p.ZeroCount, ZeroThreshold: p.ZeroThreshold,
			Positive: buckets(p.PositiveBucket), Negative: buckets(p.NegativeBucket),
		})
	}
	return &metricspb.Metric_ExponentialHistogram{ExponentialHistogram: out}
}

// extremum returns a minimum or maximum, nil if unknown.
func extremum[N int64 | float64](e metricdata.Extrema[N]) *float64 {
	v, known := e.Value()
	if !known {
		return nil
	}
	x := float64(v)
	return &x
}

func exemplars[N int64 | float64](list []metricdata.Exemplar[N]) (out []*metricspb.Exemplar) {
	for _, e := range list {
		made := &metricspb.Exemplar{FilteredAttributes: pairs(e.FilteredAttributes), TimeUnixNano: nanoseconds(e.Time),
			SpanId: e.SpanID, TraceId: e.TraceID}
		switch v := any(e.Value).(type) {
		case int64:
			made.Value = &metricspb.Exemplar_AsInt{AsInt: v}
		case float64:
			made.Value = &metricspb.Exemplar_AsDouble{AsDouble: v}
		}
		out = append(out, made)
	}
	return out
}

// nanoseconds since 1970; 0 for the zero time.
func nanoseconds(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

// pairs are attributes in OTLP.
func pairs(attributes []attribute.KeyValue) (out []*commonpb.KeyValue) {
	for _, a := range attributes {
		out = append(out, &commonpb.KeyValue{Key: string(a.Key), Value: value(a.Value)})
	}
	return out
}

func value(v attribute.Value) *commonpb.AnyValue {
	switch v.Type() {
	case attribute.BOOL:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: v.AsBool()}}
	case attribute.INT64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v.AsInt64()}}
	case attribute.FLOAT64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: v.AsFloat64()}}
	case attribute.BOOLSLICE:
		return list(v.AsBoolSlice(), attribute.BoolValue)
	case attribute.INT64SLICE:
		return list(v.AsInt64Slice(), attribute.Int64Value)
	case attribute.FLOAT64SLICE:
		return list(v.AsFloat64Slice(), attribute.Float64Value)
	case attribute.STRINGSLICE:
		return list(v.AsStringSlice(), attribute.StringValue)
	case attribute.STRING:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: v.AsString()}}
	default: // bytes and heterogeneous lists, which campaignd never uses
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: v.String()}}
	}
}

func list[T any](items []T, of func(T) attribute.Value) *commonpb.AnyValue {
	out := new(commonpb.ArrayValue)
	for _, item := range items {
		out.Values = append(out.Values, value(of(item)))
	}
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: out}}
}
