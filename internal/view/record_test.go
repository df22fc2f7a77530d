package view_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/policies/duel"
)

// recordOf is the record of a campaign at the end of a log.
func recordOf(t *testing.T, log events.Log, core *engine.Core) *view.Record {
	t.Helper()
	return must.Get(view.FoldRecord(t.Context(), builtin.Registry(), log, core.State().Name))(t)
}

func digest(t *testing.T, core *engine.Core) string {
	t.Helper()
	return must.Get(core.Digest())(t)
}

// Law: a record gives the state after any event as a fold from the first event does, in whatever
// order and by however many readers it is asked; what a reader folds on top reaches no other.
func TestRecordAtAnyEvent(t *testing.T) {
	log, core := choosing(t)
	name := core.State().Name
	var all []events.Event
	var want []string // by sequence; none before the first event
	replayed := engine.NewCore(builtin.Registry())
	want = append(want, digest(t, replayed))
	for e, err := range events.ReadCampaign(t.Context(), log, name, 0) {
		if err == nil {
			err = replayed.Apply(e)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
		want = append(want, digest(t, replayed))
	}
	for at := range all {
		for _, limit := range []events.Position{all[at].Position, all[at].Position - 1} {
			want := events.Sequence(at)
			if limit == all[at].Position {
				want++
			}
			got, p, err := view.LastUpTo(t.Context(), log, name, limit)
			if err != nil || got != want || got > 0 && p != all[got-1].Position {
				t.Fatalf("the last event up to position %d is %d at %d: %v", limit, got, p, err)
			}
		}
	}
	for _, taken := range []int{0, len(all) / 2, len(all)} {
		t.Run(fmt.Sprintf("%d taken", taken), func(t *testing.T) {
			r := view.NewRecord(builtin.Registry(), name, new(view.Past))
			for _, e := range all[:taken] {
				if !r.Take(e) || r.Take(e) {
					t.Fatalf("event %d is not taken once", e.Sequence)
				}
			}
			var readers sync.WaitGroup
			for reader := range 4 {
				readers.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(reader), 1))
					for range 30 {
						at := rng.IntN(len(want))
						core, err := r.At(t.Context(), log, events.Sequence(at))
						if err != nil {
							t.Error(err)
							return
						}
						if digest(t, core) != want[at] {
							t.Errorf("after event %d the state is not that of a fold", at)
						}
						if at < len(all) { // what is the reader's own may be changed
							if err := core.Apply(all[at]); err != nil {
								t.Error(err)
							}
						}
					}
				})
			}
			readers.Wait()
			for _, at := range []int{len(all) / 3, len(all) / 2, len(all) / 3} {
				core := must.Get(r.At(t.Context(), log, events.Sequence(at)))(t)
				want := must.Get(core.Clone().Summarize(t.Context()))(t)
				if got, err := r.Summary(t.Context(), core); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("the summary after event %d is %+v, want %+v: %v", at, got, want, err)
				}
			}
			if now, err := r.Now(t.Context(), log); err != nil || digest(t, now) != want[len(all)] {
				t.Errorf("the end of the log: %v", err)
			}
		})
	}
}

// Law: readers of a campaign look at copies of one fold at the same time, at the end and at
// events before, and get what a fold of their own gives. The race detector finds what the
// copies share.
func TestReadersAtTheSameTime(t *testing.T) {
	def := must.Get(studytest.Define("branin", 4, 0, func(def *definition.Campaign) {
		def.Policy = definition.Policy{Duel: duel.MRLPF{}.Choice()}
		def.Budget = definition.Budget{Comparisons: 6}
	}, studytest.WithExpert(2)))(t)
	log := memlog.New()
	core := must.Get(studytest.Simulate(t.Context(), log, def))(t)
	r := recordOf(t, log, core)
	var readers sync.WaitGroup
	begin := make(chan struct{})
	for n := range events.Sequence(4) { // two readers of one state, and two of an earlier one
		at := core.State().Sequence - n/2
		alone := engine.NewCore(builtin.Registry())
		must.Do(t, alone.Forward(t.Context(), log, def.Name, at))
		want := must.Get(alone.Summarize(t.Context()))(t)
		own := must.Get(r.At(t.Context(), log, at))(t)
		readers.Go(func() {
			<-begin
			got, err := own.Summarize(t.Context())
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("after event %d: %+v, want %+v: %v", at, got, want, err)
			}
		})
	}
	close(begin)
	readers.Wait()
}
