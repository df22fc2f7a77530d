package simulate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/study/simulate"
	"github.com/campaignd/campaignd/internal/study/studyfile"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
)

const small = `name: small
seeds: 3
experiments: 7
tasks: [branin]
policies:
  vanilla: {next: lcb}
  cobol: {next: lcb, trust: cobol}
experts:
  expert: [{simulated: {accuracy: 2}}]
`

func newStudy(t testing.TB, text string, out simulate.Environment) *simulate.Study {
	t.Helper()
	file, err := studyfile.Parse(filepath.Join(t.TempDir(), "study.yaml"), []byte(text), studyfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return must.Get(simulate.New(t.Context(), file, out))(t)
}

func open(t testing.TB, folder string) *simulate.Results {
	t.Helper()
	r := must.Get(simulate.OpenResults(folder))(t)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// tables are the tables without times.
func tables(t testing.TB, s *simulate.Study, r *simulate.Results) string {
	t.Helper()
	var b bytes.Buffer
	summary := s.Summarize(r)
	must.Do(t, errors.Join(summary.WriteExperiments(&b), summary.WriteSummary(&b)))
	return b.String()
}

func runAll(t testing.TB, s *simulate.Study, folder string, workers int) (ran int, csv string) {
	t.Helper()
	r := open(t, folder)
	must.Do(t, s.Run(t.Context(), simulate.Run{
		Results:  r,
		Workers:  workers,
		Finished: func(simulate.Unit) { ran++ },
	}))
	csv = tables(t, s, r)
	must.Do(t, r.Close())
	return ran, csv
}

// Law: the tables are the same bytes whatever the number of workers.
func TestWorkers(t *testing.T) {
	s := newStudy(t, small, simulate.Environment{})
	_, one := runAll(t, s, t.TempDir(), 1)
	_, three := runAll(t, s, t.TempDir(), 3)
	if one != three {
		t.Error("one worker and three give different tables")
	}
	if n := strings.Count(one, "branin,"); n != 3*2*7+2 {
		t.Errorf("%d rows", n)
	}
}

// Law: a study that was killed goes on where it was, and gives the same tables as
// one that was not; a line that was cut off is run again, and nothing twice.
func TestResume(t *testing.T) {
	s := newStudy(t, small, simulate.Environment{})
	_, whole := runAll(t, s, t.TempDir(), 2)

	folder := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	killed := errors.New("killed")
	r := open(t, folder)
	finished := 0 // more than the third may end before the others hear of it
	err := s.Run(ctx, simulate.Run{Results: r, Workers: 2, Finished: func(simulate.Unit) {
		if finished++; finished == 3 {
			cancel(killed)
		}
	}})
	if !errors.Is(err, killed) {
		t.Fatalf("the run ended with %v", err)
	}
	must.Do(t, r.Close())
	// The power fails in the middle of the last line.
	path := filepath.Join(folder, "results.jsonl")
	data := must.Get(os.ReadFile(path))(t)
	must.Do(t, os.WriteFile(path, data[:len(data)-20], 0o600))
	ran, again := runAll(t, s, folder, 2)
	if ran != 6-(finished-1) {
		t.Errorf("ran %d campaigns anew after %d, want those that were missing and the one that was cut off",
			ran, finished)
	}
	if again != whole {
		t.Error("a study that was interrupted gives other tables")
	}
	if ran, _ := runAll(t, s, folder, 2); ran != 0 {
		t.Errorf("a finished study ran %d campaigns", ran)
	}
	data = must.Get(os.ReadFile(path))(t)
	if n := bytes.Count(data, []byte("\n")); n != 6 {
		t.Errorf("%d lines of results, want 6", n)
	}
}

// Law: what changed in the file is run afresh, and only that.
func TestChange(t *testing.T) {
	folder := t.TempDir()
	runAll(t, newStudy(t, small, simulate.Environment{}), folder, 2)
	for _, c := range []struct {
		from, to string
		want     int
	}{
		{"seeds: 3", "seeds: 4", 2},
		{"accuracy: 2", "accuracy: -2", 3},
		{"experiments: 7", "experiments: 6", 6},
		{"vanilla:", "plain:", 0}, // a name is not what is run
		{"[branin]", "[{task: branin, noise: 0.1}]", 6},
	} {
		s := newStudy(t, strings.Replace(small, c.from, c.to, 1), simulate.Environment{})
		r := open(t, folder)
		if got := len(s.Missing(r)); got != c.want {
			t.Errorf("%s → %s: %d campaigns to run, want %d", c.from, c.to, got, c.want)
		}
		_ = r.Close()
	}
}

// Law: reference experiments are no steps of a simulated campaign, and change none.
func TestReferences(t *testing.T) {
	steps := func(base string) string {
		_, csv := runAll(t, newStudy(t, small+base, simulate.Environment{}), t.TempDir(), 2)
		return csv
	}
	without := steps("")
	with := steps("base: {reference_experiments: {standard: {composition: {x1: 1, x2: 2}, every: 2, pause: true}}}\n")
	if without != with {
		t.Errorf("without references\n%s\nwith\n%s", without, with)
	}
}

// Law: a file of results that a program did not write is refused, with the line.
func TestDamagedResults(t *testing.T) {
	folder := t.TempDir()
	text := `{"key":"a","course":[]}` + "\nnonsense\n" + `{"key":"b","course":[]}` + "\n"
	must.Do(t, os.WriteFile(filepath.Join(folder, "results.jsonl"), []byte(text), 0o600))
	if _, err := simulate.OpenResults(folder); err == nil || !strings.Contains(err.Error(), "results.jsonl:2: ") {
		t.Errorf("%v", err)
	}
}

// Law: only one process at a time runs a study.
func TestOneProcess(t *testing.T) {
	folder := t.TempDir()
	r := open(t, folder)
	if _, err := simulate.OpenResults(folder); !errors.Is(err, simulate.ErrInUse) {
		t.Errorf("%v", err)
	}
	must.Do(t, r.Close())
	open(t, folder)
}

// Law: a trajectory says of each experiment what a slow look at the campaign says:
// simple regret is that of the best so far and never rises, cumulative regret is
// the sum, and on a noiseless task what is measured is true.
func TestCourse(t *testing.T) {
	s := newStudy(t, small, simulate.Environment{})
	folder := t.TempDir()
	runAll(t, s, folder, 2)
	r := open(t, folder)
	for _, u := range s.Units {
		result := r.Get(u.Key)
		if len(result.Trajectory) != 7 || len(result.Seconds) != 7 {
			t.Fatalf("%d experiments, %d times", len(result.Trajectory), len(result.Seconds))
		}
		truth := s.Tasks[u.Task].Truth
		sum, best := 0.0, math.Inf(1)
		for i, step := range result.Trajectory {
			regret := truth.Regret(step.True)
			sum, best = sum+regret, min(best, regret)
			if *step.Measured != step.True || step.Regret != best || math.Abs(step.Cumulative-sum) > 1e-12*sum {
				t.Errorf("%s seed %d experiment %d: %+v", result.Arm, u.Seed, i+1, step)
			}
			// The recommended composition is one of the measured ones.
			among := false
			for _, earlier := range result.Trajectory[:i+1] {
				among = among || truth.Regret(earlier.True) == step.Recommended
			}
			if !among {
				t.Errorf("%s seed %d experiment %d recommends what was not measured: regret %g",
					result.Arm, u.Seed, i+1, step.Recommended)
			}
		}
		// Until an expert has earned it there is no trust to speak of.
		if vanilla := result.Arm == "vanilla"; vanilla && result.Trajectory[6].Trust != nil ||
			vanilla != (result.Trajectory[6].Asked == 0) {
			t.Errorf("%s: trust %v, asked %d", result.Arm, result.Trajectory[6].Trust, result.Trajectory[6].Asked)
		}
	}
}

// Law: where only a list of compositions can be measured, regret is against the
// best of the list.
func TestGrid(t *testing.T) {
	s := newStudy(t, `name: grid
seeds: 1
experiments: 4
tasks: [{task: branin, grid: 4}]
policies: {random: {next: random}}
`, simulate.Environment{})
	truth := s.Tasks[0].Truth
	best := math.Inf(1)
	for _, x1 := range []float64{-5, 0, 5, 10} {
		for _, x2 := range []float64{0, 5, 10, 15} {
			v, err := truth.Value(definition.Point{"x1": definition.Number(x1), "x2": definition.Number(x2)})
			if err != nil {
				t.Fatal(err)
			}
			best = min(best, v)
		}
	}
	if truth.Best != best || truth.Best < 0.4 {
		t.Errorf("the best is %g, want %g", truth.Best, best)
	}
}

// Law: a campaign that cannot be run does not keep the others from running; the
// error names it, and it is left out of the comparison.
func TestFailedCampaign(t *testing.T) {
	s := newStudy(t, strings.Replace(small, "accuracy: 2", "accuracy: -1e6", 1), simulate.Environment{})
	studytest.SimulatedExpert(&s.Units[3].Definition, 0, func(s *humansim.Settings) { s.Task = "nowhere" })
	folder := t.TempDir()
	r := open(t, folder)
	err := s.Run(t.Context(), simulate.Run{Results: r, Workers: 2})
	var failed *simulate.FailedError
	if !errors.As(err, &failed) || failed.Arm != "cobol/expert" || !strings.Contains(err.Error(), "seed") {
		t.Fatalf("%v", err)
	}
	for _, u := range s.Units {
		if vanilla := s.Arms[u.Arm].Name == "vanilla"; vanilla && r.Get(u.Key) == nil {
			t.Errorf("seed %d of vanilla was not run", u.Seed)
		}
	}
	if sum := s.Summarize(r).Tasks[0]; sum.Missing == 0 || len(sum.Seeds)+sum.Missing != 3 {
		t.Errorf("%d seeds compared, %d missing", len(sum.Seeds), sum.Missing)
	}
}

// Law: with several experiments under way, too, the tables are the same whenever
// and with however many workers they are made.
func TestParallel(t *testing.T) {
	s := newStudy(t, small+"base: {parallel: 3}\n", simulate.Environment{})
	_, one := runAll(t, s, t.TempDir(), 1)
	for range 3 {
		if _, again := runAll(t, s, t.TempDir(), 4); again != one {
			t.Fatal("the same study gives other tables")
		}
	}
}

// Law: where nothing is measured, a step is a comparison; cumulative regret is the
// sum of (P(x* ≻ x) + P(x* ≻ x') − 1)/2, and simple regret that of what the
// comparisons say is best. A campaign that has identified its best goes on to the
// end of its budget with it.
func TestComparisons(t *testing.T) {
	s := newStudy(t, `name: duels
seeds: 3
comparisons: 80
tasks: [{task: rkhs1-rbf, grid: 12}]
policies: {mr-lpf: {duel: {mr-lpf: {beta_rule: paper}}}, random: {duel: random}}
experts: {comparer: [{simulated: {accuracy: 1.2}}]}
`, simulate.Environment{})
	folder := t.TempDir()
	runAll(t, s, folder, 2)
	r := open(t, folder)
	identified := 0
	for _, u := range s.Units {
		result := r.Get(u.Key)
		if len(result.Trajectory) != 80 {
			t.Fatalf("%s: %d comparisons", result.Arm, len(result.Trajectory))
		}
		truth, before := s.Tasks[0].Truth, 0.0
		for i, step := range result.Trajectory {
			loss := step.Cumulative - before
			before = step.Cumulative
			if loss < -1e-12 || loss > 0.5 || step.Regret != step.Recommended || step.Regret < 0 {
				t.Fatalf("%s seed %d comparison %d: %+v", result.Arm, u.Seed, i+1, step)
			}
			if step.Source != simulate.Identified {
				continue
			}
			identified++
			// x̂ against itself: P(x* ≻ x̂) − 1/2, by the expert's own choice.
			rank := 6 * step.Regret / truth.Regret(truth.Worst)
			if want := 1/(1+math.Exp(-1.2*rank)) - 0.5; math.Abs(loss-want) > 1e-9 {
				t.Errorf("%s seed %d comparison %d loses %g, want %g", result.Arm, u.Seed, i+1, loss, want)
			}
		}
	}
	if identified == 0 {
		t.Error("no campaign identified its best: the law was not put to the test")
	}
	if sum := s.Summarize(r).Tasks[0]; sum.Steps != "comparison" || sum.Arms[0].Asked < 10 {
		t.Errorf("%s, asked %g", sum.Steps, sum.Arms[0].Asked)
	}
}

// Law: policies that compare, pinpoint and choose run on what is not a test problem.
func TestFormsOnSurrogate(t *testing.T) {
	out, _ := past(t)
	s := newStudy(t, `name: forms
seeds: 1
experiments: 5
tasks: [{store: past}]
policies:
  coexbo: coexbo
  pinpoint: {next: lcb, trust: {cobol: {feedback: pinpoint}}}
  ranking: {next: lcb, trust: {cobol: {feedback: ranking}}}
experts: {good: [{simulated: {accuracy: 1}}]}
`, out)
	ran, _ := runAll(t, s, t.TempDir(), 2)
	if ran != 3 {
		t.Errorf("ran %d campaigns", ran)
	}
}

const rows = `x,y
0,1.0
0.25,2.0
0.25,4.0
0.5,7.0
0.75,5.0
1,0.5
`

// Law: on a table the true value of a composition is the mean of its rows, regret
// is against the best of them, and experts rank by them.
func TestTable(t *testing.T) {
	folder := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(folder, "rows.csv"), []byte(rows), 0o600))
	file := must.Get(studyfile.Parse(filepath.Join(folder, "study.yaml"), []byte(`name: table
seeds: 2
experiments: 5
tasks:
  - {table: rows.csv, parameters: [{name: x, min: 0, max: 1}], objective: {name: y, unit: V, goal: maximize}}
policies: {vanilla: {next: lcb}, cobol: {next: lcb, trust: cobol}}
experts: {good: [{simulated: {accuracy: 2}}]}
`), studyfile.Options{}))(t)
	s := must.Get(simulate.New(t.Context(), file, simulate.Environment{}))(t)
	truth := s.Tasks[0].Truth
	if truth.Best != 7 || truth.Worst != 0.5 {
		t.Errorf("from %g to %g", truth.Worst, truth.Best)
	}
	if v, err := truth.Value(definition.Point{"x": definition.Number(0.25)}); v != 3 || err != nil {
		t.Errorf("the mean of 2 and 4 is %g, %v", v, err)
	}
	if rank, err := truth.Rank(definition.Point{"x": definition.Number(0.5)}); rank != -3 || err != nil {
		t.Errorf("the best row ranks %g, %v", rank, err)
	}
	_, csv := runAll(t, s, t.TempDir(), 2)
	if !strings.Contains(csv, "rows,cobol,good,cobol/good,2,5,V,") {
		t.Errorf("not the rows that were expected:\n%s", csv)
	}
}

