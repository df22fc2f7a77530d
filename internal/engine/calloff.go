package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Nothing is repeated, and nothing else goes to a device, while a command that
// was given up may still begin.
//
// A program hangs on its serial port, the campaign gives its experiment up, and a person sees
// that nothing has moved and says so. The start still lies in the program's input: it reads it
// half a minute later, behind it that of the repetition, and doses twice. So the old command is
// called off first. The answer to that call counts: behind the start in the input, it proves
// that the start was read. The fate of the command is then asked for once more, and the answer
// overtakes the person's word. If no answer comes the program is ended, or a person confirms
// that the device was without power.

// Cancel calls commands off: their instrument never begins them any more, and stops them where
// it can. An experiment that no instrument has yet is not performed.
type Cancel struct {
	Experiment string        `json:"experiment" doc:"The experiment, or several, all or none: e1-e24, or e1,e3-e5; or an act of a procedure: a12."`
	EndProgram bool          `json:"end_program,omitempty" doc:"End the instrument's program, where it does not answer: what it has not read it never does."`
	Voided     events.Voided `json:"voided,omitempty" enum:"power" doc:"Why no answer is needed: the device was without power."`
	Reason     string        `json:"reason,omitempty"`
}

// check finds faults of the request that no state of a campaign mends.
func (r *Cancel) check() error {
	if r.EndProgram && r.Voided != "" {
		return invalid("a device without power needs no end of its program: give one of the two")
	}
	return checkVoided(r.Voided)
}

// checkVoided refuses statements that a person cannot make about a command.
func checkVoided(v events.Voided) error {
	if v != "" && v != events.VoidedByPower {
		return invalid("%q is not a reason that a person can give for a command that cannot begin: power is", string(v))
	}
	return nil
}

// Abort calls everything off that is under way, at once, brings the devices to their safe states that
// have one, and pauses the campaign or stops it for good.
type Abort struct {
	Stop   bool   `json:"stop,omitempty" doc:"Stop the campaign for good; else it is paused."`
	Reason string `json:"reason,omitempty"`
	// Secures are the instruments whose devices have a safe state, by the campaign's names for them.
	// It does not travel: who runs the campaign knows them.
	Secures map[string]string `json:"-"`
}

// record orders that commands are called off.
func (r *Cancel) record(c Now, _ *Request) ([]events.Payload, error) {
	if a := c.Act(r.Experiment); a != nil {
		return r.of(c.Order(a.ID))
	}
	list, err := listed(c.State, r.Experiment)
	if err != nil {
		return nil, err
	}
	return ofEach(list, func(x *campaign.Experiment) ([]events.Payload, error) {
		if x.Status == campaign.Requested {
			return []events.Payload{&events.ExperimentCancelled{Experiment: x.ID, Reason: r.Reason}}, nil
		}
		return r.of(c.Order(x.ID))
	})
}

// of calls a command off.
func (r *Cancel) of(o campaign.Order) ([]events.Payload, error) {
	switch {
	case !o.AtWork():
		return nil, conflict(o.Subject, "%s is %s: there is nothing to call off", o.Subject, o.Outcome)
	case o.Void():
		return nil, conflict(o.Subject, "%s was called off already, and cannot begin any more", o.Subject)
	case r.Voided == "" && o.BeingCalledOff() && r.EndProgram == o.CallOff.EndProgram:
		return nil, conflict(o.Subject, "%s is being called off already", o.Subject).With(voidRemedies(o.Subject)...)
	}
	return []events.Payload{r.order(o, "")}, nil
}

// order returns the event that calls a command off, or records that it cannot begin any more.
// repeat is the experiment that repeats it, or "".
func (r *Cancel) order(o campaign.Order, repeat string) events.Payload {
	experiment, act := subject(o)
	if r.Voided != "" {
		return &events.CancellationAnswered{
			Experiment: experiment, Act: act, Command: o.ID, By: r.Voided, Reason: r.Reason,
		}
	}
	return &events.CancellationOrdered{
		Experiment: experiment, Act: act, Command: o.ID, EndProgram: r.EndProgram, Repeat: repeat,
		Reason: r.Reason,
	}
}

