package instruments

import (
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/units"
)

// Arranged returns a measurement with the quantities that the campaign declares taken from wherever
// the instrument reported them: as its objective, as quantities or as further ones. An instrument
// that knows one objective thus serves a campaign of several quantities unchanged.
//
// A declared quantity whose value cannot be used, or that was not reported, is in Missing with the
// reason; its value, if any, is in Unread. A quantity that arrives later, and is not known to be
// missing yet, is in neither list. Undeclared quantities stay in Further.
//
// Where the campaign declares nothing, the objective is taken from wherever it was reported, and
// all else is further.
func Arranged(def *definition.Campaign, m events.Measurement) events.Measurement {
	if !def.Several() {
		return objectiveApart(def, m)
	}
	reported := m.All()
	reasons := m.Missing
	m.Objective = definition.Quantity{}
	m.Quantities = nil
	m.Missing = nil
	m.Further = nil
	m.Unread = slices.Clone(m.Unread)
	for _, q := range def.Declared() {
		i := slices.IndexFunc(reported, func(r definition.Quantity) bool { return r.Name == q.Name })
		if i < 0 {
			if why, is := whyMissing(&q, reasons); is {
				m.Missing = append(m.Missing, events.Missing{Name: q.Name, Reason: why})
			}
			continue
		}
		value := reported[i]
		reported = slices.Delete(reported, i, i+1)
		is, missing, unread := Arrived(&q, value)
		m.Unread = append(m.Unread, unread...)
		if missing != nil {
			m.Missing = append(m.Missing, *missing)
			continue
		}
		m.Quantities = append(m.Quantities, *is)
	}
	m.Further = reported
	return m
}

// Respelled writes the units of a measurement's values as the campaign does, where they are the
// same unit: mPa.s as mPa·s. It is for values that come in; recorded ones have the campaign's
// spelling.
func Respelled(def *definition.Campaign, m events.Measurement) events.Measurement {
	m.Objective = RespelledValue(def, m.Objective)
	for _, list := range []*[]definition.Quantity{&m.Quantities, &m.Further} {
		for i, value := range *list {
			is := RespelledValue(def, value)
			if is.Unit == value.Unit {
				continue
			}
			*list = slices.Clone(*list)
			(*list)[i] = is
		}
	}
	return m
}

// RespelledValue is [Respelled] for one value.
func RespelledValue(def *definition.Campaign, value definition.Quantity) definition.Quantity {
	if q := def.Quantity(value.Name); q != nil && units.Same(value.Unit, q.Unit) {
		value.Unit = q.Unit
	}
	return value
}

// objectiveApart is [Arranged] for a campaign that declares no quantities.
func objectiveApart(def *definition.Campaign, m events.Measurement) events.Measurement {
	if m.Quantities == nil {
		m.Missing = nil
		return m
	}
	all := m.All()
	i := slices.IndexFunc(all, func(q definition.Quantity) bool { return q.Name == def.Sought().Name })
	if i >= 0 {
		m.Objective = all[i]
		all = slices.Delete(all, i, i+1)
	}
	m.Further = all
	m.Quantities = nil
	m.Missing = nil
	return m
}

// whyMissing is the reason that an instrument gives for a quantity without a
// value. One that arrives later is missing only where it says so.
func whyMissing(q *definition.QuantityDef, said []events.Missing) (why string, missing bool) {
	i := slices.IndexFunc(said, func(m events.Missing) bool { return m.Name == q.Name })
	switch {
	case i >= 0:
		return WhyMissing(said[i].Reason), true
	case q.Later():
		return "", false
	}
	return WhyMissing(""), true
}

// WhyMissing is the reason that an instrument gives for a quantity without a
// value, as it is recorded: clipped, and never empty.
func WhyMissing(reason string) string {
	if reason == "" {
		return "it was not reported"
	}
	return Legible(reason, MaxCause)
}

// Arrived returns a quantity that came after the end of its experiment as it enters the campaign:
// its value, or the reason why it is missing, with the report itself in unread. It is [Arranged]
// for one quantity.
func Arrived(
	q *definition.QuantityDef, value definition.Quantity,
) (arrived *definition.Quantity, missing *events.Missing, unread []events.Unread) {
	if err := Usable(q, value); err != nil {
		return nil, &events.Missing{Name: q.Name, Reason: err.Error()},
			[]events.Unread{{Field: q.Name, Text: text(value), Reason: err.Error()}}
	}
	if badSD(value.SD) {
		unread = []events.Unread{unreadSD(q, *value.SD)}
		value.SD = nil
	}
	return &value, nil, unread
}

