package bope

import (
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/preference"
)

// Improvement is the rule with what is known.
func Improvement(p *seek.Problem, known *preference.Outcomes, found *seek.Preferences) next.Composer {
	return improvement{&sitting{problem: p, known: known, preferences: found}}
}
