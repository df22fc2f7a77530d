// Package architecture holds the tests of docs/architecture.md: imports point
// one way, and the map names every package there is.
package architecture

import (
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

const (
	root   = "../../.."
	module = "github.com/campaignd/campaignd/"
)

// may lists, for each folder, the folders of ours its packages may import;
// their own folder is always allowed. The first rule whose folder is a prefix
// of a package's applies.
var may = []struct {
	folder string
	may    []string
}{
	{"internal/num", nil},
	{"examples", nil},
	{"docs", nil},
	{"internal/web/manual", []string{"docs"}},
	{"internal/ground/units", nil},
	{"internal/num/formula", []string{"internal/num", "internal/ground/units"}},
	{"internal/ground/computed", []string{"events", "internal/num/formula", "internal/num/composite", "internal/num/jet"}},
	{"internal/ground/plaintext", nil},
	{"internal/ground/markup", nil},
	{"internal/ground/clock", nil},
	{"internal/ground/input", nil},
	{"internal/ground/format", []string{"events"}},
	{"internal/view/plot", nil},
	{"internal/view/figure", []string{"events/definition", "internal/ground/format", "internal/view/plot"}},
	{"internal/files/yamltree", []string{"events/definition", "internal/ground/format", "internal/ground/input", "internal/ground/plaintext"}},
	{"adapters/console", []string{"events", "internal/ground/format", "internal/ground/plaintext"}},
	{"internal/study/tasks", []string{"events", "internal/num", "internal/ground/format", "internal/ground/units", "projections/space"}},
	{"projections/space", []string{"events", "internal/ground/computed", "internal/ground/format", "internal/num"}},
	{"internal/files/yamledit", []string{"internal/files/yamltree"}},
	{"adapters/notifications", []string{"internal/ground/relay."}},
	{"internal/files/labfile", []string{"adapters/notifications.", "events", "internal/ground/input", "internal/files/registry", "internal/files/yamltree"}},
	{"internal/lab/notify", []string{"internal/engine.", "internal/lab/lablog", "internal/lab/stocks", "adapters/notifications.", "internal/ground/clock", "events", "internal/ground/computed", "internal/ground/format", "internal/files/labfile", "internal/ground/plaintext", "internal/view", "projections/campaign.", "projections/space."}},
	{"internal/ground/relay", nil},
	{"internal/lab/forward", []string{"internal/ground/clock", "events", "internal/files/labfile", "internal/ground/plaintext", "internal/ground/relay."}},
	{"internal/files/campaignfile", []string{"events", "internal/ground/computed", "internal/ground/format", "internal/num/formula", "internal/ground/input", "internal/files/labfile", "internal/num", "internal/ground/plaintext", "projections/space", "internal/study/tasks", "internal/ground/units", "internal/files/registry", "policies.", "policies/next.", "projections/belief.", "internal/files/yamltree", "schemas"}},
	{"internal/files/exchange", []string{"internal/view.", "events", "projections/campaign.", "adapters/humans.", "internal/engine", "internal/ground/format", "internal/ground/input", "internal/ground/problem", "internal/files/registry", "internal/ground/units"}},
	{"internal/files/guess", []string{"internal/files/exchange", "internal/ground/format", "internal/ground/plaintext", "internal/ground/problem", "internal/ground/units", "projections/space."}},
	{"internal/files/bundle", []string{"events", "internal/ground/units", "internal/files/exchange", "internal/ground/wholefile", "projections/campaign."}},
	{"internal/files/registry", []string{"events", "policies.", "adapters/instruments.", "adapters/humans.", "adapters/methods.", "adapters/notifications."}},
	{"internal/files/builtin", []string{"internal/files/registry", "policies", "adapters", "adapters/notifications"}},
	{"internal/ground/telemetry", []string{"events"}},
	{"internal/ground/lock", nil},
	{"internal/lab/devices", []string{"internal/ground/clock", "events", "internal/engine.", "internal/lab/lablog", "internal/ground/lock", "internal/ground/problem"}},
	{"internal/lab/stocks", []string{"internal/ground/clock", "events", "internal/engine.", "internal/ground/computed", "internal/ground/format", "internal/ground/problem", "internal/lab/lablog", "projections/campaign."}},
	{"internal/ground/wholefile", nil},
	{"internal/ground/guardfs", nil},
	{"internal/lab/accounts", []string{"internal/ground/clock", "events", "internal/ground/input", "internal/lab/lablog", "internal/ground/problem"}},
	{"internal/lab/lablog", []string{"internal/ground/clock", "events", "internal/ground/problem"}},
	{"internal/lab/board", []string{"events", "internal/lab/lablog", "internal/ground/problem"}},
	{"internal/lab/equip", []string{"internal/engine/drive", "internal/ground/clock", "events", "projections/campaign.", "projections/space.", "adapters/console.", "adapters/instruments.", "adapters/humans.", "internal/files/campaignfile", "internal/lab/devices", "internal/engine", "internal/files/labfile", "internal/ground/lock", "internal/ground/problem", "internal/files/registry", "adapters/methods."}},
	{"internal/ground/problem", []string{"events"}},
	{"internal/engine/shown", []string{"events", "projections/campaign."}},
	{"events", []string{"internal/ground/clock", "internal/ground/guardfs"}},
	{"schemas", []string{"events"}},
	{"projections", []string{"events", "internal/ground/computed", "internal/num/formula", "internal/num", "projections/space"}},
	{"policies/seek", []string{"projections/space", "events", "projections", "internal/ground/computed", "internal/num/formula", "internal/num"}},
	{"policies", []string{"policies/seek", "events", "projections", "internal/ground/computed", "internal/num", "projections/space", "internal/ground/format"}},
	{"adapters/instruments/sdk", []string{"events", "adapters", "internal/ground/clock"}},
	{"adapters", []string{"events", "internal/ground/computed", "internal/ground/format", "adapters/console", "internal/ground/input", "internal/num", "internal/study/tasks", "internal/ground/plaintext", "internal/ground/units", "internal/ground/wholefile"}},
	// The engine knows the adapters' contracts, never an adapter.
	{"internal/engine/drive", []string{"internal/ground/clock", "internal/ground/computed", "events", "projections/campaign.", "internal/engine.", "internal/ground/problem", "internal/files/registry", "adapters/instruments.", "adapters/humans.", "adapters/methods."}},
	{"internal/engine", []string{"policies/seek", "events", "internal/ground/computed", "projections", "policies", "projections/space", "internal/files/campaignfile", "internal/ground/format", "internal/ground/problem", "internal/files/registry", "adapters/instruments.", "adapters/humans.", "internal/ground/plaintext", "internal/engine/shown", "adapters/methods."}},
	{"internal/engine/control", []string{"events", "internal/engine", "internal/ground/plaintext", "internal/ground/problem"}},
	{"internal/view/diagnose", []string{"policies/seek", "events", "projections", "policies", "internal/ground/computed", "internal/engine", "internal/ground/problem", "projections/space", "internal/num"}},
	{"internal/view", []string{"policies/seek", "events", "projections", "policies", "adapters/console.", "adapters/humans.", "adapters/instruments.", "internal/files/campaignfile", "internal/ground/computed", "internal/view/diagnose", "internal/engine", "internal/ground/format", "internal/num", "internal/ground/plaintext", "internal/ground/problem", "internal/files/registry", "projections/space"}},
	{"internal/view/report", []string{"policies/seek", "events", "internal/view/figure", "internal/ground/format", "internal/num/formula", "projections", "policies", "internal/engine", "internal/view/diagnose", "internal/view", "internal/ground/markup", "internal/ground/plaintext", "internal/ground/problem", "internal/files/registry", "projections/space", "internal/num", "adapters/instruments.", "adapters/humans.", "internal/view/plot"}},
	{"internal/attest/decisions", []string{"events", "projections", "policies.", "internal/engine.", "internal/files/registry", "adapters/instruments.", "internal/engine/shown", "adapters/methods."}},
	{"internal/attest", []string{"internal/attest/decisions", "internal/lab/devices", "internal/lab/stocks", "events", "internal/files/campaignfile", "internal/engine/control", "internal/engine", "internal/ground/problem", "internal/files/registry", "internal/view", "internal/files/yamltree"}},
	{"internal/lab", []string{"internal/engine/drive", "internal/ground/clock", "events", "projections/campaign.", "adapters/console.", "adapters/humans.", "adapters/instruments.", "internal/lab/board", "internal/files/campaignfile", "internal/engine/control", "internal/lab/devices", "internal/lab/stocks", "internal/view/diagnose", "internal/engine", "internal/lab/equip", "internal/ground/format", "internal/files/labfile", "internal/lab/lablog", "internal/ground/lock", "internal/ground/plaintext", "internal/ground/problem", "internal/files/registry", "internal/ground/telemetry", "internal/view", "internal/lab/whatif", "internal/ground/wholefile"}},
	{"internal/lab/whatif", []string{"internal/engine/drive", "internal/ground/clock", "events", "policies.", "projections/campaign.", "projections/quantity.", "policies/seek.", "projections/space.", "adapters/humans.", "adapters/humans/simulated.", "adapters/instruments.", "adapters/instruments/simulated.", "internal/lab/board", "internal/files/campaignfile", "internal/engine", "internal/ground/format", "internal/num/formula", "internal/lab/equip", "internal/ground/plaintext", "internal/ground/problem", "internal/files/registry", "internal/study/pace.", "internal/view"}},
	{"internal/web/server/problems", []string{"internal/lab/accounts", "internal/files/campaignfile", "internal/engine/control", "internal/files/exchange", "internal/ground/problem", "internal/files/yamltree"}},
	{"internal/web/server/send", []string{"events", "internal/engine/control", "projections/campaign."}},
	{"internal/web/server/gate", []string{"internal/lab/accounts", "internal/ground/problem", "internal/web/server/problems"}},
	{"internal/lab/doctor", []string{"events", "internal/ground/format", "internal/lab", "internal/lab/stocks", "internal/view.", "projections/campaign.", "internal/files/labfile", "internal/lab/lablog", "internal/ground/lock", "internal/files/registry", "internal/ground/relay."}},
	{"internal/web/server/api", []string{"internal/ground/clock", "events", "internal/web/server/send", "schemas", "internal/lab/whatif", "projections/campaign.", "adapters/humans.", "internal/lab/accounts", "internal/attest", "internal/lab/board", "internal/files/campaignfile", "internal/view/diagnose", "internal/files/exchange", "internal/engine/control", "internal/engine", "internal/lab/forward", "internal/lab", "internal/lab/stocks", "internal/ground/problem", "internal/files/registry", "internal/view/report", "internal/web/server/gate", "internal/web/server/problems", "internal/view"}},
	{"internal/web/console", []string{"internal/ground/clock", "events", "policies/seek.", "internal/web/server/send", "internal/lab/accounts", "internal/lab/notify", "internal/web/server/gate", "internal/web/server/problems", "internal/attest", "internal/lab/whatif", "projections/campaign.", "projections/space.", "adapters/humans.", "internal/files/campaignfile", "internal/ground/computed", "internal/engine/control", "internal/engine", "internal/view/figure", "internal/ground/format", "internal/ground/input", "internal/lab", "internal/lab/lablog", "internal/lab/stocks", "internal/ground/markup", "internal/ground/plaintext", "internal/ground/problem", "internal/view/report", "internal/files/exchange", "internal/view", "internal/ground/wholefile", "internal/files/yamledit", "internal/files/yamltree", "internal/view/plot", "examples.", "internal/files/guess", "internal/web/manual", "internal/ground/units"}},
	{"internal/web/server", []string{"internal/web/server/api", "internal/web/server/gate", "internal/web/server/problems", "events/definition", "internal/lab/accounts", "internal/web/console", "internal/ground/format", "internal/lab/forward", "internal/lab", "internal/lab/notify", "internal/ground/problem", "internal/lab/whatif"}},
	{"internal/study", []string{""}},
	{"internal/tests/pgtest", nil},
	{"internal/tests/forgery", []string{"events"}},
	{"internal/tests/testinstrument", []string{"adapters/instruments/sdk", "events", "adapters", "internal/ground/clock"}},
	{"internal/tests/chaos", []string{""}},
	{"internal/tests/draws", nil},
	{"internal/tests/built", nil},
	{"internal/tests/must", nil},
	{"internal/tests/killtest", []string{""}},
	{"internal/tests/bridges", []string{""}},
	{"internal/tests/faults", []string{""}},
	{"cmd", []string{""}},
}

// Law: imports point one way (test files excepted: a test may stand on the
// whole program).
func TestImportsPointOneWay(t *testing.T) {
	for folder, imports := range packages(t) {
		rule := row(folder)
		if rule < 0 {
			t.Errorf("%s is in no layer: add it to the table and to docs/packages.md", folder)
			continue
		}
		for _, imported := range imports {
			if row(imported) != rule && !slices.ContainsFunc(may[rule].may, func(allowed string) bool { return covers(allowed, imported) }) {
				t.Errorf("%s imports %s, which %s may not", folder, imported, may[rule].folder)
			}
		}
	}
}

// row is that of a folder: of the rows of the folders that it lies in, the innermost; -1 without one.
func row(folder string) int {
	innermost := -1
	for i, r := range may {
		if within(folder, r.folder) && (innermost < 0 || len(r.folder) > len(may[innermost].folder)) {
			innermost = i
		}
	}
	return innermost
}

func within(folder, outer string) bool {
	return folder == outer || strings.HasPrefix(folder, outer+"/")
}

// covers reports whether a table entry allows an import: a folder with all
// below it that has no row of its own, a single package where it ends in a dot, everything where empty.
func covers(allowed, imported string) bool {
	if single, ok := strings.CutSuffix(allowed, "."); ok {
		return imported == single
	}
	return allowed == "" || within(imported, allowed) && row(imported) == row(allowed)
}

// Law: docs/packages.md names every package, or the folder of its kind: `policies/*`
// stands for a package for each family.
func TestMapIsComplete(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join(root, "docs", "packages.md")))(t)
	for folder := range packages(t) {
		kind := path.Dir(folder) + "/*"
		if !strings.Contains(string(text), "`"+folder+"`") && !strings.Contains(string(text), "`"+kind+"`") {
			t.Errorf("docs/packages.md does not name `%s`", folder)
		}
	}
}

