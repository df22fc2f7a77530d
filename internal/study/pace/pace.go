// Package pace makes campaigns in memory go the same way however goroutines are
// scheduled.
package pace

import (
	"context"
	"fmt"
	"sync"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Instrument lets the results of an instrument arrive one at a time, in the order of the
// experiments, and each only when the engine is idle. So a campaign with several running
// experiments takes the same course however goroutines are scheduled.
type Instrument struct {
	instruments.Instrument
	stuck func(error) // ends the campaign

	mu       sync.Mutex
	released map[string]chan struct{} // by experiment; closed when its result may arrive
	last     string                   // the experiment last released
}

// New returns an instrument whose own Instrument is still to be set, unless nothing is measured.
// stuck ends the campaign when it waits for a person.
func New(stuck func(error)) *Instrument {
	return &Instrument{stuck: stuck, released: map[string]chan struct{}{}}
}

func (p *Instrument) gate(experiment string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.released[experiment] == nil {
		p.released[experiment] = make(chan struct{})
	}
	return p.released[experiment]
}

// Await implements instruments.Instrument.
func (p *Instrument) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	select {
	case <-p.gate(cmd.Experiment):
		return p.Instrument.Await(ctx, cmd)
	case <-ctx.Done():
		return instruments.Outcome{}, context.Cause(ctx)
	}
}

// Observe is the engine's Observe, called when the engine is about to wait. If the last released
// result has arrived, the oldest running experiment is next. An open question is answered first:
// people are quicker than experiments. Experiments running in an earlier process arrive after the
// first decision of this one. If only a person can continue the campaign, it is stuck.
func (p *Instrument) Observe(core *engine.Core, wait engine.Wait) {
	if wait.Pending {
		return
	}
	s := core.State()
	for i := range s.Questions {
		if s.Questions[i].Status == campaign.Asked {
			return
		}
	}
	underWay := func(x *campaign.Experiment) bool {
		return x != nil && x.Command.UnderWay()
	}
	if underWay(s.Experiment(p.last)) {
		return
	}
	for i := range s.Experiments {
		if x := &s.Experiments[i]; underWay(x) {
			p.last = x.ID
			close(p.gate(x.ID))
			return
		}
	}
	if wait.For != "" {
		p.stuck(fmt.Errorf("it waits for %s, and nobody is there", wait.For))
	}
}
