package step

import (
	"fmt"
	"maps"
	"sync"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/space"
)

// designSalt keeps a design that serves as policy apart from the initial one.
const designSalt = 0x9e3779b97f4a7c15

// Design is [Drawn.Design] of a design that is drawn for this decision.
func Design(
	def *definition.Campaign, v policies.View, d policies.Decision, kind, remark string,
) (policies.Decision, error) {
	return new(Drawn).Design(def, v, d, kind, remark)
}

// Drawn keeps the points of a policy's design, so that a campaign of n experiments draws n
// of them and not n². The zero value has none. Several goroutines may use it.
type Drawn struct {
	mu     sync.Mutex
	space  *space.Space // that the points are of
	kind   string
	points []definition.Point
	same   []space.Like // whether a composition is that point
}

// Design takes the next point of a space-filling design, DesignSobol or DesignRandom of package
// definition. remark gives the reason, behind its name: empty, or beginning with a space. The
// first point that was not requested yet is taken: the design goes on where it was, even after
// a restart.
func (k *Drawn) Design(
	def *definition.Campaign, v policies.View, d policies.Decision, kind, remark string,
) (policies.Decision, error) {
	points, same, err := k.of(def, v, kind)
	if err != nil {
		return d, err
	}
	// The experiments mostly come in the order of the design: that of the next point is
	// looked for behind that of the one before.
	experiments, behind := v.Campaign.Experiments, 0
	tried := func(same space.Like) (bool, error) {
		for j := range experiments {
			at := (behind + j) % len(experiments)
			if experiments[at].Status.CalledOff() {
				continue
			}
			if is, err := same(experiments[at].Parameters); is || err != nil {
				behind = at + 1
				return is, err
			}
		}
		return false, nil
	}
	for i := range points {
		is, err := tried(same[i])
		if err != nil {
			return d, err
		}
		if is {
			continue
		}
		d.Candidates = []events.Candidate{{Name: policies.Design, Parameters: maps.Clone(points[i])}}
		return d.Run(
			policies.Design,
			policies.RuleDesign,
			fmt.Sprintf("Point %d of the %s design.%s", i+1, kind, remark),
		), nil
	}
	return exhausted(d), nil
}

// of returns the points of the design of a definition, in order, with the [space.Like] of each.
func (k *Drawn) of(
	def *definition.Campaign, v policies.View, kind string,
) ([]definition.Point, []space.Like, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.space == v.Space && k.kind == kind && k.space != nil {
		return k.points, k.same, nil
	}
	ways, err := waysOf(v)
	if err != nil {
		return nil, nil, err
	}
	design := v.Space.Design
	if ways != nil {
		design = ways.Design
	}
	points, err := design(kind, def.Budget.Experiments, def.Seed^designSalt)
	if err != nil {
		return nil, nil, err
	}
	same := make([]space.Like, len(points))
	for i, point := range points {
		if same[i], err = v.Space.Like(point); err != nil {
			return nil, nil, err
		}
	}
	k.space = v.Space
	k.kind = kind
	k.points = points
	k.same = same
	return points, same, nil
}

// Unusable is the remark of a design that is taken because a model cannot be
// used.
func Unusable(err error) string { return fmt.Sprintf(" The model cannot be used: %v.", err) }

// AtRandom runs a composition at random.
func AtRandom(v policies.View, d policies.Decision, rule, reason string) (policies.Decision, error) {
	points, err := v.Space.Sample(1, d.Seed)
	if err != nil {
		return d, err
	}
	return Take(v, d, policies.Design, points[0], rule, reason), nil
}

// Take runs a composition that no model was asked about.
func Take(
	v policies.View,
	d policies.Decision,
	name string,
	point definition.Point,
	rule, reason string,
) policies.Decision {
	c := events.Candidate{Name: name, Parameters: point}
	if v.Objective() != nil {
		if prediction, err := v.Objective().Predict(point); err == nil {
			c.Prediction = &prediction
		}
	}
	d.Candidates = []events.Candidate{c}
	return d.Run(name, rule, reason)
}

// exhausted completes a campaign whose list has been tried whole.
func exhausted(d policies.Decision) policies.Decision {
	return d.Stop(policies.RuleExhausted, events.CompletedExhausted,
		"Every composition of the list has been tried.")
}

// keys returns the keys of the compositions of the experiments that satisfy a
// condition.
func keys(v policies.View, condition func(*campaign.Experiment) bool) (map[string]bool, error) {
	set := make(map[string]bool)
	for i := range v.Campaign.Experiments {
		x := &v.Campaign.Experiments[i]
		if !condition(x) {
			continue
		}
		key, err := v.Space.Key(x.Parameters)
		if err != nil {
			return nil, err
		}
		set[key] = true
	}
	return set, nil
}
