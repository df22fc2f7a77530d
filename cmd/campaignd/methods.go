package main

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/builtin"
	"github.com/campaignd/campaignd/internal/campaignfile"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/duel"
)

// method is an element of what `methods --json` prints.
type method struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	// Source is where it comes from; empty for what everybody does.
	Source string `json:"source,omitempty"`
	// Instrument and Expert say what it needs.
	Instrument bool `json:"instrument"`
	Expert     bool `json:"expert"`
	// Asks is what an expert is asked for, empty where nobody is.
	Asks string `json:"asks,omitempty"`
	// Policy is the composition that the name stands for, every default written out.
	Policy definition.Policy `json:"policy"`
}

func (a *app) methodsCommand() *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use:   "methods [NAME]",
		Short: "List the policies that have a name: what each does, needs and asks",
		Long: `List the policies that have a name. A campaign file takes one as ` + "`policy: NAME`" + `.
With NAME: that one with its settings written out, ready to be changed.`,
		Example: `  campaignd methods
  campaignd methods coexbo`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all := methods()
			if len(args) == 1 {
				for _, m := range all {
					if m.Name == args[0] {
						return a.printMethod(m)
					}
				}
				return badInput("there is no method %q; `campaignd methods` lists them", args[0])
			}
			switch {
			case a.json:
				return a.printJSON(all)
			case markdown:
				return methodsMarkdown(a.stdout, all)
			}
			return a.printMethods(all)
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "as a table for a README")
	return cmd
}

// methods returns the methods of the program with what each needs.
func methods() []method {
	var all []method
	for _, m := range builtin.Registry().Methods.Methods() {
		all = append(all, method{
			Name: m.Name, Summary: m.Summary, Source: m.Source, Asks: m.Asks,
			Instrument: m.Policy.Measures(), Expert: m.Asks != "", Policy: completed(m.Policy),
		})
	}
	return all
}

// completed writes out the defaults of a policy, in a campaign of people.
func completed(p definition.Policy) definition.Policy {
	def := definition.Campaign{Policy: p, Experts: []definition.Expert{{Name: "ada", Channel: terminal.Choose(terminal.Settings{})}}}
	p = campaignfile.Complete(builtin.Registry(), def).Policy
	// The lengthscale of a kernel of comparisons follows from the parameters of a campaign.
	switch p.Duel.Name {
	case duel.MRLPFName:
		var settings duel.MRLPF
		if p.Duel.Decode(&settings) == nil {
			settings.Lengthscale = nil
			p.Duel = settings.Choice()
		}
	case duel.MaxMinLCBName:
		var settings duel.MaxMinLCB
		if p.Duel.Decode(&settings) == nil {
			settings.Lengthscale = nil
			p.Duel = settings.Choice()
		}
	}
	return p
}

func (m method) needs() string {
	switch {
	case !m.Instrument:
		return "an expert"
	case m.Expert:
		return "an instrument, an expert"
	}
	return "an instrument"
}

func (a *app) printMethods(all []method) error {
	for i, part := range []struct {
		title string
		has   func(method) bool
	}{
		{"Nobody is asked", func(m method) bool { return !m.Expert }},
		{"An expert helps, and an instrument measures", func(m method) bool { return m.Expert && m.Instrument }},
		{"An expert compares, and nothing is measured", func(m method) bool { return !m.Instrument }},
	} {
		if i > 0 {
			a.printf("\n")
		}
		a.printf("%s\n", part.title)
		w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
		for _, m := range all {
			if !part.has(m) {
				continue
			}
			cells := []string{"  " + m.Name, strings.TrimPrefix(m.Summary, "comparisons alone: ")}
			if m.Source != "" {
				cells[1] += " (" + m.Source + ")"
			}
			if m.Instrument && m.Asks != "" {
				cells = []string{cells[0], m.Asks, cells[1]}
			}
			fmt.Fprintln(w, strings.Join(cells, "\t"))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	a.printf("\nIn a campaign file: policy: NAME. With its settings: campaignd methods NAME\n")
	return nil
}

func (a *app) printMethod(m method) error {
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
	row("needs", m.needs())
	row("asks", m.Asks)
	a.printf("\n`policy: %s` stands for\n\n%s", m.Name, text)
	if more := furtherSettings(m.Policy); len(more) > 0 {
		a.printf("\n# further settings, without a default: %s\n", strings.Join(more, ", "))
	}
	if d := m.Policy.Duel.Name; !m.Policy.Measures() && d != duel.MRLPFName && d != duel.MaxMinLCBName {
		a.printf("\n# of the utility: model.utility; where an expert's judgement is reliable: the expert's anchors\n")
	}
	return nil
}

// furtherSettings lists the keys of the rules of a policy that have no default
// and so are not written out.
func furtherSettings(p definition.Policy) (keys []string) {
	for _, part := range policies.Parts(p) {
		settings, err := builtin.Registry().Methods.Settings(p, part)
		if err == nil {
			at := fmt.Sprintf("policy.%s.%s", part, policies.Choice(&p, part).Name)
			keys = append(keys, unset(reflect.ValueOf(settings).Elem(), at)...)
		}
	}
	return keys
}

// unset lists the keys of settings that are not set.
func unset(settings reflect.Value, at string) (keys []string) {
	for i := range settings.NumField() {
		field, value := settings.Type().Field(i), settings.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous:
			keys = append(keys, unset(value, at)...)
		case value.IsZero():
			keys = append(keys, at+"."+name)
		}
	}
	return keys
}

// methodsMarkdown writes the table of README.md.
func methodsMarkdown(w io.Writer, all []method) error {
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
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.Name, m.Summary, m.needs(), asks, source)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
