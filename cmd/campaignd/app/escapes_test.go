package app

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	tea "charm.land/bubbletea/v2"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// harmful are characters that rewrite a terminal or turn text around. FORGED stands at
// the beginning of what would be a line of its own.
func harmful() string {
	var b strings.Builder
	b.WriteString("x\x1b]0;title\a\x1b[2J\x9bwrong\nFORGED")
	for r := rune(0); r < 0x20; r++ {
		b.WriteRune(r)
	}
	for _, r := range "\x7f\u0080\u009b\u009d\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029" {
		b.WriteRune(r)
	}
	return b.String() + "\nFORGED"
}

// harmless checks that nothing of it came through.
func harmless(t *testing.T, what, text string) {
	t.Helper()
	for i, r := range text {
		switch {
		case r == '\n', r == '\t' && strings.Contains(what, "html"):
		case r < 0x20, r >= 0x7f && r <= 0x9f, r == 0x061c, r >= 0x200e && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			t.Errorf("%s: %U came through: %q", what, r, text[max(i-60, 0):min(i+20, len(text))])
			return
		}
	}
	if i := strings.Index("\n"+text, "\nFORGED"); i >= 0 && !strings.Contains(what, "html") && !strings.HasPrefix(what, "export") {
		t.Errorf("%s: a line was forged: %q", what, text[max(i-80, 0):min(i+20, len(text))])
	}
}

const everyText = `name: texts
description: XTEXT
parameters:
  - {name: lipf6, unit: XTEXT, description: XTEXT, min: 0.2, max: 2.1}
  - {name: dmc, description: XTEXT, min: 0, max: 1}
  - {name: salt, description: XTEXT, categories: [{name: XTEXT}, {name: LiFSI}]}
objective: {name: XTEXT, unit: XTEXT, goal: maximize, noise: 0.3}
excluded: [{name: XTEXT, where: {lipf6: {min: 2.05}}}]
initial: {experiments: 3, labels: 2}
policy: cobol
budget: {experiments: 9}
instrument: {manual: {instructions: XTEXT}}
experts: [{name: ada, terminal: {}}]
`

// Law: whatever files, people and programs said, nothing that is printed or reported
// rewrites the terminal, turns text around, or forges a line. A store is made in which
// every text is harmful, as a program that checks nothing would have written it, and
// every command that looks into it is run.
func TestNothingPrintedIsHarmful(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	do := func(want int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if code := Run(t.Context(), Builtin(), args, strings.NewReader(""), &out, &out); code != want {
			t.Fatalf("%v: exit code %d\n%s", args, code, &out)
		}
		harmless(t, strings.Join(args, " "), out.String())
		return out.String()
	}
	must.Do(t, os.WriteFile("clean.yaml", []byte(everyText), 0o600))
	do(0, "suggest", "clean.yaml")
	do(0, "tell", "q1", "accept", "--comment", "XTEXT")
	do(0, "suggest", "clean.yaml")
	do(0, "tell", "q2", "reject", "--comment", "XTEXT")
	do(0, "correct", "q2", "accept", "--reason", "XTEXT")
	do(0, "suggest", "clean.yaml")
	do(0, "tell", "e1", "9.1")
	do(0, "suggest", "clean.yaml")
	do(0, "tell", "e2", "--failed", "XTEXT")
	do(0, "suggest", "clean.yaml")
	do(0, "tell", "e3", "10.2")
	do(0, "correct", "e1", "--value", "9.3", "--reason", "XTEXT")
	do(0, "note", "XTEXT", "--about", "e1")
	do(0, "exclude", "--where", "lipf6=1.9..", "--reason", "XTEXT")
	do(0, "exclude", "--where", "dmc=0.9..", "--reason", "XTEXT")
	do(0, "allow", "n2", "--reason", "XTEXT")
	do(0, "suggest", "clean.yaml")
	do(0, "pause", "--reason", "XTEXT")
	do(0, "resume", "--reason", "XTEXT")
	do(0, "tell", "--parameters", "lipf6=1,dmc=0.5,salt=LiFSI", "11.5")
	do(0, "tell", "--parameters", "lipf6=0.8,dmc=0.5,salt=LiFSI", "--cannot", "XTEXT")
	do(0, "stop", "--reason", "XTEXT")

	// The same, with harmful texts.
	quoted := must.Get(json.Marshal(harmful()))(t)
	bad := string(quoted[1 : len(quoted)-1])
	from := must.Get(store.Open("texts.campaign", store.Options{}))(t)
	must.Do(t, os.Mkdir("bad", 0o700))
	to := must.Get(store.Open("bad/texts.campaign", store.Options{}))(t)
	var replaced int
	for e := range must.Each(t, from.Read(t.Context(), 0)) {
		replaced += strings.Count(string(e.Data), "XTEXT")
		e.Data = []byte(strings.ReplaceAll(string(e.Data), "XTEXT", bad))
		must.Get(to.Append(t.Context(), e.Campaign, e.Sequence-1, e))(t)
	}
	must.Do(t, to.Close())
	must.Do(t, from.Close())
	if replaced < 25 {
		t.Fatalf("only %d texts were replaced", replaced)
	}
	look := func(args ...string) {
		t.Helper()
		for _, extra := range [][]string{nil, {"--json"}} {
			args := append(append([]string{}, args...), extra...)
			var out, errors bytes.Buffer
			code := Run(t.Context(), Builtin(), args, strings.NewReader(""), &out, &errors)
			if out.Len()+errors.Len() == 0 || code == exitInput && extra == nil {
				t.Errorf("%v: code %d, %s", args, code, &errors)
			}
			harmless(t, strings.Join(args, " "), out.String())
			harmless(t, strings.Join(args, " ")+", its errors", errors.String())
			if extra != nil && args[0] != "export" && code == 0 && !json.Valid(out.Bytes()) && args[0] != "events" {
				t.Errorf("%v: no JSON any more", args)
			}
		}
	}
	const store = "bad/texts.campaign"
	must.Do(t, os.WriteFile("points.csv", []byte("lipf6,dmc,salt\n1,0.5,LiFSI\n"), 0o600))
	look("status", store)
	look("run", store)
	look("suggest", store)
	look("events", store)
	look("replay", store)
	look("audit", store)
	look("diagnose", store)
	look("predict", store, "--at", "points.csv")
	look("export", store)
	look("export", store, "--format", "jsonl")
	for _, what := range []string{"e1", "e2", "e5", "q1", "q2", "d1"} {
		look("explain", store, what)
	}
	look("whatif", store, "d1", "--policy", "lognei")
	look("note", store, "XTEXT again")
	look("report", store, "-o", "bad/report.html")
	page := must.Get(os.ReadFile("bad/report.html"))(t)
	harmless(t, "html", string(page))

	// Messages repeat what was wrong.
	for i, args := range [][]string{
		{"status", harmful()}, {"explain", store, harmful()}, {harmful()}, {"tell", store, harmful(), "1"},
		{"tell", store, "e1", harmful()}, {"exclude", store, "--where", harmful() + "=1", "--reason", "x"}, {"note", store, "x", "--as", harmful()},
	} {
		var out bytes.Buffer
		if code := Run(t.Context(), Builtin(), args, strings.NewReader(""), &out, &out); code == 0 {
			t.Errorf("message %d: %q was taken", i, args)
		}
		harmless(t, "message", out.String())
	}
	_ = os.WriteFile("bad.yaml", []byte("name: x\n\""+bad+"\": 1\nparameters:\n  - {name: \""+bad+"\", min: 0}\nobjective: {name: v, goal: \""+bad+"\"}\n"), 0o600)
	var out bytes.Buffer
	if code := Run(t.Context(), Builtin(), []string{"validate", "bad.yaml"}, strings.NewReader(""), &out, &out); code != exitInput {
		t.Errorf("a file full of it is valid: %s", &out)
	}
	harmless(t, "faults", out.String())
}

