package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/campaignd/campaignd/events"
)

// build identifies this program, as it is recorded with fits and decisions.
type build struct{ events.Build }

func (b build) String() string { return fmt.Sprintf("%s %s %s", b.Version, b.Go, b.Arch) }

func thisBuild() build {
	b := events.Build{Version: "devel", Go: runtime.Version(), Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build{b}
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	// The level decides which instructions the compiler may use, and so the
	// last bits of a result.
	levels := map[string]string{"amd64": "GOAMD64", "arm64": "GOARM64", "arm": "GOARM", "386": "GO386", "ppc64le": "GOPPC64", "riscv64": "GORISCV64"}
	for _, s := range info.Settings {
		if s.Key == levels[runtime.GOARCH] && s.Value != "" {
			b.Arch += "/" + s.Value
		}
	}
	return build{b}
}

// revision is the commit the program was built from, where it is known.
func revision() (commit, at string, modified bool) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", "", false
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.time":
			at = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	return commit, at, modified
}
