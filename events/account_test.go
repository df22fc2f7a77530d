package events_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/campaignd/campaignd/events"
)

// Law: an account is kept and read back, in a record and as a CloudEvent; an event
// without one has the record it always had.
func TestAccount(t *testing.T) {
	e := events.Event{Position: 3, Campaign: "a", Sequence: 2, ID: "2", Kind: events.KindNoteAdded, Version: 1,
		Time: time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC), Actor: "person:ada", Cause: "1", Data: []byte(`{"text":"x"}`)}
	without, err := events.AppendRecord(nil, e)
	if err != nil {
		t.Fatal(err)
	}
	e.Account = "root (uid 0)"
	with, err := events.AppendRecord(nil, e)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(without) + 1 + len(e.Account); len(with) != want || without[1] != 0 || with[1] != 2 {
		t.Errorf("the records have %d and %d bytes, flags %d and %d", len(without), len(with), without[1], with[1])
	}
	if back, err := events.DecodeRecord(with); err != nil || !cmp.Equal(back, e) {
		t.Errorf("it was read back as %+v, %v", back, err)
	}
	line, err := events.MarshalCloudEvent(e)
	if err != nil || !bytes.Contains(line, []byte(`"account":"root (uid 0)"`)) {
		t.Errorf("%s %v", line, err)
	}
	if back, err := events.UnmarshalCloudEvent(line); err != nil || !cmp.Equal(back, e) {
		t.Errorf("it was read back as %+v, %v", back, err)
	}

	// A record that says it has an account and has an empty one is not the event's only one.
	at := bytes.Index(with, []byte(e.Account)) - 1
	empty := append(bytes.Clone(with[:at]), 0)
	empty = append(empty, with[at+1+len(e.Account):len(with)-4]...)
	empty = binary.BigEndian.AppendUint32(empty, crc32.Checksum(empty, crc32.MakeTable(crc32.Castagnoli)))
	if _, err := events.DecodeRecord(empty); !errors.Is(err, events.ErrBadRecord) {
		t.Errorf("a second record of an event was read: %v", err)
	}
}

// Law: who told it is said where they have another name than who is said to.
func TestToldBy(t *testing.T) {
	for _, c := range []struct{ actor, account, want string }{
		{"person:ada", "", ""},
		{"person:ada", "ada (uid 1000)", ""},
		{"person:ada", "root (uid 0)", "root (uid 0)"},
		{"person:ada", "uid 1234", "uid 1234"},
		{"expert:ada", "lab (uid 7)", "lab (uid 7)"},
		{"engine", "", ""},
	} {
		if got := (events.Event{Actor: c.actor, Account: c.account}).ToldBy(); got != c.want {
			t.Errorf("%s from %s was told by %q, want %q", c.actor, c.account, got, c.want)
		}
	}
}
