// Package terminal asks an expert in the terminal that runs the campaign:
// accept, reject or can't tell.
package terminal

import (
	"context"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/console"
)

// Reviewer asks one expert through a [console.Prompter]. Whoever sits at the
// terminal answers in the expert's name. Its methods are safe for concurrent
// use.
type Reviewer struct {
	expert string
	prompt console.Prompter
	now    func() time.Time

	mu        sync.Mutex
	questions map[string]*console.Once[humans.Answer]
}

// New returns a reviewer that asks the expert of that name. now is the clock by
// which the time left is shown; it decides nothing.
func New(expert string, prompt console.Prompter, now func() time.Time) *Reviewer {
	return &Reviewer{expert: expert, prompt: prompt, now: now, questions: make(map[string]*console.Once[humans.Answer])}
}

// Describe implements humans.Reviewer.
func (r *Reviewer) Describe() humans.Description {
	return humans.Description{Expert: r.expert}
}

// Ask implements humans.Reviewer. An answer that is not understood is explained
// and asked for again. It remembers answers as long as the process lives. The
// error wraps [console.ErrClosed] where nobody can answer.
func (r *Reviewer) Ask(ctx context.Context, q humans.Question) (humans.Answer, error) {
	if q.Expert != r.expert {
		return humans.Answer{}, fmt.Errorf("question %s is to %q, and %q is asked in this terminal", q.ID, q.Expert, r.expert)
	}
	r.mu.Lock()
	once := r.questions[q.ID]
	if once == nil {
		once = console.NewOnce[humans.Answer]()
		r.questions[q.ID] = once
	}
	r.mu.Unlock()
	return once.Get(ctx, func(ctx context.Context) (humans.Answer, error) {
		f := form(q, r.now())
		for {
			line, err := r.prompt.Prompt(ctx, f)
			if err != nil {
				return humans.Answer{}, fmt.Errorf("question %s to %s: %w", q.ID, r.expert, err)
			}
			a, err := parse(line)
			if err == nil {
				return a, nil
			}
			f.Problem = err.Error()
		}
	})
}

// form shows everything that the question carries.
func form(q humans.Question, now time.Time) console.Form {
	f := console.Form{
		Key:     path.Base(q.ID), // "q3" of "CAMPAIGN/q3"
		Title:   fmt.Sprintf("%s, is this composition worth the experiment?", q.Expert),
		Body:    console.Composition(q.Parameters, q.Point),
		Hint:    "a accept, r reject, ? can't tell; a comment may follow, as in: r too viscous",
		Expires: q.Expires,
	}
	add := func(format string, args ...any) { f.Body = append(f.Body, fmt.Sprintf(format, args...)) }
	if p := q.Prediction; p != nil {
		add("%s", strings.TrimSpace(fmt.Sprintf("the model expects %s %s ± %s %s",
			q.Objective.Name, significant(p.Mean, p.SD), significant(p.SD, p.SD), p.Unit)))
	}
	if q.Belief != nil {
		add("%s", belief(*q.Belief))
	}
	if q.Explanation != "" {
		add("%s", q.Explanation)
	}
	if !q.Expires.IsZero() {
		left := max(q.Expires.Sub(now), 0).Round(time.Second)
		add("answer within %v, by %s; then the campaign goes on without you", left, q.Expires.Local().Format("15:04:05"))
	}
	return f
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

func rejection(g float64) float64 { return 1 / (1 + math.Exp(-g)) }

// significant writes x to two significant digits of its standard deviation.
func significant(x, sd float64) string {
	if !(sd > 0) || math.IsInf(sd, 0) {
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	decimals := 1 - int(math.Floor(math.Log10(sd)))
	if decimals < -3 || decimals > 8 {
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	return strconv.FormatFloat(x, 'f', max(decimals, 0), 64)
}

// answers are the words that a person may begin with.
var answers = map[string]string{
	"a": events.AnswerAccept, "accept": events.AnswerAccept,
	"r": events.AnswerReject, "reject": events.AnswerReject,
	"?": events.AnswerUnsure, "unsure": events.AnswerUnsure,
	"can't tell": events.AnswerUnsure, "cant tell": events.AnswerUnsure, "can’t tell": events.AnswerUnsure,
}

// parse understands a line: an answer, and perhaps a comment.
func parse(line string) (humans.Answer, error) {
	words := strings.Fields(line)
	for n := min(2, len(words)); n > 0; n-- { // "can't tell" is two words
		word := strings.ToLower(strings.Join(words[:n], " "))
		answer, ok := answers[strings.TrimRight(word, ":,;.")]
		if !ok {
			continue
		}
		return humans.Answer{Answer: answer, Comment: strings.Join(words[n:], " ")}, nil
	}
	if len(words) > 0 && len(words[0]) > 1 && words[0][0] == '?' {
		return humans.Answer{Answer: events.AnswerUnsure, Comment: strings.TrimPrefix(strings.Join(words, " "), "?")}, nil
	}
	return humans.Answer{}, fmt.Errorf("%q is not an answer: begin with a (accept), r (reject) or ? (can't tell)", line)
}
