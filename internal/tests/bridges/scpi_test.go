//go:build unix

package bridges

import (
	"math"
	"testing"
)

// Law: SCPI. The line is noisy besides: each fifth answer comes after its question was given up.
func TestSCPI(t *testing.T) {
	killed(t, bridge{
		name: "scpi", address: "5025", forgets: true, result: "power",
		peer: []string{"scpi_peer.py", "ADDRESS", "--acts", "acts", "--late", "5", "--takes", "1"},
		edit: []string{"experiments: 10", "experiments: 6", "timeout: 2 ", "timeout: 0.3 "},
		value: func(_ string, row map[string]float64) (want, tolerance float64) {
			v := row["voltage_actual"]
			return 1000 * v * (0.0352 - 1.2e-10*(math.Exp(v/0.0295)-1)), 0.05
		},
	})
}
