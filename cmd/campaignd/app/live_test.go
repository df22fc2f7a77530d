package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/coexbo"
	"github.com/campaignd/campaignd/policies/duel"
	"github.com/campaignd/campaignd/projections/campaign"
)

// standing is a campaign in the middle.
func standing() view.Campaign {
	low, high := 0.0, 2.0
	return view.Campaign{
		Status: campaign.Running, Done: 3, Open: 1, Budget: 10, Asked: 2,
		Summary: engine.Summary{Campaign: "tiny", Labels: 12, Helps: []policies.Help{{Expert: "ada", Labels: 12, Helps: 0.91}}, Bests: engine.Bests{
			BestMeasured: &engine.Best{Parameters: definition.Point{"salt": definition.Number(1.2)}, Value: 13.61, Unit: "mS/cm", Experiment: "e2"},
			BestByModel:  &engine.ModelBest{Parameters: definition.Point{"salt": definition.Number(1.1)}, Mean: 13.42, SD: 0.11, Unit: "mS/cm", Experiment: "e3"},
		}},
		Definition: &definition.Campaign{
			Name: "tiny", Parameters: []definition.Parameter{{Name: "salt", Unit: "mol/kg", Min: &low, Max: &high}},
			Objective: definition.Objective{Name: "conductivity", Unit: "mS/cm", Goal: definition.Maximize}, Experts: []definition.Expert{{Name: "ada"}},
		},
		Trust: []campaign.Trust{{Expert: "ada", Lambda: 0.25}}, WaitingFor: "acme/mixer to measure e4", Values: []campaign.Judged{{Value: 1}, {Value: 3}, {Value: 2}},
	}
}

func text(p *panel) string { return ansi.Strip(p.View().Content) }

// The panel shows what a person wants to know at a glance.
func TestPanelShows(t *testing.T) {
	p := &panel{width: 80}
	p.Update(standing())
	view := text(p)
	for _, want := range []string{
		"tiny", "3 of 10 experiments, 7 left",
		"by the model: 13.42 ± 0.11 mS/cm  in e3", "measured: 13.61 mS/cm  in e2", "salt 1.10 mol/kg",
		"12 given, 2 questions asked", "ada helps with probability 0.91 (belief counts 0.25, weight λ)",
		"acme/mixer to measure e4", "▁█▅", "Ctrl-C",
	} {
		if !strings.Contains(view, want) {
			t.Errorf("%q is missing in\n%s", want, view)
		}
	}
	for _, width := range []int{20, 40, 200} {
		p.Update(tea.WindowSizeMsg{Width: width, Height: 24})
		for line := range strings.Lines(p.View().Content) {
			if w := ansi.StringWidth(strings.TrimRight(line, "\n")); w > width {
				t.Errorf("a line of %d in a terminal of %d: %q", w, width, line)
			}
		}
	}
	stuck := standing()
	stuck.Unresolved = []string{"e4"}
	p.Update(stuck)
	if !strings.Contains(text(p), "campaignd resolve e4") {
		t.Errorf("a person is not told what to do:\n%s", text(p))
	}
}

// Law: the bar follows the budget that is nearer to its end, be it of experiments, of cost or of time.
func TestPanelFollowsTheBudget(t *testing.T) {
	for _, c := range []struct {
		spent   float64 // of a cost of 80
		elapsed time.Duration
		want    int // of 40
	}{{0, 0, 12}, {16, 0, 12}, {60, 0, 30}, {90, 0, 40}, {60, 9 * time.Hour, 36}, {0, 20 * time.Hour, 40}} {
		s := standing()
		def := *s.Definition
		def.Budget.Time = definition.Duration(10 * time.Hour)
		s.Definition, s.Open, s.Cost = &def, 0, &campaign.Cost{Spent: c.spent, Budget: 80, Unit: "h"}
		p := &panel{width: 80, now: s.Began.Add(c.elapsed)}
		p.Update(s)
		p.now = s.Began.Add(c.elapsed)
		if got := strings.Count(text(p), "━"); got != c.want {
			t.Errorf("%v spent in %v: %d of the bar, want %d\n%s", c.spent, c.elapsed, got, c.want, text(p))
		}
	}
}

