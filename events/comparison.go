package events

import (
	"time"

	"github.com/campaignd/campaignd/events/definition"
)

// Option is one of the compositions that an expert compares, with what was
// shown beside it.
type Option struct {
	// Candidate names the candidate of the decision, where a decision asked.
	Candidate  string           `json:"candidate,omitempty"`
	Parameters definition.Point `json:"parameters"`
	// Prediction is the objective model's, where there is one.
	Prediction *Prediction `json:"prediction,omitempty"`
}

// ComparisonRequested is a question to an expert: which of these compositions
// is better? Two options are a pairwise choice, more a ranking. It records what
// the expert was shown.
type ComparisonRequested struct {
	// Question is the identifier, "q1", "q2", …: questions of all forms share one count.
	Question string `json:"question"`
	Expert   string `json:"expert"`
	// Options are the compositions, in the order they are shown.
	Options []Option `json:"options"`
	// Explanation is the sentence shown with the question.
	Explanation string `json:"explanation,omitempty"`
	// Attributions say what the models base their view of the options on
	// (Adachi et al. 2024, §3.3), where they are shown.
	Attributions *Attributions `json:"attributions,omitempty"`
	Decision     string        `json:"decision,omitempty"`
	// Expires is when the campaign goes on without an answer; absent: never.
	Expires time.Time `json:"expires,omitzero"`
}

// ComparisonGiven is an expert's answer.
type ComparisonGiven struct {
	// Question is the question answered; for a volunteered comparison it is a
	// question of its own that nobody asked.
	Question string `json:"question"`
	Expert   string `json:"expert"`
	// Options repeats the compositions, so that the event stands alone.
	Options []definition.Point `json:"options"`
	// Order lists the options from the best to the worst, counting from 0. An
	// expert may leave out what they cannot place, which then comes after the
	// others in no order. Empty: can't tell.
	Order []int `json:"order,omitempty"`
	// Volunteered marks a comparison the expert gave unasked, for example an
	// initial example.
	Volunteered bool   `json:"volunteered,omitempty"`
	Comment     string `json:"comment,omitempty"`
}

// ComparisonSuperseded replaces an earlier answer about an expert's question.
// The event's actor is who changed it.
type ComparisonSuperseded struct {
	Question string `json:"question"`
	Expert   string `json:"expert"`
	// Supersedes is the ID of the event whose answer no longer counts.
	Supersedes string `json:"supersedes"`
	// Options repeats the compositions, so that the event stands alone.
	Options []definition.Point `json:"options"`
	Order   []int              `json:"order,omitempty"`
	Reason  string             `json:"reason,omitempty"`
}

// PinpointRequested asks an expert for a composition of their own: what would
// you measure next?
type PinpointRequested struct {
	Question string `json:"question"`
	Expert   string `json:"expert"`
	// Suggestion is what the campaign would measure, where it has a view.
	Suggestion  *Option `json:"suggestion,omitempty"`
	Explanation string  `json:"explanation,omitempty"`
	Decision    string  `json:"decision,omitempty"`
	// Expires is when the campaign goes on without an answer; absent: never.
	Expires time.Time `json:"expires,omitzero"`
}

// PinpointGiven is an expert's own composition.
type PinpointGiven struct {
	Question string `json:"question"`
	Expert   string `json:"expert"`
	// Parameters is the composition; absent: can't tell.
	Parameters definition.Point `json:"parameters,omitempty"`
	Comment    string           `json:"comment,omitempty"`
}

// PinpointSuperseded replaces an earlier answer by another composition, before the
// campaign has taken it up. The earlier event stays.
type PinpointSuperseded struct {
	Question string `json:"question"`
	Expert   string `json:"expert"`
	// Supersedes is the ID of the event in which the answer stands.
	Supersedes string `json:"supersedes"`
	// Parameters is the composition; absent: can't tell.
	Parameters definition.Point `json:"parameters,omitempty"`
	Reason     string           `json:"reason,omitempty"`
}

// QuestionExpired says that nobody answered a comparison or a pinpoint in
// time.
type QuestionExpired struct {
	Question string `json:"question"`
}

// QuestionWithdrawn says that a comparison or a pinpoint is no longer needed.
type QuestionWithdrawn struct {
	Question string `json:"question"`
	Reason   string `json:"reason"`
	// Moot is set where the campaign itself has no more use for the answer: the
	// question counts against no budget.
	Moot bool `json:"moot,omitempty"`
}

// Attributions explain a choice between candidates to an expert (Adachi et al.
// 2024, §3.3).
type Attributions struct {
	// Shapley holds the Shapley values of each quantity at each candidate.
	Shapley []Shapley `json:"shapley,omitempty"`
	// Plane is the objective over the two strongest parameters.
	Plane *Plane `json:"plane,omitempty"`
}

// Quantities whose Shapley values are given, in standardised units of a
// maximised objective.
const (
	QuantityMean = "mean" // posterior mean
	QuantitySD   = "sd"   // posterior standard deviation
	QuantityUCB  = "ucb"  // upper confidence bound
)

// Shapley attributes a quantity at a candidate to the parameters. Base, what the
// model says on average of the compositions that were measured, and the sum of
// Values are what it says of the candidate. In decisions of version 2 of the
// policies they are what the measured compositions tell of it (Adachi et al.
// 2024, Prop. 4), of a standard deviation often far less.
type Shapley struct {
	Candidate string `json:"candidate"`
	// Quantity is one of the Quantity constants.
	Quantity string  `json:"quantity"`
	Base     float64 `json:"base"`
	// Parameters and Values go together; a parameter that takes several axes of
	// the encoded space has their sum.
	Parameters []string  `json:"parameters"`
	Values     []float64 `json:"values"`
}

// Plane is the objective's posterior over two parameters, the others as in the
// candidate that is named.
type Plane struct {
	Candidate string `json:"candidate"`
	X         string `json:"x"`
	Y         string `json:"y"`
	// Xs and Ys are the grid, in the parameters' units.
	Xs []float64 `json:"xs"`
	Ys []float64 `json:"ys"`
	// Mean and SD hold a row for each of Ys, in the campaign's unit.
	Mean [][]float64 `json:"mean"`
	SD   [][]float64 `json:"sd"`
}

// ChoiceReview says, once the chosen composition has been measured, how probable it is
// that the choice was right (Adachi et al. 2024, Eq. 101).
type ChoiceReview struct {
	Question   string `json:"question"`
	Expert     string `json:"expert"`
	Experiment string `json:"experiment"`
	// Probability that the chosen composition is better than the other.
	Probability float64 `json:"probability"`
}

func (ComparisonRequested) Kind() Kind  { return KindComparisonRequested }
func (ComparisonGiven) Kind() Kind      { return KindComparisonGiven }
func (ComparisonSuperseded) Kind() Kind { return KindComparisonSuperseded }
func (PinpointRequested) Kind() Kind    { return KindPinpointRequested }
func (PinpointGiven) Kind() Kind        { return KindPinpointGiven }
func (PinpointSuperseded) Kind() Kind   { return KindPinpointSuperseded }
func (QuestionExpired) Kind() Kind      { return KindQuestionExpired }
func (QuestionWithdrawn) Kind() Kind    { return KindQuestionWithdrawn }
