package simulate_test

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/study/simulate"
	"github.com/campaignd/campaignd/internal/study/studyfile"
	"github.com/campaignd/campaignd/internal/tests/must"
)

const examples = "../../../examples"

// hill are rows of a smooth function on [0, 2] × [0, 10], two of them at one place.
func hill() (rows [][3]float64) {
	for i := range 36 {
		a, b := 2*math.Mod(0.5+0.75488*float64(i), 1), 10*math.Mod(0.5+0.56984*float64(i), 1)
		rows = append(rows, [3]float64{a, b, math.Sin(2*a) + math.Cos(b/3)})
	}
	return append(rows, [3]float64{rows[7][0], rows[7][1], 5})
}

// surrogate is a study on rows with the given surrogate.
func surrogate(t *testing.T, rows [][3]float64, kind, further string) *simulate.Study {
	t.Helper()
	folder := t.TempDir()
	text := "a,b,y\n"
	for _, r := range rows {
		text += fmt.Sprintf("%g,%g,%g\n", r[0], r[1], r[2])
	}
	must.Do(t, os.WriteFile(filepath.Join(folder, "rows.csv"), []byte(text), 0o600))
	file := must.Get(studyfile.Parse(filepath.Join(folder, "study.yaml"), []byte(`name: hill
seeds: 1
experiments: 12
tasks:
  - table: rows.csv
    surrogate: `+kind+`
    parameters: [{name: a, min: 0, max: 2}, {name: b, min: 0, max: 10}]
    objective: {name: y, unit: V, goal: maximize}
    anchors: [{a: 1, b: 2}, {a: 0.5, b: 1}]
`+further), studyfile.Options{}))(t)
	return must.Get(simulate.New(t.Context(), file, simulate.Environment{}))(t)
}

const lcbOnly = "policies: {lcb: {next: lcb}}\n"

// Law: with neighbors the truth is the mean of the k rows nearest in the unit cube.
func TestNeighbors(t *testing.T) {
	truth := surrogate(t, hill(), "{neighbors: 4}", lcbOnly).Tasks[0].Truth
	rows := hill()
	for i := range 51 {
		for j := range 51 {
			a, b := 2*float64(i)/50, 10*float64(j)/50
			distance := func(r [3]float64) float64 { return math.Hypot((r[0]-a)/2, (r[1]-b)/10) }
			slices.SortFunc(rows, func(r, s [3]float64) int { return cmp.Compare(distance(r), distance(s)) })
			want := (rows[0][2] + rows[1][2] + rows[2][2] + rows[3][2]) / 4
			v := must.Get(truth.Value(place(a, b)))(t)
			if tie := distance(rows[4]) - distance(rows[3]); tie > 1e-9 && math.Abs(v-want) > 1e-12 {
				t.Fatalf("at (%g, %g) it is %g, want %g", a, b, v, want)
			}
		}
	}
}

// Law: the best of a function with steps is found where few compositions have it. The values
// are scikit-learn's (KNeighborsRegressor, 10 neighbors, on the unit cube), its extremes those
// of a grid of 121³. Its worst is on a single point of the grid, and may be missed by a little.
func TestNeighborsOfElectrolyte(t *testing.T) {
	file := must.Get(studyfile.Parse(filepath.Join(examples, "study.yaml"), []byte(`name: electrolyte
seeds: 1
experiments: 4
tasks:
  - table: electrolyte-table.csv
    surrogate: {neighbors: 10}
    parameters: [{name: lipf6, min: 0.2, max: 2.1}, {name: ec, min: 0.3, max: 0.52}, {name: dmc, min: 0, max: 1}]
    objective: {name: conductivity, goal: maximize}
    columns: {lipf6: lipf6 (mol/kg), ec: ec (kg/kg), conductivity: conductivity (mS/cm)}
`+lcbOnly), studyfile.Options{}))(t)
	s := must.Get(simulate.New(t.Context(), file, simulate.Environment{}))(t)
	truth := s.Tasks[0].Truth
	for x, want := range map[[3]float64]float64{
		{0.77, 0.388, 0.5}: 10.8121161694, {1.91, 0.322, 0.2}: 8.0307662373, {0.295, 0.509, 0.6}: 8.8669839765,
	} {
		p := definition.Point{"lipf6": definition.Number(x[0]), "ec": definition.Number(x[1]), "dmc": definition.Number(x[2])}
		if v, err := truth.Value(p); err != nil || math.Abs(v-want) > 1e-9 {
			t.Errorf("at %v it is %.10g, %v; want %.10g", x, v, err, want)
		}
	}
	const best, worst = 13.029150228, 6.9134509727
	if truth.Best < best-1e-9 || truth.Worst > worst+0.03*(best-worst) {
		t.Errorf("from %.10g to %.10g; a grid has %g to %g", truth.Worst, truth.Best, worst, best)
	}
	if v, err := truth.Value(truth.BestAt); v != truth.Best || err != nil {
		t.Errorf("where the best is, it is %g, %v; want %g", v, err, truth.Best)
	}
}

func place(a, b float64) definition.Point {
	return definition.Point{"a": definition.Number(a), "b": definition.Number(b)}
}

// Law: every kind of policy runs on a surrogate of a table; what is measured has the noise
// that the task says, and the Gaussian process is near the function whose rows it has seen.
func TestSurrogateOfTable(t *testing.T) {
	for _, kind := range []string{"{neighbors: 4}", "gp\n    noise: 0.5"} {
		s := surrogate(t, hill(), kind, `policies:
  lcb: {next: lcb}
  cobol: {next: lcb, trust: cobol}
  coexbo: coexbo
  RAEUBO: raeubo
  MR-LPF: mr-lpf
experts: {good: [{simulated:}], ada: [{simulated: {anchored: true}}]}
arms:
  - {policy: lcb}
  - {policy: cobol, expert: good}
  - {policy: coexbo, expert: good}
  - {policy: RAEUBO, expert: ada}
  - {policy: MR-LPF, expert: ada}
`)
		folder := t.TempDir()
		if ran, _ := runAll(t, s, folder, 2); ran != 5 {
			t.Errorf("%s: ran %d campaigns", kind, ran)
		}
		noisy := 0
		for _, step := range open(t, folder).Get(s.Units[0].Key).Trajectory {
			if step.Measured == nil || step.Source != "surrogate" {
				t.Fatalf("%s: %+v", kind, step)
			}
			if *step.Measured != step.True {
				noisy++
			}
		}
		if gp := strings.HasPrefix(kind, "gp"); gp && noisy != 12 || !gp && noisy > 0 {
			t.Errorf("%s: %d of 12 results are noisy", kind, noisy)
		}
	}
	// However noisy the measurements to come are said to be.
	noisy := lcbOnly + "base: {objective: {name: y, unit: V, goal: maximize, noise: 3}}\n"
	truth := surrogate(t, hill(), "gp", noisy).Tasks[0].Truth
	v, err := truth.Value(place(1.4, 7))
	if want := math.Sin(2.8) + math.Cos(7.0/3); err != nil || math.Abs(v-want) > 0.5 {
		t.Errorf("far from the outlier it is %g, %v; want about %g", v, err, want)
	}
}
