package whatif

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/campaignd/campaignd/adapters/humans"
	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/lab/equip"
	"github.com/campaignd/campaignd/internal/study/pace"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
	"github.com/campaignd/campaignd/projections/space"
)

// Where the results of an imagined experiment come from.
const (
	FromLog       = "log"       // what was really measured there
	FromSimulator = "simulator" // the campaign's own instrument, which is a simulation
	FromModel     = "model"     // the mean of the campaign's model
)

// standIn measures instead of the lab. Results in the campaign's log are given as they were
// measured, each once; for other compositions the campaign's own instrument answers if it is a
// simulation, and otherwise the mean of the campaign's model.
type standIn struct {
	def       definition.Campaign
	space     *space.Space
	past      map[string][]campaign.Experiment // by the composition that was asked for
	simulator instruments.Instrument           // nil unless the campaign's instrument is one
	models    quantity.Models                  // none where there is a simulator
}

// from says where results come from that the log does not hold.
func (s *standIn) from() string {
	if s.simulator != nil {
		return FromSimulator
	}
	return FromModel
}

// standInFor returns the stand-in for the lab, nil if there can be none: the campaign measures
// nothing, or its model has not been fitted. now is the real campaign, def the imagined
// definition.
//
// Results that were excluded, or whose composition differs from the requested one, answer
// nothing. Models are those of now: they know more than the campaign knew at the decision,
// which the caveats say.
func standInFor(
	ctx context.Context, reg registry.Registry, now *engine.Core, sp *space.Space,
	def definition.Campaign, env instruments.Environment,
) (*standIn, error) {
	if !def.Measures() {
		return nil, nil
	}
	s := &standIn{def: def, space: sp, past: make(map[string][]campaign.Experiment)}
	for _, x := range now.State().Experiments {
		key, err := sp.Key(x.Parameters)
		if err != nil || x.Excluded || x.Elsewhere {
			continue // it could not be requested, or was made elsewhere than requested
		}
		switch x.Status {
		case campaign.Measured, campaign.Failed, campaign.Infeasible:
			s.past[key] = append(s.past[key], x)
		}
	}
	if reg.Simulates(&def) {
		var err error
		s.simulator, err = equip.OpenInstrument(ctx, reg, atOnce(def), env)
		return s, err
	}
	view, err := modelsFor(ctx, now, def)
	if err != nil {
		return nil, err
	}
	if s.models = view.Models; view.Objective() == nil {
		return nil, nil
	}
	return s, nil
}

// modelsFor returns the campaign's models as of now: its own, if the imagined definition has
// the same parameters and quantities, and otherwise those it would have with them.
func modelsFor(
	ctx context.Context, now *engine.Core, imagined definition.Campaign,
) (v policies.View, err error) {
	def := now.State().Definition
	with := func(a, b definition.Campaign) definition.Campaign {
		a.Parameters, a.Quantities = b.Parameters, b.Quantities
		return a
	}
	if campaignfile.Diff(*def, with(*def, imagined)) == nil {
		return now.View(ctx)
	}
	amended, err := under(now, imagined)
	if err != nil {
		return v, err
	}
	read, err := amended.Read(ctx)
	if err != nil {
		return v, err
	}
	return read.View(ctx)
}

// atOnce is a definition whose simulations take no time. Only the latency is changed; their
// answers stay the same.
func atOnce(def definition.Campaign) definition.Campaign {
	if settings, err := simulated.SettingsOf(def); err == nil && def.Driver().Name == simulated.Name {
		settings.Latency = 0
		def.Instrument.Driver = simulated.Choose(settings)
	}
	def.Experts = slices.Clone(def.Experts)
	for i, e := range def.Experts {
		if settings, err := humansim.SettingsOf(e); err == nil && e.Channel.Name == humansim.Name {
			settings.Latency = 0
			def.Experts[i].Channel = humansim.Choose(settings)
		}
	}
	return def
}

// close ends the simulation; a nil stand-in has none.
func (s *standIn) close() error {
	if s == nil || s.simulator == nil {
		return nil
	}
	return equip.CloseInstrument(s.simulator)
}

