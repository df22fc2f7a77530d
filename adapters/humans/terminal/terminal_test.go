package terminal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/humantest"
	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func now() time.Time { return noon }

func question() humans.Question {
	return humans.Question{
		ID: "bench/q3", Campaign: "bench", Expert: "ada", Form: events.FormLabel,
		Parameters: []definition.Parameter{{Name: "lipf6", Unit: "mol/kg"}, {Name: "solvent"}},
		Options: []events.Option{{
			Parameters: definition.Point{"lipf6": definition.Number(1.1), "solvent": definition.Category("EC")},
		}},
		Objective: definition.Objective{Name: "conductivity", Unit: "mS/cm", Goal: definition.Maximize},
	}
}

// compare is a question between n compositions.
func compare(n int) humans.Question {
	q := question()
	q.Form, q.Options = events.FormComparison, nil
	for i := range n {
		q.Options = append(q.Options, events.Option{Parameters: definition.Point{
			"lipf6": definition.Number(1.1 + float64(i)), "solvent": definition.Category("EC")}})
	}
	return q
}

// pinpoint is a question for a composition, of which little is allowed.
func pinpoint() humans.Question {
	q := question()
	q.Form, q.Options = events.FormPinpoint, nil
	q.Parameters[1].Categories = []definition.CategoryDef{{Name: "EC"}, {Name: "EC:DMC"}}
	q.Allowed = func(p definition.Point) error {
		if x, _ := p["lipf6"].Float(); x > 2 {
			return errors.New("lipf6 must be at most 2 mol/kg")
		}
		return nil
	}
	return q
}

// estimate is a question for numbers of n compositions.
func estimate(n int) humans.Question {
	q := compare(n)
	q.Form, q.Scale = events.FormEstimate, events.ScaleOf(q.Objective, false)
	return q
}

// outcomes is a question for the better one of two outcomes.
func outcomes() humans.Question {
	q := compare(2)
	q.Form = events.FormOutcomes
	sd := 0.4
	for i, o := range []events.Outcome{
		{Experiment: "e3", Quantities: []definition.Quantity{{Name: "y", Value: 12.25, Unit: "mS"}}},
		{Quantities: []definition.Quantity{{Name: "y", Value: 13.126, Unit: "mS", SD: &sd}}},
	} {
		q.Options[i].Outcome = &o
	}
	return q
}

