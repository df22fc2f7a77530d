package console

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/ground/units"
)

// Limits of a table that a page may bring.
const (
	maxTable     = 4 << 20 // bytes
	maxTableRows = 5000
	// shownRows is how many rows a page shows, besides those with faults.
	shownRows = 200
)

// tableName stands for a pasted table in messages.
const tableName = "the table"

// Names of the form's fields, and values of the choice about a column of the person's own. Fields
// of one column end with its heading.
const (
	fieldTable  = "table"
	fieldFile   = "file"
	fieldSeen   = "seen" // the table as it was looked at, to be taken
	prefixUse   = "use."
	useAsNote   = "note"
	useAsNought = "ignore"
	// A further quantity, with its name and unit.
	useAsFurther = "further"
	prefixName   = "name."
	prefixUnit   = "unit."
	useAsColumn  = "is." // before the name of one of the campaign's columns
)

// bringPage is the page that imports measurements from a table, in two steps: the first shows what
// would become of each row, the second imports the rows that were shown. Nothing is recorded by the
// first.
//
// The table itself travels in the form from the first step to the second; the server keeps nothing
// in between. Seen, a hash of the table and of all choices, holds the two steps together.
type bringPage struct {
	*shell
	Table, Name   string
	Wanted        string // the columns that must be there
	Example       string
	Again, Anyway bool // repeated and doubtful measurements are wanted too
	CanBring      bool
	// The fields of a table that was looked at:
	Looked  bool
	Header  []string
	Own     []columnUse // columns that are not the campaign's
	Missing []string    // columns that must be there
	Remarks []string    // how it was read, and which of its lines are no rows
	Rows    []broughtRow
	Hidden  int // rows that are not shown
	// Counts of rows: to be imported, in the campaign already, left out by a
	// choice, and with faults.
	New, Known, Left, Wrong int
	// Lacking are the quantities that decisions rest on and rows to be imported do not have.
	Lacking []lacking
	// Changed is set where the table to be imported is not the one that was
	// looked at.
	Changed bool
	Seen    string // hash of the table and choices that the page shows
}

// CanTake reports whether the table can be imported as it is: it has something
// new, no faults, and every column a meaning.
func (p *bringPage) CanTake() bool {
	undecided := slices.ContainsFunc(p.Own, func(c columnUse) bool { return c.Use == "" })
	return p.Looked && p.Wrong == 0 && p.New > 0 && !undecided
}

// columnUse is a column that the campaign does not know, and its use.
type columnUse struct {
	Index     int
	Name, Use string
	// Chosen is the entry that the list of choices shows: Use, or what it may be.
	Chosen string
	// Further and Unit are those of a further quantity.
	Further, Unit string
	// Be are the columns of the campaign that it may be.
	Be []columnChoice
}

// columnChoice is a column of the campaign, by its value in the form and in
// words.
type columnChoice struct {
	Value, Text string
	name, unit  string
}

// broughtRow is a row of a table, and its fate.
type broughtRow struct {
	Line       int
	Cells      []broughtCell
	Class      string
	Fate       string
	Experiment string // that is the same
	Faults     []fault
}

// broughtCell is a value as it was typed; Wrong if a fault is about it.
type broughtCell struct {
	Text  string
	Wrong bool
}

// showBring shows the empty form to those who see the campaign; to see a table's effect takes the
// permission to run it.
func showBring(v *visit) error {
	return v.write(drawBring(v.bringPage()))
}

// bringPage returns the page without a table, with an example of one in this
// campaign's columns: its values are the first category, value or bound of
// each.
func (v *visit) bringPage() *bringPage {
	p := &bringPage{shell: v.shell("Bring measurements to " + v.of.Name())}
	p.in(v.of, pageResults)
	p.CanBring = p.May(Run)
	v.of.Read(func(core *engine.Core) {
		def := core.State().Definition
		if !def.Measures() {
			p.CanBring = false
			return
		}
		var names, values []string
		for _, par := range def.Parameters {
			names = append(names, par.Name)
			switch {
			case par.Categories != nil:
				values = append(values, par.Categories[0].Name)
			case par.Values != nil:
				values = append(values, plain(par.Values[0]))
			case par.Min != nil:
				values = append(values, plain(*par.Min))
			}
		}
		for _, q := range def.Declared() {
			names, values = append(names, q.Name), append(values, "1")
		}
		p.Wanted = format.List(names...)
		var b bytes.Buffer
		out := csv.NewWriter(&b)
		_ = out.WriteAll([][]string{names, values}) // into memory
		p.Example = b.String()
	})
	return p
}

