package rehearse

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/campaignd/campaignd/internal/ground/format"
)

// Report is the result of a rehearsal. Times are in seconds.
type Report struct {
	Campaign string `json:"campaign"`
	// Experiments are those of the budget, in Batches of Size, AtOnce of them under way together.
	Experiments int `json:"experiments"`
	Size        int `json:"batch_of"`
	Batches     int `json:"batches"`
	AtOnce      int `json:"batches_at_once"`
	// Batch is how long one takes on average, from its plan to its end, Longest at most, and Total how
	// long all take.
	Batch   float64 `json:"batch"`
	Longest float64 `json:"longest"`
	Total   float64 `json:"total"`
	// Wider is how long all take where one more batch is under way.
	Wider Wider `json:"wider,omitzero"`
	// Bottleneck is the instrument or the place that is in use for the greatest share of the time.
	Bottleneck string     `json:"bottleneck"`
	Resources  []Resource `json:"resources"`
	Stages     []Stage    `json:"stages"`
	// Missed are the windows that were not kept, Ends the stocks that did not suffice.
	Missed []Missed `json:"missed"`
	Ends   []End    `json:"ends"`
	// Hangs are acts that wait for ever.
	Hangs []Hang `json:"hangs,omitempty"`
}

// Wider is a rehearsal with more experiments at once.
type Wider struct {
	Parallel int     `json:"parallel"`
	Total    float64 `json:"total"`
}

// Resource is an instrument, or a place.
type Resource struct {
	Name     string `json:"name"`
	Place    bool   `json:"place,omitempty"`
	Capacity int    `json:"capacity"`
	// Used is the share of its capacity that is in use on average.
	Used float64 `json:"used"`
}

// Stage is a stage with what its acts took and waited for.
type Stage struct {
	Name  string  `json:"name"`
	On    string  `json:"on"`
	Takes float64 `json:"takes"`
	// Assumed is set where the time was not given.
	Assumed bool `json:"assumed,omitempty"`
	// Waits is how long an act that is due waits on average, Longest at most, and For what mostly.
	Waits   float64 `json:"waits"`
	Longest float64 `json:"longest"`
	For     string  `json:"for,omitempty"`
}

// Missed is a window that was not kept: a stage begins too late after another one.
type Missed struct {
	Stage  string  `json:"stage"`
	After  string  `json:"after"`
	Within float64 `json:"within"`
	// Batches is in how many, the First among them. Late is by how much at most, For what was waited
	// for then; empty for another stage before it.
	Batches int     `json:"batches"`
	First   int     `json:"first"`
	Late    float64 `json:"late"`
	For     string  `json:"for,omitempty"`

	latest int
}

// End is when a stock does not suffice for the first time: after so many experiments.
type End struct {
	Stock       string  `json:"stock"`
	At          float64 `json:"at"`
	Batch       int     `json:"batch"`
	Experiments int     `json:"experiments"`
	// Refills is how often it has to be filled again for all of the budget.
	Refills int `json:"refills"`
}

// Hang is an act that waits for ever.
type Hang struct {
	Batch int    `json:"batch"`
	Stage string `json:"stage"`
	For   string `json:"for"`
}

// bottleneck is the resource of that name.
func (r *Report) bottleneck() (found Resource) {
	for _, is := range r.Resources {
		if is.Name == r.Bottleneck {
			found = is
		}
	}
	return found
}

// Write writes the report for people.
func (r *Report) Write(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Rehearsal of %s: %s", r.Campaign, format.Count(r.Experiments, "experiment"))
	if r.Size > 1 {
		fmt.Fprintf(&b, " in %s of %d", batches(r.Batches), r.Size)
	}
	fmt.Fprintf(&b, ", %d at a time.\n\n", r.AtOnce)
	fmt.Fprintf(&b, "A batch takes %s, the longest %s; all of them %s.\n", span(r.Batch), span(r.Longest), span(r.Total))
	switch saved := r.Total - r.Wider.Total; {
	case r.Wider.Parallel == 0:
	case saved < r.Total/100:
		fmt.Fprintf(&b, "One more batch at a time (parallel: %d) saves no time.\n", r.Wider.Parallel)
	default:
		fmt.Fprintf(&b, "One more batch at a time (parallel: %d) takes %s.\n", r.Wider.Parallel, span(r.Wider.Total))
	}
	fmt.Fprintf(&b, "The bottleneck is %s, in use for %s of the time.\n\n", r.Bottleneck, share(r.bottleneck().Used))

	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  stage\tat\ttakes\twaits\tat most\tfor")
	assumed := false
	for _, s := range r.Stages {
		mark := ""
		if s.Assumed {
			mark, assumed = "*", true
		}
		waits := span(s.Waits)
		if s.For != "" {
			waits += "\t" + span(s.Longest) + "\t" + s.For
		}
		fmt.Fprintf(table, "  %s\t%s\t%s%s\t%s\n", s.Name, s.On, span(s.Takes), mark, waits)
	}
	fmt.Fprintln(table, "\n  in use\tcapacity\tshare of the time")
	for _, is := range r.Resources {
		fmt.Fprintf(table, "  %s\t%d\t%s\n", is.Name, is.Capacity, share(is.Used))
	}
	table.Flush() // a strings.Builder does not fail
	b.WriteByte('\n')
	if assumed {
		b.WriteString("* assumed: say how long it takes with --takes STAGE=TIME.\n")
	}
	b.WriteString("Assumed as well: all acts succeed, decisions take no time, and people are there day and night.\n")
	for _, m := range r.Missed {
		waits := "for a stage that is later than " + m.After
		if m.For != "" {
			waits = "for " + m.For
		}
		fmt.Fprintf(&b, "Not kept: %s within %s after %s, in %s, from b%d on: up to %s too late, waiting %s.\n",
			m.Stage, span(m.Within), m.After, batches(m.Batches), m.First, span(m.Late), waits)
	}
	if len(r.Missed) == 0 {
		b.WriteString("All windows are kept.\n")
	}
	for _, e := range r.Ends {
		fmt.Fprintf(&b, "%s ends in b%d, after %s and %s: it has to be filled again %s.\n",
			e.Stock, e.Batch, span(e.At), format.Count(e.Experiments, "experiment"), format.Count(e.Refills, "time"))
	}
	for _, h := range r.Hangs {
		fmt.Fprintf(&b, "It comes to a halt: b%d waits at %s for %s for ever.\n", h.Batch, h.Stage, h.For)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func span(seconds float64) string {
	return format.Duration(time.Duration(seconds * float64(time.Second)))
}

func batches(n int) string {
	if n == 1 {
		return "1 batch"
	}
	return fmt.Sprintf("%d batches", n)
}

func share(of float64) string { return fmt.Sprintf("%.0f %%", 100*of) }
