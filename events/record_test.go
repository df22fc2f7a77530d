package events_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

func sampleEvent() events.Event {
	return events.Event{
		Campaign: "electrolyte", Sequence: 300, ID: "300", Kind: "experiment.measured", Version: 1,
		Time:  time.Date(2024, 2, 29, 12, 30, 45, 678901000, time.UTC),
		Actor: "instrument:simulated/electrolyte", Account: "lab (uid 7)", Cause: "299", Simulated: true,
		Trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		Data:  []byte(`{"experiment":"e1","value":12.9,"unit":"mS/cm"}`),
	}
}

// TestRecordGolden pins the stored form: a store of today must be readable,
// and its hashes reproducible, for ever.
func TestRecordGolden(t *testing.T) {
	const golden = "0101000612846db2c335" + // version, flags, time
		"ac02" + "01" + // sequence, schema
		"0b656c656374726f6c797465" + "03333030" + "136578706572696d656e742e6d65617375726564" +
		"20696e737472756d656e743a73696d756c617465642f656c656374726f6c797465" + // actor
		"0b6c61622028756964203729" + "03323939" + // account, cause
		"3730302d34626639326633353737623334646136613363653932396430653065343733362d303066303637616130626139303262372d3031" +
		"2f7b226578706572696d656e74223a226531222c2276616c7565223a31322e392c22756e6974223a226d532f636d227d" +
		"f1b1c4cf" // checksum
	record := must.Get(events.AppendRecord(nil, sampleEvent()))(t)
	if got := hex.EncodeToString(record); got != golden {
		t.Errorf("got  %s\nwant %s", got, golden)
	}
}

// Law: a caller's request has a version of its own, so that every record without one is what it
// always was, to the byte and so to the hash.
func TestRecordGoldenOfRequest(t *testing.T) {
	const golden = "0201000612846db2c335" + // version, flags, time
		"ac02" + "01" + // sequence, schema
		"0b656c656374726f6c797465" + "03333030" + "136578706572696d656e742e6d65617375726564" +
		"20696e737472756d656e743a73696d756c617465642f656c656374726f6c797465" + // actor
		"0b6c61622028756964203729" + "03323939" + // account, cause
		"3730302d34626639326633353737623334646136613363653932396430653065343733362d303066303637616130626139303262372d3031" +
		"0767756573732d37" + "053030666635" + // request, its digest
		"2f7b226578706572696d656e74223a226531222c2276616c7565223a31322e392c22756e6974223a226d532f636d227d"
	e := sampleEvent()
	e.Request, e.RequestDigest = "guess-7", "00ff5"
	record := must.Get(events.AppendRecord(nil, e))(t)
	if got := hex.EncodeToString(record[:len(record)-4]); got != golden {
		t.Errorf("got  %s\nwant %s", got, golden)
	}
	plain, err := events.AppendRecord(nil, sampleEvent())
	if err != nil || plain[0] != 1 || record[0] != 2 {
		t.Errorf("without a request the version is %d, with one %d, %v", plain[0], record[0], err)
	}
}

// Law: the record does not hold the position, which a log may learn only once the
// record is stored: wherever an event is, its record and so its hash are the same.
func TestRecordWithoutPosition(t *testing.T) {
	e := sampleEvent()
	want := must.Get(events.AppendRecord(nil, e))(t)
	for _, position := range []events.Position{1, 300, math.MaxUint64} {
		e.Position = position
		record, err := events.AppendRecord(nil, e)
		if err != nil || !bytes.Equal(record, want) {
			t.Errorf("at position %d: %v\n%x\n%x", position, err, record, want)
		}
	}
	if back, err := events.DecodeRecord(want); err != nil || back.Position != 0 {
		t.Errorf("read back at position %d, %v", back.Position, err)
	}
}

