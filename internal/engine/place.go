package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Places of the lab are shared, so that a batch takes one in the lab's log before it waits for the
// instrument that brings it there: place, ticket, dispatch. Batches hold places in the lab's order and
// nothing else while they wait, so that no two wait for one another. What the lab's log has, and the
// batch does not need any more, is freed: a crash between the two logs leaves no place taken.

// LabPlaces are the places of the lab that a campaign's batches can be in, by their names in the lab, in
// a process that can take them. Nil limits nothing: it is that of a study, of an imagined course, and
// of an audit of the campaign alone.
type LabPlaces map[string]LabPlace

// LabPlace is a place of the lab.
type LabPlace struct {
	// Room is how many batches it has room for.
	Room int
	// Batches are those of the campaign that are in it, Others those of other campaigns, in words.
	Batches, Others []string
	// From is when the campaign takes it again at the earliest: whoever leaves a place lets others
	// have it first.
	From time.Time
	// Fault says why it can be neither taken nor freed now.
	Fault string
}

type (
	// Occupy takes a place of the lab for a batch.
	Occupy struct{ Place, Batch string }
	// Vacate gives it back.
	Vacate struct{ Place, Batch string }
)

func (Occupy) step() {}
func (Vacate) step() {}

// labPlace returns the place of the lab that a stage brings the batch to; "" where it brings it to none,
// and where the batch has it.
func labPlace(c Now, b *campaign.Batch, stage *definition.Stage) string {
	p := c.Definition.Place(stage.Holds)
	if p == nil || p.Lab == "" || c.LabPlaces == nil || slices.Contains(c.LabPlaces[p.Lab].Batches, b.ID) {
		return ""
	}
	return p.Lab
}

// occupied says why a batch cannot have a place of the lab now, or "".
func occupied(c Now, place string) string {
	switch p, known := c.LabPlaces[place]; {
	case p.Fault != "":
		return "the lab's places: " + p.Fault
	case !known:
		return fmt.Sprintf("%s, which the lab does not have", place)
	case len(p.Batches)+len(p.Others) >= p.Room && len(p.Others) > 0:
		return fmt.Sprintf("%s of the lab, where %s is", place, strings.Join(p.Others, ", "))
	case len(p.Batches)+len(p.Others) >= p.Room:
		return place + " of the lab"
	case c.Now.Before(p.From):
		return fmt.Sprintf("%s of the lab, which others may take first", place)
	}
	return ""
}

// nextVacate frees a place of the lab that a batch has left, or to which it is not about to be
// brought: a window has closed, the campaign is paused, a process was killed in between.
func nextVacate(c Now) Step {
	for i := range c.Definition.Places {
		p := &c.Definition.Places[i]
		for _, id := range c.LabPlaces[p.Lab].Batches {
			b := c.Batch(id)
			if c.LabPlaces[p.Lab].Fault == "" && (b == nil || !c.Occupies(b, p.Name) && !entering(c, b, p.Name)) {
				return Vacate{p.Lab, id}
			}
		}
	}
	return nil
}

// entering reports whether a batch is about to be brought to a place.
func entering(c Now, b *campaign.Batch, place string) bool {
	return c.Status != campaign.Paused && !b.Over && !unresolved(c.State, b) &&
		slices.ContainsFunc(due(c, b, c.Now), func(d Due) bool { return b.Stage(d.Stage).Holds == place })
}
