package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// oneOfMany are the fields of which there will be several, and how many lines may read them.
// A definition has one objective and one instrument, a measurement one value of the objective.
// Each line that says so is a line to change when there are more. So they are asked for, and
// what was asked for is passed on.
var oneOfMany = []struct {
	field *regexp.Regexp
	most  int
	ask   string
}{
	// What is left are questions to people, who are told what is sought, and what writes a definition.
	{regexp.MustCompile(`Objective\.(Goal|Unit|Name|Noise)\b`), 7, "Campaign.Sought, once"},
	// What is left checks, corrects or records a measurement itself.
	{regexp.MustCompile(`(Measurement|\bm|\br)\.Objective\b`), 22, "State.Value or State.Results"},
	// What is left chooses an instrument, and the loop.
	{regexp.MustCompile(`\.Instrument\.(Driver|ByHand|Steps|StallAfter|GiveUpAfter)\b`), 7,
		"Campaign.Driver, ByHand, Steps or Silence, or Registry.DriverOf"},
}

// Law: few lines outside the definition and the campaign file know that a campaign has one
// objective and one instrument. The numbers may be lowered, and raised with a reason.
func TestOneObjectiveIsKnownInFewPlaces(t *testing.T) {
	found := make([][]string, len(oneOfMany))
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			if name == "events/definition" || name == "internal/campaignfile" || d.Name() == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			for i, one := range oneOfMany {
				if one.field.MatchString(line) {
					found[i] = append(found[i], name+": "+strings.TrimSpace(line))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range oneOfMany {
		if n := len(found[i]); n > one.most {
			t.Errorf("%d lines read %s, at most %d may; ask %s:\n%s",
				n, one.field, one.most, one.ask, strings.Join(found[i], "\n"))
		}
	}
}
