package pglog

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/pebblelog"
)

// BenchmarkAppend is a durable append of four events of 500 bytes by several
// writers at once, to one store and to a store each: of this log, on a server
// without a standby that syncs its disk, and of Pebble.
func BenchmarkAppend(b *testing.B) {
	data := bytes.Repeat([]byte(`{"conductivity": 12.345678}, `), 13)
	for _, stores := range []string{"one store", "a store each"} {
		for _, writers := range []int{1, 16, 64} {
			run := func(kind string, open func(b *testing.B, n int) []events.Store) {
				b.Run(fmt.Sprintf("%s/%s/writers=%d", kind, stores, writers), func(b *testing.B) {
					n := 1
					if stores != "one store" {
						n = writers
					}
					logs := open(b, n)
					batch := testEvents(4, "e")
					for i := range batch {
						batch[i].ID, batch[i].Data = "", data
					}
					took := make([]time.Duration, b.N)
					var next atomic.Int64
					var group sync.WaitGroup
					b.ResetTimer()
					for w := range writers {
						group.Go(func() {
							for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
								began := time.Now()
								_, err := logs[w%n].Append(context.Background(), fmt.Sprint("c", w), events.AnySequence, batch...)
								if err != nil {
									b.Error(err)
									return
								}
								took[i-1] = time.Since(began)
							}
						})
					}
					group.Wait()
					b.StopTimer()
					slices.Sort(took)
					b.ReportMetric(float64(4*b.N)/b.Elapsed().Seconds(), "events/s")
					b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
					b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
					for _, l := range logs {
						if err := l.Close(); err != nil {
							b.Error(err)
						}
					}
				})
			}
			run("postgresql", func(b *testing.B, n int) (logs []events.Store) {
				d := mustConnect(b, freshDatabase(b))
				for i := range n {
					logs = append(logs, mustOpen(b, d, fmt.Sprint("s", i), Options{}))
				}
				return logs
			})
			run("pebble", func(b *testing.B, n int) (logs []events.Store) {
				for range n {
					l, err := pebblelog.Open(b.TempDir()+"/store", pebblelog.Options{})
					if err != nil {
						b.Fatal(err)
					}
					logs = append(logs, l)
				}
				return logs
			})
		}
	}
}

// BenchmarkRead reads events of 500 bytes, in order, and verifies them.
func BenchmarkRead(b *testing.B) {
	const n = 20_000
	l := mustOpen(b, mustConnect(b, freshDatabase(b)), "s", Options{})
	data := bytes.Repeat([]byte(`{"conductivity": 12.345678}, `), 13)
	for at := 0; at < n; at += 1000 {
		batch := testEvents(1000, "e%d", at)
		for i := range batch {
			batch[i].Data = data
		}
		if _, err := l.Append(b.Context(), "c", events.AnySequence, batch...); err != nil {
			b.Fatal(err)
		}
	}
	rate := func(b *testing.B) { b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "events/s") }
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			for _, err := range l.Read(b.Context(), 0) {
				if err != nil {
					b.Fatal(err)
				}
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
