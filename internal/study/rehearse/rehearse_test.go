package rehearse_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study/rehearse"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// plates is a campaign of 6 batches: an arm serves an oven, and a meter measures well by well.
const plates = `name: plates
parameters: [{name: x, min: 0, max: 1}]
objective: {maximize: y}
budget: {experiments: 24}
instruments: {doser: {process: [./doser]}, arm: {process: [./arm]}, meter: {process: [./meter]}}
batch: {of: 4}
places: [oven]
stocks: {tips: {labels: A1-H2}, solvent: {amount: 100 mL}}
procedure:
  dose: {on: doser, together: true, draws: {tips: 2, solvent: 1 + x mL}}
  load: {on: arm, together: true, after: dose, holds: oven}
  unload: {on: arm, together: true, after: {load: 2h..3h}, frees: oven}
  measure: {on: meter, after: {unload: ..1h}, gives: y}
  clean: {on: doser, together: true, after: measure, always: true}
`

// takes are the times of acts: 2.8 hours for a batch by itself.
var takes = map[string]time.Duration{
	"dose": 20 * time.Minute, "load": 2 * time.Minute, "unload": 2 * time.Minute, "measure": 5 * time.Minute, "clean": 4 * time.Minute,
}

func rehearsed(t testing.TB, text string, setup rehearse.Setup) *rehearse.Report {
	t.Helper()
	def := must.Get(campaignfile.Parse(builtin.Registry(), "plates.yaml", []byte(text)))(t).Definition
	return must.Get(rehearse.Run(&def, setup))(t)
}

func replaced(t testing.TB, pairs ...string) string {
	t.Helper()
	text := strings.NewReplacer(pairs...).Replace(plates)
	if text == plates {
		t.Fatalf("%q is not in the file", pairs)
	}
	return text
}

func hours(h float64) float64 { return 3600 * h }

// Law: one batch after another takes what its stages and windows add up to, and waits for nothing.
func TestOneAfterAnother(t *testing.T) {
	r := rehearsed(t, plates, rehearse.Setup{Takes: takes})
	// The second one is planned while the doser is still cleaned: 4 minutes.
	if one := hours(2.8); r.Batches != 6 || r.AtOnce != 1 || r.Batch != one+200 || r.Longest != one+240 || r.Total != 6*one {
		t.Errorf("%d batches, %d at once: %g s each, %g at most, %g in all", r.Batches, r.AtOnce, r.Batch, r.Longest, r.Total)
	}
	for _, s := range r.Stages {
		// The wells of a plate wait for the one meter: 0, 5, 10 and 15 minutes.
		want := map[string]rehearse.Stage{"dose": {Waits: 200, Longest: 240, For: "doser"}, "measure": {Waits: 450, Longest: 900, For: "meter"}}[s.Name]
		if s.Waits != want.Waits || s.Longest != want.Longest || s.For != want.For {
			t.Errorf("%+v", s)
		}
	}
	if r.Bottleneck != "oven" || len(r.Missed) > 0 || r.Hangs != nil {
		t.Errorf("bottleneck %s, missed %v, hangs %v", r.Bottleneck, r.Missed, r.Hangs)
	}
	// 16 tips are enough for two batches, 100 mL for 50 to 100 experiments.
	want := []rehearse.End{{Stock: "tips", At: 2 * hours(2.8), Batch: 3, Experiments: 8, Refills: 2}}
	if diff := cmp.Diff(want, r.Ends); diff != "" {
		t.Error(diff)
	}
	if r.Wider.Parallel != 8 || !(r.Wider.Total < r.Total) {
		t.Errorf("with one more batch at once: %+v", r.Wider)
	}
}

// Law: more of what is scarce takes less time, and what is waited for is what is scarce.
func TestBottleneck(t *testing.T) {
	eight := rehearsed(t, replaced(t, "batch:", "parallel: 8\nbatch:"), rehearse.Setup{Takes: takes})
	roomy := rehearsed(t, replaced(t, "batch:", "parallel: 8\nbatch:", "[oven]", "[{name: oven, room: 2}]"), rehearse.Setup{Takes: takes})
	if eight.Stages[1].For != "oven" || roomy.Stages[1].For == "oven" || !(roomy.Total < eight.Total) {
		t.Errorf("an oven for one: %g s, load waits for %q; for two: %g s, %q", eight.Total, eight.Stages[1].For, roomy.Total, roomy.Stages[1].For)
	}
	// Here the arm is waited for as well, for a shorter time.
	looks := replaced(t, "batch:", "parallel: 8\nbatch:", "  clean:", "  look: {on: arm, together: true, after: unload}\n  clean:")
	slow := maps.Clone(takes)
	slow["look"] = 30 * time.Minute
	if r := rehearsed(t, looks, rehearse.Setup{Takes: slow}); r.Stages[1].For != "oven" {
		t.Errorf("load waits for %s", r.Stages[1].For)
	}
	two := rehearsed(t, plates, rehearse.Setup{Takes: takes, Capacity: map[string]int{"meter": 2}})
	if want := 6 * (hours(2.8) - 600); two.Total != want {
		t.Errorf("with two channels of the meter all take %g s, want %g", two.Total, want)
	}
}

