package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/feasibility"
	"github.com/campaignd/campaignd/projections/preference"
	"github.com/campaignd/campaignd/projections/quantity"
	"github.com/campaignd/campaignd/projections/space"
)

// Core is the state of one campaign and the rules for its next step. It is not
// safe for concurrent use.
//
// The projections are its data; all else follows from them, and is rebuilt by
// refresh.
type Core struct {
	campaign *campaign.Projection
	folded

	definedBy string    // what space and policy were made from
	last      time.Time // of the last event that was applied
}

// folded holds the data of a campaign that rules read besides its state.
type folded struct {
	registry registry.Registry

	quantities *quantity.Set
	objective  *quantity.Projection // the first of quantities
	belief     *belief.Projection
	preference *preference.Projection

	// Derived from the present definition and exclusions, rebuilt when they change.
	space  *space.Space
	policy policies.Policy
	ref    events.PolicyRef // names the policy
}

// Now is a campaign in a world at one moment: all that a rule or a request reads.
// It decides nothing and changes nothing by itself.
type Now struct {
	*campaign.State
	World
	folded
	core *Core // its copy judges a row after the rows before it
}

// At returns the campaign in a world.
func (c *Core) At(w World) Now { return Now{c.State(), w, c.folded, c} }

// NewCore returns the core of a campaign without events; its definition may name the registry's
// entries.
func NewCore(reg registry.Registry) *Core {
	c := &Core{campaign: campaign.New(), folded: folded{registry: reg, belief: belief.New(), preference: preference.New()}}
	c.quantities = quantity.NewSet(c.campaign)
	c.objective = c.quantities.Objective()
	return c
}

// Clone returns a core in the same state; from then on the two change independently. It saves
// readers from folding again the events that this core has folded. Space and policy are shared;
// the two cores may be used at the same time, since a policy may be (see [policies.Policy]).
func (c *Core) Clone() *Core {
	own := *c
	own.campaign = c.campaign.Clone()
	own.quantities = c.quantities.Clone(own.campaign)
	own.objective = own.quantities.Objective()
	own.belief = c.belief.Clone()
	own.preference = c.preference.Clone()
	return &own
}

// Registry returns the registry of names that the campaign's definition may use.
func (c *Core) Registry() registry.Registry { return c.registry }

// Projections returns the core's projections in the order of their digest. The
// campaign comes first, so that a contradiction in the history is named before
// another projection folds the event.
func (c *Core) Projections() []projections.Projection {
	return []projections.Projection{c.campaign, c.quantities, c.belief, c.preference}
}

// Quantities returns the core's projections of the objective and of the other declared
// quantities.
func (c *Core) Quantities() *quantity.Set { return c.quantities }

// Last is the time of the last event.
func (c *Core) Last() time.Time { return c.last }

// State returns the campaign's state. It must not be modified.
func (c *Core) State() *campaign.State { return c.campaign.State() }

// Space returns the design space of the present definition.
func (c *Core) Space() *space.Space { return c.space }

// Ref names the policy of the present definition.
func (c *Core) Ref() events.PolicyRef { return c.ref }

// Digest identifies the state of all projections.
func (c *Core) Digest() (string, error) {
	return projections.Digest(slices.Concat([]projections.Projection{c.campaign}, c.quantities.Digested(),
		[]projections.Projection{c.belief, c.preference})...)
}

// Apply folds one event. An error leaves the core unusable: the log holds an
// event that this build cannot have written.
//
// Nothing of it depends on the process: the same events give the same core, byte
// for byte in [Core.Digest].
func (c *Core) Apply(e events.Event) error {
	payload, err := events.Decode(e)
	if err != nil {
		return err
	}
	return c.apply(e, payload)
}

// apply folds one event that says payload.
func (c *Core) apply(e events.Event, payload events.Payload) error {
	if err := c.Complete(e, payload); err != nil {
		return err
	}
	for _, p := range c.Projections() {
		if err := p.Apply(e, payload); err != nil {
			return fmt.Errorf("%s: %w", p.Name(), err)
		}
	}
	c.last = e.Time
	return c.refresh()
}

