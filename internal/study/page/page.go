// Package page writes the comparison of a study as one self-contained HTML
// file: no script, no network, figures as inline SVG.
//
// figures.go draws curves and intervals, tables.go writes the tables, page.go
// arranges them for page.html.
//
// [Write] is the only entrance. Everything is computed in Go and handed to the
// template as finished texts and figures (pageData); statistics come from
// package simulate and are only written here.
package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
	"github.com/campaignd/campaignd/internal/study/simulate"
	"github.com/campaignd/campaignd/internal/study/studyfile"
)

// Input is the content of the page.
type Input struct {
	Study   *simulate.Study
	Summary simulate.Summary
	// Command is the command that runs the study again; Date is when the page was written.
	Command string
	Date    time.Time
}

//go:generate go run -C ../../tools/pages . ../../study/page page.html

//go:embed page.css
var style string

// Write writes the page. On an error nothing has been written to w, unless it
// is w's own. The page uses no clock and no randomness: equal inputs give equal
// pages. The page is made whole in memory first, so that a fault in it leaves no
// half page behind.
func Write(w io.Writer, in Input) error {
	w = plaintext.NewWriter(w, true)
	text, err := drawPage(in.page()).Bytes()
	if err != nil {
		return fmt.Errorf("the study's page: %w", err)
	}
	_, err = w.Write(text)
	return err
}

// pageData is the data of page.html. All texts are finished; the template decides only which parts
// to omit.
type pageData struct {
	Style             template.CSS
	Name, Description string
	Facts             [][2]string
	Command           string
	Baseline          string
	Ratios            []ratioRow
	Cells             int // of the ratios
	Warnings          []string

	Arms     []legendEntry
	TaskName []string // heads of the overview's columns
	Overview []overviewRow
	// RankFigure is nil if there is nothing to rank.
	RankFigure *panel

	// Words are those of all tasks together; Fronts is set if some task is a trade-off, and Mixed
	// if others are not.
	Words         simulate.Words
	Fronts, Mixed bool

	Tasks  []taskData
	Times  []timesRow
	Source string
}

// legendEntry is an arm's mark with its name.
type legendEntry struct {
	Symbol template.HTML
	Text   string
}

// taskData is a section of the page. Provenance and Doubt are for tasks that a store's surrogate
// answers.
type taskData struct {
	ID, Name, About string
	Facts           string
	Regret          panel
	Figures         []panel
	Rows            []armRow
	Words           simulate.Words
	Store, Anchored bool
	Front           bool // a trade-off, which has no recommendation
	Provenance      string
	Doubt           string
	Unit, Steps     string
	Baseline        string
}

// panel is a chart as the page shows it.
type panel struct {
	Title   string
	SVG     template.HTML
	Caption string
}

