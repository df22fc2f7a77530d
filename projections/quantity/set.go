package quantity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Set is one projection for each quantity of a campaign that has a model: the objective, of a
// trade-off the first one, then the other declared quantities. One may be missing in an
// experiment that measured another, so that each has observations of its own, and models that
// are independent: quantities that are traded off against each other are correlated mostly
// through the composition, which each model knows, and closed forms stay closed.
//
// If a campaign declares its quantities, their measurements are read from the campaign's
// projection, which folds each event before the set does.
type Set struct {
	campaign *campaign.Projection
	all      []*Projection
}

// NewSet returns the quantities of a campaign without events.
func NewSet(c *campaign.Projection) *Set { return &Set{c, []*Projection{New()}} }

// Name implements projections.Projection.
func (s *Set) Name() string { return "quantities" }

// Snapshot implements projections.Projection.
func (s *Set) Snapshot() ([]byte, error) { return snapshot(s.all) }

func snapshot(all []*Projection) ([]byte, error) {
	states := make([]*state, len(all))
	for i, q := range all {
		states[i] = &q.state
	}
	return json.Marshal(states)
}

// Digested returns the projections as they enter the digest of a campaign's state, which people
// compare with that of another version: the objective's, and the others as one.
func (s *Set) Digested() []projections.Projection {
	return []projections.Projection{s.all[0], others{s}}
}

// others are the quantities besides the objective.
type others struct{ *Set }

func (others) Name() string                { return "outcomes" }
func (o others) Snapshot() ([]byte, error) { return snapshot(o.all[1:]) }

// Restore implements projections.Projection.
func (s *Set) Restore(snapshot []byte) error {
	var snapshots []json.RawMessage
	err := json.Unmarshal(snapshot, &snapshots)
	if err == nil && len(snapshots) == 0 {
		err = errors.New("the objective is missing")
	}
	if err != nil {
		return fmt.Errorf("restore quantities: %w", err)
	}
	s.all = s.all[:1]
	for i, text := range snapshots {
		if i > 0 {
			s.all = append(s.all, New())
		}
		if err := s.all[i].Restore(text); err != nil {
			return err
		}
	}
	s.compare()
	return nil
}

// Clone returns a set with the same state, of a clone of its campaign: see
// [Projection.Clone].
func (s *Set) Clone(c *campaign.Projection) *Set {
	own := &Set{campaign: c}
	for _, q := range s.all {
		own.all = append(own.all, q.Clone())
	}
	return own
}

// Apply implements projections.Projection.
func (s *Set) Apply(e events.Event, payload events.Payload) error {
	if x := s.campaign.State().Experiment(payload.Subject()); x != nil && x.Reference() {
		return nil // it is in no model
	}
	for _, q := range s.all {
		if err := q.Apply(e, payload); err != nil {
			return fmt.Errorf("%s: %w", q.Name(), err)
		}
	}
	state := s.campaign.State()
	var err error
	switch d := payload.(type) {
	case *events.CampaignDefined:
		err = s.declare(&d.Definition)
	case *events.CampaignAmended:
		err = s.declare(&d.Definition)
	}
	if err == nil && state.Definition != nil && state.Definition.Several() {
		s.observe(state, payload)
	}
	s.compare()
	return err
}

// declare has a projection for each quantity of the definition that is modelled, those
// that were there before among them.
func (s *Set) declare(def *definition.Campaign) error {
	all := s.all[:1:1]
	for _, name := range modelled(def) {
		q := s.Of(events.ModelName{Model: events.ModelQuantity, Quantity: name})
		if q == nil {
			var err error
			if q, err = Of(name, def); err != nil {
				return err
			}
		}
		all = append(all, q)
	}
	s.all = all
	return nil
}

// modelled returns the names of the declared quantities, besides the objective, that have a
// model.
func modelled(def *definition.Campaign) (names []string) {
	for _, q := range def.Declared() {
		if !q.Record && q.Name != def.Sought().Name {
			names = append(names, q.Name)
		}
	}
	return names
}

