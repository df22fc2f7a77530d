package simulate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sync"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/study/studyfile"
	"github.com/campaignd/campaignd/internal/view/diagnose"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
	"github.com/campaignd/campaignd/projections/space"
)

// leastObservations is the minimum number of measurements for a surrogate.
const leastObservations = 3

// surrogateSeed is the seed of the surrogate's fit and of the search for its
// optimum: it is the same for all campaigns of a study. A truth that depended
// on the seed of a campaign could not be shared by its arms.
const surrogateSeed = 1

// store is the task of a campaign that has been run. If the log holds measurements at a
// composition, the log answers, with each measurement once; elsewhere the answer is the mean of the
// Gaussian process fitted to all its measurements, plus noise. The true value is the process's mean
// everywhere.
//
// The steps: fold the campaign, fit all its measurements once more with a seed of the study's own,
// take over the sections of its objective, and put the surrogate in the place of the instrument.
// The quality of the surrogate's predictions stands in About, and a bad diagnosis in Doubt:
// conclusions are only as good as it is.
func (t *Task) store(
	ctx context.Context, file *studyfile.File, source *studyfile.Task, env Environment,
) (err error) {
	log, name, closeStore, err := env.OpenStore(ctx, file.Resolve(source.Store), source.Campaign)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	core, err := engine.Load(ctx, file.Registry, log, name)
	if err != nil {
		return err
	}
	def := *core.State().Definition
	if t.given, err = campaignSections(def); err != nil {
		return err
	}
	// simulated experts answer by the seed: with the old one they answer as
	// they did
	t.given = t.given.With("name", yamltree.Text(name))
	// Nothing real is started: the surrogate takes the place of the program.
	stand := process.Choose(process.Settings{Command: []string{fromSurrogate}})
	if err := t.give("instrument", definition.Instrument{Steps: def.Steps(), Driver: stand}); err != nil {
		return err
	}
	t.candidates, t.Kind = def.Candidates, Store
	if def.Several() {
		return t.storeOfSeveral(ctx, file, source, core, name)
	}
	return t.storeOfOne(ctx, source, core, name)
}

// storeOfOne is the task of a campaign that declares no quantities.
func (t *Task) storeOfOne(ctx context.Context, source *studyfile.Task, core *engine.Core, name string) error {
	// To all measurements; the campaign itself keeps its own fit.
	model, err := fitted(ctx, core.Clone().Quantities().Objective())
	if err != nil {
		return fmt.Errorf("%w; %s", err, needsMeasurements)
	}
	def := *core.State().Definition
	sought := def.Sought()
	truth := Truth{Sought: sought}
	truth.Value = func(p definition.Point) (float64, error) {
		prediction, err := model.Predict(p)
		return prediction.Mean, err
	}
	if truth.Best, truth.Worst, err = extremes(ctx, core.Space(), model); err != nil {
		return err
	}
	sd := noiseOf(def, source, math.Sqrt(model.Fit.Noise)*model.Fit.Scale)
	view, err := core.View(ctx)
	if err != nil {
		return err
	}
	view.Models = view.Models.With(model)
	diagnosis, err := diagnose.Run(ctx, view)
	if err != nil {
		return err
	}
	past, count := answers(core.State(), core.Space())
	t.Truth = truth
	if t.digest, err = digest(past, model.Fit, sd); err != nil {
		return err
	}
	t.About = fmt.Sprintf("The campaign %s in %s. "+
		"Its log answers where it holds the composition (%d results); elsewhere a surrogate does: "+
		"the mean of a Gaussian process fitted to all its %d measurements, "+
		"with noise of standard deviation %s. Regret is against the surrogate's optimum, %s.",
		name, filepath.Base(source.Store), count, len(model.Observations),
		inUnit(sd, sought), inUnit(truth.Best, sought))
	if check := diagnosis.LeaveOneOut; check != nil && check.R2 != nil {
		t.About += fmt.Sprintf(" Of the variance of measurements left out it predicts %.0f %%.",
			100*max(0, *check.R2))
	}
	if diagnosis.Verdict.Troubled() {
		t.Doubt = "The surrogate: " + diagnosis.Headline
	}
	t.standIn(past, map[string]noise{sought.Name: {sd: sd}})
	return nil
}

// needsMeasurements is the refusal of a store without enough measurements.
const needsMeasurements = "a store needs measurements to stand in for its instrument"

// noiseOf returns the standard deviation of a surrogate's noise: the task's, or else the
// objective's, or else the model's. Zero is a value: a task may have no noise.
func noiseOf(def definition.Campaign, source *studyfile.Task, model float64) float64 {
	if given := cmp.Or(source.Noise, def.Sought().Noise); given != nil {
		return *given
	}
	return model
}