// Law: a window that is not kept is reported with its stage, by how much, and what was waited for.
func TestWindows(t *testing.T) {
	slow := map[string]time.Duration{"dose": time.Minute, "load": time.Minute, "unload": time.Minute, "measure": 25 * time.Minute, "clean": time.Minute}
	r := rehearsed(t, plates, rehearse.Setup{Takes: slow})
	// The fourth well waits 75 minutes for the meter.
	want := rehearse.Missed{Stage: "measure", After: "unload", Within: hours(1), Batches: 6, First: 1, Late: 900, For: "meter"}
	if diff := cmp.Diff([]rehearse.Missed{want}, r.Missed, cmp.AllowUnexported(), cmp.FilterPath(
		func(p cmp.Path) bool { return p.Last().String() == ".latest" }, cmp.Ignore())); diff != "" {
		t.Error(diff)
	}
	// What no one waits for can be late, too: measure comes after look, which comes too late for it.
	late := replaced(t, "  measure:", "  look: {on: arm, after: {unload: 2h..}}\n  measure:", "{unload: ..1h}", "{unload: ..1h, look: }")
	if r := rehearsed(t, late, rehearse.Setup{Takes: takes}); len(r.Missed) != 1 || r.Missed[0].Batches != 6 {
		t.Errorf("missed: %+v", r.Missed)
	}
}

// Law: a stage that is always performed waits for all others of its batch, also for those that it does
// not come after.
func TestAlways(t *testing.T) {
	looks := replaced(t, "experiments: 24", "experiments: 4", "  clean:", "  look: {on: arm, together: true, after: unload}\n  clean:")
	slow := maps.Clone(takes)
	slow["look"] = time.Hour
	if r, want := rehearsed(t, looks, rehearse.Setup{Takes: slow}), hours(2.8)+40*60; r.Total != want {
		t.Errorf("it takes %g s, want %g", r.Total, want)
	}
}

// Law: batches that are not full are planned as the campaign says, and at its end.
func TestBatches(t *testing.T) {
	r := rehearsed(t, replaced(t, "experiments: 24", "experiments: 10"), rehearse.Setup{Takes: takes})
	if r.Batches != 3 || r.Total >= 3*hours(2.8) {
		t.Errorf("10 experiments are %d batches, %g s", r.Batches, r.Total)
	}
	// Six at once: the two that are left go 10 minutes later, or with the end of the first four.
	six := func(batch string) float64 {
		text := replaced(t, "experiments: 24", "experiments: 6", "{of: 4}", batch+"\nparallel: 6", "[oven]", "[{name: oven, room: 2}]")
		return rehearsed(t, text, rehearse.Setup{Takes: map[string]time.Duration{"load": time.Minute}}).Total
	}
	one := hours(2) + 60
	if early, late := six("{of: 4, at_least: 2, within: 10m}"), six("{of: 4}"); early != one+600 || late != 2*one {
		t.Errorf("%g s with at_least, %g s without", early, late)
	}
}

// Law: what waits for ever is named. No file that is valid has such a procedure.
func TestHangs(t *testing.T) {
	def := must.Get(campaignfile.Parse(builtin.Registry(), "plates.yaml", []byte(plates)))(t).Definition
	def.Procedure[2].Frees = ""
	r := must.Get(rehearse.Run(&def, rehearse.Setup{Takes: takes}))(t)
	want := []rehearse.Hang{{Batch: 2, Stage: "load", For: "oven"}}
	if diff := cmp.Diff(want, r.Hangs); diff != "" {
		t.Error(diff)
	}
}

// Law: the report for people says what the other one says, with what was assumed.
func TestText(t *testing.T) {
	var b strings.Builder
	must.Do(t, rehearsed(t, plates, rehearse.Setup{Takes: map[string]time.Duration{"measure": 25 * time.Minute}, Else: 10 * time.Minute}).Write(&b))
	for _, want := range []string{
		"24 experiments in 6 batches of 4, 1 at a time", "load     arm    10 min 0 s*", "measure  meter  25 min 0 s  ",
		"Not kept: measure within 1 h 0 min after unload, in 6 batches, from b1 on: up to 15 min 0 s too late, waiting for meter.",
		"tips ends in b3", "* assumed",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in:\n%s", want, b.String())
		}
	}
}

// Of 1,000 batches of 24.
func BenchmarkRun(b *testing.B) {
	def := must.Get(campaignfile.Parse(builtin.Registry(), "plates.yaml", []byte(replaced(b,
		"experiments: 24", "experiments: 24000", "{of: 4}", "{of: 24}\nparallel: 96"))))(b).Definition
	for b.Loop() {
		if r, err := rehearse.Run(&def, rehearse.Setup{Takes: takes}); err != nil || r.Batches != 1000 {
			b.Fatal(r, err)
		}
	}
}
