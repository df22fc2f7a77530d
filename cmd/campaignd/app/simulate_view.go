package app

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/study/simulate"
)

// studyProgress shows how a study goes on: in a terminal as a line that is
// drawn anew, elsewhere as a line now and then. Workers call finished from
// several goroutines. The mutex guards done and printed, and keeps the two
// goroutines' output apart.
type studyProgress struct {
	out      io.Writer
	terminal bool
	study    *simulate.Study
	total    int // to be run by this command
	before   int // had been run before
	began    time.Time

	mu      sync.Mutex
	done    int
	printed time.Time      // when the last line was printed
	ended   chan struct{}  // closed by close: draw ends
	drawn   sync.WaitGroup // waits for draw
}

// printEvery is how often a line is printed at first without a terminal. The pause grows to a tenth
// of the time elapsed, so that the log of a study of days stays readable.
const printEvery = 10 * time.Second

// newProgress prints the plan of the study and begins to show the progress. It is closed with
// close.
func (s *simulation) newProgress(study *simulate.Study, missing int) *studyProgress {
	p := &studyProgress{
		out: s.stderr, terminal: isTerminal(s.stderr), study: study, total: missing,
		before: len(study.Units) - missing,
		began:  time.Now(), printed: time.Now(), ended: make(chan struct{}),
	}
	if p.terminal {
		// The escape sequences of the line would be taken out by the writer
		// that makes texts safe; drawn does that for the line's texts.
		p.out = beneath(s.stderr).(io.Writer)
	}
	if missing == 0 {
		return p
	}
	of := ""
	if s.shard != "" {
		of = "shard " + s.shard + " of "
	}
	s.remark("%s: %s (%s%s × %s × %s), %d to run with %s", study.File.Name,
		format.Count(len(study.Units), "campaign"), of, format.Count(len(study.Tasks), "task"),
		format.Count(len(study.Arms), "arm"), format.Count(study.File.Seeds.Count, "seed"), missing,
		format.Count(s.workers, "worker"))
	if p.terminal {
		p.drawn.Go(p.draw)
	}
	return p
}

// draw draws the line until the progress is closed, and then removes it. Five
// times a second is smooth enough for a line that is read now and then.
func (p *studyProgress) draw() {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		p.mu.Lock()
		fmt.Fprintf(p.out, "\r\x1b[K%s", ansi.Truncate(drawn(p.line(true)), terminalWidth(p.out)-1, "…"))
		p.mu.Unlock()
		select {
		case <-tick.C:
		case <-p.ended:
			p.mu.Lock()
			fmt.Fprintf(p.out, "\r\x1b[K")
			p.mu.Unlock()
			return
		}
	}
}

// terminalWidth is how many characters a line of a terminal holds; 80 where it
// does not say so. One of 20 or fewer is taken for a wrong answer.
func terminalWidth(out io.Writer) int {
	if f, ok := out.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 20 {
			return width
		}
	}
	return 80
}

// finished counts a campaign. It implements simulate.Run's Finished.
func (p *studyProgress) finished(simulate.Unit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	pause := max(printEvery, time.Since(p.began)/10)
	if !p.terminal && (p.done == p.total || time.Since(p.printed) >= pause) {
		p.printed = time.Now()
		fmt.Fprintln(p.out, p.line(false))
	}
}

// line is how far the study has come, with a bar for a terminal. The rate and
// the time left count this command's campaigns alone. It is called with p.mu
// held. Workers finish in no order, so that the rate is an average since the
// beginning and not of the last moments.
func (p *studyProgress) line(bar bool) string {
	elapsed := time.Since(p.began)
	text := fmt.Sprintf("%d of %s", p.before+p.done, format.Count(p.before+p.total, "campaign"))
	if bar {
		const width = 30
		full := width * (p.before + p.done) / max(1, p.before+p.total)
		text = "  " + green(strings.Repeat("━", full)) + faint(strings.Repeat("─", width-full)) + "  " + text
	}
	if p.done > 0 {
		perSecond := float64(p.done) / elapsed.Seconds()
		left := time.Duration(float64(p.total-p.done) / perSecond * float64(time.Second))
		rate := fmt.Sprintf("%.1f a second", perSecond)
		if perSecond < 1 {
			rate = fmt.Sprintf("%.1f a minute", 60*perSecond)
		}
		text += fmt.Sprintf(" · %s", rate)
		if p.done < p.total {
			text += fmt.Sprintf(" · about %s left", left.Round(time.Second))
		}
	}
	return text
}

