package drive

import (
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Stocks are the stocks and the places of the lab, which campaigns share. Its methods may be called by
// several goroutines.
type Stocks interface {
	// Left returns the rest of some of them as this process knows it, by their names, without
	// those that the lab does not have, and a channel that is closed once a stock or a place may have
	// changed.
	Left(names []string) (left map[string]campaign.Stock, changed <-chan struct{}, err error)
	// Take takes parts for the command of an experiment, by the names of the stocks in the lab: all
	// or, where one does not suffice any more, none. A second take of the same parts for the same
	// command returns what the first did.
	Take(experiment, command string, parts []computed.Draw) ([]events.Drawn, error)
	// Places returns who is in some places of the lab, as this process knows it, by their names, without
	// those that the lab does not have. instance is that of the campaign.
	Places(names []string, instance string) (engine.LabPlaces, error)
	// Occupy takes a place for a batch. Where others are in it, it is not taken.
	Occupy(place, instance, batch string) error
	// Vacate frees the place that a batch has taken.
	Vacate(place, instance, batch string) error
}

// takeAgain is the pause before something is taken again after an error of the lab's log.
const takeAgain = time.Second

// othersFirst is how long a campaign that has left a place leaves it to others. The one that leaves is the
// first to know: without this, one with enough batches kept all others out for as long as it ran.
const othersFirst = 2 * time.Second

// taking holds the parts of the lab's stocks that were taken and not dispatched yet. It belongs to
// the loop.
type taking struct {
	taken map[string][]events.Drawn // by experiment or act
	fault string                    // why nothing can be taken
	left  map[string]time.Time      // when batches left places of the lab last
	// wake is closed once the stocks are to be looked at again; nil without any.
	wake <-chan struct{}
}

// lab returns what the core has to know of the stocks and places of the lab. A process without them
// leaves the parts out: [Runner.Stocks].
func (r *Runner) lab(w *engine.World) {
	s, t := r.core.State(), &r.taking
	stocks, places := s.Definition.LabStocks(), s.Definition.LabPlaces()
	if r.Stocks == nil || len(stocks)+len(places) == 0 {
		return
	}
	if t.fault == "" {
		left, changed, err := r.Stocks.Left(stocks)
		if w.LabStocks.Left, t.wake = left, changed; err == nil {
			w.LabPlaces, err = r.Stocks.Places(places, s.Instance) // a change in between wakes, too
		}
		if err != nil {
			r.cannotTake(err)
		}
	}
	if t.fault != "" {
		w.LabStocks.Left, w.LabPlaces = map[string]campaign.Stock{}, engine.LabPlaces{}
		for _, name := range places {
			w.LabPlaces[name] = engine.LabPlace{Fault: t.fault}
		}
	}
	w.LabStocks.Taken, w.LabStocks.Fault = t.taken, t.fault
	for name, at := range t.left {
		if p, known := w.LabPlaces[name]; known {
			p.From = at.Add(othersFirst)
			w.LabPlaces[name] = p
		}
	}
}

// place takes a place of the lab for a batch, or frees it.
func (r *Runner) place(do func(place, instance, batch string) error, place, batch string) {
	if err := do(place, r.core.State().Instance, batch); err != nil {
		r.cannotTake(err)
	}
}

// vacate frees a place of the lab.
func (r *Runner) vacate(step engine.Vacate) {
	r.place(r.Stocks.Vacate, step.Place, step.Batch)
	if r.taking.left == nil {
		r.taking.left = make(map[string]time.Time)
	}
	r.taking.left[step.Place] = r.Now()
}

// cannotTake has the lab's log left alone for a while.
func (r *Runner) cannotTake(err error) {
	wake := make(chan struct{})
	time.AfterFunc(takeAgain, func() { close(wake) })
	r.taking.fault, r.taking.wake = err.Error(), wake
}

// takeStocks takes parts of the lab's stocks for a command. Where one does not suffice, the core sees
// that in the rest.
func (r *Runner) takeStocks(step engine.Take) {
	s := r.core.State()
	parts := make([]computed.Draw, len(step.Parts))
	for i, part := range step.Parts {
		part.Stock = s.Definition.Stocks[part.Stock].Lab
		parts[i] = part
	}
	taken, err := r.Stocks.Take(step.Experiment, engine.CommandID(s, step.Subject), parts)
	if err != nil {
		r.cannotTake(err)
		return
	}
	if taken == nil {
		return
	}
	drawn := make([]events.Drawn, len(taken))
	for i, part := range taken {
		part.Stock = step.Parts[i].Stock
		drawn[i] = part
	}
	if r.taking.taken == nil {
		r.taking.taken = make(map[string][]events.Drawn)
	}
	r.taking.taken[step.Subject] = drawn
}
