//go:build unix

package bridges

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: no well is filled twice, and no tip is used twice: not after the bridge was killed in the
// middle of an experiment, and not after campaignd was.
func TestLiquidHandler(t *testing.T) {
	t.Parallel()
	tr := begin(t, bridge{name: "liquid_handler", edit: []string{"experiments: 12", "experiments: 7", "reply_within: 30s #", "environment: [CAMPAIGND_ACTS]\n    reply_within: 30s #"}})
	run := tr.run()
	for range 3 {
		tr.another()
	}
	tr.killBridge()
	var x experiment
	tr.until("an unknown fate", func() (ok bool) {
		x, ok = tr.latest()
		return ok && (x.Status == "unresolved" || x.Status == "")
	})
	if x.Status != "" { // on a busy machine it had ended before
		out, err := tr.campaignd("resolve", "store", x.ID, "not-performed", "--repeat", "--reason", "the well is empty").CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	tr.another()
	must.Do(t, run.Process.Kill())
	_ = run.Wait()
	run = tr.run()
	must.Do(t, run.Wait())
	used := make(map[string]string)
	for line := range strings.Lines(string(must.Get(os.ReadFile(tr.path("acts")))(t))) {
		id, what, _ := strings.Cut(strings.TrimSpace(line), " begin ")
		var labels map[string][]string
		must.Do(t, json.Unmarshal([]byte(what), &labels))
		for stock, list := range labels {
			for _, label := range list {
				if by := used[stock+" "+label]; by != "" {
					t.Errorf("%s %s is used for %s and for %s", stock, label, by, id)
				}
				used[stock+" "+label] = id
			}
		}
	}
	if len(used) < 3*7 {
		t.Errorf("seven experiments use up %v", used)
	}
	t.Logf("%d wells and tips", len(used))
}
