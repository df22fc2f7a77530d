package next_test

import (
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies/next"
)

// Law: the words of a rule say in which part of the budget it restarts.
func TestRestartsInWords(t *testing.T) {
	for _, c := range []struct {
		restarts   *float64
		says, lies string
	}{
		{nil, "once nothing improves", "but for the last"},
		{ptr(1.0), "once nothing improves", "but for the last"},
		{ptr(0.0), "(its logarithm)", "once nothing improves"},
		{ptr(0.75), "but for the last 25 % of the budget", "but for the last 75"},
	} {
		words := (&next.LogNEI{Restarts: c.restarts}).Words(&definition.Campaign{})
		if !strings.Contains(words, c.says) || strings.Contains(words, c.lies) {
			t.Errorf("it says %q, want %q", words, c.says)
		}
	}
}
