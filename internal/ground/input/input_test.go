//go:build unix

package input_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/ground/input"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: a path in a file or on the command line costs bounded time and memory, whatever it
// leads to, and what is not read is named with the reason.
func TestBounds(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, n := range map[string]int{"empty": 0, "full": 10, "over": 11} {
		must.Do(t, os.WriteFile(path(name), []byte(strings.Repeat("x", n)), 0o600))
	}
	must.Do(t, os.Symlink(path("full"), path("link")))
	must.Do(t, syscall.Mkfifo(path("pipe"), 0o600))
	for _, c := range []struct {
		path, problem string
	}{
		{path("empty"), ""}, {path("full"), ""}, {path("link"), ""},
		{path("over"), "is larger than the 10 bytes that are read"},
		{dir, "is a folder, not a file"},
		{path("pipe"), "is not a regular file"},
		{"/dev/zero", "is not a regular file"},
		{"/dev/tty", "is not a regular file"},
	} {
		began := time.Now()
		data, err := input.Read(c.path, 10)
		var refused *input.Error
		switch {
		case c.problem == "" && err != nil, c.problem != "" &&
			(!errors.As(err, &refused) || !strings.HasSuffix(err.Error(), c.problem)):
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %d bytes, %v, want %q", c.path, len(data), err, c.problem)
			}
		}
		if time.Since(began) > 5*time.Second {
			t.Errorf("%s took %v", c.path, time.Since(began))
		}
	}
	if _, err := input.Read(path("none"), 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// A pipe that a person named is read, and no further than the bound.
func TestPipes(t *testing.T) {
	for text, ok := range map[string]bool{"0123456789": true, "0123456789a": false,
		strings.Repeat("x", 100_000): false} {
		path := filepath.Join(t.TempDir(), "pipe")
		must.Do(t, syscall.Mkfifo(path, 0o600))
		go func() { _ = os.WriteFile(path, []byte(text), 0o600) }()
		f := must.Get(input.Open(path, 10))(t)
		data, err := io.ReadAll(f)
		if len(data) > 10 || (err == nil) != ok || ok && string(data) != text {
			t.Errorf("%.12q: %q, %v", text, data, err)
		}
		f.Close()
	}
	if _, err := input.Open("/dev/zero", 10); err == nil {
		t.Error("a device is read")
	}
}
