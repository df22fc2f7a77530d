package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
)

// World is what the core cannot know from the log.
type World struct {
	// Now is the present time.
	Now time.Time
	// Tended names the experiments and questions that somebody is waiting for
	// in this process.
	Tended map[string]bool
	// Capacity is how many experiments may be under way at once. The rules below
	// decide on one at a time; more are under way only where people ask for them.
	Capacity int
}

// Step is the next thing to do.
type Step interface{ step() }

type (
	// Record writes facts that need no effect first.
	Record struct{ Payloads []events.Payload }
	// Recover asks the instrument what became of commands another process dispatched.
	Recover struct{ Experiments []string }
	// Dispatch hands an experiment to the instrument.
	Dispatch struct{ Experiment string }
	// Ask puts a question to its expert.
	Ask struct{ Question string }
	// Examples asks an expert for initial examples.
	Examples struct {
		Expert   string
		N        int
		Balanced bool
	}
	// Fit fits a model.
	Fit struct {
		Model, Expert string
		Seed          uint64
	}
	// Decide makes a decision.
	Decide struct {
		Decision string
		Seed     uint64
	}
	// Wait waits for something to arrive, at most until Until (if not zero).
	Wait struct {
		For   string
		Until time.Time
	}
	// Done ends the run.
	Done struct{}
)

func (Record) step()   {}
func (Recover) step()  {}
func (Dispatch) step() {}
func (Ask) step()      {}
func (Examples) step() {}
func (Fit) step()      {}
func (Decide) step()   {}
func (Wait) step()     {}
func (Done) step()     {}

// errUndefined is returned by Next before campaign.defined.
var errUndefined = errors.New("engine: the campaign is not defined")

// Next returns the next step. It depends on the folded events and the given
// world alone, and changes nothing.
func (c *Core) Next(w World) (Step, error) {
	s := c.State()
	if s.Status == campaign.Undefined {
		return nil, errUndefined
	}
	rules := []func(*campaign.State, World) (Step, error){
		c.nextRecovery,
		c.nextWatch,
		c.nextEnd,
		c.nextQuestion,
		c.nextExcluded,
		c.nextTrouble,
		c.nextDispatch,
		c.nextPause,
		c.nextInitial,
		c.nextReplicate,
		c.nextDecision,
	}
	for _, rule := range rules {
		if step, err := rule(s, w); step != nil || err != nil {
			return step, err
		}
	}
	return nil, errors.New("engine: no rule applies") // nextDecision always answers
}

// nextRecovery looks for commands that another process dispatched.
func (c *Core) nextRecovery(s *campaign.State, w World) (Step, error) {
	var lost []string
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if (x.Status == campaign.Dispatched || x.Status == campaign.Started) && !w.Tended[x.ID] {
			lost = append(lost, x.ID)
		}
	}
	if lost == nil {
		return nil, nil
	}
	return Recover{Experiments: lost}, nil
}

// nextWatch says that an instrument is silent, and gives an experiment up whose
// instrument has been silent for too long: its fate is then unknown.
func (c *Core) nextWatch(s *campaign.State, w World) (Step, error) {
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Status != campaign.Dispatched && x.Status != campaign.Started {
			continue
		}
		stall, giveUp := watchTimes(s, x)
		switch {
		case !giveUp.IsZero() && !w.Now.Before(giveUp):
			return Record{[]events.Payload{&events.ExperimentUnresolved{Experiment: x.ID, Command: x.Command, Instrument: x.Instrument,
				Cause: fmt.Sprintf("the instrument has been silent for %s", giveUp.Sub(x.DispatchedAt))}}}, nil
		case !x.Stalled && !stall.IsZero() && !w.Now.Before(stall):
			return Record{[]events.Payload{&events.InstrumentStalled{Experiment: x.ID, Command: x.Command, Instrument: x.Instrument,
				Waited: stall.Sub(x.DispatchedAt).Seconds()}}}, nil
		}
	}
	return nil, nil
}

// watchTimes returns when a dispatched experiment counts as stalled and when
// it is given up; zero means never.
func watchTimes(s *campaign.State, x *campaign.Experiment) (stall, giveUp time.Time) {
	if d := time.Duration(s.Definition.Instrument.StallAfter); d > 0 {
		stall = x.DispatchedAt.Add(d)
	}
	if d := time.Duration(s.Definition.Instrument.GiveUpAfter); d > 0 {
		giveUp = x.DispatchedAt.Add(d)
	}
	return stall, giveUp
}

