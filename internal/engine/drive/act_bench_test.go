package drive_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// BenchmarkAct is the overhead of an act in a campaign whose procedure of two stages has made so many
// events, of a hundred experiments one after the other: from a decision on disk, and from the end of the
// first stage on disk, to the command read by the instrument's program.
func BenchmarkAct(b *testing.B) {
	python, err := exec.LookPath("python3")
	if err != nil {
		b.Skip("python3 is not installed")
	}
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) {
			var decided, due []float64
			for b.Loop() {
				d, e := acted(b, python, n)
				decided, due = append(decided, d...), append(due, e...)
			}
			for what, all := range map[string][]float64{"decided": decided, "due": due} {
				slices.Sort(all)
				b.ReportMetric(all[len(all)/2], what+"-ms/median")
				b.ReportMetric(all[len(all)*95/100], what+"-ms/95%")
			}
		})
	}
}

// acted runs experiments until the log has n events, and a hundred more, and returns how many milliseconds
// the acts of these took: of the first stage from the decision, of the second from the end of the first.
func acted(b *testing.B, python string, n int) (decided, due []float64) {
	const experiments = 100
	const of = 11 // events of each experiment
	b.Helper()
	before, folder := n/of, b.TempDir()
	script := filepath.Join(folder, "reader.py")
	must.Do(b, os.WriteFile(script, []byte(reader), 0o600))
	def := must.Get(studytest.Define("branin", 1, before+experiments, func(def *definition.Campaign) {
		def.Initial = definition.Initial{Experiments: ptr(0)}
		def.Policy = policiesByName()["sobol"]
		def.Instrument = definition.Instrument{}
		def.Instruments = make(map[string]definition.Instrument)
		for _, name := range []string{"doser", "meter"} {
			def.Instruments[name] = definition.Instrument{Driver: process.Choose(process.Settings{
				Command: []string{python, script, filepath.Join(folder, name)},
			})}
		}
		def.Procedure = []definition.Stage{
			{Name: "dose", On: "doser"},
			{Name: "measure", On: "meter", After: []definition.Edge{{Stage: "dose"}}, Gives: []string{"value"}},
		}
	}))(b)
	log := &timed{Store: must.Get(store.Open(filepath.Join(folder, "store"), store.Options{}))(b)}
	defer log.Close()
	must.Do(b, engine.Define(b.Context(), log, events.CampaignDefined{Definition: def}, "person:ada", time.Now(), ""))
	r := &drive.Runner{Registry: builtin.Registry(), Log: log, Campaign: def.Name, Instruments: make(map[string]instruments.Instrument)}
	for name := range def.Instruments {
		of := *def.For(name)
		r.Instruments[name] = must.Get(process.Driver.Open(b.Context(), of, instruments.Environment{Folder: folder}))(b)
	}
	must.Do(b, r.Start(b.Context()))
	must.Do(b, r.Run(b.Context()))
	took := func(instrument string, since []time.Time) (all []float64) {
		lines := strings.Fields(string(must.Get(os.ReadFile(filepath.Join(folder, instrument)))(b)))
		if len(lines) != before+experiments || len(since) < len(lines) {
			b.Fatalf("%s was sent %d acts, and %d were due", instrument, len(lines), len(since))
		}
		for i := before; i < len(lines); i++ {
			at := must.Get(strconv.ParseInt(lines[i], 10, 64))(b)
			all = append(all, time.Unix(0, at).Sub(since[i]).Seconds()*1000)
		}
		return all
	}
	var dosed []time.Time
	for i := 0; i < len(log.ended); i += 2 {
		dosed = append(dosed, log.ended[i])
	}
	return took("doser", log.decided), took("meter", dosed)
}
