package drive_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/cobol"
	"github.com/campaignd/campaignd/projections/campaign"
)

// hostile draws texts and numbers that a person, a program or a mistake may send,
// and fills whatever holds them.
type hostile struct{ rt *rapid.T }

var hostileTexts = []string{
	"", " ", "e1", "e2", "q1", "q2", "n1", "d1", "accept", "reject", "unsure", "refuse", "measured", "failed", "not-performed", "infeasible",
	"lipf6", "ec", "dmc", "conductivity", "mS/cm", "ada", "the pump leaked", "two\nlines", "a\x1b]0;b\x07", "\x00", "\u202egnp", "\xff\xfe", "\u2028",
	"engine", "person:", "person:ada", "instrument:bench", "expert:ada", "=cmd|' /C calc'!A0", "<script>", "NaN", "1e400", "💥",
}

func (h hostile) text() string {
	switch rapid.IntRange(0, 20).Draw(h.rt, "text") {
	case 0:
		return strings.Repeat("x", rapid.SampledFrom([]int{201, 1025, 70_000}).Draw(h.rt, "length"))
	case 1:
		return string(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(h.rt, "bytes"))
	}
	return rapid.SampledFrom(hostileTexts).Draw(h.rt, "word")
}

func (h hostile) number() float64 {
	return rapid.OneOf(
		rapid.SampledFrom([]float64{0, 12, -1, 1, 0.4, 1e100, 1e101, 1e308, -1e308, 5e-324, math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}),
		rapid.Float64Range(-5, 20)).Draw(h.rt, "number")
}

