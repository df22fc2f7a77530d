package faults

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: the suite finds what it looks for: it is made of controls too, which must
// lose what they acknowledged. The same hosts and checks; the one's cluster
// replicates asynchronously, and the other's hosts run the log without its three
// rules.
func TestControls(t *testing.T) {
	if !draws.Whole() {
		t.Skip("programs without the rules are built where all is tried: set CAMPAIGND_DRAWS")
	}
	program := self(t)
	failovers := []fault{named(t, "partition"), named(t, "pauseprimary"), named(t, "hold")}
	t.Run("asynchronous", func(t *testing.T) {
		mustLose(t, setting{program: program, asynchronous: true}, failovers...)
	})
	t.Run("without the rules", func(t *testing.T) {
		mustLose(t, setting{program: without(t, cancelling, warnings, barriers)}, failovers...)
	})
	if os.Getenv("CAMPAIGND_FAULTS") == "" {
		return
	}
	t.Run("without the barrier", func(t *testing.T) {
		away := named(t, "standbysaway")
		mustLose(t, setting{program: without(t, barriers)}, away, away, away)
	})
	t.Run("without the rule of warnings", func(t *testing.T) {
		mustLose(t, setting{program: without(t, warnings)}, cancelWaits, cancelWaits, cancelWaits)
	})
	// And with it:
	t.Run("cancelled waits", func(t *testing.T) {
		if result := run(t, cancelWaits, 1, setting{program: program}, true); result.lost > 0 || result.acknowledged == 0 {
			t.Errorf("%+v", result)
		}
	})
}

// mustLose makes trials until one has lost what was acknowledged.
func mustLose(t *testing.T, s setting, trials ...fault) {
	t.Helper()
	for i, f := range trials {
		result := run(t, f, uint64(i), s, true)
		t.Logf("%s: of %d acknowledged events %d were lost; %d were seen and are gone; %d logs stopped",
			f.name, result.acknowledged, result.lost, result.gone, result.stopped)
		if result.lost > 0 {
			return
		}
	}
	t.Fatalf("nothing was lost in %d trials, of what must lose: this run proves nothing", len(trials))
}

// self is this program.
func self(t *testing.T) string {
	t.Helper()
	return must.Get(os.Executable())(t)
}

// edit takes a part of the program away. The file is one of the log, or of another folder by
// its path from the repository's.
type edit struct{ file, old, new string }

// The rules of events/pglog, and what is left without them: pgx as it comes. A
// statement that takes too long is cancelled, as a context's end cancels it; a
// warning is not looked at; and a new connection is believed.
var (
	cancelling = []edit{
		{"conn.go", "if ctx.Value(dialing{}) == nil {", "if false {"},
		{"connect.go", "defaultPatience = 10 * time.Second", "defaultPatience = time.Second"},
	}
	warnings = []edit{{"conn.go", "if c.warning == nil {", "if true {"}, {"connect.go", " && c.warning == nil", ""}}
	barriers = []edit{
		{"conn.go", "if err := barrier(ctx, c, pg); err != nil {", "if false {"},
		{"conn.go", "s.timeline < seen", "s.timeline < seen-seen"},
	}
)

// leases are those of a worker that others take for dead while it lives, and that
// writes on: its lease ends before its own belief, and the log has no fence.
var leases = []edit{
	{"worker.go", "update cd_worker set until = clock_timestamp() + $2::interval where",
		"update cd_worker set until = clock_timestamp() + $2::interval / 10 where"},
	{"worker.go", "values ($1, clock_timestamp() + $2::interval, $3)", "values ($1, clock_timestamp() + $2::interval / 10, $3)"},
	{"statement.go", "($7::bigint = 0 or epoch = $7)", "($7::bigint >= 0)"},
	{"commit.go", "case at.epoch != p.epoch && p.epoch != 0:", "case false:"},
	{"commit.go", "if epoch := l.epoch.Load(); epoch != 0 && l.committer.epoch != epoch {", "if false {"},
}

// without builds this program with parts of the log taken away.
func without(t *testing.T, rules ...[]edit) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "control")
	args := append([]string{"test", "-c", "-vet=off", "-o", program}, overlaid(t, rules...)...)
	build := exec.Command("go", append(args, ".")...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// overlaid has the compiler build without parts of the log. The sources stay as they
// are: it is given others in their place.
func overlaid(t *testing.T, rules ...[]edit) []string {
	t.Helper()
	if len(rules) == 0 {
		return nil
	}
	dir := t.TempDir()
	root := must.Get(filepath.Abs("../../.."))(t)
	source := func(file string) string {
		if !strings.Contains(file, "/") {
			file = "events/pglog/" + file
		}
		return filepath.Join(root, filepath.FromSlash(file))
	}
	texts := make(map[string]string)
	for _, rule := range rules {
		for _, e := range rule {
			if texts[e.file] == "" {
				content := must.Get(os.ReadFile(source(e.file)))(t)
				texts[e.file] = string(content)
			}
			if strings.Count(texts[e.file], e.old) != 1 {
				t.Fatalf("%s does not say %q once any more: say anew how the rule is taken away", e.file, e.old)
			}
			texts[e.file] = strings.Replace(texts[e.file], e.old, e.new, 1)
		}
	}
	var overlay struct{ Replace map[string]string }
	overlay.Replace = make(map[string]string)
	for file, text := range texts {
		changed := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		must.Do(t, os.WriteFile(changed, []byte(text), 0o644))
		overlay.Replace[source(file)] = changed
	}
	content := must.Get(json.Marshal(overlay))(t)
	list := filepath.Join(dir, "overlay.json")
	must.Do(t, os.WriteFile(list, content, 0o644))
	return []string{"-overlay", list}
}
