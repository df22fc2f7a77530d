// Package kafka tries the forwarder against the protocol of Kafka: a broker in
// the test, which speaks it through another library than the forwarder does.
package kafka

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/ground/relay/relaytest"
	"github.com/campaignd/campaignd/internal/lab/forward"
)

const (
	topic      = "lab.events"
	partitions = 4
)

// broker keeps what is produced. At chance it refuses, breaks off before it
// keeps something, or after.
type broker struct {
	t    *testing.T
	port int

	mu    sync.Mutex
	l     net.Listener // nil while it is down
	conns []net.Conn
	kept  [partitions][]kmsg.Record
}

func (b *broker) start() {
	b.t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", b.port))
	if err != nil {
		b.t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.l, b.port = l, l.Addr().(*net.TCPAddr).Port
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			b.mu.Lock()
			b.conns = append(b.conns, conn)
			b.mu.Unlock()
			go b.serve(conn)
		}
	}()
}

func (b *broker) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.l.Close()
	for _, conn := range b.conns {
		_ = conn.Close()
	}
	b.conns = nil
}

// serve answers requests: a size, then key, version, number and client.
func (b *broker) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var size [4]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		request := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(conn, request); err != nil {
			return
		}
		key := int16(binary.BigEndian.Uint16(request))
		client := 10 + int(max(0, int16(binary.BigEndian.Uint16(request[8:]))))
		r := kmsg.RequestForKey(key)
		r.SetVersion(int16(binary.BigEndian.Uint16(request[2:])))
		body := request[client:]
		if r.IsFlexible() {
			body = body[1:] // no tags
		}
		if err := r.ReadFrom(body); err != nil {
			b.t.Errorf("request %d: %v", key, err)
			return
		}
		answer, ok := b.answer(r)
		if !ok {
			return
		}
		answer.SetVersion(r.GetVersion())
		text := slices.Clone(request[4:8])
		if answer.IsFlexible() && key != 18 {
			text = append(text, 0)
		}
		text = answer.AppendTo(text)
		text = append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
		if _, err := conn.Write(text); err != nil {
			return
		}
	}
}

func (b *broker) answer(r kmsg.Request) (answer kmsg.Response, ok bool) {
	switch r := r.(type) {
	case *kmsg.ApiVersionsRequest:
		a := kmsg.NewPtrApiVersionsResponse()
		for key, most := range map[int16]int16{0: 8, 3: 7, 18: 3} {
			k := kmsg.NewApiVersionsResponseApiKey()
			k.ApiKey, k.MaxVersion = key, most
			a.ApiKeys = append(a.ApiKeys, k)
		}
		return a, true
	case *kmsg.MetadataRequest:
		a := kmsg.NewPtrMetadataResponse()
		at := kmsg.NewMetadataResponseBroker()
		at.Host, at.Port = "127.0.0.1", int32(b.port)
		a.Brokers = append(a.Brokers, at)
		of := kmsg.NewMetadataResponseTopic()
		of.Topic = kmsg.StringPtr(topic)
		for i := range int32(partitions) {
			p := kmsg.NewMetadataResponseTopicPartition()
			p.Partition, p.Replicas, p.ISR = i, []int32{0}, []int32{0}
			of.Partitions = append(of.Partitions, p)
		}
		a.Topics = append(a.Topics, of)
		return a, true
	case *kmsg.ProduceRequest:
		return b.produce(r)
	}
	b.t.Errorf("there is no answer to %T", r)
	return nil, false
}

func (b *broker) produce(r *kmsg.ProduceRequest) (answer kmsg.Response, ok bool) {
	what := rand.IntN(25)
	a := kmsg.NewPtrProduceResponse()
	if r.Acks != -1 {
		b.t.Errorf("acknowledged by %d, not by all", r.Acks)
	}
	if what == 0 {
		return nil, false // before anything is kept
	}
	for _, of := range r.Topics {
		to := kmsg.NewProduceResponseTopic()
		to.Topic = of.Topic
		for _, p := range of.Partitions {
			done := kmsg.NewProduceResponseTopicPartition()
			done.Partition = p.Partition
			if what == 1 {
				done.ErrorCode = 19 // not enough replicas
			} else {
				b.keep(p)
			}
			to.Partitions = append(to.Partitions, done)
		}
		a.Topics = append(a.Topics, to)
	}
	return a, what != 2 // 2: kept, and never answered
}

