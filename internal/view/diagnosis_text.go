package view

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view/diagnose"
)

// WriteDiagnosis writes a diagnosis for people: the verdict and its reasons first, then the numbers
// behind them. next is the advice for a person about a finding. Parts without numbers are left out.
func WriteDiagnosis(w io.Writer, d diagnose.Diagnosis, next func(diagnose.Finding) string) error {
	p := &page{w: w}
	p.line("Campaign %s: the model is %s", d.Campaign, d.Verdict)
	p.raw("")
	p.paragraph("  ", "  ", d.Headline)
	for _, f := range d.Findings {
		p.raw("")
		p.paragraph("  "+string(f.Level)+": ", "    ", f.Text)
		if do := next(f); do != "" {
			p.paragraph("    → ", "      ", do)
		}
	}
	writeCheck(p, d)
	writeSeveral(p, d)
	writeNoise(p, d)
	writeParameters(p, d)
	writeSlices(p, d)
	writeExperts(p, d.Experts)
	return p.err
}

// diagnosisNames is the width of the names of a diagnosis' rows.
const diagnosisNames = 12

// writeCheck writes how left-out compositions were predicted.
//
// With several quantities the checked one is named: it is the objective, or the first objective of
// a trade-off.
func writeCheck(p *page, d diagnose.Diagnosis) {
	check := d.LeaveOneOut
	if check == nil {
		return
	}
	how := "hyperparameters fitted without it"
	if !check.Refitted {
		how = "at the campaign's hyperparameters"
	}
	n := len(check.Rows)
	of := ""
	if len(d.Quantities) > 0 {
		of = d.Objective + ": "
	}
	each := format.Count(n, "composition")
	if check.SampleOf > 0 {
		each += fmt.Sprintf(", drawn of %d,", check.SampleOf)
	}
	p.heading(fmt.Sprintf("%sEach of %s predicted from all others (%s)", of, each, how))
	var rows []Row
	if check.R2 != nil {
		rows = append(rows, rowf("R²", "%s (1 is perfect, 0 no better than the mean)",
			judged(*check.R2)))
	}
	if check.RankCorrelation != nil {
		rows = append(rows, rowf("order", "rank correlation %s of predicted and measured",
			judged(*check.RankCorrelation)))
	}
	for _, c := range check.Coverage {
		rows = append(rows, rowf(format.Percent(c.Nominal)+" holds", "%d of %d (%d to %d expected)",
			c.Within, n, c.Low, c.High))
	}
	rows = append(rows, rowf("errors", "%s times as large as the model says (root mean square)",
		judged(check.ZSD)))
	p.rows(diagnosisNames, rows)
}

// writeNoise writes the noise that the model assumes, and that of repetitions
// to compare it with.
func writeNoise(p *page, d diagnose.Diagnosis) {
	n := d.Noise
	if n == nil {
		return
	}
	p.heading("Noise")
	rows := []Row{
		rowf("model", "%s sd of one measurement, %s", judgedIn(n.SD, d.Unit), n.Source),
		rowf("spread", "%s sd of all measurements", judgedIn(n.Spread, d.Unit)),
	}
	if r := n.Replicates; r != nil {
		rows = append(rows, rowf("repetitions", "%s sd (95 %%: %s to %s), from %s",
			judgedIn(r.SD, d.Unit), judged(r.Lower), judged(r.Upper), format.Count(r.Freedom, "repetition")))
	} else {
		rows = append(rows, Row{"repetitions", "none: no composition has two measurements that count"})
	}
	p.rows(diagnosisNames, rows)
}

func writeParameters(p *page, d diagnose.Diagnosis) {
	if len(d.Parameters) == 0 {
		return
	}
	p.heading("Parameters")
	rows := [][]string{{"  ", "lengthscale", "effect through " + d.Best}}
	for _, par := range d.Parameters {
		length, effect := "between categories", ""
		if par.Reading == diagnose.ReadingFidelity {
			length = ""
		}
		if par.Lengthscale != nil {
			length = fmt.Sprintf("%s (%s of its range)",
				judgedIn(*par.Lengthscale, par.Unit), format.Percent(par.Share))
		}
		if par.Effect != nil {
			effect = judged(*par.Effect) + " ± " + judgedIn(*par.EffectSD, d.Unit)
		}
		rows = append(rows, []string{"  " + par.Name, length, effect, par.Reading})
	}
	p.table(rows)
}

