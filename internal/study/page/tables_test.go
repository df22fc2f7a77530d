package page

import (
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/study/simulate"
)

// Law: the first row of each task has its name, whichever arms have times there.
func TestTimesNameTheirTasks(t *testing.T) {
	arms := func(known ...bool) (all []simulate.ArmSummary) {
		for _, k := range known {
			var a simulate.ArmSummary
			if k {
				a.Seconds = []float64{1}
			}
			all = append(all, a)
		}
		return all
	}
	var s simulate.Summary
	for i, known := range [][]bool{{false, true, true}, {false, true, true}, {true, true, false}, {false, false, true}} {
		name := string(rune('a' + i))
		task := simulate.TaskSummary{Task: &simulate.Task{Name: name}, Arms: arms(known...)}
		s.Tasks = append(s.Tasks, task)
	}
	d := pageData{Arms: make([]legendEntry, 3)}
	d.times(s)
	var names []string
	for _, row := range d.Times {
		names = append(names, row.Task)
	}
	if want := []string{"a", "", "b", "", "c", "", "d"}; !slices.Equal(names, want) {
		t.Errorf("the rows are named %q, want %q", names, want)
	}
}

// A difference is written in digits that can be read, however small it is.
func TestTinyDifferences(t *testing.T) {
	for _, c := range []struct {
		d    simulate.Interval
		want string
	}{
		{simulate.Interval{Mean: -0.123, Lower: -0.2, Upper: -0.05}, "−0.123 [−0.200, −0.050]"},
		{simulate.Interval{Mean: -2.1e-8, Lower: -4e-8, Upper: 1e-9}, "−2.1e−08 [−4.0e−08, +1.0e−09]"},
	} {
		if got := intervalText(&c.d); len(got) > 40 || got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
