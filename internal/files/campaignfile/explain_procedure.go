package campaignfile

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// explainProcedure draws the stages, each behind and further to the right than those that it comes
// after, with the times that the batch is in a place on the left, and puts each into words.
func explainProcedure(b *strings.Builder, def *definition.Campaign) {
	v := validator{def: *def}
	if v.order(); v.flow == nil || len(def.Procedure) == 0 {
		return
	}
	fmt.Fprintf(b, "\nWhat is done: %s\n", batchText(def.Batch))
	var stays []stay
	for _, p := range def.Places {
		stays = append(stays, v.stays(p.Name)...)
	}
	depth := make([]int, len(def.Procedure))
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, i := range v.flow.order {
		for _, j := range v.flow.after[i] {
			depth[i] = max(depth[i], depth[j]+1)
		}
		s := &def.Procedure[i]
		// The tabwriter counts characters, so that lines are as wide as letters.
		fmt.Fprintf(table, "  %s\t%s%s\t%s\t%s\n", v.placesText(stays, i),
			strings.Repeat("  ", depth[i]), s.Name, s.On, stageText(s))
	}
	table.Flush() // a strings.Builder does not fail
	for _, p := range def.Places {
		switch room := def.Room(p.Name); {
		case p.Lab != "":
			fmt.Fprintf(b, "  %s is the place %s of the lab, which its campaigns share\n", p.Name, p.Lab)
		case room > 1:
			fmt.Fprintf(b, "  %s has room for %d\n", p.Name, room)
		}
	}
}

// placesText draws in which places a batch is from a stage on: ┌ oven where it comes in, └ oven where
// it leaves, │ oven where it stays.
func (v *validator) placesText(stays []stay, stage int) string {
	at := slices.Index(v.flow.order, stage)
	var parts []string
	for _, s := range stays {
		from, to := slices.Index(v.flow.order, s.from), slices.Index(v.flow.order, s.to)
		switch {
		case at == from:
			parts = append(parts, "┌ "+s.place)
		case at == to:
			parts = append(parts, "└ "+s.place)
		case from < at && at < to:
			parts = append(parts, "│ "+s.place)
		}
	}
	return strings.Join(parts, " ")
}

// stageText describes what a stage waits for, gives and uses.
func stageText(s *definition.Stage) string {
	parts := []string{"experiment by experiment"}
	if s.Together {
		parts = []string{"together"}
	}
	var after []string
	for _, e := range s.After {
		after = append(after, strings.TrimSpace(e.Stage+" "+windowText(e)))
	}
	if after != nil {
		parts = append(parts, "after "+andList(after))
	}
	if s.Always {
		parts = append(parts, "always, whatever became of the experiments")
	}
	if s.Gives != nil {
		parts = append(parts, "gives "+andList(s.Gives))
	}
	if s.Parameters != nil {
		parts = append(parts, "is sent "+andList(s.Parameters))
	}
	for _, name := range sortedKeys(s.Set) {
		parts = append(parts, fmt.Sprintf("%s at %s", name, s.Set[name]))
	}
	if s.Tried() > 1 {
		parts = append(parts, "made again where it fails, "+format.Count(s.Tried(), "time")+" in all at most")
	}
	return strings.Join(parts, "; ")
}

// batchText describes the experiments that go together.
func batchText(b definition.Batch) string {
	if b.Size() == 1 {
		return "each experiment by itself"
	}
	text := format.Count(b.Size(), "experiment") + " together"
	if b.AtLeast > 0 {
		text += fmt.Sprintf(", or %d once no other was requested for %s", b.AtLeast, b.Within)
	}
	return text
}

// windowText describes the times that are possible: "2h to 3h later".
func windowText(e definition.Edge) string {
	switch {
	case e.From > 0 && e.Until > 0:
		return fmt.Sprintf("(%s to %s later)", e.From, e.Until)
	case e.From > 0:
		return fmt.Sprintf("(%s later or more)", e.From)
	case e.Until > 0:
		return fmt.Sprintf("(%s later at most)", e.Until)
	}
	return ""
}
