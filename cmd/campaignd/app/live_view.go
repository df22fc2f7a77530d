package app

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/policies/seek"
)

// Styles. Bubble Tea leaves colors out where the terminal has none, or NO_COLOR
// is set. Until a line is drawn they are noncharacters of Unicode, which no
// text holds; drawn makes the whole line safe to print and only then replaces
// them by the terminal's sequences. So a name or a note cannot bring a sequence
// of its own.
func bold(s string) string   { return "\ufdd0" + s + "\ufdd2" }
func faint(s string) string  { return "\ufdd1" + s + "\ufdd2" }
func green(s string) string  { return "\ufdd3" + s + "\ufdd6" }
func yellow(s string) string { return "\ufdd4" + s + "\ufdd6" }
func cyan(s string) string   { return "\ufdd5" + s + "\ufdd6" }

// sequences are the terminal's sequences for the marks: bold, faint, and the
// end of both; green, yellow, cyan, and the end of a color.
var sequences = strings.NewReplacer("\ufdd0", "\x1b[1m", "\ufdd1", "\x1b[2m", "\ufdd2", "\x1b[22m",
	"\ufdd3", "\x1b[32m", "\ufdd4", "\x1b[33m", "\ufdd5", "\x1b[36m", "\ufdd6", "\x1b[39m")

// drawn is a line as the terminal gets it, with texts made safe and styles
// applied. The order matters: a sequence that was there before would be taken
// out.
func drawn(line string) string { return sequences.Replace(plaintext.Line(line)) }

// bestByModel writes the composition that is best by the model, as it was last worked out, or why
// it is still missing. It may be older than the last measurement: a fit takes a while, and the
// panel does not wait for it.
func bestByModel(s view.Campaign) string {
	if best := s.BestByModel; best != nil {
		return fmt.Sprintf("%s  in %s", bold(view.ByModel(best)), best.Experiment)
	}
	return s.NoModel
}

// View implements tea.Model: the state of the campaign, and below it the form that is open, if any.
// Each line is cut at the width: one that the terminal broke would shift all below it.
//
// It reads only fields that Update has set, and no clock, so that a test can draw any moment.
func (p *panel) View() tea.View {
	if p.closing || !p.known {
		return tea.NewView("")
	}
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	row := func(what, format string, args ...any) {
		add("  %s %s", faint(fmt.Sprintf("%-12s", what)), fmt.Sprintf(format, args...))
	}

	s := p.progress
	def := s.Definition
	add("")
	add("  %s  %s", bold(s.Campaign), faint(view.Seeks(def)))
	add("  %s  %d of %s%s", p.bar(), s.Done, s.BudgetText(), faint(p.left()))
	if c := s.Cost; c != nil && c.Budget > 0 {
		row("cost", "%s of %s", format.Short(c.Spent), format.SettingIn(c.Budget, c.Unit))
	}
	name, values := "measured", []float64(nil)
	for _, v := range s.Values {
		values = append(values, v.Value)
	}
	if def.Tradeoff() != nil {
		name, values = "covered", covered(s.Tradeoff)
	}
	if line := sparkline(values, max(p.width-16, 10)); line != "" {
		row(name, "%s", cyan(line))
	}
	p.foundRows(row)
	p.answerRows(row)
	for _, x := range s.UnderWay {
		if sign := view.SignText(x.Command.Sign); sign != "" {
			row(x.ID, "%s", sign)
		}
	}
	for i := range s.Batches {
		row("batch", "%s", view.BatchText(&s.Batches[i]))
	}
	for i := range s.Stocks {
		if stock := &s.Stocks[i]; stock.ComesToAnEnd() {
			row("stock", "%s", yellow(view.StockText(stock)))
		}
	}
	row("elapsed", "%s%s", p.elapsed(), p.timeBudget())
	switch {
	case p.leaving:
		row("leaving", "%s", yellow("nothing new is started"))
	case len(s.Unresolved) > 0:
		resolve := commandFor(problem.Remedy{Action: problem.Resolve, Subject: s.Unresolved[0]})
		row("NEEDS YOU", "%s", yellow(fmt.Sprintf("it is not known what became of %s: in another terminal, %s",
			strings.Join(s.Unresolved, ", "), resolve)))
	case s.Starved() && s.WaitingFor != "":
		row("NEEDS YOU", "%s", yellow(view.Task(s.WaitingFor)))
	case s.WaitingFor != "":
		row("waiting for", "%s", s.WaitingFor)
	case s.Computing.What != "":
		row("working", "%s", view.Computing(s.Computing.What, s.Computing.Since, p.now))
	default:
		row("working", "fitting and deciding")
	}
	if s.Failure != "" {
		row("failed fit", "%s", yellow(s.Failure))
	}
	if !p.leaving {
		add("")
		add("  %s", faint("Ctrl-C leaves; the same command goes on later"))
	}
	if len(p.forms) > 0 {
		lines = p.asking(lines)
	}
	for i, line := range lines {
		lines[i] = ansi.Truncate(drawn(line), p.width, "…")
	}
	return tea.NewView(strings.Join(lines, "\n"))
}