// pastSeed is one with which the simulated expert, whose answers depend on the
// campaign's name too, answers the same in the log and in the study, and with
// which no other campaign comes upon a composition of the log by chance, as they do at
// the corners of the space.
const pastSeed = 6

// past runs a campaign with an expert into a log.
func past(t testing.TB) (simulate.Environment, *memlog.Log) {
	t.Helper()
	def := must.Get(studytest.Define("branin", pastSeed, 9, studytest.WithExpert(1)))(t)
	log := memlog.New()
	must.Get(studytest.Simulate(t.Context(), log, def))(t)
	return simulate.Environment{OpenStore: func(context.Context, string, string) (events.Log, string, func() error, error) {
		return log, "branin", func() error { return nil }, nil
	}}, log
}

const whatIf = `name: whatif
seeds: {first: 6, count: 2}
tasks: [{store: past.campaign}]
policies:
  as it was: {next: lcb, trust: cobol}
  without: {next: lcb}
arms:
  - {policy: as it was, expert: ada}
  - {policy: as it was, expert: eve}
  - {policy: without}
experts:
  ada: [{name: ada, simulated: {accuracy: 1, task: branin}}]
  eve: [{name: eve, simulated: {accuracy: -2}}]
`

// Law: a campaign that is simulated as it was, with its seed and its expert, is
// answered by its log from end to end; what was never measured the surrogate
// answers, and every result says which.
func TestWhatIf(t *testing.T) {
	out, _ := past(t)
	s := newStudy(t, whatIf, out)
	folder := t.TempDir()
	runAll(t, s, folder, 2)
	r := open(t, folder)
	sources := map[string]int{}
	for _, u := range s.Units {
		for _, step := range r.Get(u.Key).Trajectory {
			sources[fmt.Sprintf("%s seed %d %s", s.Arms[u.Arm].Name, u.Seed, step.Source)]++
		}
	}
	if n := sources["as it was/ada seed 6 log"]; n != 9 {
		t.Errorf("the log answered %d of 9 experiments of the campaign as it was: %v", n, sources)
	}
	for _, arm := range []string{"as it was/eve", "without"} {
		if n := sources[arm+" seed 6 log"]; n < 3 {
			t.Errorf("%s: the log answered %d experiments, want at least the initial design", arm, n)
		}
		if n := sources[arm+" seed 7 surrogate"]; n != 9 {
			t.Errorf("%s: with another seed the surrogate answered %d of 9 experiments", arm, n)
		}
	}
	summary := s.Summarize(r)
	if a := summary.Tasks[0].Arms[0]; a.FromLog != 0.5 || a.FromSurrogate != 0.5 {
		t.Errorf("from the log %g, from the surrogate %g", a.FromLog, a.FromSurrogate)
	}
}

// Law: no composition is better under the surrogate than the optimum that regret
// is measured against.
func TestSurrogateOptimum(t *testing.T) {
	out, _ := past(t)
	truth := newStudy(t, whatIf, out).Tasks[0].Truth
	for i := range 40 {
		for j := range 40 {
			p := definition.Point{"x1": definition.Number(-5 + 15*float64(i)/39),
				"x2": definition.Number(15 * float64(j) / 39)}
			v := must.Get(truth.Value(p))(t)
			if slack := 1e-6 * truth.Regret(truth.Worst); truth.Regret(v) < -slack ||
				truth.Regret(v) > truth.Regret(truth.Worst)+slack {
				t.Fatalf("%v has %g, outside %g to %g", p, v, truth.Best, truth.Worst)
			}
		}
	}
}
