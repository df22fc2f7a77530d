package outcomes_test

import (
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/study/papers/outcomes"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/bope"
	"github.com/campaignd/campaignd/policies/next"
)

// TestPreference measures the regret of utility that docs/results-journal.md has:
//
//	CAMPAIGND_STUDIES=preference go -C internal/study/papers test ./outcomes -run Preference -v
func TestPreference(t *testing.T) {
	seeds := 1
	if os.Getenv("CAMPAIGND_STUDIES") == "preference" {
		seeds = 20
	}
	arms := []struct {
		name   string
		policy definition.Policy
	}{
		{"bope", definition.Policy{}},
		{"eiuu, no questions", policies.Alone(bope.EIUU{}.Choice())},
		{"random", policies.Alone(next.Random{}.Choice())},
	}
	for _, c := range []struct {
		task        string
		experiments int
		weights     []float64
	}{
		{"electrolyte", 20, []float64{2, 1, 1.5}}, {"electrolyte", 20, []float64{0.3, 1, 3}},
		{"vehicle-safety", 30, []float64{2, 1, 1.5}}, {"vehicle-safety", 30, []float64{0.3, 1, 3}},
	} {
		task, _ := outcomes.Lookup(c.task)
		taste, err := task.Taste(c.weights...)
		if err != nil {
			t.Fatal(err)
		}
		for _, arm := range arms {
			var half, end []float64
			for seed := 1; seed <= seeds; seed++ {
				regret, err := task.Prefer(t.Context(), seed, c.experiments, taste, arm.policy)
				if err != nil || len(regret) != c.experiments {
					t.Fatalf("%s, %s, seed %d: %d experiments, %v", c.task, arm.name, seed, len(regret), err)
				}
				half, end = append(half, regret[c.experiments/2-1]), append(end, regret[c.experiments-1])
			}
			t.Logf("%s %v | %s | after %d: %s | after %d: %s", c.task, c.weights, arm.name,
				c.experiments/2, percent(half), c.experiments, percent(end))
		}
	}
}

// percent is the mean in percent with its standard error.
func percent(values []float64) string {
	sum, squares, n := 0.0, 0.0, float64(len(values))
	for _, v := range values {
		sum += 100 * v
	}
	for _, v := range values {
		squares += (100*v - sum/n) * (100*v - sum/n)
	}
	return fmt.Sprintf("%.2f ± %.2f", sum/n, math.Sqrt(squares/max(1, n-1)/n))
}
