package simulate_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/study/simulate"
	"github.com/campaignd/campaignd/internal/study/studyfile"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: the studies of examples/studies give, at their quick size, the experiments that
// they gave when they were recorded, bit for bit: testdata/quick.txt holds the digest of
// each one's experiments.csv. The study of a store that has to be made first is not
// among them.
func TestRecordedStudies(t *testing.T) {
	if os.Getenv("CAMPAIGND_STUDIES") == "" {
		t.Skip("takes some 10 minutes; set CAMPAIGND_STUDIES=quick to run it")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("recorded on amd64; other processors round sums of products otherwise")
	}
	recorded := must.Get(os.ReadFile(filepath.Join("testdata", "quick.txt")))(t)
	for line := range strings.Lines(string(recorded)) {
		name, want, _ := strings.Cut(strings.TrimSpace(line), " ")
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("..", "..", "..", "examples", "studies", name+".yaml")
			file := must.Get(studyfile.Read(path, studyfile.Options{Size: "quick"}))(t)
			s := must.Get(simulate.New(t.Context(), file, simulate.Environment{}))(t)
			results := open(t, t.TempDir())
			must.Do(t, s.Run(t.Context(), simulate.Run{Results: results, Workers: runtime.NumCPU()}))
			var csv bytes.Buffer
			must.Do(t, s.Summarize(results).WriteExperiments(&csv))
			digest := sha256.Sum256(csv.Bytes())
			if got := hex.EncodeToString(digest[:8]); got != want {
				t.Errorf("its experiments have the digest %s, and had %s when they were recorded", got, want)
			}
		})
	}
}
