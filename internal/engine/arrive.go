package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// person is the reporter of results that no instrument reports.
const person = "person"

// A quantity can come after its experiment has ended, as a capacity after 100 cycles does. The
// experiment is measured as soon as the others are there: it has no place at the instrument and
// none among those under way. The late quantity is awaited (see [campaign.State.Awaited]),
// until it arrives, is declared missing, or its time is over. A value that comes even later
// still counts.

// nextArrival records a quantity that did not arrive in time as missing. The event depends on
// the definition alone, so that an audit can hold it to that. A campaign that has ended awaits
// nothing, but accepts late quantities.
func nextArrival(c Now) (Step, error) {
	if c.Status.Ended() {
		return nil, nil
	}
	for _, a := range c.AllAwaited() {
		if until := arrives(c, a); until.IsZero() || c.Now.Before(until) {
			continue
		}
		return record(NotArrived(c.State, a))
	}
	return nil, nil
}

// NotArrived returns the event for an awaited quantity that did not arrive in time.
func NotArrived(s *campaign.State, a campaign.Awaited) *events.QuantityArrived {
	within := s.Definition.Quantity(a.Quantity).AnswerWithin
	return &events.QuantityArrived{
		Experiment: a.Experiment,
		Missing:    &events.Missing{Name: a.Quantity, Reason: "it did not arrive within " + within.Days()},
	}
}

// nextCollect asks the instrument for the late quantities of its experiments. It is asked for
// each experiment, and again by the next process.
func nextCollect(c Now) (Step, error) {
	if !c.Resources[""].Delivers || c.Status.Ended() {
		return nil, nil
	}
	for x := range among(c.State) {
		asked := x.Command.ID != "" && x.Command.Instrument != person
		if asked && !c.Collecting[x.ID] && c.Awaited(x) != nil {
			return Collect{Experiment: x.ID}, nil
		}
	}
	return nil, nil
}

// lastArrivals waits, before a campaign ends for want of experiments or of time, for the late
// quantities of its experiments: the last experiments count as much as the first. It is nil
// where nothing is awaited, and for campaigns in memory, to which no one delivers.
func lastArrivals(c Now) Step {
	awaited := c.AllAwaited()
	if awaited == nil || c.Eager {
		return nil
	}
	tell := problem.Remedy{Text: "tell it", Action: problem.Tell, Subject: awaited[0].Experiment}
	for _, a := range c.Awaited(c.Experiment(awaited[0].Experiment)) {
		tell.Ways = append(tell.Ways, a.Quantity)
	}
	return Wait{For: awaitedText(awaited), Remedies: []problem.Remedy{tell}, Until: Deadline(c)}
}

