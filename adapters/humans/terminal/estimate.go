package terminal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// showEstimate asks for a number for each of several compositions. This is the
// question as one text, for [Show]; a form that is answered goes on in
// beginEstimate.
func showEstimate(f *console.Form, q humans.Question) {
	s := sitting{q: q, sheet: humans.NewSheet(len(q.Options), *q.Scale, nil)}
	f.Title = fmt.Sprintf("%s, %s", q.Expert, s.what(" of each", " is each"))
	f.Body = s.table().Text(-1)
	more(f, aim(q.Objective))
	more(f, q.Explanation)
}

// beginEstimate asks for the first number: one row after the other, and at last
// whether all are right. The lines go to the sitting by [console.Form.Then];
// what comes out at the end is one line, which parseEstimate reads as it would
// read one that was typed.
func beginEstimate(f *console.Form, q humans.Question) {
	s := &sitting{q: q, sheet: humans.NewSheet(len(q.Options), *q.Scale, nil),
		waits: make([]bool, len(q.Options)*len(q.Scale.Table()))}
	for i := range s.waits {
		s.waits[i] = true
	}
	s.ask(f)
	f.Brisk = nil // nothing can be seen above yet
}

// parseEstimate understands all numbers in order, or some by their rows, and
// perhaps a comment after a colon. Fewer numbers than rows are refused unless
// they name their rows: it would be a guess which rows were meant.
func parseEstimate(q humans.Question, line string) (humans.Reply, error) {
	text, comment := remark(line)
	sheet := humans.NewSheet(len(q.Options), *q.Scale, nil)
	cells, err := sheet.Fill(text, 0)
	if err == nil && len(cells) < sheet.Cells() && !strings.Contains(text, "=") {
		err = fmt.Errorf("it says %s for %s", format.Count(len(cells), "number"), sheet.Size())
	}
	if comment, ok := doubt(line); ok && err != nil {
		return humans.Reply{Comment: comment}, nil
	}
	if err != nil {
		return humans.Reply{}, fmt.Errorf("%q is not an answer: %w; write all numbers in order with commas between, "+
			"%s=NUMBER for some, or ? (can't tell)", line, err, place(sheet))
	}
	return humans.Reply{Answer: events.Answer{Estimates: sheet.Estimates()}, Comment: comment}, nil
}

// place stands before a number that is meant for one row, or for one cell of several columns.
func place(s *humans.Sheet) string {
	if s.Columns() > 1 {
		return "CELL"
	}
	return "ROW"
}

// sitting is a person who says their numbers row by row, and in a row column by
// column. It belongs to one open
// form. [console.Form.Then] is called for one line at a time, so that nothing
// here is locked.
type sitting struct {
	q     humans.Question
	sheet *humans.Sheet
	// waits marks the cells without an answer, at is the one asked for; after the last the person
	// looks through all cells.
	waits []bool
	at    int
}

// what asks for a number and names its subject: for one composition the quantity of the column at
// which the sitting is, for each composition all quantities. The two words are the end of the
// sentence.
func (s *sitting) what(of, is string) string {
	scale := s.q.Scale
	if scale.Marks > 0 {
		return fmt.Sprintf("how good%s, from 1 (worst) to %d (best)?", is, scale.Marks)
	}
	columns := scale.Table()
	if of == "" {
		at := s.at % len(columns)
		columns = columns[at : at+1]
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = format.Heading(c.Quantity, c.Unit)
	}
	return fmt.Sprintf("what %s do you expect%s?", format.List(names...), of)
}

