package program

import (
	"fmt"
	"strings"
	"testing"
)

// A line that cannot be read still says whose answer it is.
func TestSubjectOf(t *testing.T) {
	seven := uint64(7)
	for line, want := range map[string]Subject{
		`{"id":7,"outcome":{"status":`:                                 {ID: &seven, Object: true},
		` {"outcome":{"id":9,"x":["{\"id\":8}",{"id":6}]}, "ID" : 7 }`: {ID: &seven, Object: true},
		`{"command":"c/e\u0031","outcome":tru`:                         {Command: "c/e1", Object: true},
		`{"outcome":{"command":"c/e1"}}`:                               {Object: true},
		`{'id': 7}`:                                                    {Object: true},
		`{"id":"7"}`:                                                   {Object: true},
		`["id",7]`:                                                     {},
		`warming up {"id":7}`:                                          {},
		``:                                                             {},
	} {
		got := SubjectOf([]byte(line))
		if got.Object != want.Object || got.Command != want.Command || (got.ID == nil) != (want.ID == nil) || got.ID != nil && *got.ID != *want.ID {
			t.Errorf("%s is about %+v, want %+v", line, got, want)
		}
	}
}

// Law: a line may have 1 MiB with its end, and of one that has more is told how long it is,
// how it begins and what it is about, wherever it says so; not what another was about.
func TestLongestLine(t *testing.T) {
	fill := func(before, after string, n int) string {
		return before + strings.Repeat("x", n-len(before)-len(after)) + after
	}
	input := fill(`{"id":1,"x":"`, "\"}\n", MaxLine) + fill(`{"id":2,"x":"`, "\"}\n", MaxLine+1) +
		fill(`{"x":"`, "\"}\n", MaxLine+2) + fill(`{"x":"`, "\",\"id\":4}\n", 2*MaxLine)
	lines := 0
	var long []string
	EachLine(strings.NewReader(input), func(l []byte) { lines += len(l) }, func(o Oversized) {
		id := uint64(0)
		if o.ID != nil {
			id = *o.ID
		}
		long = append(long, fmt.Sprint(o.Length, " ", id, " ", string(o.Head[:5])))
	})
	want := []string{fmt.Sprint(MaxLine+1, ` 2 {"id"`), fmt.Sprint(MaxLine+2, ` 0 {"x":`), fmt.Sprint(2*MaxLine, ` 4 {"x":`)}
	if lines != MaxLine-1 || strings.Join(long, "; ") != strings.Join(want, "; ") {
		t.Errorf("%d bytes were read, and of the longer lines: %q, want %q", lines, long, want)
	}
}

// Lines of any length and ending are told apart.
func TestEachLine(t *testing.T) {
	var got []string
	var long []int
	input := "a\n\nb\r\n" + strings.Repeat("x", MaxLine+5) + "\n" + strings.Repeat("y", 1<<17) + "\nend"
	EachLine(strings.NewReader(input), func(l []byte) { got = append(got, string(l[:min(len(l), 3)])) }, func(o Oversized) { long = append(long, o.Length) })
	if want := []string{"a", "", "b\r", "yyy", "end"}; strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(long) != 1 || long[0] != MaxLine+6 {
		t.Errorf("too long: %v", long)
	}
}
