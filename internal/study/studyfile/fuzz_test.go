package studyfile_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/study/studyfile"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: no input makes the reader or the composition of its campaigns panic or grow without
// bounds; every fault has words, and a place in the file, or is of the whole file. What is
// read can be run (it has arms with a baseline, seeds and tasks), and each of its campaigns
// is composed or refused.
func FuzzStudyFile(f *testing.F) {
	files, err := filepath.Glob("../../../examples/studies/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		data := must.Get(os.ReadFile(file))(f)
		f.Add(data)
	}
	f.Add([]byte("a: &a [*a, *a]\nb: &b {<<: *b}\nc: !!binary x"))
	f.Add([]byte(good))
	for _, data := range draws.LongKeys() {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var study *studyfile.File
		var err error
		draws.Answers(t, func() { study, err = studyfile.Parse("fuzz.yaml", data, studyfile.Options{}) })
		if err != nil {
			var faulty *yamltree.Error
			if !errors.As(err, &faulty) {
				t.Fatalf("error %T, want a *yamltree.Error", err)
			}
			if len(faulty.Faults) == 0 {
				t.Error("an error without a fault")
			}
			haveWords(t, faulty.Faults)
			havePlaces(t, faulty.Faults, data)
			return
		}
		if len(study.Arms) == 0 || study.Baseline < 0 || study.Baseline >= len(study.Arms) ||
			study.Seeds.Count < 1 || len(study.Tasks) == 0 {
			t.Fatalf("a study of %d tasks, %d arms, %d seeds, with baseline %d",
				len(study.Tasks), len(study.Arms), study.Seeds.Count, study.Baseline)
		}
		task := &study.Tasks[0]
		if task.Function == "" {
			return // what it brings is in another file
		}
		for i := range study.Arms {
			def, faults := study.Definition(task, &study.Arms[i], sections(t, task.Function))
			haveWords(t, faults)
			havePlaces(t, faults, data)
			if len(faults) == 0 && len(def.Parameters) == 0 {
				t.Errorf("%s: neither a campaign nor a fault", study.Arms[i].Name)
			}
		}
	})
}

func haveWords(t *testing.T, faults []yamltree.Fault) {
	t.Helper()
	for _, f := range faults {
		if f.Message == "" {
			t.Errorf("a fault without words at line %d", f.Line)
		}
	}
}

// havePlaces checks that each fault is on a line of the file, or of the whole file.
func havePlaces(t *testing.T, faults []yamltree.Fault, data []byte) {
	t.Helper()
	lines := 1 + bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte("\r"))
	for _, f := range faults {
		if f.Line < 0 || f.Line > lines || f.Line == 0 && len(f.Path) > 0 {
			t.Errorf("%s: %s is said of line %d of %d", f.Path, f.Message, f.Line, lines)
		}
	}
}

// Studies have the bounds of campaign files, and hold no text that rewrites a terminal.
func TestHostileFiles(t *testing.T) {
	for text, want := range map[string]string{
		"name: " + strings.Repeat("[", 20_000):                    "more than 100 deep",
		"name: \"a\\x1b]0;x\\a\"":                                 "a character that cannot be seen",
		"\"\\u202e\": 1":                                          "a character that cannot be seen",
		"name: \"" + strings.Repeat("x", yamltree.MaxSize) + "\"": "more than 4 MiB",
		"a: &a [" + strings.Repeat("x,", 99) + "x]\nb: [" + strings.Repeat("*a,", 2500) + "x]": "aliases",
	} {
		if _, err := studyfile.Parse("bad.yaml", []byte(text), studyfile.Options{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %.300v", text, err)
		}
	}
	for _, path := range []string{"/dev/zero", t.TempDir()} {
		if _, err := studyfile.Read(path, studyfile.Options{}); err == nil {
			t.Errorf("%s was read", path)
		}
	}
}