// fill sets a value to anything that its type can hold.
func (h hostile) fill(v reflect.Value) {
	if v.Type() == reflect.TypeFor[definition.Value]() {
		if rapid.Bool().Draw(h.rt, "is a number") {
			v.Set(reflect.ValueOf(definition.Number(h.number())))
		} else if name := h.text(); name != "" {
			v.Set(reflect.ValueOf(definition.Category(name)))
		}
		return
	}
	if v.Type() == reflect.TypeFor[definition.Campaign]() {
		return // see amendment
	}
	switch v.Kind() {
	case reflect.Pointer:
		if rapid.Bool().Draw(h.rt, "is there") {
			v.Set(reflect.New(v.Type().Elem()))
			h.fill(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			h.fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(0, 3).Draw(h.rt, "length"), 3))
		for i := range v.Len() {
			h.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		if rapid.Bool().Draw(h.rt, "knows the parameters") {
			for _, name := range []string{"lipf6", "ec", "dmc"} {
				value := reflect.New(v.Type().Elem()).Elem()
				h.fill(value)
				v.SetMapIndex(reflect.ValueOf(name), value)
			}
			return
		}
		for range rapid.IntRange(0, 3).Draw(h.rt, "length") {
			value := reflect.New(v.Type().Elem()).Elem()
			h.fill(value)
			v.SetMapIndex(reflect.ValueOf(h.text()), value)
		}
	case reflect.String:
		v.SetString(h.text())
	case reflect.Float64:
		v.SetFloat(h.number())
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(h.rt, "yes"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64Range(-2, 5).Draw(h.rt, "n"))
	case reflect.Uint64:
		v.SetUint(rapid.Uint64Range(0, 5).Draw(h.rt, "n"))
	default:
		panic(fmt.Sprintf("nothing hostile is known of a %s", v.Type()))
	}
}

// request draws a request: one of its parts, or several, or none, with an actor
// that is named where the test must find it again.
func (h hostile) request(def definition.Campaign, actor string) engine.Request {
	var r engine.Request
	v := reflect.ValueOf(&r).Elem()
	parts := []int{rapid.IntRange(0, v.NumField()-1).Draw(h.rt, "part")}
	if rapid.IntRange(0, 9).Draw(h.rt, "several") == 0 {
		parts = append(parts, rapid.IntRange(0, v.NumField()-1).Draw(h.rt, "further part"))
	}
	for _, i := range parts {
		field := v.Field(i)
		if field.Kind() == reflect.Pointer {
			field.Set(reflect.New(field.Type().Elem()))
			h.fill(field.Elem())
			continue
		}
		h.fill(field)
	}
	if r.Stop != nil {
		r.Stop = nil // the test says when
	}
	if r.Amend != nil {
		r.Amend.Definition = h.amendment(def)
	}
	if rapid.IntRange(0, 4).Draw(h.rt, "named") > 0 {
		r.Actor = actor
	}
	return r
}

// amendment is a definition of which something was changed or taken out.
func (h hostile) amendment(def definition.Campaign) (amended definition.Campaign) {
	text, err := json.Marshal(def)
	if err != nil {
		h.rt.Fatal(err)
	}
	var tree any
	must.Do(h.rt, json.Unmarshal(text, &tree))
	for range rapid.IntRange(0, 2).Draw(h.rt, "changes") {
		tree = h.change(tree)
	}
	if text, err = json.Marshal(tree); err == nil {
		_ = json.Unmarshal(text, &amended) // what does not fit stays empty
	}
	return amended
}

// change goes down into a tree and replaces or removes what it comes to.
func (h hostile) change(tree any) any {
	deeper := rapid.IntRange(0, 5).Draw(h.rt, "deeper") > 0
	switch node := tree.(type) {
	case map[string]any:
		if !deeper || len(node) == 0 {
			return nil
		}
		var keys []string
		for key := range node {
			keys = append(keys, key)
		}
		key := rapid.SampledFrom(slices.Sorted(slices.Values(keys))).Draw(h.rt, "key")
		if node[key] = h.change(node[key]); node[key] == nil {
			delete(node, key)
		}
		return node
	case []any:
		if !deeper || len(node) == 0 {
			return nil
		}
		i := rapid.IntRange(0, len(node)-1).Draw(h.rt, "index")
		node[i] = h.change(node[i])
		return node
	case string:
		return h.text()
	case float64:
		if x := h.number(); !math.IsNaN(x) && !math.IsInf(x, 0) {
			return x
		}
	case bool:
		return !node
	}
	return nil
}

// outcome draws what an instrument may say.
func (h hostile) outcome(parameters definition.Point) instruments.Outcome {
	if rapid.IntRange(0, 2).Draw(h.rt, "honest") == 0 {
		o := measured(12)
		o.Measurement.Actual = parameters
		return o
	}
	var o instruments.Outcome
	o.Status = rapid.SampledFrom([]instruments.Status{
		instruments.Measured, instruments.Measured, instruments.Failed, instruments.Infeasible, instruments.Deferred, instruments.Cancelled,
		instruments.Unknown, "", "exploded", "\x1b[2J",
	}).Draw(h.rt, "status")
	o.Cause = h.text()
	if rapid.IntRange(0, 3).Draw(h.rt, "with a measurement") > 0 {
		m := measured(h.number()).Measurement
		if rapid.Bool().Draw(h.rt, "made as asked") {
			m.Actual = parameters
		} else {
			h.fill(reflect.ValueOf(&m.Actual).Elem())
		}
		m.Identity = h.text()
		if rapid.Bool().Draw(h.rt, "other quantity") {
			h.fill(reflect.ValueOf(&m.Objective).Elem())
		}
		h.fill(reflect.ValueOf(&m.Further).Elem())
		if rapid.IntRange(0, 5).Draw(h.rt, "many") == 0 {
			for i := range 40_000 {
				m.Further = append(m.Further, definition.Quantity{Name: fmt.Sprint("absorbance at ", i, " nm"), Value: 1})
			}
		}
		m.Began = time.Date(rapid.SampledFrom([]int{-1, 1, 2026, 12_000}).Draw(h.rt, "year"), 1, 1, 0, 0, 0, 0, time.UTC)
		o.Measurement = m
	}
	return o
}

// shouting is an instrument that says what it was dealt.
type shouting struct {
	bench
	name     string
	outcomes []instruments.Outcome
	errs     []error
}

func (d *shouting) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{Name: d.name, Capacity: 1}, nil
}