func (b *broker) keep(p kmsg.ProduceRequestTopicPartition) {
	var batch kmsg.RecordBatch
	if err := batch.ReadFrom(p.Records); err != nil {
		b.t.Errorf("a batch: %v", err)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	rest := batch.Records
	for range batch.NumRecords {
		var record kmsg.Record
		if err := record.ReadFrom(rest); err != nil {
			b.t.Errorf("a record: %v", err)
			return
		}
		b.kept[p.Partition] = append(b.kept[p.Partition], record)
		length, n := binary.Varint(rest)
		rest = rest[n+int(length):]
	}
}

// Law: whichever ends, the broker or the forwarder, and wherever connections
// break off, each event is in the topic afterwards, those of a campaign in one
// partition, their first arrivals in the order of the log.
func TestNoGapInKafka(t *testing.T) {
	relaytest.Need(t)
	b := &broker{t: t}
	b.start()
	b.stop() // it has its port now
	f, err := labfile.Parse(builtin.Registry(), "lab.yaml", fmt.Appendf(nil,
		"forward: {stream: {to: 'kafka://127.0.0.1:%d?brokers=localhost:%[1]d', topic: %s}}", b.port, topic))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	const rounds, each = 4, 60
	want := make(map[string][]string) // by campaign
	for round := range rounds {
		log, err := store.Open(filepath.Join(folder, "store"), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		forwarder := forward.New(forward.Options{
			Targets: f.Forward, Within: 5 * time.Second,
			RetryPause: time.Millisecond, RetryPauseMax: 50 * time.Millisecond,
		})
		over := bus.New(log, bus.Config{})
		var serving sync.WaitGroup
		serving.Go(func() { forwarder.Serve(ctx, "store", over) })
		note := func(campaign string, n int) {
			for range n {
				e, err := events.New(campaign, events.NoteAdded{Text: fmt.Sprintf("%s %d", campaign, len(want[campaign]))})
				if err != nil {
					t.Fatal(err)
				}
				e.Time, e.Actor = time.Now(), "person:ada"
				stored, err := log.Append(ctx, campaign, events.AnySequence, e)
				if err != nil {
					t.Fatal(err)
				}
				want[campaign] = append(want[campaign], string(stored[0].Data))
			}
		}
		behind := func(most uint64) {
			t.Helper()
			for began := time.Now(); forwarder.Behind()["stream"] > most; time.Sleep(time.Millisecond) {
				if time.Since(began) > time.Minute {
					t.Fatalf("%+v", forwarder.Status())
				}
			}
		}
		note("electrolyte", each)
		note("solvent", each)
		b.start()
		behind(each)
		b.stop()
		note("electrolyte", each)
		b.start()
		if round == rounds-1 {
			behind(0)
		} else {
			behind(each / 2)
		}
		end()
		serving.Wait()
		b.stop()
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	compare(t, b, want)
}

func compare(t *testing.T, b *broker, want map[string][]string) {
	got := make(map[string][]string)
	again := 0
	identified := make(map[string]string)
	partition := make(map[string]int)
	for p, records := range b.kept {
		for _, r := range records {
			e, err := events.UnmarshalCloudEvent(r.Value)
			if err != nil || string(r.Key) != e.Campaign || len(r.Headers) != 2 ||
				!strings.HasPrefix(string(r.Headers[0].Value), "application/cloudevents+json") {
				t.Fatalf("%s %v: %v", r.Value, r.Headers, err)
			}
			if before, known := partition[e.Campaign]; known && before != p {
				t.Errorf("%s is in the partitions %d and %d", e.Campaign, before, p)
			}
			partition[e.Campaign] = p
			id := string(r.Headers[1].Value)
			line := string(e.Data)
			before, known := identified[id]
			switch {
			case known && before == line:
				again++
			case known, slices.Contains(got[e.Campaign], line):
				t.Errorf("%s has an identifier of another, or two", line)
			default:
				identified[id] = line
				got[e.Campaign] = append(got[e.Campaign], line)
			}
		}
	}
	for campaign := range want {
		if !slices.Equal(got[campaign], want[campaign]) {
			t.Errorf("of %s %d events came, %d are in the log, or they are in another order", campaign,
				len(got[campaign]), len(want[campaign]))
		}
	}
	t.Logf("%d events, %d of them again", len(identified), again)
}
