package events_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
)

// Law: a list of experiments is read as it is written, and what names none, one that there is
// not, or one twice is refused whole.
func TestExperimentLists(t *testing.T) {
	for text, want := range map[string]string{
		"e7":             "e7",
		"e1-e3":          "e1 e2 e3",
		" e1 , e3 - e5 ": "e1 e3 e4 e5",
		"e4-e4,e2":       "e4 e2",
	} {
		ids, err := events.ParseExperimentList(text, 9)
		if err != nil || strings.Join(ids, " ") != want {
			t.Errorf("%q is %v, %v; it names %s", text, ids, err, want)
		}
	}
	for text, why := range map[string]string{
		"": "names no experiment", "e1,": "names no experiment", "q1": "names no experiment", "e1-": "names no experiment",
		"1-3": "names no experiment", "e01": "names no experiment", "e1-q3": "names no experiment",
		"e3-e1": "write e1-e3", "e1-e10": "there is no experiment e10",
		"e1-e99999999": "there is no experiment e10", "e2,e1-e3": "e2 is named twice",
	} {
		if ids, err := events.ParseExperimentList(text, 9); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q is %v, %v; it should fail: %s", text, ids, err, why)
		}
	}
	for want, ids := range map[string][]string{
		"e1-e3, e5, e7, e8": {"e8", "e1", "e2", "e3", "e5", "e7"}, "e2": {"e2"}, "": nil,
	} {
		if got := events.ExperimentList(ids); got != want {
			t.Errorf("%v is written %q; it should be %q", ids, got, want)
		} else if again, err := events.ParseExperimentList(got, 9); ids != nil && (err != nil || len(again) != len(ids) || slices.Contains(again, "")) {
			t.Errorf("%q is read as %v, %v", got, again, err)
		}
	}
}