// standIn answers from the past or, without a past result, from the truth with noise. Each campaign
// has an instrument of its own, since they run simultaneously.
func (t *Task) standIn(past map[string][]answer, noises map[string]noise) {
	identity := fromSurrogate
	if t.Kind == Function {
		identity = "simulation"
	}
	t.Instrument = func(def definition.Campaign) (instruments.Instrument, error) {
		sp, err := space.New(def)
		return &surrogate{
			def:      def,
			space:    sp,
			past:     past,
			truth:    t.Truth,
			identity: identity,
			noises:   noises,
			outcomes: map[string]instruments.Outcome{},
		}, err
	}
	t.reviewers = t.Truth.knowing
}

// fitted returns the model fitted to the observations of a projection.
func fitted(ctx context.Context, p *quantity.Projection) (*quantity.Model, error) {
	fit, err := p.Fit(ctx, surrogateSeed)
	if err != nil {
		return nil, fmt.Errorf("the surrogate: %w", err)
	}
	if fit.Observations < leastObservations {
		return nil, fmt.Errorf("there are %d measurements, and a surrogate needs at least %d",
			fit.Observations, leastObservations)
	}
	if err := p.Apply(events.Event{}, &events.ModelFitted{Model: events.ModelObjective,
		Objective: &fit}); err != nil {
		return nil, err
	}
	return p.Model(ctx)
}

// extremes searches the model's mean for its best and worst value over the space. next.Bound with a
// width of 0 is the mean, with the sign for which less is better.
func extremes(ctx context.Context, sp *space.Space, m *quantity.Model) (best, worst float64, err error) {
	mean := next.Bound(m, 0)
	negative := func(x, grad []float64) float64 {
		value := mean(x, grad)
		for i := range grad {
			grad[i] = -grad[i]
		}
		return -value
	}
	low, err := search.Minimize(ctx, sp, mean, surrogateSeed, m.X, nil)
	if err != nil {
		return 0, 0, fmt.Errorf("the surrogate's optimum: %w", err)
	}
	high, err := search.Minimize(ctx, sp, negative, surrogateSeed, m.X, nil)
	if err != nil {
		return 0, 0, fmt.Errorf("the surrogate's worst value: %w", err)
	}
	return m.Untransform(low.Value), m.Untransform(-high.Value), nil
}

// answer is the end of an experiment of the log.
type answer struct {
	Experiment string
	Outcome    instruments.Outcome
}

// answers returns the answers in a campaign's log, by requested composition, in the order of
// experiments. Measurements that a person excluded are left out. The second result counts them.
func answers(s *campaign.State, sp *space.Space) (map[string][]answer, int) {
	past, count := make(map[string][]answer), 0
	for i := range s.Experiments {
		x := &s.Experiments[i]
		key, err := sp.Key(x.Parameters)
		if err != nil {
			continue // it was asked for before the space was amended
		}
		a := answer{Experiment: x.ID}
		switch {
		case x.Excluded:
			continue
		case x.Status == campaign.Failed: // it may have partial results
			a.Outcome = instruments.Outcome{Status: instruments.Failed, Cause: x.Cause, Measurement: x.Measurement}
		case x.Measurement != nil:
			m := *x.Measurement
			a.Outcome = instruments.Outcome{Status: instruments.Measured, Measurement: &m}
		case x.Status == campaign.Infeasible:
			a.Outcome = instruments.Outcome{Status: instruments.Infeasible, Cause: x.Cause}
		default:
			continue
		}
		past[key] = append(past[key], a)
		count++
	}
	return past, count
}

// digest identifies the answers of a surrogate. JSON writes maps in the order of their keys, so
// that equal answers have one digest. It is part of the campaigns' keys: a continued store is
// another task.
func digest(past map[string][]answer, fit events.ObjectiveFit, noise float64) (string, error) {
	text, err := json.Marshal(struct {
		Past  map[string][]answer
		Fit   events.ObjectiveFit
		Noise float64
	}{past, fit, noise})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return "store " + hex.EncodeToString(sum[:]), nil
}

// Where a result of a store's task came from, as the measurement's identity
// begins.
const (
	fromLog       = "log"
	fromSurrogate = "surrogate"
)

// surrogate is the instrument of a store's task. Its answers are a function of
// the store, the campaign's seed and the command. mu guards outcomes alone.
type surrogate struct {
	def   definition.Campaign
	space *space.Space
	past  map[string][]answer
	truth Truth // and the objective
	// identity is the origin in its measurements.
	identity string
	// noises are those of the quantities, by name; missing ones have none.
	noises map[string]noise

	mu       sync.Mutex
	outcomes map[string]instruments.Outcome
}

