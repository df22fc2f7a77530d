package projections_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections"
)

// Law: records come in the order of the numbers of their identifiers, whoever was
// faster; equal ones in the order they came. q10 comes after q9.
func TestInOrder(t *testing.T) {
	want := []string{"q1", "q2", "q9", "q10", "q11", "q100"}
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var list []string
		for _, i := range rng.Perm(len(want)) {
			list = projections.InOrder(list, want[i], events.QuestionNumber)
		}
		if !slices.Equal(list, want) {
			t.Fatalf("seed %d: %v, want %v", seed, list, want)
		}
	}
	type record struct {
		id   string
		came int
	}
	var list []record
	for came, id := range []string{"q2", "q1", "q2", "q1", "", "q2"} {
		list = projections.InOrder(list, record{id, came}, func(r record) int { return events.QuestionNumber(r.id) })
	}
	if got := fmt.Sprint(list); got != "[{ 4} {q1 1} {q1 3} {q2 0} {q2 2} {q2 5}]" {
		t.Errorf("equal identifiers: %s", got)
	}
}

// Law: an order says that each option is better than those behind it and those left
// out; of those left out it says nothing.
func TestPairs(t *testing.T) {
	for _, c := range []struct {
		options int
		order   []int
		want    string
	}{
		{2, []int{0, 1}, "[[0 1]]"},
		{2, []int{1}, "[[1 0]]"},
		{3, []int{2, 0, 1}, "[[2 0] [2 1] [0 1]]"},
		{4, []int{3}, "[[3 0] [3 1] [3 2]]"},
		{4, []int{1, 3}, "[[1 3] [1 0] [1 2] [3 0] [3 2]]"},
		{3, nil, "[]"},
	} {
		if got := fmt.Sprint(projections.Comparison{Options: make([]definition.Point, c.options), Order: c.order}.Pairs()); got != c.want {
			t.Errorf("%v of %d: %s, want %s", c.order, c.options, got, c.want)
		}
	}
}

// Law: an answer takes the place of an earlier one to the same question, in the order
// of questions; "can't tell" takes it away. What was taken away and added is counted.
func TestCompare(t *testing.T) {
	var list []projections.Comparison
	for _, step := range []struct {
		question string
		order    []int
		changes  int
		want     string
	}{
		{"q2", []int{0, 1}, 1, "q2[0 1]"},
		{"q10", []int{0, 1}, 1, "q2[0 1] q10[0 1]"},
		{"q3", nil, 0, "q2[0 1] q10[0 1]"},
		{"q3", []int{1, 0}, 1, "q2[0 1] q3[1 0] q10[0 1]"},
		{"q2", []int{1, 0}, 2, "q2[1 0] q3[1 0] q10[0 1]"},
		{"q3", nil, 1, "q2[1 0] q10[0 1]"},
		{"q10", nil, 1, "q2[1 0]"},
	} {
		var changes int
		list, changes = projections.Compare(list, projections.Comparison{Question: step.question, Order: step.order})
		got := ""
		for i, c := range list {
			if i > 0 {
				got += " "
			}
			got += c.Question + fmt.Sprint(c.Order)
		}
		if got != step.want || changes != step.changes {
			t.Errorf("after %v to %s: %s, %d changes; want %s, %d", step.order, step.question, got, changes, step.want, step.changes)
		}
	}
}

// fake is a projection with the given snapshot.
type fake struct {
	projections.Projection
	name, snapshot string
}

func (f fake) Name() string              { return f.name }
func (f fake) Snapshot() ([]byte, error) { return []byte(f.snapshot), nil }

// Law: a digest tells any two lists of names and snapshots apart, whatever is written
// where.
func TestDigest(t *testing.T) {
	seen := make(map[string]int)
	for i, list := range [][]projections.Projection{
		{}, {fake{name: "a", snapshot: "xy"}}, {fake{name: "a", snapshot: "x"}}, {fake{name: "b", snapshot: "xy"}},
		{fake{name: "a", snapshot: "x"}, fake{name: "b", snapshot: "y"}}, {fake{name: "b", snapshot: "y"}, fake{name: "a", snapshot: "x"}},
		{fake{name: "a", snapshot: "xb 1\ny"}}, {fake{name: "a", snapshot: "xb\ny"}}, {fake{name: "a", snapshot: ""}, fake{name: "b", snapshot: "xy"}},
	} {
		d, err := projections.Digest(list...)
		if err != nil || len(d) != 64 {
			t.Fatal(d, err)
		}
		if j, twice := seen[d]; twice {
			t.Errorf("lists %d and %d have one digest", i, j)
		}
		seen[d] = i
	}
}