// bring shows what would become of a table, or imports it if it is the one that was shown. Rows are
// imported by one request: all or none.
//
// The order is: the table, the fate of the form before, whether the visitor has looked at this
// table with these choices, whether it can be taken as it is, and then the request. A table or a
// choice that differs from the one looked at is shown again, with what would become of it now
// (409); rows that another import has brought meanwhile are said to be known. Nothing is imported
// on the strength of an older look.
func bring(v *visit) error {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxTable+1<<16)
	name, table, how, err := tableOf(v.r)
	p := v.bringPage()
	if how != "" {
		p.Remarks = append(p.Remarks, how)
	}
	p.Name, p.Table = name, table
	p.Again, p.Anyway = text(v.r, "again") != "", text(v.r, "anyway") != ""
	if err == nil && !p.CanBring {
		err = problem.New(problem.NotPossible, "%s measures nothing: there is nothing to bring", v.of.Name())
	}
	im := &exchange.Import{
		Registry: v.lab.Registry(), Actor: p.Visitor.Actor(), MaxRows: maxTableRows,
		Again: p.Again, Anyway: p.Anyway, Once: !p.Again, Words: bringWords,
	}
	if err == nil {
		im.Core, err = v.of.Load(v.r.Context())
	}
	if err == nil {
		err = p.look(im, v.r)
	}
	if err != nil {
		v.refuseAnew(p.shell, err, "bring")
		return v.write(drawBring(p))
	}
	// A form that was sent before has done its work, however the table looks now.
	take := text(v.r, "do") == "take"
	if take {
		done, err := alreadyRecorded(v.r.Context(), v.of, requested(v.r, engine.Request{}))
		if done {
			return v.redirect(p.Path, "brought")
		}
		if err != nil {
			v.refuseAnew(p.shell, err, "bring")
			return v.write(drawBring(p))
		}
	}
	p.Changed = take && text(v.r, fieldSeen) != p.Seen
	switch {
	case take && p.New == 0 && p.Wrong == 0 && p.Missing == nil && !p.Changed:
		// Sent twice, or another person imported the same in the meantime.
		return v.redirect(p.Path, "known")
	case !take || p.Changed || !p.CanTake():
		status := http.StatusOK
		if take {
			status = http.StatusConflict
		}
		return v.writeAs(status, drawBring(p))
	}
	// Preview separated the fates, Read makes the request of the new rows.
	if err = im.Read(name, strings.NewReader(table)); err == nil {
		request := engine.Request{Import: im.Rows, ImportOnce: !p.Again}
		_, err = v.of.Submit(v.r.Context(), requested(v.r, request))
	}
	if problem.CodeOf(err) == problem.Conflict && !p.Again {
		// Another import of the same rows was recorded since they were read.
		return v.redirect(p.Path, "known")
	}
	if err != nil {
		forgetRequest(v.r, err)
		v.refuse(p.shell, err, "bring")
		return v.write(drawBring(p))
	}
	return v.redirect(p.Path, "brought")
}

// bringWords name the remedies as this page offers them, where the command line
// names flags. The hint at the tick box is added only where the fault is one
// that it removes.
var bringWords = exchange.Words{
	Again: "tick that the same may come again", Anyway: "tick that it is taken nevertheless",
	Note: "where it is to be a note", Ignore: "where it is not wanted", Column: "where it is listed",
	Clause: func(err error) string {
		text := err.Error()
		for _, remedy := range problem.RemediesOf(err) {
			if slices.Contains(remedy.Ways, problem.WayAnyway) {
				return text + "; if it is right, tick that it is taken nevertheless"
			}
		}
		return text
	},
}