// Describe implements instruments.Instrument.
func (s *surrogate) Describe(ctx context.Context) (instruments.Description, error) {
	d := instruments.Description{
		Name: "surrogate", Identity: "a model of an earlier campaign", Capacity: 1, Simulated: true,
		Outputs: []instruments.OutputSpec{instruments.OutputOf(s.truth.Sought)},
	}
	if s.truth.quantities != nil {
		d.Outputs = nil
		for _, q := range s.def.Declared() {
			d.Outputs = append(d.Outputs, instruments.OutputSpec{Name: q.Name, Unit: q.Unit})
		}
	}
	return d, ctx.Err()
}

// Start implements instruments.Instrument.
func (s *surrogate) Start(ctx context.Context, cmd instruments.Command) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	outcome, err := s.outcome(cmd)
	if err != nil {
		return fmt.Errorf("%w: %w (%w)", instruments.ErrRefused, err, instruments.ErrPermanent)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcomes[cmd.ID] = outcome
	return nil
}

// outcome answers from the log the n-th measurement of a composition with the log's n-th, and from
// the model after that.
func (s *surrogate) outcome(cmd instruments.Command) (instruments.Outcome, error) {
	key, err := s.space.Key(cmd.Parameters)
	if err != nil {
		return instruments.Outcome{}, err
	}
	if past := s.past[key]; cmd.Replicate >= 1 && cmd.Replicate <= len(past) {
		a := past[cmd.Replicate-1]
		outcome := a.Outcome
		if outcome.Measurement != nil {
			m := *outcome.Measurement
			m.Actual, m.Identity = maps.Clone(m.Actual), fromLog+" "+a.Experiment
			outcome.Measurement = &m
		}
		return outcome, nil
	}
	measurement, err := s.measure(cmd)
	if err != nil {
		return instruments.Outcome{}, err
	}
	measurement.Actual, measurement.Identity = maps.Clone(cmd.Parameters), s.identity
	return instruments.Outcome{Status: instruments.Measured, Measurement: &measurement}, nil
}

// measure returns the truth with noise, separate for each quantity.
func (s *surrogate) measure(cmd instruments.Command) (m events.Measurement, err error) {
	if s.truth.quantities == nil {
		value, err := s.truth.Value(cmd.Parameters)
		sought := s.truth.Sought
		value = s.noises[sought.Name].add(value, normal(s.def.Seed, cmd.Experiment))
		return events.Measurement{Objective: sought.Quantity(value, nil)}, err
	}
	if m, err = s.truth.quantities(cmd.Parameters); err != nil {
		return m, err
	}
	m.Quantities = slices.Clone(m.Quantities)
	for i := range m.Quantities {
		q := &m.Quantities[i]
		q.Value = plausible(s.def.Quantity(q.Name), s.noises[q.Name].add(q.Value, normal(s.def.Seed, cmd.Experiment+"/"+q.Name)))
	}
	return m, nil
}

// noise is that of a quantity: its standard deviation, or that of its logarithm.
type noise struct {
	sd        float64
	logarithm bool
}

// add adds the noise of a standard normal number to a value.
func (n noise) add(value, normal float64) float64 {
	if n.logarithm {
		return value * math.Exp(n.sd*normal)
	}
	return value + n.sd*normal
}

// normal returns a standard normal number that follows from a seed and a name. It does not depend
// on the number of earlier draws, so that arms that measure in another order meet the same noise.
func normal(seed uint64, id string) float64 {
	h := sha256.New()
	h.Write([]byte("campaignd surrogate\x00"))
	h.Write(binary.BigEndian.AppendUint64(nil, seed))
	h.Write([]byte(id))
	word := binary.BigEndian.Uint64(h.Sum(nil)) >> 12 // 52 bits: word + 0.5 is exact
	return math.Sqrt2 * math.Erfinv(2*(float64(word)+0.5)/(1<<52)-1)
}

// Await implements instruments.Instrument.
func (s *surrogate) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return instruments.Outcome{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	outcome, ok := s.outcomes[cmd.ID]
	if !ok {
		return instruments.Outcome{}, fmt.Errorf("%w: %s", instruments.ErrNotStarted, cmd.ID)
	}
	return outcome, nil
}

// Cancel implements instruments.Instrument: every command has ended already.
func (s *surrogate) Cancel(ctx context.Context, _ instruments.Command) error { return ctx.Err() }
