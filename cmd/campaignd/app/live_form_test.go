package app

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// screenOf is what a terminal shows of a text: lines that are too wide go on below,
// and only the last ones stay.
func screenOf(text string, width, height int) string {
	var rows []string
	for line := range strings.SplitSeq(strings.TrimSuffix(ansi.Strip(text), "\n"), "\n") {
		runes := []rune(line)
		for ; len(runes) > width; runes = runes[width:] {
			rows = append(rows, string(runes[:width]))
		}
		rows = append(rows, string(runes))
	}
	return strings.Join(rows[max(len(rows)-height, 0):], "\n")
}

// asked are questions about compositions of n parameters, and what a person must see
// of each in order to answer.
func askedAbout(n int) (questions []humans.Question, must [][]string) {
	base := humans.Question{ID: "bench/q3", Expert: "ada", Objective: definition.Objective{Name: "conductivity", Unit: "mS/cm", Goal: definition.Maximize},
		Explanation: "Which of the two shall be measured? The best so far is conductivity = 11.16 mS/cm (e3).", Expires: time.Now().Add(time.Hour)}
	low, high := 0.0, 1.0
	for i := range n {
		base.Parameters = append(base.Parameters, definition.Parameter{
			Name: fmt.Sprintf("component_%c", 'a'+i), Unit: "mol/kg", Description: fmt.Sprintf("how much there is of component %d", i), Min: &low, Max: &high})
	}
	at := func(k int) (definition.Point, []string) {
		p, shown := make(definition.Point), []string{}
		for i, par := range base.Parameters {
			x := math.Round(100*math.Mod(0.13*float64(1+i)+0.31*float64(k), 1)) / 100
			p[par.Name] = definition.Number(x)
			shown = append(shown, par.Name, fmt.Sprint(x))
		}
		return p, shown
	}
	prediction := &events.Prediction{Mean: 12.345, SD: 0.43, Unit: "mS/cm"}

	label := base
	point, shown := at(0)
	label.Form = events.FormLabel
	label.Options = []events.Option{{Parameters: point, Prediction: prediction, Belief: &events.Interval{Lower: -2, Upper: 1}}}
	questions, must = append(questions, label), append(must, append(shown, "ada, is this composition worth the exp", "12.35 ± 0.43"))

	for _, options := range []int{2, 3, 4} {
		q := base
		q.Form, q.Attributions = events.FormComparison, &events.Attributions{}
		all := []string{"12.35 ± 0.43"}
		for k := range options {
			point, shown := at(k)
			q.Options = append(q.Options, events.Option{Candidate: fmt.Sprint("c", k), Parameters: point, Prediction: prediction})
			all = append(all, shown...)
			for _, quantity := range []string{events.QuantityMean, events.QuantitySD, events.QuantityUCB} {
				s := events.Shapley{Candidate: fmt.Sprint("c", k), Quantity: quantity}
				for i, par := range base.Parameters {
					s.Parameters, s.Values = append(s.Parameters, par.Name), append(s.Values, float64(i-n/2)/3)
				}
				q.Attributions.Shapley = append(q.Attributions.Shapley, s)
			}
		}
		title := "which is better, A or B?"
		if options > 2 {
			title = "ada, order these from the best"
		}
		questions, must = append(questions, q), append(must, append(all, title))
	}

	for _, marks := range []bool{false, true} {
		estimate := base
		estimate.Form, estimate.Scale = events.FormEstimate, events.ScaleOf(base.Objective, marks)
		for k := range 40 {
			point, _ := at(k)
			estimate.Options = append(estimate.Options, events.Option{Parameters: point})
		}
		_, first := at(0)
		questions, must = append(questions, estimate), append(must, append(first, "row 1 of 40: ", "› 1 "))
	}

	pinpoint := base
	pinpoint.Form = events.FormPinpoint
	pinpoint.Suggestion = &events.Option{Parameters: point, Prediction: prediction}
	all := []string{"what would you measure next?", "0 to 1", "the campaign itself would take"}
	for _, par := range base.Parameters {
		all = append(all, par.Name)
	}
	return append(questions, pinpoint), append(must, all)
}

// formOf is the form in which a terminal asks a question.
func formOf(t *testing.T, q humans.Question) (form console.Form) {
	t.Helper()
	r := terminal.New("ada", console.PromptFunc(func(_ context.Context, f console.Form) (string, error) {
		form = f
		return "", errors.New("seen")
	}), time.Now)
	if _, err := r.Ask(t.Context(), q); err == nil {
		t.Fatal("not asked")
	}
	return form
}

