package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/policies/turn"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Campaign is the state of a campaign after an event, as data: lists, displays and the API show it
// without its folded state. A part that follows from models is that of [Shown]. The data that it
// points to belong to others, who do not change them.
type Campaign struct {
	// Summary is the campaign in a few numbers.
	engine.Summary
	// Instance is as in [events.CampaignDefined].
	Instance string
	Status   campaign.Status
	Reason   string // of the pause or the end
	// Sequence is that of the last event.
	Sequence events.Sequence
	// Revision identifies the input of the models: equal ones give equal models.
	Revision   engine.Revision
	Definition *definition.Campaign
	// Began is when it was defined, Last when its last event was recorded.
	Began, Last time.Time

	Done   int // experiments that have an outcome; comparisons made, where nothing is measured
	Open   int // experiments under way
	Budget int // as Done counts
	Asked  int
	// Named counts the compositions that experts named, Estimated those for which they gave numbers
	// or marks.
	Named     int
	Estimated int
	// Unanswered counts the questions that were not answered in time, nor since,
	// AtFirst the comparisons that were answered before the first decision.
	Unanswered int
	AtFirst    int
	// Taken is how much has been asked for of the time of each expert for whom
	// it is limited.
	Taken map[string]definition.Duration
	// Questions are the open questions, in their order.
	Questions []campaign.Question
	// Contested is set where an answer does not count that someone gave.
	Contested bool
	// Answered is when a person answered last, zero for never.
	Answered time.Time
	Trust    []campaign.Trust
	Failure  string
	// Backtest is [IsBacktest].
	Backtest bool
	// UnderWay are the experiments without an outcome, imported ones included;
	// Unresolved are those of them, and the acts, whose fate is unknown, Doubtful the
	// measurements that a person must judge.
	UnderWay   []campaign.Experiment
	Unresolved []string
	Doubtful   []campaign.Experiment
	// CalledOff are the experiments that are being called off, also such as have
	// an outcome; Contradicted is the one, or the act, whose settled fate its instrument has
	// contradicted, nil for none.
	CalledOff []campaign.Experiment
	// Securing are the devices that were ordered to their safe states, and have not said that they are there.
	Securing     []campaign.Safety
	Contradicted *campaign.Order
	// Batches are those under way, Acts those that are open or being called off.
	Batches []BatchStatus
	Acts    []campaign.Act
	// Awaited are the quantities that experiments which have ended are still to
	// give.
	Awaited []campaign.Awaited
	Values  []campaign.Judged // the measured values that count, in order
	// Simulated and Real count the measurements of either world.
	Simulated, Real int
	// Stocks are what commands use up, Short why the next experiment waits for one
	// of them; nil where they suffice.
	Stocks []campaign.Stock
	Short  *engine.Shortage
	// Drifts are the reference experiments outside their limits that no person knows of yet.
	Drifts []campaign.Drift
	// Unmeasured are the references that lie outside the space as it is now, in words.
	Unmeasured []string
	// Valueless are the measured experiments that lack a requested value; nil where all are
	// complete.
	Valueless *campaign.Valueless

	// WaitingFor names the event that a run waits for, Computing the computation that has taken it
	// a while.
	WaitingFor string
	Computing  engine.Computation
	// Review looks back at the last choice whose composition was measured,
	// where that is followed.
	Review *events.ChoiceReview
}

// CampaignOf returns the state of a campaign, with the models of shown: nothing is worked out, for
// the loop of a campaign asks this. waitingFor says what it waits for. Lists are copied, so that
// the result can leave the goroutine of the campaign's loop; the data that their elements point to
// are shared, as is the definition, which an amendment replaces.
func CampaignOf(core *engine.Core, shown Shown, waitingFor string) Campaign {
	s := core.State()
	c := Standing(core, waitingFor)
	c.Summary = core.Counts()
	shown.Fill(&c.Summary)
	c.Values = make([]campaign.Judged, 0, c.Simulated+c.Real)
	for x, value := range s.Compared() {
		c.Values = append(c.Values, campaign.Judged{Value: value.Value, Keeps: s.Keeps(x)})
	}
	return c
}

