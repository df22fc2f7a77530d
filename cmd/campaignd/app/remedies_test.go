package app

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// declared returns the values of the constants of remedies that are declared so.
func declared(t *testing.T, so string) (values []string) {
	t.Helper()
	source := must.Get(os.ReadFile("../../../internal/ground/problem/remedy.go"))(t)
	for _, match := range regexp.MustCompile(`(?m)^\t`+so+` = "(\w+)"`).FindAllSubmatch(source, -1) {
		values = append(values, string(match[1]))
	}
	if len(values) == 0 {
		t.Fatalf("no constant is declared by %s", so)
	}
	return values
}

// Law: every action is a command of ours, with the store that the person named, as a
// shell takes it, and flags that the command has.
func TestRemediesAreCommands(t *testing.T) {
	about := commands{store: "my lab.campaign", file: "lab's.yaml"}
	resolutions := []string{
		string(events.ResolvedMeasured), string(events.ResolvedFailed),
		string(events.ResolvedInfeasible), string(events.ResolvedNotPerformed),
	}
	want := map[problem.Action]struct {
		remedy problem.Remedy
		how    string
	}{
		problem.Start:   {problem.Remedy{}, " with `campaignd run FILE`"},
		problem.Run:     {problem.Remedy{}, " with `campaignd run 'my lab.campaign'`"},
		problem.Suggest: {problem.Remedy{}, " with `campaignd suggest 'my lab.campaign'`"},
		problem.Resume:  {problem.Remedy{}, " with `campaignd resume 'my lab.campaign'`"},
		problem.Resolve: {
			problem.Remedy{Subject: "e7", Ways: resolutions},
			" with `campaignd resolve 'my lab.campaign' e7 measured|failed|infeasible|not-performed`",
		},
		problem.Cancel: {
			problem.Remedy{Subject: "e7", Ways: []string{problem.WayEndProgram, problem.WayPower}},
			" with `campaignd cancel 'my lab.campaign' e7 --end-program|--voided power`",
		},
		problem.Correct: {
			problem.Remedy{Subject: "e7", Ways: []string{string(events.ResolvedNotPerformed), problem.WayExclude}},
			" with `campaignd correct 'my lab.campaign' e7 --not-performed|--exclude --reason WHY`",
		},
		problem.Answer: {
			problem.Remedy{Subject: "q3", Ways: []string{string(events.LabelAccept), string(events.LabelReject)}},
			" with `campaignd tell 'my lab.campaign' q3 accept|reject`",
		},
		problem.CorrectAnswer: {
			problem.Remedy{Ways: []string{string(events.LabelAccept), string(events.LabelReject)}},
			" with `campaignd correct 'my lab.campaign' QUESTION accept|reject --reason WHY`",
		},
		problem.Tell: {problem.Remedy{Subject: "e7"}, " with `campaignd tell 'my lab.campaign' e7 VALUE`"},
		problem.Note: {problem.Remedy{Subject: "e7"}, " with `campaignd note 'my lab.campaign' WHAT --about e7`"},
		problem.Amend: {
			problem.Remedy{Settings: []problem.Setting{{Key: "budget.experiments", Value: "14"}}},
			`: set budget.experiments: 14 in the campaign file, then ` + "`campaignd amend 'lab'\\''s.yaml'`",
		},
		problem.Allow:  {problem.Remedy{Subject: "n1"}, " with `campaignd allow 'my lab.campaign' n1`"},
		problem.Export: {problem.Remedy{}, " with `campaignd export 'my lab.campaign'`"},
		problem.TakeOver: {
			problem.Remedy{},
			" with `campaignd export 'my lab.campaign'` and `campaignd import FILE TABLE.csv`",
		},
		problem.Review: {
			problem.Remedy{},
			" with `campaignd status 'my lab.campaign'` or `campaignd events 'my lab.campaign'`",
		},
		problem.Explain:  {problem.Remedy{Subject: "d3"}, " with `campaignd explain 'my lab.campaign' d3`"},
		problem.Diagnose: {problem.Remedy{}, " with `campaignd diagnose 'my lab.campaign'`"},
		problem.LogIn:    {problem.Remedy{}, ""},
		problem.Confirm:  {problem.Remedy{}, ""},
		problem.Trail:    {problem.Remedy{}, " with `campaignd account trail`"},
		problem.Count:    {problem.Remedy{Subject: "tips"}, " with `campaignd stock 'my lab.campaign' tips WHAT`"},
		problem.CountLab: {problem.Remedy{Subject: "rack"}, " with `campaignd stock --lab rack WHAT`"},
		problem.Service: {
			problem.Remedy{Subject: "oven", Ways: []string{problem.WayCalibrated}},
			" with `campaignd service oven --back --calibrated-until DATE`",
		},
		problem.AddAccount:    {problem.Remedy{}, " with `campaignd account add NAME --role ROLE`"},
		problem.ChangeAccount: {problem.Remedy{Subject: "bob"}, " with `campaignd account change bob --answers-as EXPERT`"},
		problem.Grant: {
			problem.Remedy{Subject: "bob", Ways: []string{"scientist", "admin"}}, " with `campaignd account grant bob scientist|admin`",
		},
		problem.SetPassword: {problem.Remedy{}, " with `campaignd account password NAME`"},
		problem.Unlock:      {problem.Remedy{}, " with `campaignd account unlock`"},
		problem.Enable:      {problem.Remedy{Subject: "bob"}, " with `campaignd account enable bob`"},
		problem.Disable:     {problem.Remedy{Subject: "bob"}, " with `campaignd account disable bob`"},
		problem.Complete: {
			problem.Remedy{Ways: []string{problem.WayValue, problem.WayActual, problem.WayExclude}},
			" with `--value VALUE`, `--actual COMPOSITION` or `--exclude`",
		},
	}
	root := newRoot(&app{registry: Builtin()})
	for _, name := range declared(t, `\w+\s+Action`) {
		action := problem.Action(name)
		w := want[action]
		w.remedy.Action = action
		how := about.how(w.remedy)
		if how != w.how {
			t.Errorf("%s is done%s, want%s", action, how, w.how)
		}
		for i, typed := range strings.Split(how, "`") {
			if i%2 == 0 || strings.HasPrefix(typed, "--") {
				continue
			}
			words := strings.Fields(typed)
			command, rest, err := root.Find(words[1:])
			if err != nil || command == root || (words[1] == "account" && len(rest) == len(words)-2) {
				t.Errorf("there is no command %q", typed)
				continue
			}
			for _, word := range strings.FieldsFunc(typed, func(r rune) bool { return r == ' ' || r == '|' }) {
				if name, ok := strings.CutPrefix(word, "--"); ok && command.Flags().Lookup(name) == nil {
					t.Errorf("%q: %s has no flag --%s", typed, command.Name(), name)
				}
			}
		}
	}
	for _, way := range declared(t, `Way\w+\s*`) {
		if parts[way] == "" {
			t.Errorf("nobody knows how to type %q", way)
		}
	}
	if how := about.how(problem.Remedy{Text: "restore it from a copy"}); how != "" { // no single command does it
		t.Errorf("what no command does is done%s", how)
	}
	for line, at := range map[string]commands{
		" with `campaignd service --server http://lab:7070 oven --back`":    {server: "http://lab:7070", store: "a/x.campaign"},
		" with `campaignd service --lab 'my lab' oven --back`":              {store: "my lab/x.campaign"},
		" with `campaignd service --lab postgres://ada@db/lab oven --back`": {store: "postgres://ada@db/lab/x"},
	} {
		if how := at.how(problem.Remedy{Action: problem.Service, Subject: "oven"}); how != line {
			t.Errorf("it is done%s, want%s", how, line)
		}
	}
	one := commands{store: "lab.campaign", campaign: "second"}.how(problem.Remedy{Action: problem.Resume})
	if one != " with `campaignd resume lab.campaign --campaign second`" {
		t.Errorf("of several campaigns one is resumed%s", one)
	}
}

