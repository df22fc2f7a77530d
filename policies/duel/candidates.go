package duel

import (
	"context"
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/dueling"
	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/space"
)

// player is a rule on a finite set of candidates, MR-LPF or MaxMinLCB. Observe
// is called for each comparison in the order of the log, so that the player's
// state follows from them.
type player interface {
	Observe(dueling.Comparison) error
	Next(ctx context.Context, pending ...dueling.Pair) (dueling.Step, error)
	Best(ctx context.Context) (int, error)
}

// machine is a player and the comparisons that it has observed. seen ensures that the player's
// state is that of the log: if it is not a prefix of the history, the player begins anew.
type machine struct {
	space  *space.Space
	points []definition.Point
	player player
	seen   []dueling.Comparison
}

// settings of the rule on candidates, as package dueling takes them. Experts
// share the budget of comparisons in equal parts, rounded up. Each expert has a
// player of their own, whose horizon is their share.
func (r *Rule) settings(seed uint64) dueling.Settings {
	c := r.candidates
	experts := max(1, len(r.def.Experts))
	s := dueling.Settings{
		Horizon: max(1, (r.def.Budget.Comparisons+experts-1)/experts),
		Lambda:  *c.Lambda, Kappa: *c.Kappa, Loss: dueling.Loss(c.Loss), Seed: seed,
	}
	switch {
	case c.Beta != nil:
		s.Beta = dueling.Beta{Rule: dueling.BetaFixed, Value: *c.Beta}
	case c.BetaRule == BetaEq14:
		s.Beta = dueling.Beta{Rule: dueling.BetaEq14, Norm: *c.Norm, Delta: eq14Delta}
	default:
		s.Beta = dueling.Beta{Rule: dueling.BetaRule(c.BetaRule)}
	}
	return s
}

// eq14Delta is the failure probability δ at which Eq. 14 of Kayal et al. 2025 is taken. It is
// not a setting: Eq. 14 is for comparison with the paper, where β is so wide that little
// depends on δ.
const eq14Delta = 0.05

// compared are the compositions that are compared: all of a finite space, else
// Sobol points, the same ones for every expert. They are those of the original
// space: an exclusion takes some of them away and leaves the others where they
// are, so that comparisons of these still count.
func (r *Rule) compared(sp *space.Space) ([]definition.Point, error) {
	if list, finite := sp.Finite(); finite {
		return list, nil
	}
	defined, err := space.New(r.def)
	if err != nil {
		return nil, err
	}
	all, err := defined.Design(definition.DesignSobol, *r.candidates.Points, r.def.Seed)
	if err != nil {
		return nil, err
	}
	allowed := slices.DeleteFunc(all, func(p definition.Point) bool { return sp.Contains(p) != nil })
	if len(allowed) < 2 {
		return sp.Design(definition.DesignSobol, *r.candidates.Points, r.def.Seed)
	}
	return allowed, nil
}

// take takes the expert's machine out of the rule, or returns nil: a machine is one goroutine's
// at a time, and another one makes its own meanwhile. The rule's lock is held for the map
// alone, never while a player computes.
func (r *Rule) take(expert string) *machine {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.machines[expert]
	delete(r.machines, expert)
	return m
}

// keep puts the expert's machine back.
func (r *Rule) keep(expert string, m *machine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.machines[expert] = m
}

// machine returns the machine after the expert's comparisons, the caller's until [Rule.keep].
// It is kept from decision to decision; where the space or a comparison has changed, by an
// amendment or a correction, it is made anew. Its memory is a prefix of the history, or it is
// thrown away: a correction changes an earlier comparison, and a player cannot take one back.
// So the answer is that of the log alone (law 4 of docs/architecture.md).
func (r *Rule) machine(in Input) (*machine, error) {
	m := r.take(in.Expert)
	if m == nil || m.space != in.Space {
		points, err := r.compared(in.Space)
		if err != nil {
			return nil, err
		}
		m = &machine{space: in.Space, points: points}
	}
	history, err := m.history(in)
	if err != nil {
		return nil, err
	}
	if m.player == nil || len(history) < len(m.seen) || !slices.Equal(history[:len(m.seen)], m.seen) {
		if err := r.begin(m, in); err != nil {
			return nil, err
		}
	}
	for _, c := range history[len(m.seen):] {
		if err := m.player.Observe(c); err != nil {
			return nil, err
		}
	}
	m.seen = history
	return m, nil
}

