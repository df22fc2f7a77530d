package peers

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	_ "modernc.org/sqlite"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/pebblelog"
)

// payload is what each store appends durably, one at a time: the payload of an
// event whose record has about 500 bytes.
var payload = bytes.Repeat([]byte(`{"conductivity": 12.345678}, `), 13)

const writers = 64

// BenchmarkAppend64 is a durable append by 64 writers at once. Every store
// answers only after its data is synced.
func BenchmarkAppend64(b *testing.B) {
	b.Run("campaignd", func(b *testing.B) {
		log, err := pebblelog.Open(b.TempDir()+"/store", pebblelog.Options{})
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = log.Close() }()
		parallel(b, func(ctx context.Context, _ int) error {
			_, err := log.Append(ctx, "campaign", events.AnySequence, events.Event{
				Kind: "experiment.measured", Version: 1, Time: time.Unix(1709209845, 0),
				Actor: "instrument:simulated/electrolyte", Cause: "6", Simulated: true,
				Trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", Data: payload,
			})
			return err
		})
	})
	b.Run("jetstream-sync-always", func(b *testing.B) {
		js := jetStream(b)
		parallel(b, func(ctx context.Context, _ int) error {
			_, err := js.Publish(ctx, "campaign.measured", payload)
			return err
		})
	})
	b.Run("sqlite-wal-full", func(b *testing.B) {
		parallel(b, sqliteStore(b))
	})
}

// parallel runs b.N appends from all writers.
func parallel(b *testing.B, appendOne func(ctx context.Context, worker int) error) {
	var next atomic.Int64
	var group sync.WaitGroup
	b.ResetTimer()
	for w := range writers {
		group.Go(func() {
			for next.Add(1) <= int64(b.N) {
				if err := appendOne(context.Background(), w); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// jetStream starts a server in this process, which syncs before it answers.
func jetStream(b *testing.B) jetstream.JetStream {
	b.Helper()
	s, err := server.NewServer(&server.Options{
		DontListen: true, JetStream: true, StoreDir: b.TempDir(), SyncAlways: true, NoLog: true, NoSigs: true,
	})
	if err != nil {
		b.Fatal(err)
	}
	s.Start()
	b.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		b.Fatal("the server does not start")
	}
	conn, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		b.Fatal(err)
	}
	_, err = js.CreateStream(b.Context(), jetstream.StreamConfig{
		Name: "campaign", Subjects: []string{"campaign.>"}, Storage: jetstream.FileStorage,
	})
	if err != nil {
		b.Fatal(err)
	}
	return js
}

// sqliteStore returns the append of an event store as they are usually made on
// SQLite: a table of events with a unique (stream, version), one transaction
// per append, in WAL mode with synchronous=FULL. One connection writes, which
// is faster than having SQLite's writers wait for its lock.
func sqliteStore(b *testing.B) func(context.Context, int) error {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+b.TempDir()+"/events.db?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE TABLE events (
		position INTEGER PRIMARY KEY AUTOINCREMENT, stream TEXT NOT NULL, version INTEGER NOT NULL,
		kind TEXT NOT NULL, time INTEGER NOT NULL, data BLOB NOT NULL, UNIQUE (stream, version))`); err != nil {
		b.Fatal(err)
	}
	insert, err := db.Prepare(`INSERT INTO events (stream, version, kind, time, data) VALUES (?, ?, ?, ?, ?)`)
	if err != nil {
		b.Fatal(err)
	}
	var versions [writers]int
	return func(ctx context.Context, w int) error {
		versions[w]++
		_, err := insert.ExecContext(ctx, fmt.Sprintf("campaign%d", w), versions[w], "experiment.measured", 1709209845, payload)
		return err
	}
}