func (d *shouting) Await(_ context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.outcomes) == 0 {
		o := measured(12)
		o.Measurement.Actual = cmd.Parameters
		return o, nil
	}
	o, err := d.outcomes[0], d.errs[0]
	d.outcomes, d.errs = d.outcomes[1:], d.errs[1:]
	return o, err
}

// oracle is an expert who says what they were dealt, and then nothing.
type oracle struct {
	mu      sync.Mutex
	answers []humans.Reply
}

func (*oracle) Describe() humans.Description { return humans.Description{Expert: "ada"} }

func (o *oracle) Ask(ctx context.Context, q humans.Question) (humans.Reply, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.answers) == 0 {
		return humans.Reply{}, nil
	}
	a := o.answers[0]
	o.answers = o.answers[1:]
	return a, nil
}

// Law: whatever a person asks, an instrument says or an expert answers, the run
// goes on; what is refused leaves no trace in the log; and whoever asks
// honestly next is answered.
func TestNothingSaidEndsTheRun(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := hostile{rt}
		def := electrolyte(t, rapid.Uint64Range(1, 50).Draw(rt, "seed"), 5, func(def *definition.Campaign) {
			def.Experts[0] = definition.Expert{Name: "ada", Channel: terminal.Choose(terminal.Settings{})}
			def.Initial.Labels, def.Initial.Experiments = ptr(2), ptr(2)
			def.Policy.Handover = cobol.Width{Gate: ptr(rapid.Bool().Draw(rt, "gate"))}.Choice() // without it they are asked always
			def.Instrument = definition.Instrument{Driver: process.Choose(process.Settings{Command: []string{"bench"}})}
		})
		instrument := &shouting{bench: bench{acts: make(map[string]int)}, name: "bench"}
		reviewer := new(oracle)
		for range rapid.IntRange(0, 6).Draw(rt, "outcomes") {
			var err error
			if rapid.IntRange(0, 9).Draw(rt, "fails") == 0 {
				err = errors.New(h.text())
			}
			instrument.outcomes, instrument.errs = append(instrument.outcomes, h.outcome(measured(1).Measurement.Actual)), append(instrument.errs, err)
			var answer humans.Reply
			h.fill(reflect.ValueOf(&answer).Elem())
			reviewer.answers = append(reviewer.answers, answer)
		}
		log := memlog.New()
		r, _ := start(t, log, def, instrument)
		r.Reviewers = map[string]humans.Reviewer{"ada": reviewer}
		needed := make(chan engine.Request, 1000)
		r.Observe = func(core *engine.Core, _ engine.Wait) {
			for _, x := range core.State().Experiments {
				if x.Status == campaign.Unresolved {
					needed <- engine.Request{Actor: "person:eve", Resolve: &engine.Resolve{Experiment: x.ID, Resolution: events.ResolvedNotPerformed}}
				}
			}
			if core.State().Status == campaign.Paused {
				needed <- engine.Request{Actor: "person:eve", Resume: new(events.CampaignResumed)}
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()

		accepted := make(map[string]int)
		for i := range rapid.IntRange(0, 8).Draw(rt, "requests") {
			actor := fmt.Sprint("person:h", i)
			request := h.request(def, actor)
			stored, err := r.Submit(ctx, request)
			accepted[actor] += 0 // whose request was refused has written nothing
			switch {
			case err == nil && request.Actor != actor && request.Actor != "person:ada": // the one of the texts that names a person
				rt.Fatalf("the actor %q was taken", request.Actor)
			case err == nil:
				accepted[request.Actor] += len(stored)
			case errors.Is(err, drive.ErrOver):
			case !errors.Is(err, problem.ErrInvalidRequest):
				rt.Fatalf("the request was answered with %v", err)
			}
			honest := engine.Request{Actor: "person:eve", Note: &engine.Note{Text: "still here"}}
			if _, err := r.Submit(ctx, honest); err != nil && !errors.Is(err, drive.ErrOver) {
				rt.Fatalf("an honest request after %+v was answered with %v", request, err)
			}
		}
		var end error
		stop := time.After(50 * time.Millisecond)
		timeout := time.After(30 * time.Second)
	running:
		for {
			select {
			case end = <-done:
				break running
			case request := <-needed:
				_, _ = r.Submit(ctx, request)
			case <-stop:
				_, _ = r.Submit(ctx, engine.Request{Actor: "person:eve", Stop: new(events.CampaignStopped)})
			case <-timeout:
				rt.Fatal("the campaign does not end")
			}
		}
		if end != nil {
			rt.Fatalf("the run ended with %v", end)
		}
		written := make(map[string]int)
		for _, e := range history(t, log) {
			written[e.Actor]++
		}
		for actor, n := range accepted {
			if written[actor] != n {
				rt.Fatalf("%s was told of %d events, the log holds %d", actor, n, written[actor])
			}
		}
		core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, def.Name))(rt)
		live, err1 := r.Core().Digest()
		replayed, err2 := core.Digest()
		if live != replayed || err1 != nil || err2 != nil {
			rt.Fatalf("live %s, replayed %s, %v %v", live, replayed, err1, err2)
		}
		if report, err := decisions.Audit(t.Context(), builtin.Registry(), log, def.Name, events.Build{}, nil); err != nil || len(report.Mismatches) > 0 {
			rt.Fatalf("audit: %+v %v", report.Mismatches, err)
		}
	})
}

