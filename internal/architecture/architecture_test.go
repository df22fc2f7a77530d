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
)

const (
	root   = "../.."
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
	{"internal/manual", []string{"docs"}},
	{"internal/units", nil},
	{"internal/formula", []string{"internal/num", "internal/units"}},
	{"internal/computed", []string{"events", "internal/formula", "internal/num/composite", "internal/num/jet"}},
	{"internal/plaintext", nil},
	{"internal/markup", nil},
	{"internal/clock", nil},
	{"internal/input", nil},
	{"internal/format", []string{"events"}},
	{"internal/plot", nil},
	{"internal/figure", []string{"events/definition", "internal/format", "internal/plot"}},
	{"internal/yamltree", []string{"events/definition", "internal/format", "internal/input", "internal/plaintext"}},
	{"adapters/console", []string{"events", "internal/format", "internal/plaintext"}},
	{"internal/tasks", []string{"events", "internal/num", "internal/format", "internal/units", "projections/space"}},
	{"projections/space", []string{"events", "internal/computed", "internal/format", "internal/num"}},
	{"internal/yamledit", []string{"internal/yamltree"}},
	{"internal/labfile", []string{"events", "internal/input", "internal/registry", "internal/yamltree"}},
	{"internal/notify", []string{"internal/clock", "events", "internal/computed", "internal/format", "internal/labfile", "internal/plaintext", "internal/relay.", "internal/view", "projections/campaign.", "projections/space."}},
	{"internal/relay", nil},
	{"internal/forward", []string{"internal/clock", "events", "internal/labfile", "internal/plaintext", "internal/relay."}},
	{"internal/campaignfile", []string{"events", "internal/computed", "internal/format", "internal/formula", "internal/input", "internal/labfile", "internal/num", "internal/plaintext", "projections/space", "internal/tasks", "internal/units", "internal/registry", "policies.", "policies/next.", "projections/belief.", "internal/yamltree", "schemas"}},
	{"internal/exchange", []string{"events", "projections/campaign.", "adapters/humans.", "internal/engine", "internal/format", "internal/input", "internal/problem", "internal/registry", "internal/units"}},
	{"internal/guess", []string{"internal/exchange", "internal/format", "internal/plaintext", "internal/problem", "internal/units", "projections/space."}},
	{"internal/bundle", []string{"events", "internal/units", "internal/exchange", "internal/wholefile", "projections/campaign."}},
	{"internal/registry", []string{"events", "policies.", "adapters/instruments.", "adapters/humans.", "adapters/methods."}},
	{"internal/builtin", []string{"internal/registry", "policies", "adapters"}},
	{"internal/telemetry", []string{"events"}},
	{"internal/lock", nil},
	{"internal/devices", []string{"internal/clock", "events", "internal/engine.", "internal/lablog", "internal/lock"}},
	{"internal/wholefile", nil},
	{"internal/guardfs", nil},
	{"internal/accounts", []string{"internal/clock", "events", "internal/input", "internal/lablog", "internal/problem"}},
	{"internal/lablog", []string{"internal/clock", "events", "internal/problem"}},
	{"internal/board", []string{"events", "internal/lablog", "internal/problem"}},
	{"internal/equip", []string{"internal/clock", "events", "projections/campaign.", "projections/space.", "adapters/console.", "adapters/instruments.", "adapters/humans.", "internal/campaignfile", "internal/devices", "internal/engine", "internal/labfile", "internal/lock", "internal/problem", "internal/registry", "adapters/methods."}},
	{"internal/problem", []string{"events"}},
	{"internal/shown", []string{"events", "projections/campaign."}},
	{"events", []string{"internal/clock", "internal/guardfs"}},
	{"schemas", []string{"events"}},
	{"projections", []string{"events", "internal/computed", "internal/formula", "internal/num", "projections/space"}},
	{"policies/seek", []string{"events", "projections", "internal/computed", "internal/formula", "internal/num"}},
	{"policies", []string{"events", "projections", "internal/computed", "internal/num", "projections/space", "internal/format"}},
	{"adapters/instruments/sdk", []string{"events", "adapters", "internal/clock"}},
	{"adapters", []string{"events", "internal/computed", "internal/format", "adapters/console", "internal/input", "internal/num", "internal/tasks", "internal/plaintext", "internal/units"}},
	// The engine knows the adapters' contracts, never an adapter.
	{"internal/engine/drive", []string{"internal/clock", "events", "projections/campaign.", "internal/engine.", "internal/problem", "internal/registry", "adapters/instruments.", "adapters/humans.", "adapters/methods."}},
	{"internal/engine", []string{"events", "projections", "policies", "projections/space", "internal/campaignfile", "internal/format", "internal/problem", "internal/registry", "adapters/instruments.", "adapters/humans.", "internal/plaintext", "internal/shown", "adapters/methods."}},
	{"internal/control", []string{"events", "internal/engine", "internal/plaintext", "internal/problem"}},
	{"internal/diagnose", []string{"events", "projections", "policies", "internal/computed", "internal/engine", "internal/problem", "projections/space", "internal/num"}},
	{"internal/view", []string{"events", "projections", "policies", "adapters/console.", "adapters/humans.", "adapters/instruments.", "internal/campaignfile", "internal/computed", "internal/diagnose", "internal/engine", "internal/format", "internal/num", "internal/plaintext", "internal/problem", "internal/registry", "projections/space"}},
	{"internal/report", []string{"events", "internal/figure", "internal/format", "internal/formula", "projections", "policies", "internal/engine", "internal/diagnose", "internal/view", "internal/markup", "internal/plaintext", "internal/problem", "internal/registry", "projections/space", "internal/num", "adapters/instruments.", "adapters/humans.", "internal/plot"}},
	{"internal/attest/decisions", []string{"events", "projections", "policies.", "internal/engine.", "internal/registry", "adapters/instruments.", "internal/shown", "adapters/methods."}},
	{"internal/attest", []string{"events", "internal/campaignfile", "internal/control", "internal/engine", "internal/problem", "internal/registry", "internal/view", "internal/yamltree"}},
	{"internal/lab", []string{"internal/clock", "events", "projections/campaign.", "adapters/console.", "adapters/humans.", "adapters/instruments.", "internal/board", "internal/campaignfile", "internal/control", "internal/devices", "internal/diagnose", "internal/engine", "internal/equip", "internal/format", "internal/labfile", "internal/lablog", "internal/lock", "internal/plaintext", "internal/problem", "internal/registry", "internal/telemetry", "internal/view", "internal/whatif", "internal/wholefile"}},
	{"internal/whatif", []string{"internal/clock", "events", "policies.", "projections/campaign.", "projections/quantity.", "policies/seek.", "projections/space.", "adapters/humans.", "adapters/humans/simulated.", "adapters/instruments.", "adapters/instruments/simulated.", "internal/board", "internal/campaignfile", "internal/engine", "internal/format", "internal/formula", "internal/equip", "internal/plaintext", "internal/problem", "internal/registry", "internal/study/pace.", "internal/view"}},
	{"internal/server/problems", []string{"internal/accounts", "internal/campaignfile", "internal/control", "internal/exchange", "internal/problem", "internal/yamltree"}},
	{"internal/server/send", []string{"events", "internal/control", "projections/campaign."}},
	{"internal/server/gate", []string{"internal/accounts", "internal/problem", "internal/server/problems"}},
	{"internal/doctor", []string{"events", "internal/format", "internal/lab", "internal/labfile", "internal/lablog", "internal/lock", "internal/registry", "internal/relay."}},
	{"internal/server/api", []string{"internal/clock", "events", "internal/server/send", "schemas", "internal/whatif", "projections/campaign.", "adapters/humans.", "internal/accounts", "internal/attest", "internal/board", "internal/campaignfile", "internal/diagnose", "internal/exchange", "internal/control", "internal/engine", "internal/forward", "internal/lab", "internal/problem", "internal/registry", "internal/report", "internal/server/gate", "internal/server/problems", "internal/view"}},
	{"internal/console", []string{"internal/clock", "events", "policies/seek.", "internal/server/send", "internal/accounts", "internal/notify", "internal/server/gate", "internal/server/problems", "internal/attest", "internal/whatif", "projections/campaign.", "projections/space.", "adapters/humans.", "internal/campaignfile", "internal/computed", "internal/control", "internal/engine", "internal/figure", "internal/format", "internal/input", "internal/lab", "internal/lablog", "internal/markup", "internal/plaintext", "internal/problem", "internal/report", "internal/exchange", "internal/view", "internal/wholefile", "internal/yamledit", "internal/yamltree", "internal/plot", "examples.", "internal/guess", "internal/manual", "internal/units"}},
	{"internal/server", []string{"events/definition", "internal/accounts", "internal/console", "internal/format", "internal/forward", "internal/lab", "internal/notify", "internal/problem", "internal/whatif"}},
	{"internal/study", []string{""}},
	{"internal/pgtest", nil},
	{"internal/forgery", []string{"events"}},
	{"internal/testinstrument", []string{"events", "adapters", "internal/clock"}},
	{"internal/chaos", []string{""}},
	{"internal/draws", nil},
	{"internal/killtest", []string{""}},
	{"internal/faults", []string{""}},
	{"cmd", []string{""}},
}