// What is drawn in a terminal holds the program's own sequences and no others.
func TestNothingDrawnIsHarmful(t *testing.T) {
	s := standing()
	s.Campaign, s.WaitingFor, s.Failure = harmful(), harmful(), harmful()
	s.Definition.Objective.Name, s.Definition.Parameters[0].Unit, s.BestMeasured.Unit = harmful(), harmful(), harmful()
	p := &panel{interrupt: func() {}}
	p.Update(tea.WindowSizeMsg{Width: 200, Height: 500})
	p.Update(s)
	p.Update(opened(console.Form{
		Key: "q1", Title: harmful(), Hint: harmful(), Problem: harmful(), Brief: harmful(),
		Body: func(int, int) []string { return []string{harmful()} }, More: console.Sentences(harmful())}))
	p.Update(tea.PasteMsg{Content: harmful()})
	for _, height := range []int{500, 24, 5} {
		p.Update(tea.WindowSizeMsg{Width: 200, Height: height})
		harmless(t, "the panel", withoutStyles(p.View().Content))
	}
	if drawn := p.View().Content; !strings.Contains(drawn, "\x1b[1m") || ansi.Strip(drawn) == drawn {
		t.Error("the panel has no styles")
	}

	var out screen
	l := newLive(strings.NewReader(""), &out, 0, func() {})
	l.remark(harmful())
	l.close()
	harmless(t, "remarks", strings.ReplaceAll(out.String(), "\nFORGED", ""))

	story := newTeller(nil, func(lines []string) { harmless(t, "an event", strings.Join(lines, "\n")) })
	for _, payload := range []events.Payload{
		&events.CampaignPaused{Reason: harmful()}, &events.ExperimentFailed{Experiment: "e1", Cause: harmful()}, &events.NoteAdded{Text: harmful()},
	} {
		e := must.Get(events.New("x", payload))(t)
		e.Actor = "person:\u202eada"
		story.tell(e, payload, false)
	}
}

// withoutStyles takes the program's own sequences away.
func withoutStyles(text string) string {
	for _, own := range []string{"1", "2", "22", "32", "33", "36", "39"} {
		text = strings.ReplaceAll(text, "\x1b["+own+"m", "")
	}
	return text
}
