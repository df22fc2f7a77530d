package events

import (
	"time"

	"github.com/campaignd/campaignd/events/definition"
)

// Answers to an accept-or-reject question.
const (
	AnswerAccept = "accept" // worth the experiment
	AnswerReject = "reject" // not worth it
	AnswerUnsure = "unsure" // can't tell
	AnswerRefuse = "refuse" // won't: a reject that sticks, see RegionRefused
)

// Interval is a closed interval of a real quantity.
type Interval struct {
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// Prediction is what the objective model expects at a point.
type Prediction struct {
	// Mean and SD are the posterior mean and standard deviation of the
	// objective without noise, in Unit.
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
	Unit string  `json:"unit,omitempty"`
}

// LabelRequested is a question to an expert: is this composition worth the
// experiment? It records what the expert was shown.
type LabelRequested struct {
	// Question is the identifier, "q1", "q2", … in order of request.
	Question string `json:"question"`
	Expert   string `json:"expert"`
	// Parameters is the composition asked about.
	Parameters definition.Point `json:"parameters"`
	// Prediction and Belief are shown with the question, where there is a model.
	Prediction *Prediction `json:"prediction,omitempty"`
	// Belief bounds the expert's latent rejection score g at the point, in
	// logits (Xu et al. 2024, Eq. 5): positive means likely rejected.
	Belief *Interval `json:"belief,omitempty"`
	// Explanation is the sentence shown with the question.
	Explanation string `json:"explanation,omitempty"`
	Decision    string `json:"decision,omitempty"`
	// Expires is when the campaign goes on without an answer; absent: never.
	Expires time.Time `json:"expires,omitzero"`
}

// LabelGiven is an expert's answer.
type LabelGiven struct {
	// Question is the question answered; for a volunteered label it is a
	// question of its own that nobody asked.
	Question string `json:"question"`
	Expert   string `json:"expert"`
	// Parameters repeats the composition, so that the event stands alone.
	Parameters definition.Point `json:"parameters"`
	// Answer is one of the Answer constants.
	Answer string `json:"answer"`
	// Volunteered marks a label the expert gave unasked, for example an
	// initial example.
	Volunteered bool   `json:"volunteered,omitempty"`
	Comment     string `json:"comment,omitempty"`
}

// LabelSuperseded replaces an earlier answer about an expert's question. The
// event's actor is who changed it.
type LabelSuperseded struct {
	Question string `json:"question"`
	Expert   string `json:"expert"`
	// Supersedes is the ID of the event whose answer no longer counts.
	Supersedes string `json:"supersedes"`
	// Parameters repeats the composition, so that the event stands alone.
	Parameters definition.Point `json:"parameters"`
	Answer     string           `json:"answer"`
	Reason     string           `json:"reason,omitempty"`
}

// LabelExpired says that nobody answered in time.
type LabelExpired struct {
	Question string `json:"question"`
}

// LabelWithdrawn says that the question is no longer needed.
type LabelWithdrawn struct {
	Question string `json:"question"`
	Reason   string `json:"reason"`
	// Moot is as in [QuestionWithdrawn].
	Moot bool `json:"moot,omitempty"`
}

func (LabelRequested) Kind() Kind  { return KindLabelRequested }
func (LabelGiven) Kind() Kind      { return KindLabelGiven }
func (LabelSuperseded) Kind() Kind { return KindLabelSuperseded }
func (LabelExpired) Kind() Kind    { return KindLabelExpired }
func (LabelWithdrawn) Kind() Kind  { return KindLabelWithdrawn }
