package drive

import (
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Stocks are the stocks of the lab, which campaigns share. Its methods may be called by several
// goroutines.
type Stocks interface {
	// Left returns the rest of some of them as this process knows it, by their names, without
	// those that the lab does not have, and a channel that is closed once that may have changed.
	Left(names []string) (left map[string]campaign.Stock, changed <-chan struct{}, err error)
	// Take takes parts for the command of an experiment, by the names of the stocks in the lab: all
	// or, where one does not suffice any more, none. A second take of the same parts for the same
	// command returns what the first did.
	Take(experiment, command string, parts []computed.Draw) ([]events.Drawn, error)
}

// takeAgain is the pause before something is taken again after an error of the lab's log.
const takeAgain = time.Second

// taking holds the parts of the lab's stocks that were taken and not dispatched yet. It belongs to
// the loop.
type taking struct {
	taken map[string][]events.Drawn // by experiment or act
	fault string                    // why nothing can be taken
	// wake is closed once the stocks are to be looked at again; nil without any.
	wake <-chan struct{}
}

// labStocks returns what the core has to know of the stocks of the lab. A process without them
// leaves the parts out: [Runner.Stocks].
func (r *Runner) labStocks() (l engine.LabStocks) {
	def := r.core.State().Definition
	t := &r.taking
	if r.Stocks == nil || len(def.LabStocks()) == 0 {
		return l
	}
	if t.fault != "" {
		return engine.LabStocks{Left: map[string]campaign.Stock{}, Taken: t.taken, Fault: t.fault}
	}
	left, changed, err := r.Stocks.Left(def.LabStocks())
	if t.wake = changed; err != nil {
		r.cannotTake(err)
		left = map[string]campaign.Stock{}
	}
	return engine.LabStocks{Left: left, Taken: t.taken, Fault: t.fault}
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