func (p *panel) foundRows(row func(what, format string, args ...any)) {
	s, def := p.progress, p.progress.Definition
	if def.Tradeoff() != nil && len(s.Values) > 0 {
		for _, r := range s.FrontInShort() {
			row(r.Name, "%s", r.Text)
		}
	}
	if def.Preferred() != nil && len(s.Values) > 0 {
		for _, r := range s.Found() {
			row(r.Name, "%s", r.Text)
		}
	}
	if measured := s.BestMeasured; measured != nil {
		row("best", "by the model: %s", bestByModel(s))
		row("", "measured: %s  in %s", bold(view.Measured(measured)), measured.Experiment)
		_, leading := s.Leading()
		row("", "%s", format.CompositionsOf(def).LineWithUnits(leading))
		for _, line := range view.OutsideSays(def, s.Outside) {
			row("", "%s", line)
		}
	}
	for _, best := range s.Preferred {
		name := format.Shorten(best.Expert, 12)
		row(name, "prefers %s", bold(format.CompositionsOf(def).LineWithUnits(best.Parameters)))
	}
}

// answerRows adds rows on the experts' answers, in the forms that the policy asks for, and on how
// far they are trusted. A campaign that measures nothing shows it elsewhere: there answers take the
// place of experiments.
func (p *panel) answerRows(row func(what, format string, args ...any)) {
	s, def := p.progress, p.progress.Definition
	if len(def.Experts) == 0 || !def.Measures() {
		return
	}
	if s.Labels > 0 || view.AsksForLabels(def) {
		row("labels", "%d given, %s asked", s.Labels, format.Count(s.Asked, "question"))
	}
	if s.Comparisons > 0 {
		row("comparisons", "%d given, %s asked", s.Comparisons, format.Count(s.Asked, "question"))
	}
	if s.Named > 0 {
		row("named", "%s by experts", format.Count(s.Named, "composition"))
	}
	if s.Estimated > 0 {
		row("estimates", "of %s", format.Count(s.Estimated, "composition"))
	}
	if r := s.Review; r != nil {
		row("last choice", "%s was right with probability %.2f (%s)", r.Expert, r.Probability, r.Question)
	}
	for _, line := range s.TrustLines() {
		row("trust", "%s", line)
	}
}

// bar draws how much of the budget is done (green) and under way (yellow): of that of
// experiments, of cost or of time, whichever is nearer to its end.
func (p *panel) bar() string {
	width := min(max(p.width-34, 8), 40)
	spent := p.progress.Spent()
	if limit := time.Duration(p.progress.Definition.Budget.Time); limit > 0 {
		spent = max(spent, min(float64(p.now.Sub(p.progress.Began))/float64(limit), 1))
	}
	done, open := int(float64(width)*spent+1e-9), 0
	// Rounded up, so that an experiment under way shows in a long bar, too.
	if b := p.progress.Budget; b > 0 {
		open = min((width*p.progress.Open+b-1)/b, width-done)
	}
	left := width - done - open
	return green(strings.Repeat("━", done)) + yellow(strings.Repeat("━", open)) +
		faint(strings.Repeat("─", left))
}

// left says how many experiments are left and about how long they take, at the mean pace of this
// run. Below three experiments a pace says nothing. The time that an interrupted campaign lay still
// does not count towards the pace.
func (p *panel) left() string {
	s := p.progress
	left := s.Budget - s.Done
	if left <= 0 {
		return ""
	}
	text := fmt.Sprintf(", %d left", left)
	if n := s.Done - p.doneBefore; n >= 3 {
		each := p.now.Sub(p.began) / time.Duration(n)
		text += ", about " + format.Duration((each * time.Duration(left)).Truncate(time.Second))
	}
	return text
}

// elapsed is the time since the campaign began, in whole seconds. Pauses and the time between runs
// count, as they do in the budget of time.
func (p *panel) elapsed() string {
	return format.Duration(p.now.Sub(p.progress.Began).Truncate(time.Second))
}

// timeBudget is the limit on that time, empty without a limit. It stands behind the time that has
// passed.
func (p *panel) timeBudget() string {
	limit := time.Duration(p.progress.Definition.Budget.Time)
	if limit == 0 {
		return ""
	}
	return " of " + format.Duration(limit)
}

// covered are the hypervolumes after each experiment, as they were last worked out.
func covered(f *seek.Front) (volumes []float64) {
	if f != nil {
		for _, c := range f.Curve {
			volumes = append(volumes, c.Hypervolume)
		}
	}
	return volumes
}

// sparkline draws the newest values, at most width of them, as a row of bars
// between the least and the greatest of all values. Fewer than two values give
// an empty text. The scale is that of all values, so that the picture does not
// jump when an old value leaves it.
func sparkline(values []float64, width int) string {
	if len(values) < 2 {
		return ""
	}
	low, high := values[0], values[0]
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	bars := []rune("▁▂▃▄▅▆▇█")
	var line strings.Builder
	for _, v := range values[max(0, len(values)-width):] {
		i := 0
		if high > low {
			i = int(float64(len(bars)-1)*(v-low)/(high-low) + 0.5)
		}
		line.WriteRune(bars[i])
	}
	return line.String()
}
