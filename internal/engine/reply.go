package engine

import (
	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Heard returns the events for a reviewer's reply to a question, or for the lack of one, and
// their actor; none for a reply that comes too late to be of use. over is set if the wait for the reply had
// ended before it came.
//
// An answer that cannot be taken withdraws its question: it would otherwise be
// put to the same expert again without end.
func Heard(
	c Now, question string, r humans.Reply, over bool, failed error,
) (actor string, payloads []events.Payload) {
	const loop = "engine"
	q := c.Question(question)
	expert := "expert:" + q.Expert
	r.Comment = legible(r.Comment)
	switch {
	case q.Status == campaign.Answered && failed == nil:
		return expert, outrun(c, q, r, expert)
	case over:
		return "", nil
	case q.Status == campaign.Asked:
	case q.Status != campaign.Expired || failed != nil || Answerable(c.State, q) != nil:
		return "", nil
	}
	if failed != nil {
		return loop, []events.Payload{Withdrawn(q, "it could not be asked: "+legible(failed.Error()))}
	}
	payloads, err := answered(c, q, r)
	switch {
	case err == nil:
		return expert, payloads
	case q.Status == campaign.Expired:
		return "", nil // it is not awaited any more, and it says nothing
	}
	why := legible("the answer could not be taken: " + err.Error())
	return loop, []events.Payload{Withdrawn(q, why)}
}

// outrun keeps an answer of an expert to a question that another person has
// answered while they were asked. An answer that cannot be recorded is dropped.
func outrun(c Now, q *campaign.Question, r humans.Reply, expert string) []events.Payload {
	if events.ActorName(q.AnsweredBy) == q.Expert && r.Answer.Equal(q.Answer) {
		return nil // they have said it where it was heard first
	}
	payloads, err := contested(c, q, r, expert)
	if err != nil {
		return nil
	}
	return payloads
}