// Standing is [CampaignOf] without its summary and its values, for who shows neither: they
// take a look at each measurement, after each event of a campaign of thousands.
func Standing(core *engine.Core, waitingFor string) Campaign {
	s := core.State()
	def := s.Definition
	c := Campaign{
		Instance:   s.Instance,
		Status:     s.Status,
		Reason:     s.Reason,
		Sequence:   s.Sequence,
		Revision:   core.Revision(),
		Definition: def,
		Began:      s.DefinedAt,
		Last:       core.Last(),
		Budget:     def.Budget.Experiments,
		Asked:      s.AskedCount(),
		Trust:      append([]campaign.Trust(nil), s.Trust...),
		Failure:    s.Failure,
		Backtest:   IsBacktest(core),
		Doubtful:   doubtful(s),
		Awaited:    s.AllAwaited(),
		Stocks:     slices.Clone(s.Stocks),
		Valueless:  s.Valueless(),
		WaitingFor: waitingFor,
	}
	if !def.Measures() {
		c.Budget = def.Budget.Comparisons
	}
	for i := range s.Experiments {
		c.count(&s.Experiments[i])
	}
	c.Securing = s.Securing()
	for _, o := range s.BeingCalledOff() {
		if x := s.Experiment(o.Subject); x != nil {
			c.CalledOff = append(c.CalledOff, *x)
		}
	}
	if o := s.Order(s.Contradicted); o.Command != nil {
		command := *o.Command
		o.Command = &command
		c.Contradicted = &o
	}
	c.Batches = batchesOf(core)
	c.Acts = actsOf(s)
	for i := range c.Acts {
		if c.Acts[i].Command.Fate == campaign.Unknown {
			c.Unresolved = append(c.Unresolved, c.Acts[i].ID)
		}
	}
	for i := range s.Questions {
		c.ask(&s.Questions[i])
	}
	c.Drifts = slices.DeleteFunc(s.Drifts(), func(d campaign.Drift) bool { return d.Known })
	for name, r := range def.References() {
		if why := core.Space().Contains(r.Composition); why != nil && !s.Status.Ended() {
			c.Unmeasured = append(c.Unmeasured, fmt.Sprintf("the reference experiment %s is not measured: %v; amend its composition", name, why))
		}
	}
	if !s.Status.Ended() {
		c.Short = engine.Short(core.At(engine.World{}))
	}
	c.Taken = timeTaken(s)
	return c
}

// Summarized is [CampaignOf] with a summary that was just worked out. It is for
// readers who can wait for models, such as a command.
func Summarized(core *engine.Core, summary engine.Summary) Campaign {
	return CampaignOf(core, Shown{summary: summary, known: true}, "")
}

// Starved reports whether the campaign goes on only once a stock is refilled, or an instrument back:
// nothing is at work whose end it could wait for.
func (c *Campaign) Starved() bool {
	waits := c.Status == campaign.Running && strings.HasPrefix(c.WaitingFor, toPerson)
	return (c.Short != nil || waits) && !slices.ContainsFunc(c.UnderWay, func(x campaign.Experiment) bool {
		return x.Status != campaign.Requested
	})
}

// count counts an experiment. Some cost the budget nothing: see [campaign.Experiment.Counted]. An experiment with an unknown fate is open: its place in the budget stays taken until a
// person has settled it.
func (c *Campaign) count(x *campaign.Experiment) {
	if x.Status.Open() {
		c.UnderWay = append(c.UnderWay, *x)
	}
	if x.Status == campaign.Unresolved {
		c.Unresolved = append(c.Unresolved, x.ID)
	}
	switch {
	case x.Measurement == nil:
	case x.Simulated:
		c.Simulated++
	default:
		c.Real++
	}
	switch {
	case !x.Counted():
	case x.Status.Open():
		c.Open++
	default:
		c.Done++
	}
}

