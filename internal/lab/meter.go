package lab

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/ground/telemetry"
	"github.com/campaignd/campaignd/internal/view"
)

// metrics are the figures of all campaigns of a store together. The ages of queues are those of
// the oldest question and of the oldest experiment of all: a metric names no campaign.
type metrics struct {
	*telemetry.Instruments
	stop []func()

	mu     sync.Mutex
	meters []*meter // of the campaigns that are run
}

// newMetrics returns metrics without campaigns; close ends them.
func newMetrics() (*metrics, error) {
	instruments, err := telemetry.NewInstruments()
	if err != nil {
		return nil, err
	}
	m := &metrics{Instruments: instruments}
	queues := []struct {
		name string
		open func(*meter) map[string]time.Time
	}{
		{"questions", func(m *meter) map[string]time.Time { return m.asked }},
		{"experiments", func(m *meter) map[string]time.Time { return m.dispatched }},
	}
	for _, q := range queues {
		oldest := func() (time.Time, bool) { return m.oldest(q.open) }
		stop, err := instruments.WatchQueue(q.name, oldest)
		if err != nil {
			m.close()
			return nil, err
		}
		m.stop = append(m.stop, stop)
	}
	return m, nil
}

// close ends the watch on the queues.
func (m *metrics) close() {
	for _, stop := range m.stop {
		stop()
	}
}

// oldest returns since when the oldest entry of a queue is open, over all
// campaigns. It is asked by the exporter's goroutine, and holds each meter only
// while it looks.
func (m *metrics) oldest(open func(*meter) map[string]time.Time) (oldest time.Time, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, meter := range m.meters {
		meter.mu.Lock()
		for _, since := range open(meter) {
			if !ok || since.Before(oldest) {
				oldest, ok = since, true
			}
		}
		meter.mu.Unlock()
	}
	return oldest, ok
}

// meter is the engine's [drive.Meter] over OpenTelemetry, of one campaign. The
// engine calls it from one goroutine; the exporter asks for the ages of queues
// from another.
type meter struct {
	*metrics
	campaign string
	// decided and fitted are the durations of the latest decision and fit, until the event
	// tells its kind.
	decided, fitted time.Duration
	// appended is the duration of the last append, batch the number of its events: they are
	// reported with the next one.
	appended time.Duration
	batch    int

	mu sync.Mutex
	// asked and dispatched say since when a question or experiment is open.
	asked, dispatched map[string]time.Time
}

var _ drive.Meter = (*meter)(nil)

// begin returns the meter of a campaign that stands at s. Questions and experiments open when
// the run began count from their opening, not from now.
func (m *metrics) begin(s view.Campaign) *meter {
	one := &meter{
		metrics:    m,
		campaign:   s.Campaign,
		asked:      make(map[string]time.Time),
		dispatched: make(map[string]time.Time),
	}
	for _, q := range s.Questions {
		one.asked[q.ID] = q.AskedAt
	}
	for _, x := range s.UnderWay {
		if !x.Command.DispatchedAt.IsZero() {
			one.dispatched[x.ID] = x.Command.DispatchedAt
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.meters = append(m.meters, one)
	return one
}

// end takes a campaign's meter out, once its loop has ended. Its last append is
// reported first, since no further one will do so.
func (m *metrics) end(one *meter) {
	one.reportAppend()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.meters = slices.DeleteFunc(m.meters, func(other *meter) bool { return other == one })
}

// Trace implements drive.Meter.
func (m *meter) Trace(parent, name string) (string, func(error)) {
	ctx, span := telemetry.Start(telemetry.Extract(context.Background(), parent), name,
		attribute.String("campaign", m.campaign))
	trace := telemetry.Inject(ctx)
	if trace == "" {
		trace = parent
	}
	return trace, func(err error) { telemetry.End(span, err) }
}

// ObserveDuration implements drive.Meter.
func (m *meter) ObserveDuration(what string, d time.Duration) {
	switch what {
	case "append":
		m.reportAppend()
		m.appended = d
	case "decision":
		m.decided = d
	case "fit":
		m.fitted = d
	}
}

// reportAppend reports the append before, whose events have been counted by
// then. Only then is it known how many they were.
func (m *meter) reportAppend() {
	if m.batch > 0 {
		m.Appended(context.Background(), m.batch, m.appended)
	}
	m.batch = 0
}

// CountEvent implements drive.Meter. A duration belongs to the event that
// follows its computation; the ages of queues come from the events' own times.
func (m *meter) CountEvent(e events.Event) {
	m.batch++
	ctx := context.Background()
	payload, err := events.Decode(e)
	if err != nil {
		return // the engine has decoded it already
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	since := func(open map[string]time.Time, id string) time.Duration {
		begun, ok := open[id]
		delete(open, id)
		if !ok {
			return 0
		}
		return e.Time.Sub(begun)
	}
	switch p := payload.(type) {
	case *events.DecisionMade:
		m.Decided(ctx, string(p.Action), m.decided)
	case *events.ModelFitted:
		m.Fitted(ctx, p.Model, telemetry.OutcomeDone, m.fitted)
	case *events.ModelFitFailed:
		m.Fitted(ctx, p.Model, telemetry.OutcomeFailed, m.fitted)
	case *events.QuestionAsked:
		m.asked[p.Question] = e.Time
	case *events.QuestionAnswered:
		m.Answered(ctx, answerAttribute(p.Answer), since(m.asked, p.Question))
	case *events.QuestionExpired:
		m.Answered(ctx, "expired", since(m.asked, p.Question))
	case *events.QuestionWithdrawn:
		delete(m.asked, p.Question)
	case *events.ExperimentDispatched:
		m.dispatched[p.Experiment] = e.Time
	case *events.BatchPlanned: // in a procedure they are under way from here on
		for _, id := range p.Experiments {
			m.dispatched[id] = e.Time
		}
	case *events.ExperimentMeasured:
		m.Experimented(ctx, telemetry.OutcomeDone, e.Simulated, since(m.dispatched, p.Experiment))
	case *events.ExperimentFailed:
		m.Experimented(ctx, telemetry.OutcomeFailed, e.Simulated, since(m.dispatched, p.Experiment))
	case *events.ExperimentCancelled:
		took := since(m.dispatched, p.Experiment)
		m.Experimented(ctx, telemetry.OutcomeCancelled, e.Simulated, took)
	case *events.ExperimentUnresolved:
		took := since(m.dispatched, p.Experiment)
		m.Experimented(ctx, telemetry.OutcomeUnresolved, e.Simulated, took)
	case *events.ExperimentInfeasible:
		delete(m.dispatched, p.Experiment)
	case *events.ExperimentDeferred:
		delete(m.dispatched, p.Experiment)
	case *events.InstrumentStalled:
		m.Stalled(ctx, p.Instrument)
	}
}

// answerAttribute is an answer as an attribute of a metric, which has few
// values.
func answerAttribute(a events.Answer) string {
	if len(a.Order) > 0 || len(a.Point) > 0 {
		return "given"
	}
	return a.String()
}
