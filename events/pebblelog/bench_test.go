package pebblelog

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/guardfs"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// benchEvent has a record of about 500 bytes.
func benchEvent(data []byte) events.Event {
	return events.Event{
		Kind: "experiment.measured", Version: 1, Time: time.Date(2024, 2, 29, 12, 30, 45, 0, time.UTC),
		Actor: "instrument:simulated/electrolyte", Cause: "6", Simulated: true,
		Trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", Data: data,
	}
}

// parallel runs n calls of f from a number of goroutines.
func parallel(b *testing.B, writers, n int, f func(worker int) error) {
	var next atomic.Int64
	var group sync.WaitGroup
	began := cpuTime()
	for w := range writers {
		group.Go(func() {
			for next.Add(1) <= int64(n) {
				if err := f(w); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64((cpuTime()-began).Nanoseconds())/float64(n), "cpu-ns/event")
}

// cpuTime is the processor time that the process has used: unlike the clock it says the
// same on a busy machine.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkAppend is a durable append of one event of 500 bytes by several
// writers at once: of this log, and of Pebble itself with the same options and
// synced commits of the same bytes.
func BenchmarkAppend(b *testing.B) {
	benchmarkAppend(b, func(b *testing.B) (vfs.FS, string) { return vfs.Default, b.TempDir() + "/store" })
}

// BenchmarkAppendMemory is BenchmarkAppend in memory, where no disk hides what the log costs.
func BenchmarkAppendMemory(b *testing.B) {
	benchmarkAppend(b, func(*testing.B) (vfs.FS, string) { return vfs.NewMem(), "store" })
}

func benchmarkAppend(b *testing.B, disk func(*testing.B) (vfs.FS, string)) {
	data := bytes.Repeat([]byte(`{"conductivity": 12.345678}, `), 13)
	for _, writers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("log/writers=%d", writers), func(b *testing.B) {
			fsys, dir := disk(b)
			log := must.Get(Open(dir, Options{FS: fsys}))(b)
			b.ResetTimer()
			parallel(b, writers, b.N, func(w int) error {
				_, err := log.Append(context.Background(), "campaign", events.AnySequence, benchEvent(data))
				return err
			})
			b.StopTimer()
			must.Do(b, log.Close())
		})
		b.Run(fmt.Sprintf("pebble/writers=%d", writers), func(b *testing.B) {
			fsys, dir := disk(b)
			po := pebbleOptions(fsys, Options{}, false, guardfs.New())
			po.FS, po.ErrorIfNotExists = fsys, false
			db := must.Get(pebble.Open(dir, po))(b)
			e := benchEvent(data)
			e.Campaign, e.Position, e.Sequence, e.ID = "campaign", 1<<20, 1<<20, "1048576"
			record := must.Get(events.AppendRecord(nil, e))(b)
			var position atomic.Uint64
			b.ResetTimer()
			parallel(b, writers, b.N, func(int) error {
				key := binary.BigEndian.AppendUint64([]byte{eventPrefix}, position.Add(1))
				return db.Set(key, record, pebble.Sync)
			})
			b.StopTimer()
			must.Do(b, db.Close())
		})
	}
}

// BenchmarkAppendBatch is a durable append of 100 events at once.
func BenchmarkAppendBatch(b *testing.B) {
	log := must.Get(Open(b.TempDir()+"/store", Options{}))(b)
	defer func() { _ = log.Close() }()
	data := bytes.Repeat([]byte(`{"conductivity": 12.345678}, `), 13)
	batch := make([]events.Event, 100)
	for i := range batch {
		batch[i] = benchEvent(data)
	}
	for b.Loop() {
		must.Get(log.Append(b.Context(), "campaign", events.AnySequence, batch...))(b)
	}
	b.ReportMetric(float64(100*b.N)/b.Elapsed().Seconds(), "events/s")
}

// filledStore returns the directory of a closed store of n events.
func filledStore(b *testing.B, n int, data []byte) string {
	b.Helper()
	dir := b.TempDir() + "/store"
	log := must.Get(Open(dir, Options{}))(b)
	for at := 0; at < n; at += 1000 {
		batch := make([]events.Event, min(1000, n-at))
		for i := range batch {
			batch[i] = benchEvent(data)
		}
		must.Get(log.Append(b.Context(), "campaign", events.AnySequence, batch...))(b)
	}
	must.Do(b, log.Close())
	return dir
}

// BenchmarkRead reads events of 500 bytes from a store on disk: their
// envelopes, their payloads too, and the full check of [Log.Verify].
func BenchmarkRead(b *testing.B) {
	const n = 100_000
	log := must.Get(Open(filledStore(b, n, measured(b)), Options{}))(b)
	defer func() { _ = log.Close() }()
	read := func(b *testing.B, seq func(func(events.Event, error) bool), f func(events.Event) error) {
		count := 0
		for e, err := range seq {
			if err == nil {
				err = f(e)
			}
			if err != nil {
				b.Fatal(err)
			}
			count++
		}
		if count != n {
			b.Fatalf("read %d events", count)
		}
	}
	rate := func(b *testing.B) { b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "events/s") }
	b.Run("envelopes", func(b *testing.B) {
		for b.Loop() {
			read(b, log.Read(b.Context(), 0), func(events.Event) error { return nil })
		}
		rate(b)
	})
	b.Run("campaign", func(b *testing.B) {
		for b.Loop() {
			read(b, log.ReadCampaign(b.Context(), "campaign", 0), func(events.Event) error { return nil })
		}
		rate(b)
	})
	b.Run("payloads", func(b *testing.B) {
		for b.Loop() {
			read(b, log.Read(b.Context(), 0), func(e events.Event) error { _, err := events.Decode(e); return err })
		}
		rate(b)
	})
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			if r, err := log.Verify(b.Context()); err != nil || !r.Sound() {
				b.Fatal(err, r)
			}
		}
		rate(b)
	})
}

// BenchmarkOpen opens and closes a store that was closed.
func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{5_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) {
			dir := filledStore(b, n, measured(b))
			for b.Loop() {
				log := must.Get(Open(dir, Options{}))(b)
				b.StopTimer()
				must.Do(b, log.Close())
				b.StartTimer()
			}
		})
	}
}

// measured returns the payload of a measurement, of about 500 bytes with its
// envelope's share.
func measured(b *testing.B) []byte {
	b.Helper()
	sd := 0.27
	began := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	composition := definition.Point{
		"EC": definition.Number(0.2512345), "EMC": definition.Number(0.31098765), "DMC": definition.Number(0.4377789),
		"LiPF6": definition.Number(1.1234567),
	}
	e := must.Get(events.New("campaign", &events.ExperimentMeasured{
		Experiment: "e17", Command: "c17", Instrument: "electrolyte", Requested: composition,
		Measurement: events.Measurement{
			Actual:    composition,
			Objective: definition.Quantity{Name: "conductivity", Value: 12.9134567, Unit: "mS/cm", SD: &sd},
			Further:   []definition.Quantity{{Name: "temperature", Value: 26.4, Unit: "°C"}},
			Identity:  "simulated electrolyte 1.0", Began: began, Ended: began.Add(time.Hour),
		},
	}))(b)
	return e.Data
}