// nextEnd winds an ended campaign up: nothing new starts, what is under way is
// awaited.
func (c *Core) nextEnd(s *campaign.State, w World) (Step, error) {
	if !s.Status.Ended() {
		return nil, nil
	}
	var record Record
	for i := range s.Experiments {
		if x := &s.Experiments[i]; x.Status == campaign.Requested {
			record.Payloads = append(record.Payloads, &events.ExperimentCancelled{Experiment: x.ID, Reason: "the campaign has ended"})
		}
	}
	for i := range s.Questions {
		if q := &s.Questions[i]; q.Status == campaign.Asked {
			record.Payloads = append(record.Payloads, &events.LabelWithdrawn{Question: q.ID, Reason: "the campaign has ended"})
		}
	}
	if record.Payloads != nil {
		return record, nil
	}
	if n := s.Count(campaign.Dispatched, campaign.Started); n > 0 {
		return Wait{For: waitingForInstrument(s), Until: deadline(s)}, nil
	}
	if c.objective.Stale() { // the result is stated by the posterior, whatever ended the campaign
		return c.fitObjective(), nil
	}
	return Done{}, nil
}

// nextQuestion expires questions and puts open ones.
func (c *Core) nextQuestion(s *campaign.State, w World) (Step, error) {
	for i := range s.Questions {
		q := &s.Questions[i]
		if q.Status != campaign.Asked {
			continue
		}
		if !q.Expires.IsZero() && !w.Now.Before(q.Expires) {
			return Record{[]events.Payload{&events.LabelExpired{Question: q.ID}}}, nil
		}
		if !w.Tended[q.ID] {
			return Ask{Question: q.ID}, nil
		}
	}
	return nil, nil
}

// nextExcluded calls off what an amendment has put outside the space since it
// was requested or asked.
func (c *Core) nextExcluded(s *campaign.State, w World) (Step, error) {
	var record Record
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Status != campaign.Requested {
			continue
		}
		if err := c.space.Contains(x.Parameters); err != nil {
			record.Payloads = append(record.Payloads, &events.ExperimentCancelled{Experiment: x.ID, Reason: err.Error()})
		}
	}
	for i := range s.Questions {
		q := &s.Questions[i]
		if q.Status != campaign.Asked {
			continue
		}
		if err := c.space.Contains(q.Parameters); err != nil {
			record.Payloads = append(record.Payloads, &events.LabelWithdrawn{Question: q.ID, Reason: err.Error()})
		}
	}
	if record.Payloads == nil {
		return nil, nil
	}
	return record, nil
}

// failuresInARow is how many experiments may fail in a row before the campaign
// pauses: an instrument that is out of order must not spend the budget.
const failuresInARow = 4

// nextTrouble pauses a campaign whose last experiments all gave nothing, until
// a person has looked.
func (c *Core) nextTrouble(s *campaign.State, w World) (Step, error) {
	if s.Status == campaign.Paused || len(s.Experiments)-s.ResumedAt < failuresInARow || s.Spent() >= s.Definition.Budget.Experiments {
		return nil, nil
	}
	last := s.Experiments[len(s.Experiments)-failuresInARow:]
	for i := range last {
		x := &last[i]
		if calledOff := x.Status == campaign.Cancelled && x.Command != ""; x.Status != campaign.Failed && !calledOff {
			return nil, nil
		}
	}
	return Record{[]events.Payload{&events.CampaignPaused{Reason: fmt.Sprintf(
		"the last %d experiments gave no result, %s for this reason: %s; see to the instrument, then `campaignd resume`",
		failuresInARow, last[failuresInARow-1].ID, last[failuresInARow-1].Cause)}}}, nil
}

// nextDispatch hands requested experiments to the instrument, as many as it
// works on at once. While the fate of an experiment is unknown, the state of
// the instrument is too: nothing is dispatched until a person has looked.
func (c *Core) nextDispatch(s *campaign.State, w World) (Step, error) {
	if s.Status == campaign.Paused || s.Count(campaign.Unresolved) > 0 {
		return nil, nil
	}
	if s.Count(campaign.Dispatched, campaign.Started) >= w.Capacity {
		return nil, nil
	}
	for i := range s.Experiments {
		if x := &s.Experiments[i]; x.Status == campaign.Requested {
			return Dispatch{Experiment: x.ID}, nil
		}
	}
	return nil, nil
}

