package console

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Law: what a person has typed into a text is in it again when the text is written anew, and what
// is written anew is too, but for lines that both have changed: those stay as they were typed,
// and are named. The texts are of lines that name their origin, so that each line says whether
// it belongs into what comes of it.
func TestMerge(t *testing.T) {
	random := rand.New(rand.NewPCG(34, 1))
	for round := range 2000 {
		var base, typed, written, want []string
		var disputed []string
		for i := range 2 + random.IntN(12) {
			line := "line " + string(rune('a'+i))
			base = append(base, line)
			ours, theirs := []string{line}, []string{line}
			both := []string{line}
			// Changes of one line each, with a line that nobody changes between them: how those
			// that touch are kept apart is the algorithm's own choice.
			switch what := random.IntN(8); {
			case i%2 == 0:
			case what == 0:
				ours = []string{line + ", typed"}
				both = ours
			case what == 1:
				theirs = []string{line + ", written"}
				both = theirs
			case what == 2:
				ours, theirs = []string{line + ", typed"}, []string{line + ", written"}
				both = ours
				disputed = append(disputed, ours...)
			case what == 3:
				ours, theirs = []string{line + ", the same"}, []string{line + ", the same"}
				both = ours
			case what == 4:
				ours = []string{line, "more of " + line, "and more of " + line}
				both = ours
			case what == 5:
				theirs = []string{}
				both = theirs
			}
			typed, written, want = append(typed, ours...), append(written, theirs...), append(want, both...)
		}
		merged, kept := merge(strings.Join(base, "\n"), strings.Join(typed, "\n"), strings.Join(written, "\n"))
		if merged != strings.Join(want, "\n") {
			t.Fatalf("round %d: of\n%s\ntyped\n%s\nwritten\n%s\nit makes\n%s", round, strings.Join(base, "\n"), strings.Join(typed, "\n"), strings.Join(written, "\n"), merged)
		}
		var named []string
		for _, n := range kept {
			named = append(named, strings.Split(merged, "\n")[n-1])
		}
		if !slices.Equal(named, disputed) {
			t.Fatalf("round %d: %q stay as typed, and %q are named", round, disputed, named)
		}
	}
	long := strings.Repeat("x\n", 5000)
	if merged, _ := merge(long, long+"typed", long); merged != long+"typed" {
		t.Error("a long text is not as it was typed")
	}
}

// Law: two edits meet where they change one line or insert at one place, and not where one ends
// as the other begins; they are equal where they do the same at the same place.
func TestEditsMeet(t *testing.T) {
	at := func(from, to int, lines ...string) edit { return edit{from: from, to: to, lines: lines} }
	for _, c := range []struct {
		e, f  edit
		meets bool
	}{
		{at(2, 2, "a"), at(2, 2, "b"), true},
		{at(2, 2, "a"), at(3, 3, "b"), false},
		{at(2, 4), at(3, 5), true},
		{at(2, 4), at(3, 3, "a"), true},
		{at(2, 4), at(2, 2, "a"), false},
		{at(2, 4), at(4, 4, "a"), false},
		{at(2, 4), at(4, 6), false},
		{at(2, 6), at(3, 4), true},
	} {
		if c.e.meets(c.f) != c.meets || c.f.meets(c.e) != c.meets {
			t.Errorf("%+v and %+v: %v and %v", c.e, c.f, c.e.meets(c.f), c.f.meets(c.e))
		}
	}
	one := at(2, 4, "a")
	for _, other := range []edit{at(1, 4, "a"), at(2, 5, "a"), at(2, 4, "b"), at(2, 4)} {
		if one.equals(other) || !one.equals(at(2, 4, "a")) {
			t.Errorf("%+v and %+v", one, other)
		}
	}
}
