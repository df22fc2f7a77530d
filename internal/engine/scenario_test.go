package engine_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/goccy/go-yaml"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// The scripts under testdata/scenarios say, rule by rule, what the core does: after a
// history of events, and in a given world, which step comes next, and which requests of
// people it grants. The comment at the head of each script is the law, what stands below
// the line of dashes what the core says. Read what changes before keeping it:
//
//	go test ./internal/engine -run TestScenarios -rewrite
//
// A script has these commands:
//
//	define [capacity=N] [eager] [without-wait]
//	    A campaign from here on: that of scenarioFile, with the parts of a campaign file
//	    that are given below in the place of its own. The clock stands at 0s. The
//	    instrument works on so many experiments at once; eager as in engine.World. A campaign
//	    without wait was begun before there was an `initial: {wait: …}`.
//
//	given
//	    What happened, one event a line in the notation of scenario_words_test.go; "at 5m"
//	    is a line too: what follows happened five minutes after the campaign was defined.
//
//	next [at=5m] [recovering] [undescribed] [calling] [ticket=unqueued|waiting|held] [left=2 [taken=2] [fault]] [out] [calibrated=5m] [unread]
//	    The next step, at that time or when the last event happened; calling where the
//	    instrument is being called about all that is called off. Nothing is done, but
//	    measurements that are to be judged first are. With a ticket the instrument is one
//	    that campaigns share. With left so many tips are on the rack of the lab, and so many
//	    were taken for e1; with fault the lab's log cannot be read. Out, the instrument is
//	    out of service since the beginning; it is calibrated until so long after that; unread,
//	    nothing of it can be known.
//
//	run [at=5m]
//	    Does one step after the other, as far as that needs neither an instrument nor an
//	    expert: what is recorded is, experiments are dispatched, questions put, fits and
//	    decisions made.
//
//	mark NAME
//	    The campaign is at a place that the script comes back to.
//
//	back NAME
//	    The campaign as it was at that mark, with the same history; where parts of a campaign
//	    file are given below, it was defined with them from the beginning.
//
//	sign
//	    What the instrument says of commands under way, one sign a line in the notation of
//	    instrument.signalled, and whether the log notes it, which is then done.
//
//	restart
//	    Another process takes over: nobody waits any more for what was under way.
//
//	request
//	    What people ask, one request a line in the words of the control socket, with the
//	    events that grant it or why it is refused.
//
//	amend
//	    The request for a definition with the given parts in the place of the present ones.
//
//	amended
//	    An amendment as an earlier version recorded it, unchecked.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		var s *scenario
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "define" {
				s = define(t, d)
				return ""
			}
			if d.HasArg("at") {
				s.setClock(t, d.CmdArgs[slices.IndexFunc(d.CmdArgs, func(a datadriven.CmdArg) bool { return a.Key == "at" })].Vals[0])
			}
			switch d.Cmd {
			case "given":
				s.given(t, d.Input)
				return ""
			case "next":
				return inWords(t, s.judged(t, s.worldOf(t, d)))
			case "run":
				return s.run(t)
			case "mark":
				s.marks[d.CmdArgs[0].Key] = mark{maps.Clone(s.parts), history(t, s.log)}
				return ""
			case "back":
				s = s.back(t, d)
				return ""
			case "restart":
				clear(s.world.InFlight)
				return ""
			case "sign":
				return s.signs(t, d.Input)
			case "request":
				return s.requests(t, d.Input)
			case "amend":
				amended := engine.Request{Amend: &events.CampaignAmended{Definition: s.file(t, d.Input)}}
				return s.request(t, amended)
			case "amended":
				s.record(t, &events.CampaignAmended{Definition: s.file(t, d.Input)})
				return ""
			}
			t.Fatalf("there is no command %s", d.Cmd)
			return ""
		})
	})
}

// scenarioFile is the campaign of the scripts, as far as they do not say otherwise: one
// parameter between 0 and 1, three experiments of the initial design, three more.
var scenarioFile = map[string]string{
	"name":       "salt",
	"parameters": "[{name: x, min: 0, max: 1}]",
	"objective":  "{name: y, goal: maximize, unit: mS}",
	"initial":    "{points: [{x: 0.1}, {x: 0.2}, {x: 0.3}]}",
	"policy":     "sobol",
	"budget":     "{experiments: 6}",
	"instrument": "{process: {command: [robot]}}",
}

// beginning is the time of campaign.defined.
var beginning = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// scenario is a campaign at some point of a script.
type scenario struct {
	parts map[string]string // of the campaign file, as YAML
	log   *memlog.Log
	core  *engine.Core
	world engine.World // its Now is the script's clock
	marks map[string]mark

	withoutWait bool
}

