package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Surface is where the table of experiments is read.
type Surface uint8

// Surfaces of the table. In files are a CSV file, the rows of the API and the frames of Python.
const (
	InFiles Surface = 1 << iota
	OnPage
	InReport
	Everywhere = InFiles | OnPage | InReport
)

// Column is a column of the table of experiments. A new one that every campaign has is a row of
// [closing], and nothing else.
type Column struct {
	// Name is its name in files. Scripts of labs read these: none changes, and a new column stands
	// behind the others of its kind.
	Name string
	// Title heads it for people where that is another word.
	Title, Unit string
	On          Surface
	// Parameter and Sought are set for those of parameters, and of the objective.
	Parameter, Sought bool
	// Down is set where pages that are sorted by it begin with the greatest.
	Down bool
	// Class is the class of its cells in style sheets; "n", a number, by default.
	Class string
	// Data is its content: a number (an int where it is whole), a text, true or false, a
	// [time.Time] in UTC, or nil.
	Data func(t *Experiments, x *campaign.Experiment) any
	// Words is its content for people: by default Data, written.
	Words func(t *Experiments, x *campaign.Experiment) Cell
	// Place is by what a page is sorted, NaN for no value: by default Data, where that is a number.
	Place func(t *Experiments, x *campaign.Experiment) float64
}

// Cell is a finished cell: its text, and what stands below it in small letters.
type Cell struct{ Text, Below, Class string }

// Heading is the column's name for people, without its unit.
func (c *Column) Heading() string { return cmp.Or(c.Title, c.Name) }

// Experiments is the table of a campaign's experiments: each surface shows some of its columns.
type Experiments struct {
	State   *campaign.State
	Columns []Column // in the order of files

	log   *Timeline // nil in files, which hold nothing of decisions
	write format.Compositions
	value func(float64) string // of the objective
}

// ExperimentsIn returns the table for files.
func ExperimentsIn(s *campaign.State) *Experiments {
	return &Experiments{State: s, Columns: columnsOf(s, InFiles)}
}

// ExperimentsFor returns the table for people on a surface: with decisions from the timeline, with
// compositions and values of the objective written so.
func ExperimentsFor(
	s *campaign.State, on Surface, log *Timeline, write format.Compositions, value func(float64) string,
) *Experiments {
	return &Experiments{s, columnsOf(s, on), log, write, value}
}

// Cells are those of an experiment for people.
func (t *Experiments) Cells(x *campaign.Experiment) []Cell {
	cells := make([]Cell, len(t.Columns))
	for i, c := range t.Columns {
		if c.Words != nil {
			cells[i] = c.Words(t, x)
		} else {
			cells[i].Text = written(c.Data(t, x))
		}
		cells[i].Class = cmp.Or(cells[i].Class, c.Class, "n")
	}
	return cells
}

// written writes data for people.
func written(data any) string {
	switch d := data.(type) {
	case float64:
		return format.Short(d)
	case time.Time:
		return format.Time(d)
	case nil:
		return ""
	}
	return fmt.Sprint(data)
}

// Sorts reports whether a page can be sorted by the column.
func (c *Column) Sorts() bool { return c.Place != nil || c.Data != nil }

// At is an experiment's place in the order of the column; NaN for none.
func (t *Experiments) At(c *Column, x *campaign.Experiment) float64 {
	if c.Place != nil {
		return c.Place(t, x)
	}
	switch d := c.Data(t, x).(type) {
	case float64:
		return d
	case int:
		return float64(d)
	case time.Time:
		return float64(d.UnixNano())
	}
	return math.NaN()
}

// Names of columns, which an import reads again.
const (
	ColumnExperiment = "experiment"
	ColumnStatus     = "status"
	ColumnUnit       = "unit"
	ColumnSD         = "sd"
	ColumnExcluded   = "excluded"
	ColumnCause      = "cause"
	ColumnSimulated  = "simulated"
	// Of a campaign that declares its quantities: those without a value, with the reason, and those
	// whose value is left out of the models.
	ColumnMissing = "missing"
	ColumnLeftOut = "left_out"
	// A further quantity has three columns: its name behind these. A declared one has two such.
	FurtherPrefix     = "further_"
	FurtherUnitPrefix = "unit_"
	FurtherSDPrefix   = "sd_"
	// A quantity that follows from the parameters has a column: its name behind this.
	ComputedPrefix = "computed_"
	// What an experiment used up has a column for each stock: its name behind this.
	DrawnPrefix = "drawn_"
	// ActualEnding follows the name of a parameter, for the value that was made.
	ActualEnding = "_actual"
)

// data is the content of a column that needs the experiment alone.
func data(of func(x *campaign.Experiment) any) func(*Experiments, *campaign.Experiment) any {
	return func(_ *Experiments, x *campaign.Experiment) any { return of(x) }
}

