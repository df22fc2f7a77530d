package drive_test

import (
	"context"
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
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/space"
)

// reader notes when it has read each start, and measures at once.
const reader = `
import json, sys, time
for line in sys.stdin:
    now, q = time.time_ns(), json.loads(line)
    op, c, a = q["op"], q.get("command", {}), {"ok": True}
    if op == "handshake": a = {"protocol": 1, "voids": True}
    if op == "describe": a = {"description": {"name": "reader", "capacity": 1, "simulated": True}}
    if op == "await": a = {"outcome": {"status": "measured", "measurement": {"actual": c["parameters"], "objective": {"name": "value", "value": 1.0}}}}
    if op == "start": print(now, file=open(sys.argv[1], "a"))
    print(json.dumps({"id": q["id"], **a}), flush=True)
`

// timed is a log that notes when each decision was on disk, and each end of an act.
type timed struct {
	events.Store
	decided, ended []time.Time
}

func (l *timed) Append(
	ctx context.Context, stream string, after events.Sequence, batch ...events.Event,
) ([]events.Event, error) {
	stored, err := l.Store.Append(ctx, stream, after, batch...)
	holds := func(kind events.Kind) bool {
		return err == nil && slices.ContainsFunc(batch, func(e events.Event) bool { return e.Kind == kind })
	}
	if holds(events.KindDecisionMade) {
		l.decided = append(l.decided, time.Now())
	}
	if holds(events.KindActEnded) {
		l.ended = append(l.ended, time.Now())
	}
	return stored, err
}

// BenchmarkDispatch is the time from a decision on disk to its command read by the instrument's
// program, in a campaign with so many events, with and without stocks: the median of 100 experiments.
func BenchmarkDispatch(b *testing.B) {
	python, err := exec.LookPath("python3")
	if err != nil {
		b.Skip("python3 is not installed")
	}
	for _, n := range []int{100, 1_000, 10_000} {
		for _, stocks := range []bool{false, true} {
			b.Run(fmt.Sprintf("events=%d/stocks=%t", n, stocks), func(b *testing.B) {
				var all []float64
				for b.Loop() {
					all = append(all, dispatched(b, python, n, stocks)...)
				}
				slices.Sort(all)
				b.ReportMetric(all[len(all)/2], "ms/median")
				b.ReportMetric(all[len(all)*95/100], "ms/95%")
			})
		}
	}
}

// dispatched runs a hundred experiments in a campaign that has n events, and returns how many
// milliseconds each took from its decision to the program.
func dispatched(b *testing.B, python string, n int, stocks bool) (took []float64) {
	const experiments = 100
	b.Helper()
	folder := b.TempDir()
	script, starts := filepath.Join(folder, "reader.py"), filepath.Join(folder, "starts")
	must.Do(b, os.WriteFile(script, []byte(reader), 0o600))
	def := must.Get(studytest.Define("branin", 1, experiments, func(def *definition.Campaign) {
		def.Initial = definition.Initial{Experiments: ptr(0)}
		def.Policy = policiesByName()["sobol"]
		def.Instrument.Driver = process.Choose(process.Settings{Command: []string{python, script, starts}})
		if stocks {
			def.Stocks = map[string]definition.Stock{"tips": {Labels: "t1-t400"}, "water": {Amount: "1000 mL"}}
			def.Instrument.Draws = map[string]definition.Draw{"tips": "2", "water": "2 + x1/10 mL"}
		}
	}))(b)
	log := &timed{Store: must.Get(store.Open(filepath.Join(folder, "store"), store.Options{}))(b)}
	defer log.Close()
	must.Do(b, engine.Define(b.Context(), log, events.CampaignDefined{Definition: def}, "person:ada", time.Now(), ""))
	imported(b, log, def, n/2)
	instrument := must.Get(process.Driver.Open(b.Context(), def, instruments.Environment{Folder: folder}))(b)
	r := must.Get(studytest.Runner(b.Context(), log, def, instrument))(b)
	r.Registry, r.Now = builtin.Registry(), time.Now
	must.Do(b, r.Run(b.Context()))
	lines := strings.Fields(string(must.Get(os.ReadFile(starts))(b)))
	if len(lines) != experiments || len(log.decided) < experiments {
		b.Fatalf("%d starts of %d decisions", len(lines), len(log.decided))
	}
	for i, line := range lines {
		at := must.Get(strconv.ParseInt(line, 10, 64))(b)
		took = append(took, time.Unix(0, at).Sub(log.decided[i]).Seconds()*1000)
	}
	return took
}

// imported adds n measurements that were made before.
func imported(b *testing.B, log events.Log, def definition.Campaign, n int) {
	b.Helper()
	points := must.Get(must.Get(space.New(def))(b).Sample(n, 1))(b)
	var batch []events.Event
	for i, point := range points {
		id := events.ExperimentID(i + 1)
		for _, payload := range []events.Payload{
			&events.ExperimentRequested{Experiment: id, Parameters: point, Origin: events.OriginImport, Replicate: 1},
			&events.ExperimentMeasured{Experiment: id, Instrument: "person", Requested: point, Measurement: events.Measurement{
				Actual: point, Objective: definition.Quantity{Name: "value", Value: float64(i)},
			}},
		} {
			e := must.Get(events.New(def.Name, payload))(b)
			e.Actor, e.Time = "person:ada", time.Now()
			batch = append(batch, e)
		}
	}
	must.Get(log.Append(b.Context(), def.Name, 1, batch...))(b)
}
