// Package methods_test runs the programs of this folder and of examples/experts.
package methods_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/built"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// python is a Python that has the packages, or the test is skipped. CAMPAIGND_METHODS_PYTHON names one; otherwise it is
// the python3 of the path.
func python(t *testing.T, packages ...string) string {
	t.Helper()
	program := os.Getenv("CAMPAIGND_METHODS_PYTHON")
	if program == "" {
		program = "python3"
	}
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not here: %v", program, err)
	}
	for _, name := range packages {
		if err := exec.Command(path, "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('"+name+"') is None)").Run(); err != nil {
			t.Skipf("%s has no %s, which .ci/methods installs", path, name)
		}
	}
	return path
}

// command builds campaignd, and returns a function that runs it in a folder with a copy of an example's files, where
// python3 is the given one.
func command(t *testing.T, python string, files ...string) (run func(args ...string) string, folder string) {
	t.Helper()
	folder = t.TempDir()
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		must.Do(t, os.WriteFile(filepath.Join(folder, filepath.Base(file)), text, 0o600))
	}
	bin := t.TempDir()
	if err := os.Symlink(python, filepath.Join(bin, "python3")); err == nil {
		t.Setenv("PATH", bin+":"+filepath.Dir(python)+":"+os.Getenv("PATH"))
	}
	t.Setenv("PATH", filepath.Dir(python)+":"+os.Getenv("PATH"))
	program := built.Program(t)
	return func(args ...string) string {
		t.Helper()
		c := exec.Command(program, args...)
		c.Dir = folder
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("campaignd %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}, folder
}

func TestMain(m *testing.M) {
	code := m.Run()
	built.Remove()
	os.Exit(code)
}

// audited is what `audit --json` counts.
type audited struct {
	Decisions, Reproduced, Proposals int
	ProposalsAgain                   int `json:"proposals_again"`
	ProgramAnswers                   int `json:"program_answers"`
}

func audit(t *testing.T, text string) (a audited) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return a
}

// Law: a method of fifteen lines drives a campaign to its end; each decision is made again, and each proposal by the
// program, bit for bit. Without being asked to, an audit starts no program.
func TestRuleOfThumb(t *testing.T) {
	run, folder := command(t, python(t), "rule_of_thumb.py", "rule_of_thumb.yaml")
	run("method", "check", "rule_of_thumb.yaml")
	run("run", "rule_of_thumb.yaml")
	a := audit(t, run("audit", "--json", "--programs", "rule-of-thumb.campaign"))
	if a.Decisions != a.Reproduced || a.Proposals < 14 || a.ProposalsAgain != a.Proposals {
		t.Errorf("%+v", a)
	}
	must.Do(t, os.Remove(filepath.Join(folder, "rule_of_thumb.py")))
	if a := audit(t, run("audit", "--json", "rule-of-thumb.campaign")); a.Decisions != a.Reproduced || a.ProposalsAgain != 0 {
		t.Errorf("without the program: %+v", a)
	}
}

// Law: BoTorch as a method measures what BoTorch measures from the same starts, bit for bit, and passes the suite.
func TestBoTorch(t *testing.T) {
	program := python(t, "botorch")
	run, folder := command(t, program, "botorch_method.py", "botorch.yaml")
	run("method", "check", "botorch.yaml")
	study := `
name: equal
seeds: {first: 50001, count: 1}
experiments: 6
base: {initial: {experiments: 3, design: sobol}, outliers: {action: ignore}}
tasks: [branin]
policies:
  lognei: {next: lognei}
  botorch: {process: {command: [python3, botorch_method.py], reply_within: 5m, settings: {acquisition: qlognei, seed: 50001}}}
baseline: lognei
`
	file := filepath.Join(folder, "equal.yaml")
	must.Do(t, os.WriteFile(file, []byte(study), 0o600))
	run("simulate", "equal.yaml")
	peers := exec.Command(program, "internal/study/peers/botorch/peers.py", "--study", file, "--arms", "BoTorch qLogNEI", "--out", folder)
	peers.Dir = "../.."
	if out, err := peers.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ours := course(t, filepath.Join(folder, "equal.study", "results.jsonl"), "botorch")
	theirs := course(t, filepath.Join(folder, "peers.jsonl"), "BoTorch qLogNEI")
	if len(ours) != 6 || !reflect.DeepEqual(ours, theirs) {
		t.Errorf("it measured %v, and BoTorch %v", ours, theirs)
	}
}