// A campaign that measures nothing is shown by its comparisons and by what each
// expert prefers; nothing speaks of measurements, labels or trust.
func TestPanelShowsComparisons(t *testing.T) {
	s := standing()
	def := *s.Definition
	def.Policy.Duel = duel.MRLPF{}.Choice()
	s.Definition, s.Bests, s.Trust, s.Values, s.WaitingFor = &def, engine.Bests{}, nil, nil, "ada to answer q4"
	s.Preferred = []policies.Best{{Expert: "ada", Parameters: definition.Point{"salt": definition.Number(1.1)}}}
	p := &panel{width: 80}
	p.Update(s)
	view := text(p)
	for _, want := range []string{"3 of 10 comparisons, 7 left", "prefers salt 1.10 mol/kg", "ada to answer q4"} {
		if !strings.Contains(view, want) {
			t.Errorf("%q is missing in\n%s", want, view)
		}
	}
	for _, bad := range []string{"experiment", "labels", "trust", "best so far"} {
		if strings.Contains(view, bad) {
			t.Errorf("%q has no place in\n%s", bad, view)
		}
	}
}

// Of choices between measured candidates the panel says how many there were, and
// whether the last one was right.
func TestPanelShowsChoices(t *testing.T) {
	s := standing()
	def := *s.Definition
	def.Policy = definition.Policy{Trust: coexbo.CoExBO{}.Choice(), Handover: coexbo.Choose{}.Choice()}
	s.Definition, s.Labels, s.Trust, s.Helps, s.Comparisons = &def, 0, nil, nil, 14
	s.Review = &events.ChoiceReview{Question: "q14", Expert: "ada", Experiment: "e3", Probability: 0.93}
	p := &panel{width: 80}
	p.Update(s)
	view := text(p)
	for _, want := range []string{"comparisons  14 given, 2 questions asked", "ada was right with probability 0.93 (q14)", "13.42 ± 0.11 mS/cm"} {
		if !strings.Contains(view, want) {
			t.Errorf("%q is missing in\n%s", want, view)
		}
	}
	if strings.Contains(view, "trust") || strings.Contains(view, "labels") {
		t.Errorf("there are neither labels nor trust in\n%s", view)
	}
}

