package whatif_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/whatif"
)

// Law: questions are answered one at a time, in the background; as many wait as there is room for, and the
// next is refused; one that waits or runs can be cancelled; each is seen in its campaign alone; the oldest
// answers make room for new ones; Close ends all.
func TestRuns(t *testing.T) {
	in := run(t, fmt.Sprintf(electrolyte, "lognei", 1, ""))
	runs := whatif.NewRuns(nil, t.Logf)
	defer runs.Close()
	var at, most atomic.Int32
	release := make(chan struct{})
	begun := make(chan struct{}, 100)
	input := func() (whatif.Input, error) {
		most.Store(max(most.Load(), at.Add(1)))
		defer at.Add(-1)
		begun <- struct{}{}
		<-release
		return in, nil
	}
	begin := func() whatif.Run {
		t.Helper()
		r, err := runs.Begin("bench", "store", "ada", "", whatif.Question{Decision: "d1", Experiments: 1}, input)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := begin()
	<-begun
	var rest []whatif.Run
	for range 7 {
		rest = append(rest, begin())
	}
	if _, err := runs.Begin("bench", "store", "ada", "", whatif.Question{Decision: "d1"}, input); problem.CodeOf(err) != problem.NotNow {
		t.Errorf("one too many: %v", err)
	}
	if r, err := runs.Now("bench", "store", first.ID); err != nil || r.State != whatif.Running {
		t.Errorf("the first one: %+v, %v", r, err)
	}
	if r, err := runs.Cancel(t.Context(), "bench", "store", rest[0].ID); err != nil || r.State != whatif.Cancelled {
		t.Errorf("one that waits is cancelled: %+v, %v", r, err)
	}
	for _, of := range [][2]string{{"other", "store"}, {"bench", "another"}} {
		if _, err := runs.Now(of[0], of[1], first.ID); problem.CodeOf(err) != problem.NotFound {
			t.Errorf("%s is seen in %v: %v", first.ID, of, err)
		}
		if _, err := runs.Cancel(t.Context(), of[0], of[1], first.ID); problem.CodeOf(err) != problem.NotFound {
			t.Errorf("%s is cancelled in %v: %v", first.ID, of, err)
		}
		if all := runs.Of(of[0], of[1]); len(all) > 0 {
			t.Errorf("%v has %v", of, all)
		}
	}
	close(release)
	for _, r := range append(rest[1:], first) {
		r, err := runs.Get(t.Context(), "bench", "store", r.ID)
		if err != nil || r.State != whatif.Done || r.Answer == nil || r.Done != 1 || r.Of != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if most.Load() != 1 {
		t.Errorf("%d were worked out at once", most.Load())
	}
	broken := errors.New("the disk is gone")
	failing := func() (whatif.Input, error) { return whatif.Input{}, broken }
	for range 40 {
		r, err := runs.Begin("bench", "store", "ada", "", whatif.Question{Decision: "d1"}, failing)
		if err != nil {
			t.Fatal(err)
		}
		if r, err = runs.Get(t.Context(), "bench", "store", r.ID); err != nil || r.State != whatif.Failed || !errors.Is(r.Err, broken) {
			t.Errorf("one that fails: %+v, %v", r, err)
		}
	}
	if all := runs.Of("bench", "store"); len(all) != 32 || all[0].ID != "w48" {
		t.Errorf("%d are kept, the newest %s", len(all), all[0].ID)
	}
	if _, err := runs.Now("bench", "store", first.ID); problem.CodeOf(err) != problem.NotFound {
		t.Errorf("an old one: %v", err)
	}
	last, err := runs.Begin("bench", "store", "ada", "", whatif.Question{Decision: "d1", Method: "logei", Experiments: 100},
		func() (whatif.Input, error) { return in, nil })
	if err != nil {
		t.Fatal(err)
	}
	runs.Close()
	if r, _ := runs.Now("bench", "store", last.ID); !r.Over() {
		t.Errorf("after the end: %+v", r)
	}
	if _, err := runs.Begin("bench", "store", "ada", "", whatif.Question{Decision: "d1"}, input); err == nil {
		t.Error("one begins after the end")
	}
}

// Law: a mistake in the program fails the question it was met in, and others are answered.
func TestMistake(t *testing.T) {
	runs := whatif.NewRuns(nil, t.Logf)
	defer runs.Close()
	inputs := map[string]func() (whatif.Input, error){
		"d1": func() (whatif.Input, error) { panic("a mistake") },
		"d2": func() (whatif.Input, error) { return whatif.Input{}, problem.New(problem.NotFound, "no d2") },
	}
	for _, decision := range []string{"d1", "d2"} {
		r, err := runs.Begin("bench", "store", "ada", "", whatif.Question{Decision: decision}, inputs[decision])
		if err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(10 * time.Second); !r.Over(); time.Sleep(time.Millisecond) {
			if r, err = runs.Now("bench", "store", r.ID); err != nil || time.Now().After(deadline) {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		want := map[string]problem.Code{"d1": problem.Internal, "d2": problem.NotFound}[decision]
		if r.State != whatif.Failed || problem.CodeOf(r.Err) != want {
			t.Errorf("%s: %s, %v", decision, r.State, r.Err)
		}
	}
}
