package policytest_test

import (
	"fmt"
	"iter"
	"testing"

	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/policytest"
)

// complaints takes what a suite says instead of failing the test.
type complaints struct {
	testing.TB
	said []string
}

func (c *complaints) Helper()           {}
func (c *complaints) Error(args ...any) { c.said = append(c.said, fmt.Sprint(args...)) }

// Law: a suite that saw no decision does not pass.
func TestNoDecisionIsNoTest(t *testing.T) {
	c := &complaints{TB: t}
	var none iter.Seq2[policies.View, uint64] = func(func(policies.View, uint64) bool) {}
	policytest.All(c, func() policies.Policy { return nil }, none)
	if len(c.said) != 1 {
		t.Errorf("it says %q of a campaign without decisions", c.said)
	}
}