// Law: a measurement that came with more than can be recorded is not lost, and a note says
// what was left out of it, be it a single quantity.
func TestTalkativeInstrument(t *testing.T) {
	def := electrolyte(t, 1, 4, unaided)
	absorbances := make([]definition.Quantity, 400_000)
	for i := range absorbances {
		absorbances[i] = definition.Quantity{Name: fmt.Sprint("absorbance at ", i, " nm"), Value: 0.5, Unit: "1"}
	}
	log := memlog.New()
	instrument := &bench{acts: make(map[string]int)}
	instrument.await = func(cmd instruments.Command) (instruments.Outcome, error) {
		o := measured(12)
		switch cmd.Experiment {
		case "e1":
			o.Measurement.Further = absorbances
		case "e2":
			o.Measurement.Identity = strings.Repeat("\x1b[2J", 9<<20)
		case "e3":
			return instruments.Outcome{Status: instruments.Failed, Cause: strings.Repeat("no ", 9<<20)}, nil
		case "e4": // one more than can be recorded
			e1 := mustLoad(t, log).State().Experiment("e1")
			o.Measurement.Further = absorbances[:len(e1.Measurement.Further)+1]
		}
		return o, nil
	}
	r, _ := start(t, log, def, instrument)
	must.Do(t, r.Run(t.Context()))
	for i, want := range []campaign.ExperimentStatus{
		campaign.Measured, campaign.Measured, campaign.Failed, campaign.Measured,
	} {
		if x := r.Core().State().Experiments[i]; x.Status != want {
			t.Errorf("%s is %s, want %s", x.ID, x.Status, want)
		}
	}
	recorded := len(r.Core().State().Experiment("e1").Measurement.Further)
	for id, left := range map[string]int{"e1": len(absorbances) - recorded, "e4": 1} {
		said := fmt.Sprintf(
			"gave %d further quantities, too many to be recorded: the last %d were left out",
			recorded+left, left,
		)
		if !slices.ContainsFunc(r.Core().State().Notes, func(n campaign.Note) bool {
			return n.About == id && strings.Contains(n.Text, said)
		}) {
			t.Errorf("nothing says that %d of %d quantities of %s were left out", left, recorded+left, id)
		}
	}
	if m := r.Core().State().Experiments[1].Measurement; strings.Contains(m.Identity, "\x1b") || !strings.Contains(m.Identity, `\u001b[2J`) {
		t.Errorf("the identity was recorded as %.20q", m.Identity)
	}
}

