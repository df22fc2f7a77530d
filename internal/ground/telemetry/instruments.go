package telemetry

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Instruments are the metrics of campaignd. Its methods may be called from many
// goroutines; those of a nil *Instruments do nothing.
//
//	campaignd.log.append.duration  s              how long a durable append took
//	campaignd.log.events           {event}        events appended
//	campaignd.decision.duration    s              by action
//	campaignd.fit.duration         s              by model and outcome
//	campaignd.question.duration    s              from a question to its answer, by answer
//	campaignd.experiment.duration  s              from command to result, by outcome and simulated
//	campaignd.instrument.stalls    {stall}        by instrument
//	campaignd.queue.age            s              of the oldest that waits, by queue
//	campaignd.forward.behind       {event}        not yet sent on, by target
//
// and, of a lab in a database, those of [WatchDatabase].
//
// The counts of answers and of measurements are the counts of their histograms.
// No attribute is a campaign, experiment, question or decision: a metric has at
// most 2,000 sets of attributes, and silently folds the rest into one.
type Instruments struct {
	meter      metric.Meter
	append     metric.Float64Histogram
	events     metric.Int64Counter
	decision   metric.Float64Histogram
	fit        metric.Float64Histogram
	question   metric.Float64Histogram
	experiment metric.Float64Histogram
	stalls     metric.Int64Counter
	age        metric.Float64ObservableGauge
}

// Outcomes of fits and experiments in metrics.
const (
	OutcomeDone       = "done"       // fitted, measured
	OutcomeFailed     = "failed"     // ended without a result
	OutcomeCancelled  = "cancelled"  // called off
	OutcomeUnresolved = "unresolved" // its fate is unknown
)

// The bounds of the histograms' buckets, in seconds.
var (
	diskBounds  = []float64{5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1}
	thinkBounds = []float64{1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60}
	// Simulated instruments answer at once, people and robots take hours.
	waitBounds = []float64{0.01, 0.1, 1, 10, 30, 60, 300, 900, 1800, 3600, 2 * 3600, 6 * 3600,
		24 * 3600, 72 * 3600}
)

// NewInstruments creates the metrics with the providers of [Setup]; call it afterwards.
func NewInstruments() (*Instruments, error) {
	m := &Instruments{meter: otel.GetMeterProvider().Meter(scopeName)}
	var failed error
	keep := func(err error) {
		if err != nil && failed == nil {
			failed = fmt.Errorf("telemetry: create metrics: %w", err)
		}
	}
	histogram := func(name, description string, bounds []float64) metric.Float64Histogram {
		h, err := m.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
			metric.WithExplicitBucketBoundaries(bounds...))
		keep(err)
		return h
	}
	counter := func(name, unit, description string) metric.Int64Counter {
		c, err := m.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
		keep(err)
		return c
	}
	m.append = histogram("campaignd.log.append.duration", "Time of a durable append to the log.", diskBounds)
	m.events = counter("campaignd.log.events", "{event}", "Events appended to the log.")
	m.decision = histogram("campaignd.decision.duration", "Time to make a decision.", thinkBounds)
	m.fit = histogram("campaignd.fit.duration", "Time to fit a model.", thinkBounds)
	m.question = histogram("campaignd.question.duration",
		"Time from a question to an expert to the answer.", waitBounds)
	m.experiment = histogram("campaignd.experiment.duration",
		"Time from a command to an instrument to the result.", waitBounds)
	m.stalls = counter("campaignd.instrument.stalls", "{stall}",
		"Times an instrument was silent for too long.")
	age, err := m.meter.Float64ObservableGauge("campaignd.queue.age", metric.WithUnit("s"),
		metric.WithDescription("Age of the oldest element that waits in a queue."))
	keep(err)
	m.age = age
	if failed != nil {
		return nil, failed
	}
	return m, nil
}