// drawEvent draws any event that a record can hold.
func drawEvent(t *rapid.T) events.Event {
	text := rapid.StringOfN(rapid.Rune().Filter(func(r rune) bool { return r >= ' ' && r != 0x7f }), 0, 40, 200)
	some := rapid.StringOfN(rapid.RuneFrom([]rune("ab/é漢:-")), 1, 20, -1)
	e := events.Event{
		Sequence:  events.Sequence(rapid.Uint64Range(1, math.MaxUint64-1).Draw(t, "sequence")),
		Version:   rapid.IntRange(1, math.MaxInt32).Draw(t, "version"),
		Campaign:  some.Draw(t, "campaign"),
		ID:        some.Draw(t, "id"),
		Kind:      events.Kind(some.Draw(t, "kind")),
		Actor:     text.Draw(t, "actor"),
		Account:   text.Draw(t, "account"),
		Cause:     text.Draw(t, "cause"),
		Trace:     text.Draw(t, "trace"),
		Request:   text.Draw(t, "request"),
		Simulated: rapid.Bool().Draw(t, "simulated"),
		Time:      time.UnixMicro(rapid.Int64Range(-62135596800e6, 253402300799e6).Draw(t, "time")).UTC(),
	}
	if e.Request != "" {
		e.RequestDigest = rapid.StringMatching("[0-9a-f]{0,64}").Draw(t, "digest")
	}
	if data := rapid.SliceOf(rapid.Byte()).Draw(t, "data"); len(data) > 0 {
		e.Data = data
	}
	return e
}

// TestRecordRoundTrip: what is stored comes back, field for field, and the
// record shares no memory with the event.
func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEvent(t)
		record := must.Get(events.AppendRecord([]byte("before"), e))(t)
		record, ok := bytes.CutPrefix(record, []byte("before"))
		if !ok {
			t.Fatal("what was in dst is gone")
		}
		got := must.Get(events.DecodeRecord(record))(t)
		clear(record)
		if !reflect.DeepEqual(got, e) {
			t.Fatalf("got  %+v\nwant %+v", got, e)
		}
	})
}

// TestRecordDamage: no record survives a flipped bit, a missing or an
// additional byte.
func TestRecordDamage(t *testing.T) {
	record := must.Get(events.AppendRecord(nil, sampleEvent()))(t)
	refused := func(what string, at int, damaged []byte) {
		if _, err := events.DecodeRecord(damaged); !errors.Is(err, events.ErrBadRecord) {
			t.Errorf("%s %d: %v, want ErrBadRecord", what, at, err)
		}
	}
	for bit := range 8 * len(record) {
		damaged := bytes.Clone(record)
		damaged[bit/8] ^= 1 << (bit % 8)
		refused("bit", bit, damaged)
	}
	for n := range record {
		refused("cut to", n, record[:n])
	}
	refused("extended to", len(record)+1, append(bytes.Clone(record), 0))
}

// TestRecordRefuses: an event that breaks a rule of the envelope has no record.
func TestRecordRefuses(t *testing.T) {
	for name, change := range map[string]func(*events.Event){
		"sequence 0":        func(e *events.Event) { e.Sequence = 0 },
		"reserved sequence": func(e *events.Event) { e.Sequence = events.AnySequence },
		"no campaign":       func(e *events.Event) { e.Campaign = "" },
		"no ID":             func(e *events.Event) { e.ID = "" },
		"no kind":           func(e *events.Event) { e.Kind = "" },
		"version 0":         func(e *events.Event) { e.Version = 0 },
		"huge version":      func(e *events.Event) { e.Version = math.MaxInt32 + 1 },
		"local time":        func(e *events.Event) { e.Time = e.Time.In(time.FixedZone("CET", 3600)) },
		"nanoseconds":       func(e *events.Event) { e.Time = e.Time.Add(1) },
		"year 0":            func(e *events.Event) { e.Time = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC) },
		"year 10000":        func(e *events.Event) { e.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"long actor":        func(e *events.Event) { e.Actor = strings.Repeat("a", events.MaxStringSize+1) },
		"rubout":            func(e *events.Event) { e.Account = "a\x7f" },
		"newline":           func(e *events.Event) { e.Cause = "a\nb" },
		"not UTF-8":         func(e *events.Event) { e.Trace = "\xff" },
		"digest alone":      func(e *events.Event) { e.RequestDigest = "ab" },
		"long digest": func(e *events.Event) {
			e.Request, e.RequestDigest = "r", strings.Repeat("a", events.MaxDigestSize+1)
		},
		"large payload": func(e *events.Event) { e.Data = make([]byte, events.MaxDataSize+1) },
	} {
		e := sampleEvent()
		change(&e)
		if record, err := events.AppendRecord(nil, e); !errors.Is(err, events.ErrInvalidEvent) || record != nil {
			t.Errorf("%s: %d bytes, %v; want ErrInvalidEvent", name, len(record), err)
		}
	}
}

