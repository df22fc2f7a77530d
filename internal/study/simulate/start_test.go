package simulate_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/study/simulate"
	"github.com/campaignd/campaignd/internal/tests/must"
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

// Law: results that another program gives from the starts of a study are compared as those of an arm: the same results have
// the same regret. Those from anywhere else are not.
func TestPeersAreCompared(t *testing.T) {
	s, folder := newStudy(t, noisy, simulate.Environment{}), t.TempDir()
	runAll(t, s, folder, 2)
	ran := s.Summarize(open(t, folder))

	var peers []byte
	for _, start := range s.Starts() {
		for _, task := range ran.Tasks {
			for _, a := range task.Arms {
				for _, r := range a.Results {
					if task.Task.Name != start.Task.Name || r.Seed != start.Definition.Seed || a.Arm.Name != "cobol/expert" {
						continue
					}
					peer := *r
					peer.Arm, peer.Key = "same", "same "+start.Key
					line := must.Get(json.Marshal(peer))(t)
					peers = append(append(peers, line...), '\n')
					peer.Arm, peer.Key = "stale", "stale "+r.Key // of no start
					line = must.Get(json.Marshal(peer))(t)
					peers = append(append(peers, line...), '\n')
				}
			}
		}
	}
	other := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(other, "peers.jsonl"), peers, 0o600))
	runAll(t, s, other, 2)
	summary := s.Summarize(open(t, other))
	ratios := summary.Ratios
	if len(ratios.Arms) != 3 || ratios.Arms[2].Arm != "same" || ratios.Cells != 2 {
		t.Fatalf("%d arms, %d cells", len(ratios.Arms), ratios.Cells)
	}
	var times bytes.Buffer
	if err := summary.WriteTimes(&times); err != nil || strings.Count(times.String(), ",same,") != 2*2*5*2 {
		t.Errorf("times %s (%v)", &times, err)
	}
	if arm, peer := ratios.Arms[1].Along, ratios.Arms[2].Along; arm != peer || math.IsNaN(arm.Mean) {
		t.Errorf("the arm %+v, its peer %+v", arm, peer)
	}
}