// typed is what Update gets when a person types.
func typed(p *panel, keys ...string) {
	for _, k := range keys {
		switch k {
		case "enter":
			p.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
		case "tab":
			p.Update(tea.KeyPressMsg{Code: tea.KeyTab})
		case "backspace":
			p.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
		case "ctrl+c":
			p.Update(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
		default:
			for _, r := range k {
				p.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
			}
		}
	}
}

// opened is a form as the panel gets it, given the line that filled it in; "" where none has.
func opened(f console.Form) *openForm { return &openForm{Pending: console.NewPending(f)} }

func given(f *openForm) string {
	ended := make(chan struct{})
	close(ended)
	line, _ := f.Wait(context.Background(), ended, nil)
	return line
}

// What is typed goes to the form at the front and to no other; what is typed
// while nothing is asked goes nowhere.
func TestPanelForms(t *testing.T) {
	interrupts := 0
	p := &panel{width: 80, interrupt: func() { interrupts++ }}
	p.Update(standing())
	typed(p, "accept", "enter")

	question := opened(console.Form{Key: "q1", Title: "ada, worth it?", Body: console.Sentences("salt 1.1"), Hint: "a, r or ?"})
	measure := opened(console.Form{Key: "e4", Title: "measure the conductivity"})
	p.Update(question)
	p.Update(measure)
	typed(p, "a goodx", "backspace")
	if view := text(p); !strings.Contains(view, "› a good█") || !strings.Contains(view, "e4  measure the conductivity (Tab)") {
		t.Errorf("not both forms, or not what was typed:\n%s", view)
	}
	typed(p, "tab", "12.5", "enter", "enter")
	if got := given(measure); got != "12.5" {
		t.Errorf("e4 got %q", got)
	}
	typed(p, "enter")
	if got := given(question); got != "a good" {
		t.Errorf("q1 got %q", got)
	}
	if len(p.forms) != 0 {
		t.Errorf("%d forms are left", len(p.forms))
	}
	typed(p, "ctrl+c")
	if interrupts != 1 || !strings.Contains(text(p), "leaving") {
		t.Errorf("%d interrupts; the panel says\n%s", interrupts, text(p))
	}
}

// A form that goes on takes line after line in its place, empty ones where they say
// something, and is answered once; a column that is pasted is one line.
func TestPanelGoesOn(t *testing.T) {
	p := &panel{width: 80}
	p.Update(standing())
	var lines []string
	var then func(line string) (string, *console.Form)
	then = func(line string) (string, *console.Form) {
		if lines = append(lines, line); line == "ok" {
			return strings.Join(lines, "|"), nil
		}
		return "", &console.Form{Key: "q1", Title: fmt.Sprintf("row %d?", len(lines)+1), Blank: len(lines) < 3, Then: then}
	}
	sitting := opened(console.Form{Key: "q1", Title: "row 1?", Blank: true, Then: then})
	p.Update(sitting)
	p.Update(opened(console.Form{Key: "e4", Title: "measure"}))
	typed(p, "1.5", "enter", "enter")
	if !strings.Contains(text(p), "row 3?") {
		t.Errorf("after two lines the panel says\n%s", text(p))
	}
	p.Update(tea.PasteMsg{Content: "4\n5\r\n6\n"})
	typed(p, "enter", "enter", "ok", "enter") // the second says nothing any more
	if got := given(sitting); got != "1.5||4 5 6|ok" {
		t.Errorf("it is answered with %q", got)
	}
	if len(p.forms) != 1 || p.forms[0].Form.Key != "e4" {
		t.Errorf("%d forms are left", len(p.forms))
	}
}

// A form that is asked again because of a problem stays at the front.
func TestPanelAsksAgain(t *testing.T) {
	p := &panel{width: 80}
	p.Update(standing())
	p.Update(opened(console.Form{Key: "e4"}))
	p.Update(opened(console.Form{Key: "q1", Problem: `"x" is not an answer`}))
	if p.forms[0].Form.Key != "q1" || !strings.Contains(text(p), `"x" is not an answer`) {
		t.Errorf("the front is %s:\n%s", p.forms[0].Form.Key, text(p))
	}
}

// screen is what was written to a terminal; unlike a file's, a buffer's writes
// must not meet.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// The program itself, without a terminal: prompts get their lines, a prompt that
// is cancelled is an error, and closing loses no line that was to be printed.
func TestLive(t *testing.T) {
	in, keyboard := io.Pipe()
	var out screen
	l := newLive(in, &out, 0, func() {})
	l.remark("an early remark")
	l.open()
	l.stands(standing())

	line := make(chan string, 1)
	go func() {
		answer, err := l.Prompt(t.Context(), console.Form{Key: "q1", Title: "worth it?"})
		if err != nil {
			answer = err.Error()
		}
		line <- answer
	}()
	typing := make(chan struct{})
	go func() {
		defer close(typing)
		for { // the form may not be open yet: a person would wait for it
			select {
			case <-time.After(20 * time.Millisecond):
			case <-t.Context().Done():
				return
			}
			if _, err := keyboard.Write([]byte("r\r")); err != nil {
				return
			}
		}
	}()
	if got := <-line; !slices.Contains([]string{"r", "rr", "rrr"}, got) {
		t.Errorf("the prompt got %q", got)
	}
	keyboard.Close()
	<-typing

	cancelled, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := l.Prompt(cancelled, console.Form{Key: "q2"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a cancelled prompt: %v", err)
	}
	for _, text := range []string{"first", "second", "third"} {
		l.remark(text)
	}
	l.close()
	l.close()
	printed := ansi.Strip(out.String())
	at := -1
	for _, want := range []string{"an early remark", "first", "second", "third"} {
		i := strings.LastIndex(printed, want)
		if i <= at {
			t.Errorf("%q is missing or out of order", want)
		}
		at = i
	}
	if _, err := l.Prompt(t.Context(), console.Form{Key: "q3"}); !errors.Is(err, console.ErrClosed) {
		t.Errorf("a prompt after the end: %v", err)
	}
}
