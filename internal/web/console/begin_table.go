package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/campaignd/campaignd/internal/files/guess"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// mostBegun is the size of a table to begin with, in bytes: it travels in the form of the
// campaign file, where each of its separators may take three.
const mostBegun = 2 << 20

// Fields of a table that a campaign begins with, besides those of [bringPage]. Those of
// a column begin with its number.
const (
	fieldOrigin = "origin" // the table's name
	fieldCalled = "called" // the campaign's name
	fieldBudget = "budget"
	fieldSum    = "sum"
	fieldAnyway = "anyway"
	fieldSkip   = "skip" // rows that cannot be taken are left out
	prefixRole  = "role."
	prefixLow   = "low."
	prefixHigh  = "high."
	// What the form was made of: the guesses, and the campaign file as the choices made it. A
	// person has chosen, or typed, all that differs from it.
	fieldGuessed = "guessed"
	fieldWritten = "written"
	fieldTyped   = "source" // the campaign file
)

// tablePage is the page that makes a campaign from a table: it shows the guess for each column, to
// be changed, and then the campaign file.
type tablePage struct {
	*shell
	CanDefine bool
	Table     string
	Guess     *guess.Guess // nil before the first table
	Columns   []tableColumn
	Faults    []guess.Fault // of the choices
	// Otherwise are the columns that are taken for something else than the form said, since
	// the table has changed.
	Otherwise []string
	// Keeps holds the data that the page does not show: the guesses, and the input in the campaign
	// file.
	Keeps []hiddenField
}

// tableColumn is a column with its number, and the roles that it may have.
type tableColumn struct {
	guess.Column
	Index int
	Roles []roleChoice
	Wrong bool
}

// roleChoice is a role in words.
type roleChoice struct {
	Role guess.Role
	Text string
	On   bool
}

// roleWords are the roles as the page offers them.
var roleWords = map[guess.Role]string{
	guess.Number:   "varied: a number in a range",
	guess.Values:   "varied: one of its values",
	guess.Category: "varied: one of its names",
	guess.Maximize: "measured: to be maximized",
	guess.Minimize: "measured: to be minimized",
	guess.Quantity: "measured, and not sought",
	guess.Note:     "a note on each experiment",
	guess.Leave:    "left out",
}

// showTable serves the empty page.
func showTable(v *visit) error {
	p := &tablePage{shell: v.shell("From a table")}
	p.CanDefine = p.Visitor.may(Define, "") == nil
	return v.write(drawTable(p))
}

// lookAtTable shows the guesses about a table, or with do=write the campaign file that follows. It
// records nothing. Where a table was changed and its columns are taken for something else since,
// that is shown before a file is written.
func lookAtTable(v *visit) error {
	if err := v.defines(); err != nil {
		return err
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxTable+1<<16)
	name, table, how, err := tableOf(v.r)
	if origin := text(v.r, fieldOrigin); name == tableName && origin != "" {
		name = origin
	}
	p := &tablePage{shell: v.shell("From a table"), CanDefine: true, Table: table}
	if err == nil && len(table) > mostBegun {
		err = problem.New(problem.Invalid, "the table is larger than %d MB", mostBegun>>20).
			With(problem.Remedy{Text: "begin with a part of it, and bring the others to the campaign"})
	}
	var chosen *choices
	if err == nil {
		p.Guess, p.Table, chosen, err = v.guessed(name, table, v.r.PostForm)
	}
	if err == nil && how != "" {
		p.Guess.Remarks = slices.Insert(p.Guess.Remarks, 0, how)
	}
	if err != nil {
		v.refuseAnew(p.shell, err, "table")
		return v.write(drawTable(p))
	}
	typed := typedIn(v.r.PostForm)
	if typed.called != "" {
		p.Guess.Name = typed.called
	}
	p.Faults, p.Otherwise = p.Guess.Faults(), chosen.otherwise
	writes := text(v.r, "do") == "write"
	if writes && p.Faults == nil && p.Otherwise == nil {
		return v.write(drawNew(v.written(p, chosen, typed)))
	}
	status := http.StatusOK
	if writes {
		status = http.StatusUnprocessableEntity
	}
	for i, column := range p.Guess.Columns {
		one := tableColumn{Column: column, Index: i}
		one.Wrong = slices.ContainsFunc(p.Faults, func(f guess.Fault) bool { return f.Column == i })
		for _, role := range guess.Roles {
			if slices.Contains(column.May, role) || role == column.Role {
				one.Roles = append(one.Roles, roleChoice{role, roleWords[role], role == column.Role})
			}
		}
		p.Columns = append(p.Columns, one)
	}
	p.Keeps = slices.Concat(chosen.hidden(), typed.hidden())
	for _, name := range []string{fieldAnyway, fieldSkip} {
		if value := text(v.r, name); value != "" {
			p.Keeps = append(p.Keeps, hiddenField{name, value})
		}
	}
	return v.writeAs(status, drawTable(p))
}