func (c *Core) nextPause(s *campaign.State, w World) (Step, error) {
	if s.Status == campaign.Paused {
		reason := ""
		if s.Reason != "" {
			reason = ": " + s.Reason
		}
		return Wait{For: "`campaignd resume`: the campaign is paused" + reason, Until: deadline(s)}, nil
	}
	return nil, nil
}

// nextInitial collects the initial labels and runs the initial design.
func (c *Core) nextInitial(s *campaign.State, w World) (Step, error) {
	def := s.Definition
	for _, expert := range def.Experts {
		have, open := 0, false
		for i := range s.Questions {
			if q := &s.Questions[i]; q.Expert == expert.Name && q.Decision == "" {
				have++
				open = open || q.Status == campaign.Asked
			}
		}
		if have >= *def.Initial.Labels || open {
			continue
		}
		if expert.Simulated != nil {
			return Examples{Expert: expert.Name, N: *def.Initial.Labels - have, Balanced: *def.Initial.Balanced}, nil
		}
		points, err := c.space.Sample(*def.Initial.Labels, seedFor(def.Seed, "initial labels", expert.Name))
		if err != nil {
			return nil, err
		}
		return Record{[]events.Payload{&events.LabelRequested{
			Question: campaign.QuestionID(len(s.Questions)), Expert: expert.Name, Parameters: points[have],
			Explanation: fmt.Sprintf("Initial question %d of %d, at a random composition: would it be worth an experiment?", have+1, *def.Initial.Labels),
			Expires:     expiry(w.Now, expert),
		}}}, nil
	}
	if s.Count(campaign.Requested, campaign.Dispatched, campaign.Started, campaign.Unresolved) > 0 {
		return nil, nil
	}
	// Experiments that were imported or run by hand serve as the initial design
	// too; one that was called off leaves its place to be taken again.
	done, known, runs := make(map[string]int), 0, 0
	for i := range s.Experiments {
		x := &s.Experiments[i]
		switch {
		case x.Status == campaign.Cancelled:
		case x.Origin == events.OriginInitial && x.Replicate == 1:
			key, err := c.space.Key(x.Parameters)
			if err != nil {
				return nil, err
			}
			done[key]++
			runs++
		case x.Origin == events.OriginImport || x.Origin == events.OriginPerson:
			known++
		}
	}
	if runs+known >= *def.Initial.Experiments || s.Spent() >= def.Budget.Experiments || replicateDue(s) != nil {
		return nil, nil
	}
	points, err := c.initialDesign()
	if err != nil {
		return nil, err
	}
	for _, point := range points {
		key, err := c.space.Key(point)
		if err != nil {
			return nil, err
		}
		if done[key] > 0 {
			done[key]--
			continue
		}
		if step := timeIsUp(s, w); step != nil {
			return step, nil
		}
		return Record{[]events.Payload{&events.ExperimentRequested{
			Experiment: campaign.ExperimentID(len(s.Experiments)), Parameters: point,
			Origin: events.OriginInitial, Replicate: 1,
		}}}, nil
	}
	return nil, nil // a short list of candidates gives a short design
}

// nextReplicate repeats a composition as often as the definition asks for.
func (c *Core) nextReplicate(s *campaign.State, w World) (Step, error) {
	x := replicateDue(s)
	if x == nil || s.Spent() >= s.Definition.Budget.Experiments || c.space.Contains(x.Parameters) != nil {
		return nil, nil
	}
	if step := timeIsUp(s, w); step != nil {
		return step, nil
	}
	return Record{[]events.Payload{&events.ExperimentRequested{
		Experiment: campaign.ExperimentID(len(s.Experiments)), Parameters: x.Parameters,
		Origin: x.Origin, Decision: x.Decision, Replicate: x.Replicate + 1,
	}}}, nil
}

// replicateDue returns the last experiment of the design or the policy if it
// has ended and its composition is to be measured again.
func replicateDue(s *campaign.State) *campaign.Experiment {
	i := len(s.Experiments) - 1
	for i >= 0 && (s.Experiments[i].Origin == events.OriginImport || s.Experiments[i].Origin == events.OriginPerson) {
		i--
	}
	if i < 0 {
		return nil
	}
	last := &s.Experiments[i]
	if last.Status.Open() || last.Status == campaign.Cancelled {
		return nil
	}
	runs := last.Replicate // of the initial design, which measures each composition in turn
	if last.Origin == events.OriginPolicy {
		runs = 0
		for i := range s.Experiments {
			if x := &s.Experiments[i]; x.Decision == last.Decision && x.Status != campaign.Cancelled {
				runs++
			}
		}
	}
	if runs >= s.Definition.Replicates {
		return nil
	}
	return last
}

