//go:build unix

package bridges

import (
	"math"
	"testing"
)

// Law: SiLA 2. A server gives an execution a name of its own, and nothing else finds it again: also where
// the bridge's ledger is gone, for as long as the server lives.
func TestSiLA(t *testing.T) {
	killed(t, bridge{
		name: "sila", address: "50052", forgets: true, handle: true, result: "conductivity",
		peer: []string{"sila_peer.py", "ADDRESS", "--acts", "acts", "--takes", "2"},
		edit: []string{"experiments: 10", "experiments: 6"},
		value: func(_ string, row map[string]float64) (want, tolerance float64) {
			return 12.9 - 6*math.Pow(row["salt"]-1.1, 2), 1e-6
		},
	})
}