// Law: of each outcome it is shown whether it was measured, and where.
func TestOutcomesSayWhereTheyComeFrom(t *testing.T) {
	title, body := terminal.Show(outcomes())
	text := oneLine(title + " " + strings.Join(body, " "))
	for _, want := range []string{
		"which outcome would you rather have", "A y 12.25 mS (measured in e3)", "B y 13.13 ± 0.40 mS (expected, not measured)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}

// marked is estimate in marks.
func marked(n int) humans.Question {
	q := estimate(n)
	q.Scale = events.ScaleOf(q.Objective, true)
	return q
}

// suggesting is pinpoint with what the campaign would take.
func suggesting() humans.Question {
	q := pinpoint()
	q.Suggestion = &question().Options[0]
	return q
}

// What a person may enter, and what it means.
func TestAnswers(t *testing.T) {
	label := func(label events.Label, comment string) humans.Reply {
		return humans.Reply{Answer: events.Answer{Label: label}, Comment: comment}
	}
	wont := func(comment string) humans.Reply {
		return humans.Reply{Answer: events.Answer{Label: events.LabelReject}, Exclude: true, Comment: comment}
	}
	order := func(comment string, order ...int) humans.Reply {
		return humans.Reply{Answer: events.Answer{Order: order}, Comment: comment}
	}
	point := func(lipf6 float64, solvent, comment string) humans.Reply {
		p := definition.Point{"lipf6": definition.Number(lipf6), "solvent": definition.Category(solvent)}
		return humans.Reply{Answer: events.Answer{Point: p}, Comment: comment}
	}
	numbers := func(comment string, given ...events.Estimate) humans.Reply {
		return humans.Reply{Answer: events.Answer{Estimates: given}, Comment: comment}
	}
	type row = events.Estimate
	all := []row{{Option: 0, Value: 11.2}, {Option: 1, Value: 9}, {Option: 2, Value: -0.5}}
	const unsure = events.Label("")
	for _, c := range []struct {
		name    string
		q       humans.Question
		answers map[string]humans.Reply
	}{
		{"label", question(), map[string]humans.Reply{
			"a":                      label(events.LabelAccept, ""),
			"Accept":                 label(events.LabelAccept, ""),
			"accept  worth a try":    label(events.LabelAccept, "worth a try"),
			"r too viscous":          label(events.LabelReject, "too viscous"),
			"reject: too viscous":    label(events.LabelReject, "too viscous"),
			"w":                      wont(""),
			"won't: it may burn":     wont("it may burn"),
			"Exclude it may burn":    wont("it may burn"),
			"?":                      label(unsure, ""),
			"?never seen":            label(unsure, "never seen"),
			"can't tell, never seen": label(unsure, "never seen"),
			"Unsure":                 label(unsure, ""),
			"q3 r":                   label(events.LabelReject, ""),
		}},
		{"comparison of two", compare(2), map[string]humans.Reply{
			"A":               order("", 0, 1),
			"b":               order("", 1, 0),
			"B > A":           order("", 1, 0),
			"B less viscous":  order("less viscous", 1, 0),
			"B: a bit better": order("a bit better", 1, 0),
			"B a bit better":  order("a bit better", 1, 0),
			"?":               label(unsure, ""),
			"? both dull":     label(unsure, "both dull"),
		}},
		{"comparison of four", compare(4), map[string]humans.Reply{
			"B":                       order("", 1),
			"B A C":                   order("", 1, 0, 2, 3),
			"dcba":                    order("", 3, 2, 1, 0),
			"D, A":                    order("", 3, 0),
			"d a: the others are bad": order("the others are bad", 3, 0),
			"can't tell":              label(unsure, ""),
		}},
		{"pinpoint", pinpoint(), map[string]humans.Reply{
			"lipf6=1.2 solvent=EC":                          point(1.2, "EC", ""),
			"solvent = EC, lipf6 = 1.2 mol/kg":              point(1.2, "EC", ""),
			"1.2 EC":                                        point(1.2, "EC", ""),
			"1.2, EC:DMC":                                   point(1.2, "EC:DMC", ""),
			"lipf6=1.2 solvent=EC:DMC":                      point(1.2, "EC:DMC", ""),
			"lipf6=1.2 solvent=EC: as last year":            point(1.2, "EC", "as last year"),
			"lipf6=1.2 solvent=EC:DMC: as last year: 1 try": point(1.2, "EC:DMC", "as last year: 1 try"),
			"?":                  label(unsure, ""),
			"? ask the chemists": label(unsure, "ask the chemists"),
		}},
		{"pinpoint beside a suggestion", suggesting(), map[string]humans.Reply{
			"ok":                   point(1.1, "EC", ""),
			"OK: as good as any":   point(1.1, "EC", "as good as any"),
			"ok close to LP57":     point(1.1, "EC", "close to LP57"),
			"ok, as in: 2019":      point(1.1, "EC", "as in: 2019"),
			"lipf6=1.2 solvent=EC": point(1.2, "EC", ""),
		}},
		{"estimate", estimate(3), map[string]humans.Reply{
			"11.2\n9\n-0.5\nok":                  numbers("", all...),
			"11.2, 9, -0.5\nok":                  numbers("", all...),
			"11.2 9 -0.5\nOK: as last year":      numbers("as last year", all...),
			"3=-0.5\n11.2\n9\nok as last year":   numbers("as last year", all...),
			"11.2, 9, -0.5\nok : as last year":   numbers("as last year", all...),
			"2 9\n11.2 mS/cm\n-0.5\nyes":         numbers("", all...),
			"11.2\n\n-0.5\nok":                   numbers("", all[0], all[2]),
			"?\n9\nend\nok: the rest: no idea":   numbers("the rest: no idea", all[1]),
			"11.2\n8\nback\n9\n-0.5\nok":         numbers("", all...),
			"11.2\n9\n7\n3=-0.5\nok":             numbers("", all...),
			"11.2\n9\n7\n3=-\nok":                numbers("", all[:2]...),
			"7\n11.2, 9, -0.5\nok":               numbers("", all...),
			"11.2\nhigh\n9\n-0.5\n4=1\n9\nok":    numbers("", all...), // what is not an answer is asked for again
			"table\n11.2\nok\n9\nmore\n-0.5\nok": numbers("", all...),
			"q3 11.2, 9, -0.5\nq3 ok":            numbers("", all...),
			"q3 11.2\nq3\nq3 -0.5\nq3 ok":        numbers("", all[0], all[2]),
			"end\nok":                            numbers(""),
			"\n\n\nok: never seen":               numbers("never seen"),
		}},
		{"marks", marked(3), map[string]humans.Reply{
			"4\n6\n5\n1\nok":        numbers("", row{Option: 0, Value: 4}, row{Option: 1, Value: 5}, row{Option: 2, Value: 1}),
			"4,5,1\nok":             numbers("", row{Option: 0, Value: 4}, row{Option: 1, Value: 5}, row{Option: 2, Value: 1}),
			"3 2\n\ncan't tell\nok": numbers("", row{Option: 2, Value: 2}),
		}},
	} {
		for line, want := range c.answers {
			var out strings.Builder
			r := terminal.New("ada", console.NewLines(strings.NewReader(line+"\n"), &out, false), now)
			got, err := r.Ask(t.Context(), c.q)
			if err != nil || !got.Equal(want) {
				t.Errorf("%s, %q: %+v, %v, want %+v\n%s", c.name, line, got, err, want, &out)
			}
		}
	}
}

// What is not an answer is explained, with what to type instead, and asked again.
func TestExplains(t *testing.T) {
	for _, c := range []struct {
		name        string
		q           humans.Question
		line, right string
		want        string
	}{
		{"a word", question(), "maybe", "r", `"maybe" is not an answer: begin with a (accept), r (reject), w (won't)`},
		{"a value", question(), "12.9 mS/cm", "a", "is not an answer"},
		{"nearly a word", question(), "accepted by all", "a", "is not an answer"},
		{"no option", compare(2), "C", "A", "begin with A or B, the better one"},
		{"a label", compare(2), "accept", "A", "begin with A or B, the better one"},
		{"an option twice", compare(4), "A B A", "A", "name the best of A, B, C, D first"},
		{"a comment without colon", compare(4), "B less viscous", "B", "a comment after a colon"},
		{"a part", pinpoint(), "lipf6=1.2", "1.2 EC", "solvent is missing; write lipf6=… solvent=…"},
		{"a part in order", pinpoint(), "1.2", "1.2 EC", "solvent is missing"},
		{"nothing known", pinpoint(), "something new", "1.2 EC",
			`lipf6: "something" is not a number; solvent: "new" is none of EC, EC:DMC`},
		{"a slip", pinpoint(), "lipf=1.2 solvent=EC", "1.2 EC", "there is no parameter lipf; lipf6 is missing"},
		{"twice", pinpoint(), "lipf6=1 lipf6=2 solvent=EC", "1.2 EC", "lipf6 is there twice"},
		{"too many", pinpoint(), "1 EC 3", "1.2 EC", "3 values are more than the 2 parameters"},
		{"decimal comma", pinpoint(), "lipf6=1,200 solvent=EC", "1.2 EC", "may be 1.200 or 1200"},
		{"no number", pinpoint(), "lipf6=nan solvent=EC", "1.2 EC", "not a finite number"},
		{"a word for a number", estimate(3), "high", "end\nok", `"high" is not a number; write a number for row 1`},
		{"a decimal comma", estimate(3), "11,2", "end\nok", "write a decimal point, or a semicolon between numbers"},
		{"no mark", marked(3), "6", "end\nok", "6 is not a mark from 1, the worst, to 5, the best; write a mark from 1 to 5 for row 1"},
		{"too many numbers", estimate(3), "1 2 3 4", "end\nok", "4 numbers are more than the 3 rows"},
		{"impossible", pinpoint(), "lipf6=2.5 solvent=EC", "1.2 EC",
			"lipf6=2.5 solvent=EC cannot be measured: lipf6 must be at most 2 mol/kg"},
		{"ok to nothing, and a composition", pinpoint(), "ok 1.2 EC", "1.2 EC",
			"3 values are more than the 2 parameters"},
		{"ok to nothing", pinpoint(), "ok", "1.2 EC", "solvent is missing"},
	} {
		var out strings.Builder
		r := terminal.New("ada", console.NewLines(strings.NewReader(c.line+"\n"+c.right+"\n"), &out, false), now)
		if _, err := r.Ask(t.Context(), c.q); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if text := oneLine(out.String()); !strings.Contains(text, c.want) || strings.Count(text, "q3> ") != 2+strings.Count(c.right, "\n") {
			t.Errorf("%s: %q is not in:\n%s", c.name, c.want, &out)
		}
		narrow(t, c.name, out.String())
	}
	r := terminal.New("ada", console.NewLines(strings.NewReader("maybe\n"), io.Discard, false), now)
	if a, err := r.Ask(t.Context(), question()); !errors.Is(err, console.ErrClosed) || !a.Equal(humans.Reply{}) {
		t.Errorf("the input ended: %+v, %v", a, err)
	}
}

// oneLine undoes the breaking of lines.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// narrow checks that a screen of 80 columns is wide enough.
func narrow(t *testing.T, name, text string) {
	t.Helper()
	for _, line := range strings.Split(text, "\n") {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%s: a line of %d characters: %s", name, n, line)
		}
	}
}

// explained is a comparison with what the models base their view on.
func explained() humans.Question {
	q := compare(2)
	q.Parameters = append(q.Parameters, definition.Parameter{Name: "a rather long name of a parameter"})
	q.Options[0].Candidate, q.Options[1].Candidate = "c1", "c2"
	q.Options[0].Prediction = &events.Prediction{Mean: 12.345, SD: 0.43, Unit: "mS/cm"}
	names := []string{"lipf6", "solvent", "a rather long name of a parameter"}
	q.Attributions = &events.Attributions{}
	for _, candidate := range []string{"c1", "c2"} {
		for _, quantity := range []string{events.QuantityMean, events.QuantitySD, events.QuantityUCB} {
			q.Attributions.Shapley = append(q.Attributions.Shapley, events.Shapley{
				Candidate: candidate, Quantity: quantity, Base: 0.25, Parameters: names, Values: []float64{1.4,
					-0.6, -0.001}})
		}
	}
	return q
}

// Law: the Shapley values stand with the option and the quantity that they are
// of.
func TestAttributionsStandWithTheirOption(t *testing.T) {
	q := explained()
	for i := range q.Attributions.Shapley {
		q.Attributions.Shapley[i].Base = float64(10 * (i + 1)) // "in all" is 0.8 more
	}
	var out strings.Builder
	r := terminal.New("ada", console.NewLines(strings.NewReader("A\n"), &out, false), now)
	must.Get(r.Ask(t.Context(), q))(t)
	var sums []string
	for line := range strings.Lines(out.String()) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "in all"); ok {
			sums = append(sums, strings.Fields(rest)...)
		}
	}
	// For each option: bound, mean, sd.
	want := []string{"+30.80", "+10.80", "+20.80", "+60.80", "+40.80", "+50.80"}
	if !slices.Equal(sums, want) {
		t.Errorf("the sums are %q, want %q:\n%s", sums, want, &out)
	}
}

