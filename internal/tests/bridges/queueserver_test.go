//go:build unix

package bridges

import (
	"math"
	"os/exec"
	"testing"
)

// Law: Bluesky's queueserver. An item bears our ID in the queue, in the history and in the documents of its run, so that it is
// found again without a ledger. What ran when everything was switched off is in the history as unknown, and its documents have no end.
// A plan that has failed, while nobody looked, is not done again, although the queueserver puts it back into the queue.
func TestQueueserver(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed")
	}
	killed(t, bridge{
		name: "queueserver", address: "60615", forgets: true, tells: true, fails: 1, result: "conductivity",
		peer: []string{"queueserver_peer.py", "ADDRESS", "--acts", "acts", "--takes", "1", "--fails", "2"},
		edit: []string{"experiments: 10", "experiments: 4", "settles_within: 30 ", "settles_within: 2 "},
		value: func(_ string, row map[string]float64) (want, tolerance float64) {
			return 12.9 - 6*math.Pow(row["salt"]-1.1, 2), 1e-6
		},
	})
}
