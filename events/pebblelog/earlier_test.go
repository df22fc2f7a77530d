package pebblelog

import (
	"archive/zip"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// unpack writes what a zipped folder holds to a new one.
func unpack(t *testing.T, name string) (dir string) {
	t.Helper()
	packed := must.Get(zip.OpenReader(name))(t)
	defer packed.Close()
	dir = t.TempDir()
	must.Do(t, os.CopyFS(dir, packed))
	return dir
}

// contents are the files of a folder, but locks.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	must.Do(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == lockName {
			return err
		}
		content, err := os.ReadFile(path)
		files[path] = string(content)
		return err
	}))
	return files
}

// Law: a store of a program from before 0.1.0, whose records had another form, is said to be
// that, and not to be damaged; it is not changed. One that is damaged, too, is damaged.
func TestStoresFromBefore(t *testing.T) {
	for _, fate := range []string{"finished", "killed"} {
		for _, o := range []Options{{ReadOnly: true}, {}} {
			dir := filepath.Join(unpack(t, "testdata/before-0.1.0.zip"), fate)
			before := contents(t, dir)
			_, err := Open(dir, o)
			if !errors.Is(err, events.ErrEarlierFormat) || errors.Is(err, events.ErrDamaged) || !strings.Contains(err.Error(), "export") {
				t.Errorf("%s: %v", fate, err)
			}
			after := contents(t, dir)
			for name, content := range before {
				if after[name] != content {
					t.Errorf("%s: %s was changed", fate, name)
				}
			}

			files := slices.Collect(func(yield func(string) bool) {
				for name := range before {
					if ending := filepath.Ext(name); (ending == ".log" || ending == ".sst") && len(before[name]) > 1000 && !yield(name) {
						return
					}
				}
			})
			for _, name := range files {
				content := []byte(before[name])
				content[len(content)/2] ^= 1
				must.Do(t, os.WriteFile(name, content, 0o600))
			}
			if _, err := Open(dir, o); !errors.Is(err, events.ErrDamaged) {
				t.Errorf("%s, and a byte is another: %v", fate, err)
			}
		}
	}
}
