package forgery_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/forgery"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: docs/audit.md lists what only a checkpoint shows, and nothing else.
func TestWhatOnlyACheckpointShows(t *testing.T) {
	page := must.Get(os.ReadFile("../../../docs/audit.md"))(t)
	_, section, _ := strings.Cut(string(page), "## What only a checkpoint shows")
	var want, got []string
	for _, f := range slices.Concat(forgery.Free, forgery.FreeMoves) {
		plain := strings.NewReplacer(`\`, "")
		want = append(want, fmt.Sprintf("- `%s`: `%s`: %s", plain.Replace(f.Kinds), plain.Replace(f.Fields), f.Why))
	}
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "- ") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("docs/audit.md is to list\n%s", strings.Join(want, "\n"))
	}
}