// ask counts a question.
//
// Where nothing is measured a comparison takes the place of an experiment: one that is over counts
// as done, whether it was answered or not, unless the expert gave it unasked. A question whose
// answer was contested has answers that do not count, and a person should look at it.
func (c *Campaign) ask(q *campaign.Question) {
	switch q.Status {
	case campaign.Asked:
		c.Questions = append(c.Questions, *q)
	case campaign.Expired:
		c.Unanswered++
	}
	switch q.Form {
	case events.FormComparison:
		if q.Decision == "" && len(q.Answer.Order) > 0 {
			c.AtFirst++
		}
		over := q.Status != campaign.Asked && !q.Volunteered && !q.Moot
		if over && !c.Definition.Measures() {
			c.Done++
		}
	case events.FormPinpoint:
		if q.Answer.Point != nil {
			c.Named++
		}
	}
	for i, e := range q.Answer.Estimates { // they are in the order of the options
		if i == 0 || e.Option != q.Answer.Estimates[i-1].Option {
			c.Estimated++
		}
	}
	if len(q.Aside) > 0 {
		c.Contested = true
	}
	if AnsweredByPerson(c.Definition, q) && q.AnsweredAt.After(c.Answered) {
		c.Answered = q.AnsweredAt
	}
}

// timeTaken is the requested part of each expert's time, where it is limited. The request counts
// and not the time they took, which is not known.
func timeTaken(s *campaign.State) map[string]definition.Duration {
	taken := make(map[string]definition.Duration)
	for i := range s.Definition.Experts {
		if e := &s.Definition.Experts[i]; e.Time > 0 {
			taken[e.Name] = definition.Duration(turn.TimeTaken(s, e))
		}
	}
	return taken
}

// IsPerson reports whether an expert of a campaign is a person. It is false of
// a name that the definition does not have.
func IsPerson(def *definition.Campaign, expert string) bool {
	e := def.Expert(expert)
	return e != nil && e.Person
}

// ForPeople are the open questions to people: programs and simulations answer theirs
// themselves.
func (c *Campaign) ForPeople() []campaign.Question {
	return slices.DeleteFunc(slices.Clone(c.Questions), func(q campaign.Question) bool { return !IsPerson(c.Definition, q.Expert) })
}

// ExpertName is an expert's name where people read it: a program is called one, so that it is not
// taken for a person.
func ExpertName(def *definition.Campaign, name string) string {
	if def == nil {
		return name
	}
	if e := def.Expert(name); e != nil && e.Program {
		return name + " (a program)"
	}
	return name
}

// AnsweredByPerson reports whether a question was put to a person, and
// answered. Answers that were given unasked do not count: they say nothing of
// how soon a person answers.
func AnsweredByPerson(def *definition.Campaign, q *campaign.Question) bool {
	return q.Status == campaign.Answered && !q.Volunteered && IsPerson(def, q.Expert)
}

// Counted is the unit of Done, Open and Budget: "experiment".
func (c *Campaign) Counted() string {
	if !c.Definition.Measures() {
		return "comparison"
	}
	return "experiment"
}

// BudgetText writes the campaign's budget: "25 experiments".
func (c *Campaign) BudgetText() string {
	return format.Count(c.Budget, c.Counted())
}

// Share is the spent part of the budget, in percent: of that of experiments or of that of cost,
// whichever is nearer to its end. It is never more than 100: a budget may have been lowered below
// the amount spent.
func (c *Campaign) Share() int { return int(100*c.Spent() + rounding) }

// rounding is the error that a share may have after a division and still be whole.
const rounding = 1e-9

// Spent is [Campaign.Share] as a part of 1.
func (c *Campaign) Spent() (share float64) {
	if c.Budget > 0 {
		share = float64(c.Done) / float64(c.Budget)
	}
	if c.Cost != nil && c.Cost.Budget > 0 {
		share = max(share, c.Cost.Spent/c.Cost.Budget)
	}
	return min(share, 1)
}

// Computing names a computation, and says since when it runs.
func Computing(what string, since, now time.Time) string {
	return what + " since " + Clock(since, now)
}