// Law: what is typed for a path is that path, whatever is in it, for a shell.
func TestShellArg(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	for _, path := range []string{
		"lab.campaign", "my lab", "it's", `a"b`, "$HOME", "a;b", "#1", "~x", "[x]", "{a,b}", "a\nb", "-r", "é=λ", "!x", "a\\b", "",
	} {
		out, err := exec.CommandContext(t.Context(), sh, "-c", "printf %s "+shellArg(path)).Output()
		if got := strings.TrimPrefix(string(out), "./"); err != nil || got != path {
			t.Errorf("%q is typed as %s, which is %q, %v", path, shellArg(path), got, err)
		}
	}
}

// Law: an error is a message and what can be done, in one sentence; a piece of advice is
// sentences.
func TestRemediesInWords(t *testing.T) {
	remedies := []problem.Remedy{
		{Text: "settle it", Action: problem.Tell, Subject: "e7"},
		{Text: "start one", Action: problem.Start},
	}
	var about commands
	clause := about.clause("it is open", remedies)
	if want := "it is open; settle it with `campaignd tell e7 VALUE`, or start one with `campaignd run FILE`"; clause != want {
		t.Errorf("got %q, want %q", clause, want)
	}
	advice := about.advice("Look first.", remedies)
	if want := "Look first. Settle it with `campaignd tell e7 VALUE`. Start one with `campaignd run FILE`."; advice != want {
		t.Errorf("got %q, want %q", advice, want)
	}
}
