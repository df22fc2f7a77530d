package pglog

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/pebblelog"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// payload is that of an event in the benchmarks, of 400 bytes.
var payload = bytes.Repeat([]byte(`{"conductivity": 12.345678}, `), 14)[:400]

// benchmarked is a log under a benchmark, on a server or without one.
type benchmarked struct {
	name string
	open func(b *testing.B, stores int) []events.Store
	each bool // a store each writer
	// servers are the primary and the standbys, none of Pebble.
	servers []*pgtest.Server
}

// allBenchmarked are the logs that are compared: Pebble; PostgreSQL on a server that
// has no standby; and with a quorum of one of two standbys, which all writers
// share a store of, or have one each.
func allBenchmarked(b *testing.B) []benchmarked {
	pebble := func(b *testing.B, stores int) (logs []events.Store) {
		for range stores {
			l := must.Get(pebblelog.Open(b.TempDir()+"/store", pebblelog.Options{}))(b)
			logs = append(logs, l)
		}
		return logs
	}
	in := func(address string) func(b *testing.B, stores int) []events.Store {
		return func(b *testing.B, stores int) (logs []events.Store) {
			d := mustConnect(b, address)
			for i := range stores {
				logs = append(logs, mustOpen(b, d, fmt.Sprint(rand.Text(), i), Options{}))
			}
			return logs
		}
	}
	alone := pgtest.NewCluster(b, pgtest.Options{Asynchronous: true})
	quorum := pgtest.NewCluster(b, pgtest.Options{Standbys: 2, Direct: true})
	return []benchmarked{
		{name: "pebble", open: pebble},
		{name: "alone", open: in(alone.Address("single=yes")), servers: alone.Servers},
		{name: "quorum", open: in(quorum.Address("")), servers: quorum.Servers},
		{name: "quorum-each", open: in(quorum.Address("")), servers: quorum.Servers, each: true},
	}
}

// used is the processor time of this process, the primary and the standbys.
func (l *benchmarked) used(b *testing.B) (times [3]time.Duration) {
	b.Helper()
	var own syscall.Rusage
	must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &own))
	times[0] = time.Duration(own.Utime.Nano() + own.Stime.Nano())
	for i, s := range l.servers {
		times[min(1+i, 2)] += s.Usage(b).Processor
	}
	return times
}

// report reports a number of events since the benchmark's timer was started, how
// long each call took, and the processor time of an event: of this process by
// getrusage, of servers by /proc, in steps of 10 ms.
func (l *benchmarked) report(b *testing.B, n int, took []time.Duration, before, after [3]time.Duration) {
	b.Helper()
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
	slices.Sort(took)
	for _, q := range []int{50, 99} {
		b.ReportMetric(float64(took[len(took)*q/100].Microseconds())/1000, fmt.Sprintf("p%d-ms", q))
	}
	for i, who := range []string{"client", "primary", "standbys"} {
		if i <= len(l.servers) {
			b.ReportMetric(float64((after[i]-before[i]).Nanoseconds())/1000/float64(n), who+"-cpu-us/event")
		}
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkAppend is a durable append of events with payloads of 400 bytes by
// several writers at once. Set -benchtime to two seconds or more, since processor
// time of servers is counted in steps.
//
//	go test -run '^$' -bench '^BenchmarkAppend$' -benchtime 2s ./events/pglog
func BenchmarkAppend(b *testing.B) {
	for _, l := range allBenchmarked(b) {
		for _, size := range []struct{ writers, batch int }{{1, 1}, {16, 1}, {64, 1}, {16, 4}} {
			b.Run(fmt.Sprintf("%s/writers=%d/batch=%d", l.name, size.writers, size.batch), func(b *testing.B) {
				stores := 1
				if l.each {
					stores = size.writers
				}
				logs := l.open(b, stores)
				batch := testEvents(size.batch, "e")
				for i := range batch {
					batch[i].ID, batch[i].Data = "", payload
				}
				write := func(w int) error {
					_, err := logs[w%stores].Append(context.Background(), fmt.Sprint("c", w), events.AnySequence, batch...)
					return err
				}
				var first sync.WaitGroup
				for w := range size.writers { // so that all connections are there
					first.Go(func() {
						if err := write(w); err != nil {
							b.Error(err)
						}
					})
				}
				first.Wait()
				took := make([]time.Duration, b.N)
				var next atomic.Int64
				var writing sync.WaitGroup
				before := l.used(b)
				b.ResetTimer()
				for w := range size.writers {
					writing.Go(func() {
						for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
							began := time.Now()
							if err := write(w); err != nil {
								b.Error(err)
								return
							}
							took[i-1] = time.Since(began)
						}
					})
				}
				writing.Wait()
				b.StopTimer()
				l.report(b, size.batch*b.N, took, before, l.used(b))
				for _, log := range logs {
					if err := log.Close(); err != nil {
						b.Error(err)
					}
				}
			})
		}
	}
}

// BenchmarkFollow is the time from the acknowledgement of an event until a follower
// has it, who has the store open a second time: in a database on connections of its own, as
// another process has it.
//
//	go test -run '^$' -bench '^BenchmarkFollow$' -benchtime 300x ./events/pglog
func BenchmarkFollow(b *testing.B) {
	quorum := pgtest.NewCluster(b, pgtest.Options{Standbys: 2, Direct: true})
	writes := mustOpen(b, mustConnect(b, quorum.Address("")), "s", Options{})
	follows := mustOpen(b, mustConnect(b, quorum.Address("")), "s", Options{})
	came := make(chan time.Time)
	go func() {
		for _, err := range follows.Follow(b.Context(), 0) {
			if err != nil {
				return
			}
			came <- time.Now()
		}
	}()
	var took []time.Duration
	e := testEvents(1, "e")
	e[0].ID, e[0].Data = "", payload
	for b.Loop() {
		time.Sleep(2 * time.Millisecond) // an event alone, as campaigns have them
		must.Get(writes.Append(b.Context(), "c", events.AnySequence, e...))(b)
		acknowledged := time.Now()
		took = append(took, max(0, (<-came).Sub(acknowledged)))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkRead reads events of 500 bytes from a server without a standby, in order,
// and verifies them.
func BenchmarkRead(b *testing.B) {
	const n = 20_000
	l := mustOpen(b, mustConnect(b, freshDatabase(b)), "s", Options{})
	for at := 0; at < n; at += 1000 {
		batch := testEvents(1000, "e%d", at)
		for i := range batch {
			batch[i].Data = payload
		}
		must.Get(l.Append(b.Context(), "c", events.AnySequence, batch...))(b)
	}
	rate := func(b *testing.B) { b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "events/s") }
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			for range must.Each(b, l.Read(b.Context(), 0)) {
			}
		}
		rate(b)
	})
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			if r, err := l.Verify(b.Context()); err != nil || !r.Sound() {
				b.Fatal(err, r)
			}
		}
		rate(b)
	})
}