// opening and closing are the columns that every campaign has, before and behind those of what it
// declares: about the experiment, not its measurement.
var (
	opening = []Column{
		{Name: ColumnExperiment, On: InFiles, Data: data(func(x *campaign.Experiment) any { return x.ID })},
		{Name: ColumnStatus, On: InFiles, Data: data(func(x *campaign.Experiment) any { return string(x.Status) })},
		{Name: "origin", On: InFiles, Data: data(func(x *campaign.Experiment) any { return string(x.Origin) })},
		{Name: "decision", On: InFiles, Data: data(func(x *campaign.Experiment) any { return x.Decision })},
		{Name: "replicate", On: InFiles, Data: data(func(x *campaign.Experiment) any { return x.Replicate })},
	}
	closing = []Column{
		{Name: ColumnExcluded, On: InFiles, Data: data(func(x *campaign.Experiment) any { return x.Excluded })},
		{Name: ColumnSimulated, On: InFiles, Data: data(func(x *campaign.Experiment) any { return x.Simulated })},
		{Name: "requested_at", On: InFiles, Data: data(func(x *campaign.Experiment) any { return TimeOf(x.RequestedAt) })},
		{Name: "ended_at", Title: "ended", Unit: "UTC", On: InFiles | InReport, Class: "time",
			Data: data(func(x *campaign.Experiment) any { return TimeOf(x.EndedAt) })},
		{Name: ColumnCause, On: InFiles, Data: data(func(x *campaign.Experiment) any { return x.Cause })},
	}
	// without are those of a campaign that declares its quantities.
	without = []Column{
		{Name: ColumnMissing, On: InFiles, Data: data(func(x *campaign.Experiment) any { return missingOf(x.Measurement) })},
		{Name: ColumnLeftOut, On: InFiles, Data: data(func(x *campaign.Experiment) any { return strings.Join(x.Without, ", ") })},
	}
	// batch is that in which an experiment goes through a procedure.
	batch = Column{Name: "batch", On: Everywhere, Class: "word", Data: data(func(x *campaign.Experiment) any { return x.Batch }),
		Place: func(_ *Experiments, x *campaign.Experiment) float64 { return float64(events.BatchNumber(x.Batch)) }}
	// kept says whether the measured values keep the constraints on outcomes: yes, no, or unknown
	// where a quantity is missing.
	kept = Column{Name: "keeps_constraints", On: InFiles, Data: func(t *Experiments, x *campaign.Experiment) any {
		if x.Measurement == nil {
			return nil
		}
		return string(t.State.Keeps(x))
	}}
)

// AboutExperiments reports whether a column of a file is about an experiment, and no part of what
// was measured: of any campaign, so that another one's table is read without a flag.
func AboutExperiments(column string) bool {
	is := func(c Column) bool { return c.Name == column }
	return kept.Name == column || batch.Name == column || slices.ContainsFunc(opening, is) || slices.ContainsFunc(closing, is)
}

// columnsOf are the columns of a campaign's table on a surface.
func columnsOf(s *campaign.State, on Surface) []Column {
	def := s.Definition
	all := slices.Clone(opening)
	var made []Column
	for i := range def.Parameters {
		asked, actual := parameterColumns(def, i)
		all, made = append(all, asked), append(made, actual)
	}
	all = append(all, made...)
	sought, several := def.Sought(), len(def.Quantities) > 0
	all = append(all, soughtColumns(sought)...)
	var following []Column
	for _, q := range def.Quantities {
		switch {
		case q.From != "":
			following = append(following, declaredColumns(ComputedPrefix+q.Name, q)[0])
		case q.Name != sought.Name:
			all = append(all, declaredColumns(q.Name, q)...)
		}
	}
	declared := func(name string) bool { return several && def.Quantity(name) != nil }
	for _, q := range Further(s, declared) {
		all = append(all, furtherColumns(q.Name, q.Unit)...)
	}
	if several {
		all = append(all, without...)
	}
	all = append(all, following...)
	all = append(all, predictionColumns(sought, several)...)
	if len(def.ConstraintsOnOutcomes) > 0 {
		all = append(all, kept)
	}
	if len(def.Procedure) > 0 {
		all = append(all, batch)
	}
	all = append(all, drawnColumns(s)...)
	all = append(all, closing...)
	return slices.DeleteFunc(all, func(c Column) bool { return c.On&on == 0 })
}

// BestAs says in which way an experiment is the best one; "" where it is not.
func BestAs(bests engine.Bests, id string) string {
	byModel := bests.BestByModel != nil && bests.BestByModel.Experiment == id
	measured := bests.BestMeasured != nil && bests.BestMeasured.Experiment == id
	switch f := bests.Tradeoff; {
	case f != nil && f.Compromise != nil && f.Compromise.Experiment == id:
		return "suggested compromise"
	case f != nil && f.Member(id) != nil:
		return "on the front, P " + format.Fixed(f.Member(id).OnFront, 2)
	case f != nil:
		return ""
	case len(bests.Ranking) > 0 && bests.Ranking[0].Experiment == id:
		return "preferred"
	case byModel && measured:
		return "best by the model, and measured"
	case byModel:
		return "best by the model"
	case measured:
		return "best measured"
	}
	return ""
}