// Law: an instrument whose name cannot stand in the log is refused before anything
// moves.
func TestUnrecordableNameOfAnInstrument(t *testing.T) {
	for _, name := range []string{"acme\amixer", "acme\nmixer", "\u202erexim", strings.Repeat("m", 5000), "\xff"} {
		log := memlog.New()
		def := electrolyte(t, 1, 3, unaided)
		instrument := &shouting{bench: bench{acts: make(map[string]int)}, name: name}
		_, err := studytest.Runner(t.Context(), log, def, instrument)
		if err == nil || !strings.Contains(err.Error(), "name") {
			t.Errorf("%.20q was answered with %v", name, err)
		}
		if len(instrument.acts) > 0 || log.Last() != 1 {
			t.Errorf("%.20q was given a command", name)
		}
	}
}

// Law: a request that cannot be recorded, or that nobody can have meant, is refused
// with a remedy, and nothing is written.
func TestUnrecordableRequests(t *testing.T) {
	def := electrolyte(t, 1, 5)
	log, core := simulate(t, def)
	before := log.Last()
	point := definition.Point{"lipf6": definition.Number(1), "ec": definition.Number(0.4), "dmc": definition.Number(0.5)}
	note := &engine.Note{Text: "x"}
	incomplete := def
	incomplete.Initial.Labels = nil
	absurd := def
	absurd.Budget.Experiments = -3
	var rows []engine.Tell
	for range 1200 { // 1,000 of them are more than a batch holds
		rows = append(rows, engine.Tell{Parameters: point, Failed: strings.Repeat("x", 60_000)})
	}
	for name, c := range map[string]struct {
		request engine.Request
		because string
	}{
		"nobody":                  {engine.Request{Note: note}, "person:NAME"},
		"a person without name":   {engine.Request{Actor: "person: ", Note: note}, "who asks"},
		"the engine":              {engine.Request{Actor: "engine", Note: note}, "person:NAME"},
		"the engine as person":    {engine.Request{Actor: "person:engine", Note: note}, "not a person's name"},
		"an instrument":           {engine.Request{Actor: "instrument:bench", Note: note}, "person:NAME"},
		"an expert as person":     {engine.Request{Actor: "person:expert:ada", Note: note}, "not a person's name"},
		"an escape in the name":   {engine.Request{Actor: "person:a\x1bb", Note: note}, "U+001B"},
		"a name turned around":    {engine.Request{Actor: "person:a\u202eb", Note: note}, "U+202E"},
		"a name of a novel":       {engine.Request{Actor: "person:" + strings.Repeat("a", 1100), Note: note}, "at most 200"},
		"a name that is not text": {engine.Request{Actor: "person:\xff", Note: note}, "UTF-8"},
		"a note of a novel":       {engine.Request{Actor: "person:eve", Note: &engine.Note{Text: strings.Repeat("x", 17<<20)}}, "at most 65536"},
		"an escape in a reason":   {engine.Request{Actor: "person:eve", Pause: &events.CampaignPaused{Reason: "\x1b[2J"}}, "U+001B"},
		"a text turned around":    {engine.Request{Actor: "person:eve", Note: &engine.Note{Text: "\u202egnp"}}, "U+202E"},
		"a cause of a novel":      {engine.Request{Actor: "person:eve", Tell: &engine.Tell{Parameters: point, Failed: strings.Repeat("x", 17<<20)}}, "at most 65536"},
		"a value beyond reason":   {engine.Request{Actor: "person:eve", Tell: &engine.Tell{Parameters: point, Value: new(1e308)}}, "typing error"},
		"a spread beyond reason":  {engine.Request{Actor: "person:eve", Tell: &engine.Tell{Parameters: point, Value: new(1.0), SD: ptr(1e300)}}, "typing error"},
		"not a number":            {engine.Request{Actor: "person:eve", Tell: &engine.Tell{Parameters: point, Value: new(math.NaN())}}, "not a result"},
		"infinitely made":         {engine.Request{Actor: "person:eve", Tell: &engine.Tell{Parameters: definition.Point{"lipf6": definition.Number(math.Inf(1))}, Value: new(1.0)}}, "not a result"},
		"two things at once":      {engine.Request{Actor: "person:eve", Note: note, Pause: new(events.CampaignPaused)}, "at once"},
		"a batch too large":       {engine.Request{Actor: "person:eve", Import: rows}, "cannot be recorded"},
		"an answer of a program": {engine.Request{Actor: "person:eve", Answer: &engine.Answer{
			Question: "q1", Reply: humans.Reply{Program: &events.Program{Name: "oracle"}},
		}}, "no program"},
		"half a definition":    {engine.Request{Actor: "person:eve", Amend: &events.CampaignAmended{Definition: incomplete}}, "/initial/labels"},
		"an absurd definition": {engine.Request{Actor: "person:eve", Amend: &events.CampaignAmended{Definition: absurd}}, "budget"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := engine.Submit(t.Context(), log, core, c.request, time.Now())
			if !errors.Is(err, problem.ErrInvalidRequest) || !strings.Contains(fmt.Sprint(err), c.because) {
				t.Errorf("it was answered with %v", err)
			}
			if log.Last() != before {
				t.Fatal("it was recorded")
			}
		})
	}
}

