// Package process is the family of policies whose method is a program of the user's, in any
// language. The program's answer is a fact ([events.MethodAnswered]) that the runner records;
// its consequences are decided here, and from that fact alone: a proposal that can be measured
// is run, one that cannot is refused in words and asked for again, and after a bounded number
// of answers the campaign chooses by itself, as it would without a program. So an audit can
// make the decision again, though not the program's answer.
package process

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/step"
	"github.com/campaignd/campaignd/policies/unaided"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/space"
)

// Family is the program's row for these policies.
var Family = policies.Family{
	Name:    Name,
	Version: policies.Version, Earlier: policies.Earlier,
	Rules: []policies.Rule{
		{Part: policies.Next, Name: Name, Settings: func() definition.Settings { return new(Settings) },
			Tradeoff: true, Preference: true},
	},
	New: New,
}

// policy runs the program's proposals.
type policy struct {
	def      definition.Campaign
	settings Settings
	own      policies.Policy // what the campaign chooses without the program
}

// New returns the policy of a complete definition.
func New(def definition.Campaign, _ next.Rule) (policies.Policy, error) {
	p := &policy{def: def}
	if err := def.Policy.Next.Decode(&p.settings); err != nil {
		return nil, err
	}
	own := def
	own.Policy = policies.Alone(next.Default(&def))
	var err error
	p.own, err = policies.Registry{unaided.Family}.New(own)
	return p, err
}

// Needs implements policies.Policy: its models predict the result of a proposal, choose without
// one, and end the campaign if its file says so.
func (p *policy) Needs() policies.Needs { return p.own.Needs() }

// Consults implements policies.Consulter. Where nothing is left to propose or to
// spend, the program is not asked.
func (p *policy) Consults(s *campaign.State, sp *space.Space) (wanted bool, refused []string) {
	point, _, refused := proposal(s, sp)
	return point == nil && len(s.Proposals) < max(p.settings.Attempts, 1) && s.Left() > 0 && !allTried(s, sp), refused
}

// Decide implements policies.Policy.
func (p *policy) Decide(ctx context.Context, v policies.View, seed uint64) (policies.Decision, error) {
	d := step.Stop(&p.def, v, step.Begin(v, seed))
	if d.Made() {
		return d, nil
	}
	point, reason, refused := proposal(v.Campaign, v.Space)
	if point != nil {
		return step.Take(v, d, policies.Proposed, point, policies.RuleProposed, reason), nil
	}
	d, err := p.own.Decide(ctx, v, seed)
	if err != nil || d.Action != events.ActionRun || len(refused) == 0 {
		return d, err
	}
	d.Rule = policies.RuleFallback
	d.Reason = fmt.Sprintf("The program proposed nothing that can be measured, in %d answers; the last: %s. %s",
		len(refused), refused[len(refused)-1], d.Reason)
	return d, nil
}

// proposal returns the first composition that the program proposed and that can be measured,
// with the reason for it, or nil. refused lists the fault of each answer before it.
func proposal(s *campaign.State, sp *space.Space) (point definition.Point, reason string, refused []string) {
	for i := range s.Proposals {
		a := &s.Proposals[i]
		if a.Cause != "" {
			refused = append(refused, a.Cause)
			continue
		}
		made, err := Measurable(s, sp, a.Parameters)
		if err != nil {
			refused = append(refused, err.Error())
			continue
		}
		reason = said(a)
		if sp.Format(made) != sp.Format(a.Parameters) {
			reason += fmt.Sprintf(" It said %s: what can be made is nearest to it.", sp.Format(a.Parameters))
		}
		return made, reason, refused
	}
	return nil, "", refused
}

// said returns a program's own account of its proposal, in a sentence.
func said(a *events.MethodAnswered) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The program %s proposes it", strings.TrimSpace(a.Program.Name+" "+a.Program.Version))
	if a.Reason != "" {
		fmt.Fprintf(&b, ": %s", strings.TrimRight(a.Reason, ". "))
	}
	for i, n := range a.Numbers {
		separator := ", "
		if i == 0 {
			separator = " ("
		}
		fmt.Fprintf(&b, "%s%s %.4g", separator, n.Name, n.Value)
	}
	if len(a.Numbers) > 0 {
		b.WriteByte(')')
	}
	b.WriteByte('.')
	return b.String()
}

// near is the largest distance of a number in a proposal from one that can be measured, as a
// share of its parameter's range: programs compute, and sums and bounds are off by rounding. A
// number that is dosed in steps may be off by a step.
const near = 1e-6

// Measurable returns the composition that a proposal means: itself, or the nearest that can be
// measured where that differs by rounding and dosing alone. The error tells the author of the
// program the fault of the proposal.
func Measurable(s *campaign.State, sp *space.Space, proposed definition.Point) (definition.Point, error) {
	for _, parameter := range s.Definition.Parameters {
		if x, ok := proposed[parameter.Name].Float(); ok && (math.IsNaN(x) || math.Abs(x) > definition.Greatest) {
			return nil, fmt.Errorf("%s is %v, which is no number that can be set", parameter.Name, x)
		}
	}
	point := proposed
	if outside := sp.Contains(proposed); outside != nil {
		x, err := sp.Encode(proposed)
		if err != nil {
			return nil, err
		}
		if point, err = sp.Snap(x); err != nil || !alike(s.Definition, proposed, point) {
			return nil, outside
		}
	}
	return point, repeats(s, sp, point)
}

// alike reports whether two compositions differ by rounding and dosing alone.
func alike(def *definition.Campaign, proposed, made definition.Point) bool {
	steps := def.Steps()
	for _, parameter := range def.Parameters {
		a, number := proposed[parameter.Name].Float()
		b, _ := made[parameter.Name].Float()
		if !number {
			if proposed[parameter.Name] != made[parameter.Name] {
				return false
			}
			continue
		}
		var size float64
		switch {
		case parameter.Min != nil && parameter.Max != nil:
			size = *parameter.Max - *parameter.Min
		case len(parameter.Values) > 0:
			size = slices.Max(parameter.Values) - slices.Min(parameter.Values)
		}
		if math.Abs(a-b) > max(near*size, steps[parameter.Name]) {
			return false
		}
	}
	return true
}

// repeats returns an error, naming the experiment, for a composition that must not be repeated:
// one that is under way or, in a list, one that was tried.
func repeats(s *campaign.State, sp *space.Space, point definition.Point) error {
	key, err := sp.Key(point)
	if err != nil {
		return err
	}
	once := len(s.Definition.Candidates) > 0
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if !x.Status.Open() && (!once || x.Status.CalledOff()) {
			continue
		}
		other, err := sp.Key(x.Parameters)
		switch {
		case err != nil || other != key: // an amendment has changed the parameters since
		case x.Status.Open():
			return fmt.Errorf("%s is under way as %s", sp.Format(point), x.ID)
		default:
			return fmt.Errorf("%s was tried as %s, and each composition of the list is tried once", sp.Format(point), x.ID)
		}
	}
	return nil
}

// allTried reports whether nothing is left of a list of candidates.
func allTried(s *campaign.State, sp *space.Space) bool {
	if len(s.Definition.Candidates) == 0 {
		return false
	}
	points, finite := sp.Finite()
	return finite && !slices.ContainsFunc(points, func(p definition.Point) bool { return repeats(s, sp, p) == nil })
}
