// Package simulated is a simulated expert, who knows the truth, a test problem
// of internal/study/tasks ([New]) or anything else ([Knowing]): ρ ranks a composition
// from −3 (best in the space) to 3 (worst), and a is the expert's accuracy.
// With the logistic function S, the expert
//
//   - rejects a composition with probability S(aρ) (Xu et al. 2024, Example 2.2);
//   - prefers the one of rank ρ to that of rank ρ' with probability S(a(ρ' − ρ)),
//     and ranks several by the choices of Plackett and Luce, in which any two are
//     in order with that probability; or compares the objective itself with
//     normal noise on each side, the same everywhere (Adachi et al. 2024, §5) or
//     small near the expert's anchors (Sinaga et al. 2026, §3.1);
//   - pinpoints a sample of the belief, of density in proportion to 1 − S(aρ)
//     (Xu et al. 2024, §6 and App. H.3);
//   - prefers that of two outcomes which is worth more to them ([Worth]), by a utility of
//     their own that has nothing to do with ranks;
//   - estimates −aρ with logistic noise, on the scale that is asked for; or says numbers
//     that correlate with the truth as far as is set.
//
// [Settings] also make experts who err in ways that no channel is made for: who
// are strict, prejudiced, wrong about a region, repeat themselves, or tire.
//
// Every answer is a function of the campaign's seed, the expert's name, the
// question's ID and the compositions: asking again, in any order and from any
// process, gives the same answer. Only the latency depends on a clock.
package simulated

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/study/tasks"
)

// DefaultAccuracy is a where the campaign does not say: a good expert.
const DefaultAccuracy = 1

// ErrConfig is wrapped by the errors of [New], [Knowing] and [NoiseOf].
var ErrConfig = errors.New("the simulated expert cannot be set up")

// Reviewer is a simulated expert. It is also a [humans.InitialLabeler] and a
// [humans.InitialComparer]. It is immutable, so its methods are safe for
// concurrent use.
type Reviewer struct {
	name string
	cfg  Settings
	// accuracy is a, for ranks by the expert's own goal: its sign is reversed
	// where the campaign has the opposite goal.
	accuracy float64
	// upward reports whether the expert prefers greater values of the
	// objective, maximizes whether the campaign does, and reversed whether its
	// goal is not the expert's own.
	upward, maximizes, reversed bool

	knows Knowledge
	truth func() (truth, error) // found out once
	// subjects are the truths of other quantities by their columns, each found out once.
	subjects *sync.Map
	first    func() (events.Label, error) // likewise
	// parameters in the order in which compositions are hashed.
	parameters []definition.Parameter
	noise      Noise // nil unless the expert is anchored
	seed       uint64
	sample     func(n int, seed uint64) []definition.Point
}

// Knowledge is an expert's knowledge of the truth.
type Knowledge struct {
	// Value is the noiseless objective at a composition, in the objective's
	// unit. It is safe for concurrent use.
	Value func(definition.Point) (float64, error)
	// Sought is that objective, Best and Worst are its extremes over the space.
	Sought      definition.Objective
	Best, Worst float64
	// BestAt is where Best is; nil where that is unknown.
	BestAt definition.Point
	// Quantities are the noiseless values of each quantity that the expert can estimate
	// by its name, safe for concurrent use; nil where they are asked of none.
	Quantities map[string]func(definition.Point) (float64, error)
}

// Rank returns ρ: the value at p scaled linearly so that the best is −3 and the
// worst 3 (Xu et al. 2024, Example 2.2); 0 where they are equal.
func (k Knowledge) Rank(p definition.Point) (float64, error) {
	v, err := k.Value(p)
	if err != nil {
		return math.NaN(), err
	}
	if k.Best == k.Worst {
		return 0, nil
	}
	return min(max(-3+6*(v-k.Best)/(k.Worst-k.Best), -3), 3), nil
}

