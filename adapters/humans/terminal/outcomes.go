package terminal

import (
	"fmt"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/adapters/humans"
)

// showOutcomes asks for the better one of two outcomes. What was made is behind
// them: it is the outcomes that are compared.
func showOutcomes(f *console.Form, q humans.Question) {
	f.Title = fmt.Sprintf("%s, which outcome would you rather have, A or B?", q.Expert)
	f.Hint, f.Brief = "A or B, ? can't tell; and why, as in: B thin enough", "A, B or ?"
	compositions := console.NewCompositions(q.Parameters, q.Steps).Outside(q.Excluded)
	for i, o := range q.Options {
		if o.Outcome == nil {
			continue // a question of another program
		}
		f.Body = console.Join(f.Body, console.Sentences(fmt.Sprintf("%s  %s (%s)",
			humans.OptionName(i), humans.OutcomeLine(*o.Outcome), humans.OutcomeOrigin(*o.Outcome))))
		more(f, fmt.Sprintf("%s is of %s", humans.OptionName(i), compositions.Line(o.Parameters)))
	}
	more(f, q.Explanation)
}