// close ends the display and waits until the line is removed. What is printed
// next then begins on a clean line.
func (p *studyProgress) close() {
	close(p.ended)
	p.drawn.Wait()
}

// table prints the comparison, a table for each task: final simple regret, or the missing
// hypervolume of a trade-off, its paired difference to the task's baseline, the mean rank, the
// number of experiments until the regret came near the best, questions asked, and median seconds a
// suggestion. Every arm of a task is compared over the same seeds, those with a result of every
// arm.
//
// A mean and a difference are shown with the number of seeds they rest on; a dash is a number that
// does not exist, as where no campaign came near the best.
func (s *simulation) table(study *simulate.Study, summary simulate.Summary) {
	for _, t := range summary.Tasks {
		if len(t.Seeds) == 0 {
			s.printf("\n%s: no seed has a result of every arm\n", t.Task.Name)
			continue
		}
		unit, words := "", t.Task.Truth.Words()
		if in := t.Task.Truth.Sought.Unit; in != "" {
			unit = ", in " + in
		}
		if front := t.Task.Truth.Front; front != nil {
			unit += " of the greatest beyond " + front.Beyond()
		}
		s.printf("\n%s: %s after %s over %s%s\n\n",
			t.Task.Name, words.Regret, format.Count(t.Experiments, t.Steps), format.Count(len(t.Seeds), "seed"), unit)
		w := tabwriter.NewWriter(s.stdout, 0, 0, 3, ' ', 0)
		store := t.Task.Kind == simulate.Store
		tabulate(w, "  arm\t%s\tdifference to %s [95 %%]\trank\tnear after\tasked\ts/suggestion",
			words.Column, t.Arms[t.Baseline].Arm.Name)
		if store {
			fmt.Fprint(w, "\tfrom log\tfrom surrogate")
		}
		fmt.Fprintln(w)
		for _, a := range t.Arms {
			near := "—"
			if !math.IsNaN(a.Until) {
				near = fmt.Sprintf("%.0f", a.Until)
			}
			tabulate(w, "  %s\t%s\t%s\t%.2f\t%s\t%.1f\t%s", a.Arm.Name, plusMinus(a.Regret),
				intervalText(a.Difference), a.Rank, near, a.Asked,
				secondsText(simulate.Quantile(0.5, a.Seconds)))
			if store {
				tabulate(w, "\t%.0f %%\t%.0f %%", 100*a.FromLog, 100*a.FromSurrogate)
			}
			fmt.Fprintln(w)
		}
		w.Flush()
	}
	// Where tasks have baselines or arms of their own, one table for all is the
	// only comparison across them.
	own := func(t simulate.TaskSummary) bool { return t.Baseline != study.File.Baseline }
	if slices.ContainsFunc(summary.Tasks, own) || len(summary.Ratios.Arms) > len(study.Arms) {
		s.ratios(summary)
	}
}