// New returns the simulated expert that e describes, for the campaign def: one who knows the test
// problem that e names, or else that of the simulated instrument.
//
// sample returns n random compositions of the campaign's space, the same for equal arguments:
// examples and pinpoints are drawn from them.
//
// An expert shares the campaign's goal: if that is the opposite of the task's, the expert's ranking
// is reversed.
func New(
	e definition.Expert, def definition.Campaign, sample func(n int, seed uint64) []definition.Point,
) (*Reviewer, error) {
	settings, err := settingsOf(e)
	if err != nil {
		return nil, err
	}
	if len(settings.Utility) > 0 && settings.Task == "" {
		return Knowing(e, def, worthless(e, def), sample)
	}
	name := cmp.Or(settings.Task, measured(&def))
	if name == "" {
		return nil, fault(e,
			"say which task it knows, since no simulated instrument does; the tasks are %v",
			tasks.Names())
	}
	task, ok := tasks.Lookup(name)
	if !ok {
		return nil, fault(e, "unknown task %q; the tasks are %v", name, tasks.Names())
	}
	have := make(map[string]definition.Parameter, len(def.Parameters))
	for _, p := range def.Parameters {
		have[p.Name] = p
	}
	for _, p := range task.Parameters {
		if q, ok := have[p.Name]; !ok || q.Unit != p.Unit || len(have) != len(task.Parameters) {
			return nil, fault(e,
				"the task %s has other parameters than the campaign, or other units (%s in %q)",
				name, p.Name, p.Unit)
		}
	}
	ordered := def
	ordered.Parameters = nil // the order in the campaign file does not affect an answer
	for _, p := range task.Parameters {
		ordered.Parameters = append(ordered.Parameters, have[p.Name])
	}
	return Knowing(e, ordered, Knowledge{
		Value:  task.Value,
		Sought: task.Objective,
		Best:   task.Best.Value,
		Worst:  task.Worst.Value,
		BestAt: task.Point(task.Best.At),

		Quantities: quantitiesOf(task),
	}, sample)
}

// Knowing returns the simulated expert that e describes, who knows the given
// truth instead of a test problem. sample is as in [New].
func Knowing(
	e definition.Expert, def definition.Campaign, knows Knowledge,
	sample func(n int, seed uint64) []definition.Point,
) (*Reviewer, error) {
	settings, err := settingsOf(e)
	if err != nil {
		return nil, err
	}
	r := &Reviewer{
		name:       e.Name,
		cfg:        settings,
		accuracy:   DefaultAccuracy,
		knows:      knows,
		parameters: def.Parameters,
		seed:       def.Seed,
		sample:     sample,
		subjects:   new(sync.Map),
	}
	if a := r.cfg.Accuracy; a != nil {
		r.accuracy = *a
	}
	if err := r.check(e); err != nil {
		return nil, err
	}
	if r.cfg.Anchored {
		if r.noise, err = NoiseOf(e, def); err != nil {
			return nil, err
		}
	}
	r.truth = sync.OnceValues(func() (truth, error) { return r.distribution(knows.Value, "prejudice") })
	r.first = sync.OnceValues(r.firstLabel)
	goal := def.Sought().Goal
	r.maximizes = goal == definition.Maximize
	r.upward = r.maximizes == (r.accuracy >= 0)
	if r.reversed = goal != knows.Sought.Goal; r.reversed {
		r.accuracy = -r.accuracy
	}
	return r, nil
}

