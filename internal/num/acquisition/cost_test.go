package acquisition

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// Oracle r: cost counts by the share of the budget that is left.
func TestCoolingOracle(t *testing.T) {
	data, err := os.ReadFile("../../../../shared/oracles/r_cost_fidelity.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("oracle r is not beside this checkout")
	} else if err != nil {
		t.Fatal(err)
	}
	var oracle struct {
		Results struct {
			Cooling []struct {
				LogEI                            float64 `json:"log_ei"`
				Cost, Total, Spent, Alpha, Value float64
			} `json:"cost_cooling"`
		}
	}
	must.Do(t, json.Unmarshal(data, &oracle))
	if len(oracle.Results.Cooling) == 0 {
		t.Fatal("the oracle holds no case")
	}
	for _, c := range oracle.Results.Cooling {
		alpha := Cooling(c.Spent, c.Total)
		log, _ := LogCost(c.Cost, 1)
		relative(t, "α", alpha, c.Alpha)
		relative(t, "log EI per cost", LogPerCost(nil, c.LogEI, log, alpha, nil, nil), c.Value)
	}
}

// Law: α stays within 0 and 1 and is ½ without a budget; a cost below a thousandth of the median
// counts as that, without a slope; the mean of a cost is that of its lognormal distribution.
func TestCost(t *testing.T) {
	relative(t, "α", Cooling(0.125, 0.5), 0.75)
	relative(t, "α of a spent budget", Cooling(12, 10), 0)
	relative(t, "α without a budget", Cooling(12, 0), 0.5)
	log, slope := LogCost(1e-9, 2)
	relative(t, "the least cost", log, math.Log(2e-3))
	relative(t, "its slope", slope, 0)
	log, slope = LogCost(4, 2)
	relative(t, "a cost", log, math.Log(4))
	relative(t, "its slope", slope, 0.25)

	grad := make([]float64, 1)
	log = ExpectedLogCost(grad, 0.5, 0.3, []float64{2}, []float64{5})
	relative(t, "ln of the mean cost", log, 0.545)
	relative(t, "its gradient", grad[0], 2+5*0.3)
	log = LogPerCost(grad, -3, 2, 0.25, []float64{1}, []float64{8})
	relative(t, "per cost", log, -3.5)
	relative(t, "its gradient", grad[0], -1)
}
