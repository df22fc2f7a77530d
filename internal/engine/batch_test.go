package engine_test

import (
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: each event of a batch says who wrote it, for which account and under
// which trace; the first has the cause, the others the first.
func TestBatchCarriesItsEnvelope(t *testing.T) {
	s := &campaign.State{Name: "x", Sequence: 4}
	env := engine.Envelope{
		Actor: "person:ada", Account: "ada", Cause: "2",
		Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
	batch, err := engine.NewBatch(s, time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC), env,
		&events.NoteAdded{Text: "one"}, &events.NoteAdded{Text: "two"})
	if err != nil || len(batch) != 2 {
		t.Fatalf("%d events: %v", len(batch), err)
	}
	for i, e := range batch {
		if e.Actor != env.Actor || e.Account != env.Account || e.Trace != env.Trace {
			t.Errorf("event %d is by %q, of the account %q, under the trace %q", i, e.Actor, e.Account, e.Trace)
		}
		if want := []string{"2", "5"}[i]; e.Cause != want {
			t.Errorf("event %d is caused by %q, want %q", i, e.Cause, want)
		}
	}
}

// Law: no two campaigns have one instance: what an instrument remembers of the
// one is never taken for a result of the other.
func TestInstancesDiffer(t *testing.T) {
	seen := make(map[string]bool)
	for range 1000 {
		instance := engine.NewInstance()
		if len(instance) < 8 || seen[instance] {
			t.Fatalf("the instance %q comes twice, or is too short", instance)
		}
		seen[instance] = true
	}
}

// Law: a campaign that is not defined yet has no model to fit.
func TestNothingIsFittedBeforeTheDefinition(t *testing.T) {
	if _, err := engine.NewCore(builtin.Registry()).Read(t.Context()); err != nil {
		t.Error(err)
	}
}
