// Package simulated is a simulated expert: the synthetic labeller of Xu et al.
// 2024, Example 2.2, who knows a test problem of internal/tasks and rejects a
// composition with probability S(aρ), where ρ ranks it from −3 (best in the
// space) to 3 (worst) and a is the expert's accuracy.
//
// Every answer is a function of the campaign's seed, the expert's name, the
// question's ID and the composition: asking again, in any order and from any
// process, gives the same answer. Only latency is up to a clock.
package simulated

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tasks"
)

// DefaultAccuracy is a where the campaign does not say: a good expert.
const DefaultAccuracy = 1

// ErrConfig is wrapped by the errors of [New].
var ErrConfig = errors.New("the simulated expert cannot be set up")

// ErrExamples is wrapped by the error of [Reviewer.Examples] where the expert
// gives one of the two labels too rarely to balance them.
var ErrExamples = errors.New("there are no balanced examples")

// Reviewer is a simulated expert. It is also a [humans.Exampler]. Nothing in
// it changes, so that its methods are safe for concurrent use.
type Reviewer struct {
	name     string
	cfg      events.SimulatedExpert
	accuracy float64
	task     tasks.Task
	seed     uint64
	sample   func(n int, seed uint64) []events.Point
}

// New returns the simulated expert that e describes, for the campaign def.
//
// sample returns n compositions of the campaign's space at random, the same
// ones for equal arguments; [Reviewer.Examples] labels them.
//
// An expert wants what the campaign wants: where its goal is the opposite of
// the task's, so is the expert's ranking.
func New(e events.Expert, def events.Definition, sample func(n int, seed uint64) []events.Point) (*Reviewer, error) {
	fault := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s: %s", ErrConfig, e.Name, fmt.Sprintf(format, args...))
	}
	if e.Simulated == nil {
		return nil, fault("it is no simulated expert")
	}
	r := &Reviewer{name: e.Name, cfg: *e.Simulated, accuracy: DefaultAccuracy, seed: def.Seed, sample: sample}
	if a := r.cfg.Accuracy; a != nil {
		r.accuracy = *a
	}
	if math.IsNaN(r.accuracy) || math.IsInf(r.accuracy, 0) {
		return nil, fault("its accuracy is %g and must be a finite number", r.accuracy)
	}
	if !(r.cfg.UnsureRate >= 0 && r.cfg.UnsureRate <= 1) {
		return nil, fault("unsure_rate is %g and must be a probability, 0 to 1", r.cfg.UnsureRate)
	}
	if r.cfg.Latency < 0 {
		return nil, fault("latency is %v and must be at least 0", time.Duration(r.cfg.Latency))
	}
	task := r.cfg.Task
	if task == "" && def.Instrument.Simulated != nil {
		task = def.Instrument.Simulated.Task
	}
	if task == "" {
		return nil, fault("say which task it knows, since the instrument is not simulated; the tasks are %v", tasks.Names())
	}
	var ok bool
	if r.task, ok = tasks.Lookup(task); !ok {
		return nil, fault("there is no task %q; the tasks are %v", task, tasks.Names())
	}
	have := make(map[string]events.Parameter, len(def.Parameters))
	for _, p := range def.Parameters {
		have[p.Name] = p
	}
	for _, p := range r.task.Parameters {
		if q, ok := have[p.Name]; !ok || q.Unit != p.Unit || len(have) != len(r.task.Parameters) {
			return nil, fault("the task %s has other parameters than the campaign, or other units (%s in %q)", task, p.Name, p.Unit)
		}
	}
	if def.Objective.Goal != r.task.Objective.Goal {
		r.accuracy = -r.accuracy
	}
	return r, nil
}

// Describe implements humans.Reviewer.
func (r *Reviewer) Describe() humans.Description {
	return humans.Description{Expert: r.name, Simulated: true}
}

// Ask implements humans.Reviewer. A question to someone else is an error, and
// so is a composition outside the task's space, with [tasks.ErrPoint].
func (r *Reviewer) Ask(ctx context.Context, q humans.Question) (humans.Answer, error) {
	if err := ctx.Err(); err != nil {
		return humans.Answer{}, err
	}
	if q.Expert != r.name {
		return humans.Answer{}, fmt.Errorf("question %s is to %q, this is %q", q.ID, q.Expert, r.name)
	}
	answer, err := r.answer(q.ID, q.Point)
	if err != nil {
		return humans.Answer{}, fmt.Errorf("simulated expert %s, question %s: %w", r.name, q.ID, err)
	}
	if r.draw("unsure", q.ID, q.Point) < r.cfg.UnsureRate {
		answer = events.AnswerUnsure
	}
	if r.cfg.Latency > 0 {
		t := time.NewTimer(time.Duration(r.cfg.Latency))
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return humans.Answer{}, ctx.Err()
		}
	}
	return humans.Answer{Answer: answer}, nil
}

// The greatest number of compositions that Examples labels, and how many it
// draws at a time.
const (
	maxSampled = 200_000
	chunk      = 256
)

// Examples implements humans.Exampler. Balanced examples are the first of a
// sequence of random compositions to get each label; they are given in the
// order they were drawn. The expert is never unsure of an example.
func (r *Reviewer) Examples(ctx context.Context, n int, balanced bool) ([]humans.Example, error) {
	want := map[string]int{events.AnswerAccept: n / 2, events.AnswerReject: n - n/2}
	examples := make([]humans.Example, 0, max(n, 0))
	for drawn := 0; len(examples) < n; drawn += chunk {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if drawn >= maxSampled {
			return nil, fmt.Errorf("%w: of %d random compositions expert %s labelled too few as wanted (missing: %d to accept, %d to reject); set balanced: false",
				ErrExamples, drawn, r.name, want[events.AnswerAccept], want[events.AnswerReject])
		}
		points := r.sample(chunk, r.word("sample", fmt.Sprint(drawn/chunk), nil))
		if len(points) == 0 {
			return nil, fmt.Errorf("%w: the space has no compositions to label", ErrExamples)
		}
		for k, p := range points {
			answer, err := r.answer(fmt.Sprint("example ", drawn+k), p)
			if err != nil {
				return nil, fmt.Errorf("simulated expert %s: %w", r.name, err)
			}
			if balanced && want[answer] == 0 {
				continue
			}
			want[answer]--
			if examples = append(examples, humans.Example{Point: p, Answer: answer}); len(examples) == n {
				break
			}
		}
	}
	return examples, ctx.Err()
}

// answer accepts or rejects p.
func (r *Reviewer) answer(id string, p events.Point) (string, error) {
	reject, err := tasks.RejectProbability(r.task, p, r.accuracy)
	if err != nil {
		return "", err
	}
	if r.draw("reject", id, p) < reject {
		return events.AnswerReject, nil
	}
	return events.AnswerAccept, nil
}

// draw returns a number in [0, 1) for a purpose, a question and a composition.
func (r *Reviewer) draw(purpose, id string, p events.Point) float64 {
	return float64(r.word(purpose, id, p)>>11) / (1 << 53)
}

// word is the first word of the SHA-256 of everything an answer depends on.
func (r *Reviewer) word(purpose, id string, p events.Point) uint64 {
	h := sha256.New()
	h.Write([]byte("campaignd simulated expert\x00"))
	h.Write(binary.BigEndian.AppendUint64(nil, r.seed))
	for _, s := range []string{r.name, purpose, id} { // with lengths, so that they cannot run together
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	if p != nil {
		for _, par := range r.task.Parameters {
			x, _ := p[par.Name].Float()
			h.Write(binary.BigEndian.AppendUint64(nil, math.Float64bits(x+0))) // −0 is 0
		}
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}
