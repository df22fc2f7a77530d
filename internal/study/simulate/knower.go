package simulate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/adapters/humans"
	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/space"
)

// knower is the synthetic expert of Xu et al. 2024, Example 2.2, for a task that is
// no test problem: a table, or the surrogate of a store. It rejects a composition
// with probability S(aρ), where ρ ranks it among the task's values, and compares
// and pinpoints by the same ranks: what adapters/humans/simulated does for the test
// problems.
//
// Every answer is a function of the seed, the name, the question and the
// composition.
type knower struct {
	name     string
	accuracy float64
	unsure   float64
	seed     uint64
	truth    Truth
	space    *space.Space
}

// knowing returns the experts of a definition, who know the truth; those who
// know a test problem instead are the ordinary simulated ones.
func knowing(def events.Definition, truth Truth) (map[string]humans.Reviewer, error) {
	sp, err := space.New(def)
	if err != nil {
		return nil, err
	}
	reviewers := make(map[string]humans.Reviewer, len(def.Experts))
	for _, e := range def.Experts {
		if e.Simulated == nil {
			return nil, fmt.Errorf("%s is a person, and a study asks nobody: give the expert simulated: {}", e.Name)
		}
		if e.Simulated.Task != "" {
			sample := func(n int, seed uint64) []events.Point {
				points, _ := sp.Sample(n, seed) // none: the adapter reports it
				return points
			}
			if reviewers[e.Name], err = humansim.New(e, def, sample); err != nil {
				return nil, err
			}
			continue
		}
		reviewers[e.Name] = &knower{e.Name, *e.Simulated.Accuracy, e.Simulated.UnsureRate, def.Seed, truth, sp}
	}
	return reviewers, nil
}

// Describe implements humans.Reviewer.
func (k *knower) Describe() humans.Description {
	return humans.Description{Expert: k.name, Simulated: true}
}

// Ask implements humans.Reviewer.
func (k *knower) Ask(ctx context.Context, q humans.Question) (humans.Answer, error) {
	if err := ctx.Err(); err != nil {
		return humans.Answer{}, err
	}
	if q.Expert != k.name {
		return humans.Answer{}, fmt.Errorf("question %s is to %q, this is %q", q.ID, q.Expert, k.name)
	}
	if k.draw("unsure", q.ID) < k.unsure {
		return humans.Answer{Answer: events.AnswerUnsure}, nil
	}
	switch q.Form {
	case humans.Comparison:
		var points []events.Point
		for _, o := range q.Options {
			points = append(points, o.Parameters)
		}
		order, err := k.order(q.ID, points)
		return humans.Answer{Order: order}, err
	case humans.Pinpoint:
		return k.pinpoint(ctx, q)
	}
	answer, err := k.label(q.ID, q.Point)
	return humans.Answer{Answer: answer}, err
}

// order ranks compositions by −aρ with Gumbel noise: of two it prefers the one of
// rank ρ to that of rank ρ' with probability S(a(ρ' − ρ)).
func (k *knower) order(id string, points []events.Point) ([]int, error) {
	liking, order := make([]float64, len(points)), make([]int, len(points))
	for i, p := range points {
		rank, err := k.truth.Rank(p)
		if err != nil {
			return nil, fmt.Errorf("simulated expert %s: %w", k.name, err)
		}
		u := (k.draw(fmt.Sprint("option ", i), id)*(1<<53) + 0.5) / (1 << 53) // inside (0, 1)
		liking[i], order[i] = -k.accuracy*rank-math.Log(-math.Log(u)), i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(liking[j], liking[i]) })
	return order, nil
}

// pinpoint returns the first of a sequence of random compositions that the expert
// would accept and that may be measured.
func (k *knower) pinpoint(ctx context.Context, q humans.Question) (humans.Answer, error) {
	for drawn := 0; drawn < maxPinpoint; drawn += chunk {
		if err := ctx.Err(); err != nil {
			return humans.Answer{}, err
		}
		points, err := k.space.Sample(chunk, k.word("pinpoint", fmt.Sprint(q.ID, " ", drawn)))
		if err != nil {
			return humans.Answer{}, err
		}
		for i, p := range points {
			if q.Allowed != nil && q.Allowed(p) != nil {
				continue
			}
			label, err := k.label(fmt.Sprint(q.ID, " ", drawn+i), p)
			if err != nil || label == events.AnswerAccept {
				return humans.Answer{Point: p}, err
			}
		}
	}
	return humans.Answer{Answer: events.AnswerUnsure}, nil
}

// Comparisons implements humans.Comparer: random compositions, the same ones for
// equal arguments.
func (k *knower) Comparisons(ctx context.Context, n, size int) ([]humans.Compared, error) {
	points, err := k.space.Sample(n*size, k.word("comparisons", fmt.Sprint(size)))
	if err != nil {
		return nil, err
	}
	list := make([]humans.Compared, n)
	for i := range list {
		list[i].Points = points[i*size : (i+1)*size]
		if list[i].Order, err = k.order(fmt.Sprint("comparison ", i), list[i].Points); err != nil {
			return nil, err
		}
	}
	return list, ctx.Err()
}

// How many compositions Examples labels at most, and draws at a time.
const (
	maxSampled  = 100_000
	maxPinpoint = 20_000
	chunk       = 256
)

// Examples implements humans.Exampler: the first of a sequence of random
// compositions to get each label. Where one label is too rare to balance them,
// the rest are of the other.
func (k *knower) Examples(ctx context.Context, n int, balanced bool) ([]humans.Example, error) {
	points, finite := k.space.Finite()
	want := map[string]int{events.AnswerAccept: n / 2, events.AnswerReject: n - n/2}
	var examples, spare []humans.Example
	for drawn := 0; len(examples) < n && drawn < maxSampled; drawn += chunk {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		sample, err := k.space.Sample(chunk, k.word("sample", fmt.Sprint(drawn)))
		if err != nil {
			return nil, err
		}
		for i, p := range sample {
			if len(examples) == n {
				break
			}
			answer, err := k.label(fmt.Sprint("example ", drawn+i), p)
			if err != nil {
				return nil, err
			}
			example := humans.Example{Point: p, Answer: answer}
			if balanced && want[answer] == 0 {
				spare = append(spare, example)
				continue
			}
			want[answer]--
			examples = append(examples, example)
		}
		if finite && drawn > 40*len(points) {
			break // every composition has been offered many times
		}
	}
	return append(examples, spare[:min(len(spare), n-len(examples))]...), nil
}

func (k *knower) label(id string, p events.Point) (string, error) {
	rank, err := k.truth.Rank(p)
	if err != nil {
		return "", fmt.Errorf("simulated expert %s: %w", k.name, err)
	}
	if k.draw("reject", id) < 1/(1+math.Exp(-k.accuracy*rank)) {
		return events.AnswerReject, nil
	}
	return events.AnswerAccept, nil
}

// draw returns a number in [0, 1) for a purpose and a question.
func (k *knower) draw(purpose, id string) float64 {
	return float64(k.word(purpose, id)>>11) / (1 << 53)
}

func (k *knower) word(purpose, id string) uint64 {
	h := sha256.New()
	h.Write([]byte("campaignd study expert\x00"))
	h.Write(binary.BigEndian.AppendUint64(nil, k.seed))
	for _, s := range []string{k.name, purpose, id} { // with lengths, so that they cannot run together
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}
