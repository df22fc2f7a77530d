package main

import (
	"path/filepath"
	"testing"

	"github.com/campaignd/campaignd/internal/study/simulate"
	"github.com/campaignd/campaignd/internal/study/studyfile"
)

const noisy = `name: noisy
seeds: 2
experiments: 5
tasks:
  - {task: electrolyte, noise: 0.27}
  - reaction
policies:
  random: {next: random}
  cobol: {next: lcb, trust: cobol}
experts:
  expert: [{simulated: {accuracy: 2}}]
`

// Law: every arm begins where the start says, with the same noise, and whoever repeats an arm's
// experiments by a start has its results.
func TestPeersStartAlike(t *testing.T) {
	file, err := studyfile.Parse(filepath.Join(t.TempDir(), "study.yaml"), []byte(noisy), studyfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := simulate.New(t.Context(), file, simulate.Environment{})
	if err != nil {
		t.Fatal(err)
	}
	results, err := simulate.OpenResults(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer results.Close()
	if err := s.Run(t.Context(), simulate.Run{Results: results, Workers: 2}); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, start := range s.Starts() {
		first, err := initial(t.Context(), s, start)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range s.Summarize(results).Tasks {
			for _, a := range task.Arms {
				for _, r := range a.Results {
					if task.Task.Name != start.Task.Name || r.Seed != start.Definition.Seed {
						continue
					}
					for i, answer := range first {
						if step := r.Trajectory[i]; *answer.Measured != *step.Measured || answer.True != step.True {
							t.Errorf("%s, %s, seed %d: experiment %d measured %v, the start %v",
								task.Task.Name, a.Arm.Name, r.Seed, i+1, *step.Measured, *answer.Measured)
						}
						again, err := measure(t.Context(), start, answer.Point, i+1)
						if err != nil || *again.Measured != *answer.Measured || again.Regret != answer.Regret {
							t.Errorf("measured again: %+v (%v), was %+v", again, err, answer)
						}
						compared++
					}
				}
			}
		}
	}
	if compared < 2*2*2 { // tasks, seeds and arms
		t.Errorf("%d experiments were compared", compared)
	}
}
