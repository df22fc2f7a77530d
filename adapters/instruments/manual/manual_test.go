package manual_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/instrumenttest"
	"github.com/campaignd/campaignd/adapters/instruments/manual"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

func ptr(x float64) *float64 { return &x }

func defined() definition.Campaign {
	return definition.Campaign{
		Name: "bench",
		Parameters: []definition.Parameter{
			{Name: "lipf6", Unit: "mol/kg", Min: ptr(0.2), Max: ptr(2.1)},
			{Name: "solvent", Categories: []definition.CategoryDef{{Name: "EC"}, {Name: "PC"}}},
		},
		Objective: definition.Objective{
			Name: "conductivity",
			Unit: "mS/cm",
			Goal: definition.Maximize,
			Min:  ptr(0),
			Max:  ptr(40),
		},
	}
}

func command() instruments.Command {
	return instruments.Command{
		ID: "bench/e7", Campaign: "bench", Experiment: "e7", Replicate: 1,
		Parameters: definition.Point{"lipf6": definition.Number(1.1), "solvent": definition.Category("EC")},
	}
}

// person is a prompter at which prepared lines are entered; after them it
// waits for its context. It keeps the forms it was shown.
type person struct {
	mu    sync.Mutex
	lines []string
	forms []console.Form
	shown chan struct{} // a token for each form
}

func newPerson(lines ...string) *person {
	return &person{lines: lines, shown: make(chan struct{}, 100)}
}

func (p *person) Prompt(ctx context.Context, f console.Form) (string, error) {
	p.mu.Lock()
	p.forms = append(p.forms, f)
	p.shown <- struct{}{}
	if len(p.lines) > 0 {
		line := p.lines[0]
		p.lines = p.lines[1:]
		p.mu.Unlock()
		return line, nil
	}
	p.mu.Unlock()
	<-ctx.Done()
	return "", ctx.Err()
}

// Everything a person may enter, and what it means.
func TestEntering(t *testing.T) {
	asAsked := command().Parameters
	for _, c := range []struct {
		line   string
		status instruments.Status
		value  float64
		actual definition.Point
		cause  string
	}{
		{line: "12.9", status: instruments.Measured, value: 12.9, actual: asAsked},
		{line: " 12.9  mS/cm ", status: instruments.Measured, value: 12.9, actual: asAsked},
		{line: "12.9mS/cm", status: instruments.Measured, value: 12.9, actual: asAsked},
		{line: "1.29e1", status: instruments.Measured, value: 12.9, actual: asAsked},
		{line: "12.9 lipf6=1.08", status: instruments.Measured, value: 12.9,
			actual: definition.Point{"lipf6": definition.Number(1.08), "solvent": definition.Category("EC")}},
		{line: "12.9 mS/cm solvent=PC lipf6=1.08 mol/kg", status: instruments.Measured, value: 12.9,
			actual: definition.Point{"lipf6": definition.Number(1.08), "solvent": definition.Category("PC")}},
		{line: "failed the cell leaked", status: instruments.Failed, cause: "the cell leaked"},
		{line: "can't it does not dissolve", status: instruments.Infeasible, cause: "it does not dissolve"},
		{line: "cannot too thick", status: instruments.Infeasible, cause: "too thick"},
		{line: "again the door was open", status: instruments.Deferred, cause: "the door was open"},
		{line: "Failed no = 3", status: instruments.Failed, cause: "no = 3"},
		{line: "cancel", status: instruments.Cancelled, cause: "cancelled by the person who measures"},
		{line: "cancel out of EC", status: instruments.Cancelled,
			cause: "cancelled by the person who measures: out of EC"},
	} {
		p := newPerson(c.line)
		i := manual.New(manual.Settings{}, defined(), p)
		must.Do(t, i.Start(t.Context(), command()))
		want := instruments.Outcome{Status: c.status, Cause: c.cause}
		if c.actual != nil {
			want.Measurement = &events.Measurement{
				Actual:    c.actual,
				Objective: definition.Quantity{Name: "conductivity", Value: c.value, Unit: "mS/cm"},
			}
		}
		for range 2 { // the second time nobody is asked
			got, err := i.Await(t.Context(), command())
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%q: %+v, %v, want %+v", c.line, got, err, want)
			}
		}
		if len(p.forms) != 1 {
			t.Errorf("%q: asked %d times", c.line, len(p.forms))
		}
	}
}

