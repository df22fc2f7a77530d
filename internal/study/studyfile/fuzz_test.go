package studyfile_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/campaignfile"
	"github.com/campaignd/campaignd/internal/study/studyfile"
)

// Law: no input makes the reader panic or grow without bounds; every fault has words, and
// a place in the file, or is of the whole file. What is read can be run: arms with a
// baseline, seeds, tasks.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../../../examples/studies/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("a: &a [*a, *a]\nb: &b {<<: *b}\nc: !!binary x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := studyfile.Parse("fuzz.yaml", data, studyfile.Options{})
		var faults *studyfile.Error
		switch {
		case err == nil:
			if len(file.Arms) == 0 || file.Baseline < 0 || file.Baseline >= len(file.Arms) || file.Seeds.Count < 1 || len(file.Tasks) == 0 {
				t.Errorf("a study of %d tasks, %d arms, %d seeds, with baseline %d", len(file.Tasks), len(file.Arms), file.Seeds.Count, file.Baseline)
			}
		case !errors.As(err, &faults):
			t.Fatalf("error %T, want an Error", err)
		default:
			lines := 1 + bytes.Count(data, []byte("\n"))
			if len(faults.Faults) == 0 {
				t.Error("an error without a fault")
			}
			for _, f := range faults.Faults {
				if f.Problem == "" {
					t.Errorf("a fault without words at line %d", f.Line)
				}
				if f.Line < 0 || f.Line > lines || f.Line == 0 && f.Path != "" {
					t.Errorf("%q: %s is said of line %d of %d", f.Path, f.Problem, f.Line, lines)
				}
			}
		}
	})
}

// Studies have the bounds of campaign files, and hold no text that rewrites a terminal.
func TestHostileFiles(t *testing.T) {
	for text, want := range map[string]string{
		"name: " + strings.Repeat("[", 20_000):                        "more than 100 deep",
		"name: \"a\\x1b]0;x\\a\"":                                     "a character that cannot be seen",
		"\"\\u202e\": 1":                                              "a character that cannot be seen",
		"name: \"" + strings.Repeat("x", campaignfile.MaxSize) + "\"": "more than 4 MiB",
		"a: &a [" + strings.Repeat("x,", 99) + "x]\nb: [" + strings.Repeat("*a,", 2500) + "x]": "aliases",
	} {
		if _, err := studyfile.Parse("bad.yaml", []byte(text), studyfile.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %.300v", text, err)
		}
	}
	for _, path := range []string{"/dev/zero", t.TempDir()} {
		if _, err := studyfile.Read(path, studyfile.Options{}); err == nil {
			t.Errorf("%s was read", path)
		}
	}
}
