package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/internal/diagnose"
	"github.com/campaignd/campaignd/internal/format"
)

func (a *app) diagnoseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diagnose [TARGET]",
		Short: "Say how far the model and the experts can be trusted, and what to do about it",
		Long: `Say how far the model of the objective can be trusted. Every composition is
predicted from all others and compared with what was measured: how close, and
how often within the intervals that should hold it. Measurements that contradict
all others, noise that repetitions do not bear out, lengthscales at their
bounds and a search that ended early are named, each with what to do next. The
labels of each expert are compared with what was measured.

The verdict is good, doubtful, unusable, or untested where there is too little
to judge by. Nothing is changed; the exit code is 0 whatever the verdict.`,
		Example: `  campaignd diagnose
  campaignd diagnose electrolyte.campaign --json | jq .verdict`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, s, err := a.openToRead(cmd.Context(), args)
			if err != nil {
				return err
			}
			defer s.close()
			core, err := s.core(cmd.Context())
			if err != nil {
				return err
			}
			d, err := diagnose.Of(cmd.Context(), core.View(), shellArg(t.store))
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(d)
			}
			return a.printDiagnosis(d)
		},
	}
}

// printDiagnosis writes a diagnosis for people: the verdict and its reasons
// first, then the numbers behind them.
func (a *app) printDiagnosis(d diagnose.Diagnosis) error {
	a.printf("Campaign %s: the model is %s\n\n", d.Campaign, d.Verdict)
	a.paragraph("  ", "  ", d.Headline)
	for _, f := range d.Findings {
		a.printf("\n")
		a.paragraph("  "+string(f.Level)+": ", "    ", f.Text)
		a.paragraph("    → ", "      ", f.Next)
	}
	a.printCheck(d)
	if err := a.printParametersLearnt(d); err != nil {
		return err
	}
	a.printSlices(d)
	a.printExperts(d)
	return nil
}

// printCheck writes how left-out compositions were predicted, and the noise.
func (a *app) printCheck(d diagnose.Diagnosis) {
	row := func(what, format string, args ...any) { a.printf("  %-12s %s\n", what, fmt.Sprintf(format, args...)) }
	if check := d.LeaveOneOut; check != nil {
		how := "hyperparameters fitted without it"
		if !check.Refitted {
			how = "at the campaign's hyperparameters"
		}
		a.printf("\nEach of %s predicted from all others (%s)\n", format.Count(len(check.Rows), "composition"), how)
		if check.R2 != nil {
			row("R²", "%s (1 is perfect, 0 no better than the mean)", figures(*check.R2))
		}
		if check.RankCorrelation != nil {
			row("order", "rank correlation %s of predicted and measured", figures(*check.RankCorrelation))
		}
		for _, c := range check.Coverage {
			row(fmt.Sprintf("%.0f %% holds", 100*c.Nominal), "%d of %d (%d to %d expected)", c.Within, len(check.Rows), c.Low, c.High)
		}
		row("errors", "%s times as large as the model says (root mean square)", figures(check.ZSD))
	}
	n := d.Noise
	if n == nil {
		return
	}
	a.printf("\nNoise\n")
	row("model", "%s sd of one measurement, %s", measure(n.SD, d.Unit), n.Source)
	row("spread", "%s sd of all measurements", measure(n.Spread, d.Unit))
	if r := n.Replicates; r != nil {
		row("repetitions", "%s sd (95 %%: %s to %s), from %s", measure(r.SD, d.Unit), figures(r.Lower), figures(r.Upper), format.Count(r.Freedom, "repetition"))
	} else {
		row("repetitions", "none: no composition has two measurements that count")
	}
}

// printParametersLearnt writes the lengthscales.
func (a *app) printParametersLearnt(d diagnose.Diagnosis) error {
	if len(d.Parameters) == 0 {
		return nil
	}
	a.printf("\nParameters\n")
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	tabulate(w, "  \tlengthscale\teffect through %s\n", d.Best)
	for _, p := range d.Parameters {
		length, effect := "between categories", ""
		if p.Lengthscale != nil {
			length = fmt.Sprintf("%s (%s of its range)", measure(*p.Lengthscale, p.Unit), format.Percent(p.Share))
		}
		if p.Effect != nil {
			effect = fmt.Sprintf("%s ± %s", figures(*p.Effect), measure(*p.EffectSD, d.Unit))
		}
		tabulate(w, "  %s\t%s\t%s\t%s\n", p.Name, length, effect, p.Reading)
	}
	return w.Flush()
}