// mark is what a scenario goes back to.
type mark struct {
	parts   map[string]string
	history []events.Event
}

// history is all that a log holds.
func history(t *testing.T, log events.Log) []events.Event {
	t.Helper()
	var all []events.Event
	for e := range must.Each(t, log.Read(t.Context(), 0)) {
		all = append(all, e)
	}
	return all
}

// define begins a campaign.
func define(t *testing.T, d *datadriven.TestData) *scenario {
	s := &scenario{
		parts: maps.Clone(scenarioFile),
		world: engine.World{Resources: engine.Only(engine.Resource{Capacity: 1}), Eager: d.HasArg("eager")},
		marks: make(map[string]mark),

		withoutWait: d.HasArg("without-wait"),
	}
	only := s.world.Resources[""]
	d.MaybeScanArgs(t, "capacity", &only.Capacity)
	s.world.Resources = engine.Only(only)
	s.begin(t, d.Input)
	return s
}

// begin defines the campaign in an empty log.
func (s *scenario) begin(t *testing.T, parts string) {
	defined := events.CampaignDefined{Definition: s.file(t, parts)}
	if s.withoutWait {
		defined.Definition.Initial.Wait = nil
	}
	s.log = memlog.New()
	must.Do(t, engine.Define(t.Context(), s.log, defined, "person:ada", beginning, ""))
	var err error
	if s.core, err = engine.Load(t.Context(), builtin.Registry(), s.log, defined.Definition.Name); err != nil {
		t.Fatal(err)
	}
	s.world.Now, s.world.InFlight = beginning, make(map[string]bool)
}

// back defines the campaign anew, and lets the same happen as before the mark.
func (s *scenario) back(t *testing.T, d *datadriven.TestData) *scenario {
	mark, ok := s.marks[d.CmdArgs[0].Key]
	if !ok {
		t.Fatalf("there is no mark %s", d.CmdArgs[0].Key)
	}
	again := &scenario{parts: maps.Clone(mark.parts), world: s.world, marks: s.marks, withoutWait: s.withoutWait}
	again.begin(t, d.Input)
	for _, e := range mark.history[1:] {
		payload := must.Get(events.Decode(e))(t)
		again.world.Now = e.Time
		again.record(t, payload)
	}
	return again
}

// file reads the campaign file with the given parts, and keeps them.
func (s *scenario) file(t *testing.T, parts string) definition.Campaign {
	var changed map[string]any
	must.Do(t, yaml.Unmarshal([]byte(parts), &changed))
	for part, value := range changed {
		if value == nil { // it is left out
			delete(s.parts, part)
			continue
		}
		text := must.Get(yaml.MarshalWithOptions(value, yaml.Flow(true)))(t)
		s.parts[part] = strings.TrimSpace(string(text))
	}
	var whole strings.Builder
	for _, part := range slices.Sorted(maps.Keys(s.parts)) {
		fmt.Fprintf(&whole, "%s: %s\n", part, s.parts[part])
	}
	file, err := campaignfile.Parse(builtin.Registry(), "the scenario's campaign", []byte(whole.String()))
	if err != nil {
		t.Fatal(err)
	}
	return file.Definition
}

func (s *scenario) setClock(t *testing.T, text string) {
	after := must.Get(time.ParseDuration(text))(t)
	s.world.Now = beginning.Add(after)
}

// given records what happened.
func (s *scenario) given(t *testing.T, lines string) {
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if clock, ok := strings.CutPrefix(line, "at "); ok {
			s.setClock(t, clock)
			continue
		}
		s.record(t, s.parse(t, line))
	}
}

// signs has the instrument give signs of life, and says which are recorded.
func (s *scenario) signs(t *testing.T, lines string) string {
	var said strings.Builder
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if clock, ok := strings.CutPrefix(line, "at "); ok {
			s.setClock(t, clock)
			continue
		}
		given := s.parse(t, "instrument.signalled "+line).(*events.InstrumentSignalled)
		noted := engine.Signalled(s.core.At(s.world), given.Experiment, given.Sign)
		if noted == nil {
			fmt.Fprintf(&said, "%v nothing\n", s.world.Now.Sub(beginning))
			continue
		}
		fmt.Fprintf(&said, "%v %s\n", s.world.Now.Sub(beginning), inWords(t, engine.Record{Payloads: []events.Payload{noted}}))
		s.record(t, noted)
	}
	return said.String()
}

