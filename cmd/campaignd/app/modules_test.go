package app

import (
	"runtime/debug"
	"testing"

	"github.com/campaignd/campaignd/policies/unaided"
)

// Law: the module of a family is the one that its package belongs to, the longest that its
// path begins with, at the version that the program was built with: of a replacement where
// there is one, none where it is not known.
func TestModules(t *testing.T) {
	info := &debug.BuildInfo{
		Main: debug.Module{Path: "example.org/lab", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "example.org/lab/methods", Version: "v1.2.0"},
			{Path: "github.com/campaignd/campaignd", Version: "v0.3.0", Replace: &debug.Module{Path: "example.org/fork", Version: "v0.3.1"}},
		},
	}
	for pkg, want := range map[string][2]string{
		"main":                           {"example.org/lab", ""},
		"example.org/lab/climb":          {"example.org/lab", ""},
		"example.org/lab/methods":        {"example.org/lab/methods", "v1.2.0"},
		"example.org/lab/methods/nearer": {"example.org/lab/methods", "v1.2.0"},
		"example.org/laboratory":         {"example.org/laboratory", ""},
		packageOf(unaided.Family.New):    {"github.com/campaignd/campaignd", "v0.3.1"},
		packageOf(func() {}):             {"github.com/campaignd/campaignd", "v0.3.1"},
	} {
		if path, version := moduleOf(pkg, info); path != want[0] || version != want[1] {
			t.Errorf("%s is of %s %q, want %s %q", pkg, path, version, want[0], want[1])
		}
	}
}
