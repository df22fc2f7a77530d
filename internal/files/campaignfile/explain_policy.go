package campaignfile

import (
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/policies"
)

// ruleText describes a part of a policy in words. "none" and "never" are described by another
// rule of the policy, if that knows their meaning in its company (policies.PartSettings). The
// first such rule, in the order of the parts, describes them.
func ruleText(reg registry.Registry, def definition.Campaign, part policies.Part) string {
	settings, err := reg.Methods.Settings(def.Policy, part)
	if err != nil {
		return "?"
	}
	if name := policies.Choice(&def.Policy, part).Name; name == policies.None || name == policies.Never {
		for _, other := range policies.Parts(def.Policy) {
			settings, err := reg.Methods.Settings(def.Policy, other)
			if of, ok := settings.(policies.PartSettings); ok && err == nil {
				return of.PartWords(part)
			}
		}
	}
	return settings.Words(&def)
}

// utilityText describes the model of a utility: link, posterior, scale and the
// noise of judgment.
func utilityText(def definition.Campaign) string {
	u := def.Model.Utility
	posterior := map[string]string{
		definition.PosteriorLaplace:     "Laplace's approximation",
		definition.PosteriorEP:          "expectation propagation",
		definition.PosteriorHallucinate: "hallucination believer",
	}[u.Posterior]
	anchored := func(e definition.Expert) bool { return len(e.Anchors) > 0 }
	noise := fmt.Sprintf("noise %s far from anchors, exp(−%s) of it at the densest anchor",
		format.Optional(u.Noise), format.Optional(u.Strength))
	switch {
	case !slices.ContainsFunc(def.Experts, anchored):
		noise = fmt.Sprintf("noise %s everywhere, as no expert has named anchors", format.Optional(u.Noise))
	case u.Paper:
		noise = fmt.Sprintf("noise %s far from anchors, less by exp(−density) near them, "+
			"as printed in Sinaga et al. 2026",
			format.Optional(u.Noise))
	}
	scale := "output scale 1"
	if u.OutputScale == definition.ScaleLearned {
		scale = "output scale learned"
	}
	return fmt.Sprintf("%s link, %s, %s; %s; refitted every %d comparisons",
		u.Link, posterior, scale, noise, *u.RefitEvery)
}
