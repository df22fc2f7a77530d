package bope

import (
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/outcome"
	"github.com/campaignd/campaignd/projections/preference"
)

// Improvement is the rule with what is known.
func Improvement(p *outcome.Problem, known *preference.Outcomes, found *outcome.Preferences) next.Composer {
	return improvement{&sitting{problem: p, known: known, preferences: found}}
}
