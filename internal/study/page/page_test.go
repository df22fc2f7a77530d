package page_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/study/page"
	"github.com/campaignd/campaignd/internal/study/simulate"
	"github.com/campaignd/campaignd/internal/study/studyfile"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// write runs a study and returns its page.
func write(t *testing.T, text string, spoil func(*simulate.Study)) string {
	t.Helper()
	file, err := studyfile.Parse(filepath.Join(t.TempDir(), "study.yaml"), []byte(text), studyfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := must.Get(simulate.New(t.Context(), file, simulate.Environment{}))(t)
	if spoil != nil {
		spoil(s)
	}
	results := must.Get(simulate.OpenResults(t.TempDir()))(t)
	defer results.Close()
	var failed *simulate.FailedError
	if err := s.Run(context.Background(), simulate.Run{Results: results, Workers: 2}); err != nil &&
		!errors.As(err, &failed) {
		t.Fatal(err)
	}
	in := page.Input{
		Study:   s,
		Summary: s.Summarize(results),
		Command: "campaignd simulate study.yaml",
		Date:    time.Unix(0, 0),
	}
	var one, two bytes.Buffer
	must.Do(t, errors.Join(page.Write(&one, in), page.Write(&two, in)))
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("equal inputs give other pages")
	}
	return one.String()
}

// Law: a task with a baseline of its own is compared with that, and arms over all tasks with each task's.
func TestPageOfBaselines(t *testing.T) {
	html := write(t, strings.Replace(plain, "noise: 0.27}", "noise: 0.27, baseline: cobol/expert}", 1), nil)
	wellFormed(t, html)
	for _, want := range []string{
		"Difference to vanilla", "Difference to cobol/expert", "Along the campaigns", "in comparison with <b>each task&#39;s baseline</b>",
		"all 2 cells together",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q", want)
		}
	}
}

// Law: a page of trade-offs says what is missing of the hypervolume, and nowhere a regret, a recommended composition, or
// the unit of one of the objectives; next to a task of one value it says both.
func TestPageOfFronts(t *testing.T) {
	const front = `name: front
seeds: 2
experiments: 6
tasks: [branin-currin%s]
policies: {lognehvi: lognehvi, random: random}
arms: [{policy: %s, name: first}, {policy: random}]
base: {initial: {experiments: 3}}
`
	html := write(t, fmt.Sprintf(front, "", "lognehvi"), nil)
	wellFormed(t, html)
	shown, _, _ := strings.Cut(html, "The study as it was read")
	for _, want := range []string{
		"missing hypervolume (%)", "branin-currin (% missing)", "final missing hypervolume, mean ± standard error",
		"beyond branin 18 and currin 6", "within 2 %<small>of the greatest hypervolume</small>",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, wrong := range []string{"simple regret", "final regret", "regret of the recommended", "optimum"} {
		if strings.Contains(shown, wrong) {
			t.Errorf("%q on a page of fronts", wrong)
		}
	}
	html = write(t, fmt.Sprintf(front, ", branin", "random"), nil)
	for _, want := range []string{"simple regret", "regret of the recommended", "missing hypervolume", "takes the place of regret"} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q on a page of both", want)
		}
	}
}

// wellFormed checks that every element is closed where it should be.
func wellFormed(t *testing.T, html string) {
	t.Helper()
	html = regexp.MustCompile(`(?s)<style>.*?</style>`).ReplaceAllString(html, "")
	html = regexp.MustCompile(`<(meta[^>]*)>`).ReplaceAllString(html, "<$1/>")
	d := xml.NewDecoder(strings.NewReader(html))
	d.Entity = xml.HTMLEntity
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
	}
}

const plain = `name: test
seeds: 3
experiments: 6
tasks: [branin, {task: electrolyte, noise: 0.27}]
policies:
  vanilla: {next: lcb}
  cobol: {next: lcb, trust: cobol}
experts:
  expert: [{simulated: {accuracy: 2}}]
`

// Law: the page holds everything in itself, with what was run and how to run it
// again, a figure and a table for each task.
func TestPage(t *testing.T) {
	html := write(t, plain, nil)
	wellFormed(t, html)
	for _, want := range []string{
		"<h2>branin</h2>", "<h2>electrolyte</h2>", "campaignd simulate study.yaml", "1 to 3 (3)", "mean rank", "Labels asked", "Trust",
		"Cumulative regret", "Difference to vanilla", "Time per suggestion", "1970-01-01", "3 seeds only",
		"experts:\n  expert:",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, not := range []string{"<script", "http://", "https://", "NaN", "+Inf", "%!"} {
		if strings.Contains(strings.ReplaceAll(html, "http://www.w3.org/", ""), not) {
			t.Errorf("there is a %q", not)
		}
	}
	if path := os.Getenv("STUDY_PAGE"); path != "" { // to look at
		_ = os.WriteFile(path, []byte(html), 0o600)
	}
}

// Law: where experts are reliable near anchors, the page says how noisy what they
// compared was, and what is best with that in mind; elsewhere it does not speak of it.
func TestAnchored(t *testing.T) {
	html := write(t, `name: anchored
seeds: 2
comparisons: 10
tasks: [{task: branin, anchors: [{x1: 1, x2: 2}]}]
policies: {EUBO: eubo, RAEUBO: raeubo, MR-LPF: mr-lpf}
experts: {ada: [{simulated: {anchored: true}}]}
`, nil)
	wellFormed(t, html)
	for _, want := range []string{"Risk-adjusted best value", "Noise of what is compared", "with its sign turned"} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q", want)
		}
		if strings.Contains(write(t, strings.Replace(plain, "seeds: 3", "seeds: 1", 1), nil), want) {
			t.Errorf("%q without anchors", want)
		}
	}
	if strings.Contains(html, "NaN") || strings.Contains(html, "Inf") {
		t.Error("a number that is none")
	}
}

// Law: any study has a page: one seed, one arm, nothing to compare; many arms;
// campaigns of which none could be run.
func TestEdges(t *testing.T) {
	one := "name: one\nseeds: 1\nexperiments: 1\ntasks: [branin]\npolicies: {random: {next: random}}\nbase: {initial: {experiments: 0}}\n"
	many := "name: many\nseeds: 2\nexperiments: 5\ntasks: [branin]\npolicies:\n"
	for i := range 14 {
		many += fmt.Sprintf("  β = %d: {next: {lcb: {beta: %d}}}\n", i, i)
	}
	for name, html := range map[string]string{
		"one":  write(t, one, nil),
		"many": write(t, many, nil),
		"none": write(t, plain, func(s *simulate.Study) {
			for i := range s.Units {
				s.Units[i].Definition.Objective.Unit = "parsec" // which the instrument does not measure in
			}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			wellFormed(t, html)
			if strings.Contains(html, "NaN") || strings.Contains(html, "Inf") {
				t.Error("a number that is none")
			}
		})
	}
}

// Law: no text of a study is taken for markup.
func TestHostileText(t *testing.T) {
	html := write(t,
		strings.NewReplacer("vanilla:", `"<b onload=x>&":`, "name: test",
			"name: test\ndescription: '<script>alert(1)</script>'").Replace(plain),
		nil)
	wellFormed(t, html)
	if strings.Contains(html, "<script") || strings.Contains(html, "<b onload") {
		t.Error("markup of the study is in the page")
	}
}