// record appends payloads and folds them. Whoever dispatches waits for the outcome.
func (s *scenario) record(t *testing.T, payloads ...events.Payload) {
	batch := make([]events.Event, len(payloads))
	for i, payload := range payloads {
		e := must.Get(events.New(s.core.State().Name, payload))(t)
		e.Actor, e.Time = "engine", s.world.Now
		batch[i] = e
	}
	stored := must.Get(s.log.Append(t.Context(), s.core.State().Name, s.core.State().Sequence, batch...))(t)
	for _, e := range stored {
		must.Do(t, s.core.Apply(e))
	}
	for _, payload := range payloads {
		if dispatched, ok := payload.(*events.ExperimentDispatched); ok {
			s.world.InFlight[dispatched.Experiment] = true
		}
	}
}

// places are where a campaign can stand in the queue of its instrument.
var places = map[string]engine.Place{
	"unqueued": engine.Unqueued, "waiting": engine.Waiting, "held": engine.Held,
}

// worldOf is the world that a command asks about.
func (s *scenario) worldOf(t *testing.T, d *datadriven.TestData) engine.World {
	world := s.world
	world.Recovering = d.HasArg("recovering")
	only := world.Resources[""]
	only.Undescribed = d.HasArg("undescribed")
	if d.HasArg("calling") {
		world.CallingOff = engine.Attended(s.core.State(), world).CallingOff
	}
	var ticket string
	d.MaybeScanArgs(t, "ticket", &ticket)
	only.Ticket.Place = places[ticket]
	if only.Ticket.Place == engine.Waiting {
		only.Ticket.Behind = "lfp"
	}
	only.Service = serviceOf(t, d)
	world.Resources = engine.Only(only)
	if d.HasArg("left") {
		var left, taken int
		d.ScanArgs(t, "left", &left)
		d.MaybeScanArgs(t, "taken", &taken)
		rack := must.Get(definition.ParseLabels("A1-H1"))(t)
		world.LabStocks.Left = map[string]campaign.Stock{"rack": {Name: "rack", Labels: rack[8-left:]}}
		world.LabStocks.Taken = map[string][]events.Drawn{"e1": {{Stock: "tips", Labels: rack[:taken]}}}
		if d.HasArg("fault") {
			world.LabStocks.Fault = "the disk is full"
		}
	}
	return world
}

// serviceOf is what people have said of the instrument of a command.
func serviceOf(t *testing.T, d *datadriven.TestData) (s engine.Service) {
	s.Resource, s.At, s.By = "spectrometer", beginning, "person:ada"
	s.Out, s.Reason = d.HasArg("out"), "lamp exchanged"
	if d.HasArg("calibrated") {
		var after string
		d.ScanArgs(t, "calibrated", &after)
		s.CalibratedUntil = beginning.Add(must.Get(time.ParseDuration(after))(t))
	}
	if d.HasArg("unread") {
		s.Unread = "the disk is full"
	}
	return s
}

func (s *scenario) next(t *testing.T, world engine.World) engine.Step {
	return must.Get(s.core.Next(world))(t)
}

// judged is the next step once the measurements are judged.
func (s *scenario) judged(t *testing.T, world engine.World) engine.Step {
	step := s.next(t, world)
	if _, ok := step.(engine.Judge); !ok {
		return step
	}
	s.judge(t)
	step = s.next(t, world)
	if _, again := step.(engine.Judge); again {
		t.Error("what is judged is to be judged again")
	}
	return step
}

// judge makes and records a judgment.
func (s *scenario) judge(t *testing.T) *events.MeasurementsJudged {
	made := must.Get(s.core.Make(t.Context(), engine.Judge{}, events.Build{}, s.world))(t)
	s.record(t, made...)
	return made[0].(*events.MeasurementsJudged)
}

// run does steps until the world is needed, and says which.
func (s *scenario) run(t *testing.T) string {
	var done strings.Builder
	for range 100 {
		step := s.next(t, s.world)
		fmt.Fprintln(&done, inWords(t, step))
		switch step := step.(type) {
		case engine.Record:
			s.record(t, step.Payloads...)
		case engine.Dispatch:
			s.record(t, s.parse(t, "experiment.dispatched "+step.Experiment))
		case engine.Ask:
			s.world.InFlight[step.Question] = true
		case engine.Fit:
			payload := must.Get(s.core.Fit(t.Context(), step, events.Build{}))(t)
			s.record(t, payload)
		case engine.Judge:
			for _, expected := range s.judge(t).Expected {
				p := expected.Predicted
				fmt.Fprintf(&done, "  %s %s ± %s %s\n", expected.Experiment, brief(p.Mean), brief(p.SD), p.Unit)
			}
		case engine.Decide:
			payloads := must.Get(s.core.Decide(t.Context(), step, events.Build{}, s.world))(t)
			for _, payload := range payloads {
				fmt.Fprintln(&done, "  "+notation(t, payload))
			}
			s.record(t, payloads...)
		default:
			return done.String()
		}
	}
	t.Fatal("the campaign runs on for ever")
	return ""
}

