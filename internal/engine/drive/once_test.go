package drive_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/table"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

const onceFile = `
name: once
parameters: [{name: x, min: 0, max: 1}]
objective: {name: y, goal: maximize, unit: mS}
instrument: {table: rows.csv}
initial: {experiments: 12}
budget: {experiments: 30}
policy: {next: lcb}
`

// onceRun runs a campaign to its end whose instrument measures each composition only once, and
// whose rows are wrong where they are said to be.
func onceRun(t *testing.T, rows, experiments int, wrong func(row int) bool) (*memlog.Log, *engine.Core) {
	t.Helper()
	folder := t.TempDir()
	text := "x,y\n"
	for k := range rows {
		x := float64(k) / float64(rows-1)
		y := 10 * math.Sin(3*x)
		if wrong(k) {
			y -= 9
		}
		text += fmt.Sprintf("%.6f,%.6f\n", x, y)
	}
	must.Do(t, os.WriteFile(filepath.Join(folder, "rows.csv"), []byte(text), 0o600))
	file := must.Get(campaignfile.Parse(builtin.Registry(), "once.yaml", []byte(onceFile)))(t)
	def := file.Definition
	def.Budget.Experiments = experiments
	rowsOf := must.Get(table.Driver.Open(t.Context(), def, instruments.Environment{Folder: folder}))(t)
	def.Candidates = must.Get(rowsOf.(instruments.Candidates).Candidates(t.Context()))(t)
	log := memlog.New()
	r, _ := start(t, log, def, rowsOf)
	must.Do(t, run(t, r)())
	return log, r.Core()
}

// Law: a doubtful measurement of an instrument that can measure each composition only once is
// kept, with the doubt shown, and the campaign goes on: what could not be had by measuring again
// costs no budget, says nothing against the instrument and pauses nothing.
func TestDoubtsThatCannotBeRepeatedAreKept(t *testing.T) {
	// One row in nine is far from its neighbors.
	log, core := onceRun(t, 40, 30, func(row int) bool { return row%9 == 4 })
	s := core.State()
	kept, cancelled := 0, 0
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Flag != nil && x.Flag.Verdict == events.VerdictKept {
			kept++
			if !strings.Contains(x.Flag.Reason, "counts, in doubt") || x.Excluded {
				t.Errorf("%s: %+v", x.ID, x.Flag)
			}
		}
		if x.Status == campaign.Failed || x.Flag != nil && x.Flag.Verdict == events.VerdictSuspect {
			t.Errorf("%s is %s: %+v", x.ID, x.Status, x.Flag)
		}
		if x.Status == campaign.Cancelled {
			cancelled++
		}
	}
	if kept == 0 || kept != cancelled {
		t.Errorf("%d were kept, %d repetitions were called off", kept, cancelled)
	}
	if s.Status != campaign.Completed || s.Count(campaign.Measured) != 30 {
		t.Errorf("the campaign is %s (%s) with %d measurements", s.Status, s.Reason, s.Count(campaign.Measured))
	}
	if model, err := core.Summarize(t.Context()); err != nil || model.BestByModel == nil {
		t.Errorf("%+v %v", model, err)
	}
	report, err := decisions.Audit(t.Context(), builtin.Registry(), log, s.Name, events.Build{}, nil)
	if err != nil || len(report.Mismatches) > 0 {
		t.Errorf("audit: %+v %v", report.Mismatches, err)
	}

	// An auditor believes no such word where there was no doubt, and misses the doubt's end.
	all := history(t, log)
	for k, e := range all {
		if e.Kind != events.KindExperimentCancelled {
			continue
		}
		forged := refill(t, append(append([]events.Event{}, all[:k+1]...), events.Event{
			Campaign: e.Campaign, Sequence: e.Sequence + 1, ID: fmt.Sprint(e.Sequence + 1), Kind: events.KindNoteAdded,
			Actor: "person:eve", Cause: e.ID, Time: e.Time, Data: []byte(`{"text":"nothing to see"}`), Version: 1,
		}))
		report, err := decisions.Audit(t.Context(), builtin.Registry(), forged, s.Name, events.Build{}, nil)
		if err != nil || len(report.Mismatches) == 0 {
			t.Errorf("a doubt that went away unnoticed: %+v %v", report.Mismatches, err)
		}
		break
	}
}

// once is such a campaign with one doubt.
func once(t *testing.T) []events.Event {
	log, _ := onceRun(t, 40, 13, func(row int) bool { return row%9 == 4 })
	return history(t, log)
}
