package app

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/policies/duel"
)

// methodsCommand is `campaignd methods`.
//
// The list is made from the registry, so that it names methods of a plug-in too.
var methodsCommand = command{
	name: "methods",
	args: cobra.MaximumNArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		var markdown bool
		flags.BoolVar(&markdown, "markdown", false, "as a table for a README")
		return func(c *call, args []string) error {
			all := view.Methods(c.registry)
			if len(args) == 1 {
				for _, m := range all {
					if m.Name == args[0] {
						return printMethod(c.app, m)
					}
				}
				return badInput("there is no method %q; `campaignd methods` lists them", args[0])
			}
			switch {
			case c.json:
				return c.printJSON(all)
			case markdown:
				return methodsMarkdown(c.stdout, all)
			}
			return printMethods(c.app, all)
		}
	},
}

// printMethods lists the methods in three groups: by whether an expert and an
// instrument take part. Each group has a table of its own, since the columns
// differ.
func printMethods(a *app, all []view.Method) error {
	for i, part := range []struct {
		title string
		has   func(view.Method) bool
	}{
		{"No expert is asked", func(m view.Method) bool {
			return !m.Expert
		}},
		{"An expert helps, and an instrument measures", func(m view.Method) bool {
			return m.Expert && m.Instrument
		}},
		{"An expert compares, and nothing is measured", func(m view.Method) bool {
			return !m.Instrument
		}},
	} {
		if i > 0 {
			a.printf("\n")
		}
		a.printf("%s\n", part.title)
		w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
		for _, m := range all {
			if part.has(m) {
				fmt.Fprintln(w, strings.Join(methodCells(m), "\t"))
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	a.printf("\nIn a campaign file: policy: NAME. With its settings: campaignd methods NAME\n")
	return nil
}

// methodCells are a method's cells in its group. What the expert is asked has a
// column only where an instrument measures as well; elsewhere it is empty or the
// same for all.
func methodCells(m view.Method) []string {
	summary := strings.TrimPrefix(m.Summary, "comparisons alone: ") // the title says that
	if m.Source != "" {
		summary += " (" + m.Source + ")"
	}
	if m.Instrument && m.Asks != "" {
		return []string{"  " + m.Name, m.Asks, summary}
	}
	return []string{"  " + m.Name, summary}
}

// printMethod prints a method with its settings, in the form that a campaign file may have them.
// Settings without a default cannot stand there and are named in a comment, as are the values that
// a rule on a utility reads from other parts of the file. The policy is written from its JSON, as
// `campaignd validate --explain` does: a file with it means the same as one with the name.
func printMethod(a *app, m view.Method) error {
	if a.json {
		return a.printJSON(m)
	}
	text, err := campaignYAML(map[string]definition.Policy{"policy": m.Policy})
	if err != nil {
		return err
	}
	a.printf("%s: %s\n\n", m.Name, m.Summary)
	row := func(what, how string) {
		if how != "" {
			a.printf("  %-8s %s\n", what, how)
		}
	}
	row("source", m.Source)
	row("needs", m.Needs())
	row("asks", m.Asks)
	a.printf("\n`policy: %s` stands for\n\n%s", m.Name, text)
	if more := m.OpenSettings(); len(more) > 0 {
		a.printf("\n# further settings, without a default: %s\n", strings.Join(more, ", "))
	}
	if d := m.Policy.Duel.Name; !m.Policy.Measures() && d != duel.MRLPFName && d != duel.MaxMinLCBName {
		a.printf("\n# of the utility: model.utility; where an expert's judgment is reliable: the expert's anchors\n")
	}
	return nil
}

// methodsMarkdown writes the table of the methods in docs/tour.md; a test holds
// the two together. An empty cell is a dash.
func methodsMarkdown(w io.Writer, all []view.Method) error {
	var b strings.Builder
	b.WriteString("| `policy:` | what it does | needs | the expert is asked | source |\n|---|---|---|---|---|\n")
	for _, m := range all {
		asks := m.Asks
		if asks == "" {
			asks = "–"
		}
		source := m.Source
		if source == "" {
			source = "–"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.Name, m.Summary, m.Needs(), asks, source)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