// Law: the outcome stands: whoever is given it may change what they were given, and the
// next one is given what was entered.
func TestOutcomeIsACopy(t *testing.T) {
	i := manual.New(manual.Settings{}, defined(), newPerson("12.9 solvent=PC"))
	for range 2 {
		o := must.Get(i.Await(t.Context(), command()))(t)
		want := definition.Point{"lipf6": definition.Number(1.1), "solvent": definition.Category("PC")}
		if !reflect.DeepEqual(o.Measurement.Actual, want) || o.Measurement.Objective.Value != 12.9 {
			t.Fatalf("given %+v", o.Measurement)
		}
		o.Measurement.Actual["solvent"] = definition.Category("EC")
		delete(o.Measurement.Actual, "lipf6")
		o.Measurement.Objective.Value = 1
	}
}

// What is not understood is explained, and asked again.
func TestMalformedEntries(t *testing.T) {
	for line, want := range map[string]string{
		"":                  "nothing was entered",
		"good":              `"good" is not a number`,
		"12,900":            "may be 12.900 or 12900",
		"12.9 S/m":          `the unit is mS/cm and not "S/m"`,
		"NaN":               "not a finite number",
		"129":               "above the plausible maximum of 40",
		"12.9 water=1":      "the parameters are lipf6, solvent",
		"12.9 lipf6=":       "lipf6",
		"12.9 lipf6=1 M":    `lipf6: the unit is mol/kg and not "M"`,
		"12.9 lipf6=1100":   "another unit?",
		"12.9 solvent=DMC":  `"DMC"`,
		"12.9 solvent=":     "category",
		"failed":            "say why",
		"can't":             "say why",
		"again":             "say why",
		"lipf6=1.08":        "not a number",
		"12.9 13.1":         "convert",
		"12.9 lipf6=1.0e99": "far outside",
	} {
		p := newPerson(line, "cancel")
		i := manual.New(manual.Settings{}, defined(), p)
		if o, err := i.Await(t.Context(), command()); err != nil || o.Status != instruments.Cancelled {
			t.Fatalf("%q: %+v, %v", line, o, err)
		}
		if len(p.forms) != 2 || !strings.Contains(p.forms[1].Problem, want) {
			t.Errorf("%q: explained as %q, want %q", line, p.forms[1].Problem, want)
		}
	}
}

// Whatever is entered, an outcome comes of it only if the engine can use it,
// and a composition only if it was entered or asked for.
func TestAnyEntry(t *testing.T) {
	word := rapid.OneOf(
		rapid.SampledFrom([]string{"12.9", "-1", "1e400", "12,9", "mS/cm", "mS", "lipf6=1.08", "lipf6=", "solvent=PC",
			"solvent=1", "=", "==", "failed", "cancel", "mol/kg", "nan", "0x1p4"}),
		rapid.String(),
	)
	rapid.Check(t, func(r *rapid.T) {
		line := strings.Join(rapid.SliceOfN(word, 0, 5).Draw(r, "words"), " ")
		p := newPerson(line, "cancel")
		o := must.Get(manual.New(manual.Settings{}, defined(), p).Await(t.Context(), command()))(r)
		if err := instruments.CheckOutcome(defined(), o); err != nil {
			r.Fatalf("%q: %v", line, err)
		}
		if len(p.forms) == 2 && p.forms[1].Problem == "" {
			r.Fatalf("%q was not explained", line)
		}
	})
}

// The person sees the composition with units, the instructions, and after a
// restart that the experiment is not a new one.
func TestForm(t *testing.T) {
	p := newPerson("12.9")
	cmd := command()
	cmd.Replicate = 2
	cmd.Parameters["lipf6"] = definition.Number(1.10004217) // nobody weighs so finely
	i := manual.New(manual.Settings{Instructions: "Rinse twice."}, defined(), p)
	if fate, err := i.Recover(t.Context(), cmd); err != nil || fate != instruments.FateRunning {
		t.Fatalf("a command of another process: %v, %v", fate, err)
	}
	must.Get(i.Await(t.Context(), cmd))(t)
	text := strings.Join(p.forms[0].Body.Lines(80), "\n")
	for _, want := range []string{"lipf6    1.100 mol/kg", "solvent  EC", "replicate 2", "Rinse twice.",
		"started again"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown in:\n%s", want, text)
		}
	}
	if p.forms[0].Key != "e7" || !strings.Contains(p.forms[0].Hint, "mS/cm") {
		t.Errorf("%+v", p.forms[0])
	}
	if fate, err := i.Recover(t.Context(), cmd); err != nil || fate != instruments.FateFinished {
		t.Errorf("after the result: %v, %v", fate, err)
	}
}