// Snapshot is all that a core has folded, as data. Its meaning depends on the program that made
// it: only the same build may restore it.
type Snapshot struct {
	// Last is the time of the last event.
	Last time.Time `json:"last"`
	// Projections are those of [Core.Projections], in its order.
	Projections []json.RawMessage `json:"projections"`
}

// Snapshot returns the core's state.
func (c *Core) Snapshot() (Snapshot, error) {
	s := Snapshot{Last: c.last}
	for _, p := range c.Projections() {
		text, err := p.Snapshot()
		if err != nil {
			return s, fmt.Errorf("snapshot of %s: %w", p.Name(), err)
		}
		s.Projections = append(s.Projections, text)
	}
	return s, nil
}

// Restore replaces the core's state. An error leaves the core unusable. Only the number of
// projections is checked here; each projection validates its own snapshot.
func (c *Core) Restore(s Snapshot) error {
	all := c.Projections()
	if len(s.Projections) != len(all) {
		return fmt.Errorf("a snapshot of %d projections, and there are %d",
			len(s.Projections), len(all))
	}
	c.last = s.Last
	c.definedBy = "" // the policy says anew what it needs of the projections
	for i, p := range all {
		if err := p.Restore(s.Projections[i]); err != nil {
			return err
		}
	}
	return c.refresh()
}

// refresh rebuilds the space and the policy if the definition has changed.
//
// It is called after every event. An error names the event of the definition:
// the registry may lack a method that the log's writer had.
func (c *Core) refresh() error {
	s := c.State()
	if s.Definition == nil {
		return nil
	}
	// Each exclusion that is added or lifted changes one of the two counts.
	definedBy := fmt.Sprint(s.DefinedBy, " ", len(s.Exclusions), " ", len(s.Excluded()))
	if c.definedBy == definedBy {
		return nil
	}
	var err error
	if c.space, err = space.New(s.Bounded()); err != nil {
		return fmt.Errorf("the definition in event %s: %w", s.DefinedBy, err)
	}
	if c.policy, err = c.registry.Methods.New(*s.Definition); err != nil {
		return fmt.Errorf("the definition in event %s: %w", s.DefinedBy, err)
	}
	c.ref = c.registry.Methods.Ref(s.Definition.Policy)
	needs := c.policy.Needs()
	c.belief.Configure(needs.Belief)
	c.preference.Configure(needs.Preference)
	c.definedBy = definedBy
	return nil
}

// View returns a policy's view of the campaign. Models that have no fit yet are nil. The only
// error is that of a cancelled context; the view carries the errors of models.
//
// Models are caches: the projections build them from recorded fits, and again
// only when observations or fits have changed. The slices of beliefs and
// preferences follow the definition's list of experts.
func (c *Core) View(ctx context.Context) (policies.View, error) {
	searched := c.State().Searched()
	view := policies.View{Campaign: searched, Space: c.space}
	var err error
	if view.Models, err = c.quantities.Models(ctx); err != nil {
		return policies.View{}, err
	}
	view.Feasibility, view.FeasibilityError = feasibility.New(ctx, searched, c.space)
	for _, expert := range c.State().Definition.Experts {
		model, err := c.belief.Model(expert.Name, view.Objective())
		view.Beliefs, view.BeliefErrors = append(view.Beliefs, model), append(view.BeliefErrors, err)
		preferences, err := c.preference.Model(ctx, expert.Name)
		view.Preferences = append(view.Preferences, preferences)
		view.PreferenceErrors = append(view.PreferenceErrors, err)
	}
	if ctx.Err() != nil {
		return policies.View{}, context.Cause(ctx)
	}
	return view, nil
}

// seedFor derives a seed from the campaign's seed and its purpose. It never depends on a
// position or a time. So a campaign that is copied or served elsewhere has the same seeds (law
// 4 of docs/architecture.md). The zero byte keeps ("a", "bc") and ("ab", "c") apart.
func seedFor(seed uint64, purpose ...any) uint64 {
	hash := sha256.New()
	binary.Write(hash, binary.BigEndian, seed)
	for _, part := range purpose {
		fmt.Fprintf(hash, "%v\x00", part)
	}
	return binary.BigEndian.Uint64(hash.Sum(nil))
}