// requests has people ask for one thing after the other. Of several, each is named.
func (s *scenario) requests(t *testing.T, lines string) string {
	lines = strings.TrimSpace(lines)
	if !strings.Contains(lines, "\n") {
		return s.request(t, parseRequest(t, lines))
	}
	var answers strings.Builder
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		answer := strings.ReplaceAll(s.request(t, parseRequest(t, line)), "\n", "\n  ")
		fmt.Fprintf(&answers, "%s\n  %s\n", line, answer)
	}
	return answers.String()
}

// remedies writes what can be done, a line each: "  can resolve e1: settle it".
func remedies(can []problem.Remedy) (text string) {
	for _, r := range can {
		does := strings.TrimSpace(string(r.Action) + " " + r.Subject)
		if r.Ways != nil {
			does += " (" + strings.Join(r.Ways, ", ") + ")"
		}
		text += "\n  can " + does + ": " + r.Text
	}
	return text
}

// request submits a request, and says what was recorded or why it was refused.
func (s *scenario) request(t *testing.T, request engine.Request) string {
	if request.Actor == "" {
		request.Actor = "person:ada"
	}
	before := s.log.Last()
	stored, err := engine.Submit(t.Context(), s.log, s.core, request, s.world.Now)
	switch {
	case errors.Is(err, problem.ErrInvalidRequest):
		if s.log.Last() != before {
			t.Error("it was refused, and something was recorded")
		}
		return "refused: " + err.Error() + remedies(problem.RemediesOf(err))
	case err != nil:
		t.Fatal(err)
	}
	granted := make([]string, len(stored))
	for i, e := range stored {
		payload := must.Get(events.Decode(e))(t)
		granted[i] = notation(t, payload)
	}
	return strings.Join(granted, "\n")
}

// inWords says a step.
func inWords(t *testing.T, step engine.Step) string {
	switch step := step.(type) {
	case engine.Record:
		lines := []string{"record"}
		for _, payload := range step.Payloads {
			lines = append(lines, "  "+notation(t, payload))
		}
		return strings.Join(lines, "\n")
	case engine.Recover:
		return "recover " + strings.Join(step.Subjects, ", ")
	case engine.CallOff:
		return "call off " + step.Subject
	case engine.Describe:
		return "describe the instrument"
	case engine.Queue:
		return "queue for " + step.Subject
	case engine.Unqueue:
		return "give the ticket back"
	case engine.Take:
		return fmt.Sprintf("take for %s: %d of %s", step.Subject, step.Parts[0].Labels, step.Parts[0].Stock)
	case engine.Dispatch:
		return "dispatch " + step.Experiment
	case engine.Ask:
		return "ask " + step.Question
	case engine.Examples:
		if step.Options > 0 {
			return fmt.Sprintf("examples of %s: %d comparisons of %d", step.Expert, step.N, step.Options)
		}
		return fmt.Sprintf("examples of %s: %d labels, balanced %t", step.Expert, step.N, step.Balanced)
	case engine.Fit:
		return strings.TrimSpace(fmt.Sprintf("fit %s %s", step.Model, step.Expert))
	case engine.Judge:
		return "judge"
	case engine.Decide:
		return "decide " + step.Decision
	case engine.Wait:
		if step.Until.IsZero() {
			return "wait for " + step.For + remedies(step.Remedies)
		}
		return fmt.Sprintf("wait for %s%s\n  until %s", step.For, remedies(step.Remedies), clock(step.Until))
	case engine.Done:
		return "done"
	}
	t.Fatalf("a step without words: %T", step)
	return ""
}

// clock is a time on the script's clock.
func clock(at time.Time) string { return at.Sub(beginning).String() }

// Law: before a campaign is defined there is no next step, and nothing to ask of it.
func TestUndefined(t *testing.T) {
	core := engine.NewCore(builtin.Registry())
	if step, err := core.Next(engine.World{}); err == nil {
		t.Errorf("the next step is %T", step)
	}
	pause := engine.Request{Actor: "person:ada", Pause: &events.CampaignPaused{}}
	if _, err := core.Handle(pause); !errors.Is(err, problem.NoCampaign) {
		t.Errorf("a request is answered with %v", err)
	}
}
