//go:build unix

package bridges

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: Opentrons. A run is found by the key of its protocol, also where the answer to its making was lost, or to its beginning; and tips
// and wells, as the robot's own engine reads them out of the protocol, are those of the command: none is used twice.
func TestOpentronsHTTP(t *testing.T) {
	tr := killed(t, bridge{
		name: "opentrons_http", address: "31950", forgets: true, tells: true, result: "signal",
		python: "opentrons",
		peer:   []string{"opentrons_http_peer.py", "ADDRESS", "--acts", "acts", "--takes", "1", "--loses-play", "2", "--loses-run", "3"},
		edit:   []string{"experiments: 12", "experiments: 4", "timeout: 10 ", "timeout: 2 "},
		value: func(_ string, row map[string]float64) (want, tolerance float64) {
			share := row["dye"] / 50
			return 4 * share * math.Exp(-2*share), 1e-6
		},
	})
	used := make(map[string]string)
	for line := range strings.Lines(string(must.Get(os.ReadFile(tr.path("acts")))(t))) {
		id, what, begins := strings.Cut(strings.TrimSpace(line), " begin ")
		if !begins {
			continue
		}
		var labels struct{ Tips, Wells []string }
		must.Do(t, json.Unmarshal([]byte(what), &labels))
		if len(labels.Tips) != 2 || len(labels.Wells) != 1 {
			t.Errorf("%s uses %v", id, labels)
		}
		for _, label := range append(labels.Tips, "well "+labels.Wells[0]) {
			if by := used[label]; by != "" {
				t.Errorf("%s is used for %s and for %s", label, by, id)
			}
			used[label] = id
		}
	}
}