// writeSlices draws the mean along each parameter, all on one scale. One scale
// for all shows at a glance which parameter matters; categories have no order,
// so that they are listed and not drawn.
func writeSlices(p *page, d diagnose.Diagnosis) {
	if len(d.Slices) == 0 {
		return
	}
	low, high := d.Slices[0].Mean[0], d.Slices[0].Mean[0]
	names, starts := 0, 0 // how wide the names are, and the values that slices begin with
	for _, s := range d.Slices {
		for _, m := range s.Mean {
			low, high = min(low, m), max(high, m)
		}
		names = max(names, utf8.RuneCountInString(s.Parameter))
		if s.Categories == nil {
			starts = max(starts, len(judged(s.X[0])))
		}
	}
	p.raw("")
	p.line("Slices through %s: %s from %s (▁) to %s (█)", d.Best, d.Objective, judged(low),
		judgedIn(high, d.Unit))
	for _, s := range d.Slices {
		if s.Categories != nil {
			p.line("  %-*s  %s", names, s.Parameter, categoriesText(s))
			continue
		}
		start := judged(s.X[0])
		end := judgedIn(s.X[len(s.X)-1], s.Unit)
		drawn := profile(s.Mean, low, high)
		p.line("  %-*s  %*s %s %s, ± %s", names, s.Parameter, starts, start, drawn, end, spread(s.SD))
	}
}

func categoriesText(s diagnose.Slice) string {
	cells := make([]string, len(s.X))
	for k, c := range s.Categories {
		cells[k] = fmt.Sprintf("%s %s ± %s", c, judged(s.Mean[k]), judged(s.SD[k]))
	}
	return strings.Join(cells, ", ")
}

// profile draws every second value between low and high. All of one height where
// nothing varies.
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

// spread writes the smallest and the largest of several standard deviations.
func spread(sd []float64) string {
	low, high := sd[0], sd[0]
	for _, s := range sd {
		low, high = min(low, s), max(high, s)
	}
	return judged(low) + " to " + judged(high)
}

// writeExperts writes how the experts' answers have held.
func writeExperts(p *page, experts []diagnose.Expert) {
	if len(experts) == 0 {
		return
	}
	p.heading("Experts, against what was measured")
	for _, x := range experts {
		p.paragraph("  ", "    ", fmt.Sprintf("%s: %s.", x.Name, agreementText(x)))
		m := x.Measured
		if m.Accepted > 0 {
			p.line("    %d of %s measured came out better than the median",
				m.AcceptedGood, format.Count(m.Accepted, "accepted composition"))
		}
		if m.Rejected > 0 {
			p.line("    %d of %s measured did not come out better than the median",
				m.RejectedBad, format.Count(m.Rejected, "rejected composition"))
		}
	}
}

// agreementText says how an expert's answers have held.
func agreementText(x diagnose.Expert) string {
	text := x.Reading
	if x.Accepted+x.Rejected > 0 {
		text += fmt.Sprintf("; %d accepted and %d rejected", x.Accepted, x.Rejected)
	}
	if x.Labels != nil {
		text += ", the accepted one is the better in " + pairsText(x.Labels)
	}
	if x.Choices != nil {
		text += "; the option they prefer is the better in " + pairsText(x.Choices)
	}
	if x.Estimates != nil {
		text += "; the one they expect more of is the better in " + pairsText(x.Estimates)
	}
	for _, q := range x.Quantities {
		text += fmt.Sprintf("; the one they expect more %s of has more in %s", q.Quantity, pairsText(q.Agreement))
	}
	return text
}

// pairsText writes a share of pairs with its interval.
func pairsText(a *diagnose.Agreement) string {
	return fmt.Sprintf("%s of %d pairs (95 %%: %s to %s, guessing gives 50 %%)",
		format.Percent(a.Share), a.Pairs, format.Percent(a.Lower), format.Percent(a.Upper))
}

// judged writes a number in three significant digits: enough for a judgment,
// and for a standard deviation.
func judged(x float64) string { return format.Rounded(x, 3) }

// judgedIn is judged with a unit.
func judgedIn(x float64, unit string) string { return format.WithUnit(judged(x), unit) }

// lineWidth is where paragraphs are broken.
const lineWidth = 100

// paragraph writes a text over as many lines as it needs: the first after lead,
// the others after indent. Text between backquotes stays on one line, so that
// it can be copied.
func (p *page) paragraph(lead, indent, text string) {
	line := lead
	for i, word := range unbroken(text) {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > lineWidth:
			p.line("%s", line)
			line = indent + word
		default:
			line += " " + word
		}
	}
	p.line("%s", line)
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