// Describe implements instruments.Instrument.
func (s *standIn) Describe(ctx context.Context) (instruments.Description, error) {
	var outputs []instruments.OutputSpec
	for _, q := range s.def.Declared() {
		outputs = append(outputs, instruments.OutputSpec{Name: q.Name, Unit: q.Unit})
	}
	return instruments.Description{
		Name: "stand-in", Identity: "what stands in for the lab", Capacity: max(1, s.def.Parallel),
		Simulated: true,
		Outputs:   outputs,
	}, ctx.Err()
}

// Start implements instruments.Instrument.
func (s *standIn) Start(ctx context.Context, _ instruments.Command) error { return ctx.Err() }

// Cancel implements instruments.Instrument.
func (s *standIn) Cancel(ctx context.Context, _ instruments.Command) error { return ctx.Err() }

// Await implements instruments.Instrument. It answers commands of the lab's own past, too:
// those under way then.
//
// The n-th replicate of a composition gets its n-th result. Identity says where
// a result comes from, and with the log which experiment it was.
func (s *standIn) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return instruments.Outcome{}, err
	}
	key, err := s.space.Key(cmd.Parameters)
	if err != nil {
		return instruments.Outcome{Status: instruments.Failed, Cause: err.Error()}, nil
	}
	if past := s.past[key]; cmd.Replicate >= 1 && cmd.Replicate <= len(past) {
		x := past[cmd.Replicate-1]
		var m *events.Measurement
		if x.Measurement != nil {
			past := *x.Measurement
			past.Actual = maps.Clone(past.Actual)
			past.Further = slices.Clone(past.Further)
			past.Quantities = slices.Clone(past.Quantities)
			past.Missing = slices.Clone(past.Missing)
			past.Identity = FromLog + " " + x.ID
			m = &past
		}
		switch x.Status {
		case campaign.Failed:
			return instruments.Outcome{Status: instruments.Failed, Cause: x.Cause, Measurement: m}, nil
		case campaign.Infeasible:
			return instruments.Outcome{Status: instruments.Infeasible, Cause: x.Cause}, nil
		}
		return instruments.Outcome{Status: instruments.Measured, Measurement: m}, nil
	}
	if s.simulator != nil {
		return s.simulated(ctx, cmd)
	}
	m := events.Measurement{
		Actual: maps.Clone(cmd.Parameters), Identity: FromModel,
	}
	for _, q := range s.models.Measured() {
		if q.Model == nil {
			continue
		}
		p, err := q.Model.Predict(cmd.Parameters)
		if err != nil {
			return instruments.Outcome{Status: instruments.Failed, Cause: err.Error()}, nil
		}
		m.Quantities = append(m.Quantities, definition.Quantity{Name: q.Quantity, Value: p.Mean, Unit: p.Unit})
	}
	m = instruments.Arranged(&s.def, m)
	return instruments.Outcome{Status: instruments.Measured, Measurement: &m}, nil
}

// simulated asks the campaign's own simulation. A refused experiment would be requested again
// without end, and so counts as failed here.
func (s *standIn) simulated(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	err := s.simulator.Start(ctx, cmd)
	switch {
	case errors.Is(err, instruments.ErrRefused):
		return instruments.Outcome{Status: instruments.Failed, Cause: err.Error()}, nil
	case err != nil:
		return instruments.Outcome{}, fmt.Errorf("the simulation does not start %s: %w", cmd.Experiment, err)
	}
	outcome, err := s.simulator.Await(ctx, cmd)
	if outcome.Measurement != nil {
		m := *outcome.Measurement
		m.Identity, outcome.Measurement = FromSimulator, &m
	}
	return outcome, err
}

// imagined is the instrument of a campaign that is imagined. It has the lab's past: commands
// under way are answered, and not sent again.
type imagined struct{ *pace.Instrument }

// Recover implements instruments.Recoverer.
func (imagined) Recover(ctx context.Context, _ instruments.Command) (instruments.Fate, error) {
	return instruments.FateFinished, ctx.Err()
}

