package view_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/policies"
)

// Law: what models said last is shown until they say something else, and named as that of the
// revision it is of; all else in a summary is counted of the campaign as it is now. Before they
// have said anything, a summary stays as it was counted.
func TestShown(t *testing.T) {
	of := func(n int) engine.Summary { // in which each part is of n
		name := fmt.Sprint(n)
		return engine.Summary{
			Campaign: name, Experiments: n, Labels: n, Comparisons: n, Stopped: name,
			Bests: engine.Bests{
				BestMeasured: &engine.Best{Experiment: name}, BestByModel: &engine.ModelBest{Experiment: name}, NoModel: name,
			},
			Preferred: []policies.Best{{Expert: name}}, Helps: []policies.Help{{Expert: name}},
		}
	}
	said := []string{"BestByModel", "NoModel", "Preferred", "Helps"} // by models
	var shown view.Shown
	now := engine.Revision{Answers: 1}
	if got := of(1); shown.Of(engine.Revision{}) || shown.Of(now) {
		t.Error("something is known before it was worked out")
	} else if shown.Fill(&got); !reflect.DeepEqual(got, of(1)) {
		t.Errorf("before anything was worked out %+v is shown", got)
	}
	for kept := 2; kept < 5; kept++ {
		shown.Keep(engine.Revision{Answers: uint64(kept)}, of(kept))
		for answers := range uint64(6) {
			if shown.Of(engine.Revision{Answers: answers}) != (answers == uint64(kept)) {
				t.Errorf("kept of %d, and taken for that of %d", kept, answers)
			}
		}
		if shown.Of(engine.Revision{Answers: uint64(kept), DefinedBy: "amended"}) {
			t.Error("kept of another definition")
		}
		got := of(1)
		shown.Fill(&got)
		one, last := reflect.ValueOf(of(1)), reflect.ValueOf(of(kept))
		for _, f := range reflect.VisibleFields(one.Type()) {
			if f.Anonymous {
				continue
			}
			want := one.FieldByIndex(f.Index).Interface()
			if slices.Contains(said, f.Name) {
				want = last.FieldByIndex(f.Index).Interface()
			}
			if got := reflect.ValueOf(got).FieldByIndex(f.Index).Interface(); !reflect.DeepEqual(got, want) {
				t.Errorf("%s is shown as %v, and is %v", f.Name, got, want)
			}
		}
	}
}
