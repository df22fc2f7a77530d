package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// dialect are words of ours for which the field has its own (docs/glossary.md), and how often
// they stand in the product's code and comments. Some are names in stored events or in the API
// and stay. The numbers may be lowered, never raised.
var dialect = map[string]int{
	"whoever": 5, "nobody": 53, "somebody": 13, "everybody": 10, "beside": 20, "aside": 43, "told": 57,
	"door": 6, "trail": 49, "moot": 15, "desk": 18, "book": 6, "tidy": 0,
	"legible": 50, "stretch": 19,
}

// Law: no new word of a dialect comes in.
func TestNoNewDialect(t *testing.T) {
	found := make(map[string]int)
	word := regexp.MustCompile(`[\pL\pN_]+`)
	eachFile(t, func(_, text string) {
		for _, w := range word.FindAllString(text, -1) {
			found[strings.ToLower(w)]++
		}
	})
	for w, most := range dialect {
		if found[w] > most {
			t.Errorf("%q stands %d times, at most %d are left: docs/glossary.md has the word to use",
				w, found[w], most)
		}
	}
}

// clauses stand where English has a noun or a verb: "what is sought" for the objective, "is no
// number" for "is not a number".
var clauses = regexp.MustCompile(`\b(what is|is what|says of|of which|is no|there is none|all the same|is none)\b`)

// mostClauses may be lowered, never raised. The aim is 300.
const mostClauses = 281

// Law: code and comments get no further clauses in place of nouns.
func TestNoNewClauses(t *testing.T) {
	n := 0
	eachFile(t, func(_, text string) { n += len(clauses.FindAllString(text, -1)) })
	if n > mostClauses {
		t.Errorf("%d clauses match %s, at most %d are left: name the thing", n, clauses, mostClauses)
	}
}

// eachFile visits the Go files of the main module that are no tests and that people write, by
// their paths from its root.
func eachFile(t *testing.T, visit func(name, text string)) {
	t.Helper()
	for _, name := range goFiles(t, false) {
		text := must.Get(os.ReadFile(filepath.Join(root, name)))(t)
		if !strings.HasPrefix(string(text), "// Code generated ") {
			visit(name, string(text))
		}
	}
}

// goFiles are the paths of the Go files of the main module, from its root: its tests, or all
// others.
func goFiles(t *testing.T, tests bool) (paths []string) {
	t.Helper()
	must.Do(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, nested := os.Stat(filepath.Join(path, "go.mod"))
			if path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || nested == nil) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") != tests {
			return nil
		}
		name, err := filepath.Rel(root, path)
		paths = append(paths, filepath.ToSlash(name))
		return err
	}))
	return paths
}