// reviewersFor returns the reviewers that answer instead of the experts: a simulated one as
// always; for a person, and anyone else outside the campaign, the answer in the log to the same
// question or, without one, that they cannot tell. recorded are those.
//
// No channel to a person is opened: nothing of a what-if may reach anyone.
func reviewersFor(
	ctx context.Context, reg registry.Registry, now *engine.Core, sp *space.Space,
	def definition.Campaign, folder string,
) (reviewers map[string]humans.Reviewer, recorded []string, err error) {
	only := def
	only.Experts = nil
	for _, e := range def.Experts {
		if isSimulated(reg, e) {
			only.Experts = append(only.Experts, e)
		} else {
			recorded = append(recorded, e.Name)
		}
	}
	if reviewers, err = equip.OpenReviewers(ctx, reg, atOnce(only), folder, nil, nil); err != nil {
		return nil, nil, err
	}
	for _, name := range recorded {
		reviewers[name] = &memory{expert: name, space: sp, questions: now.State().Questions}
	}
	return reviewers, recorded, nil
}

// isSimulated reports whether an expert's answers follow from the campaign
// alone.
func isSimulated(reg registry.Registry, e definition.Expert) bool {
	if e.Asked() || e.Channel.Name == humansim.Name {
		return !e.Asked()
	}
	settings, err := reg.ExpertSettings(e)
	confined, ok := settings.(definition.Confined)
	return err == nil && ok && confined.Confined()
}

// memory repeats an expert's recorded answers. questions are those of the campaign as it is
// now, later ones than the decision included.
type memory struct {
	expert    string
	space     *space.Space
	questions []campaign.Question
}

// Describe implements humans.Reviewer. One at a time, so that the same what-if
// goes the same way.
func (m *memory) Describe() humans.Description {
	return humans.Description{Expert: m.expert, Simulated: true, OneAtATime: true}
}

// Ask implements humans.Reviewer.
//
// A question is the same if its form, scale and compositions are; their order
// does not matter, nor what was shown with them.
func (m *memory) Ask(ctx context.Context, q humans.Question) (humans.Reply, error) {
	if err := ctx.Err(); err != nil {
		return humans.Reply{}, err
	}
	wanted := m.keys(q.Options, q.Suggestion)
	for i := range m.questions {
		was := &m.questions[i]
		if was.Expert != m.expert || was.Form != q.Form || was.Status != campaign.Answered || wanted == nil ||
			!reflect.DeepEqual(was.Scale, q.Scale) {
			continue
		}
		if places, ok := matched(m.keys(was.Options, was.Suggestion), wanted); ok {
			return humans.Reply{Answer: rearranged(was.Answer, places)}, nil
		}
	}
	return humans.Reply{}, nil // they cannot tell
}

// keys name the compositions that a question is about, nil where that cannot be
// said.
func (m *memory) keys(options []events.Option, suggestion *events.Option) []string {
	if len(options) == 0 && suggestion != nil {
		options = []events.Option{*suggestion}
	}
	var keys []string
	for _, o := range options {
		key, err := m.space.Key(o.Parameters)
		if err != nil {
			return nil
		}
		keys = append(keys, key)
	}
	return keys
}

// matched returns for each of the old compositions its place among the new
// ones, if they are the same ones. A composition that stands twice needs two
// places.
func matched(old, wanted []string) (places []int, ok bool) {
	if len(old) != len(wanted) {
		return nil, false
	}
	taken := make([]bool, len(wanted))
	for _, key := range old {
		at := -1
		for i, other := range wanted {
			if other == key && !taken[i] {
				at = i
				break
			}
		}
		if at < 0 {
			return nil, false
		}
		taken[at] = true
		places = append(places, at)
	}
	return places, true
}

// rearranged is an answer about the same compositions in another order. The
// answer in the log is not changed.
func rearranged(a events.Answer, places []int) events.Answer {
	a.Order, a.Estimates = slices.Clone(a.Order), slices.Clone(a.Estimates)
	for i, option := range a.Order {
		a.Order[i] = places[option]
	}
	for i, e := range a.Estimates {
		a.Estimates[i].Option = places[e.Option]
	}
	slices.SortStableFunc(a.Estimates, func(a, b events.Estimate) int { return a.Option - b.Option })
	return a
}
