//go:build unix

package killtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/testinstrument"
)

// livesName is the folder in which each life of the instrument process keeps a
// file, named by its process ID and locked as long as it lives. So nobody else
// is killed whom the system has given the same number since.
const livesName = "lives"

// signInIfAsked makes the file of this life, where this process is the
// instrument.
func signInIfAsked() {
	value := os.Getenv(testinstrument.Variable)
	if value == "" {
		return
	}
	var o testinstrument.Options
	err := json.Unmarshal([]byte(value), &o)
	var fd int
	if err == nil {
		// A bare descriptor, so that nothing closes it before the process ends.
		fd, err = syscall.Open(filepath.Join(o.Dir, livesName, strconv.Itoa(os.Getpid())), syscall.O_CREAT|syscall.O_RDWR|syscall.O_CLOEXEC, 0o666)
	}
	if err == nil {
		err = syscall.Flock(fd, syscall.LOCK_EX)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// living returns the process IDs of the instrument's lives that go on.
func living(t *testing.T, bench string) (pids []int) {
	t.Helper()
	entries := must.Get(os.ReadDir(filepath.Join(bench, livesName)))(t)
	for _, entry := range entries {
		f := must.Get(os.Open(filepath.Join(bench, livesName, entry.Name())))(t)
		pid, err := strconv.Atoi(entry.Name())
		if err == nil && syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == syscall.EWOULDBLOCK {
			pids = append(pids, pid)
		}
		f.Close()
	}
	return pids
}

// killInstrument kills the instrument process, with earlier lives of it that
// have not ended yet, and returns how many it found.
func killInstrument(t *testing.T, bench string) int {
	t.Helper()
	pids := living(t, bench)
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may just have ended
	}
	return len(pids)
}

// bury waits until the instrument has ended, as it does when its input ends.
func (c *campaignRun) bury(t *testing.T) {
	for began := time.Now(); len(living(t, c.bench)) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			t.Errorf("the instrument outlives campaignd: %v", living(t, c.bench))
			killInstrument(t, c.bench)
			return
		}
	}
}

// campaignFile is a campaign in which everything happens: an initial design,
// initial labels, fits, decisions, questions and measurements.
func campaignFile(sc scenario, seed int, bench string) ([]byte, error) {
	// YAML takes JSON.
	what := definition.Instrument{Driver: simulated.Choose(simulated.Settings{Task: "electrolyte", Noise: 0.27, Latency: definition.Duration(latency)})}
	stocks := ""
	if sc.bench != nil {
		o := *sc.bench
		o.Dir, o.Latency = bench, definition.Duration(latency)
		settings, err := testinstrument.Config(o)
		if err != nil {
			return nil, err
		}
		what = definition.Instrument{Driver: process.Choose(settings), Draws: map[string]definition.Draw{"tips": "2"}}
		stocks = "stocks: {tips: {labels: t1-t400}}"
	}
	text, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `name: killed
seed: %d
parameters:
  - {name: lipf6, unit: mol/kg, min: 0.2, max: 2.1}
  - {name: ec, unit: kg/kg, min: 0.30, max: 0.52}
  - {name: dmc, min: 0, max: 1}
objective: {name: conductivity, unit: mS/cm, goal: maximize, noise: 0.27}
initial: {experiments: 3, labels: 6}
policy: {next: lcb, trust: {cobol: {confidence: 0.5}}, handover: width}
budget: {experiments: %d}
experts:
  - {name: ada, simulated: {task: electrolyte, accuracy: 1, unsure_rate: 0.2, latency: 5ms}}
instrument: %s
%s
`, seed, budget, text, stocks), nil
}

// budget is the number of experiments of each campaign.
const budget = 10
