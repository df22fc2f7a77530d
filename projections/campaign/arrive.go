package campaign

import (
	"fmt"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
)

// Awaited is a quantity of a measured experiment that is still to arrive.
type Awaited struct {
	Experiment string `json:"experiment"`
	Quantity   string `json:"quantity"`
	// Until is when it counts as missing; zero for never.
	Until time.Time `json:"until,omitzero"`
}

// await notes which quantities a measured experiment is to give later: those
// that are declared so now. One that is declared so afterwards was not promised
// of it.
func (s *State) await(x *Experiment) {
	x.Later = nil
	if x.Status != Measured {
		return
	}
	for _, q := range s.Definition.Quantities {
		if q.Later() {
			x.Later = append(x.Later, q.Name)
		}
	}
}

// Awaited are the quantities that an experiment was to give later and that have
// neither come nor been said to be missing, in the order of the definition. What
// is left out of the models is not awaited, though it may come.
func (s *State) Awaited(x *Experiment) (awaited []Awaited) {
	for _, name := range x.Later {
		q := s.Definition.Quantity(name)
		if q == nil || !q.Later() || !x.Counts(name) || settledIn(x.Measurement, name) {
			continue
		}
		a := Awaited{Experiment: x.ID, Quantity: name}
		if q.AnswerWithin > 0 {
			a.Until = x.EndedAt.Add(time.Duration(q.AnswerWithin))
		}
		awaited = append(awaited, a)
	}
	return awaited
}

// AwaitsSought reports whether the objective of an experiment is still to arrive, or a quantity
// that it is computed from.
func (s *State) AwaitsSought(x *Experiment) bool {
	sought := s.Definition.Sought()
	names := []string{sought.Name}
	if sought.Computed() {
		names = computed.Names(sought)
	}
	return slices.ContainsFunc(s.Awaited(x),
		func(a Awaited) bool { return slices.Contains(names, a.Quantity) })
}

// AllAwaited are the awaited quantities of all experiments, in order of request.
func (s *State) AllAwaited() (awaited []Awaited) {
	for i := range s.Experiments {
		awaited = append(awaited, s.Awaited(&s.Experiments[i])...)
	}
	return awaited
}

// settledIn reports whether a measurement has a quantity, or says that it is
// missing.
func settledIn(m *events.Measurement, name string) bool {
	if _, ok := m.Of(name); ok {
		return true
	}
	return slices.ContainsFunc(m.Missing, func(q events.Missing) bool { return q.Name == name })
}

// arrivable returns the fault of a quantity that came after the end of its experiment.
func arrivable(s *State, x *Experiment, p *events.QuantityArrived) (problem string) {
	if x == nil || x.Status != Measured {
		return "" // the status says it
	}
	q := s.Definition.Quantity(p.Name())
	switch {
	case (p.Quantity == nil) == (p.Missing == nil):
		return "it has a value, or says that it is missing: one of the two"
	case q == nil || q.From != "":
		return fmt.Sprintf("it is of %q, which the campaign does not declare", p.Name())
	}
	if value, ok := x.Measurement.Of(q.Name); ok {
		return fmt.Sprintf("%s of %s has a value, %v", q.Name, x.ID, value.Value)
	}
	return ""
}

// arrive folds a quantity that came after the end of its experiment, or will not.
func arrive(s *State, x *Experiment, e events.Event, p *events.QuantityArrived) {
	m := *x.Measurement // the event that holds it must not change
	if p.Quantity != nil {
		m = With(s.Definition, m, *p.Quantity)
	} else {
		m = without(s.Definition, m, *p.Missing)
	}
	m.Unread = slices.Concat(m.Unread, p.Unread)
	x.Measurement = &m
	x.Source = e.ID
}

// without returns a measurement in which a quantity is missing, with the reason.
func without(def *definition.Campaign, m events.Measurement, missing events.Missing) events.Measurement {
	all := slices.DeleteFunc(slices.Clone(m.Missing),
		func(q events.Missing) bool { return q.Name == missing.Name })
	all = append(all, missing)
	m.Missing = nil
	for _, q := range def.Declared() {
		i := slices.IndexFunc(all, func(v events.Missing) bool { return v.Name == q.Name })
		if i >= 0 {
			m.Missing = append(m.Missing, all[i])
		}
	}
	return m
}