// The person sees everything the question carries, in 80 columns.
func TestShows(t *testing.T) {
	for _, c := range []struct {
		name   string
		q      humans.Question
		change func(*humans.Question)
		want   []string
	}{
		{"the composition", question(), nil,
			[]string{"lipf6 1.1 mol/kg", "solvent EC", "ada", "a accept, r reject, w won't, ? can't tell"}},
		{"a dosed amount", question(), func(q *humans.Question) {
			low, high := 0.0, 100.0
			q.Parameters[0].Min, q.Parameters[0].Max = &low, &high
			q.Steps = map[string]float64{"lipf6": 0.25}
		}, []string{"lipf6 1.10 mol/kg"}}, // its range alone would give no decimal
		{"a prediction", question(), func(q *humans.Question) {
			q.Options[0].Prediction = &events.Prediction{Mean: 12.3456, SD: 0.4321, Unit: "mS/cm"}
		}, []string{"conductivity 12.35 ± 0.43 mS/cm"}},
		{"a wide prediction", question(), func(q *humans.Question) {
			q.Options[0].Prediction = &events.Prediction{Mean: 1234.5, SD: 120, Unit: "mS/cm"}
		}, []string{"conductivity 1234 ± 120 mS/cm"}},
		{"a sure prediction", question(), func(q *humans.Question) {
			q.Options[0].Prediction = &events.Prediction{Mean: 12.3456}
		}, []string{"conductivity 12.35 ± 0"}},
		{"acceptance", question(),
			func(q *humans.Question) { q.Options[0].Belief = &events.Interval{Lower: -2, Upper: -1} },
			[]string{"you would accept it (rejection 12 % to 27 % likely)"}},
		{"rejection", question(),
			func(q *humans.Question) { q.Options[0].Belief = &events.Interval{Lower: 1, Upper: 2} },
			[]string{"you would reject it (rejection 73 % to 88 % likely)"}},
		{"doubt", question(), func(q *humans.Question) { q.Options[0].Belief = &events.Interval{Lower: -1, Upper: 2} },
			[]string{"leave it open (rejection 27 % to 88 % likely)"}},
		{"the reason and the time left", question(), func(q *humans.Question) {
			q.Explanation = "The belief is wide here, " + strings.Repeat("and so it is asked about, ", 5) + "for once."
			q.Asked, q.Expires = noon.Add(-time.Minute), noon.Add(119*time.Second)
		}, []string{"The belief is wide here,", "answer within 1m59s"}},
		{"two compositions", explained(), nil, []string{
			"ada, which is better, A or B?", "* lipf6 (mol/kg) 1.1 2.1", " solvent EC EC", "predicted (mS/cm) 12.35 ± 0.43 ?",
			"maximize conductivity (mS/cm)", "A or B, ? can't tell"}},
		{"what the models see", explained(), nil, []string{
			"A bound mean sd lipf6 +1.40 +++++++ +1.40 +++++++ +1.40 +++++++ solvent -0.60 --- -0.60 --- -0.60 ---",
			"a rather long name of a… 0.00 0.00 0.00", "in all +1.05", "lipf6 and solvent count most"}},
		{"the plane of the strongest", explained(), func(q *humans.Question) {
			q.Attributions.Plane = &events.Plane{Candidate: "c2", X: "lipf6", Y: "dmc", Xs: []float64{1.23456, 2}, Ys: []float64{0, 0.5},
				Mean: [][]float64{{1, 2}, {4, 3}}, SD: [][]float64{{1, 1}, {0.5, 1}}}
		}, []string{"lipf6 and dmc count most: with the rest as in B the model expects the best conductivity, 4.00 ± 0.50 mS/cm, near lipf6 1.23 mol/kg, dmc 0.5"}},
		{"eight compositions", compare(8), nil, []string{
			"order these from the best to the worst: A, B, C, D, E, F, G, H", "* lipf6 (mol/kg) 1.1 2.1 3.1 4.1 5.1 6.1 7.1 8.1", "the letters, best first, as in B A C"}},
		{"long values", compare(8), func(q *humans.Question) {
			for i := range q.Options {
				q.Options[i].Parameters["solvent"] = definition.Category(fmt.Sprint("a solvent of many words ", i))
			}
		}, []string{"many words 0", "many words 7", "8.1"}},
		{"what may be named", pinpoint(), func(q *humans.Question) {
			low, high := 0.2, 2.1
			q.Parameters[0].Min, q.Parameters[0].Max = &low, &high
		}, []string{"ada, what would you measure next?", "lipf6 0.2 to 2.1 mol/kg", "solvent EC, EC:DMC", "written as in lipf6=0.2 solvent=EC",
			"NAME=VALUE for each"}},
		{"twenty to be estimated", estimate(20), nil, []string{
			"ada, row 1 of 20: what conductivity (mS/cm) do you expect?", "lipf6 solvent expected mol/kg mS/cm › 1 1.1 EC 2 2.1 EC",
			"20 20.1 EC", "a number for row 1, Enter leaves it out; 3=11.2 for row 3",
			"shall this be sent? It says that you can't tell", "20 20.1 EC –"}},
		{"two to be marked", marked(2), nil, []string{
			"ada, row 1 of 2: how good, from 1 (worst) to 5 (best)?", "lipf6 solvent mark", "a mark from 1 to 5 for row 1", "2=4 for row 2"}},
		{"what the campaign would take", suggesting(), func(q *humans.Question) {
			q.Suggestion.Prediction = &events.Prediction{Mean: 12.3456, SD: 0.4321, Unit: "mS/cm"}
		}, []string{"the campaign itself would take lipf6=1.1 solvent=EC and expects conductivity 12.35 ± 0.43 mS/cm there", "ok as above"}},
	} {
		q := c.q
		if c.change != nil {
			c.change(&q)
		}
		right := map[events.Form]string{events.FormLabel: "a", events.FormComparison: "A",
			events.FormPinpoint: "1.2 EC", events.FormEstimate: "end\nok"}[q.Form]
		var out strings.Builder
		lines := console.NewLines(strings.NewReader(right+"\n"), &out, false)
		var got console.Form
		r := terminal.New("ada", console.PromptFunc(func(ctx context.Context, f console.Form) (string, error) {
			got = f
			return lines.Prompt(ctx, f)
		}), now)
		must.Get(r.Ask(t.Context(), q))(t)
		text := oneLine(out.String())
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in:\n%s", c.name, want, &out)
			}
		}
		narrow(t, c.name, out.String())
		if got.Key != "q3" || got.Expires != q.Expires {
			t.Errorf("%s: key %q, expires %v", c.name, got.Key, got.Expires)
		}
	}
}

