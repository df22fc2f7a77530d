//go:build unix

package killtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/built"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/testinstrument"
	"github.com/campaignd/campaignd/projections/campaign"
)

// procedureFile is a procedure of three stages at two programs, and a place that a batch occupies from
// the first to the last.
func procedureFile(t *testing.T, bench string) string {
	t.Helper()
	settings := func(name string) string {
		dir := filepath.Join(bench, name)
		must.Do(t, os.MkdirAll(filepath.Join(dir, livesName), 0o777))
		cfg := must.Get(testinstrument.Config(testinstrument.Options{
			Dir: dir, Latency: definition.Duration(latency), Real: true, Resume: true, Durable: true, Identity: name}))(t)
		return string(must.Get(json.Marshal(process.Choose(cfg)))(t))
	}
	return fmt.Sprintf(`name: killed
parameters:
  - {name: x, min: 0, max: 1}
objective: {maximize: flow}
initial: {experiments: %d}
policy: sobol
budget: {experiments: %d}
instruments:
  doser: %s
  meter: %s
batch: {of: 2}
places: [oven]
stocks: {tips: {labels: t1-t400}}
procedure:
  dose: {on: doser, together: true, holds: oven, draws: {tips: 2}}
  measure: {on: meter, after: dose, gives: [flow], draws: {tips: 1}}
  unload: {on: doser, together: true, after: measure, frees: oven}
`, inBatches, inBatches, settings("doser"), settings("meter"))
}

// inBatches is how many experiments go through the procedure, two by two.
const inBatches = 6

// Law: whenever campaignd or the programs of a procedure are killed, by the programs' own records no
// act is performed twice, no stage twice for an experiment, each stage after the one before it, no
// batch while another occupies the place, and no tip is used twice; nobody is asked, and the campaign
// ends, with a log that the audit finds sound.
func TestProcedureKilled(t *testing.T) {
	t.Parallel()
	kills := max(1, setting(t, "CAMPAIGND_KILLS", 10)/3)
	rng := rand.New(rand.NewPCG(uint64(setting(t, "CAMPAIGND_KILLS_SEED", 1)), 99))
	binary := built.Program(t)
	for campaigns := 0; kills > 0 && !t.Failed(); campaigns++ {
		dir := folder(t)
		c := &campaignRun{suite: &suite{binary: binary}, dir: dir, file: filepath.Join(dir, "killed.yaml"),
			store: filepath.Join(dir, "killed.campaign")}
		must.Do(t, os.Mkdir(filepath.Join(dir, "tmp"), 0o777))
		must.Do(t, os.WriteFile(c.file, []byte(procedureFile(t, dir)), 0o666))
		benches := []string{filepath.Join(dir, "doser"), filepath.Join(dir, "meter")}
		for done := false; !done; {
			began := time.Now()
			l := c.start(t)
			var strike <-chan time.Time
			if kills > 0 {
				strike = l.at(moment{event: len(c.history) + 1 + rng.IntN(20)})
			}
			hit := 0
			select {
			case <-l.exited:
				code := l.cmd.ProcessState.ExitCode()
				done = code == 0
				if code != 0 {
					t.Errorf("the program ended with %d:\n%s", code, l.words())
				}
			case <-strike:
				victims := 1 + rng.IntN(7) // any of the three, as bits
				time.Sleep(time.Duration(rng.Int64N(int64(latency))))
				for k, bench := range benches {
					if victims&(1<<k) != 0 {
						hit += killInstrument(t, bench)
					}
				}
				if victims < 4 { // campaignd lives on and starts them again
					time.Sleep(time.Duration(rng.Int64N(int64(8 * latency))))
				}
				if l.kill() {
					hit++
				}
				kills--
			case <-time.After(longest):
				out, _ := c.command("status", c.store).CombinedOutput()
				t.Errorf("the program did not end within %v\n%s\n%s", longest, l.words(), out)
				for _, e := range c.read(t) {
					t.Logf("%d %s %s %s", e.Position, e.Time.Format("05.000"), e.Kind, e.Data)
				}
			}
			l.end()
			c.history = c.read(t)
			acts := judge(t, c, benches)
			if t.Failed() {
				return
			}
			t.Logf("campaign %d: %v, %d events, %d acts, %d processes killed", campaigns+1, time.Since(began), len(c.history), acts, hit)
		}
		state := fold(c.history)
		if len(state.Experiments) != inBatches || count(c.history, events.KindActUnresolved) > 0 {
			t.Errorf("%d experiments, %d acts were left to a person", len(state.Experiments), count(c.history, events.KindActUnresolved))
		}
		for _, x := range state.Experiments {
			if x.Status != campaign.Measured || x.Measurement.Objective.Value != testinstrument.Value(x.Parameters) {
				t.Errorf("%s is %s with %+v", x.ID, x.Status, x.Measurement)
			}
		}
		c.audit(t)
	}
}

// judge reads the records of both programs, and returns how many acts they hold.
func judge(t *testing.T, c *campaignRun, benches []string) int {
	t.Helper()
	var acts []testinstrument.Act
	for _, bench := range benches {
		acts = append(acts, must.Get(testinstrument.Record(bench))(t)...)
	}
	slices.SortFunc(acts, func(a, b testinstrument.Act) int { return a.Time.Compare(b.Time) })
	dispatched := make(map[string]string) // the batch, by the command
	for _, e := range c.history {
		if p, ok := payload(t, e).(*events.ActDispatched); ok {
			dispatched[p.Command] = p.Batch
		}
	}
	stages := []string{"dose", "measure", "unload"}
	commands, labels := make(map[string]bool), make(map[string]bool)
	passed := make(map[string]int) // the stages that an experiment has been through
	occupant := ""
	for _, act := range acts {
		batch := dispatched[act.Command]
		if commands[act.Command] || batch == "" {
			t.Errorf("%s was performed twice, or is not in the log", act.Command)
		}
		commands[act.Command] = true
		for _, x := range act.Experiments {
			if at := passed[x]; at == len(stages) || stages[at] != act.Stage {
				t.Errorf("%s went through %s after %d stages", x, act.Stage, at)
			}
			passed[x]++
		}
		switch {
		case act.Stage == "dose" && occupant != "":
			t.Errorf("%s was dosed while %s was in the oven", batch, occupant)
		case act.Stage == "dose":
			occupant = batch
		case act.Stage == "unload":
			occupant = ""
		}
		for _, d := range act.Drawn {
			for _, label := range d.Labels {
				if labels[label] {
					t.Errorf("%s was used twice", label)
				}
				labels[label] = true
			}
		}
	}
	return len(acts)
}
