//go:build unix

package bridges

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// Law: PyBaMM. Two cells at once are cycled for days, on a cycler that goes on while others are killed.
func TestBattery(t *testing.T) {
	killed(t, bridge{
		name: "battery", result: "throughput",
		peer: []string{"battery_cycler.py", "cells", "--acts", "acts"},
		edit: []string{"experiments: 10", "experiments: 5", "cycles: 30", "cycles: 10"},
		value: func(folder string, row map[string]float64) (want, tolerance float64) {
			cells, _ := filepath.Glob(filepath.Join(folder, "cells", "*", "result.json"))
			for _, file := range cells {
				var cell struct {
					Parameters       map[string]float64
					Throughput, Days float64
				}
				for _, name := range []string{file, filepath.Join(filepath.Dir(file), "request.json")} {
					text, err := os.ReadFile(name)
					if err != nil || json.Unmarshal(text, &cell) != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
				if cell.Days > 0 && math.Abs(cell.Parameters["cutoff"]-row["cutoff"]) < 1e-9 &&
					math.Abs(cell.Parameters["charge_rate"]-row["charge_rate"]) < 1e-9 {
					return cell.Throughput / cell.Days, 1e-9
				}
			}
			t.Errorf("no cell was cycled by %v", row)
			return 0, 0
		},
	})
}