// What a person chooses between, and the line in which they answer, are on the screen,
// whole, on every screen of usual size: as the program draws it, on a terminal that
// it cannot draw on, and in a pipe. The campaign's progress and the explanations give
// way.
func TestTheQuestionIsSeen(t *testing.T) {
	for _, n := range []int{3, 7, 15} {
		questions, must := askedAbout(n)
		for i, q := range questions {
			form := formOf(t, q)
			for _, size := range []struct{ width, height int }{{80, 24}, {50, 20}, {100, 40}, {120, 45}, {200, 60}} {
				name := fmt.Sprintf("%d parameters, %s of %d, %d×%d", n, q.Form, len(q.Options), size.width, size.height)
				check := func(how, text, prompt string) {
					t.Helper()
					screen := screenOf(text, size.width, size.height)
					seen := strings.Join(strings.Fields(strings.ReplaceAll(screen, "┃", " ")), " ")
					for _, want := range must[i] {
						if !strings.Contains(seen, want) {
							t.Errorf("%s, %s: %q cannot be seen:\n%s", name, how, want, screen)
							return
						}
					}
					if last := screen[strings.LastIndexByte(screen, '\n')+1:]; !strings.Contains(last, prompt) {
						t.Errorf("%s, %s: the last line is not %q:\n%s", name, how, prompt, screen)
					}
				}
				p := &panel{interrupt: func() {}, now: time.Now()}
				p.Update(tea.WindowSizeMsg{Width: size.width, Height: size.height})
				p.Update(standing())
				p.Update(opened(form))
				p.Update(opened(console.Form{Key: "e9", Title: "measure the conductivity"}))
				view := p.View().Content
				if rows := strings.Count(view, "\n") + 1; rows > size.height {
					t.Errorf("%s: %d lines are drawn", name, rows)
				}
				check("drawn", view, "█")

				var out strings.Builder
				lines := console.NewLines(strings.NewReader(""), &out, true)
				lines.Size = func() (int, int) { return size.width, size.height }
				if _, err := lines.Prompt(t.Context(), form); err == nil {
					t.Fatal("somebody answered")
				}
				check("not drawn", out.String()+"_", "_") // the cursor
			}
			var out strings.Builder
			if _, err := console.NewLines(strings.NewReader(""), &out, false).Prompt(t.Context(), form); err == nil {
				t.Fatal("somebody answered")
			}
			text := out.String()
			if table, more := strings.Index(text, form.Title[:20]), strings.Index(text, "to help you judge"); table < more || more < 0 {
				t.Errorf("in a pipe what is asked does not come last:\n%s", text)
			}
		}
	}
}

// Lines are broken once, where the screen ends: none is followed by one that had
// room on it.
func TestTextFillsTheScreen(t *testing.T) {
	questions, _ := askedAbout(3)
	for _, width := range []int{50, 80, 120} {
		p := &panel{interrupt: func() {}, now: time.Now()}
		p.Update(tea.WindowSizeMsg{Width: width, Height: 100})
		p.Update(standing())
		p.Update(opened(formOf(t, questions[1])))
		text := ansi.Strip(p.View().Content)
		from, to := strings.Index(text, "what each parameter adds"), strings.Index(text, "(how little is known)")
		if from < 0 || to < 0 {
			// the sentence is broken within: look at its lines
			to = strings.Index(text, "known)")
		}
		lines := strings.Split(text[from:to], "\n")
		for i := range len(lines) - 1 {
			line := strings.TrimPrefix(lines[i], formEdge)
			next, _, _ := strings.Cut(strings.TrimPrefix(lines[i+1], formEdge), " ")
			if len([]rune(line))+1+len([]rune(next)) <= width-len([]rune(formEdge))-1 && i > 0 {
				t.Errorf("at %d columns %q had room for %q", width, line, next)
			}
		}
	}
}

// What has no room is shown page by page, and the person comes back to the question;
// an answer is one on every page.
func TestPages(t *testing.T) {
	questions, _ := askedAbout(7)
	p := &panel{interrupt: func() {}, now: time.Now()}
	p.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	p.Update(standing())
	f := opened(formOf(t, questions[1]))
	p.Update(f)
	question := text(p)
	if !strings.Contains(question, "m: more") || strings.Contains(question, "what each parameter adds") {
		t.Fatalf("the question says nothing of more:\n%s", question)
	}
	var all strings.Builder
	for page := 1; ; page++ {
		typed(p, "m", "enter")
		now := text(p)
		if now == question {
			break
		}
		if rows := strings.Count(now, "\n") + 1; rows > 24 || page > 10 {
			t.Fatalf("page %d has %d lines:\n%s", page, rows, now)
		}
		all.WriteString(now)
	}
	for _, want := range []string{"what each parameter adds", "component_g", "maximize conductivity", "which is better, A or B?", "page 1 of"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%q is on no page:\n%s", want, &all)
		}
	}
	typed(p, "m", "enter", "B less viscous", "enter")
	if got := given(f); got != "B less viscous" {
		t.Errorf("an answer on a page is %q", got)
	}

	p.Update(tea.WindowSizeMsg{Width: 200, Height: 100}) // there is room for everything: m is not a word of ours
	all100 := opened(formOf(t, questions[1]))
	p.Update(all100)
	typed(p, "m", "enter")
	if given(all100) == "" {
		t.Error("m was taken though nothing is hidden")
	}
}

// What is typed is seen also where it is longer than the screen is wide.
func TestLongLinesAreSeen(t *testing.T) {
	questions, _ := askedAbout(15)
	p := &panel{interrupt: func() {}, now: time.Now()}
	p.Update(tea.WindowSizeMsg{Width: 50, Height: 20})
	p.Update(standing())
	p.Update(opened(formOf(t, questions[len(questions)-1])))
	typed(p, strings.Repeat("component_a=0.5 ", 12)+"the end")
	view := text(p)
	if rows := strings.Count(view, "\n") + 1; rows > 20 || !strings.HasSuffix(view, "the end█") {
		t.Errorf("%d lines, and what is typed cannot be seen:\n%s", rows, view)
	}
}
