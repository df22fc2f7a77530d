package wholefile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: where there is no room for a file, the one that was there stays as it is, and nothing is left beside it.
func TestNoRoom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kept")
	must.Do(t, Replace(path, []byte("old"), 0o600))
	err := Write(path, 0o600, func(w io.Writer) error {
		_, err := w.Write([]byte("ne"))
		return errors.Join(err, syscall.ENOSPC)
	})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("it says %v", err)
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("there are %v, %v", files, err)
	}
	if content, err := os.ReadFile(path); string(content) != "old" {
		t.Errorf("it holds %q, %v", content, err)
	}
}
