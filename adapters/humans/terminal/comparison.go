package terminal

import (
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// showComparison asks for an order of compositions. Of two options the better one is the whole
// answer; of more an order, or its first few places. The basis of the models' view stands after the
// campaign's objective, in a width that is known only when the form is drawn.
func showComparison(f *console.Form, q humans.Question) {
	n := len(q.Options)
	if n == 2 {
		f.Title = fmt.Sprintf("%s, which is better, A or B?", q.Expert)
		f.Hint, f.Brief = "A or B, ? can't tell; and why, as in: B less viscous", "A, B or ?"
	} else {
		f.Title = fmt.Sprintf("%s, order these from the best to the worst: %s", q.Expert,
			humans.OptionNames(n))
		f.Hint = "the letters, best first, as in B A C, or the first few; ? can't tell"
		f.Brief = "best first, or ?"
		if n > 'M'-'A' { // m names an option
			f.Page = "more"
		}
	}
	points := make([]definition.Point, n)
	for i, o := range q.Options {
		points[i] = o.Parameters
	}
	compositions := console.NewCompositions(q.Parameters, q.Steps).Outside(q.Excluded).Apart(points...)
	f.Body = console.Options(compositions, q.Options, humans.OptionName)
	more(f, aim(q.Objective))
	if q.Attributions != nil {
		f.More = console.Join(f.More,
			func(width, _ int) []string { return attributions(*q.Attributions, q, width) })
	}
	more(f, q.Explanation)
}

// parseComparison understands an order and perhaps a comment, after a colon or,
// where one letter says all, after the letter. With more than two options a
// comment needs its colon: a word behind the letters may be a mistyped order.
func parseComparison(q humans.Question, line string) (humans.Reply, error) {
	if comment, ok := doubt(line); ok {
		return humans.Reply{Comment: comment}, nil
	}
	n := len(q.Options)
	text, comment := remark(line)
	order, err := humans.ParseOrder(text, n)
	if err != nil && n == 2 {
		text, comment, _ = strings.Cut(line, " ")
		order, err = humans.ParseOrder(text, n)
	}
	if err == nil {
		return humans.Reply{Answer: events.Answer{Order: order}, Comment: strings.TrimSpace(comment)}, nil
	}
	how := "begin with A or B, the better one,"
	if n > 2 {
		how = "name the best of " + humans.OptionNames(n) + " first, and a comment after a colon,"
	}
	return humans.Reply{}, fmt.Errorf("%q is not an answer: %s or with ? (can't tell)", line, how)
}