// record calls off all that is under way. An ended campaign can have something
// under way, and a paused one; neither is paused again.
func (r *Abort) record(c Now, _ *Request) ([]events.Payload, error) {
	var payloads []events.Payload
	switch {
	case r.Stop && !c.Status.Ended():
		payloads = append(payloads, &events.CampaignStopped{Reason: r.Reason})
	case !r.Stop && c.Status == campaign.Running:
		payloads = append(payloads, &events.CampaignPaused{Reason: r.Reason})
	}
	for o := range c.Orders() {
		if o.AtWork() && o.CallOff == nil {
			payloads = append(payloads, (&Cancel{Reason: r.Reason}).order(o, ""))
		}
	}
	payloads = append(payloads, ordered(c.State, r.Secures, r.Reason)...)
	if payloads == nil {
		return nil, conflict(c.Name, "the campaign is %s, and nothing is under way that is not called off already", c.Status)
	}
	return payloads, nil
}

// NeedsDevices reports whether anything may still be sent to an instrument. An ended campaign with
// nothing under way sends nothing; one whose last batch is still in the oven takes it out.
func NeedsDevices(s *campaign.State) bool {
	return s.Definition != nil && s.Definition.Measures() &&
		(!s.Status.Ended() || s.AtWork() > 0 || openBatch(s) != nil)
}