// table shows all compositions with the estimates so far. It is made anew for each form, from the
// sheet as it is by then.
func (s *sitting) table() console.Table {
	points := make([]definition.Point, len(s.q.Options))
	for i, o := range s.q.Options {
		points[i] = o.Parameters
	}
	t := console.Table{
		Compositions: console.NewCompositions(s.q.Parameters, s.q.Steps).
			Outside(s.q.Excluded).Apart(points...),
		Points: points,
	}
	columns := s.q.Scale.Table()
	for i, c := range columns {
		said := console.Said{Head: "expected", Unit: c.Unit, Of: func(row int) string {
			return s.said(row*len(columns) + i)
		}}
		switch {
		case len(columns) > 1:
			said.Head = humans.ColumnLetter(i) + " " + c.Quantity
		case s.q.Scale.Marks > 0:
			said.Head = "mark"
		}
		t.Said = append(t.Said, said)
	}
	return t
}

// said is the number in a cell, "–" where it was left out. A cell that still waits
// is empty: it was not left out on purpose.
func (s *sitting) said(cell int) string {
	if x, ok := s.sheet.Value(cell); ok {
		return format.Setting(x)
	}
	if s.waits == nil || s.waits[cell] {
		return ""
	}
	return "–"
}

// looking reports whether every cell has been asked for. From then on no cell waits, and lines
// change cells or send all of them.
func (s *sitting) looking() bool { return s.at == len(s.waits) }

// row is the row of a cell.
func (s *sitting) row(cell int) int { return cell / s.sheet.Columns() }

// ask fills in a form with the next question, after other cells were filled.
//
// There are two kinds of forms: one for the cell at which the sitting is, and a last one that shows
// all rows and asks whether they may be sent. The last step takes a word of agreement: an empty
// line would be typed too easily after the last number, and only shows the table again.
func (s *sitting) ask(f *console.Form, said ...int) {
	rows, table := len(s.q.Options), s.table()
	// Taken before the form changes: going back from the last step restores what
	// that step leaves out.
	f.Then = s.then(*f)
	if s.looking() {
		given := len(s.sheet.Estimates())
		f.Title = fmt.Sprintf("%s, shall this be sent? %s for %d compositions", s.q.Expert,
			s.counted(given), rows)
		if given == 0 {
			f.Title = fmt.Sprintf("%s, shall this be sent? It says that you can't tell", s.q.Expert)
		}
		f.More = nil
		f.Body = table.Text(-1)
		f.Blank = false
		f.Brisk = nil
		f.Hint = fmt.Sprintf(
			"ok sends it, and why, after a colon: \"ok: as last year\"; %s changes %s, %s=- leaves it out",
			s.example(),
			s.named(s.third()),
			s.sheet.Name(s.third()),
		)
		f.Brief = "ok, or " + place(s.sheet) + "=NUMBER"
		return
	}
	f.Title = fmt.Sprintf("%s, row %d of %d: %s", s.q.Expert, s.row(s.at)+1, rows, s.what("", ""))
	f.Body = table.Text(s.row(s.at))
	f.Blank = true
	var shown []int
	for _, cell := range append(said, s.at) {
		if row := s.row(cell); len(shown) == 0 || shown[len(shown)-1] != row || s.sheet.Columns() == 1 {
			shown = append(shown, row)
		}
	}
	f.Brisk = table.Rows(shown...)
	f.Hint = fmt.Sprintf("%s for %s, Enter leaves it out; %s for %s, or several with commas between; "+
		"back, table, end: leave out the rest", s.noun(), s.named(s.at), s.example(), s.named(s.third()))
	f.Brief = s.noun() + " or Enter"
}

// named is a cell in words: "row 3", or "cell 3B" of several columns.
func (s *sitting) named(cell int) string {
	if s.sheet.Columns() > 1 {
		return "cell " + s.sheet.Name(cell)
	}
	return "row " + s.sheet.Name(cell)
}

// noun names the kind of number that a row asks for.
func (s *sitting) noun() string {
	if s.q.Scale.Marks > 0 {
		return fmt.Sprintf("a mark from 1 to %d", s.q.Scale.Marks)
	}
	return "a number"
}

// counted is a number of marks or numbers, in words.
func (s *sitting) counted(n int) string {
	if s.q.Scale.Marks > 0 {
		return format.Count(n, "mark")
	}
	return format.Count(n, "number")
}