// Law: what a person writes is recorded to the last byte of what is allowed, and not one more.
func TestLimitsOfRequests(t *testing.T) {
	_, core := simulate(t, electrolyte(t, 1, 5))
	text := func(n int) string { return strings.Repeat("x", n) }
	more := *core.State().Definition
	more.Budget.Experiments++
	for name, c := range map[string]struct {
		most    int
		request func(n int) engine.Request
	}{
		"a name": {200, func(n int) engine.Request {
			return engine.Request{Actor: "person:" + text(n), Note: &engine.Note{Text: "x"}}
		}},
		"a text": {64 << 10, func(n int) engine.Request {
			return engine.Request{Actor: "person:eve", Note: &engine.Note{Text: text(n)}}
		}},
		"a campaign file": {512 << 10, func(n int) engine.Request {
			amended := events.CampaignAmended{Definition: more, Source: text(n)}
			return engine.Request{Actor: "person:eve", Amend: &amended}
		}},
		"a file with its changes": {512 << 10, func(n int) engine.Request {
			amended := events.CampaignAmended{Definition: more, Source: text(n - 6)}
			amended.Changes = []events.Change{{Path: "/a", From: "1", To: "234"}}
			return engine.Request{Actor: "person:eve", Amend: &amended}
		}},
	} {
		if _, err := core.Handle(c.request(c.most)); err != nil {
			t.Errorf("%s of %d bytes is refused: %v", name, c.most, err)
		}
		if _, err := core.Handle(c.request(c.most + 1)); !errors.Is(err, problem.ErrInvalidRequest) {
			t.Errorf("%s of %d bytes is answered with %v", name, c.most+1, err)
		}
	}
}

// Law: what is repeated of a long text that was refused has an end, and of a longer text
// never less is repeated than of a shorter one.
func TestRefusedActorIsRepeated(t *testing.T) {
	shown, longest := 0, 0
	for n := range 300 {
		err := engine.CheckActor(strings.Repeat("#", n))
		if !errors.Is(err, problem.ErrInvalidRequest) {
			t.Fatalf("an actor of %d bytes is answered with %v", n, err)
		}
		repeated := strings.Count(err.Error(), "#")
		if repeated < shown || repeated > n {
			t.Errorf("of %d bytes %d are repeated, of %d were %d", n, repeated, n-1, shown)
		}
		if repeated == n {
			longest = n
		}
		shown = repeated
	}
	if longest < len("person:") || shown != longest {
		t.Errorf("%d bytes are repeated whole, and %d of the longest", longest, shown)
	}
}
