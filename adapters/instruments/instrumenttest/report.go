package instrumenttest

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/adapters/instruments"
)

// Verdicts of a check.
const (
	Pass = "pass"
	Fail = "fail"
	Skip = "skip"
)

// Result is the outcome of one check.
type Result struct {
	Check   string `json:"check"`
	Law     string `json:"law"`
	Verdict string `json:"verdict"` // Pass, Fail or Skip
	// Reason says why it failed or was skipped, or remarks on how it passed.
	Reason string `json:"reason,omitempty"`
	// Unjudged: it was skipped although it applies, because no measurement
	// could be had, or experiments were not allowed.
	Unjudged bool `json:"unjudged,omitempty"`
	// Unseen: the check is about acts as well, and they were not counted.
	Unseen bool `json:"unseen,omitempty"`
	// Dispatched is how many different commands were handed to the instrument.
	Dispatched int `json:"dispatched"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
}

// Report is the outcome of the suite.
type Report struct {
	Instrument instruments.Description `json:"instrument"`
	// Counted says that acts were counted, by the record of the device's side.
	Counted bool `json:"counted"`
	// Countable says that there is a device's side which could keep a record: a
	// device, or a program, be it that of a simulation.
	Countable bool     `json:"countable"`
	Results   []Result `json:"results"`
	// Dispatched is the sum over all checks. On an instrument that is not
	// simulated each of these may have been a physical action.
	Dispatched int `json:"dispatched"`
	// Redelivered is how many starts reached the instrument's program once
	// more.
	Redelivered int `json:"redelivered"`
	// Left are the processes that the suite had to leave at work.
	Left []int `json:"left,omitempty"`
}

// Failed returns the checks that failed.
func (r Report) Failed() []Result {
	return r.of(func(result Result) bool { return result.Verdict == Fail })
}

// Unjudged returns the checks that apply and could not be judged: they have not
// passed.
func (r Report) Unjudged() []Result {
	return r.of(func(result Result) bool { return result.Unjudged })
}

// Uncounted returns how many checks passed of an instrument that can act, as far
// as could be seen without counting its acts: one that acts twice is among those
// that pass so.
func (r Report) Uncounted() int {
	if !r.Countable {
		return 0
	}
	return len(r.unseen())
}

// unseen returns the checks that passed as far as could be seen without
// counting acts.
func (r Report) unseen() []Result {
	return r.of(func(result Result) bool { return result.Verdict == Pass && result.Unseen })
}

// of returns the results of a kind, in order.
func (r Report) of(kind func(Result) bool) []Result {
	return slices.DeleteFunc(slices.Clone(r.Results),
		func(result Result) bool { return !kind(result) })
}

// notCounted is said where acts are not counted, with the flag of campaignd
// that has them counted.
const notCounted = "whether it acted once was NOT seen (--acts)"

// WriteText writes the report for people. What was not seen and what could not
// be judged is said again at the end: a list of passes reads like a clean bill
// otherwise.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	kind := "REAL: commands move things"
	if r.Instrument.Simulated {
		kind = "simulated"
	}
	fmt.Fprintf(&b, "instrument  %s, %s, capacity %d\n",
		cmp.Or(r.Instrument.Name, "(unknown)"), kind, r.Instrument.Capacity)
	if r.Counted {
		fmt.Fprintf(&b, "acts        counted after every check, by the record of the device's side\n\n")
	} else {
		fmt.Fprintf(&b, "acts        not counted: %s\n\n", notCounted)
	}
	counts := map[string]int{}
	last := "" // reason
	for _, result := range r.Results {
		counts[result.Verdict]++
		fmt.Fprintf(&b, "%-4s  %-24s  %s\n", result.Verdict, result.Check, result.Law)
		indent := "\n" + strings.Repeat(" ", 32)
		// Where nothing more is asked of an instrument, that is said once.
		if result.Reason != "" && !(result.Unjudged && result.Reason == last) {
			fmt.Fprintf(&b, "%s→ %s\n", indent[1:], strings.ReplaceAll(result.Reason, "\n", indent+"  "))
		}
		last = result.Reason
		if result.Verdict == Pass && result.Unseen {
			fmt.Fprintf(&b, "%s→ %s\n", indent[1:], notCounted)
		}
		if result.Dispatched > 0 {
			fmt.Fprintf(&b, "%s%s\n", indent[1:], dispatched(result.Dispatched, r.Instrument.Simulated))
		}
	}
	fmt.Fprintf(&b, "\n%d checks: %d passed, %d failed, %d skipped; %s\n", len(r.Results),
		counts[Pass], counts[Fail], counts[Skip], dispatched(r.Dispatched, r.Instrument.Simulated))
	if r.Redelivered > 0 {
		fmt.Fprintf(&b, "Starts that reached its program once more: %d\n", r.Redelivered)
	}
	if n := len(r.Unjudged()); n > 0 {
		fmt.Fprintf(&b, "NOT PASSED: %s could not be judged, for the reasons given there\n", checks(n))
	}
	for _, pid := range r.Left {
		fmt.Fprintf(&b, "Its program is still at work and was left alone: process %d\n", pid)
	}
	if n := len(r.unseen()); n > 0 {
		fmt.Fprintf(&b, "Not counted: of %s that passed, %s\n", checks(n), notCounted)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// checks counts checks.
func checks(n int) string {
	if n == 1 {
		return "1 check"
	}
	return fmt.Sprintf("%d checks", n)
}

// dispatched says how many commands were sent, and whether anything may have moved.
func dispatched(n int, simulated bool) string {
	what := "commands"
	if n == 1 {
		what = "command"
	}
	if simulated {
		return fmt.Sprintf("%d %s dispatched, nothing physical", n, what)
	}
	return fmt.Sprintf("%d %s dispatched to the real instrument", n, what)
}