// observe has the projections read an event's changes. A quantity that an amendment declares
// may have been reported before.
func (s *Set) observe(state *campaign.State, payload events.Payload) {
	decided := false
	switch payload.(type) {
	case *events.CampaignAmended:
		for i := range state.Experiments {
			if state.Experiments[i].Reference() {
				continue
			}
			for _, q := range s.all {
				q.read(state, &state.Experiments[i], false)
			}
		}
		return
	case *events.MeasurementCorrected, *events.ExperimentCorrected:
		decided = true
	}
	if x := state.Experiment(payload.Subject()); x != nil {
		for _, q := range s.all {
			q.read(state, x, decided)
		}
	}
}

// compare has the projections know which experiments are compared with each other.
func (s *Set) compare() {
	for _, q := range s.all {
		q.compare(s.campaign.State())
	}
}

// Objective is the projection of the objective. It stays the same for all events.
func (s *Set) Objective() *Projection { return s.all[0] }

// All are the projections of all quantities, that of the objective first.
func (s *Set) All() []*Projection { return s.all }

// Of returns the projection that a fit is folded into, or nil.
func (s *Set) Of(fit events.ModelName) *Projection {
	if fit.Model == events.ModelObjective {
		return s.all[0]
	}
	for _, q := range s.all[1:] {
		if q.state.Quantity == fit.Quantity {
			return q
		}
	}
	return nil
}

// Version identifies the models' data: it changes with each observation and fit of any
// quantity.
func (s *Set) Version() uint64 {
	h := fnv.New64a()
	for _, q := range s.all {
		fmt.Fprintf(h, "%s %v\n", q.state.Quantity, q.Version())
	}
	return h.Sum64()
}

// Models returns the models of the quantities; none of a campaign without events. The
// only error is that of a cancelled context.
func (s *Set) Models(ctx context.Context) (Models, error) {
	def := s.campaign.State().Definition
	if def == nil {
		return nil, nil
	}
	all := make(Models, len(s.all))
	for i, q := range s.all {
		all[i].Quantity = q.state.Quantity
		all[i].Model, all[i].Err = q.Model(ctx)
	}
	sought := def.Sought()
	all[0].Quantity, all[0].Computed = sought.Name, sought.Computed()
	return all, context.Cause(ctx)
}

var _ projections.Projection = (*Set)(nil)

// Models are those of quantities: the objective's first, then the others in the order of the
// definition.
type Models []struct {
	Quantity string
	// Computed is set for an objective that is computed from the others.
	Computed bool
	// Model is nil before the first fit, and where Err says why it is missing in spite of one.
	Model *Model
	Err   error
}

// Measured are the models of the quantities that are measured.
func (m Models) Measured() Models {
	if len(m) > 0 && m[0].Computed {
		return m[1:]
	}
	return m
}

// Objective is the model of the objective, or nil.
func (m Models) Objective() *Model {
	if len(m) == 0 {
		return nil
	}
	return m[0].Model
}

// Failure says why the objective has no model in spite of a fit.
func (m Models) Failure() error {
	if len(m) == 0 {
		return nil
	}
	return m[0].Err
}

// With returns the models with another model of the objective.
func (m Models) With(sought *Model) Models {
	own := slices.Clone(m)
	own[0].Model, own[0].Err = sought, nil
	return own
}

// At is the place of a quantity, −1 for none.
func (m Models) At(quantity string) int {
	for i := range m {
		if m[i].Quantity == quantity {
			return i
		}
	}
	return -1
}

// Of returns the model of a quantity, or nil.
func (m Models) Of(quantity string) *Model {
	i := m.At(quantity)
	if i < 0 {
		return nil
	}
	return m[i].Model
}

// Inside returns the models of the observations within the space alone: see [Model.Inside]. The
// only error is that of a cancelled context.
func (m Models) Inside(ctx context.Context, seed uint64) (Models, error) {
	own := slices.Clone(m)
	for i := range own {
		if own[i].Err == nil {
			own[i].Model, own[i].Err = own[i].Model.Inside(ctx, seed)
		}
	}
	return own, context.Cause(ctx)
}

// Everywhere are the models that compare all observations: see [Model.Everywhere].
func (m Models) Everywhere() Models {
	own := slices.Clone(m)
	for i := range own {
		own[i].Model = own[i].Model.Everywhere()
	}
	return own
}