// Law: imports point one way (test files excepted: a test may stand on the
// whole program).
func TestImportsPointOneWay(t *testing.T) {
	for folder, imports := range packages(t) {
		rule := slices.IndexFunc(may, func(r struct {
			folder string
			may    []string
		}) bool {
			return folder == r.folder || strings.HasPrefix(folder, r.folder+"/")
		})
		if rule < 0 {
			t.Errorf("%s is in no layer: add it to the table and to docs/packages.md", folder)
			continue
		}
		for _, imported := range imports {
			own := imported == may[rule].folder || strings.HasPrefix(imported, may[rule].folder+"/")
			if !own && !slices.ContainsFunc(may[rule].may, func(allowed string) bool { return covers(allowed, imported) }) {
				t.Errorf("%s imports %s, which %s may not", folder, imported, may[rule].folder)
			}
		}
	}
}

// covers reports whether a table entry allows an import: a folder with all
// below it, a single package where it ends in a dot, everything where empty.
func covers(allowed, imported string) bool {
	if single, ok := strings.CutSuffix(allowed, "."); ok {
		return imported == single
	}
	return allowed == "" || imported == allowed || strings.HasPrefix(imported, allowed+"/")
}

// Law: docs/packages.md names every package, or the folder of its kind: `policies/*`
// stands for a package for each family.
func TestMapIsComplete(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "packages.md"))
	if err != nil {
		t.Fatal(err)
	}
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
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
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
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		dir := path.Dir(name)
		draws[dir] = draws[dir] || strings.Contains(string(text), `"pgregory.net/rapid"`)
		fixed[dir] = fixed[dir] || strings.Contains(string(text), "internal/draws\"\n")
	}
	for dir, draws := range draws {
		if draws && !fixed[dir] && !strings.HasSuffix(dir, "architecture") {
			t.Errorf("%s draws and does not import internal/draws", dir)
		}
	}
}