// page gathers everything in the order of the template. Facts that a reader must know before the
// results are warnings.
//
// The symbols of the legend come before the tables, which take them over by an arm's place in the
// study.
func (in Input) page() pageData {
	s, file := in.Study, in.Study.File
	d := pageData{
		Style:       template.CSS(style),
		Name:        file.Name,
		Description: file.Description,
		Command:     in.Command,
		Baseline:    in.baseline(),
		Source:      file.Source,
	}
	campaigns := 0
	for _, t := range in.Summary.Tasks {
		for _, a := range t.Arms {
			campaigns += len(a.Results)
		}
		if t.Missing > 0 {
			d.Warnings = append(d.Warnings, fmt.Sprintf(
				"%s: %d of %d seeds lack the campaign of some arm, which failed. The arms are compared over the other %d.",
				t.Task.Name, t.Missing, t.Missing+len(t.Seeds), len(t.Seeds)))
		}
	}
	// Several builds are allowed: results are kept from run to run, and the program may have
	// changed in between. The reader must learn of it.
	var builds []string
	for _, b := range in.Summary.Builds {
		builds = append(builds, b.Version+" "+b.Go+" "+b.Arch)
	}
	if len(builds) > 1 {
		d.Warnings = append(d.Warnings,
			"The campaigns were run by several builds, whose last bits may differ: "+
				strings.Join(builds, "; ")+".")
	}
	// Student's t is right for few seeds of normal differences; with so few it
	// cannot be seen whether they are normal.
	if file.Seeds.Count < 10 {
		d.Warnings = append(d.Warnings,
			fmt.Sprintf("%s only: intervals are wide, and standard errors themselves uncertain.",
				format.Count(file.Seeds.Count, "seed")))
	}
	d.Facts = [][2]string{
		{"campaigns", fmt.Sprint(campaigns)},
		{"arms", fmt.Sprint(len(s.Arms))},
		{"tasks", fmt.Sprint(len(s.Tasks))},
		{"seeds", seedsText(file.Seeds)},
		{"compared with", d.Baseline},
		{"run by", strings.Join(builds, "; ")},
		{"written", in.Date.UTC().Format("2006-01-02 15:04") + " UTC"},
	}
	for j := range s.Arms {
		look := lookOf(j, file.Baseline)
		d.Arms = append(d.Arms, legendEntry{look.swatch(), s.Arms[j].Name})
	}
	d.overview(in.Summary, file.Baseline)
	d.ratios(in.Summary)
	if f, ok := rankFigure(in.Summary, file.Baseline); ok {
		d.RankFigure = &f
	}
	// The number of a section is that of the task in the study, also where a
	// task before it is left out.
	for i, t := range in.Summary.Tasks {
		if len(t.Seeds) > 0 {
			d.Tasks = append(d.Tasks, in.task(i, t))
		}
	}
	d.times(in.Summary)
	return d
}

// task gathers the section of a task with at least one seed to compare. Empty figures are left out,
// and the others move up.
func (in Input) task(i int, t simulate.TaskSummary) taskData {
	d := taskData{
		ID:    fmt.Sprint("task", i+1),
		Name:  t.Task.Name,
		About: t.Task.About,
		Store: t.Task.Kind == simulate.Store,
		Facts: fmt.Sprintf("%s a campaign, %s.",
			format.Count(t.Experiments, t.Steps), format.Count(len(t.Seeds), "seed")),
		Unit:  t.Task.Truth.Sought.Unit,
		Steps: t.Steps + "s",
		Words: t.Task.Truth.Words(),
		Front: t.Task.Truth.Front != nil,

		Baseline: t.Arms[t.Baseline].Arm.Name,
	}
	v := view{task: t, baseline: in.Study.File.Baseline, initial: in.initial(i)}
	d.Regret = v.regret()
	d.Figures = append(d.Figures, v.differences(), v.cumulative())
	for _, f := range []func() (panel, bool){v.asked, v.helps, v.weight} {
		if p, ok := f(); ok {
			d.Figures = append(d.Figures, p)
		}
	}
	d.Figures = append(d.Figures, v.risk()...)
	d.Rows = v.rows()
	d.Anchored = t.Anchored
	d.Doubt = t.Task.Doubt
	if d.Store {
		d.Provenance = provenance(t)
	}
	return d
}

// baseline returns the arm that the others are compared with. A task may name a baseline of its
// own. The head of the page then names none, rather than a wrong one for some of the tables.
func (in Input) baseline() string {
	for _, t := range in.Summary.Tasks {
		if t.Baseline != in.Study.File.Baseline {
			return "each task's baseline"
		}
	}
	return in.Study.Arms[in.Study.File.Baseline].Name
}

// initial is the size of the initial design, the same for every arm or 0. It is
// shaded in the figures only where it is the same for all.
func (in Input) initial(task int) int {
	// A size of -1 stands for none seen so far.
	size := -1
	for _, u := range in.Study.Units {
		if u.Task != task {
			continue
		}
		n, _ := simulate.Extent(u.Definition)
		if size >= 0 && n != size {
			return 0
		}
		size = n
	}
	return max(size, 0)
}

// seedsText is the range of the seeds, from which the study can be run again.
func seedsText(s studyfile.Seeds) string {
	if s.Count == 1 {
		return fmt.Sprint(s.First)
	}
	return fmt.Sprintf("%d to %d (%d)", s.First, s.First+uint64(s.Count)-1, s.Count)
}
