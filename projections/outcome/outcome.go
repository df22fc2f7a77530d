// Package outcome is the projection of the quantities that a campaign declares
// apart from what it seeks: each has observations of its own, since one may be
// missing where another was measured, and a Gaussian process of its own. Their
// models are independent: quantities that are traded off against each other are
// correlated mostly through the composition, which each model knows, and closed
// forms stay closed.
package outcome

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/objective"
)

// Projection folds the fits of declared quantities, and observes their values.
type Projection struct {
	quantities []*objective.Projection // in the order of the definition
}

// New returns the projection of a campaign without events.
func New() *Projection { return new(Projection) }

// Name implements projections.Projection.
func (p *Projection) Name() string { return "outcomes" }

// Snapshot implements projections.Projection.
func (p *Projection) Snapshot() ([]byte, error) {
	snapshots := make([]json.RawMessage, len(p.quantities))
	for i, q := range p.quantities {
		var err error
		if snapshots[i], err = q.Snapshot(); err != nil {
			return nil, err
		}
	}
	return json.Marshal(snapshots)
}

// Restore implements projections.Projection.
func (p *Projection) Restore(snapshot []byte) error {
	*p = Projection{}
	var snapshots []json.RawMessage
	if err := json.Unmarshal(snapshot, &snapshots); err != nil {
		return fmt.Errorf("restore outcomes: %w", err)
	}
	for _, s := range snapshots {
		q := objective.New()
		if err := q.Restore(s); err != nil {
			return err
		}
		p.quantities = append(p.quantities, q)
	}
	return nil
}

// Clone returns a projection with the same state; see
// [objective.Projection.Clone].
func (p *Projection) Clone() *Projection {
	own := &Projection{quantities: slices.Clone(p.quantities)}
	for i, q := range own.quantities {
		own.quantities[i] = q.Clone()
	}
	return own
}

// Apply implements projections.Projection. What was measured is read from the
// campaign's state: see [Projection.Observe].
func (p *Projection) Apply(e events.Event, payload events.Payload) error {
	for _, q := range p.quantities {
		if err := q.Apply(e, payload); err != nil {
			return fmt.Errorf("%s: %w", q.Quantity(), err)
		}
	}
	switch d := payload.(type) {
	case *events.CampaignDefined:
		return p.declare(&d.Definition)
	case *events.CampaignAmended:
		return p.declare(&d.Definition)
	}
	return nil
}

// declare has a projection for each quantity of the definition that is modelled
// here, those that were there before among them.
func (p *Projection) declare(def *definition.Campaign) error {
	before := p.quantities
	p.quantities = nil
	for _, name := range Modelled(def) {
		i := slices.IndexFunc(before, func(q *objective.Projection) bool { return q.Quantity() == name })
		if i >= 0 {
			p.quantities = append(p.quantities, before[i])
			continue
		}
		q, err := objective.Of(name, def)
		if err != nil {
			return err
		}
		p.quantities = append(p.quantities, q)
	}
	return nil
}

// Modelled are the names of the declared quantities that have a model besides
// that of what is sought.
func Modelled(def *definition.Campaign) (names []string) {
	if !def.Several() {
		return nil
	}
	for _, q := range def.Declared() {
		if !q.Record && q.Name != def.Sought().Name {
			names = append(names, q.Name)
		}
	}
	return names
}

// Observe brings the observations of an experiment to what the campaign's state
// says; see [objective.Projection.Observe].
func (p *Projection) Observe(s *campaign.State, x *campaign.Experiment, decided bool) {
	for _, q := range p.quantities {
		q.Observe(s, x, decided)
	}
}

// Compare brings which observations are compared to what the campaign's state
// says; see [objective.Projection.Compare].
func (p *Projection) Compare(s *campaign.State) {
	for _, q := range p.quantities {
		q.Compare(s)
	}
}

// Quantities are the projections of the quantities, in the order of the
// definition.
func (p *Projection) Quantities() []*objective.Projection { return p.quantities }

// Quantity returns the projection of a quantity, nil where none is modelled
// here.
func (p *Projection) Quantity(name string) *objective.Projection {
	for _, q := range p.quantities {
		if q.Quantity() == name {
			return q
		}
	}
	return nil
}

// Version tells apart what the models follow from: it changes with each
// observation and fit of any quantity.
func (p *Projection) Version() uint64 {
	h := fnv.New64a()
	for _, q := range p.quantities {
		fmt.Fprintf(h, "%s %v\n", q.Quantity(), q.Version())
	}
	return h.Sum64()
}

// Models returns the models of the quantities. Those that have no fit yet are
// nil; the only error is that of a cancelled context.
func (p *Projection) Models(ctx context.Context) (Models, error) {
	m := make(Models, len(p.quantities))
	for i, q := range p.quantities {
		m[i].Quantity = q.Quantity()
		m[i].Model, m[i].Err = q.Model(ctx)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return m, nil
}

// Models are those of declared quantities, in the order of the definition.
type Models []struct {
	Quantity string
	// Model is nil before the first fit, and where Err says why there is none in
	// spite of it.
	Model *objective.Model
	Err   error
}

// Of returns the model of a quantity, nil where there is none.
func (m Models) Of(quantity string) *objective.Model {
	for i := range m {
		if m[i].Quantity == quantity {
			return m[i].Model
		}
	}
	return nil
}

var _ projections.Projection = (*Projection)(nil)

// Inside are the models of what lies within the space alone: see
// [objective.Model.Inside]. The only error is that of a cancelled context.
func (m Models) Inside(ctx context.Context, seed uint64) (Models, error) {
	own := slices.Clone(m)
	for i := range own {
		if own[i].Err == nil {
			own[i].Model, own[i].Err = own[i].Model.Inside(ctx, seed)
		}
	}
	return own, context.Cause(ctx)
}

// Everywhere are the models that compare all observations: see
// [objective.Model.Everywhere].
func (m Models) Everywhere() Models {
	own := slices.Clone(m)
	for i := range own {
		own[i].Model = own[i].Model.Everywhere()
	}
	return own
}