// tableOf reads a table that was sent as a file or as text, and its name in messages. A chosen file
// wins over a pasted text. Lines end as on the server, since faults count them. how says in which
// encoding it came, where that is worth a word.
func tableOf(r *http.Request) (name, table, how string, err error) {
	tooLarge := problem.New(problem.Invalid, "the table is larger than %d MB", maxTable>>20).
		With(problem.Remedy{Text: "bring it in parts, each with the header: rows that are there already are left out"})
	err = r.ParseMultipartForm(maxTable)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return tableName, "", "", tooLarge
	case err != nil && !errors.Is(err, http.ErrNotMultipart):
		return tableName, "", "", problem.New(problem.Invalid, "the form cannot be read: %w", err)
	}
	name, table = tableName, r.PostForm.Get(fieldTable)
	if file, header, err := r.FormFile(fieldFile); err == nil {
		defer file.Close()
		if header.Size > 0 {
			all, err := io.ReadAll(file)
			if err != nil {
				return name, "", "", problem.New(problem.Invalid, "the file cannot be read: %w", err)
			}
			name, table = plaintext.Line(header.Filename), string(all)
		}
	}
	switch {
	case len(table) > maxTable:
		return name, "", "", tooLarge
	case strings.TrimSpace(table) == "":
		return name, "", "", problem.New(problem.Invalid, "there is no table").
			With(problem.Remedy{Text: "choose a file, or paste its text"})
	}
	table, how, err = exchange.Text([]byte(table))
	return name, table, how, err
}

// look finds out what would become of each row, with the uses of columns that the form names. It
// records nothing. A table that lacks too much to say anything fails with an error that names the
// missing parts; one with columns that are not understood is shown, so that their meaning can be
// chosen.
//
// A use that the program guesses is preselected and not taken: CanTake wants each choice made by
// the person.
func (p *bringPage) look(im *exchange.Import, r *http.Request) error {
	header := headerOf(p.Table) // choices about columns of another table are forgotten
	uses := make(map[string]string)
	im.Columns, im.Units = make(map[string]string), make(map[string]string)
	for _, column := range header {
		use := text(r, prefixUse+column)
		switch name, is := strings.CutPrefix(use, useAsColumn); {
		case is:
			im.Columns[column] = name
		case use == useAsNote:
			im.Notes = append(im.Notes, column)
		case use == useAsNought:
			im.Ignore = append(im.Ignore, column)
		case use == useAsFurther:
			called, unit := furtherOf(r, column)
			im.Columns[column], im.Units[column] = exchange.FurtherColumn(called), unit
		default:
			continue
		}
		uses[column] = use
	}
	seen, err := im.Preview(p.Name, strings.NewReader(p.Table))
	if err != nil {
		return err
	}
	if p.Missing = seen.Missing; p.Missing != nil && len(seen.Unknown) == 0 {
		return im.Read(p.Name, strings.NewReader(p.Table)) // the error names the missing parts
	}
	p.Looked, p.Header = true, seen.Header
	p.Remarks = append(p.Remarks, im.Remarks...)
	for _, column := range seen.Header {
		use := uses[column]
		if use == "" && !slices.Contains(seen.Unknown, column) {
			continue
		}
		own := columnUse{Index: len(p.Own), Name: column, Use: use, Chosen: use, Be: p.mayBe(im, seen, use)}
		if guess := columnLike(column, own.Be); use == "" && guess != "" {
			own.Chosen = guess
		}
		own.Further, own.Unit = furtherOf(r, column)
		p.Own = append(p.Own, own)
	}
	p.New, p.Known = seen.Count(exchange.FateNew), seen.Count(exchange.FateKnown)
	p.Left, p.Wrong = seen.Count(exchange.FateLeft), seen.Count(exchange.FateWrong)
	p.Lacking = lackingIn(im.Core.State().Definition, seen)
	// Rows with faults are shown beyond the limit too: the person must mend them.
	for i, row := range seen.Rows {
		if i >= shownRows && row.Fate != exchange.FateWrong || len(p.Rows) >= 2*shownRows {
			p.Hidden++
			continue
		}
		p.Rows = append(p.Rows, broughtRowOf(seen.Header, row))
	}
	// The hash covers everything that decides the import, so that taking a table means taking the
	// one that was shown.
	h := sha256.New()
	fmt.Fprintf(h, "%q %t %t %q %q %q %q", p.Table, p.Again, p.Anyway, im.Notes, im.Ignore,
		im.Columns, im.Units)
	p.Seen = hex.EncodeToString(h.Sum(nil))
	return nil
}