// awaitedText lists the awaited quantities: "capacity_100 of e7 and 2 more".
func awaitedText(awaited []campaign.Awaited) string {
	text := fmt.Sprintf("%s of %s", awaited[0].Quantity, awaited[0].Experiment)
	if more := len(awaited) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// deliver records quantities that a person reports for an experiment already measured: one that
// arrives later, or had no value so far. A quantity that has a value is corrected, not given
// again.
func deliver(s *campaign.State, x *campaign.Experiment, t Tell) ([]events.Payload, error) {
	def := s.Definition
	values, err := valuesIn(s, t)
	if err != nil {
		return nil, err
	}
	var payloads []events.Payload
	seen := make(map[string]bool)
	add := func(name string, p *events.QuantityArrived) error {
		q := def.Quantity(name)
		switch {
		case q == nil || q.From != "":
			return measurable(s, name)
		case seen[name]:
			return notPossible("%s is given twice", name).About(x.ID)
		}
		if had, ok := x.Measurement.Of(name); ok {
			return alreadyThere(x.ID, name, had)
		}
		seen[name] = true
		p.Experiment, p.Instrument = x.ID, person
		payloads = append(payloads, p)
		return nil
	}
	for _, value := range values {
		if q := def.Quantity(value.Name); q != nil {
			definition.Default(&value.Unit, q.Unit)
			if err := instruments.Usable(q, value); err != nil {
				return nil, notPossible("%w", err).About(x.ID)
			}
		}
		if err := add(value.Name, &events.QuantityArrived{Quantity: &value}); err != nil {
			return nil, err
		}
	}
	for _, missing := range t.Missing {
		if strings.TrimSpace(missing.Reason) == "" {
			return nil, notPossible("it does not say why %s has no value", missing.Name).About(x.ID)
		}
		if err := add(missing.Name, &events.QuantityArrived{Missing: &missing}); err != nil {
			return nil, err
		}
	}
	return payloads, nil
}

// arrival is a quantity of an experiment.
type arrival struct{ experiment, quantity string }

// arrivals records the new values in a table row for an experiment already measured. A value
// that the campaign has already, or that an earlier row gives, counts once. said holds the
// values of earlier rows.
func arrivals(c Now, t Tell, said map[arrival]definition.Quantity) ([]events.Payload, error) {
	x := c.Experiment(t.Experiment)
	switch {
	case x == nil:
		return nil, noExperiment(t.Experiment)
	case !c.Definition.Several():
		return nil, notPossible("a row of a table adds quantities to an experiment where the campaign declares them").About(x.ID)
	case t.reasons() > 0 || t.Later || x.Status != campaign.Measured:
		return nil, notNow(x.ID, "a row of a table adds quantities to an experiment that has been measured, and nothing else").
			With(TellOf(c.Definition, "tell it", x.ID))
	}
	values, err := valuesIn(c.State, t)
	if err != nil {
		return nil, err
	}
	add := Tell{Experiment: x.ID, Notes: t.Notes}
	for _, value := range values {
		if q := c.Definition.Quantity(value.Name); q != nil {
			definition.Default(&value.Unit, q.Unit)
		}
		there, err := There(c.State, x.ID, value)
		if err != nil {
			return nil, err
		}
		at := arrival{x.ID, value.Name}
		switch had, twice := said[at]; {
		case twice && !sameValue(had, value):
			return nil, notPossible("%s of %s is given twice, as %s and as %s", value.Name, x.ID, written(had), written(value)).
				About(x.ID)
		case !there && !twice:
			said[at] = value
			add.Quantities = append(add.Quantities, value)
		}
	}
	for _, missing := range t.Missing {
		settled := slices.ContainsFunc(x.Measurement.Missing, func(m events.Missing) bool { return m.Name == missing.Name })
		if !settled {
			add.Missing = append(add.Missing, missing)
		}
	}
	if add.empty() {
		return nil, nil
	}
	return tell(c, add, events.OriginImport, 0)
}

// There reports whether an experiment has a value of a quantity already, the same to the last
// digit. If it has another one, There fails with a remedy.
func There(s *campaign.State, experiment string, value definition.Quantity) (bool, error) {
	had, ok := given(s.Experiment(experiment).Measurement, value.Name)
	value = instruments.RespelledValue(s.Definition, value)
	if !ok || sameValue(had, value) {
		return ok, nil
	}
	return false, alreadyThere(experiment, value.Name, had)
}

// sameValue reports whether two values are the same. A missing unit does not differ from any
// unit.
func sameValue(a, b definition.Quantity) bool {
	return a.Value == b.Value && (a.Unit == b.Unit || a.Unit == "" || b.Unit == "")
}

// alreadyThere refuses a value for a quantity that has one.
func alreadyThere(experiment, name string, had definition.Quantity) error {
	return conflict(experiment, "%s of %s is there already: %s", name, experiment, written(had)).
		With(change(experiment))
}

// Delivered returns the events for quantities that an instrument gives after the end of an
// experiment. An unusable value is recorded as missing, with the reason, and kept unread. Where
// there is a value already, or no result, the delivery is kept as a note, from which a person
// can correct the experiment.
func Delivered(s *campaign.State, experiment string, d instruments.Delivery) []events.Payload {
	x := s.Experiment(experiment)
	var payloads, notes []events.Payload
	seen := make(map[string]bool)
	for _, value := range d.Quantities {
		value = instruments.RespelledValue(s.Definition, value)
		q := arrivable(s, x, value.Name, seen)
		if q == nil {
			if had, ok := given(x.Measurement, value.Name); !ok || had.Value != value.Value || had.Unit != value.Unit {
				notes = append(notes, delivered(s, x, fmt.Sprintf("%s = %s", value.Name, written(value)))...)
			}
			continue
		}
		seen[value.Name] = true
		p := &events.QuantityArrived{
			Experiment: x.ID, Command: x.Command.ID, Instrument: x.Command.Instrument,
		}
		p.Quantity, p.Missing, p.Unread = instruments.Arrived(q, value)
		payloads = append(payloads, p)
	}
	for _, missing := range d.Missing {
		if arrivable(s, x, missing.Name, seen) == nil {
			continue // there is a value, or nothing new is said
		}
		seen[missing.Name] = true
		payloads = append(payloads, &events.QuantityArrived{
			Experiment: x.ID, Command: x.Command.ID, Instrument: x.Command.Instrument,
			Missing: &events.Missing{
				Name:   missing.Name,
				Reason: instruments.WhyMissing(missing.Reason),
			},
		})
	}
	for _, part := range d.Unread {
		notes = append(notes, delivered(s, x, "what cannot be read: "+part.Text)...)
	}
	return append(payloads, notes...)
}

// arrivable is the declared quantity of a name that can still arrive of an
// experiment; nil where it cannot.
func arrivable(
	s *campaign.State, x *campaign.Experiment, name string, seen map[string]bool,
) *definition.QuantityDef {
	q := s.Definition.Quantity(name)
	if _, ok := given(x.Measurement, name); ok || q == nil || q.From != "" || seen[name] || x.Status != campaign.Measured {
		return nil
	}
	return q
}

// given is the value of a quantity in a measurement, which may be nil.
func given(m *events.Measurement, name string) (q definition.Quantity, ok bool) {
	if m == nil {
		return q, false
	}
	return m.Of(name)
}

// delivered keeps, once, a delivery that does not count: a program may repeat it whenever it is
// asked.
func delivered(s *campaign.State, x *campaign.Experiment, what string) []events.Payload {
	text := "the instrument delivered what does not count; if it should, " + x.ID + " has to be corrected: " + what
	note := events.NoteAdded{About: x.ID, Text: instruments.WhyMissing(text)}
	said := func(n campaign.Note) bool { return n.About == note.About && n.Text == note.Text }
	if slices.ContainsFunc(s.Notes, said) {
		return nil
	}
	return []events.Payload{&note}
}

// valuesIn are the values that a person gives of an experiment that has been
// measured; nothing else can be said of it here.
func valuesIn(s *campaign.State, t Tell) ([]definition.Quantity, error) {
	sought := sought(s)
	values := t.Quantities
	switch {
	case t.Actual != nil || t.Further != nil:
		return nil, conflict(t.Experiment, "%s has a result already, to which quantities can be added and nothing else",
			t.Experiment).
			With(change(t.Experiment))
	case t.Value != nil:
		value := sought.Quantity(*t.Value, t.SD)
		if t.Unit != "" {
			value.Unit = t.Unit
		}
		values = append([]definition.Quantity{value}, values...)
	}
	values = slices.Clone(values)
	for i := range values {
		values[i] = instruments.RespelledValue(s.Definition, values[i])
	}
	return values, nil
}

// unsaid returns the missing quantities of a result: those it names as missing and, for a given
// reason, some of those it does not mention.
func (t *Tell) unsaid(s *campaign.State, reason string, of func(definition.QuantityDef) bool) []events.Missing {
	missing := slices.Clip(t.Missing)
	for _, q := range s.Definition.Declared() {
		named := t.Value != nil && q.Name == sought(s).Name ||
			slices.ContainsFunc(slices.Concat(t.Quantities, t.Further), func(v definition.Quantity) bool { return v.Name == q.Name }) ||
			slices.ContainsFunc(t.Missing, func(v events.Missing) bool { return v.Name == q.Name })
		if of(q) && !named {
			missing = append(missing, events.Missing{Name: q.Name, Reason: reason})
		}
	}
	return missing
}

// written writes a value with its unit.
func written(q definition.Quantity) string {
	return strings.TrimSpace(fmt.Sprintf("%.4g %s", q.Value, q.Unit))
}

// awaitedUntil returns the time at which the first of the awaited quantities counts as missing;
// zero for never.
func awaitedUntil(c Now) (first time.Time) {
	for _, a := range c.AllAwaited() {
		if until := arrives(c, a); !until.IsZero() && (first.IsZero() || until.Before(first)) {
			first = until
		}
	}
	return first
}

// arrives returns the time at which an awaited quantity counts as missing; zero for never.
func arrives(c Now, a campaign.Awaited) time.Time {
	within := time.Duration(c.Definition.Quantity(a.Quantity).AnswerWithin)
	return c.end(a.Until.Add(-within), a.Until)
}
