package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/adapters/instruments/manual"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/space"
)

// document is a parsed report.
type document struct {
	t    *testing.T
	root *html.Node
}

func parse(t *testing.T, text string) document {
	t.Helper()
	root := must.Get(html.Parse(strings.NewReader(text)))(t)
	return document{t, root}
}

// each visits every element.
func (d document) each(visit func(*html.Node)) {
	for n := range d.root.Descendants() {
		if n.Type == html.ElementNode {
			visit(n)
		}
	}
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// id returns the text of the element with an identifier; it fails the test
// where there is none.
func (d document) id(id string) string {
	d.t.Helper()
	found, ok := "", false
	d.each(func(n *html.Node) {
		if attribute(n, "id") == id {
			found, ok = textOf(n), true
		}
	})
	if !ok {
		d.t.Errorf("the report has no element #%s", id)
	}
	return found
}

// wellFormed checks the laws that hold for every report: it loads nothing, runs
// nothing, every identifier is there once and every link leads to one.
func (d document) wellFormed() {
	d.t.Helper()
	ids, links := map[string]int{}, map[string]bool{}
	d.each(func(n *html.Node) {
		switch n.Data {
		case "script", "link", "iframe", "object", "embed", "img", "form", "base":
			d.t.Errorf("the report has a <%s>", n.Data)
		}
		for _, a := range n.Attr {
			switch {
			case a.Key == "id":
				ids[a.Val]++
			case a.Key == "href" && n.Data == "image", a.Key == "xlink:href":
				if !strings.HasPrefix(a.Val, "data:image/") {
					d.t.Errorf("an image loads %q", a.Val)
				}
			case a.Key == "href":
				if !strings.HasPrefix(a.Val, "#") {
					d.t.Errorf("a link leads outside: %q", a.Val)
				}
				links[strings.TrimPrefix(a.Val, "#")] = true
			case a.Key == "src", a.Key == "srcset", strings.HasPrefix(a.Key, "on"):
				d.t.Errorf("<%s> has %s=%q", n.Data, a.Key, a.Val)
			case a.Key == "style" && (strings.Contains(a.Val, "url(") || strings.Contains(a.Val, "ZgotmplZ")):
				d.t.Errorf("<%s> has style %q", n.Data, a.Val)
			}
		}
		if n.Data == "style" && (strings.Contains(textOf(n), "url(") || strings.Contains(textOf(n), "@import")) {
			d.t.Error("the style sheet loads something")
		}
	})
	for id, n := range ids {
		if n > 1 {
			d.t.Errorf("the identifier %q is there %d times", id, n)
		}
	}
	for link := range links {
		if ids[link] == 0 {
			d.t.Errorf("a link leads to #%s, which is not there", link)
		}
	}
	var numbers strings.Builder
	d.each(func(n *html.Node) {
		switch attribute(n, "id") {
		case "course", "choices", "utility", "comparisons", "model", "trustworthy", "measurements":
			numbers.WriteString(textOf(n))
		}
	})
	for _, bad := range []string{"NaN", "%!", "<nil>", "Inf"} {
		if strings.Contains(numbers.String(), bad) {
			d.t.Errorf("the report shows %q", bad)
		}
	}
}

// A campaign in any state has a report, and every report is well formed.
func TestEveryState(t *testing.T) {
	ordinary := func(def definition.Campaign) func(*testing.T) *trial {
		return func(t *testing.T) *trial { return newTrial(t, def).run(nil) }
	}
	unaided := electrolyte(6)
	unaided.Experts = nil
	onlyInitial := electrolyte(3)
	states := []struct {
		name string
		make func(*testing.T) *trial
		has  map[string]string // what elements must say
	}{
		{"electrolyte", ordinary(electrolyte(25)),
			map[string]string{"trustworthy": "pairs right", "calibration": "50 % intervals",
				"labels": "before the first decision", "widths": "threshold 0.1", "convergence": "best posterior"}},
		{"no experts", ordinary(unaided), map[string]string{"experts": "No expert takes part"}},
		{"only the initial design", ordinary(onlyInitial),
			map[string]string{"labels": "The policy has asked no questions", "decisions": "budget"}},
		{"mixture", ordinary(mixture(14)),
			map[string]string{"model": "in the ratio they have in the best composition"}},
		{"nothing measured", func(t *testing.T) *trial { return newTrial(t, electrolyte(25)) },
			map[string]string{"course": "no measurement to draw", "model": "no model",
				"trustworthy": "There is no model yet", "measurements": "No experiment",
				"decisions": "No decision"}},
		{"one measurement", func(t *testing.T) *trial {
			return newTrial(t, unaided).ask(engine.Request{Import: []engine.Tell{{Parameters: somePoint(t, unaided, 1), Value: new(9.0)}}})
		}, map[string]string{"model": "no model", "convergence": "imported (1)"}},
		{"equal measurements", func(t *testing.T) *trial {
			c := newTrial(t, unaided)
			for seed := range uint64(4) {
				c.ask(engine.Request{Import: []engine.Tell{{Parameters: somePoint(t, unaided, seed), Value: new(9.0)}}})
			}
			return c.record(&events.ModelFitted{Model: events.ModelObjective, Objective: fit(3, 4)})
		}, map[string]string{"leave-one-out": "not defined", "trustworthy": "4 compositions for 3 parameters: too few"}},
		{"one wrong run", func(t *testing.T) *trial {
			c := newTrial(t, polynomial(2, 30))
			tells := make([]engine.Tell, 20)
			for k := range tells {
				p := somePoint(t, c.def, uint64(k+1))
				tells[k] = engine.Tell{Parameters: p, Value: new(math.Pow(numeric(p, "x1"), 2) + numeric(p, "x2"))}
			}
			tells[6].Value = new(30.0)
			c.ask(engine.Request{Import: tells})
			return c.run(bowl(c.def))
		}, map[string]string{"trustworthy": "doubtful e7 measured 30.0", "leave-one-out": "contradicts all others"}},
		{"categories, discrete values, failures", func(t *testing.T) *trial {
			c := newTrial(t, mixed(16))
			return c.run(mixedInstrument(c.def))
		}, map[string]string{"measurements": "the stirrer stopped", "slice-1": "ethanol", "e1": "asked"}},
		{"everything failed", func(t *testing.T) *trial {
			c := newTrial(t, mixed(4))
			return c.run(&instrument{
				def:   c.def,
				name:  "reactor",
				value: func(definition.Point) (float64, error) { return 0, errors.New("no power") },
			})
		}, map[string]string{"course": "no measurement", "measurements": "no power"}},
		{"one parameter",
			func(t *testing.T) *trial { return newTrial(t, polynomial(1, 8)).run(bowl(polynomial(1, 8))) },
			map[string]string{"slice-1": "x1"}},
		{"ten parameters",
			func(t *testing.T) *trial { return newTrial(t, polynomial(10, 14)).run(bowl(polynomial(10, 14))) },
			map[string]string{"slice-10": "x10", "heat-mean": "Expected"}},
		{"troubled", troubled,
			map[string]string{"notes": "the pump was noisy", "measurements": ": ada excluded e",
				"e2": "ada corrected e2 from"}},
	}
	for _, s := range states {
		t.Run(s.name, func(t *testing.T) {
			d := parse(t, s.make(t).html())
			d.wellFormed()
			for id, want := range s.has {
				if got := d.id(id); !strings.Contains(got, want) {
					t.Errorf("#%s does not say %q: %s", id, want, got)
				}
			}
		})
	}
}

// somePoint is a composition of a campaign's space.
func somePoint(t *testing.T, def definition.Campaign, seed uint64) definition.Point {
	t.Helper()
	s := must.Get(space.New(def))(t)
	points := must.Get(s.Sample(1, seed))(t)
	return points[0]
}

// fit is a fit of d coordinates that nobody searched for.
func fit(d, observations int) *events.ObjectiveFit {
	f := &events.ObjectiveFit{
		Kernel:       "rbf",
		OutputScale:  1,
		Noise:        0.01,
		Shift:        9,
		Scale:        1,
		Observations: observations,
	}
	for i := range d {
		f.Lengthscales = append(f.Lengthscales, 0.3+0.1*float64(i))
	}
	return f
}

// polynomial is a minimization over d parameters, and bowl its instrument.
func polynomial(d, experiments int) definition.Campaign {
	def := definition.Campaign{
		Name: "bowl", Objective: definition.Objective{Name: "loss", Goal: definition.Minimize},
		Budget: definition.Budget{Experiments: experiments}, Instrument: definition.Instrument{Driver: manual.Choose(manual.Settings{})},
		Initial: definition.Initial{Experiments: pointer(4)},
	}
	for i := range d {
		def.Parameters = append(def.Parameters, definition.Parameter{
			Name: fmt.Sprintf("x%d", i+1),
			Min:  pointer(-1.0),
			Max:  pointer(1.0),
		})
	}
	return def
}

func bowl(def definition.Campaign) *instrument {
	return &instrument{def: def, name: "bench", simulated: true, value: func(p definition.Point) (float64, error) {
		sum := 0.0
		for i, q := range def.Parameters {
			sum += math.Pow(numeric(p, q.Name)-0.2*float64(i%3), 2) / float64(i+1)
		}
		return sum, nil
	}}
}

// troubled is a campaign that met with everything that can happen.
func troubled(t *testing.T) *trial {
	def := electrolyte(20)
	def.Experts[0] = definition.Expert{Name: "ada", Channel: terminal.Choose(terminal.Settings{})}
	c := newTrial(t, def)
	point := func(seed uint64) definition.Point { return somePoint(t, c.def, seed) }
	for i, y := range []float64{8, 9.5, 11, 10.2, 12.1} {
		c.ask(engine.Request{Import: []engine.Tell{{Parameters: point(uint64(i)), Value: new(y), SD: pointer(0.2)}}})
	}
	c.ask(engine.Request{Tell: &engine.Tell{Parameters: point(9), Value: new(0.05), Further: []definition.Quantity{{Name: "temperature", Value: 26, Unit: "°C"}}}})
	c.ask(engine.Request{Correct: &engine.Correct{Experiment: "e6", Exclude: true, Reason: "first run after a rinse"}})
	c.ask(engine.Request{Correct: &engine.Correct{Experiment: "e2", Value: pointer(9.7), Reason: "misread"}})
	c.ask(engine.Request{Note: &engine.Note{Text: "the pump was noisy", About: "e6"}})
	amended := c.def
	amended.Budget.Experiments = 30
	c.ask(engine.Request{Amend: &events.CampaignAmended{Definition: amended, Reason: "more salt arrived",
		Changes: []events.Change{{Path: "/budget/experiments", From: "20", To: "30"}}}})
	c.record(
		&events.ModelFitted{Model: events.ModelObjective, Objective: fit(3, 5)},
		&events.DecisionMade{Decision: "d1", Action: events.ActionAsk, Form: events.FormLabel, Chosen: "aided", Expert: "ada", Rule: "ask", Reason: "The belief is wide.",
			Candidates: []events.Candidate{{Name: "aided", Parameters: point(20), Belief: &events.Interval{Lower: -1, Upper: 2}}}},
		&events.QuestionAsked{
			Question: "q1",
			Form:     events.FormLabel,
			Expert:   "ada",
			Options:  []events.Option{{Parameters: point(20)}},
			Decision: "d1",
		},
		&events.QuestionExpired{Question: "q1"},
		&events.DecisionMade{Decision: "d2", Action: events.ActionRun, Chosen: "unaided", Rule: "no answer", Reason: "Nobody answered.",
			Candidates: []events.Candidate{{Name: "unaided", Parameters: point(21), Prediction: &events.Prediction{Mean: 11, SD: 0.5, Unit: "mS/cm"}}}},
		&events.ExperimentRequested{
			Experiment: "e7",
			Parameters: point(21),
			Origin:     events.OriginPolicy,
			Decision:   "d2",
			Replicate:  1,
		},
		&events.ExperimentDispatched{Experiment: "e7", Command: "electrolyte/e7", Instrument: "robot"},
		&events.InstrumentStalled{Experiment: "e7", Command: "electrolyte/e7", Instrument: "robot", Waited: 600},
		&events.RecoveryDone{
			Build:    events.Build{Version: "v2"},
			Commands: []events.RecoveredCommand{{Experiment: "e7", Command: "electrolyte/e7", Fate: "unknown"}},
		},
		&events.ExperimentUnresolved{
			Experiment: "e7",
			Command:    "electrolyte/e7",
			Instrument: "robot",
			Cause:      "the robot forgot",
		},
		&events.ModelFitFailed{Model: events.ModelBelief, Expert: "ada", Cause: "no convergence"},
	)
	return c.ask(engine.Request{Pause: &events.CampaignPaused{Reason: "lunch"}})
}

// What needs the reader's attention stands above the answer, what needs a
// person first.
func TestWarnings(t *testing.T) {
	h := troubled(t).history()
	var got []string
	for _, w := range warningsOf(h, "my store") {
		got = append(got, w.Text+" "+strings.Join(w.Details, " "))
	}
	want := []string{
		"campaignd resolve 'my store' e7", "stalled once", "1 fit failed", "the robot forgot",
		"taken over once", "1 question went unanswered", "More than one build",
	}
	all := strings.Join(got, "\n")
	for _, w := range want {
		_, after, ok := strings.Cut(all, w)
		if !ok {
			t.Fatalf("no warning says %q, or it comes too early; left are:\n%s", w, all)
		}
		all = after
	}
}

// Equal logs give equal reports.
func TestDeterministic(t *testing.T) {
	c := newTrial(t, electrolyte(8)).run(nil)
	if first, second := c.html(), c.html(); first != second {
		t.Error("the same log gave two different reports")
	}
}

// Whatever people and instruments write is shown as they wrote it, and nothing
// of it is markup.
func TestHostileText(t *testing.T) {
	const attack = `"><script>alert(1)</script><img src=x onerror=alert(2)>'` + "`" + `{{.}}</style></svg>`
	def := mixed(5)
	def.Description = attack
	def.Parameters[0].Description, def.Parameters[0].Categories[1].Name = attack, attack
	def.Parameters[2].Unit, def.Objective.Unit, def.Objective.Name = attack, attack, attack
	c := newTrial(t, def)
	c.run(&instrument{def: c.def, name: attack, value: func(p definition.Point) (float64, error) {
		if p["solvent"].Name() == "water" {
			return 0, errors.New(attack)
		}
		return numeric(p, "temperature"), nil
	}})
	c.ask(engine.Request{Note: &engine.Note{Text: attack}})
	c.ask(engine.Request{Correct: &engine.Correct{Experiment: "e1", Value: pointer(3.0), Reason: attack}})
	c.ask(engine.Request{Attach: &engine.Attach{Experiment: "e1", Attachment: events.Attachment{
		Name: "<script>", URI: "https://example.org/a?<x>", Comment: attack,
	}}})
	d := parse(t, c.html())
	d.wellFormed()
	if got := d.id("notes"); !strings.Contains(got, attack) {
		t.Errorf("the note is not shown as it was written: %s", got)
	}
	if got := d.id("files"); !strings.Contains(got, attack) || !strings.Contains(got, "<script>") || !strings.Contains(got, "stays at") {
		t.Errorf("the file is not shown as it was named: %s", got)
	}
}

// A missing campaign, a cancelled context and a failing writer are errors.
func TestErrors(t *testing.T) {
	c := newTrial(t, electrolyte(4)).run(nil)
	if err := Write(t.Context(), &bytes.Buffer{}, Input{
		Registry: builtin.Registry(),
		Log:      c.log,
		Campaign: "other",
	}); !errors.Is(err, engine.ErrNoCampaign) {
		t.Errorf("a missing campaign gave %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var b bytes.Buffer
	if err := Write(ctx, &b, Input{
		Registry: builtin.Registry(),
		Log:      c.log,
		Campaign: c.def.Name,
	}); !errors.Is(err, context.Canceled) || b.Len() > 0 {
		t.Errorf("a cancelled context gave %v and %d bytes", err, b.Len())
	}
	if err := Write(t.Context(), full{}, Input{
		Registry: builtin.Registry(),
		Log:      c.log,
		Campaign: c.def.Name,
	}); !errors.Is(err, errFull) {
		t.Errorf("a full disk gave %v", err)
	}
}

var errFull = errors.New("the disk is full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// A campaign of a thousand measurements has a complete report of a few
// megabytes.
func TestLarge(t *testing.T) {
	c := large(t)
	text := c.html()
	t.Logf("%d bytes", len(text))
	d := parse(t, text)
	d.wellFormed()
	for _, id := range []string{"e1", "e500", "e1000", "d1", "d1000"} {
		d.id(id)
	}
	if len(text) > 8<<20 {
		t.Errorf("the report has %d bytes", len(text))
	}
}

// large is a campaign of 1,000 measurements and as many decisions.
func large(t testing.TB) *trial {
	def := electrolyte(1000)
	def.Experts = nil
	c := newTrial(t, def)
	s, err := space.New(c.def)
	c.check(err)
	points, err := s.Sample(1000, 1)
	c.check(err)
	var batch []events.Event
	add := func(p events.Payload) {
		e, err := events.New(c.def.Name, p)
		c.check(err)
		e.Time, e.Actor = c.clock(), "engine"
		batch = append(batch, e)
	}
	for i, p := range points {
		id := fmt.Sprintf("e%d", i+1)
		y := 13 - 4*math.Pow(numeric(p, "lipf6")-1.1, 2) - numeric(p, "ec") + 0.1*math.Sin(float64(7*i))
		prediction := &events.Prediction{Mean: y + 0.1, SD: 0.2, Unit: "mS/cm"}
		add(&events.DecisionMade{Decision: fmt.Sprintf("d%d", i+1), Action: events.ActionRun, Chosen: "unaided", Rule: "unaided", Reason: "The optimum of lcb.",
			Candidates: []events.Candidate{{Name: "unaided", Parameters: p, Prediction: prediction}}})
		add(&events.ExperimentRequested{
			Experiment: id,
			Parameters: p,
			Origin:     events.OriginPolicy,
			Decision:   fmt.Sprintf("d%d", i+1),
			Replicate:  1,
		})
		add(&events.ExperimentMeasured{Experiment: id, Instrument: "robot", Requested: p, Measurement: events.Measurement{
			Actual: p, Objective: definition.Quantity{Name: "conductivity", Value: y, Unit: "mS/cm"}}})
		if i > 1 {
			add(&events.ModelFitted{Model: events.ModelObjective, Objective: fit(3, i+1)})
		}
	}
	_, err = c.log.Append(t.Context(), c.def.Name, events.AnySequence, batch...)
	c.check(err)
	return c
}

func BenchmarkWriteLarge(b *testing.B) {
	c := large(b)
	for b.Loop() {
		must.Do(b, Write(b.Context(), &bytes.Buffer{}, Input{
			Registry: builtin.Registry(),
			Log:      c.log,
			Campaign: c.def.Name,
		}))
	}
}
