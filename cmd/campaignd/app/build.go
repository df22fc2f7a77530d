package app

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/policies"
)

// build identifies this program, as it is recorded with fits and decisions. Two
// builds that are equal compute the same bits.
//
// It is the condition under which an audit compares bit for bit; between unequal
// ones it compares to a tolerance.
type build struct{ events.Build }

// String names the program in a line: "v1.2.0 go1.26.8 amd64/v1, revision
// 1f2e3d4c5b6a".
func (b build) String() string { return view.Build(b.Build) }

// thisBuild is the build of this program. It is computed once, when it is first
// asked for, because it may have to read the program's file.
var thisBuild = sync.OnceValue(func() build {
	info := buildInfo()
	b := toolchain(info)
	b.Revision = revisionOf(info, hashOfProgram)
	b.Version = versionOf(info, b.Revision)
	return build{b}
})

// version is this program's version without the toolchain. It is for people and
// headers; records have the whole build.
func version() string { return thisBuild().Version }

// buildInfo is how this program was built; empty where the linker left that
// out.
func buildInfo() *debug.BuildInfo {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return &debug.BuildInfo{}
	}
	return info
}

// release is the release that this source is, or becomes: see CHANGELOG.md.
const release = "v0.3.0"

// versionOf is a program's version, unique to its source: the release where it
// was built from the release's tag, and otherwise the next release with the
// revision, as in "v0.3.0-dev+1f2e3d4c5b6a".
func versionOf(info *debug.BuildInfo, revision string) string {
	if _, version := moduleOf(policies.Module, info); version == release {
		return release
	}
	commit, hash, dirty := strings.Cut(revision, "+dirty.")
	version := release + "-dev+" + digits(commit)
	if dirty {
		version += ".dirty." + digits(hash)
	}
	return version
}

// digits are the first 12 characters of a revision's hash, without the name of
// the hash function. With them the version is a semantic one.
func digits(revision string) string {
	hash := revision[strings.IndexByte(revision, ':')+1:]
	allowed := func(r rune) rune {
		if r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' {
			return '-' // semantic versions allow no other characters
		}
		return r
	}
	return strings.Map(allowed, hash[:min(12, len(hash))])
}

// toolchain is the part of a build that is independent of the source: the
// compiler, and the architecture with its level.
func toolchain(info *debug.BuildInfo) events.Build {
	b := events.Build{Go: runtime.Version(), Arch: runtime.GOARCH}
	// The level decides which instructions the compiler may use, and so the
	// last bits of a result.
	levels := map[string]string{
		"amd64":   "GOAMD64",
		"arm64":   "GOARM64",
		"arm":     "GOARM",
		"386":     "GO386",
		"ppc64le": "GOPPC64",
		"riscv64": "GORISCV64",
	}
	for _, s := range info.Settings {
		if s.Key == levels[runtime.GOARCH] && s.Value != "" {
			b.Arch += "/" + s.Value
		}
	}
	return b
}

// revisionOf names the source that a program was built from: see
// [events.Build]. `go run` and -buildvcs=false leave the commit out, and a
// commit with changes may have any: there the program itself is hashed, so that
// two are the same only where they are.
func revisionOf(info *debug.BuildInfo, hash func() string) string {
	commit, _, modified := commitOf(info)
	switch {
	case commit != "" && !modified:
		return commit
	case commit != "":
		return commit + "+dirty." + hash()
	case info.Main.Sum != "": // go install MODULE@VERSION
		return info.Main.Sum
	}
	return hash()
}

// hashOfProgram is the SHA-256 of the running program: of its build ID, in which the linker keeps a
// hash of its whole output, or else of the file, which takes a fraction of a second. It is needed
// only where no commit is known or the checkout had changes.
func hashOfProgram() string {
	path := "/proc/self/exe" // the running program, also where its file was replaced since
	if _, err := os.Stat(path); err != nil {
		if path, err = os.Executable(); err != nil {
			return unknownProgram()
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return unknownProgram()
	}
	defer f.Close()
	head := make([]byte, headOfProgram)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return unknownProgram()
	}
	h := sha256.New()
	if id := buildID(head[:n]); id != nil {
		h.Write(id)
		return "sha256:" + hex.EncodeToString(h.Sum(nil))
	}
	h.Write(head[:n])
	if _, err := io.Copy(h, f); err != nil {
		return unknownProgram()
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// headOfProgram is how much of a program's file is searched for its build ID: the linker
// writes it at the beginning.
const headOfProgram = 64 << 10

// buildID finds the build ID that the linker wrote into a program (cmd/internal/buildid): an ELF
// note of type 4 named "Go", elsewhere a mark before the code. It is nil for a program without one,
// and for one without the hash of the program, which follows the last slash.
func buildID(head []byte) []byte {
	const note, mark, end = "\x04\x00\x00\x00Go\x00\x00", "\xff Go build ID: \"", "\"\n \xff"
	var id []byte
	if at := bytes.Index(head, []byte(note)); at >= 4 {
		begin := at + len(note)
		length := uint64(binary.NativeEndian.Uint32(head[at-4 : at]))
		if length <= uint64(len(head)-begin) {
			id = head[begin : begin+int(length)]
		}
	} else if _, rest, ok := bytes.Cut(head, []byte(mark)); ok {
		if text, _, ok := bytes.Cut(rest, []byte(end)); ok {
			id = text
		}
	}
	if slash := bytes.LastIndexByte(id, '/'); slash < 0 || len(id)-slash < 16 {
		return nil
	}
	return id
}

// unknownProgram is a revision that equals no other, so that a program that
// cannot be read is never taken for the same as another.
func unknownProgram() string { return "unknown:" + rand.Text() }

// commitOf is the commit a program was built from, where it is known. The
// toolchain notes it where the program is built inside of a checkout, and not
// with `go run` or -buildvcs=false.
func commitOf(info *debug.BuildInfo) (commit, at string, modified bool) {
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

// revision is the commit this program was built from, where it is known.
// `campaignd version` shows it apart from the revision that is recorded, which
// may be a hash of the program.
func revision() (commit, at string, modified bool) {
	return commitOf(buildInfo())
}
