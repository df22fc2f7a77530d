package view_test

import (
	"context"
	"iter"
	"reflect"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
)

// all are the events of a campaign.
func allOf(t *testing.T, log events.Log, name string) (all []events.Event) {
	t.Helper()
	for e := range must.Each(t, events.ReadCampaign(t.Context(), log, name, 0)) {
		all = append(all, e)
	}
	return all
}

// Law: a timeline that is asked for again and again while the campaign goes on, and that was at rest
// in between, says of each event what a story of the whole log says; a caller's own is not changed by
// later events.
func TestTimelineGoesOn(t *testing.T) {
	whole, core := choosing(t)
	name := core.State().Name
	all := allOf(t, whole, name)
	var lines []view.Line
	var before []events.Sequence
	var reasons []string
	story := view.NewStory(nil)
	for _, e := range all {
		payload := must.Get(events.Decode(e))(t)
		lines = append(lines, view.Line{
			Sequence: e.Sequence, Position: e.Position, Time: e.Time, Entry: story.Entry(e, payload),
		})
		switch p := payload.(type) {
		case *events.ExperimentRequested:
			before = append(before, e.Sequence-1)
		case *events.DecisionMade:
			reasons = append(reasons, p.Reason)
		}
	}
	log := memlog.New()
	r := view.NewRecord(builtin.Registry(), name, new(view.Past))
	kept := make(map[int]*view.Timeline) // by the events that there were
	for i, e := range all {
		must.Get(log.Append(t.Context(), name, e.Sequence-1, e))(t)
		r.Take(e)
		if i%7 != 0 && i != len(all)-1 {
			continue
		}
		if i%3 == 0 {
			r.Rest()
			r.Rest()
		}
		got := must.Get(r.Timeline(t.Context(), log))(t)
		kept[i+1] = got
	}
	for n, got := range kept {
		if !reflect.DeepEqual(got.Lines, lines[:n]) {
			t.Errorf("the first %d events are told otherwise", n)
		}
		for i, at := range before {
			if int(at) < n-1 && (i >= len(got.Before) || got.Before[i] != at) {
				t.Errorf("after %d events, %d is not the last one before e%d", n, at, i+1)
			}
		}
		if len(got.Before) > 0 && int(got.Before[len(got.Before)-1]) >= n {
			t.Errorf("after %d events, an experiment is requested later", n)
		}
	}
	last := kept[len(all)]
	for i, reason := range reasons {
		if d, ok := last.Decision(events.DecisionID(i + 1)); !ok || d.Reason != reason {
			t.Errorf("d%d was made for %q, and not %q", i+1, reason, d.Reason)
		}
	}
	if _, ok := last.Decision(events.DecisionID(len(reasons) + 1)); ok {
		t.Error("there is a decision too many")
	}
}

// reads is a log that notes behind which sequences it is read.
type reads struct {
	events.Log
	after []events.Sequence
}

func (l *reads) ReadCampaign(
	ctx context.Context, name string, after events.Sequence,
) iter.Seq2[events.Event, error] {
	l.after = append(l.after, after)
	return events.ReadCampaign(ctx, l.Log, name, after)
}

// Law: what a campaign was after an event is folded from the newest snapshot before it, and is what a
// fold from the first event gives; a snapshot that is not believed is left alone.
func TestRecordAtBeginsWithSnapshot(t *testing.T) {
	log, core := choosing(t)
	name := core.State().Name
	all := allOf(t, log, name)
	third := len(all) / 3
	for _, damaged := range []bool{false, true} {
		s := storeOf(t, name, all[:third]...)
		keep(t, s, thisBuild, name)
		older := valuesOf(t, s)[0]
		grow(t, s, name, all[third:]...)
		own := view.NewRecord(builtin.Registry(), name, new(view.Past))
		snapshots := view.NewSnapshots(s, thisBuild)
		snapshots.Restore(t.Context(), own)
		for e, err := range events.ReadCampaign(t.Context(), s, name, own.Sequence()) {
			if err != nil || !own.Take(e) {
				t.Fatal(e.Sequence, err)
			}
		}
		must.Do(t, snapshots.Write(t.Context(), own))
		if damaged {
			older.Value = slices.Clone(older.Value)
			older.Value[len(older.Value)/2] ^= 1
			must.Do(t, s.SetValues(t.Context(), older))
		}
		r := view.NewRecord(builtin.Registry(), name, new(view.Past))
		view.NewSnapshots(s, thisBuild).Restore(t.Context(), r)
		for _, at := range []events.Sequence{events.Sequence(third), events.Sequence(2 * third), 5} {
			seen := &reads{Log: s}
			got := must.Get(r.At(t.Context(), seen, at))(t)
			want := engine.NewCore(builtin.Registry())
			must.Do(t, want.Forward(t.Context(), s, name, at))
			if digest(t, got) != digest(t, want) {
				t.Errorf("damaged %t: event %d is not as a fold has it", damaged, at)
			}
			first := slices.ContainsFunc(seen.after, func(after events.Sequence) bool { return after == 0 })
			if wanted := int(at) < third || damaged && int(at) == third; first != wanted {
				t.Errorf("damaged %t: for event %d it reads behind %d", damaged, at, seen.after)
			}
		}
	}
}
