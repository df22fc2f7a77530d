package app

import (
	"strings"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// subject finds the experiment or question among a command's arguments: the first, or the second
// after a target. It returns its index, −1 without one. A file that is named like an experiment is
// given as ./e1.
func subject(args []string) (n int) {
	for n = range min(len(args), 2) {
		if isSubject(args[n]) {
			return n
		}
	}
	return -1
}

// answer has an answer recorded, the first one or a changed one. args[n] is the question; an
// optional target stands before it, and the answer's words after it.
//
// The engine decides whether it is a first answer, a changed one or one that comes too late: `tell`
// and `correct` both end here. It counts regardless of any event recorded since the person looked:
// a command line does not know what they saw.
func (c *call) answer(args []string, n int, comment string) error {
	t, err := c.optionalTarget(args[:n])
	if err != nil {
		return err
	}
	return c.requestWith(c.ctx, t, func(state *campaign.State) (engine.Request, error) {
		id := args[n]
		if err := known(state, id); err != nil {
			return engine.Request{}, err
		}
		words := args[n+1:]
		reply, err := view.ParseAnswer(state.Definition, state.Question(id), strings.Join(words, " "))
		if err != nil && len(words) > 0 {
			return engine.Request{}, badInput("%w; a remark goes into --comment", err)
		}
		reply.Comment = comment
		return engine.Request{Answer: &engine.Answer{Question: id, Reply: reply}}, err
	})
}