// ratios prints how the arms compare over all tasks: ratios of regret to each
// task's baseline, as percentages. Bonferroni's correction for all cells keeps
// the marks from showing up by chance.
func (s *simulation) ratios(summary simulate.Summary) {
	words := summary.Words()
	s.printf("\n%s along the campaigns, change in %% to each task's baseline [95 %%]; "+
		"! worse and * better in a cell by Bonferroni over %d\n\n",
		strings.ToUpper(words.Short[:1])+words.Short[1:], summary.Ratios.Cells)
	w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	tabulate(w, "  arm\tall tasks\tfinal %s", words.Short)
	for _, t := range summary.Tasks {
		tabulate(w, "\t%s", t.Task.Name)
	}
	fmt.Fprintln(w, "\texperiments")
	for _, a := range summary.Ratios.Arms {
		tabulate(w, "  %s\t%s\t%s", a.Arm, ratioText(a.Along), ratioText(a.Final))
		saved := []string{}
		for _, c := range a.Tasks {
			mark := ""
			switch {
			case c.Strict.Lower > 1:
				mark = "!"
			case c.Strict.Upper < 1:
				mark = "*"
			}
			tabulate(w, "\t%s%s", ratioText(c.Along), mark)
			text := "—"
			if !math.IsNaN(c.Until) {
				text = fmt.Sprintf("%.0f", c.Until)
			}
			if c.Baseline {
				text = "(" + text + ")"
			}
			saved = append(saved, text)
		}
		if a.Reached > 0 {
			saved = append(saved, ratioText(simulate.Ratio{Mean: a.Experiments, Upper: math.Inf(1)})+" %")
		}
		tabulate(w, "\t%s", strings.Join(saved, " "))
		fmt.Fprintln(w)
	}
	w.Flush()
	s.printf(
		"\nThe last column is how many experiments it took, on each task, to the median final %s of the baseline, "+
			"in brackets those "+
			"of the baseline itself; then the change over the tasks where half of the campaigns came there.\n",
		words.Short,
	)
}

// ratioText is a ratio as a change in percent, with its interval if it has one. An infinite bound
// stands for "no interval".
func ratioText(r simulate.Ratio) string {
	percent := func(x float64) string { return fmt.Sprintf("%+.0f", 100*(x-1)) }
	switch {
	case math.IsNaN(r.Mean):
		return "—"
	case math.IsInf(r.Upper, 0):
		return percent(r.Mean)
	}
	return fmt.Sprintf("%s [%s, %s]", percent(r.Mean), percent(r.Lower), percent(r.Upper))
}

// plusMinus is a mean with its standard error, alone for a single value. One value has no standard
// error.
func plusMinus(m simulate.Mean) string {
	if m.N < 2 {
		return format.Rounded(m.Mean, 4)
	}
	return format.PlusMinus(m.Mean, m.SE, "")
}

// intervalText is a difference with its interval, alone for a single seed.
func intervalText(d *simulate.Interval) string {
	switch {
	case d == nil:
		return "—"
	case math.IsInf(d.Lower, 0):
		return fmt.Sprintf("%+.3g", d.Mean)
	}
	return fmt.Sprintf("%+.3g [%+.3g, %+.3g]", d.Mean, d.Lower, d.Upper)
}

// secondsText is a time in seconds. A dash stands for an arm without a time.
func secondsText(s float64) string {
	if math.IsNaN(s) {
		return "—"
	}
	return fmt.Sprintf("%.2g", s)
}

// answer is the comparison as data, with the command's work. JSON has no infinity and no NaN: such
// numbers are left out. Tasks without a common seed are left out, as they are in the table.
func (s *simulation) answer(study *simulate.Study, summary simulate.Summary, done studied) studied {
	finite := func(x float64) *float64 {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil
		}
		return &x
	}
	out := done
	out.Study = study.File.Name
	out.Folder = s.out
	out.Campaigns = len(study.Units)
	out.Report = filepath.Join(s.out, "report.html")
	for _, t := range summary.Tasks {
		if len(t.Seeds) == 0 {
			continue
		}
		for _, a := range t.Arms {
			row := studiedArm{
				Task: t.Task.Name, Arm: a.Arm.Name, Seeds: len(t.Seeds), Regret: a.Regret.Mean,
				SE: finite(a.Regret.SE), Asked: a.Asked, Rank: a.Rank,
			}
			if t.Task.Truth.Front != nil {
				covered := 100 - a.Regret.Mean
				row.Hypervolume = &covered
			}
			if d := a.Difference; d != nil {
				row.Difference = &studiedInterval{d.Mean, finite(d.Lower), finite(d.Upper)}
			}
			if t.Task.Kind == simulate.Store {
				row.Store = &studiedProvenance{a.FromLog, a.FromSurrogate}
			}
			out.Arms = append(out.Arms, row)
		}
	}
	// One rank that cannot be computed means that none can.
	for j, rank := range summary.Ranks {
		if math.IsNaN(rank) {
			break
		}
		out.Ranks = append(out.Ranks, studiedRank{study.Arms[j].Name, rank})
	}
	return out
}
