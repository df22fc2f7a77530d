//go:build unix

package bridges

import (
	"math"
	"testing"
)

// Law: LADS. A run has our ID at the device, so that it is found again whatever is gone: the ledger, with the first
// kill, before anybody has heard of a handle, or the answer to a start, as to the second.
func TestLADS(t *testing.T) {
	killed(t, bridge{
		name: "lads", address: "4840", forgets: true, tells: true, result: "conductivity",
		peer: []string{"lads_peer.py", "ADDRESS", "--acts", "acts", "--takes", "1", "--loses", "2"},
		edit: []string{"experiments: 10", "experiments: 5", "shows_within: 5 ", "shows_within: 1 ", "timeout: 4 ", "timeout: 1 "},
		value: func(_ string, row map[string]float64) (want, tolerance float64) {
			return 12.9 - 6*math.Pow(row["salt"]-1.1, 2), 1e-6
		},
	})
}