// unreadSD keeps an invalid standard deviation.
func unreadSD(q *definition.QuantityDef, sd float64) events.Unread {
	return events.Unread{
		Field: q.Name + ".sd", Text: text(sd),
		Reason: fmt.Sprintf("the standard deviation of %s is %s", q.Name, absurd(sd)),
	}
}

// Usable says why a value cannot be one of a declared quantity: it is not a finite number, in
// another unit, or out of the range of plausible values.
func Usable(q *definition.QuantityDef, value definition.Quantity) error {
	switch v := value.Value; {
	case !finite(v) || beyond(v):
		return fmt.Errorf("%s is %s", q.Name, absurd(v))
	case value.Unit != q.Unit:
		return fmt.Errorf("%s is in %s, the campaign's in %s", q.Name, unit(value.Unit), unit(q.Unit))
	case q.Scale == definition.ScaleLog && v <= 0:
		return fmt.Errorf("%s = %g %s has no logarithm, by which it is modelled", q.Name, v, q.Unit)
	case q.Min != nil && v < *q.Min:
		return fmt.Errorf("%s = %g %s is below the plausible minimum of %g", q.Name, v, q.Unit, *q.Min)
	case q.Max != nil && v > *q.Max:
		return fmt.Errorf("%s = %g %s is above the plausible maximum of %g", q.Name, v, q.Unit, *q.Max)
	}
	return nil
}

// quantities checks the declared quantities of an arranged measurement: that
// there is one from which something is learned, or is to arrive.
func (f *faults) quantities(def *definition.Campaign, m events.Measurement) {
	for _, q := range def.Declared() {
		if !q.Record && (named(m.Quantities, q.Name) || q.Later() && !said(m.Missing, q.Name)) {
			return
		}
	}
	f.add("it has none of the quantities that the campaign learns from")
	for _, missing := range m.Missing {
		if q := def.Quantity(missing.Name); q != nil && !q.Record {
			f.add("no %s: %s", missing.Name, missing.Reason)
		}
	}
}

// Recorded says whether the declared quantities of a measurement are as
// [Arranged] leaves them: each once, in the order of the definition, usable, and
// the others missing. The error is a [*MeasurementError]. An audit asks it of
// what stands in a log.
func Recorded(def *definition.Campaign, m events.Measurement) error {
	var f faults
	if m.Objective != (definition.Quantity{}) {
		f.add("the campaign declares its quantities, and it has an objective apart from them")
	}
	var values, missing []string
	for _, q := range def.Declared() {
		i := slices.IndexFunc(m.Quantities, func(v definition.Quantity) bool { return v.Name == q.Name })
		if i < 0 {
			if !q.Later() || said(m.Missing, q.Name) {
				missing = append(missing, q.Name)
			}
			continue
		}
		values = append(values, q.Name)
		if err := Usable(&q, m.Quantities[i]); err != nil {
			f.add("%v", err)
		}
		if sd := m.Quantities[i].SD; badSD(sd) {
			f.add("the standard deviation of %s is %s", q.Name, absurd(*sd))
		}
	}
	same := func(q definition.Quantity, name string) bool { return q.Name == name }
	if !slices.EqualFunc(m.Quantities, values, same) {
		f.add("its quantities are not those that the campaign declares, each once and in their order")
	}
	if !slices.EqualFunc(m.Missing, missing, func(q events.Missing, name string) bool { return q.Name == name }) {
		f.add("it does not say of each quantity without a value that it is missing")
	}
	if f != nil {
		return &MeasurementError{Faults: f}
	}
	return nil
}

// named reports whether a quantity is among some.
func named(list []definition.Quantity, name string) bool {
	return slices.ContainsFunc(list, func(q definition.Quantity) bool { return q.Name == name })
}

// said reports whether a quantity is said to be missing.
func said(list []events.Missing, name string) bool {
	return slices.ContainsFunc(list, func(q events.Missing) bool { return q.Name == name })
}

// outputs compares the declared quantities with the instrument's outputs.
func (f *faults) outputs(desc Description, def definition.Campaign) {
	for _, q := range def.Declared() {
		i := slices.IndexFunc(desc.Outputs, func(o OutputSpec) bool { return o.Name == q.Name })
		switch {
		case i < 0 && q.Later(): // another one may measure it
		case i < 0:
			f.add("the campaign declares %s, the instrument measures %s", q.Name, namesOf(desc.Outputs))
		case !units.Same(desc.Outputs[i].Unit, q.Unit):
			f.add("%s is in %s in the campaign, in %s for the instrument",
				q.Name, unit(q.Unit), unit(desc.Outputs[i].Unit))
		}
	}
}