// Law: the limits of the stored form are part of it: 1,024 bytes of each string and 16 MiB
// of payload are recorded and read back by every campaignd, and one byte more by none.
func TestRecordLimits(t *testing.T) {
	fields := map[string]func(*events.Event, string){
		"campaign": func(e *events.Event, s string) { e.Campaign = s },
		"ID":       func(e *events.Event, s string) { e.ID = s },
		"kind":     func(e *events.Event, s string) { e.Kind = events.Kind(s) },
		"actor":    func(e *events.Event, s string) { e.Actor = s },
		"account":  func(e *events.Event, s string) { e.Account = s },
		"cause":    func(e *events.Event, s string) { e.Cause = s },
		"trace":    func(e *events.Event, s string) { e.Trace = s },
		"request":  func(e *events.Event, s string) { e.Request = s },
	}
	most := sampleEvent()
	for name, set := range fields {
		set(&most, strings.Repeat("é", 512))
		e := sampleEvent()
		set(&e, strings.Repeat("é", 512)+"e")
		if _, err := events.AppendRecord(nil, e); !errors.Is(err, events.ErrInvalidEvent) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s of 1025 bytes: %v, want ErrInvalidEvent", name, err)
		}
	}
	most.Data = bytes.Repeat([]byte("x"), 16<<20)
	record := must.Get(events.AppendRecord(nil, most))(t)
	if back, err := events.DecodeRecord(record); err != nil || !reflect.DeepEqual(back, most) {
		t.Errorf("the greatest event is read back otherwise: %v", err)
	}
	most.Data = append(most.Data, 'x')
	if _, err := events.AppendRecord(nil, most); !errors.Is(err, events.ErrInvalidEvent) {
		t.Errorf("a payload of 16 MiB and one byte: %v, want ErrInvalidEvent", err)
	}
}

// Law: what is not exactly what writing an event gives is not a record, though its checksum is
// right: an event has one record, and bytes of a newer version are not guessed at.
func TestRecordForms(t *testing.T) {
	e := sampleEvent()
	e.Account, e.Cause, e.Trace, e.Data = "", "", "", nil
	record := must.Get(events.AppendRecord(nil, e))(t)
	body := record[:len(record)-4]
	at := func(i int, b byte) []byte {
		changed := bytes.Clone(body)
		changed[i] = b
		return changed
	}
	micros := func(n int64) []byte {
		changed := bytes.Clone(body)
		binary.BigEndian.PutUint64(changed[2:], uint64(n))
		return changed
	}
	must.Get(events.DecodeRecord(withChecksum(body)))(t)
	for name, changed := range map[string][]byte{
		"version 0":               at(0, 0),
		"version 2, no request":   at(0, 2),
		"version 2, empty ones":   append(at(0, 2), 0, 0),
		"version 3":               at(0, 3),
		"an unknown flag":         at(1, 1|2),
		"another unknown flag":    at(1, 0x80),
		"the year 0":              micros(-62135596800e6 - 1),
		"the year 10000":          micros(253402300800e6),
		"the end of time":         micros(math.MaxInt64),
		"its beginning":           micros(math.MinInt64),
		"more behind the payload": append(bytes.Clone(body), 0),
		"a payload cut off":       at(len(body)-1, 1),
		"a number too long":       bytes.Replace(body, []byte{0xac, 0x02}, []byte{0xac, 0x82, 0x00}, 1),
		"a version too great":     slices.Concat(body[:12], binary.AppendUvarint(nil, math.MaxInt32+1), body[13:]),
		"an immense version":      slices.Concat(body[:12], binary.AppendUvarint(nil, math.MaxUint64), body[13:]),
	} {
		if e, err := events.DecodeRecord(withChecksum(changed)); !errors.Is(err, events.ErrBadRecord) {
			t.Errorf("%s: %+v, %v; want ErrBadRecord", name, e, err)
		}
	}
}

// Law: no input makes reading a record panic: one that ends anywhere, or in which any byte
// is any other, is not a record, or one of another event, though its checksum is right.
func TestRecordEndsAnywhere(t *testing.T) {
	e := sampleEvent()
	record := must.Get(events.AppendRecord(nil, e))(t)
	body := record[:len(record)-4]
	for end := range len(body) {
		if e, err := events.DecodeRecord(withChecksum(body[:end])); !errors.Is(err, events.ErrBadRecord) {
			t.Errorf("the first %d of %d bytes: %+v, %v; want ErrBadRecord", end, len(body), e, err)
		}
		for b := range 256 {
			// With what follows, and as the last byte: a length of which nothing has come.
			for _, rest := range [][]byte{body[end+1:], nil} {
				changed := withChecksum(slices.Concat(body[:end], []byte{byte(b)}, rest))
				e, err := events.DecodeRecord(changed)
				if err != nil {
					if !errors.Is(err, events.ErrBadRecord) {
						t.Errorf("byte %d is %#x: %v, want ErrBadRecord", end, b, err)
					}
					continue
				}
				if again, err := events.AppendRecord(nil, e); err != nil || !bytes.Equal(again, changed) {
					t.Errorf("byte %d is %#x: read as %+v, which has another record, %v", end, b, e, err)
				}
			}
		}
	}
}

