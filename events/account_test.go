package events_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: an account is kept and read back, in a record and as a CloudEvent.
func TestAccount(t *testing.T) {
	e := events.Event{Position: 3, Campaign: "a", Sequence: 2, ID: "2", Kind: events.KindNoteAdded, Version: 1,
		Time: time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC), Actor: "person:ada", Cause: "1", Data: []byte(`{"text":"x"}`)}
	without := must.Get(events.AppendRecord(nil, e))(t)
	e.Account = "root (uid 0)"
	with := must.Get(events.AppendRecord(nil, e))(t)
	if want := len(without) + len(e.Account); len(with) != want {
		t.Errorf("the records have %d and %d bytes", len(without), len(with))
	}
	recorded := e
	recorded.Position = 0 // a record does not hold it
	if back, err := events.DecodeRecord(with); err != nil || !cmp.Equal(back, recorded) {
		t.Errorf("it was read back as %+v, %v", back, err)
	}
	line, err := events.MarshalCloudEvent(e)
	if err != nil || !bytes.Contains(line, []byte(`"account":"root (uid 0)"`)) {
		t.Errorf("%s %v", line, err)
	}
	if back, err := events.UnmarshalCloudEvent(line); err != nil || !cmp.Equal(back, e) {
		t.Errorf("it was read back as %+v, %v", back, err)
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
