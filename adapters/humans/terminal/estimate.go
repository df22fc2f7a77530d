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
	"github.com/campaignd/campaignd/internal/format"
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
		waits: make([]bool, len(q.Options))}
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
	rows, err := sheet.Fill(text, 0)
	if err == nil && len(rows) < len(q.Options) && !strings.Contains(text, "=") {
		err = fmt.Errorf("it says %s for %d rows", format.Count(len(rows), "number"), len(q.Options))
	}
	if comment, ok := doubt(line); ok && err != nil {
		return humans.Reply{Comment: comment}, nil
	}
	if err != nil {
		return humans.Reply{}, fmt.Errorf("%q is not an answer: %w; write all numbers in order with commas between, "+
			"ROW=NUMBER for some, or ? (can't tell)", line, err)
	}
	return humans.Reply{Answer: events.Answer{Estimates: sheet.Estimates()}, Comment: comment}, nil
}

// sitting is a person who says their numbers row by row. It belongs to one open
// form. [console.Form.Then] is called for one line at a time, so that nothing
// here is locked.
type sitting struct {
	q     humans.Question
	sheet *humans.Sheet
	// waits says of which rows nothing has been said yet, at which is asked
	// for; after the last they look through all of them.
	waits []bool
	at    int
}

// what asks for a number, and says of what. The two words are the end of the
// sentence, by which it is about one composition or about each.
func (s *sitting) what(of, is string) string {
	scale := s.q.Scale
	if scale.Marks > 0 {
		return fmt.Sprintf("how good%s, from 1 (worst) to %d (best)?", is, scale.Marks)
	}
	return fmt.Sprintf("what %s do you expect%s?", format.Heading(scale.Quantity, scale.Unit), of)
}

// table is all compositions with what was said of each so far. It is made anew
// for each form, from what the sheet holds by then.
func (s *sitting) table() console.Table {
	points := make([]definition.Point, len(s.q.Options))
	for i, o := range s.q.Options {
		points[i] = o.Parameters
	}
	t := console.Table{
		Compositions: console.NewCompositions(s.q.Parameters, s.q.Steps).Apart(points...), Points: points,
		Head: "expected", Unit: s.q.Scale.Unit, Said: s.said,
	}
	if s.q.Scale.Marks > 0 {
		t.Head = "mark"
	}
	return t
}

// said is the number in a row, "–" where it was left out. A row that still waits
// is empty: it was not left out on purpose.
func (s *sitting) said(row int) string {
	if x, ok := s.sheet.Value(row); ok {
		return format.Setting(x)
	}
	if s.waits == nil || s.waits[row] {
		return ""
	}
	return "–"
}

// looking reports whether every row has been asked for. From then on nothing
// waits, and lines change rows or send all of them.
func (s *sitting) looking() bool { return s.at == len(s.waits) }

// ask fills in a form with what is to be said next, after something was said of
// other rows.
//
// There are two kinds of forms: one for the row at which the sitting is, and a
// last one that shows all rows and asks whether they may be sent. The last step
// takes a word of agreement: an empty line would be typed too easily after the
// last number, and only shows the table again.
func (s *sitting) ask(f *console.Form, said ...int) {
	n, table := len(s.waits), s.table()
	// Taken before the form changes: going back from the last step restores what
	// that step leaves out.
	f.Then = s.then(*f)
	if s.looking() {
		given := len(s.sheet.Estimates())
		f.Title = fmt.Sprintf("%s, shall this be sent? %s for %d compositions", s.q.Expert,
			s.counted(given), n)
		if given == 0 {
			f.Title = fmt.Sprintf("%s, shall this be sent? It says that you can't tell", s.q.Expert)
		}
		f.More = nil
		f.Body = table.Text(-1)
		f.Blank = false
		f.Brisk = nil
		f.Hint = fmt.Sprintf(
			"ok sends it, and why, after a colon: \"ok: as last year\"; %s changes row %d, %[2]d=- leaves it out",
			s.example(),
			min(3, n),
		)
		f.Brief = "ok, or ROW=NUMBER"
		return
	}
	f.Title = fmt.Sprintf("%s, row %d of %d: %s", s.q.Expert, s.at+1, n, s.what("", ""))
	f.Body = table.Text(s.at)
	f.Blank = true
	f.Brisk = table.Rows(append(said, s.at)...)
	f.Hint = fmt.Sprintf("%s for row %d, Enter leaves it out; %s for row %d, or several with commas between; "+
		"back, table, end: leave out the rest", s.noun(), s.at+1, s.example(), min(3, n))
	f.Brief = s.noun() + " or Enter"
}

// noun is what a row asks for, counted the numbers that there are.
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

// example says a number of a row. It is of the third row, or of the last where
// there are fewer: an example must be one that would be accepted.
func (s *sitting) example() string {
	row := min(3, len(s.waits))
	if s.q.Scale.Marks > 0 {
		return fmt.Sprintf("%d=4", row)
	}
	return fmt.Sprintf("%d=11.2", row)
}

// then takes the lines that a person types into a form, and what was its
// follows it. A line that is not understood changes nothing, and its error is
// shown with the next form. After several numbers in one line, or a number for
// another row, the rows that changed are shown too, since the person typed them
// without seeing them.
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
				next.Problem = err.Error() + "; write ok, or ROW=NUMBER"
			}
		default:
			before := s.at
			rows, err := s.fill(line)
			if len(rows) > 1 || len(rows) == 1 && rows[0] != before {
				said = rows
			}
			if err != nil {
				next.Problem = fmt.Sprintf("%v; write %s for row %d, nothing to leave it out, or ROW=NUMBER",
					err, s.noun(), s.at+1)
			}
		}
		s.ask(&next, said...)
		if whole {
			next.Brisk = nil
		}
		return "", &next
	}
}

// fill takes numbers from the present row on, or of other rows, says of which,
// and goes on to the first row that waits. An empty line, and one that says
// “can't tell”, leave the present row out.
func (s *sitting) fill(line string) (rows []int, err error) {
	if line == "" || slices.Contains(doubts, strings.ToLower(line)) {
		line = "-"
	}
	if rows, err = s.sheet.Fill(line, s.at); err != nil {
		return nil, err
	}
	for _, row := range rows {
		s.waits[row] = false
	}
	if s.at = slices.Index(s.waits, true); s.at < 0 {
		s.at = len(s.waits)
	}
	return rows, nil
}

// change takes numbers of rows that were asked for before. A bare number is
// refused, although the sheet would take it for the first row: after the last
// row nothing says which one is meant.
func (s *sitting) change(line string) error {
	if _, err := strconv.ParseFloat(strings.TrimSpace(line), 64); err == nil {
		return fmt.Errorf("%q does not say which row it is for", line)
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
