package app

import (
	"runtime/debug"
	"testing"

	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/policies"
)

// Law: two programs are the same build only where they were made from the same
// source: by the commit, by the module's checksum, and where neither says it by
// what the program is.
func TestRevision(t *testing.T) {
	info := func(sum string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Sum: sum}, Settings: settings}
	}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "1f2e3d4c5b6a79880716253443526170ffeeddcc"}
	clean, dirty := debug.BuildSetting{Key: "vcs.modified", Value: "false"}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	hash := func() string { return "sha256:00112233445566778899aabbccddeeff" }
	for _, c := range []struct {
		name           string
		info           *debug.BuildInfo
		whole, printed string
	}{
		{"built from a commit", info("", commit, clean), commit.Value, "1f2e3d4c5b6a"},
		{"built from a changed commit", info("", commit, dirty), commit.Value + "+dirty.sha256:00112233445566778899aabbccddeeff", "1f2e3d4c5b6a with changes, sha256:001122334455"},
		{"installed", info("h1:abc="), "h1:abc=", "h1:abc="},
		{"go run", info(""), "sha256:00112233445566778899aabbccddeeff", "sha256:001122334455"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b build
			if b.Revision = revisionOf(c.info, hash); b.Revision != c.whole || view.Revision(b.Revision) != c.printed {
				t.Errorf("it is %q, printed %q", b.Revision, view.Revision(b.Revision))
			}
		})
	}
	if a, b := hashOfProgram(), hashOfProgram(); a != b || len(a) != len("sha256:")+64 {
		t.Errorf("this program is %q, then %q", a, b)
	}
}

// Law: a version is that of one source. Only what was built from a release's tag calls itself
// the release; all else says which commit or program it is.
func TestVersion(t *testing.T) {
	built := func(path, version string, deps ...*debug.Module) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: path, Version: version}, Deps: deps}
	}
	const commit, hash = "1f2e3d4c5b6a79880716253443526170ffeeddcc", "sha256:00112233445566778899aabbccddeeff"
	ours := policies.Module
	for _, c := range []struct {
		name     string
		info     *debug.BuildInfo
		revision string
		want     string
	}{
		{"from the tag", built(ours, release), commit, release},
		{"from a commit", built(ours, "v0.2.1-0.20261123011510-1f2e3d4c5b6a"), commit, release + "-dev+1f2e3d4c5b6a"},
		{"from a changed commit", built(ours, "(devel)"), commit + "+dirty." + hash, release + "-dev+1f2e3d4c5b6a.dirty.001122334455"},
		{"from a changed tag", built(ours, release+"+dirty"), commit + "+dirty." + hash, release + "-dev+1f2e3d4c5b6a.dirty.001122334455"},
		{"by go run", built(ours, "(devel)"), hash, release + "-dev+001122334455"},
		{"by go install of a commit", built(ours, "v0.2.1-0.2026"), "h1:a/b+c=", release + "-dev+a-b-c-"},
		{"a laboratory's own, with the release", built("example.org/lab", "(devel)", &debug.Module{Path: ours, Version: release}), hash, release},
		{"a laboratory's own, with a copy", built("example.org/lab", release, &debug.Module{Path: ours, Version: release, Replace: &debug.Module{Path: "../.."}}), hash, release + "-dev+001122334455"},
	} {
		if got := versionOf(c.info, c.revision); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
