// Package terminal asks an expert in the terminal that runs the campaign: to accept or reject a
// composition, to compare some, to name one, or to say a number for each of many.
//
// A question becomes a [console.Form] in two steps: the show function of its form writes the
// question, and the parse function reads the line that comes back. forms pairs the two, one pair in
// a file of each form; explain.go writes the evidence of the models. Nothing here knows the screen:
// texts are functions of a width and a height, and package console decides which lines to draw.
package terminal

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// New returns a reviewer that asks the expert of that name through a
// [console.Prompter]: the person at the terminal answers in the expert's
// name. An answer that is not understood is explained and asked for again. now
// is the clock by which the time left is shown; it decides nothing. The error
// of a question wraps [console.ErrClosed] where no one can answer.
func New(expert string, prompt console.Prompter, now func() time.Time) humans.Reviewer {
	ask := func(ctx context.Context, q humans.Question, problem string) (humans.Reply, error) {
		f := form(q, now())
		f.Problem = problem
		for {
			line, err := prompt.Prompt(ctx, f)
			if err != nil {
				return humans.Reply{}, err
			}
			reply, err := forms[q.Form].parse(q, line)
			if err == nil {
				return reply, nil
			}
			f.Problem = err.Error()
		}
	}
	return reviewer{humans.NewReviewer(expert, ask)}
}

// reviewer has a screen for one question.
type reviewer struct{ humans.Reviewer }

// Describe implements humans.Reviewer.
func (r reviewer) Describe() humans.Description {
	d := r.Reviewer.Describe()
	d.OneAtATime = true
	return d
}

// width is how wide the lines of a question are where nothing is known of the
// screen: 80 columns, less what stands before them.
const width = 76

// form shows everything that the question carries. The time left is that of this
// moment and does not run down on the screen, which is why the time of day
// stands next to it.
func form(q humans.Question, now time.Time) console.Form {
	f := show(q)
	f.Key = path.Base(q.ID) // "q3" of "CAMPAIGN/q3"
	f.Expires = q.Expires
	if !q.Expires.IsZero() {
		left := max(q.Expires.Sub(now), 0).Round(time.Second)
		more(&f, fmt.Sprintf("answer within %v, by %s; then the campaign goes on without you",
			left, q.Expires.Local().Format("15:04:05")))
	}
	if begin := forms[q.Form].begin; begin != nil {
		begin(&f, q)
	}
	return f
}

// Show writes a question as the expert sees it, without the time left: a title in one line, and
// below it all that the question carries, in lines of at most 76 characters.
func Show(q humans.Question) (title string, body []string) {
	f := show(q)
	return f.Title, console.Join(f.Body, f.More).Lines(width)
}

// forms say how a question of each form is shown and its answer understood: the
// line that a person types, or that stands for all that they type where begin
// asks for several.
var forms = map[events.Form]struct {
	show  func(*console.Form, humans.Question)
	parse func(humans.Question, string) (humans.Reply, error)
	begin func(*console.Form, humans.Question)
}{
	events.FormLabel:      {showLabel, parseLabel, nil},
	events.FormComparison: {showComparison, parseComparison, nil},
	events.FormPinpoint:   {showPinpoint, parsePinpoint, nil},
	events.FormEstimate:   {showEstimate, parseEstimate, beginEstimate},
	events.FormOutcomes:   {showOutcomes, parseComparison, nil},
}

// show is the form of a question without the parts that belong to one prompt: its key, the time
// left, a sitting.
func show(q humans.Question) (f console.Form) {
	forms[q.Form].show(&f, q)
	return f
}

// more adds a sentence to what helps to judge.
func more(f *console.Form, sentence string) {
	f.More = console.Join(f.More, console.Sentences(sentence))
}

// aim states the campaign's objective.
func aim(o definition.Objective) string {
	text := "the campaign seeks to " + o.Goal + " " + o.Name
	if o.Unit != "" {
		text += " (" + o.Unit + ")"
	}
	return text
}

// doubts are the words by which a person says that they can't tell.
var doubts = []string{"?", "unsure", "can't tell", "cant tell", "can’t tell"}

// doubt reports whether a line says that the person can't tell, and their comment. A longer word
// that merely begins like one of doubt does not count.
func doubt(line string) (comment string, ok bool) {
	lower := strings.ToLower(line)
	for _, words := range doubts {
		rest, ok := strings.CutPrefix(lower, words)
		if ok && (words == "?" || rest == "" || strings.ContainsAny(rest[:1], " :,;.")) {
			return strings.TrimSpace(strings.TrimLeft(line[len(words):], " :,;.")), true
		}
	}
	return "", false
}

// remark separates an answer from the comment after a colon. A colon within a name or number does
// not separate: it counts before a space or at the end of the line.
func remark(line string) (answer, comment string) {
	if answer, ok := strings.CutSuffix(line, ":"); ok {
		return answer, ""
	}
	answer, comment, _ = strings.Cut(line, ": ")
	return strings.TrimSpace(answer), strings.TrimSpace(comment)
}
