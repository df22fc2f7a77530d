package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// mostMemory is the address space, in KiB, that a test may take: a mutant that
// allocates without end fails instead of taking the machine.
const mostMemory = 8 << 20

// outcome is how the run of a test binary ended.
type outcome int

const (
	passed outcome = iota
	failed
	timedOut
)

// binary is a compiled test binary.
type binary struct {
	file string
	suite
}

// suite is a package whose tests defend the mutated ones. It is compared by
// value, and is a key.
type suite struct {
	path   string // import path
	folder string // from the module's root, with slashes
	rapid  bool   // its tests draw with rapid
}

// workshop is where test binaries are built and run. They run in a copy of the
// tree: a mutant may write where the program would not.
type workshop struct {
	root  string        // of the module
	copy  string        // of the module's files
	dir   string        // of temporary files
	cache string        // of recordings
	floor time.Duration // the least time that tests have with a mutant
	// patience is the recorded time of the tests that are asked about a mutant;
	// 0 asks all that reach it.
	patience time.Duration
	seed     uint64 // of tests that draw
	long     bool   // tests run in full
}

// build compiles a package's tests with an overlay. Vet is off: it would refuse
// some mutants.
func (w *workshop) build(ctx context.Context, s suite, overlay, to string) (*binary, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off",
		"-overlay", overlay, "-o", to, s.path)
	cmd.Dir = w.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go test -c %s: %w\n%s", s.path, err, out)
	}
	return &binary{file: to, suite: s}, nil
}

// run executes some tests of a binary in the copy of their package's folder.
// The mark goes at the end of PATH; the overlay is that of programs that the
// tests build.
//
// A failure by a signal or by running out of memory counts as failed, as a
// failing test does. Only what is not the test's doing is an error: the binary
// cannot be started, or the context has ended.
func (w *workshop) run(
	ctx context.Context, b *binary, mark, overlay string, limit time.Duration, args ...string,
) (outcome, string, error) {
	tmp, err := shortDir()
	if err != nil {
		return failed, "", err
	}
	defer removeAll(tmp)
	args = append(args, "-test.timeout", limit.String())
	if !w.long {
		args = append(args, "-test.short")
	}
	if b.rapid {
		// The same draws each time, and no file for a failure.
		args = append(args, "-rapid.nofailfile", fmt.Sprintf("-rapid.seed=%d", w.seed+1))
	}
	// The binary itself ends at the limit and says where it was; it is killed
	// where it cannot.
	const grace = 5 * time.Second
	bounded, cancel := context.WithTimeout(ctx, limit+grace)
	defer cancel()
	cmd := bound(bounded, b.file, args)
	cmd.Dir = filepath.Join(w.copy, b.folder)
	cmd.Env = append(os.Environ(),
		"PATH="+os.Getenv("PATH")+string(filepath.ListSeparator)+mark,
		"GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay),
		"TMPDIR="+tmp)
	cmd.WaitDelay = grace
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if ctx.Err() != nil {
		return failed, "", ctx.Err()
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return passed, out.String(), nil
	case bounded.Err() != nil, strings.Contains(out.String(), "panic: test timed out"):
		return timedOut, out.String(), nil
	case errors.As(err, &exit), errors.Is(err, exec.ErrWaitDelay):
		return failed, out.String(), nil
	}
	return failed, "", err
}

// shortDir makes a temporary folder for the files of a test. Its path is short:
// tests make sockets below it, whose paths are bounded to about 100 bytes. It is open to all,
// as the usual one is: a database that a test starts runs under another account, and removes
// its own folder. Mkdir decides which of several processes gets a name.
func shortDir() (string, error) {
	for i := 0; ; i++ {
		dir := filepath.Join(os.TempDir(), "m"+strconv.Itoa(i))
		err := os.Mkdir(dir, 0o700)
		if err == nil {
			err = os.Chmod(dir, 0o777|fs.ModeSticky)
		}
		if !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
	}
}

// removeAll removes a folder, of which a test may have made parts read-only.
func removeAll(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}

// copyTree copies the files of a module without its history. Links and other
// special files are left out.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.Name() == ".git" && d.IsDir():
			return fs.SkipDir
		case d.Name() == ".git": // of a work tree: the name of where its history is
			return nil
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o777)
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, info.Mode().Perm())
	})
}
