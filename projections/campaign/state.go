// Package campaign is the projection that all others, the engine and every reader rest on:
// questions, measurements, decisions and costs, and everything pending. A [Projection] folds a
// campaign's events into one [State]; an event that contradicts the state is an error and leaves it
// as it was, which is how a forged or damaged log is found. A State holds the definition in force,
// every [Experiment] and [Question] in order, so that e7 is the seventh, and is never changed by
// its readers.
package campaign

import (
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Status of a campaign.
type Status string

const (
	Undefined Status = ""          // no campaign.defined yet
	Running   Status = "running"   // decisions are being made
	Paused    Status = "paused"    // nothing new is started
	Stopped   Status = "stopped"   // ended at a person's word
	Completed Status = "completed" // ended by its own rules
)

// Ended reports whether the campaign is over.
func (s Status) Ended() bool { return s == Stopped || s == Completed }

// ExperimentStatus says how far an experiment has come.
type ExperimentStatus string

const (
	Requested  ExperimentStatus = "requested"  // intended; no instrument has seen it
	Dispatched ExperimentStatus = "dispatched" // handed to an instrument
	Started    ExperimentStatus = "started"    // confirmed by the instrument
	Measured   ExperimentStatus = "measured"
	Failed     ExperimentStatus = "failed"
	Infeasible ExperimentStatus = "infeasible" // the composition cannot be made or measured
	Deferred   ExperimentStatus = "deferred"   // it did not take place; it is to be tried again
	Cancelled  ExperimentStatus = "cancelled"
	Unresolved ExperimentStatus = "unresolved" // its fate is unknown: a person must settle it
)

// Open reports whether the experiment's outcome is still to come.
func (s ExperimentStatus) Open() bool {
	return s == Requested || s == Dispatched || s == Started || s == Unresolved
}

// CalledOff reports whether the experiment did not take place.
func (s ExperimentStatus) CalledOff() bool { return s == Cancelled || s == Deferred }

// Outcome is the status of an ended experiment in the words of people's
// corrections, empty for an open one.
func (s ExperimentStatus) Outcome() events.Resolution {
	switch s {
	case Measured:
		return events.ResolvedMeasured
	case Failed:
		return events.ResolvedFailed
	case Infeasible:
		return events.ResolvedInfeasible
	case Deferred, Cancelled:
		return events.ResolvedNotPerformed
	}
	return ""
}

// Experiment is the state of one experiment. Programs read it as [Written].
type Experiment struct {
	ID         string
	Status     ExperimentStatus
	Parameters definition.Point
	Origin     events.Origin
	Decision   string
	// Batch is that in which it goes through the procedure; empty before it is planned.
	Batch string
	// Turn is the turn that it ended, or whose experiment it repeats; 0 for
	// none.
	Turn      int
	Replicate int
	// Command orders an instrument to run it.
	Command Command
	// Measurement is the result that counts: the latest correction of it. A failed experiment may
	// have one too: the values from before the failure.
	Measurement *events.Measurement
	// Retracted is the measurement that a correction of the outcome took back:
	// what another correction starts from.
	Retracted *events.Measurement
	// Source is the ID of the event with the outcome, empty before it.
	Source string
	// Excluded takes the outcome out of the models: a measurement out of that of the objective, a
	// failure out of the feasibility model. That of a reference experiment always is.
	Excluded bool
	// Without are the quantities of the measurement that are left out of the
	// models, where the others count; see [Experiment.Counts].
	Without []string
	// Later are the quantities that were to arrive later when it was measured:
	// see [State.Awaited].
	Later []string
	// Elsewhere is set where what was made is not what was asked for.
	Elsewhere bool
	// Outside is the reason why the campaign could not ask for a measured experiment
	// now: see [space.Bounds.Outside]. It is in the models that people are shown, and
	// compared with no other: see [State.Compared]. Astray is set where the campaign
	// could ask for what was asked: then it is in the models of decisions, too, which
	// would ask for it again otherwise.
	Outside string
	Astray  bool
	// Flag is the latest verdict on the measurement, nil where nothing is wrong
	// with it.
	Flag *events.MeasurementFlagged
	// Simulated marks a result of a simulated instrument.
	Simulated bool
	// Once is as in [events.ExperimentCancelled].
	Once bool
	// Cause is the reason for a missing result, or for an unknown fate.
	Cause string
	// RequestedAt and EndedAt are the times of the events. EndedAt is when the outcome was first
	// recorded: a correction leaves it.
	RequestedAt time.Time
	EndedAt     time.Time
	// LastEvent is the ID of the latest event about it, Trace that event's
	// trace.
	LastEvent string
	Trace     string
}

// QuestionStatus says what became of a question.
type QuestionStatus string

const (
	Asked     QuestionStatus = "asked"
	Answered  QuestionStatus = "answered"
	Expired   QuestionStatus = "expired"
	Withdrawn QuestionStatus = "withdrawn"
)

// Question is the state of one question, or of one volunteered answer.
type Question struct {
	ID     string         `json:"id"`
	Status QuestionStatus `json:"status"`
	Form   events.Form    `json:"form"`
	Expert string         `json:"expert"`
	// Options, Scale and Suggestion are as in [events.QuestionAsked].
	Options      []events.Option      `json:"options,omitempty"`
	Scale        *events.Scale        `json:"scale,omitempty"`
	Suggestion   *events.Option       `json:"suggestion,omitempty"`
	Attributions *events.Attributions `json:"attributions,omitempty"`
	Explanation  string               `json:"explanation,omitempty"`
	Decision     string               `json:"decision,omitempty"`
	// Turn is the turn in which it was asked; 0 where no decision asked it.
	Turn int `json:"turn,omitempty"`
	// Answer is the answer that counts, the latest that superseded it. Without
	// one, and where the expert could not tell, it is zero: Status tells the
	// two apart.
	Answer  events.Answer `json:"answer,omitzero"`
	Comment string        `json:"comment,omitempty"`
	// Source is the ID of the event Answer came from, AnsweredBy that event's
	// actor.
	Source     string `json:"source,omitempty"`
	AnsweredBy string `json:"answered_by,omitempty"`
	// Aside are the answers to it that do not count, in the order in which that
	// became so.
	Aside       []Aside `json:"aside,omitempty"`
	Volunteered bool    `json:"volunteered,omitempty"`
	// Moot is set where the campaign itself withdrew it since it has no more
	// use for it.
	Moot       bool      `json:"moot,omitempty"`
	AskedAt    time.Time `json:"asked_at,omitzero"`
	Expires    time.Time `json:"expires,omitzero"`
	AnsweredAt time.Time `json:"answered_at,omitzero"`
	// Experiments is how many experiments had been requested when it was asked.
	Experiments int `json:"experiments"`
	// LastEvent is the ID of the latest event about it, Trace that event's
	// trace.
	LastEvent string `json:"last_event"`
	Trace     string `json:"trace,omitempty"`
}

// Aside is an answer that does not count: it came when another one stood that
// its giver did not know, or it was replaced.
type Aside struct {
	// ID is that of the event which holds it, Actor who gave it.
	ID     string        `json:"id"`
	Actor  string        `json:"actor"`
	Answer events.Answer `json:"answer"`
	// At is since when it does not count.
	At       time.Time `json:"at"`
	Replaced bool      `json:"replaced,omitempty"`
}

// Trust is how far an expert is trusted.
type Trust struct {
	Expert string  `json:"expert"`
	Lambda float64 `json:"lambda"`
}

// Note is a person's remark.
type Note struct {
	Text  string    `json:"text"`
	About string    `json:"about,omitempty"`
	Actor string    `json:"actor"`
	Time  time.Time `json:"time"`
}

// State is everything that is known of a campaign apart from its models.
type State struct {
	Name       string               `json:"name"`
	Instance   string               `json:"instance,omitempty"` // see events.CampaignDefined
	Epoch      string               `json:"epoch,omitempty"`    // see events.RecoveryDone
	Status     Status               `json:"status"`
	Reason     string               `json:"reason,omitempty"` // why it was paused, stopped or completed
	Definition *definition.Campaign `json:"definition,omitempty"`
	Source     string               `json:"source,omitempty"`
	DefinedAt  time.Time            `json:"defined_at,omitzero"`
	EndedAt    time.Time            `json:"ended_at,omitzero"`
	// Sequence and LastEvent are those of the last event folded.
	Sequence  events.Sequence `json:"sequence"`
	LastEvent string          `json:"last_event"`
	// DefinedBy is the ID of the event that holds the present definition.
	DefinedBy string `json:"defined_by,omitempty"`

	// Experiments in order of request: Experiments[i].ID is
	// events.ExperimentID(i+1).
	Experiments []Experiment `json:"experiments,omitempty"`
	// Outside are the identifiers of the experiments whose Outside is set, in order,
	// Astray those of them whose Astray is.
	Outside []string `json:"outside,omitempty"`
	Astray  []string `json:"astray,omitempty"`
	// ResumedAt is how many experiments there were when the campaign was last
	// resumed.
	ResumedAt int `json:"resumed_at,omitempty"`
	// ResumedOn is the time of that.
	ResumedOn time.Time `json:"resumed_on,omitzero"`
	// Contradicted is the experiment whose settled fate the instrument has
	// contradicted since the campaign was resumed last; empty for none.
	Contradicted string `json:"contradicted,omitempty"`
	// Batches and Acts are those of a campaign with a procedure, in order: Batches[i].ID is
	// events.BatchID(i+1), and so for acts.
	Batches []Batch `json:"batches,omitempty"`
	Acts    []Act   `json:"acts,omitempty"`
	// Questions in order: Questions[i].ID is events.QuestionID(i+1).
	Questions []Question `json:"questions,omitempty"`
	// Exclusions in order: Exclusions[i].ID is events.ExclusionID(i+1).
	Exclusions []Exclusion `json:"exclusions,omitempty"`
	// Decisions counts the decisions made, Turns the turns that are over: see
	// turn.go.
	Decisions int `json:"decisions"`
	Turns     int `json:"turns,omitempty"`
	// Gains are what the latest experiments of a trade-off were expected to gain, one
	// after the other, [definition.GainTurns] of them at most: as shares of the
	// hypervolume, by the decisions to run them. One whose gain is not known, and
	// an amendment, begin anew.
	Gains []float64 `json:"gains,omitempty"`
	Trust []Trust   `json:"trust,omitempty"`
	// Proposals are what the campaign's method has answered when it was asked for
	// the next decision, where it is a program, in order.
	Proposals []events.MethodAnswered `json:"proposals,omitempty"`
	Notes     []Note                  `json:"notes,omitempty"`
	// Files in order: Files[i].ID is events.FileID(i+1).
	Files []File `json:"files,omitempty"`
	// Safety are the devices that were ordered to their safe state since the campaign was last resumed.
	Safety []Safety `json:"safety,omitempty"`
	// Stocks are what commands use up, in the order of their names.
	Stocks []Stock `json:"stocks,omitempty"`
	// Failure is the cause of the last fit, if it failed.
	Failure string `json:"failure,omitempty"`
	// Recoveries counts the times a new process took over.
	Recoveries int `json:"recoveries,omitempty"`
	// Trace is the trace of the campaign.
	Trace string `json:"trace,omitempty"`
}

// InDoubt reports whether a doubt about the measurement is not settled yet.
func (x *Experiment) InDoubt() bool {
	if x.Flag == nil {
		return false
	}
	switch x.Flag.Verdict {
	case events.VerdictSuspect, events.VerdictKept, events.VerdictSame:
		return true
	}
	return false
}

// Experiment returns the experiment with the given identifier, or nil.
func (s *State) Experiment(id string) *Experiment {
	if n := events.ExperimentNumber(id); 1 <= n && n <= len(s.Experiments) {
		return &s.Experiments[n-1]
	}
	return nil
}

// Question returns the question with the given identifier, or nil.
func (s *State) Question(id string) *Question {
	if n := events.QuestionNumber(id); 1 <= n && n <= len(s.Questions) {
		return &s.Questions[n-1]
	}
	return nil
}

// Spent counts the experiments that count against the budget: all but imported,
// cancelled and deferred ones, and references. It includes those still open. What is open
// counts, or a campaign with several commands under way could spend more than
// it has.
func (s *State) Spent() int {
	n := 0
	for i := range s.Experiments {
		if s.Experiments[i].Counted() {
			n++
		}
	}
	return n
}

// reopen lets a campaign go on that had completed because nothing was left to spend or to try, once
// a correction has given something back. One that a person stopped, or that reached its target,
// stays as it is.
func (s *State) reopen() {
	done := s.Reason == events.CompletedBudget || s.Reason == events.CompletedExhausted
	if s.Status == Completed && done && s.Left() > 0 {
		s.Status = Running
		s.Reason = ""
		s.EndedAt = time.Time{}
	}
}

// Count returns how many experiments have one of the given statuses.
func (s *State) Count(statuses ...ExperimentStatus) int {
	n := 0
	for i := range s.Experiments {
		for _, status := range statuses {
			if s.Experiments[i].Status == status {
				n++
			}
		}
	}
	return n
}

// Labels counts the labels given, initial and volunteered ones included; "can't
// tell" is not a label.
func (s *State) Labels() int {
	n := 0
	for i := range s.Questions {
		if s.Questions[i].IsLabel() {
			n++
		}
	}
	return n
}

// Comparisons counts the comparisons that were answered with an order, initial
// and volunteered ones included.
func (s *State) Comparisons() int {
	n := 0
	for i := range s.Questions {
		if q := &s.Questions[i]; q.Form == events.FormComparison && !q.Answer.Unsure() {
			n++
		}
	}
	return n
}

// AskedCount counts the questions that were put to a person or simulated
// expert, answered or not. Volunteered labels are not among them.
func (s *State) AskedCount() int {
	n := 0
	for i := range s.Questions {
		if !s.Questions[i].Volunteered {
			n++
		}
	}
	return n
}

// IsLabel reports whether the question holds an accept or a reject that counts.
func (q *Question) IsLabel() bool {
	return q.Form == events.FormLabel && q.Status == Answered && !q.Answer.Unsure()
}

// Unsure reports whether the expert answered that they cannot tell.
func (q *Question) Unsure() bool { return q.Status == Answered && q.Answer.Unsure() }

// Composition returns the one composition that the question is about or that answers it: the one
// that a label judges, or a pinpointed one. It is nil for other questions.
func (q *Question) Composition() definition.Point {
	if q.Form == events.FormLabel {
		return q.Options[0].Parameters
	}
	return q.Answer.Point
}

// Winner returns the option that the expert holds best, nil without such an answer. For a ranking
// it is the first place.
func (q *Question) Winner() *events.Option {
	if len(q.Answer.Order) == 0 {
		return nil
	}
	return &q.Options[q.Answer.Order[0]]
}

// Points returns the compositions of the options.
func (q *Question) Points() []definition.Point {
	points := make([]definition.Point, len(q.Options))
	for i := range q.Options {
		points[i] = q.Options[i].Parameters
	}
	return points
}

// Outcomes returns the compared outcomes; nil where compositions are compared.
func (q *Question) Outcomes() (all []events.Outcome) {
	for i := range q.Options {
		if o := q.Options[i].Outcome; o != nil {
			all = append(all, *o)
		}
	}
	return all
}

// Exclusion is a region in which a person wants nothing suggested.
type Exclusion struct {
	ID     string            `json:"id"`
	Region definition.Region `json:"region"`
	About  string            `json:"about,omitempty"`
	Reason string            `json:"reason"`
	Actor  string            `json:"actor"`
	Time   time.Time         `json:"time"`
	// Lifted is set once a person has allowed it again.
	Lifted bool `json:"lifted,omitempty"`
}

// exclusion returns the exclusion with the given identifier, or nil.
func (s *State) exclusion(id string) *Exclusion {
	if n := events.ExclusionNumber(id); 1 <= n && n <= len(s.Exclusions) {
		return &s.Exclusions[n-1]
	}
	return nil
}

// Excluded returns the regions that people have excluded and not allowed
// again.
func (s *State) Excluded() []definition.Region {
	var regions []definition.Region
	for _, r := range s.Exclusions {
		if !r.Lifted {
			regions = append(regions, r.Region)
		}
	}
	return regions
}

// Bounded returns the present definition with people's exclusions among its excluded regions: the
// design space is made from it. The definition itself stays as it was recorded.
func (s *State) Bounded() definition.Campaign {
	def := *s.Definition
	if excluded := s.Excluded(); excluded != nil {
		def.Excluded = append(slices.Clone(def.Excluded), excluded...)
	}
	return def
}

// Lambda returns the dual variable of the expert; ok is false before the first
// trust.adjusted.
func (s *State) Lambda(expert string) (lambda float64, ok bool) {
	for _, t := range s.Trust {
		if t.Expert == expert {
			return t.Lambda, true
		}
	}
	return 0, false
}

// HasDecision reports whether a decision of that identifier was made.
func (s *State) HasDecision(id string) bool {
	n := events.DecisionNumber(id)
	return 1 <= n && n <= s.Decisions
}