// packages returns the imports of ours of each folder that holds Go files of the main module.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	found := make(map[string][]string)
	for _, name := range goFiles(t, false) {
		folder := path.Dir(name)
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		found[folder] = append(found[folder], nil...)
		for _, spec := range file.Imports {
			imported := must.Get(strconv.Unquote(spec.Path.Value))(t)
			if ours, ok := strings.CutPrefix(imported, module); ok && !slices.Contains(found[folder], ours) {
				found[folder] = append(found[folder], ours)
			}
		}
	}
	return found
}

// Law: a test package that draws cases draws the same ones in each run, unless it is given another seed.
func TestDrawsAreFixed(t *testing.T) {
	draws, fixed := make(map[string]bool), make(map[string]bool)
	for _, name := range goFiles(t, true) {
		text := must.Get(os.ReadFile(filepath.Join(root, name)))(t)
		dir := path.Dir(name)
		draws[dir] = draws[dir] || strings.Contains(string(text), `"pgregory.net/rapid"`)
		fixed[dir] = fixed[dir] || strings.Contains(string(text), "internal/tests/draws\"\n")
	}
	for dir, draws := range draws {
		if draws && !fixed[dir] && !strings.HasSuffix(dir, "architecture") {
			t.Errorf("%s draws and does not import internal/tests/draws", dir)
		}
	}
}