// Appended records an append of n events that took d.
func (m *Instruments) Appended(ctx context.Context, n int, d time.Duration) {
	if m == nil {
		return
	}
	m.append.Record(ctx, d.Seconds())
	m.events.Add(ctx, int64(n))
}

// Decided records a decision for an action ("run", "ask", "stop") that took d.
func (m *Instruments) Decided(ctx context.Context, action string, d time.Duration) {
	if m == nil {
		return
	}
	m.decision.Record(ctx, d.Seconds(), metric.WithAttributes(attribute.String("action", action)))
}

// Fitted records a fit of a model ("objective", "belief") that took d; outcome
// is OutcomeDone or OutcomeFailed.
func (m *Instruments) Fitted(ctx context.Context, model, outcome string, d time.Duration) {
	if m == nil {
		return
	}
	m.fit.Record(ctx, d.Seconds(), metric.WithAttributes(attribute.String("model", model),
		attribute.String("outcome",
			outcome)))
}

// Answered records an expert's answer ("accept", "reject", "unsure", or "given"
// for an order or a composition), or that the question "expired", a time d
// after it was asked.
func (m *Instruments) Answered(ctx context.Context, answer string, d time.Duration) {
	if m == nil {
		return
	}
	m.question.Record(ctx, d.Seconds(), metric.WithAttributes(attribute.String("answer", answer)))
}

// Experimented records the end of an experiment a time d after its command;
// outcome is one of the Outcome constants.
func (m *Instruments) Experimented(ctx context.Context, outcome string, simulated bool, d time.Duration) {
	if m == nil {
		return
	}
	m.experiment.Record(ctx, d.Seconds(),
		metric.WithAttributes(attribute.String("outcome", outcome), attribute.Bool("simulated", simulated)))
}

// Stalled counts that an instrument, by its name in the campaign file, was silent for too long.
func (m *Instruments) Stalled(ctx context.Context, instrument string) {
	if m == nil {
		return
	}
	m.stalls.Add(ctx, 1, metric.WithAttributes(attribute.String("instrument", instrument)))
}

// WatchQueue reports the age of the oldest element of a queue ("experiments", "questions") at each
// export, so that it grows while nothing happens. oldest returns when that element was added, ok is
// false for an empty queue, whose age is 0. It is called from another goroutine until stop returns,
// so it must not wait for anything that the caller of stop holds.
func (m *Instruments) WatchQueue(
	queue string, oldest func() (since time.Time, ok bool),
) (stop func(), err error) {
	if m == nil {
		return func() {}, nil
	}
	name := metric.WithAttributes(attribute.String("queue", queue))
	registration, err := m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		age := 0.0
		if since, ok := oldest(); ok {
			age = max(0, time.Since(since).Seconds())
		}
		o.ObserveFloat64(m.age, age, name)
		return nil
	}, m.age)
	if err != nil {
		return nil, fmt.Errorf("telemetry: watch queue %q: %w", queue, err)
	}
	return func() { _ = registration.Unregister() }, nil // fails only if it is done already
}

// WatchForwards reports at each export the number of unsent events, by target. behind is called
// from another goroutine until stop returns. Call it after [Setup].
func WatchForwards(behind func() map[string]uint64) (stop func(), err error) {
	meter := otel.GetMeterProvider().Meter(scopeName)
	gauge, err := meter.Int64ObservableGauge("campaignd.forward.behind", metric.WithUnit("{event}"),
		metric.WithDescription("Events that have not been sent on to a target."))
	if err != nil {
		return nil, fmt.Errorf("telemetry: create metrics: %w", err)
	}
	registration, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for target, n := range behind() {
			o.ObserveInt64(gauge, int64(n), metric.WithAttributes(attribute.String("target", target)))
		}
		return nil
	}, gauge)
	if err != nil {
		return nil, fmt.Errorf("telemetry: watch forwards: %w", err)
	}
	return func() { _ = registration.Unregister() }, nil // fails only if it is done already
}
