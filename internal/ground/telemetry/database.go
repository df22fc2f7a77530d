package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// Database holds a process's observations of its lab's database: see [WatchDatabase].
type Database struct {
	Held                        int
	TakenOver, Lost, Missed     int64
	HeartbeatSeconds            float64
	Settled, Resent             int64
	LettersAsked, LettersServed int64
	Behind                      int64
}

// WatchDatabase reports at each export what a process has seen of the database
// that its lab is in:
//
//	campaignd.lease.held           {store}      stores that this process holds
//	campaignd.lease.taken_over     {store}      taken of a holder that had ended without a word
//	campaignd.lease.lost           {store}      held and lost
//	campaignd.heartbeat.age        s            since the newest that was answered
//	campaignd.heartbeat.missed     {heartbeat}  not answered in time: the database stalls
//	campaignd.append.settled       {append}     broke off without an answer, and were found stored
//	campaignd.append.resent        {append}     broke off without an answer, and were sent again
//	campaignd.letter.asked         {letter}     to other processes
//	campaignd.letter.answered      {letter}     of other processes
//	campaignd.follow.behind        {event}      known of, and not read yet
//
// seen is called from another goroutine until stop returns. Call it after [Setup].
func WatchDatabase(seen func() Database) (stop func(), err error) {
	meter := otel.GetMeterProvider().Meter(scopeName)
	var all []metric.Observable
	keep := func(o metric.Observable, failed error) {
		all = append(all, o)
		if err == nil && failed != nil {
			err = fmt.Errorf("telemetry: create metrics: %w", failed)
		}
	}
	gauge := func(name, unit, description string) metric.Int64Observable {
		g, failed := meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
		keep(g, failed)
		return g
	}
	counter := func(name, unit, description string) metric.Int64Observable {
		c, failed := meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
		keep(c, failed)
		return c
	}
	var (
		held = gauge("campaignd.lease.held", "{store}", "Stores that this process holds.")
		over = counter("campaignd.lease.taken_over", "{store}",
			"Stores taken hold of whose holder had ended without a word.")
		lost   = counter("campaignd.lease.lost", "{store}", "Stores that this process held and lost.")
		missed = counter("campaignd.heartbeat.missed", "{heartbeat}", "Heartbeats that were not answered in time.")
		found  = counter("campaignd.append.settled", "{append}",
			"Appends that broke off without an answer and were found to be stored.")
		resent = counter("campaignd.append.resent", "{append}",
			"Appends that broke off without an answer and were sent again.")
		asked    = counter("campaignd.letter.asked", "{letter}", "Letters to other processes.")
		answered = counter("campaignd.letter.answered", "{letter}", "Letters of other processes that were answered.")
		behind   = gauge("campaignd.follow.behind", "{event}", "Events that are known of and not read yet.")
	)
	age, failed := meter.Float64ObservableGauge("campaignd.heartbeat.age", metric.WithUnit("s"),
		metric.WithDescription("Time since the newest heartbeat that was answered."))
	keep(age, failed)
	if err != nil {
		return nil, err
	}
	registration, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := seen()
		o.ObserveInt64(held, int64(s.Held))
		o.ObserveInt64(over, s.TakenOver)
		o.ObserveInt64(lost, s.Lost)
		o.ObserveFloat64(age, s.HeartbeatSeconds)
		o.ObserveInt64(missed, s.Missed)
		o.ObserveInt64(found, s.Settled)
		o.ObserveInt64(resent, s.Resent)
		o.ObserveInt64(asked, s.LettersAsked)
		o.ObserveInt64(answered, s.LettersServed)
		o.ObserveInt64(behind, s.Behind)
		return nil
	}, all...)
	if err != nil {
		return nil, fmt.Errorf("telemetry: watch the database: %w", err)
	}
	return func() { _ = registration.Unregister() }, nil // fails only if it is done already
}
