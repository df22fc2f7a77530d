package main

import (
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/campaign"
)

// trustInWords says of each expert how probable it is that their labels help, and
// with what weight their belief bends a choice.
func trustInWords(helps []policies.Help, weights []campaign.Trust) (lines []string) {
	weight := func(expert string) string {
		if i := slices.IndexFunc(weights, func(t campaign.Trust) bool { return t.Expert == expert }); i >= 0 {
			return fmt.Sprintf(" (weight λ of the belief %.2f)", weights[i].Lambda)
		}
		return ""
	}
	for _, h := range helps {
		line := fmt.Sprintf("%s helps with probability %.2f", h.Expert, h.Helps)
		if h.Labels == 0 {
			line = h.Expert + " has judged nothing yet"
		}
		lines = append(lines, line+weight(h.Expert))
	}
	if helps == nil { // beliefs from other answers than labels
		for _, t := range weights {
			lines = append(lines, fmt.Sprintf("%s's belief has the weight λ %.2f", t.Expert, t.Lambda))
		}
	}
	return lines
}
