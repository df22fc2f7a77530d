package stocks

import (
	"fmt"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Declared are the stocks and places that lab.yaml declares.
type Declared struct {
	Stocks map[string]definition.Stock
	// Places are in the order in which a batch may hold them.
	Places []definition.Place
}

// room is how many batches a place has room for. ok is false where the lab has none of the name.
func (d Declared) room(place string) (room int, ok bool) {
	i := slices.IndexFunc(d.Places, func(p definition.Place) bool { return p.Name == place })
	if i < 0 {
		return 0, false
	}
	return max(1, d.Places[i].Room), true
}

// Place is a place of the lab.
type Place struct {
	Name string `json:"name"`
	Room int    `json:"room" doc:"How many batches it has room for; 0 where the lab file declares it no more."`
	// In is in the order in which they came.
	In []Occupation `json:"in,omitempty" doc:"The batches that are in it, or are being brought there."`
}

// Occupation is the stay of a batch in a place.
type Occupation struct {
	events.Occupant
	Since time.Time `json:"since"`
}

// Words are who is in a place, and for how many batches it has room.
func (p *Place) Words() string {
	text := fmt.Sprintf("%d of %d free", max(0, p.Room-len(p.In)), p.Room)
	for _, o := range p.In {
		text += fmt.Sprintf("; %s of %s since %s", o.Batch, o.Campaign, format.Time(o.Since))
	}
	return text
}

// occupy folds that a batch takes a place.
func (s *Shelf) occupy(p *events.PlaceTaken, at time.Time) (problem string) {
	in := s.places[p.Place]
	switch {
	case s.at(p.Place, p.Occupant) >= 0:
		return fmt.Sprintf("%s of %s is in %s already", p.Batch, p.Campaign, p.Place)
	case len(in) >= p.Room:
		problem = fmt.Sprintf("%s of %s takes %s, which is full", p.Batch, p.Campaign, p.Place)
	}
	s.places[p.Place] = append(in, Occupation{p.Occupant, at})
	return problem
}

// vacate folds that a batch is in a place no more.
func (s *Shelf) vacate(p *events.PlaceFreed) (problem string) {
	i := s.at(p.Place, p.Occupant)
	if i < 0 {
		return fmt.Sprintf("%s of %s leaves %s, and is not in it", p.Batch, p.Campaign, p.Place)
	}
	s.places[p.Place] = slices.Delete(slices.Clone(s.places[p.Place]), i, i+1)
	return ""
}

// at is the index of a batch among those in a place, -1 where it is not in it.
func (s *Shelf) at(place string, of events.Occupant) int {
	return slices.IndexFunc(s.places[place], func(o Occupation) bool { return o.Occupant == of })
}

// Places lists the places that lab.yaml declares, in their order, and those besides in which a batch is.
func (s *Stocks) Places() (all []Place, err error) {
	declared, err := s.declared()
	if err != nil {
		return nil, err
	}
	return s.places(declared)
}

func (s *Stocks) places(declared Declared) (all []Place, err error) {
	err = s.Read(false, func(shelf *Shelf) error {
		all = shelf.Places(declared)
		return nil
	})
	return all, err
}

// Places is [Stocks.Places] of a shelf.
func (s *Shelf) Places(declared Declared) (all []Place) {
	for _, p := range declared.Places {
		all = append(all, Place{p.Name, max(1, p.Room), slices.Clone(s.places[p.Name])})
	}
	for _, name := range sortedKeys(s.places) {
		if _, known := declared.room(name); !known && len(s.places[name]) > 0 {
			all = append(all, Place{Name: name, In: slices.Clone(s.places[name])})
		}
	}
	return all
}

// Places returns who is in some places of the lab: a part of [drive.Stocks].
func (c *Campaign) Places(names []string, instance string) (engine.LabPlaces, error) {
	if len(names) == 0 {
		return nil, nil
	}
	declared, err := c.of.lately()
	if err != nil {
		return nil, err
	}
	all, err := c.of.places(declared)
	if err != nil {
		return nil, err
	}
	places := make(engine.LabPlaces)
	for _, p := range all {
		if !slices.Contains(names, p.Name) {
			continue
		}
		as := engine.LabPlace{Room: p.Room}
		for _, o := range p.In {
			if o.Occupant == c.occupant(instance, o.Batch) {
				as.Batches = append(as.Batches, o.Batch)
			} else {
				as.Others = append(as.Others, o.Batch+" of "+o.Campaign)
			}
		}
		places[p.Name] = as
	}
	return places, nil
}

func (c *Campaign) occupant(instance, batch string) events.Occupant {
	return events.Occupant{Store: c.store, Campaign: c.name, Instance: instance, Batch: batch}
}

// Occupy takes a place for a batch. Where it is full, nothing is taken.
func (c *Campaign) Occupy(place, instance, batch string) error {
	of := c.occupant(instance, batch)
	return c.of.Change(func(shelf *Shelf) ([]events.Event, error) {
		declared, err := c.of.declared()
		if err != nil {
			return nil, err
		}
		room, _ := declared.room(place)
		if shelf.at(place, of) >= 0 || len(shelf.places[place]) >= room {
			return nil, nil
		}
		e, err := event(events.KindPlaceTaken, &events.PlaceTaken{Occupant: of, Place: place, Room: room},
			engine.Request{Actor: byFile})
		return []events.Event{e}, err
	})
}

// Vacate frees the place that a batch has taken.
func (c *Campaign) Vacate(place, instance, batch string) error {
	of := c.occupant(instance, batch)
	return c.of.Change(func(shelf *Shelf) ([]events.Event, error) {
		if shelf.at(place, of) < 0 {
			return nil, nil
		}
		e, err := event(events.KindPlaceFreed, &events.PlaceFreed{Occupant: of, Place: place}, engine.Request{Actor: byFile})
		return []events.Event{e}, err
	})
}

// Free is a person's word that a batch is in a place of the lab no more.
type Free struct {
	Place    string `json:"place" minLength:"1" maxLength:"64" doc:"The place, as lab.yaml names it."`
	Campaign string `json:"campaign" minLength:"1" maxLength:"200" doc:"The campaign of the batch."`
	Batch    string `json:"batch" minLength:"1" maxLength:"20" doc:"The batch that is in it no more: b3."`
	Reason   string `json:"reason,omitempty" maxLength:"2000" doc:"Why, for the record."`
}

// Free records the word of a person who has looked: the batch of a campaign that goes on no more is not
// in the place. All batches of that name are, of whichever store. A request that was recorded before
// changes nothing.
func (s *Stocks) Free(f Free, by engine.Request) error {
	if err := engine.CheckActor(by.Actor); err != nil {
		return err
	}
	return s.Change(func(shelf *Shelf) (batch []events.Event, err error) {
		if recorded, err := s.Recorded(by.Actor, by.ID, by.Digest); recorded || err != nil {
			return nil, err
		}
		for _, o := range shelf.places[f.Place] {
			if o.Campaign != f.Campaign || o.Batch != f.Batch {
				continue
			}
			e, err := event(events.KindPlaceFreed, &events.PlaceFreed{Occupant: o.Occupant, Place: f.Place, Reason: f.Reason}, by)
			if err != nil {
				return nil, err
			}
			batch = append(batch, e)
		}
		if batch == nil {
			return nil, problem.New(problem.NotFound, "%s of %s is not in a place %q of the lab", f.Batch, f.Campaign, f.Place).
				With(problem.Remedy{Text: "look who is where: `campaignd stock --lab`"})
		}
		return batch, nil
	})
}
