package campaignfile

import (
	"fmt"
	"math"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/registry"
	"github.com/campaignd/campaignd/policies"
)

// Remarks say what a definition may contain but probably does not mean, one a
// sentence. Relative paths start from dir, the folder of the campaign file.
//
// None of them keeps a campaign from beginning. The definition must be complete
// and valid.
func Remarks(reg registry.Registry, def definition.Campaign, dir string) (remarks []string) {
	remarks = unasked(reg, def)
	if settings, err := reg.InstrumentSettings(&def); err == nil {
		if s, ok := settings.(definition.Remarkable); ok {
			remarks = append(remarks, s.Remarks(dir, definition.At("instrument", def.Driver().Name))...)
		}
	}
	remarks = append(remarks, unmeasurable(reg, def)...)
	remarks = append(remarks, unshown(def)...)
	return append(remarks, drowned(def)...)
}

// unshown remarks on parameters some of whose choices the initial design leaves
// out: the model knows nothing of those.
func unshown(def definition.Campaign) (remarks []string) {
	if !def.Measures() || def.Initial.Experiments == nil {
		return nil
	}
	for _, p := range def.Parameters {
		n, shown := unlike(p), *def.Initial.Experiments
		if def.Initial.Design == definition.DesignPoints {
			seen := map[definition.Value]bool{}
			for _, point := range def.Initial.Points {
				seen[point[p.Name]] = true
			}
			shown = min(shown, len(seen))
		}
		if n <= shown {
			continue
		}
		remedy := fmt.Sprintf("raise initial.experiments to %d", n)
		if n > def.Budget.Experiments/(2*max(1, def.Replicates)) {
			remedy = "raise the budget, or leave choices out"
		}
		remarks = append(remarks, fmt.Sprintf("%s cannot show the %d choices of %s: %s",
			format.Count(shown, "initial experiment"), n, p.Name, remedy))
	}
	return remarks
}

// unmeasurable remarks on compositions that a person makes and that would have
// more digits than a balance, because nothing says how finely the parameters
// can be set. The suggested step is a hundredth of the range's power of ten; one
// parameter is enough for the remark.
func unmeasurable(reg registry.Registry, def definition.Campaign) []string {
	driver, _ := reg.DriverOf(&def)
	if !driver.ByHand || len(def.Steps()) > 0 {
		return nil
	}
	for _, p := range def.Parameters {
		if p.Min == nil || p.Max == nil || *p.Max <= *p.Min {
			continue
		}
		step := math.Pow(10, math.Floor(math.Log10(*p.Max-*p.Min))-2)
		return []string{fmt.Sprintf("compositions may have more digits than can be weighed out: say how finely they can be set, "+
			"as in instrument: {%s: {}, steps: {%s: %s}}", driver.Name, p.Name, format.Setting(step))}
	}
	return nil
}

// unasked remarks on budgets that leave the policy no choice of its own, and on
// experts whom the policy never reads.
func unasked(reg registry.Registry, def definition.Campaign) (remarks []string) {
	if !def.Measures() {
		if initial := *def.Initial.Comparisons * len(def.Experts); initial > 0 &&
			initial >= def.Budget.Comparisons {
			remarks = append(remarks, fmt.Sprintf("all of the %s are initial ones, "+
				"so that the policy makes no choice of its own: "+
				"raise budget.comparisons, or lower initial.comparisons (%d for each expert)",
				format.Count(def.Budget.Comparisons, "comparison"), *def.Initial.Comparisons))
		}
		return remarks
	}
	if len(def.Experts) > 0 && !readsExperts(reg, def) {
		names := make([]string, len(def.Experts))
		for i, e := range def.Experts {
			names[i] = e.Name
		}
		remarks = append(remarks,
			fmt.Sprintf("the policy reads nothing of what %s may say: "+
				"choose one that does, such as cobol or coexbo, or remove experts",
				strings.Join(names, " and ")))
	}
	return remarks
}

// readsExperts reports whether a policy that measures asks experts, or reads
// what they said.
func readsExperts(reg registry.Registry, def definition.Campaign) bool {
	p := def.Policy
	next, err := reg.Methods.Settings(p, policies.Next)
	_, theirs := next.(policies.PartSettings) // a rule of next for which the other parts mean something
	return p.Trust.Name != policies.None || p.Handover.Name != policies.Never || err == nil && theirs
}

// drowned remarks on noise so large that a measurement would tell nothing. A
// result drawn evenly from the plausible range has a standard deviation of 0.29
// of it.
func drowned(def definition.Campaign) (remarks []string) {
	say := func(format string, args ...any) { remarks = append(remarks, fmt.Sprintf(format, args...)) }
	if o := def.Objective; o.Noise != nil && o.Min != nil && o.Max != nil &&
		*o.Noise > math.Abs(*o.Max-*o.Min)/2 {
		say("objective.noise: a standard deviation of %s drowns results between %s and %s: "+
			"nothing could be learned from a measurement",
			format.SettingIn(*o.Noise, o.Unit), format.Setting(*o.Min), format.Setting(*o.Max))
	}
	return remarks
}
