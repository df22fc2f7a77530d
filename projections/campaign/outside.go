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
	x := s.Experiment(payload.Subject())
	switch payload.(type) {
	case *events.CampaignAmended, *events.RegionExcluded, *events.RegionAllowed:
		s.bar()
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

// bar notes in the definition what people have excluded. Events share theirs, so
// that the state gets one of its own.
func (s *State) bar() {
	excluded := s.Excluded()
	if s.Definition == nil || excluded == nil && s.Definition.Barred == nil {
		return
	}
	own := *s.Definition
	own.Barred = excluded
	s.Definition = &own
}

// place notes of one experiment whether it lies outside. The lists are made anew
// where that changes: clones share them.
func (p *Projection) place(x *Experiment) {
	why, astray := p.outside(x)
	same := (x.Outside == "") == (why == "") && x.Astray == astray
	x.Outside = why
	x.Astray = astray
	if same {
		return
	}
	s := &p.state
	s.Outside = nil
	s.Astray = nil
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Outside != "" {
			s.Outside = append(s.Outside, x.ID)
		}
		if x.Astray {
			s.Astray = append(s.Astray, x.ID)
		}
	}
}

// outside says why an experiment lies outside: see [space.Bounds.Outside].
func (p *Projection) outside(x *Experiment) (why string, astray bool) {
	if x.Measurement == nil {
		return "", false
	}
	if p.bounds == nil {
		bounds, err := space.NewBounds(p.state.Bounded())
		if err != nil {
			return "", false
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

// Everywhere is the state in which no experiment lies outside: the one that
// decisions of version 2 were made from.
func (s *State) Everywhere() *State {
	if s.Outside == nil {
		return s
	}
	own := *s
	own.Outside = nil
	own.Astray = nil
	own.Experiments = slices.Clone(s.Experiments)
	for i := range own.Experiments {
		own.Experiments[i].Outside = ""
	}
	return &own
}
