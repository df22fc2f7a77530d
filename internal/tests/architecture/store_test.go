package architecture

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// knowPebble are the files above package events that may know what a store is kept in,
// and why.
var knowPebble = map[string]string{
	"internal/lab/full_test.go":          "its disk is full, on the file system under the store",
	"internal/lab/accounts/disk_test.go": "its disk is full, or stops, on the file system under the log",
	"internal/ground/guardfs":            "it is the file system under a database",
	"internal/tests/faults":              "it stops the servers under a store, and looks into their tables",
	"internal/tests/pgtest":              "it starts the servers that tests keep stores in, and knows no store",
	"internal/study/simulate/results.go": "it locks a folder with what is there for that",
}

// Law: package events alone knows what a store is kept in. All above it, tests too, works
// with an events.Store, so that another database is one package more and no change
// elsewhere.
func TestStoresAreOpenedInOnePlace(t *testing.T) {
	must.Do(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			hidden := path != root && strings.HasPrefix(d.Name(), ".")
			apart := name == "events" || name == "internal/study/peers" || d.Name() == "testdata"
			if hidden || apart || knowPebble[name] != "" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || knowPebble[name] != "" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			kept := []string{module + "events/pebblelog", "github.com/cockroachdb/pebble",
				module + "events/pglog", "github.com/jackc/pgx"}
			if slices.ContainsFunc(kept, func(p string) bool { return covers(p, imported) }) {
				t.Errorf("%s imports %s: open stores with events/store", name, imported)
			}
		}
		return nil
	}))
}