// An ended context takes the form away and is not an outcome; the next Await asks
// again, and however many wait, the person is asked once.
func TestAwaitAgain(t *testing.T) {
	p := newPerson()
	i := manual.New(manual.Settings{}, defined(), p)
	must.Do(t, i.Start(t.Context(), command()))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := i.Await(ctx, command())
		done <- err
	}()
	<-p.shown
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("await: %v", err)
	}
	p.lines = []string{"12.9"}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if o, err := i.Await(t.Context(), command()); err != nil || o.Status != instruments.Measured {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
	wg.Wait()
	if len(p.forms) != 2 {
		t.Errorf("asked %d times, want 2", len(p.forms))
	}
}

// Law: what is called off before it is started is never shown as an experiment to
// make: the person says whether an earlier process has had it begun.
func TestCallingOffBeforeTheStart(t *testing.T) {
	p := newPerson("cancel")
	i := manual.New(manual.Settings{}, defined(), p)
	must.Do(t, i.Cancel(t.Context(), command()))
	must.Do(t, i.Start(t.Context(), command()))
	if o, err := i.Await(t.Context(), command()); err != nil || o.Status != instruments.Cancelled {
		t.Errorf("%+v, %v", o, err)
	}
	if len(p.forms) != 1 || !strings.Contains(p.forms[0].Title, "CALLED OFF") {
		t.Errorf("the person was shown %+v", p.forms)
	}
}

// Calling off asks the person, who may have begun already.
func TestCallingOff(t *testing.T) {
	for line, want := range map[string]instruments.Status{"cancel": instruments.Cancelled,
		"12.9": instruments.Measured} {
		p := newPerson()
		i := manual.New(manual.Settings{}, defined(), p)
		must.Do(t, i.Start(t.Context(), command()))
		got := make(chan instruments.Outcome)
		go func() {
			o, err := i.Await(t.Context(), command())
			if err != nil {
				t.Error(err)
			}
			got <- o
		}()
		<-p.shown
		p.mu.Lock()
		p.lines = []string{line}
		p.mu.Unlock()
		for range 2 {
			must.Do(t, i.Cancel(t.Context(), command()))
		}
		if o := <-got; o.Status != want {
			t.Errorf("%q: %+v, want %s", line, o, want)
		}
		if len(p.forms) != 2 || !strings.Contains(p.forms[1].Title, "CALLED OFF") ||
			strings.Contains(p.forms[0].Title, "CALLED OFF") {
			t.Errorf("forms: %+v", p.forms)
		}
		// Law: whoever must not begin is not offered to be asked again, nor to say that it
		// cannot be made, in the few words for a small screen as little as in all of them.
		for i, off := range []bool{false, true} {
			for what, text := range map[string]string{"hint": p.forms[i].Hint, "brief": p.forms[i].Brief} {
				offered := strings.Contains(text, "again") && strings.Contains(text, "can't")
				none := !strings.Contains(text, "again") && !strings.Contains(text, "can't")
				if !strings.Contains(text, "cancel") || off && !none || !off && !offered {
					t.Errorf("called off %t, the %s offers: %s", off, what, text)
				}
			}
		}
	}
}

// With plain lines: when the input ends there is an error and no outcome.
func TestInputEnds(t *testing.T) {
	var out strings.Builder
	i := manual.New(manual.Settings{}, defined(), console.NewLines(strings.NewReader("e7 oops\n"), &out, false))
	o, err := i.Await(t.Context(), command())
	if !errors.Is(err, console.ErrClosed) || o.Status != "" {
		t.Errorf("%+v, %v", o, err)
	}
	if !strings.Contains(out.String(), `e7> "oops" is not a number`) {
		t.Errorf("the person was shown:\n%s", out.String())
	}
}

