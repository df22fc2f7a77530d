package console

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/internal/files/guess"
)

// guessedColumn is the guess for a column at the time when a form was made.
type guessedColumn struct {
	Heading string       `json:"heading"`
	Role    guess.Role   `json:"role"`
	May     []guess.Role `json:"may"`
	Name    string       `json:"name"`
	Unit    string       `json:"unit,omitempty"`
	Low     string       `json:"low,omitempty"`
	High    string       `json:"high,omitempty"`
}

// choices are a form's choices for the columns of a table, held against the guesses for them.
// Guessed is the guess as of now, for the next form.
type choices struct {
	guessed []guessedColumn
	sum     []string // headings of the parts of a mixture
	// otherwise are the columns that are taken for something else than the form said.
	otherwise []string
}

// guessedForm is a form's copy of a guess.
type guessedForm struct {
	Columns []guessedColumn `json:"columns"`
	Sum     []string        `json:"sum,omitempty"`
}

func guessedOf(g *guess.Guess) *choices {
	c := new(choices)
	for _, column := range g.Columns {
		c.guessed = append(c.guessed, guessedColumn{
			column.Heading, column.Role, column.May, column.Name, column.Unit, column.Low, column.High,
		})
	}
	if g.Sum != nil {
		for _, i := range g.Sum.Columns {
			c.sum = append(c.sum, g.Columns[i].Heading)
		}
	}
	return c
}

// hidden is the field of a form that holds the guesses.
func (c *choices) hidden() []hiddenField {
	text, _ := json.Marshal(guessedForm{c.guessed, c.sum}) // texts have JSON
	return []hiddenField{{fieldGuessed, string(text)}}
}

// choose changes a guess as a form says that was made of an earlier state of the table. Each
// column has its choices by its heading, and under a new heading by its place.
//
// What a person has changed stays. What they have left as it was guessed stays too, with two
// exceptions: a range follows the cells; and where a column may be something else now, as one
// whose last text was mended into a number, the roles that no person has chosen are guessed
// anew, and those that differ are named.
func choose(g *guess.Guess, form url.Values) *choices {
	c := guessedOf(g)
	var before guessedForm
	if json.Unmarshal([]byte(form.Get(fieldGuessed)), &before) != nil {
		return c
	}
	was := before.Columns
	places := placesIn(g, was)
	anew := false
	for i := range g.Columns {
		j := places[i]
		anew = anew || j < 0 || !slices.Equal(was[j].May, g.Columns[i].May)
	}
	for i := range g.Columns {
		if j := places[i]; j >= 0 {
			c.take(&g.Columns[i], was[j], columnOf(form, j), anew)
		}
	}
	if g.Sum != nil && slices.Equal(c.sum, before.Sum) {
		g.Sum.Keep = form.Get(fieldSum) != ""
	}
	g.Name = strings.TrimSpace(form.Get(fieldCalled))
	g.Budget = strings.TrimSpace(form.Get(fieldBudget))
	return c
}

// take applies a form's choice to a column.
func (c *choices) take(column *guess.Column, was, said guessedColumn, anew bool) {
	switch guessed := column.Role; {
	case !anew, said.Role != was.Role:
		column.Role = said.Role
	case said.Role != guessed:
		c.otherwise = append(c.otherwise, column.Heading+" ("+roleWords[guessed]+")")
	}
	renamed := column.Heading != was.Heading
	keep := func(field *string, was, said string, follows bool) {
		if said != was || !follows {
			*field = said
		}
	}
	keep(&column.Name, was.Name, said.Name, renamed)
	keep(&column.Unit, was.Unit, said.Unit, renamed)
	keep(&column.Low, was.Low, said.Low, true)
	keep(&column.High, was.High, said.High, true)
}

// columnOf reads a form's choice for its column j.
func columnOf(form url.Values, j int) guessedColumn {
	field := func(prefix string) string { return strings.TrimSpace(form.Get(prefix + strconv.Itoa(j))) }
	return guessedColumn{
		Role: guess.Role(field(prefixRole)), Name: field(prefixName), Unit: field(prefixUnit),
		Low: field(prefixLow), High: field(prefixHigh),
	}
}

// placesIn finds the columns of a table in an earlier one: by the heading, else by the place
// where the headings of both are gone from the other table. −1 is a column that is new.
func placesIn(g *guess.Guess, was []guessedColumn) []int {
	places := make([]int, len(g.Columns))
	for i := range g.Columns {
		places[i] = slices.IndexFunc(was, func(w guessedColumn) bool { return w.Heading == g.Columns[i].Heading })
	}
	for i := range places {
		if places[i] < 0 && i < len(was) && !slices.Contains(places, i) {
			places[i] = i
		}
	}
	return places
}

// typedFile is a campaign file as a person has changed it, and as it was written before; both
// are empty where nothing was typed. Called is the name that was typed into it.
type typedFile struct{ written, source, called string }

// typedIn returns the fields for the file that a form comes from, or brings along.
func typedIn(form url.Values) (t typedFile) {
	written, source := unixLines(form.Get(fieldWritten)), unixLines(form.Get(fieldTyped))
	if written == "" || source == written {
		return t
	}
	t.written, t.source = written, source
	before, now := nameLine.FindStringSubmatch(written), nameLine.FindStringSubmatch(source)
	if before != nil && now != nil && before[1] != now[1] && form.Get(fieldCalled) == before[1] {
		t.called = now[1]
	}
	return t
}

// hidden are the fields of a form that hold it.
func (t typedFile) hidden() []hiddenField {
	if t.written == "" {
		return nil
	}
	return []hiddenField{{fieldWritten, t.written}, {fieldTyped, t.source}}
}

// onto makes the same changes in a file that is written anew. Lines are those that stay as
// they were typed, where it says something else.
func (t typedFile) onto(written string) (source string, lines []int) {
	if t.written == "" {
		return written, nil
	}
	return merge(t.written, t.source, written)
}

// unixLines ends lines as on the server.
func unixLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