// begin gives the machine a new player that has observed nothing. Its kernel is
// the definition's, with one lengthscale for all coordinates and variance 1.
func (r *Rule) begin(m *machine, in Input) error {
	encoded := make([][]float64, len(m.points))
	for i, p := range m.points {
		var err error
		if encoded[i], err = in.Space.Encode(p); err != nil {
			return err
		}
	}
	lengthscales := make([]float64, in.Space.Dim())
	for i := range lengthscales {
		lengthscales[i] = *r.candidates.Lengthscale
	}
	k, err := kernel.New(r.def.Model.Kernel, lengthscales, 1)
	if err != nil {
		return err
	}
	candidates, err := dueling.NewCandidates(k, encoded)
	if err != nil {
		return err
	}
	// Not in.Seed, which changes with each decision: a machine has one seed for
	// the whole campaign.
	settings := r.settings(r.def.Seed)
	if r.name == MRLPFName {
		m.player, err = dueling.NewMRLPF(candidates, settings)
	} else {
		m.player, err = dueling.NewMaxMinLCB(candidates, settings)
	}
	m.seen = nil
	return err
}

// history is the expert's comparisons of two candidates; comparisons of other
// compositions tell this rule nothing. An outcome is 1 where the first won, 0
// where the second did, and 0.5 for "can't tell". Compositions are looked up by
// the space's key, since an answer names points and the player has numbers.
// "Can't tell" is half a win for each.
func (m *machine) history(in Input) ([]dueling.Comparison, error) {
	index := make(map[string]int, len(m.points))
	for i, p := range m.points {
		key, err := in.Space.Key(p)
		if err != nil {
			return nil, err
		}
		index[key] = i
	}
	var history []dueling.Comparison
	for _, q := range answered(in) {
		a, b, err := keys(in.Space, q.Points())
		if err != nil {
			return nil, err
		}
		i, first := index[a]
		j, second := index[b]
		if !first || !second || i == j {
			continue
		}
		c := dueling.Comparison{Pair: dueling.Pair{First: i, Second: j}, Outcome: 0.5}
		if len(q.Answer.Order) > 0 {
			c.Outcome = float64(1 - q.Answer.Order[0])
		}
		history = append(history, c)
	}
	return history, nil
}

// proposeCandidates asks the player for its next pair, or says that it needs no more
// comparisons. A player of a fixed horizon can have made its comparisons while the budget of
// the campaign is not spent; that is Spent. The machine is put back also after an error, when
// its player has only observed the comparisons of the log.
func (r *Rule) proposeCandidates(ctx context.Context, in Input) (Proposal, error) {
	m, err := r.machine(in)
	if err != nil {
		return Proposal{}, err
	}
	defer r.keep(in.Expert, m)
	step, err := m.player.Next(ctx)
	if err != nil {
		return Proposal{}, err
	}
	if step.Status != dueling.Ask {
		best, err := m.player.Best(ctx)
		if err != nil {
			return Proposal{}, err
		}
		p := Proposal{Identified: true, Candidates: []events.Candidate{{Name: First,
			Parameters: m.points[best]}},
			Reason: fmt.Sprintf("Of %d candidates one is left.", len(m.points))}
		if step.Status == dueling.Spent {
			p.Identified = false
			p.Spent = true
			p.Reason = "The comparisons that it was made for are made."
		}
		return p, nil
	}
	reason := fmt.Sprintf(
		"A candidate that may be best and its strongest rival, of %d that may be best.",
		len(step.Kept),
	)
	if step.Round > 0 {
		reason = fmt.Sprintf(
			"Of %d candidates that may be best the pair that is least known; comparison %d of %d in round %d.",
			len(step.Kept),
			step.Done+1,
			step.Length,
			step.Round,
		)
	}
	return Proposal{
		Candidates: []events.Candidate{
			{Name: First, Parameters: m.points[step.Pair.First]},
			{Name: Second, Parameters: m.points[step.Pair.Second]},
		},
		Reason: reason,
		Elimination: &events.Elimination{Candidates: len(m.points), Kept: len(step.Kept), Round: step.Round,
			Made: step.Done, Length: step.Length, Beta: step.Beta},
	}, nil
}

// bestCandidate is the player's best candidate so far; false before the first
// comparison.
func (r *Rule) bestCandidate(ctx context.Context, in Input) (policies.Best, bool, error) {
	m, err := r.machine(in)
	if err != nil {
		return policies.Best{}, false, err
	}
	defer r.keep(in.Expert, m)
	if len(m.seen) == 0 {
		return policies.Best{}, false, nil
	}
	best, err := m.player.Best(ctx)
	if err != nil {
		return policies.Best{}, false, err
	}
	return policies.Best{Expert: in.Expert, Parameters: m.points[best]}, true, nil
}
