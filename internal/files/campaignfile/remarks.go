package campaignfile

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/space"
)

// Remarks name parts of a definition that are allowed but probably not meant, one a sentence.
// Relative paths start from dir, the folder of the campaign file.
//
// None of them keeps a campaign from beginning. The definition must be complete
// and valid.
func Remarks(ctx context.Context, reg registry.Registry, def definition.Campaign, dir string) (remarks []string) {
	remarks = unasked(reg, def)
	for _, resource := range def.Resources() {
		own := def.For(resource)
		if settings, err := reg.InstrumentSettings(own); err == nil {
			if s, ok := settings.(definition.Remarkable); ok {
				here := definition.PathOf(resource).To(own.Driver().Name)
				remarks = append(remarks, s.Remarks(dir, here)...)
			}
		}
	}
	remarks = append(remarks, unmeasurable(reg, def)...)
	remarks = append(remarks, crowded(ctx, def)...)
	remarks = append(remarks, decades(def)...)
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

// unmeasurable remarks on compositions that a person makes and that would have more digits than
// a balance, because the definition does not give the resolution of the parameters. The
// suggested step is a hundredth of the range's power of ten; one parameter is enough for the
// remark.
func unmeasurable(reg registry.Registry, def definition.Campaign) []string {
	driver, _ := reg.DriverOf(&def)
	if !driver.ByHand || len(def.Steps()) > 0 {
		return nil
	}
	for _, p := range def.Parameters {
		if p.Min == nil || p.Max == nil || *p.Max <= *p.Min || decadesOf(p) >= manyDecades {
			continue
		}
		step := math.Pow(10, math.Floor(math.Log10(*p.Max-*p.Min))-2)
		return []string{fmt.Sprintf("compositions may have more digits than can be weighed out: say how finely they can be set, "+
			"as in instrument: {%s: {}, steps: {%s: %s}}", driver.Name, p.Name, format.Setting(step))}
	}
	return nil
}

// crowded remarks on a budget of more experiments than there are compositions: the
// others measure one again, or a list of candidates ends.
func crowded(ctx context.Context, def definition.Campaign) []string {
	if !def.Measures() {
		return nil
	}
	sp, err := space.NewContext(ctx, def)
	if err != nil {
		return nil // Validate reports it, or the caller has left
	}
	points, finite := sp.Finite()
	n := len(points) * max(1, def.Replicates)
	switch {
	case !finite || def.Budget.Experiments <= n:
		return nil
	case len(def.Candidates) > 0:
		return []string{fmt.Sprintf("the campaign ends after %s, once each candidate was measured, and not after %d",
			format.Count(n, "experiment"), def.Budget.Experiments)}
	}
	return []string{fmt.Sprintf("the budget of %s is more than all compositions take: there are %d, and the others measure one of them again; "+
		"lower budget.experiments to %d, or vary more", format.Count(def.Budget.Experiments, "experiment"), len(points), n)}
}

// manyDecades is from how many powers of ten on a range is remarked upon.
const manyDecades = 3

// decades remarks on parameters that are varied linearly over powers of ten: a
// thousandth of the range is then all that lies below the last three, and a search
// tries its two ends.
func decades(def definition.Campaign) (remarks []string) {
	for _, p := range def.Parameters {
		n := decadesOf(p)
		if n < manyDecades {
			continue
		}
		least, greatest := rangeOf(p)
		remarks = append(remarks, fmt.Sprintf("%s is varied linearly over %s: "+
			"vary the exponent, as in {name: log10_%s, min: %s, max: %s}", p.Name, format.Count(int(n), "power")+" of ten",
			p.Name, format.Rounded(math.Log10(least), 4), format.Rounded(math.Log10(greatest), 4)))
	}
	return remarks
}

// decadesOf is over how many powers of ten a numeric parameter ranges; 0 of one that
// is not positive throughout.
func decadesOf(p definition.Parameter) float64 {
	least, greatest := rangeOf(p)
	if !(least > 0) {
		return 0
	}
	return math.Log10(greatest/least) + 1e-9 // 1000/1 are three, whatever the logarithm says
}

// rangeOf is the least and the greatest value of a numeric parameter; 0 of another.
func rangeOf(p definition.Parameter) (least, greatest float64) {
	switch {
	case len(p.Values) > 0:
		return slices.Min(p.Values), slices.Max(p.Values)
	case p.Min != nil && p.Max != nil:
		return *p.Min, *p.Max
	}
	return 0, 0
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

// readsExperts reports whether a policy that measures asks experts, or reads their answers.
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
