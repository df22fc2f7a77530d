package simulate_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/humans"
	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study/simulate"
	"github.com/campaignd/campaignd/internal/study/studyfile"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: the utilities of examples/candy.csv are those of Bradley and Terry's model: against a
// random other sweet each wins its share of votes, less what their mean is above one half.
func TestCandyUtilities(t *testing.T) {
	f := must.Get(os.Open(filepath.Join(examples, "candy.csv")))(t)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != 86 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	var won, utility []float64
	for _, row := range rows[1:] {
		w := must.Get(strconv.ParseFloat(row[len(row)-2], 64))(t)
		u := must.Get(strconv.ParseFloat(row[len(row)-1], 64))(t)
		won, utility = append(won, w/100), append(utility, u)
	}
	mean := 0.0
	for _, w := range won {
		mean += w / 85
	}
	for i, u := range utility {
		wins := 0.0
		for j, v := range utility {
			if j != i {
				wins += 1 / (1 + math.Exp(v-u)) / 84
			}
		}
		if want := won[i] - (mean - 0.5); math.Abs(wins-want) > 5e-5 { // four digits of utility
			t.Errorf("%s wins %.5f, want %.5f", rows[i+1][0], wins, want)
		}
	}
}

// shortest runs a study of comparisons in its smallest form.
func shortest(t *testing.T, path string) *simulate.Study {
	t.Helper()
	file := must.Get(studyfile.Read(path, studyfile.Options{Seeds: studyfile.Seeds{First: 1, Count: 1}}))(t)
	file.Comparisons = 9
	s := must.Get(simulate.New(t.Context(), file, simulate.Environment{}))(t)
	if ran, _ := runAll(t, s, t.TempDir(), 2); ran != len(s.Units) {
		t.Errorf("ran %d campaigns of %d", ran, len(s.Units))
	}
	return s
}

// Law: the study of sweets runs. Its tasks are the list, in which sweets of equal features
// are one, and a function of two features. The example has the same list.
func TestCandyStudy(t *testing.T) {
	s := shortest(t, filepath.Join(examples, "studies", "candy.yaml"))
	for _, u := range s.Units {
		want := map[string]int{"list": 77, "sugar and price": 0}[s.Tasks[u.Task].Name]
		if n := len(u.Definition.Candidates); n != want {
			t.Errorf("%s: %d candidates, want %d", s.Tasks[u.Task].Name, n, want)
		}
	}
	// Those of the example are the same, and its expert knows them.
	file := must.Get(campaignfile.Read(builtin.Registry(), filepath.Join(examples, "candy.yaml")))(t)
	def := file.Definition
	list := s.Units[len(s.Arms)].Definition.Candidates
	if !reflect.DeepEqual(def.Candidates, list) {
		t.Errorf("%d candidates in the example, %d in the study, or others", len(def.Candidates), len(list))
	}
	if _, err := humansim.Channel.Open(t.Context(), def.Experts[0], def, humans.Environment{Folder: examples}); err != nil {
		t.Error(err)
	}
	if best := s.Tasks[1].Truth.Best; best != 1.7734 {
		t.Errorf("the best sweet has %g, want 1.7734", best)
	}
}

// Law: examples/sushi.py makes a study that runs, of files in the form of the sushi data, and
// its utilities are in the order of how well the sushi are liked.
func TestSushi(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	const n, people = 40, 400
	random := rand.New(rand.NewPCG(1, 2))
	var items, scores strings.Builder
	for i := range n {
		fmt.Fprintf(&items, "%d\tsushi %d\t1\t0\t3\t%.4f\t%.4f\t%.4f\t%.2f\n", i, i,
			4*random.Float64(), 3*random.Float64(), 1+3*random.Float64(), random.Float64())
	}
	for range people {
		row := strings.Split(strings.Repeat("-1 ", n)[:3*n-1], " ")
		for _, i := range random.Perm(n)[:10] {
			liked := 5*float64(i)/n + 0.5*random.NormFloat64() // the later, the better
			row[i] = strconv.Itoa(int(min(max(liked, 0), 4)))
		}
		scores.WriteString(strings.Join(row, " ") + "\n")
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"sushi3.idata": items.String(), "sushi3b.5000.10.score": scores.String()} {
		must.Do(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	script := must.Get(filepath.Abs(filepath.Join(examples, "sushi.py")))(t)
	command := exec.CommandContext(t.Context(), python, script, ".")
	command.Dir = folder
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f := must.Get(os.Open(filepath.Join(folder, "sushi.csv")))(t)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != n+1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i := 1; i+10 <= n; i++ {
		a := must.Get(strconv.ParseFloat(rows[i][5], 64))(t)
		if b, err := strconv.ParseFloat(rows[i+10][5], 64); err != nil || !(a < b) {
			t.Errorf("sushi %d has %g, and %d, which is liked better, %g (%v)", i-1, a, i+9, b, err)
		}
	}
	s := shortest(t, filepath.Join(folder, "sushi.yaml"))
	if about := s.Tasks[0].About; !strings.Contains(about, "the mean of the 33 nearest rows") {
		t.Errorf("%s", about)
	}
}
