package events

import (
	"time"

	"github.com/campaignd/campaignd/events/definition"
)

// Option is one of the compositions that a question is about, with what was
// shown with it.
type Option struct {
	// Candidate names the candidate of the decision, where a decision asked.
	Candidate  string           `json:"candidate,omitempty"`
	Parameters definition.Point `json:"parameters"`
	// Prediction is the objective model's, where there is one.
	Prediction *Prediction `json:"prediction,omitempty"`
	// Belief bounds the expert's latent rejection score g there, in logits (Xu
	// et al. 2024, Eq. 5): positive means likely rejected. It is shown with a
	// label.
	Belief *Interval `json:"belief,omitempty"`
	// Outcome to compare, where outcomes are compared; the composition is then its origin.
	Outcome *Outcome `json:"outcome,omitempty"`
}

// QuestionAsked is a question to an expert. It records what the expert was
// shown.
type QuestionAsked struct {
	// Question is the identifier, "q1", "q2", … in order: questions of all
	// forms share one count.
	Question string `json:"question"`
	// Form of the answer that is asked for.
	Form   Form   `json:"form"`
	Expert string `json:"expert"`
	// Options are the compositions that the question is about, in the order in
	// which they are shown: the one to be labelled, those to be compared or
	// estimated, none for a pinpoint.
	Options []Option `json:"options,omitempty"`
	// Scale says what the numbers of an estimate mean; other forms have none.
	Scale *Scale `json:"scale,omitempty"`
	// Suggestion is the composition that the campaign itself would measure in place of a pinpoint,
	// where it has a view.
	Suggestion *Option `json:"suggestion,omitempty"`
	// Explanation is the sentence shown with the question.
	Explanation string `json:"explanation,omitempty"`
	// Attributions say what the models base their view of the options on
	// (Adachi et al. 2024, §3.3), where they are shown.
	Attributions *Attributions `json:"attributions,omitempty"`
	Decision     string        `json:"decision,omitempty"`
	// Standard is how outcomes are standardized, where outcomes are compared:
	// that of the first such question holds.
	Standard []OutcomeScale `json:"standard,omitempty"`
	// Expires is when the campaign goes on without an answer; absent: never.
	Expires time.Time `json:"expires,omitzero"`
	// ByHand says whether it was asked on the way to a suggestion, where people
	// run the experiments and come back when they come back: questions then
	// expire only where the definition sets a time that is not the default.
	// Absent, in logs of 0.1.0, nothing says so.
	ByHand *bool `json:"by_hand,omitempty"`
}

// QuestionAnswered is an expert's answer.
type QuestionAnswered struct {
	// Question is the question answered; for a volunteered answer it is a
	// question of its own that was never asked.
	Question string `json:"question"`
	Form     Form   `json:"form"`
	Expert   string `json:"expert"`
	// Options and Scale repeat what the question is about, so that the event
	// stands alone.
	Options []definition.Point `json:"options,omitempty"`
	Scale   *Scale             `json:"scale,omitempty"`
	// Outcomes are those of the options, where outcomes are compared.
	Outcomes []Outcome `json:"outcomes,omitempty"`
	Answer   Answer    `json:"answer"`
	// Volunteered marks an answer that the expert gave unasked, for example an
	// initial example.
	Volunteered bool   `json:"volunteered,omitempty"`
	Comment     string `json:"comment,omitempty"`
	// Took is how long the expert had the question before them, in seconds,
	// where the channel knows: from when it was shown to when it was answered.
	Took float64 `json:"took,omitempty"`
	// Shown is the channel's account of what it showed with the question, if it gives one.
	Shown *Shown `json:"shown,omitempty"`
	// Program is the program that answered, where it was no person and no
	// simulation.
	Program *Program `json:"program,omitempty"`
}

// Shown describes what an expert saw with a question: together with the question itself and the log
// up to that event, all that was before their eyes.
type Shown struct {
	// At is the sequence of the campaign's last event that what was shown is
	// made from.
	At Sequence `json:"at"`
	// Best is the experiment shown as the best so far.
	Best string `json:"best,omitempty"`
	// Nearest are the measured experiments shown with the options, in the
	// order of the options.
	Nearest []string `json:"nearest,omitempty"`
}

// QuestionSuperseded replaces an earlier answer to an expert's question: a
// pinpoint before the campaign has taken it up, anything else at any time. The
// event's actor is who changed it.
type QuestionSuperseded struct {
	Question string `json:"question"`
	Form     Form   `json:"form"`
	Expert   string `json:"expert"`
	// Supersedes is the ID of the event whose answer no longer counts.
	Supersedes string `json:"supersedes"`
	// Options and Scale repeat what the question is about, so that the event
	// stands alone.
	Options []definition.Point `json:"options,omitempty"`
	Scale   *Scale             `json:"scale,omitempty"`
	// Outcomes are those of the options, where outcomes are compared.
	Outcomes []Outcome `json:"outcomes,omitempty"`
	Answer   Answer    `json:"answer"`
	Reason   string    `json:"reason,omitempty"`
	// Took and Shown are those of this answer, as in [QuestionAnswered].
	Took  float64 `json:"took,omitempty"`
	Shown *Shown  `json:"shown,omitempty"`
}

// QuestionContested is an answer of a person who did not know that another one
// counted by then. It is kept, and does not count; a person who sees both can
// make either count by superseding. The event's actor is who gave it.
type QuestionContested struct {
	Question string `json:"question"`
	Form     Form   `json:"form"`
	Expert   string `json:"expert"`
	// Counts is the ID of the event whose answer counts.
	Counts string `json:"counts"`
	// Options and Scale repeat what the question is about, so that the event
	// stands alone.
	Options []definition.Point `json:"options,omitempty"`
	Scale   *Scale             `json:"scale,omitempty"`
	// Outcomes are those of the options, where outcomes are compared.
	Outcomes []Outcome `json:"outcomes,omitempty"`
	Answer   Answer    `json:"answer"`
	// Exclude is set where they also wanted nothing near the composition
	// suggested any more, which was not done.
	Exclude bool   `json:"exclude,omitempty"`
	Comment string `json:"comment,omitempty"`
	// Took and Shown are as in [QuestionAnswered].
	Took  float64 `json:"took,omitempty"`
	Shown *Shown  `json:"shown,omitempty"`
}

// QuestionExpired says that the question was not answered in time.
type QuestionExpired struct {
	Question string `json:"question"`
}

// QuestionWithdrawn says that the campaign no longer needs the answer.
type QuestionWithdrawn struct {
	Question string `json:"question"`
	Reason   string `json:"reason"`
	// Moot is set where the campaign itself has no more use for the answer: the
	// question counts against no budget.
	Moot bool `json:"moot,omitempty"`
}

// Subject implements Payload.
func (p QuestionAsked) Subject() string      { return p.Question }
func (p QuestionAnswered) Subject() string   { return p.Question }
func (p QuestionSuperseded) Subject() string { return p.Question }
func (p QuestionContested) Subject() string  { return p.Question }
func (p QuestionExpired) Subject() string    { return p.Question }
func (p QuestionWithdrawn) Subject() string  { return p.Question }