// course is what a campaign of an arm measured.
func course(t *testing.T, file, arm string) (measured []float64) {
	t.Helper()
	text := must.Get(os.ReadFile(file))(t)
	for _, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var r struct {
			Arm    string
			Course []struct{ Measured float64 }
		}
		must.Do(t, json.Unmarshal(line, &r))
		if r.Arm == arm {
			for _, step := range r.Course {
				measured = append(measured, step.Measured)
			}
		}
	}
	return measured
}

// Law: BayBE is a method that passes the suite, and drives a campaign.
func TestBayBE(t *testing.T) {
	run, _ := command(t, python(t, "baybe"), "baybe_method.py", "baybe.yaml")
	run("method", "check", "baybe.yaml")
	run("run", "baybe.yaml")
	if a := audit(t, run("audit", "--json", "baybe.campaign")); a.Decisions != a.Reproduced || a.Proposals != 8 {
		t.Errorf("%+v", a)
	}
}

// endpoint stands in for a language model's: what it says to a prompt. It keeps the latest prompt and key.
func endpoint(t *testing.T, says func(prompt string) (content, refusal string, status int)) (url string, prompt, key *string) {
	t.Helper()
	prompt, key = new(string), new(string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Model    string
			Messages []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.URL.Path != "/v1/chat/completions" || request.Model != "stub" {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		*prompt, *key = request.Messages[len(request.Messages)-1].Content, r.Header.Get("Authorization")
		content, refusal, status := says(*prompt)
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{
			"message": map[string]any{"content": content, "refusal": refusal}}}})
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1", prompt, key
}

var options = regexp.MustCompile(`option (\d+): lipf6 = ([\d.]+)`)

// Law: a language model answers in an expert's place what it is asked, with units and results before it, and what that is
// worth is learned; its key stays out of the log. A model that refuses, talks, or is out of reach costs nothing but its help.
func TestLanguageModel(t *testing.T) {
	program := python(t)
	for name, c := range map[string]struct {
		says    func(prompt string) (content, refusal string, status int)
		helps   bool
		answers int
	}{
		"knows": {func(prompt string) (string, string, int) {
			var list []string
			for _, m := range options.FindAllStringSubmatch(prompt, -1) {
				var salt float64
				fmt.Sscan(m[2], &salt)
				list = append(list, fmt.Sprintf(`{"option":%s,"value":%.3f}`, m[1], 12-8*(salt-1)*(salt-1)))
			}
			return "Sure: {\"answer\":{\"estimates\":[" + strings.Join(list, ",") + "]},\"comment\":\"about 1 mol/kg\"} Good luck!", "", 200
		}, true, 1},
		"refuses": {func(string) (string, string, int) { return "", "I cannot help with chemicals.", 200 }, false, 1},
		"talks":   {func(string) (string, string, int) { return "It depends.", "", 200 }, false, 1},
		"lies": {func(string) (string, string, int) {
			return `{"answer":{"estimates":[{"option":999,"value":1}]}}`, "", 200
		}, false, 0},
		"is down": {func(string) (string, string, int) { return "", "", 503 }, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			run, folder := command(t, program, "../experts/llm.py", "../experts/llm.yaml")
			url, prompt, key := endpoint(t, c.says)
			file := filepath.Join(folder, "llm.yaml")
			text := must.Get(os.ReadFile(file))(t)
			for from, to := range map[string]string{"http://127.0.0.1:11434/v1": url, "llama3.1": "stub", "experiments: 20": "experiments: 8"} {
				text = bytes.Replace(text, []byte(from), []byte(to), 1)
			}
			must.Do(t, os.WriteFile(file, text, 0o600))
			t.Setenv("OPENAI_API_KEY", "sk-secret")
			said := run("run", "llm.yaml")
			if !strings.Contains(said, "8 of 8") || strings.Contains(said, "llm's word is worth") != c.helps {
				t.Errorf("%s", said)
			}
			if !strings.Contains(*prompt, "lipf6: from 0.2 to 2.1 mol/kg") || *key != "Bearer sk-secret" {
				t.Errorf("it was asked, with %q:\n%s", *key, *prompt)
			}
			if log := run("export", "llm.campaign", "--format", "jsonl"); strings.Contains(log, "sk-secret") || !strings.Contains(log, "mol/kg") {
				t.Errorf("the log holds the key, or is none: %d bytes", len(log))
			}
			if a := audit(t, run("audit", "--json", "llm.campaign")); a.Decisions != a.Reproduced || a.ProgramAnswers != c.answers {
				t.Errorf("%+v", a)
			}
		})
	}
}