// printSlices draws the mean along each parameter, all on one scale.
func (a *app) printSlices(d diagnose.Diagnosis) {
	if len(d.Slices) == 0 {
		return
	}
	low, high, name, from := d.Slices[0].Mean[0], d.Slices[0].Mean[0], 0, 0
	for _, s := range d.Slices {
		for _, m := range s.Mean {
			low, high = min(low, m), max(high, m)
		}
		name = max(name, utf8.RuneCountInString(s.Parameter))
		if s.Categories == nil {
			from = max(from, len(figures(s.X[0])))
		}
	}
	a.printf("\nSlices through %s: %s from %s (▁) to %s (█)\n", d.Best, d.Objective, figures(low), measure(high, d.Unit))
	for _, s := range d.Slices {
		if s.Categories != nil {
			cells := make([]string, len(s.X))
			for k, c := range s.Categories {
				cells[k] = fmt.Sprintf("%s %s ± %s", c, figures(s.Mean[k]), figures(s.SD[k]))
			}
			a.printf("  %-*s  %s\n", name, s.Parameter, strings.Join(cells, ", "))
			continue
		}
		a.printf("  %-*s  %*s %s %s, ± %s\n", name, s.Parameter, from, figures(s.X[0]), profile(s.Mean, low, high),
			measure(s.X[len(s.X)-1], s.Unit), spreadOf(s.SD))
	}
}

// profile draws every second value between low and high.
func profile(values []float64, low, high float64) string {
	blocks := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for k := 0; k < len(values); k += 2 {
		level := 0
		if high > low {
			level = int((values[k] - low) / (high - low) * float64(len(blocks)))
		}
		b.WriteRune(blocks[min(max(level, 0), len(blocks)-1)])
	}
	return b.String()
}

// spreadOf writes the least and the greatest of some standard deviations.
func spreadOf(sd []float64) string {
	low, high := sd[0], sd[0]
	for _, s := range sd {
		low, high = min(low, s), max(high, s)
	}
	return figures(low) + " to " + figures(high)
}

// printExperts writes how the labels have held.
func (a *app) printExperts(d diagnose.Diagnosis) {
	if len(d.Experts) == 0 {
		return
	}
	a.printf("\nExperts, against what was measured\n")
	for _, x := range d.Experts {
		a.paragraph("  ", "    ", fmt.Sprintf("%s: %s.", x.Name, agreementInWords(x)))
		if m := x.Measured; m.Accepted > 0 {
			a.printf("    %d of %s measured came out better than the median\n", m.AcceptedGood, format.Count(m.Accepted, "accepted composition"))
		}
		if m := x.Measured; m.Rejected > 0 {
			a.printf("    %d of %s measured did not come out better than the median\n", m.RejectedBad, format.Count(m.Rejected, "rejected composition"))
		}
	}
}

// agreementInWords says how an expert's answers have held.
func agreementInWords(x diagnose.Expert) string {
	text := x.Reading
	if x.Accepted+x.Rejected > 0 {
		text += fmt.Sprintf("; %d accepted and %d rejected", x.Accepted, x.Rejected)
	}
	if x.Labels != nil {
		text += ", the accepted one is the better in " + pairsInWords(x.Labels)
	}
	if x.Choices != nil {
		text += "; the option they prefer is the better in " + pairsInWords(x.Choices)
	}
	return text
}

// pairsInWords writes a share of pairs with its interval.
func pairsInWords(a *diagnose.Agreement) string {
	return fmt.Sprintf("%s of %d pairs (95 %%: %s to %s, guessing gives 50 %%)", format.Percent(a.Share), a.Pairs, format.Percent(a.Lower), format.Percent(a.Upper))
}

// figures writes a number in three significant digits: enough for a judgement, and
// for a standard deviation.
func figures(x float64) string { return format.Rounded(x, 3) }

// measure is figures with a unit.
func measure(x float64, unit string) string { return format.WithUnit(figures(x), unit) }

// lineWidth is where paragraphs are broken.
const lineWidth = 100

// paragraph writes a text over as many lines as it needs: the first after
// lead, the others after indent. What stands between backquotes stays on one
// line, so that it can be copied.
func (a *app) paragraph(lead, indent, text string) {
	line := lead
	for i, word := range unbroken(text) {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > lineWidth:
			a.printf("%s\n", line)
			line = indent + word
		default:
			line += " " + word
		}
	}
	a.printf("%s\n", line)
}

// unbroken splits a text at spaces that are not between backquotes.
func unbroken(text string) []string {
	quoted := false
	return strings.FieldsFunc(text, func(r rune) bool {
		if r == '`' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	})
}
