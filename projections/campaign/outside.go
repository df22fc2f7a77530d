package campaign

import (
	"iter"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/space"
)

// bound notes which measured experiments lie outside the space as it is after an
// event: of all where the event changed the space, else of the one that it is
// about. A definition that makes no space is an error of whatever needs one.
func (p *Projection) bound(payload events.Payload) {
	s := &p.state
	if !s.Definition.Measures() {
		return
	}
	x := s.Experiment(payload.Subject())
	switch payload.(type) {
	case *events.CampaignAmended, *events.RegionExcluded, *events.RegionAllowed:
		p.bounds = nil
		for i := range s.Experiments {
			p.place(&s.Experiments[i])
		}
	case *events.CampaignDefined:
	default:
		if x != nil {
			p.place(x)
		}
	}
}

// place notes of one experiment whether it lies outside.
func (p *Projection) place(x *Experiment) {
	before := x.Outside
	x.Outside = p.outside(x)
	if (before == "") == (x.Outside == "") {
		return
	}
	p.state.Outside = nil
	for i := range p.state.Experiments {
		if x := &p.state.Experiments[i]; x.Outside != "" {
			p.state.Outside = append(p.state.Outside, x.ID)
		}
	}
}

// outside says why an experiment lies outside, as [Experiment.Outside] does.
func (p *Projection) outside(x *Experiment) string {
	if x.Measurement == nil {
		return ""
	}
	if p.bounds == nil {
		bounds, err := space.NewBounds(p.state.Bounded())
		if err != nil {
			return ""
		}
		p.bounds = bounds
	}
	return p.bounds.Outside(x.Parameters, x.Measurement.Actual)
}

// Compared are the results that are compared in the search for the best: those
// of [State.Results] that the campaign could still ask for.
func (s *State) Compared() iter.Seq2[*Experiment, definition.Quantity] {
	return func(yield func(*Experiment, definition.Quantity) bool) {
		for x, value := range s.Results() {
			if x.Outside == "" && !yield(x, value) {
				return
			}
		}
	}
}

// Everywhere is the state as it was seen before what lies outside was told from
// the rest: nothing does. It is for decisions that were made then.
func (s *State) Everywhere() *State {
	if s.Outside == nil {
		return s
	}
	own := *s
	own.Outside = nil
	own.Experiments = slices.Clone(s.Experiments)
	for i := range own.Experiments {
		own.Experiments[i].Outside = ""
	}
	return &own
}