// third is the cell of examples. It is in the third row, or in the last where there
// are fewer: an example must be one that would be accepted.
func (s *sitting) third() int { return (min(3, len(s.q.Options)) - 1) * s.sheet.Columns() }

// example says a number of a cell.
func (s *sitting) example() string {
	if s.q.Scale.Marks > 0 {
		return s.sheet.Name(s.third()) + "=4"
	}
	return s.sheet.Name(s.third()) + "=11.2"
}

// then takes the lines that a person types into a form. A line that is not understood changes
// nothing, and its error is shown with the next form. After several numbers in one line, or a
// number for another row, the rows that changed are shown too, since the person typed them without
// seeing them.
func (s *sitting) then(f console.Form) func(string) (string, *console.Form) {
	return func(line string) (string, *console.Form) {
		next := f
		next.Problem = ""
		whole := false // show the whole form
		var said []int
		switch word := strings.ToLower(line); {
		case s.looking() && agreed(line):
			return s.answer(line), nil
		case word == "more" || word == "m" || word == "table" || s.looking() && line == "":
			whole = true
		case word == "back" && s.at > 0:
			s.at--
			s.waits[s.at] = true
		case word == "end" && !s.looking():
			clear(s.waits)
			s.at = len(s.waits)
		case s.looking():
			if err := s.change(line); err != nil {
				next.Problem = fmt.Sprintf("%v; write ok, or %s=NUMBER", err, place(s.sheet))
			}
		default:
			before := s.at
			cells, err := s.fill(line)
			if len(cells) > 1 || len(cells) == 1 && cells[0] != before {
				said = cells
			}
			if err != nil {
				next.Problem = fmt.Sprintf("%v; write %s for %s, nothing to leave it out, or %s=NUMBER",
					err, s.noun(), s.named(s.at), place(s.sheet))
			}
		}
		s.ask(&next, said...)
		if whole {
			next.Brisk = nil
		}
		return "", &next
	}
}

// fill takes numbers from the present cell on, or for other cells, returns which, and goes on to
// the first cell that waits. An empty line, and one with “can't tell”, leave the present cell out.
func (s *sitting) fill(line string) (cells []int, err error) {
	if line == "" || slices.Contains(doubts, strings.ToLower(line)) {
		line = "-"
	}
	if cells, err = s.sheet.Fill(line, s.at); err != nil {
		return nil, err
	}
	for _, cell := range cells {
		s.waits[cell] = false
	}
	if s.at = slices.Index(s.waits, true); s.at < 0 {
		s.at = len(s.waits)
	}
	return cells, nil
}

// change takes numbers of rows that were asked for before. A bare number is
// refused, although the sheet would take it for the first row: after the last
// row nothing says which one is meant.
func (s *sitting) change(line string) error {
	if _, err := strconv.ParseFloat(strings.TrimSpace(line), 64); err == nil {
		return fmt.Errorf("%q does not say which %s it is for", line, strings.ToLower(place(s.sheet)))
	}
	_, err := s.sheet.Fill(line, 0)
	return err
}

// agreed reports whether a line says that all numbers are right. A comment may
// follow the word.
func agreed(line string) bool {
	word, _, _ := strings.Cut(line, " ")
	return slices.Contains([]string{"ok", "yes", "y", "send"},
		strings.ToLower(strings.TrimRight(word, ":,;.")))
}

// answer is the line that says all of it, with the comment behind the
// agreement. A sheet without any number is sent as “unsure”, which is an answer,
// and not as an empty list.
func (s *sitting) answer(agreement string) string {
	_, comment, _ := strings.Cut(agreement, " ")
	comment = strings.TrimSpace(strings.TrimLeft(comment, ":,;. "))
	if len(s.sheet.Estimates()) == 0 {
		return "unsure: " + comment
	}
	return s.sheet.String() + ": " + comment
}