// Law: a question of every form can be shown.
func TestEveryForm(t *testing.T) {
	questions := map[events.Form]humans.Question{
		events.FormLabel: question(), events.FormComparison: compare(2), events.FormPinpoint: pinpoint(),
		events.FormEstimate: estimate(20), events.FormOutcomes: outcomes(),
	}
	for _, form := range events.Forms() {
		q, known := questions[form]
		if !known {
			t.Errorf("no %s is shown in these tests: add one", form)
			continue
		}
		if title, body := terminal.Show(q); title == "" || len(body) == 0 {
			t.Errorf("a %s is shown as %q, %q", form, title, body)
		}
	}
}

// Nothing is said twice, and numbers have the digits that matter.
func TestSaysThingsOnce(t *testing.T) {
	low, high := 0.2, 2.1
	q := question()
	q.Options[0].Prediction = &events.Prediction{Mean: 10.4876, SD: 0.7216, Unit: "mS/cm"}
	q.Explanation = "The model expects conductivity = 10.49 ± 0.72 mS/cm here; the best so far is 11.2 (e3)."
	_, body := terminal.Show(q)
	if text := oneLine(strings.Join(body, " ")); strings.Count(strings.ToLower(text),
		"the model expects") != 1 || !strings.Contains(text, "the best so far is 11.2") {
		t.Errorf("said twice, or not at all: %s", text)
	}
	named := suggesting()
	named.Parameters[0].Min, named.Parameters[0].Max = &low, &high
	named.Suggestion.Parameters = definition.Point{"lipf6": definition.Number(0.466597),
		"solvent": definition.Category("EC")}
	if _, body := terminal.Show(named); !strings.Contains(strings.Join(body, "\n"), "lipf6=0.47 ") {
		t.Errorf("the digits that matter are two: %q", body)
	}
}