// check refuses settings that are out of range, or that contradict each other.
func (r *Reviewer) check(e definition.Expert) error {
	var (
		c = r.cfg
		// positive numbers can be 0; NaN is not one.
		positive    = func(x float64) bool { return x >= 0 && !math.IsInf(x, 0) }
		probability = func(x float64) bool { return x >= 0 && x <= 1 }
		finite      = func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	)
	for _, rule := range []struct {
		broken  bool
		setting string
		value   any
		want    string
	}{
		{!finite(r.accuracy), "its accuracy", r.accuracy, "a finite number"},
		{!probability(c.UnsureRate), "unsure_rate", c.UnsureRate, "a probability, 0 to 1"},
		{
			c.ChoiceNoise != nil && !positive(*c.ChoiceNoise),
			"choice_noise", deref(c.ChoiceNoise), "a finite number of at least 0",
		},
		{c.Latency < 0, "latency", time.Duration(c.Latency), "at least 0"},
		{
			c.Correlation != nil && !(*c.Correlation >= -1 && *c.Correlation <= 1),
			"correlation", deref(c.Correlation), "between -1 and 1",
		},
		{
			!positive(c.Prejudice) || c.Prejudice > 0 && c.Correlation == nil,
			"prejudice", c.Prejudice, "a finite number of at least 0, and above only with correlation",
		},
		{
			!positive(c.WrongRegion) || c.WrongRegion > 0 && r.knows.BestAt == nil,
			"wrong_region", c.WrongRegion,
			"a finite number of at least 0, and above only where the optimum's place is known",
		},
		{!finite(c.Strictness), "strictness", c.Strictness, "a finite number"},
		{!probability(c.Copies), "copies", c.Copies, "a probability, 0 to 1"},
		{!positive(c.Tires), "tires", c.Tires, "a finite number of at least 0"},
		{!positive(c.UtilityNoise), "utility_noise", c.UtilityNoise, "a finite number of at least 0"},
	} {
		if rule.broken {
			return fault(e, "%s is %v and must be %s", rule.setting, rule.value, rule.want)
		}
	}
	if c.Anchored && c.ChoiceNoise != nil {
		return fault(e,
			"choice_noise and anchored both say how noisy its comparisons are; keep one of them")
	}
	return nil
}

// deref is the number, 0 for none.
func deref(x *float64) float64 {
	if x == nil {
		return 0
	}
	return *x
}

// settingsOf returns the settings of an expert who must be a simulated one.
func settingsOf(e definition.Expert) (Settings, error) {
	if e.Channel.Name != Name {
		return Settings{}, fault(e, "it is not a simulated expert")
	}
	settings, err := SettingsOf(e)
	if err != nil {
		return Settings{}, fault(e, "%v", err)
	}
	return settings, nil
}

func fault(e definition.Expert, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrConfig, e.Name, fmt.Sprintf(format, args...))
}

// Describe implements humans.Reviewer.
func (r *Reviewer) Describe() humans.Description {
	return humans.Description{Expert: r.name, Simulated: true}
}

// Ask implements humans.Reviewer. A question to someone else is an error, and
// so is a composition outside the task's space, with [tasks.ErrPoint].
func (r *Reviewer) Ask(ctx context.Context, q humans.Question) (humans.Reply, error) {
	if err := ctx.Err(); err != nil {
		return humans.Reply{}, err
	}
	if q.Expert != r.name {
		return humans.Reply{}, fmt.Errorf("question %s is to %q, this is %q", q.ID, q.Expert, r.name)
	}
	answer, err := r.answer(ctx, q)
	if err != nil {
		return humans.Reply{}, fmt.Errorf("simulated expert %s, question %s: %w", r.name, q.ID, err)
	}
	if r.cfg.Latency > 0 {
		t := time.NewTimer(time.Duration(r.cfg.Latency))
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return humans.Reply{}, ctx.Err()
		}
	}
	return humans.Reply{Answer: answer}, nil
}

// draw returns a number in [0, 1) for a purpose, a question and its
// compositions.
func (r *Reviewer) draw(purpose, id string, points ...definition.Point) float64 {
	return float64(r.word(purpose, id, points...)>>11) / (1 << 53)
}

// open is draw, but never 0, for inverse distribution functions.
func (r *Reviewer) open(purpose, id string, points ...definition.Point) float64 {
	return (float64(r.word(purpose, id, points...)>>12) + 0.5) / (1 << 52)
}

// word is the first word of the SHA-256 of everything an answer depends on.
func (r *Reviewer) word(purpose, id string, points ...definition.Point) uint64 {
	h := sha256.New()
	h.Write([]byte("campaignd simulated expert\x00"))
	h.Write(binary.BigEndian.AppendUint64(nil, r.seed))
	for _, s := range []string{r.name, purpose, id} { // with lengths, so that they cannot run together
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	for _, p := range points {
		for _, par := range r.parameters {
			x, number := p[par.Name].Float()
			if !number {
				name := p[par.Name].Name()
				h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(name))))
				h.Write([]byte(name))
				continue
			}
			h.Write(binary.BigEndian.AppendUint64(nil, math.Float64bits(x+0))) // −0 is 0
		}
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}
