package view

import (
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// In this file are the events of experiments and measurements, in the order in
// which they come.
func (s *Story) experimentRequested(_ events.Event, p *events.ExperimentRequested) Entry {
	return Entry{Text: fmt.Sprintf("%s is to measure (%s)", p.Experiment, s.line(p.Parameters))}
}

// It is recorded before the instrument is sent anything (intent before act),
// hence “goes”.
func experimentDispatched(_ events.Event, p *events.ExperimentDispatched) Entry {
	text := p.Experiment + " goes to " + p.Instrument
	if len(p.Drawn) > 0 {
		text += ", with " + format.Drawn(p.Drawn)
	}
	return Entry{Text: text}
}

func experimentStarted(_ events.Event, p *events.ExperimentStarted) Entry {
	return Entry{Text: p.Experiment + " has started"}
}

// The composition is the one that was made, which may differ from the requested one.
func (s *Story) experimentMeasured(_ events.Event, p *events.ExperimentMeasured) Entry {
	what := "measured " + s.measured(&p.Measurement)
	if len(p.Measurement.All())+len(p.Missing) == 0 {
		what = "has ended, and all that it gives is still to arrive"
	}
	text := fmt.Sprintf("%s %s (%s)", p.Experiment, what, s.line(p.Actual))
	if len(p.Unread) > 0 { // possibly a bug of the driver
		text += "; not used, and kept in the log: " + strings.Join(unreadFields(p.Unread), ", ")
	}
	return Entry{Text: text}
}

// It is a result, so that it has no who, like one.
func quantityArrived(_ events.Event, p *events.QuantityArrived) Entry {
	of := p.Name() + " of " + p.Experiment
	switch {
	case p.Quantity != nil:
		return Entry{Text: of + " has arrived: " + format.Result(*p.Quantity)}
	case p.Missing != nil:
		return Entry{Text: of + " is missing", Reason: p.Missing.Reason}
	}
	return Entry{Text: of + " is neither there nor missing"}
}

// unreadFields names the first few fields of a result that the program does not
// know.
func unreadFields(unread []events.Unread) []string {
	const few = 3
	var fields []string
	for _, u := range unread[:min(len(unread), few)] {
		fields = append(fields, u.Field)
	}
	if more := len(unread) - few; more > 0 {
		fields = append(fields, fmt.Sprintf("%d more", more))
	}
	return fields
}

func (s *Story) experimentFailed(_ events.Event, p *events.ExperimentFailed) Entry {
	return Entry{Text: p.Experiment + " failed" + s.given(p.Measurement), Reason: campaign.Said(p.Cause)}
}

// given writes the values of an experiment before it failed: ", having given 9.3 mS/cm".
func (s *Story) given(m *events.Measurement) string {
	if m == nil {
		return ""
	}
	return ", having given " + s.measured(m)
}

func experimentInfeasible(_ events.Event, p *events.ExperimentInfeasible) Entry {
	return Entry{Text: p.Experiment + " cannot be done", Reason: campaign.Said(p.Cause)}
}

// Nothing moved, which distinguishes it from a failure.
func experimentDeferred(_ events.Event, p *events.ExperimentDeferred) Entry {
	return Entry{Text: p.Experiment + " did not take place and is to be tried again", Reason: p.Cause}
}

func experimentCancelled(_ events.Event, p *events.ExperimentCancelled) Entry {
	return Entry{Text: p.Experiment + " was called off", Reason: p.Reason}
}

// It is the one event here that a person must act on.
func experimentUnresolved(e events.Event, p *events.ExperimentUnresolved) Entry {
	lost, _ := lossOf(e, p)
	return lost.entry(p.Experiment)
}

// It is a person's word on a fate that was unknown, so that it has a who and a
// reason.
func (s *Story) experimentResolved(e events.Event, p *events.ExperimentResolved) Entry {
	text := fmt.Sprintf("settled %s: %s", p.Experiment, p.Resolution)
	if p.Resolution == events.ResolvedMeasured && p.Measurement != nil {
		text += " " + s.measured(p.Measurement)
	} else {
		text += s.given(p.Measurement)
	}
	return Entry{Who: doer(e), Text: text, Reason: p.Reason}
}

// A person orders it, or their statement about the experiment leads to it.
func (s *Story) cancellationOrdered(e events.Event, p *events.CancellationOrdered) Entry {
	text := "called off " + s.called(p.Subject()) + ": its instrument is ordered to stop it, and never to begin it"
	if p.EndProgram {
		text = "called off " + s.called(p.Subject()) + ": its instrument's program is to be ended"
	}
	return Entry{Who: doer(e), Text: text, Reason: p.Reason}
}

// voided says why a command cannot begin any more.
var voided = map[events.Voided]string{
	events.VoidedByInstrument: "the instrument answered",
	events.VoidedByProgram:    "its program was ended",
	events.VoidedByPower:      "the device was without power",
}

// The fate of the command is named only where the instrument began it.
func (s *Story) cancellationAnswered(e events.Event, p *events.CancellationAnswered) Entry {
	subject := s.called(p.Subject())
	entry := Entry{Text: subject + " cannot begin any more: " + voided[p.By], Reason: p.Reason}
	if p.By == events.VoidedByPower {
		entry.Who = doer(e)
		entry.Text = "said that " + subject + " cannot begin any more: " + voided[p.By]
	}
	if p.Acted() {
		entry.Text = subject + " had begun before it was called off: its outcome is awaited"
	}
	if p.Again {
		entry.Text += "; it may have begun before, and " + p.Instrument + " does not know: look again"
	}
	return entry
}

// It changes nothing, and a possible contradiction has to be looked at.
func (s *Story) instrumentAnswered(_ events.Event, p *events.InstrumentAnswered) Entry {
	subject := s.called(p.Subject())
	if p.Text == "" {
		return Entry{Text: fmt.Sprintf("%s confirmed the start of %s, too late", p.Instrument, subject)}
	}
	return Entry{
		Text:   fmt.Sprintf("%s answered on %s, which was settled before", p.Instrument, subject),
		Reason: p.Text,
		Remedy: settledBefore(p),
	}
}

// It changes how an experiment ended; where it was measured and stays so,
// [Story.measurementCorrected] has the words.
func (s *Story) experimentCorrected(e events.Event, p *events.ExperimentCorrected) Entry {
	return Entry{Who: doer(e), Text: s.outcomeCorrected(p), Reason: p.Reason}
}

// outcomeCorrected says how the outcome of an experiment was corrected. What it
// was comes first, since the reader knows that.
func (s *Story) outcomeCorrected(p *events.ExperimentCorrected) string {
	to := Outcome(p.Outcome)
	switch {
	case p.Was == p.Outcome && p.Excluded:
		return fmt.Sprintf("excluded %s (%s)", p.Experiment, to)
	case p.Was == p.Outcome:
		return fmt.Sprintf("corrected %s, which counts (%s%s)", p.Experiment, to, s.given(p.Measurement))
	case p.Outcome == events.ResolvedFailed:
		to += s.given(p.Measurement)
	case p.Measurement != nil:
		to = fmt.Sprintf("measured %s (%s)", s.measured(p.Measurement), s.line(p.Measurement.Actual))
	}
	if p.Excluded {
		to += ", and excluded it"
	}
	return fmt.Sprintf("corrected %s from %s to %s", p.Experiment, Outcome(p.Was), to)
}

// Without a change it takes an exclusion back.
func (s *Story) measurementCorrected(e events.Event, p *events.MeasurementCorrected) Entry {
	value := ""
	if p.Old != (definition.Quantity{}) { // with several quantities none of them is the objective
		value = " (" + format.Quantity(p.Old.Value, p.Old.Unit) + ")"
	}
	text := ""
	switch changes := s.changed(p); {
	case p.Excluded:
		text = "excluded " + p.Experiment + value
	case changes == nil:
		text = "corrected " + p.Experiment + ", which counts" + value
	default:
		text = fmt.Sprintf("corrected %s %s", p.Experiment, strings.Join(changes, ", "))
	}
	return Entry{Who: doer(e), Text: text, Reason: p.Reason}
}

// changed lists the changes of a measurement. Nil where nothing changed but whether it counts.
func (s *Story) changed(p *events.MeasurementCorrected) (changes []string) {
	if p.New != nil && p.New.Value != p.Old.Value {
		from := format.Quantity(p.Old.Value, p.Old.Unit)
		changes = append(changes, "from "+from+" to "+format.Quantity(p.New.Value, p.New.Unit))
	}
	if p.New != nil && p.New.SD != nil && (p.Old.SD == nil || *p.New.SD != *p.Old.SD) {
		changes = append(changes, "to a standard deviation of "+format.Short(*p.New.SD))
	}
	for _, v := range p.Values {
		changes = append(changes, valueChanged(v)...)
	}
	changes = append(changes, quantities(p.Further)...)
	if p.Actual != nil {
		changes = append(changes, "to the composition "+s.line(p.Actual))
	}
	return changes
}

// valueChanged lists the changes of one declared quantity.
func valueChanged(v events.QuantityCorrected) (changes []string) {
	switch {
	case v.New != nil && v.Old == nil:
		changes = append(changes, v.Name+" to "+format.Result(*v.New))
	case v.New != nil:
		changes = append(changes, v.Name+" from "+format.Result(*v.Old)+" to "+format.Result(*v.New))
	}
	if v.Excluded {
		changes = append(changes, v.Name+" left out of the models")
	}
	return changes
}

// It names the comparisons and not their results: a doubt is an event of its own.
func measurementsJudged(_ events.Event, p *events.MeasurementsJudged) Entry {
	if len(p.Expected) == 0 {
		return Entry{Text: "no measurement can be compared with others yet"}
	}
	names := make([]string, len(p.Expected))
	for i, expected := range p.Expected {
		names[i] = expected.Experiment
	}
	return Entry{Text: format.List(names...) + " compared with what other measurements make expect"}
}

// Some verdicts have a reason that is a sentence and needs nothing before it.
func measurementFlagged(_ events.Event, p *events.MeasurementFlagged) Entry {
	switch p.Verdict {
	case events.VerdictDrift:
		return Entry{Text: p.Experiment + " is outside the limits of its control chart", Reason: p.Reason}
	case events.VerdictElsewhere, events.VerdictSame:
		return Entry{Text: p.Experiment, Reason: p.Reason}
	case events.VerdictKept:
		return Entry{Text: p.Experiment + " is kept, in doubt", Reason: p.Reason}
	}
	return Entry{Text: p.Experiment + " is " + string(p.Verdict), Reason: p.Reason}
}

// Waited is in seconds.
func (s *Story) instrumentStalled(_ events.Event, p *events.InstrumentStalled) Entry {
	return silent(s.resource(p.Act, p.Instrument), s.called(p.Subject()), p.Waited)
}

// measured writes a result: the objective, or the declared quantities with the formula that is
// computed from them, then the further ones, and the missing ones.
func (s *Story) measured(m *events.Measurement) string {
	var parts []string
	var sought definition.Objective
	if s.def != nil {
		sought = s.def.Sought()
	}
	if sought.Computed() {
		if value, ok := computed.Value(s.def, m); ok {
			parts = append(parts, value.Name+" "+format.Result(value))
		} else if why := computed.Undefined(s.def, m); why != "" {
			parts = append(parts, "no value of "+sought.Name+" ("+why+")")
		}
	}
	all := m.All()
	if len(m.Quantities) == 0 && len(all) > 0 { // the objective needs no name
		parts = append(parts, format.Result(all[0]))
		all = all[1:]
	}
	parts = append(parts, quantities(all)...)
	for _, missing := range m.Missing {
		parts = append(parts, fmt.Sprintf("no %s (%s)", missing.Name, missing.Reason))
	}
	return strings.Join(parts, ", ")
}

// quantities writes quantities with their names: "viscosity 3.200 mPa·s", in the
// order in which they were recorded.
func quantities(list []definition.Quantity) []string {
	texts := make([]string, len(list))
	for i, q := range list {
		texts[i] = q.Name + " " + format.Result(q)
	}
	return texts
}

// Outcome writes an outcome that a person corrects, or corrects to.
func Outcome(resolution events.Resolution) string {
	switch resolution {
	case events.ResolvedMeasured:
		return "measured"
	case events.ResolvedFailed:
		return "failed"
	case events.ResolvedInfeasible:
		return "cannot be done"
	case events.ResolvedNotPerformed:
		return "not performed"
	}
	return string(resolution)
}
