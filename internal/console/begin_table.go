package console

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/campaignfile"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/exchange"
	"github.com/campaignd/campaignd/internal/guess"
	"github.com/campaignd/campaignd/internal/problem"
)

// mostBegun is the size of a table to begin with, in bytes: it travels in the form of the
// campaign file, where each of its separators may take three.
const mostBegun = 2 << 20

// Fields of a table that a campaign begins with, besides those of [bringPage]. Those of
// a column begin with its number.
const (
	fieldOrigin = "origin" // what the table is called
	fieldCalled = "called" // the campaign's name
	fieldBudget = "budget"
	fieldSum    = "sum"
	fieldAnyway = "anyway"
	prefixRole  = "role."
	prefixLow   = "low."
	prefixHigh  = "high."
)

// tablePage is the page that makes a campaign of a table: it shows what is guessed of
// each column, to be changed, and then the campaign file.
type tablePage struct {
	*shell
	CanDefine   bool
	Table, Seen string
	Guess       *guess.Guess // nil before there is a table
	Columns     []tableColumn
	Faults      []guess.Fault // of the choices
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

// table serves the empty page.
func (c *Console) table(w http.ResponseWriter, r *http.Request) {
	p := &tablePage{shell: c.shellOf(r, "From a table")}
	p.CanDefine = p.Visitor.may(Define, "") == nil
	c.write(w, http.StatusOK, "table", p)
}

// looked shows what a table is guessed to be, or with do=write the campaign file that
// follows. It records nothing.
func (c *Console) looked(w http.ResponseWriter, r *http.Request) {
	v := visitorOf(r.Context())
	if err := v.may(Define, ""); err != nil {
		v.refused(Define, "")
		c.fail(w, r, err)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxTable+1<<16)
	name, table, how, err := tableOf(r)
	if origin := text(r, fieldOrigin); name == tableName && origin != "" {
		name = origin
	}
	p := &tablePage{shell: c.shellOf(r, "From a table"), CanDefine: true, Table: table}
	if err == nil && len(table) > mostBegun {
		err = problem.New(problem.Invalid, "the table is larger than %d MB", mostBegun>>20).
			With(problem.Remedy{Text: "begin with a part of it, and bring the others to the campaign"})
	}
	if err == nil {
		p.Guess, p.Table, err = c.guessed(name, table, r.PostForm)
	}
	if err == nil && how != "" {
		p.Guess.Remarks = slices.Insert(p.Guess.Remarks, 0, how)
	}
	if err != nil {
		p.Failure, p.Failed = failureOf(err, ""), "table"
		c.write(w, statusOf(err), "table", p)
		return
	}
	p.Seen = seenTable(p.Table)
	p.Faults = p.Guess.Faults()
	if text(r, "do") == "write" && p.Faults == nil {
		file := &filePage{shell: c.shellOf(r, "New campaign"), Source: p.Guess.Source(), CanDefine: true}
		file.Brought = broughtAlong(p.Guess, p.Table)
		c.write(w, http.StatusOK, "new", file)
		return
	}
	status := http.StatusOK
	if text(r, "do") == "write" {
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
	c.write(w, status, "table", p)
}

// seenTable is what a form says of the table that its choices are about.
func seenTable(table string) string {
	sum := sha256.Sum256([]byte(table))
	return hex.EncodeToString(sum[:8])
}

// guessed reads a table, and changes what is guessed of it as a form says. Choices that
// were made of another table are forgotten.
func (c *Console) guessed(name, table string, form url.Values) (*guess.Guess, string, error) {
	g, table, err := guess.Of(name, table)
	if err != nil {
		return nil, table, err
	}
	if g.Rows > maxTableRows {
		return nil, table, problem.New(problem.Invalid, "it has %d rows; a campaign begins with at most %d", g.Rows, maxTableRows).
			With(problem.Remedy{Text: "begin with a part of it, and bring the others to the campaign"})
	}
	if form.Get(fieldSeen) != seenTable(table) {
		g.Name = c.free(g.Name)
		return g, table, nil
	}
	field := func(prefix string, i int) string { return strings.TrimSpace(form.Get(prefix + strconv.Itoa(i))) }
	g.Name = strings.TrimSpace(form.Get(fieldCalled))
	g.Budget, _ = strconv.Atoi(strings.TrimSpace(form.Get(fieldBudget)))
	for i := range g.Columns {
		column := &g.Columns[i]
		column.Role = guess.Role(field(prefixRole, i))
		column.Name, column.Unit = field(prefixName, i), field(prefixUnit, i)
		column.Low, column.High = field(prefixLow, i), field(prefixHigh, i)
	}
	if g.Sum != nil {
		g.Sum.Keep = form.Get(fieldSum) != ""
	}
	return g, table, nil
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
	Origin      string
	Rows        int
	Left        string   // rows without a measurement
	Varied      []string // what the columns are to the campaign, in words
	Measured    []string
	Noted       []string
	LeftOut     []string
	WithAnyway  bool
	OffSum      int
	Hidden      []hiddenField
	TableAsText string
}

// broughtAlong writes a table with all that was chosen of it into a form.
func broughtAlong(g *guess.Guess, table string) *brought {
	b := &brought{
		Origin: g.Origin, Rows: len(g.Taken()), Left: g.LeftText(), TableAsText: table,
	}
	if g.SumHolds() && g.Sum.Keep {
		b.OffSum = g.Sum.Off
		b.WithAnyway = g.Sum.Off > 0
	}
	hide := func(name, value string) { b.Hidden = append(b.Hidden, hiddenField{name, value}) }
	hide(fieldOrigin, g.Origin)
	hide(fieldSeen, seenTable(table))
	hide(fieldCalled, g.Name)
	hide(fieldBudget, strconv.Itoa(g.Budget))
	if g.Sum != nil && g.Sum.Keep {
		hide(fieldSum, "on")
	}
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

// broughtOf is the table in the form of a campaign file; nil where there is none.
func (c *Console) broughtOf(r *http.Request) (*guess.Guess, *brought, error) {
	if r.PostForm.Get(fieldTable) == "" {
		return nil, nil, nil
	}
	table := strings.ReplaceAll(r.PostForm.Get(fieldTable), "\r\n", "\n")
	g, table, err := c.guessed(text(r, fieldOrigin), table, r.PostForm)
	if err != nil {
		return nil, nil, err
	}
	b := broughtAlong(g, table)
	b.WithAnyway = r.PostForm.Get(fieldAnyway) != ""
	return g, b, nil
}

// measuredBefore are the rows of a table as the campaign of a file imports them. The
// campaign is rehearsed in memory for this: a form that is refused leaves no campaign
// behind. Each fault has its line and column in the table.
func (c *Console) measuredBefore(
	v Visitor, g *guess.Guess, b *brought, file *campaignfile.File,
) ([]engine.Tell, error) {
	defined := events.CampaignDefined{Definition: file.Definition, Source: file.Source}
	rehearsal, err := engine.Rehearse(c.lab.Registry(), defined, v.Actor(), time.Now())
	if err != nil {
		return nil, err
	}
	im := &exchange.Import{
		Registry: c.lab.Registry(), Core: rehearsal, Actor: v.Actor(), MaxRows: maxTableRows,
		Anyway: b.WithAnyway, Words: bringWords,
	}
	table := g.Import(im, b.TableAsText)
	if err := im.Read(g.Origin, strings.NewReader(table)); err != nil {
		return nil, err
	}
	return im.Rows, nil
}