// Law: a batch is stored as it was written, numbered on from its campaign's sequence, and
// refused whole where one event cannot be, or where all of them are too much at once.
func TestAssign(t *testing.T) {
	first, second := sampleEvent(), sampleEvent()
	first.Campaign, first.ID, first.Position = "", "", 99
	second.ID = "mine"
	second.Time = second.Time.In(time.FixedZone("CET", 3600)).Add(999)
	batch := []events.Event{first, second}
	got := must.Get(events.Assign("electrolyte", 40, batch))(t)
	want := []events.Event{sampleEvent(), sampleEvent()}
	want[0].Sequence, want[0].ID = 41, "41"
	want[1].Sequence, want[1].ID = 42, "mine"
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if batch[0].Position != 99 || batch[1].Sequence != 300 {
		t.Errorf("the writer's own batch was changed: %+v", batch)
	}

	large := sampleEvent()
	large.Data = make([]byte, events.MaxDataSize)
	most := slices.Repeat([]events.Event{large}, events.MaxBatchSize/events.MaxDataSize)
	if _, err := events.Assign("electrolyte", 40, most); err != nil {
		t.Errorf("a batch of %d bytes: %v", events.MaxBatchSize, err)
	}
	tiny := sampleEvent()
	tiny.Data = []byte{'1'}
	foreign := sampleEvent()
	foreign.Campaign = "another"
	unnamed := sampleEvent()
	unnamed.Kind = ""
	for name, refused := range map[string][]events.Event{
		"one byte too many": append(most, tiny),
		"another campaign":  {tiny, foreign},
		"no kind":           {tiny, unnamed},
	} {
		if out, err := events.Assign("electrolyte", 40, refused); out != nil || !errors.Is(err, events.ErrInvalidEvent) {
			t.Errorf("%s: %d events, %v; want ErrInvalidEvent", name, len(out), err)
		}
	}
	if out, err := events.Assign("electrolyte", events.AnySequence-1, []events.Event{tiny}); !errors.Is(err, events.ErrInvalidEvent) {
		t.Errorf("the reserved sequence was given: %+v, %v", out, err)
	}
}

// FuzzDecodeRecord: decoding never panics, and what it accepts is exactly what
// encoding the event again gives: every event has one record.
func FuzzDecodeRecord(f *testing.F) {
	record := must.Get(events.AppendRecord(nil, sampleEvent()))(f)
	body := record[:len(record)-4]
	f.Add(body)
	f.Add(bytes.Replace(body, []byte{0xac, 0x02}, []byte{0xac, 0x82, 0x00}, 1)) // a number in a longer form
	f.Add(body[:10])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		// The fuzzer cannot guess a checksum, so each input is tried with the
		// right one, and without.
		for _, record := range [][]byte{body, withChecksum(body)} {
			e, err := events.DecodeRecord(record)
			if err != nil {
				if !errors.Is(err, events.ErrBadRecord) {
					t.Fatalf("%v is not ErrBadRecord", err)
				}
				continue
			}
			again, err := events.AppendRecord(nil, e)
			if err != nil {
				t.Fatalf("%+v was decoded and cannot be encoded: %v", e, err)
			}
			if !bytes.Equal(again, record) {
				t.Fatalf("two records of %+v:\n%x\n%x", e, record, again)
			}
		}
	})
}

func BenchmarkAppendRecord(b *testing.B) {
	e := sampleEvent()
	e.Data = bytes.Repeat([]byte{'x'}, 380)
	buf := make([]byte, 0, 1024)
	for b.Loop() {
		var err error
		if buf, err = events.AppendRecord(buf[:0], e); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkDecodeRecord(b *testing.B) {
	e := sampleEvent()
	e.Data = bytes.Repeat([]byte{'x'}, 380)
	record := must.Get(events.AppendRecord(nil, e))(b)
	b.SetBytes(int64(len(record)))
	b.ReportAllocs()
	for b.Loop() {
		must.Get(events.DecodeRecord(record))(b)
	}
}

func withChecksum(body []byte) []byte {
	sum := crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))
	return binary.BigEndian.AppendUint32(bytes.Clone(body), sum)
}