// mayBe returns the columns of the campaign that an unknown one may be: those
// that are missing, the quantities that no column is yet, the one that was chosen, and the
// standard deviation if no column is that yet. Two columns of the table cannot be one of the
// campaign's.
func (p *bringPage) mayBe(im *exchange.Import, seen *exchange.Preview, use string) (list []columnChoice) {
	def := im.Core.State().Definition
	there := make(map[string]bool)
	for _, column := range seen.Header {
		there[cmp.Or(im.Columns[column], column)] = true
	}
	add := func(name, what, unit string) {
		choice := columnChoice{Value: useAsColumn + name, Text: what, name: name, unit: unit}
		if unit != "" {
			choice.Text += ", in " + unit
		}
		list = append(list, choice)
	}
	open := func(name string) bool {
		return slices.Contains(seen.Missing, name) || use == useAsColumn+name
	}
	for _, par := range def.Parameters {
		if open(par.Name) {
			add(par.Name, "it is the parameter "+par.Name, par.Unit)
		}
	}
	sought := def.Sought()
	for _, q := range def.Declared() {
		if !open(q.Name) && (there[q.Name] || there[format.Heading(q.Name, q.Unit)]) {
			continue
		}
		what := "it is " + q.Name + ", which is measured"
		if q.Name == sought.Name {
			what = "it is " + q.Name + ", the objective"
		}
		add(q.Name, what, q.Unit)
	}
	if !there[exchange.ColumnSD] || use == useAsColumn+exchange.ColumnSD {
		add(exchange.ColumnSD, "it is the standard deviation of "+sought.Name, "")
	}
	return list
}

// columnLike is the choice that the heading of a column names: by the name, as it stands or as a
// campaign made from a table calls it, and in no other unit; "" without a match.
func columnLike(column string, choices []columnChoice) string {
	name, unit := exchange.Heading(column)
	for _, as := range []func(string) string{func(name string) string { return name }, exchange.Identifier} {
		for _, c := range choices {
			if strings.EqualFold(as(name), c.name) && (unit == "" || c.unit == "" || units.Same(unit, c.unit)) {
				return c.Value
			}
		}
	}
	return ""
}

// lacking is a quantity that decisions rest on, and the rows that do not have it.
type lacking struct {
	Quantity, Rows string
	All            bool // no row has it
}

// lackingIn are the quantities that decisions rest on and some of the rows to be imported
// have no value of: it is recorded as missing there.
func lackingIn(def *definition.Campaign, seen *exchange.Preview) (all []lacking) {
	for _, q := range computed.Decisive(def) {
		var lines []int
		for _, row := range seen.Rows {
			if row.Fate == exchange.FateNew && !row.Gives(def, q.Name) {
				lines = append(lines, row.Line)
			}
		}
		if lines != nil {
			all = append(all, lacking{q.Name, format.RowsAt(lines), len(lines) == seen.Count(exchange.FateNew)})
		}
	}
	return all
}

// furtherOf returns the name and unit of a column that is a further quantity:
// as typed, else as its heading says.
func furtherOf(r *http.Request, column string) (name, unit string) {
	name, unit = exchange.Heading(column)
	if r.PostForm.Has(prefixName + column) {
		unit = text(r, prefixUnit+column)
		if typed := text(r, prefixName+column); typed != "" {
			name = typed
		}
	}
	return name, unit
}

// headerOf returns the names of a table's columns; empty if they cannot be read, which the preview
// then reports.
func headerOf(table string) []string {
	sheet, err := exchange.ReadTexts(tableName, strings.NewReader(table))
	if err != nil {
		return nil
	}
	return sheet.Columns
}

// broughtRowOf writes a row with its fate, its class in the stylesheet, and its
// faults at the cells that they are about. A fault without a field is about the
// row.
func broughtRowOf(header []string, row exchange.PreviewRow) broughtRow {
	out := broughtRow{Line: row.Line, Fate: string(row.Fate), Experiment: row.Experiment}
	wrong := make(map[string]bool)
	for _, f := range row.Faults {
		message := strings.TrimPrefix(f.Message(), f.Field+": ")
		out.Faults = append(out.Faults, fault{Field: f.Field, Message: message})
		wrong[f.Field] = f.Field != ""
	}
	for i, cell := range row.Cells {
		out.Cells = append(out.Cells, broughtCell{cell, wrong[header[i]]})
	}
	switch row.Fate {
	case exchange.FateNew:
		out.Class = "is-new"
	case exchange.FateKnown:
		out.Class = "left-out"
	case exchange.FateLeft:
		out.Class, out.Fate = "left-out", "left out: "+row.Why
	case exchange.FateWrong:
		out.Class = "is-wrong"
	}
	return out
}