// A command that does not fit the campaign is refused.
func TestRefuses(t *testing.T) {
	i := manual.New(manual.Settings{}, defined(), newPerson())
	cmd := command()
	delete(cmd.Parameters, "lipf6")
	if err := i.Start(t.Context(), cmd); !errors.Is(err, instruments.ErrRefused) {
		t.Error(err)
	}
	if fate, err := i.Recover(t.Context(), cmd); err != nil || fate != instruments.FateNotStarted {
		t.Errorf("%v, %v", fate, err)
	}
	more := command()
	more.Parameters["water"] = definition.Number(0)
	other := command()
	delete(other.Parameters, "lipf6")
	other.Parameters["water"] = definition.Number(0)
	for name, cmd := range map[string]instruments.Command{"a parameter more": more, "another parameter": other} {
		if err := i.Start(t.Context(), cmd); !errors.Is(err, instruments.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must.Do(t, i.Start(t.Context(), command()))
	cmd = command()
	cmd.Parameters["lipf6"] = definition.Number(2)
	if err := i.Start(t.Context(), cmd); !errors.Is(err, instruments.ErrRefused) {
		t.Errorf("the same ID with another composition: %v", err)
	}
}

// Law: the driver opens the instrument that the campaign file describes, at the terminal
// of the program, and none where the settings are not its own.
func TestDriver(t *testing.T) {
	def, p := defined(), newPerson("12.9")
	def.Instrument.Driver = manual.Choose(manual.Settings{Instructions: "Rinse twice."})
	inst := must.Get(manual.Driver.Open(t.Context(), def, instruments.Environment{Prompter: p}))(t)
	if o, err := inst.Await(t.Context(), command()); err != nil || o.Status != instruments.Measured {
		t.Errorf("%+v, %v", o, err)
	}
	if text := strings.Join(p.forms[0].Body.Lines(80), "\n"); !strings.Contains(text, "Rinse twice.") {
		t.Errorf("the person was shown:\n%s", text)
	}
	desc, err := inst.Describe(t.Context())
	if name, simulated := manual.Driver.Identify(def); err != nil || name != desc.Name || simulated != desc.Simulated {
		t.Errorf("it describes itself as %+v, %v, and is identified as %s, simulated: %t", desc, err, name, simulated)
	}
	for name, settings := range map[string]any{
		"a setting that it does not have": map[string]any{"command": []string{"./robot"}},
		"a setting of another type":       map[string]any{"instructions": 7},
	} {
		def.Instrument.Driver = definition.NewChoice(manual.Name, settings)
		if inst, err := manual.Driver.Open(t.Context(), def, instruments.Environment{Prompter: p}); err == nil || inst != nil {
			t.Errorf("%s: opened %v, %v", name, inst, err)
		}
	}
}

// It passes the suite of all instruments, but for the checks that ask software
// to know what only the person does: whether a command of an earlier process,
// or of none, was begun. It calls such a command running, and asks.
func TestSuite(t *testing.T) {
	var mu sync.Mutex
	notebook := make(map[string]bool) // what the person has measured outlives the process
	diligent := console.PromptFunc(func(ctx context.Context, f console.Form) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if strings.Contains(f.Title, "CALLED OFF") && !notebook[f.Key] {
			return "cancel", nil
		}
		notebook[f.Key] = true
		return "12.9 lipf6=1.08", nil
	})
	def := defined()
	report := must.Get(instrumenttest.Examine(t.Context(), instrumenttest.Env{
		Open: func(context.Context) (instruments.Instrument, error) {
			return manual.New(manual.Settings{}, def, diligent), nil
		},
		Definition: def,
		Points:     []definition.Point{command().Parameters},
		AllowRuns:  true,
		// as of every instrument that is a person
		AnswersUnseen: true,
		Patience:      10 * time.Second,
	}))(t)
	asksThePerson := []string{"never-started", "restart-before-start", "restart-after-completion"}
	for _, r := range report.Failed() {
		if !slices.Contains(asksThePerson, r.Check) {
			t.Errorf("%s: %s", r.Check, r.Reason)
		}
	}
	if len(report.Results) < 10 {
		t.Errorf("only %d checks ran", len(report.Results))
	}
}
