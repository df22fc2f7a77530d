package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: each picture that README.md names is there, and small enough to travel with every clone.
func TestPicturesAreSmall(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join(root, "README.md")))(t)
	named := regexp.MustCompile(`!\[[^\]]+\]\(([^)]+)\)`).FindAllSubmatch(text, -1)
	if len(named) == 0 {
		t.Fatal("README.md shows nothing")
	}
	for _, m := range named {
		info, err := os.Stat(filepath.Join(root, string(m[1])))
		if err != nil {
			t.Error(err)
		} else if info.Size() > 100_000 {
			t.Errorf("%s has %d bytes", m[1], info.Size())
		}
	}
}
