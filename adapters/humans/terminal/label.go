package terminal

import (
	"fmt"
	"math"
	"strings"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// showLabel asks whether a composition is worth the experiment. The prediction
// goes below the composition, or the reasons where they hold it; the belief
// about the expert and what won't means go where there is room for them.
func showLabel(f *console.Form, q humans.Question) {
	option := q.Options[0]
	f.Title = fmt.Sprintf("%s, is this composition worth the experiment?", q.Expert)
	f.Body = console.Composition(console.NewCompositions(q.Parameters, q.Steps).Outside(q.Excluded),
		option.Parameters)
	f.Brief = "a, r, w or ?"
	f.Hint = "a accept, r reject, w won't, ? can't tell; and why, as in: r too viscous"
	// The campaign's explanation often begins with its prediction: that is written once.
	expects := "the model expects " + q.Objective.Name
	expected, reasons := "", q.Explanation
	if p := option.Prediction; p != nil {
		expected = expects + " " + format.PlusMinus(p.Mean, p.SD, p.Unit)
		if strings.Contains(strings.ToLower(reasons), strings.ToLower(expects)) {
			expected, reasons = reasons, ""
		}
	}
	f.Body = console.Join(f.Body, console.Sentences(expected))
	more(f, reasons)
	if option.Belief != nil {
		more(f, belief(*option.Belief))
	}
	more(f, "won't is a reject that sticks: nothing near it is suggested any more")
}

// belief puts the interval of the expert's latent rejection score g into words.
// The bounds are logits: S(g) is the probability of a rejection (Xu et al.
// 2024, Eq. 5).
func belief(g events.Interval) string {
	low, high := rejection(g.Lower), rejection(g.Upper)
	span := fmt.Sprintf("%.0f %% to %.0f %%", 100*low, 100*high)
	if math.Round(100*low) == math.Round(100*high) {
		span = fmt.Sprintf("about %.0f %%", 100*low)
	}
	switch {
	case g.Upper < 0:
		return fmt.Sprintf("from your answers so far you would accept it (rejection %s likely)", span)
	case g.Lower > 0:
		return fmt.Sprintf("from your answers so far you would reject it (rejection %s likely)", span)
	}
	return fmt.Sprintf("your answers so far leave it open (rejection %s likely)", span)
}

// rejection is S(g), the logistic function. It is the same S by which the model
// reads labels.
func rejection(g float64) float64 { return 1 / (1 + math.Exp(-g)) }

// replies are the words that an answer may begin with, besides those of doubt.
var replies = func() map[string]humans.Reply {
	accept := humans.Reply{Answer: events.Answer{Label: events.LabelAccept}}
	reject := humans.Reply{Answer: events.Answer{Label: events.LabelReject}}
	wont := reject
	wont.Exclude = true
	return map[string]humans.Reply{
		"a": accept, "accept": accept,
		"r": reject, "reject": reject,
		"w": wont, "won't": wont, "wont": wont, "won’t": wont, "exclude": wont,
	}
}()

// parseLabel understands an answer, and perhaps a comment. A comment needs no
// colon, since the answer is always one word.
func parseLabel(_ humans.Question, line string) (humans.Reply, error) {
	if comment, ok := doubt(line); ok {
		return humans.Reply{Comment: comment}, nil
	}
	word, comment, _ := strings.Cut(line, " ")
	if reply, ok := replies[strings.TrimRight(strings.ToLower(word), ":,;.")]; ok {
		reply.Comment = strings.TrimSpace(comment)
		return reply, nil
	}
	return humans.Reply{}, fmt.Errorf("%q is not an answer: "+
		"begin with a (accept), r (reject), w (won't) or ? (can't tell)",
		line)
}