// typist is a person at a terminal: they read the screen and type.
type typist struct {
	keys io.Writer

	mu      sync.Mutex
	screen  strings.Builder
	written chan struct{} // closed and replaced at each write
}

func (p *typist) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.screen.Write(b)
	close(p.written)
	p.written = make(chan struct{})
	return len(b), nil
}

func (p *typist) Sees(ctx context.Context, q humans.Question) error {
	key := path.Base(q.ID)
	for {
		p.mu.Lock()
		text, written := p.screen.String(), p.written
		p.mu.Unlock()
		// Shown, and more often than taken away.
		if strings.Count(text, "\n"+key+"> ") > strings.Count(text, "\n"+key+" is no longer asked") {
			return nil
		}
		select {
		case <-written:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (p *typist) Answers(q humans.Question, a humans.Reply) error {
	if q.Form == events.FormEstimate {
		_, err := fmt.Fprintf(p.keys, "%[1]s %[2]v\n%[1]s ok: %[3]s\n", path.Base(q.ID),
			humans.NewSheet(len(q.Options), *q.Scale, a.Answer.Estimates), a.Comment)
		return err
	}
	said := string(a.Answer.Label)
	if a.Exclude {
		said = "exclude"
	}
	if a.Answer.Unsure() {
		said = "unsure"
	}
	for _, i := range a.Answer.Order {
		said += humans.OptionName(i)
	}
	for _, par := range q.Parameters {
		if v, ok := a.Answer.Point[par.Name]; ok {
			said += fmt.Sprintf(" %s=%s", par.Name, v)
		}
	}
	_, err := fmt.Fprintf(p.keys, "%s %s: %s\n", path.Base(q.ID), said, a.Comment)
	return err
}

// It passes the suite of all reviewers, with a person at a terminal.
func TestSuite(t *testing.T) {
	in, keys := io.Pipe()
	defer keys.Close()
	p := &typist{keys: keys, written: make(chan struct{})}
	lines := console.NewLines(in, p, true)
	other := question()
	other.Options[0].Parameters = definition.Point{"lipf6": definition.Number(0.5),
		"solvent": definition.Category("EC:DMC")}
	humantest.Run(t, humantest.Env{
		Open:      func() humans.Reviewer { return terminal.New("ada", lines, now) },
		Questions: []humans.Question{question(), other, compare(2), compare(3), pinpoint(), estimate(12), marked(2), outcomes()},
		Person:    p,
		Patience:  20 * time.Second,
	})
}

// Law: an interval of a rejection's probability whose ends are the same percent
// is told as one number.
func TestBeliefInWords(t *testing.T) {
	for _, c := range []struct {
		belief events.Interval
		want   string
	}{
		{events.Interval{Lower: -0.001, Upper: 0.001}, "leave it open (rejection about 50 % likely)"},
		{events.Interval{Lower: -1, Upper: 1}, "leave it open (rejection 27 % to 73 % likely)"},
		{events.Interval{Lower: 1, Upper: 1.001}, "you would reject it (rejection about 73 % likely)"},
		{events.Interval{Lower: -2, Upper: -1}, "you would accept it (rejection 12 % to 27 % likely)"},
	} {
		q := question()
		q.Options[0].Belief = &c.belief
		var out strings.Builder
		r := terminal.New("ada", console.NewLines(strings.NewReader("a\n"), &out, false), now)
		must.Get(r.Ask(t.Context(), q))(t)
		if text := oneLine(out.String()); !strings.Contains(text, c.want) {
			t.Errorf("%+v: %q is not in\n%s", c.belief, c.want, text)
		}
	}
}