// written is the page with the campaign file that follows from a table, with the input from an
// earlier one.
func (v *visit) written(p *tablePage, chosen *choices, typed typedFile) *filePage {
	source := p.Guess.Source()
	file := &filePage{shell: v.shell("New campaign"), CanDefine: true}
	file.Brought = broughtAlong(p.Guess, chosen, p.Table)
	file.Brought.WithAnyway = file.Brought.WithAnyway || text(v.r, fieldAnyway) != ""
	file.Brought.Skip = text(v.r, fieldSkip) != ""
	file.Source, file.Brought.Typed = typed.onto(source)
	file.Brought.Hidden = append(file.Brought.Hidden, hiddenField{fieldWritten, source})
	if campaign, err := v.lab.Parse(v.r.Context(), fileName, []byte(file.Source)); err == nil {
		_, file.Brought.Fates, _ = v.rowsOf(p.Visitor, p.Guess, file.Brought, campaign)
	}
	return file
}

// guessed reads a table, and changes the guesses for its columns as a form says.
func (c *Console) guessed(name, table string, form url.Values) (*guess.Guess, string, *choices, error) {
	g, table, err := guess.Of(name, table)
	if err != nil {
		return nil, table, nil, err
	}
	if g.Rows > maxTableRows {
		return nil, table, nil, problem.New(problem.Invalid, "it has %d rows; a campaign begins with at most %d", g.Rows, maxTableRows).
			With(problem.Remedy{Text: "begin with a part of it, and bring the others to the campaign"})
	}
	if !form.Has(fieldGuessed) {
		g.Name = c.free(g.Name)
	}
	return g, table, choose(g, form), nil
}

// free is a name, or where it is taken the first number behind it that is free.
func (c *Console) free(name string) string {
	for n := 1; ; n++ {
		another := name
		if n > 1 {
			another = fmt.Sprintf("%s-%d", name, n)
		}
		if _, err := c.lab.Campaign(another); problem.CodeOf(err) == problem.NoCampaign {
			return another
		}
	}
}

// brought are the measurements of a table that a new campaign takes along, as the form of
// its file holds them: the server keeps nothing in between.
type brought struct {
	Origin   string
	Left     []leftRows // rows that are no measurements
	Varied   []string   // the columns' roles in the campaign, in words
	Measured []string
	Noted    []string
	LeftOut  []string
	// WithAnyway takes rows that the file does not allow, Skip leaves out those that cannot be
	// taken.
	WithAnyway, Skip bool
	OffSum           int
	// Fates are the fates of the rows; nil while the file has faults.
	Fates *fates
	// Typed are the lines of the file that stay as they were typed, though the columns say
	// something else.
	Typed       []int
	Hidden      []hiddenField
	TableAsText string
}

// broughtAlong writes a table with all choices for it into a form.
func broughtAlong(g *guess.Guess, chosen *choices, table string) *brought {
	b := &brought{Origin: g.Origin, TableAsText: table}
	for _, left := range []struct {
		why   string
		lines []int
	}{{"to be measured yet", g.Open()}, {"without a value of a parameter", g.Torn()}} {
		if left.lines != nil {
			b.Left = append(b.Left, leftRows{left.why, format.RowsAt(left.lines)})
		}
	}
	if g.SumHolds() && g.Sum.Keep {
		b.OffSum = g.Sum.Off
		b.WithAnyway = g.Sum.Off > 0
	}
	hide := func(name, value string) { b.Hidden = append(b.Hidden, hiddenField{name, value}) }
	hide(fieldOrigin, g.Origin)
	hide(fieldCalled, g.Name)
	hide(fieldBudget, g.Budget)
	if g.Sum != nil && g.Sum.Keep {
		hide(fieldSum, "on")
	}
	b.Hidden = append(b.Hidden, chosen.hidden()...)
	for i, column := range g.Columns {
		at := strconv.Itoa(i)
		hide(prefixRole+at, string(column.Role))
		hide(prefixName+at, column.Name)
		hide(prefixUnit+at, column.Unit)
		hide(prefixLow+at, column.Low)
		hide(prefixHigh+at, column.High)
		said := column.Heading
		if column.Name != column.Heading {
			said += " as " + column.Name
		}
		switch {
		case column.Role.Varied():
			b.Varied = append(b.Varied, said)
		case column.Role.Measured():
			b.Measured = append(b.Measured, said)
		case column.Role == guess.Note:
			b.Noted = append(b.Noted, column.Heading)
		default:
			b.LeftOut = append(b.LeftOut, column.Heading)
		}
	}
	return b
}

// broughtOf returns the table in the form of a campaign file; nil where the form has none.
func (c *Console) broughtOf(r *http.Request) (*guess.Guess, *brought, error) {
	if r.PostForm.Get(fieldTable) == "" {
		return nil, nil, nil
	}
	table := unixLines(r.PostForm.Get(fieldTable))
	g, table, chosen, err := c.guessed(text(r, fieldOrigin), table, r.PostForm)
	if err != nil {
		return nil, nil, err
	}
	b := broughtAlong(g, chosen, table)
	b.WithAnyway, b.Skip = text(r, fieldAnyway) != "", text(r, fieldSkip) != ""
	b.Hidden = append(b.Hidden, hiddenField{fieldWritten, unixLines(r.PostForm.Get(fieldWritten))})
	return g, b, nil
}