// DevicesOf are the names of the devices that the campaign may have at work, or
// sends its next experiment to: identity and name, as the device described
// itself, and the name in the lab's file.
func DevicesOf(s *campaign.State) (names []string) {
	if !NeedsDevices(s) {
		return nil
	}
	add := func(more ...string) {
		for _, name := range more {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	add(campaignfile.LabInstrument(s.Source))
	last := make(map[string]campaign.Order) // by resource
	for o := range s.Orders() {
		if o.AtWork() {
			add(o.Identity, o.Instrument)
		}
		last[o.Resource] = o
	}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		if !s.Status.Ended() {
			add(last[name].Identity, last[name].Instrument)
		}
	}
	return names
}

// voidBeforeAnything returns the consequence of a person's word on an unknown fate:
// the command is called off before anything else is sent, unless it is at rest.
// repeat is the experiment that repeats it, or "".
func voidBeforeAnything(
	s *campaign.State, x *campaign.Experiment, r *Resolve, repeat string,
) []events.Payload {
	if !OwesCallOff(s, x) {
		return nil
	}
	return []events.Payload{(&Cancel{Voided: r.Voided, Reason: r.Reason}).order(s.Order(x.ID), repeat)}
}

// OwesCallOff reports whether a person's word on the fate of an experiment has to call its
// command off, too. A person at the bench is not called off: they have just reported what they
// did.
func OwesCallOff(s *campaign.State, x *campaign.Experiment) bool {
	return x.Command.ID != "" && !x.Command.AtRest() && !s.Definition.ByHand()
}

// CalledOff returns the record of a command that was called off and cannot begin
// any more, with its outcome where no other event will hold it: ended is nil where
// the outcome is unknown, or another goroutine awaits it.
//
// Where the answer takes up again what a person has meanwhile declared as not performed, the outcome
// is not too late: it is awaited. unheard says that this process sent the command, and that its start was
// never confirmed.
func CalledOff(
	c Now, about string, by events.Voided, fate instruments.Fate, unheard bool, ended *instruments.Outcome,
	from instruments.Description,
) []events.Payload {
	o := c.Order(about)
	if !o.BeingCalledOff() {
		return nil // its outcome was quicker, or a person
	}
	answered := &events.CancellationAnswered{
		Command: o.ID, By: by, Instrument: o.Instrument, Fate: string(fate),
	}
	answered.Experiment, answered.Act = subject(o)
	answered.Again = unheard && AskedAgain(o, fate)
	payloads := []events.Payload{answered}
	if ended != nil && !o.Open && !(o.DidNotTakePlace() && answered.Acted()) {
		payloads = append(payloads, Concluded(c, about, *ended, nil, from)...)
	}
	return payloads
}

// AskedAgain reports whether a person who has said that a command was not performed is asked again where its
// start was never confirmed: that was before it was void, and the instrument does not know. The start may have
// lain in a pipe.
func AskedAgain(o campaign.Order, fate instruments.Fate) bool {
	return o.Real && o.DidNotTakePlace() && fate == instruments.FateUnknown
}

// Confirmed returns the record of an instrument's confirmation of a command, nil where it tells
// nothing new: of a start that was given up, it comes late.
func Confirmed(s *campaign.State, about, command string) []events.Payload {
	o := s.Order(about)
	switch {
	case o.Command == nil || o.ID != command || o.Fate == campaign.Begun:
		return nil
	case o.Fate == campaign.Sent:
		if _, act := subject(o); act != "" {
			return []events.Payload{&events.ActAccepted{Act: act, Command: o.ID, Instrument: o.Instrument}}
		}
		return []events.Payload{&events.ExperimentStarted{
			Experiment: about, Command: o.ID, Instrument: o.Instrument,
		}}
	}
	late := &events.InstrumentAnswered{
		Command: o.ID, Instrument: o.Instrument, Answer: string(campaign.Started),
	}
	late.Experiment, late.Act = subject(o)
	return []events.Payload{late}
}

// CallingOff is a call to an instrument that a command is off, in this process.
type CallingOff struct {
	// Order is the event that it answers to.
	Order string
	// Why says why it is not answered yet; empty where nothing is wrong so far.
	Why string
}

// nextCallOff tells the instrument of orders to call commands off. It is the first rule: other
// steps may wait for a device, a lease or an answer, this one must not.
func nextCallOff(c Now) (Step, error) {
	for _, o := range c.BeingCalledOff() {
		if c.CallingOff[o.Subject].Order != o.CallOff.Order {
			return CallOff{Subject: o.Subject}, nil
		}
	}
	return nil, nil
}

// nextContradicted pauses a campaign whose instrument contradicted the fate of a settled
// command: something may have moved that was believed to stand still.
func nextContradicted(c Now) (Step, error) {
	o := c.Order(c.Contradicted)
	if o.Command == nil || c.Status != campaign.Running {
		return nil, nil
	}
	return record(&events.CampaignPaused{Reason: fmt.Sprintf(
		"%s was settled as %s, and then %s answered otherwise: look at the device before anything more is sent",
		o.Subject, o.Outcome, o.Instrument)})
}

// nextOvertaken withdraws the repetition of an experiment that was performed
// after all.
func nextOvertaken(c Now) (Step, error) {
	for x := range among(c.State) {
		again := repetitionOf(c.State, x)
		if again == nil || again.Status != campaign.Requested || x.Status.Open() || x.Status == campaign.Cancelled {
			continue
		}
		return record(&events.ExperimentCancelled{
			Experiment: again.ID, Reason: fmt.Sprintf("%s, which it was to repeat, was performed after all", x.ID),
		})
	}
	return nil, nil
}

// repetitionOf is the experiment that was requested in the place of one whose
// instrument then said that it was performed; nil for any other.
func repetitionOf(s *campaign.State, x *campaign.Experiment) *campaign.Experiment {
	if x.Command.CallOff == nil || !x.Command.CallOff.Overtaken {
		return nil
	}
	return s.Experiment(x.Command.CallOff.Repeat)
}

// heldBack reports whether an experiment waits for the fate of the one that it repeats.
func heldBack(s *campaign.State, again *campaign.Experiment) bool {
	for x := range among(s) {
		if x.Status.Open() && repetitionOf(s, x) == again {
			return true
		}
	}
	return false
}

// firstCalledOff puts the confirmation that commands are called off before anything else the
// campaign waits for. A person who waits at the device must not read that the campaign waits
// for something else alone.
func firstCalledOff(c Now, wait Wait) Wait {
	off := c.BeingCalledOff()
	if off == nil {
		return wait
	}
	var ids []string
	for _, o := range off {
		ids = append(ids, o.Subject)
	}
	is := "is"
	if len(ids) > 1 {
		is = "are"
	}
	text := fmt.Sprintf("%s to answer that %s %s called off",
		off[0].Instrument, events.SubjectList(ids), is)
	var remedies []problem.Remedy
	if why := c.CallingOff[off[0].Subject].Why; why != "" {
		text += " (" + why + ")"
		remedies = voidRemedies(off[0].Subject)
	}
	if c.Status == campaign.Paused {
		text += ", and for " + wait.For
		remedies = append(remedies, wait.Remedies...)
	}
	wait.For = text
	wait.Remedies = remedies
	return wait
}

// voidRemedies are the remedies for an order without an answer.
func voidRemedies(subject string) []problem.Remedy {
	return []problem.Remedy{
		{
			Text: "end the instrument's program", Action: problem.Cancel, Subject: subject,
			Ways: []string{problem.WayEndProgram},
		},
		{
			Text: "say that the device was without power", Action: problem.Cancel, Subject: subject,
			Ways: []string{problem.WayPower},
		},
	}
}