// initialDesign returns the compositions of the initial design that may be
// measured.
func (c *Core) initialDesign() ([]events.Point, error) {
	def := c.State().Definition
	if def.Initial.Design != events.DesignPoints {
		return c.space.Design(def.Initial.Design, *def.Initial.Experiments, seedFor(def.Seed, "initial design"))
	}
	var points []events.Point
	for _, point := range def.Initial.Points {
		if c.space.Contains(point) == nil { // an amendment may have excluded it
			points = append(points, point)
		}
	}
	return points, nil
}

// nextDecision fits what has changed and decides, once nothing is open.
func (c *Core) nextDecision(s *campaign.State, w World) (Step, error) {
	if id := firstUnresolved(s); id != "" {
		return Wait{For: fmt.Sprintf("a person: nobody knows what became of %s (campaignd resolve)", id), Until: deadline(s)}, nil
	}
	if s.Count(campaign.Requested, campaign.Dispatched, campaign.Started) > 0 {
		return Wait{For: waitingForInstrument(s), Until: deadline(s)}, nil
	}
	for i := range s.Questions {
		if q := &s.Questions[i]; q.Status == campaign.Asked {
			return Wait{For: fmt.Sprintf("%s to answer %s", q.Expert, q.ID), Until: deadline(s)}, nil
		}
	}
	if c.objective.Stale() && c.policy.UsesModel() {
		return c.fitObjective(), nil
	}
	if c.objective.Fitted() && c.policy.UsesBeliefs() {
		for _, expert := range s.Definition.Experts {
			if c.belief.Stale(expert.Name) {
				return Fit{Model: events.ModelBelief, Expert: expert.Name,
					Seed: seedFor(s.Definition.Seed, "fit belief", expert.Name, c.belief.Revision(expert.Name))}, nil
			}
		}
	}
	if s.Spent() < s.Definition.Budget.Experiments {
		if step := timeIsUp(s, w); step != nil {
			return step, nil
		}
	}
	id := campaign.DecisionID(s.Decisions)
	return Decide{Decision: id, Seed: seedFor(s.Definition.Seed, "decision", id)}, nil
}

// fitObjective is the fit of the objective to the present observations.
func (c *Core) fitObjective() Fit {
	return Fit{Model: events.ModelObjective, Seed: seedFor(c.State().Definition.Seed, "fit objective", c.objective.Revision())}
}

// timeIsUp completes the campaign when its time is spent, and is nil before.
func timeIsUp(s *campaign.State, w World) Step {
	limit := time.Duration(s.Definition.Budget.Time)
	if limit == 0 || w.Now.Sub(s.DefinedAt) < limit {
		return nil
	}
	return Record{[]events.Payload{&events.CampaignCompleted{Reason: events.CompletedTime,
		Detail: fmt.Sprintf("the campaign has run for its %s", limit)}}}
}

func firstUnresolved(s *campaign.State) string {
	for i := range s.Experiments {
		if s.Experiments[i].Status == campaign.Unresolved {
			return s.Experiments[i].ID
		}
	}
	return ""
}

func waitingForInstrument(s *campaign.State) string {
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Status == campaign.Dispatched || x.Status == campaign.Started {
			if x.Stalled {
				return fmt.Sprintf("%s to measure %s (silent for longer than it should be)", x.Instrument, x.ID)
			}
			return fmt.Sprintf("%s to measure %s", x.Instrument, x.ID)
		}
	}
	return "the instrument"
}

// deadline returns when the core must be asked again though nothing has
// arrived: the first question expires, or an instrument counts as stalled or is
// given up. Zero means never.
func deadline(s *campaign.State) time.Time {
	var first time.Time
	add := func(t time.Time) {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	for i := range s.Questions {
		if q := &s.Questions[i]; q.Status == campaign.Asked {
			add(q.Expires)
		}
	}
	for i := range s.Experiments {
		if x := &s.Experiments[i]; x.Status == campaign.Dispatched || x.Status == campaign.Started {
			stall, giveUp := watchTimes(s, x)
			if !x.Stalled {
				add(stall)
			}
			add(giveUp)
		}
	}
	return first
}

// expiry returns when a question asked now expires, or zero.
func expiry(now time.Time, expert events.Expert) time.Time {
	if expert.AnswerWithin == 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(expert.AnswerWithin)).UTC().Truncate(time.Microsecond)
}
