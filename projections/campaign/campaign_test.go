package campaign_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/campaign"
)

func ptr[T any](x T) *T { return &x }

// point is a composition of the campaigns of this package.
func point(x float64) definition.Point { return definition.Point{"x": definition.Number(x)} }

// result is a measurement at x.
func result(x, y float64) events.Measurement {
	return events.Measurement{Actual: point(x), Objective: definition.Quantity{Name: "y", Value: y}}
}

// began is the time of event 0; event n comes n minutes later.
var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// fold is a campaign whose events are written one after the other.
type fold struct {
	t *testing.T
	*campaign.Projection
}

// begin is a campaign of at most 10 experiments that has been defined: event 1.
func begin(t *testing.T) *fold {
	f := &fold{t, campaign.New()}
	f.must(&events.CampaignDefined{Instance: "w", Definition: definition.Campaign{Name: "c", Budget: definition.Budget{Experiments: 10}}})
	return f
}

// event is the next event: its ID is "i" and its sequence, its trace "t" and that.
func (f *fold) event(payload events.Payload) events.Event {
	n := f.State().Sequence + 1
	return events.Event{
		Campaign: "c", Sequence: n, ID: fmt.Sprintf("i%d", n), Trace: fmt.Sprintf("t%d", n),
		Kind: events.KindOf(payload), Time: began.Add(time.Duration(n) * time.Minute), Actor: "person:ada",
	}
}

// try folds an event. One that is refused is an InconsistentError and leaves
// everything as it was.
func (f *fold) try(payload events.Payload) error {
	f.t.Helper()
	before, err := f.Snapshot()
	if err != nil {
		f.t.Fatal(err)
	}
	wrong := f.Apply(f.event(payload), payload)
	if wrong == nil {
		return nil
	}
	var inconsistent *projections.InconsistentError
	if !errors.As(wrong, &inconsistent) || inconsistent.Problem == "" || inconsistent.Kind != events.KindOf(payload) {
		f.t.Fatalf("%s is refused with %T %v", events.KindOf(payload), wrong, wrong)
	}
	after, err := f.Snapshot()
	if err != nil {
		f.t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		f.t.Fatalf("%s is refused (%v) and changes the state:\n%s", events.KindOf(payload), wrong, cmp.Diff(string(before), string(after)))
	}
	return wrong
}

// must folds events that are in order.
func (f *fold) must(payloads ...events.Payload) {
	f.t.Helper()
	for _, p := range payloads {
		if err := f.try(p); err != nil {
			f.t.Fatal(err)
		}
	}
}

// refuses folds events that contradict the state.
func (f *fold) refuses(payloads ...events.Payload) {
	f.t.Helper()
	for _, p := range payloads {
		if f.try(p) == nil {
			f.t.Errorf("%s is taken: %+v", events.KindOf(p), p)
		}
	}
}

// request is experiment eN at x = N.
func request(n int) *events.ExperimentRequested {
	return &events.ExperimentRequested{Experiment: fmt.Sprintf("e%d", n), Parameters: point(float64(n)), Origin: events.OriginPolicy, Replicate: 1}
}

// transitions says what each event makes of an experiment of each status: its next
// status, "-" where the event is refused. "?" is left open.
const transitions = `
.                        requested  dispatched started    unresolved measured   failed     infeasible deferred   cancelled
dispatched               dispatched -          -          -          -          -          -          -          -
started                  -          started    -          -          -          -          -          -          -
measured                 measured   measured   measured   measured   -          -          -          -          -
failed                   failed     failed     failed     failed     -          -          -          -          -
infeasible               infeasible infeasible infeasible infeasible -          -          -          -          -
deferred                 deferred   deferred   deferred   deferred   -          -          -          -          -
cancelled                cancelled  cancelled  cancelled  cancelled  -          -          -          -          -
unresolved               -          unresolved unresolved -          -          -          -          -          -
stalled                  -          dispatched started    -          -          -          -          -          -
resolved:measured        -          -          -          measured   -          -          -          -          -
resolved:failed          -          -          -          failed     -          -          -          -          -
resolved:infeasible      -          -          -          infeasible -          -          -          -          -
resolved:not-performed   -          -          -          cancelled  -          -          -          -          -
resolved:otherwise       -          -          -          -          -          -          -          -          -
resolved:measured-as?    -          -          -          -          -          -          -          -          -
resolved:failed-as       -          -          -          -          -          -          -          -          -
flagged                  -          -          -          -          measured   -          -          -          -
measurement-corrected    -          -          -          -          measured   -          -          -          -
corrected:measured       -          -          -          -          ?          measured   measured   measured   measured
corrected:failed         -          -          -          -          failed     failed     failed     failed     failed
corrected:infeasible     -          -          -          -          infeasible infeasible infeasible infeasible infeasible
corrected:not-performed  -          -          -          -          cancelled  cancelled  cancelled  ?          ?
corrected:otherwise      -          -          -          -          -          -          -          -          -
corrected:measured-as?   -          -          -          -          -          -          -          -          -
corrected:failed-as      -          -          -          -          -          -          -          -          -
`

// outcomes are the statuses of experiments that have ended, in people's words.
var outcomes = map[string]events.Resolution{
	"measured": "measured", "failed": "failed", "infeasible": "infeasible", "deferred": "not-performed", "cancelled": "not-performed",
}

// transition is an event of the table about experiment id, whose status is given and
// whose outcome stands in the event source.
func transition(name, id, status, source string, asked definition.Point) events.Payload {
	const device = "device"
	command := "c/" + id
	if status == "requested" { // nobody has sent a command
		command = ""
	}
	switch name {
	case "dispatched":
		return &events.ExperimentDispatched{Experiment: id, Command: "c/" + id, Instrument: device, Identity: "serial 7"}
	case "started":
		return &events.ExperimentStarted{Experiment: id, Command: command, Instrument: device}
	case "measured":
		return &events.ExperimentMeasured{Experiment: id, Command: command, Instrument: device, Requested: asked, Measurement: result(0, 1)}
	case "failed":
		return &events.ExperimentFailed{Experiment: id, Command: command, Instrument: device, Cause: "why"}
	case "infeasible":
		return &events.ExperimentInfeasible{Experiment: id, Command: command, Instrument: device, Cause: "why"}
	case "deferred":
		return &events.ExperimentDeferred{Experiment: id, Command: command, Instrument: device, Cause: "why"}
	case "cancelled":
		return &events.ExperimentCancelled{Experiment: id, Command: command, Reason: "why"}
	case "unresolved":
		return &events.ExperimentUnresolved{Experiment: id, Command: command, Instrument: device, Cause: "why"}
	case "stalled":
		return &events.InstrumentStalled{Experiment: id, Command: command, Instrument: device, Waited: 60}
	case "flagged":
		return &events.MeasurementFlagged{Experiment: id, Verdict: events.VerdictSuspect, Reason: "why"}
	case "measurement-corrected":
		return &events.MeasurementCorrected{Experiment: id, Corrects: source, New: &definition.Quantity{Name: "y", Value: 2}, Reason: "why"}
	}
	kind, word, _ := strings.Cut(name, ":")
	outcome := events.Resolution(word)
	var m *events.Measurement
	switch outcome {
	case "measured":
		m = ptr(result(0, 3))
	case "measured-as?": // and nobody says what
		outcome = "measured"
	case "failed-as": // and gave a result
		outcome, m = "failed", ptr(result(0, 3))
	}
	if kind == "resolved" {
		return &events.ExperimentResolved{Experiment: id, Resolution: outcome, Measurement: m, Reason: "why"}
	}
	return &events.ExperimentCorrected{Experiment: id, Supersedes: source, Was: outcomes[status], Outcome: outcome, Measurement: m, Reason: "why"}
}

// Law: an experiment goes from status to status as the table says and in no other
// way, whatever happened to others before; what is refused changes nothing. All but
// imported, cancelled and deferred experiments are spent.
func TestExperimentsGoTheirWay(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(transitions), "\n")
	statuses := strings.Fields(lines[0])[1:]
	to := make(map[[2]string]string)
	var names []string
	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		names = append(names, cells[0])
		for i, status := range statuses {
			to[[2]string{cells[0], status}] = cells[i+1]
		}
	}
	seen := make(map[[2]string]bool)
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 1))
		f := begin(t)
		var status, source []string // of each experiment, by the table
		stalled := make([]bool, 0)
		imported := make([]bool, 0)
		for range 80 {
			n := len(status)
			if n == 0 || n < 8 && rng.IntN(8) == 0 {
				r := request(n + 1)
				imported = append(imported, rng.IntN(3) == 0)
				if imported[n] {
					r.Origin = events.OriginImport
				}
				f.must(r)
				status, source, stalled = append(status, "requested"), append(source, ""), append(stalled, false)
				continue
			}
			i, name := rng.IntN(n), names[rng.IntN(len(names))]
			if rng.IntN(2) == 0 { // so that many are under way
				name = []string{"dispatched", "started", "unresolved"}[rng.IntN(3)]
			}
			step := [2]string{name, status[i]}
			if to[step] == "?" {
				continue
			}
			id := fmt.Sprintf("e%d", i+1)
			seen[step] = true
			event := fmt.Sprintf("i%d", f.State().Sequence+1)
			err := f.try(transition(name, id, status[i], source[i], point(float64(i+1))))
			if (err == nil) != (to[step] != "-") {
				t.Fatalf("%s of an experiment that is %s: %v, want %s", name, status[i], err, to[step])
			}
			if err != nil {
				continue
			}
			x, again := *f.State().Experiment(id), campaign.Experiment{}
			if text, err := json.Marshal(x); err != nil || json.Unmarshal(text, &again) != nil || again.Command.Fate != x.Command.Fate {
				t.Fatalf("after %s of an experiment its command is %q, and %q once it was written", name, x.Command.Fate, again.Command.Fate)
			}
			ended := outcomes[to[step]] != ""
			stalled[i] = name == "stalled" || stalled[i] && (to[step] == "started" || to[step] == "dispatched")
			status[i] = to[step]
			if ended && name != "flagged" {
				source[i] = event
			}
			spent, open := 0, 0
			count := make(map[string]int)
			for k, s := range status {
				count[s]++
				x := f.State().Experiment(fmt.Sprintf("e%d", k+1))
				isOpen := slices.Contains([]string{"requested", "dispatched", "started", "unresolved"}, s)
				if isOpen {
					open++
				}
				if !imported[k] && s != "cancelled" && s != "deferred" {
					spent++
				}
				cause := "why" // of every event that says one
				if isOpen && s != "unresolved" || s == "measured" {
					cause = ""
				}
				if string(x.Status) != s || x.Cause != cause || x.Source != source[k] || x.Command.Stalled != stalled[k] || x.Status.Open() != isOpen ||
					(x.Measurement != nil) != (s == "measured") || x.Status.Outcome() != outcomes[s] {
					t.Fatalf("after %s of an experiment: %+v, want it %s because %q, stalled %v, standing in %s", name, *x, s, cause, stalled[k], source[k])
				}
			}
			if got := f.State().Spent(); got != spent {
				t.Fatalf("%v, imported %v: %d are spent, want %d", status, imported, got, spent)
			}
			if got := f.State().Count(campaign.Requested, campaign.Dispatched, campaign.Started, campaign.Unresolved); got != open {
				t.Fatalf("%v: %d are open, want %d", status, got, open)
			}
			if got := f.State().Count(campaign.Failed, campaign.Infeasible); got != count["failed"]+count["infeasible"] {
				t.Fatalf("%v: %d failed, want %d", status, got, count["failed"]+count["infeasible"])
			}
		}
	}
	for step, next := range to {
		if next != "?" && !seen[step] {
			t.Errorf("%s of what is %s was never tried", step[0], step[1])
		}
	}
}

// Law: an event about another command than the one that was sent, another
// composition than was asked for, or an experiment that does not exist, is refused.
func TestMisdirectedEvents(t *testing.T) {
	begun := func() *fold {
		f := begin(t)
		f.must(request(1), &events.ExperimentDispatched{Experiment: "e1", Command: "c/e1"}, request(2))
		return f
	}
	requested, measured := point(1), result(1, 5)
	f := begun()
	f.refuses(
		&events.ExperimentStarted{Experiment: "e1", Command: "c/e2"},
		&events.ExperimentMeasured{Experiment: "e1", Command: "c/e2", Requested: requested, Measurement: measured},
		&events.ExperimentMeasured{Experiment: "e1", Command: "c/e1", Requested: point(2), Measurement: measured},
		&events.ExperimentMeasured{Experiment: "e1", Command: "c/e1", Measurement: measured},
		&events.ExperimentFailed{Experiment: "e1", Command: "c/e2"},
		&events.ExperimentInfeasible{Experiment: "e1", Command: "c/e2"},
		&events.ExperimentDeferred{Experiment: "e1", Command: "c/e2"},
		&events.ExperimentCancelled{Experiment: "e1", Command: "c/e2"},
		&events.ExperimentUnresolved{Experiment: "e1", Command: "c/e2"},
		&events.InstrumentStalled{Experiment: "e1", Command: "c/e2"},
		// e2 was never sent: there is no command that could be it.
		&events.ExperimentFailed{Experiment: "e2", Command: "c/e1"},
	)
	for _, id := range []string{"e0", "e3", "e01", "e+1", "e-1", "e", "", "1", "q1", "E1", "e1 ", "e1.0"} {
		f.refuses(
			&events.ExperimentStarted{Experiment: id, Command: "c/e1"},
			&events.ExperimentMeasured{Experiment: id, Requested: requested, Measurement: measured},
			&events.MeasurementCorrected{Experiment: id},
			&events.ExperimentCorrected{Experiment: id, Outcome: events.ResolvedFailed},
		)
		if f.State().Experiment(id) != nil || f.State().Question(id) != nil {
			t.Errorf("%q names something", id)
		}
	}
	// A person who tells what became of an experiment knows of no command.
	f.must(&events.ExperimentMeasured{Experiment: "e1", Requested: requested, Measurement: measured}, &events.ExperimentFailed{Experiment: "e2"})
	// Everything comes in order, once.
	f.refuses(request(2), request(4), &events.ExperimentRequested{Experiment: "e03"})
	f.must(request(3))
}

// Law: events come in sequence, the definition first and once; the error says which.
func TestEventsComeInOrder(t *testing.T) {
	p := campaign.New()
	defined := &events.CampaignDefined{Definition: definition.Campaign{Name: "c"}}
	for _, step := range []struct {
		sequence events.Sequence
		payload  events.Payload
		problem  string // part of the error, "" where the event is taken
	}{
		{2, defined, "follows event 0"}, {0, defined, "follows event 0"}, {1, &events.CampaignPaused{}, "not defined yet"},
		{1, request(1), "not defined yet"}, {1, defined, ""},
		{1, defined, "follows event 1"}, {2, defined, "already defined"}, {3, request(1), "follows event 1"}, {1, request(1), "follows event 1"},
		{2, request(1), ""}, {2, request(2), "follows event 2"},
		// What the projection does not care about counts too.
		{3, &events.AnchorsDeclared{Expert: "ada"}, ""}, {3, request(2), "follows event 3"}, {4, request(2), ""},
	} {
		err := p.Apply(events.Event{Campaign: "c", Sequence: step.sequence, ID: fmt.Sprint("i", step.sequence), Kind: events.KindOf(step.payload)}, step.payload)
		if (err == nil) != (step.problem == "") || err != nil && !strings.Contains(err.Error(), step.problem) {
			t.Errorf("%s as event %d: %v", events.KindOf(step.payload), step.sequence, err)
		}
	}
	if s := p.State(); s.Sequence != 4 || s.LastEvent != "i4" || len(s.Experiments) != 2 {
		t.Errorf("the state is %+v", s)
	}
}

// Law: what an experiment went through stays with it: who measured, when, where its
// outcome stands, and whether it was real.
func TestExperimentsRememberThemselves(t *testing.T) {
	f := begin(t)
	at := func(n int) time.Time { return began.Add(time.Duration(n) * time.Minute) }
	f.must(&events.ExperimentRequested{Experiment: "e1", Parameters: point(1), Origin: events.OriginInitial, Decision: "d1", Replicate: 2}) // i2
	f.must(&events.ExperimentDispatched{Experiment: "e1", Command: "k", Instrument: "potentiostat", Identity: "serial 7"})                  // i3
	f.must(&events.InstrumentStalled{Experiment: "e1", Command: "k"})                                                                       // i4
	x := campaign.Experiment{
		ID: "e1", Status: campaign.Dispatched, Parameters: point(1), Origin: events.OriginInitial, Decision: "d1", Replicate: 2,
		RequestedAt: at(2), Command: campaign.Command{
			ID: "k", Fate: campaign.Sent, Instrument: "potentiostat", Identity: "serial 7", Real: true, Stalled: true,
			DispatchedAt: at(3),
		}, LastEvent: "i4", Trace: "t4",
	}
	same := func() {
		t.Helper()
		if diff := cmp.Diff(x, f.State().Experiments[0], cmp.AllowUnexported(definition.Value{})); diff != "" {
			t.Error(diff)
		}
	}
	same()
	f.must(&events.ExperimentUnresolved{Experiment: "e1", Command: "k", Cause: "power cut"}) // i5
	x.Status, x.Cause, x.Command.Stalled, x.LastEvent, x.Trace = campaign.Unresolved, "power cut", false, "i5", "t5"
	x.Command.Fate = campaign.Unknown
	same()
	m := result(1.1, 5)
	f.must(&events.ExperimentMeasured{Experiment: "e1", Command: "k", Instrument: "other", Requested: point(1), Measurement: m}) // i6
	x.Status, x.Cause, x.Measurement, x.Command.Instrument, x.Source = campaign.Measured, "", &m, "other", "i6"
	x.EndedAt, x.LastEvent, x.Trace = at(6), "i6", "t6"
	x.Command.Fate = campaign.Over
	same()
	flag := &events.MeasurementFlagged{Experiment: "e1", Verdict: events.VerdictElsewhere}
	f.must(flag) // i7
	x.Flag, x.Elsewhere, x.LastEvent, x.Trace = flag, true, "i7", "t7"
	same()
	overturned := &events.MeasurementFlagged{Experiment: "e1", Verdict: events.VerdictOverturned}
	f.must(overturned) // i8
	x.Flag, x.Excluded, x.LastEvent, x.Trace = overturned, true, "i8", "t8"
	same()

	simulated := f.event(&events.ExperimentRequested{})
	for _, p := range []events.Payload{request(2), &events.ExperimentDispatched{Experiment: "e2", Command: "k2"},
		&events.ExperimentMeasured{Experiment: "e2", Command: "k2", Requested: point(2), Measurement: m}} {
		simulated.Kind, simulated.Simulated = events.KindOf(p), true
		if err := f.Apply(simulated, p); err != nil {
			t.Fatal(err)
		}
		simulated.Sequence++
	}
	if x := f.State().Experiment("e2"); x.Command.Real || !x.Simulated {
		t.Errorf("a simulated device: %+v", x)
	}
}

// Law: a campaign is running, paused, stopped or completed; amending completes
// nothing and lets one that has completed go on, but not one that a person stopped.
func TestCampaignStatus(t *testing.T) {
	pause, resume := &events.CampaignPaused{Reason: "lunch"}, &events.CampaignResumed{}
	stop, complete := &events.CampaignStopped{Reason: "enough"}, &events.CampaignCompleted{Reason: events.CompletedBudget}
	amend := &events.CampaignAmended{Definition: definition.Campaign{Name: "c", Budget: definition.Budget{Experiments: 20}}, Source: "new"}
	for _, c := range []struct {
		name    string
		history []events.Payload
		status  campaign.Status
		reason  string
		ended   bool
	}{
		{"defined", nil, "running", "", false},
		{"paused", []events.Payload{pause}, "paused", "lunch", false},
		{"resumed", []events.Payload{pause, resume}, "running", "", false},
		{"stopped", []events.Payload{stop}, "stopped", "enough", true},
		{"stopped in a pause", []events.Payload{pause, stop}, "stopped", "enough", true},
		{"completed", []events.Payload{complete}, "completed", "budget", true},
		{"amended", []events.Payload{amend}, "running", "", false},
		{"amended in a pause", []events.Payload{pause, amend}, "paused", "lunch", false},
		{"amended after its end", []events.Payload{complete, amend}, "running", "", false},
		{"amended after it was stopped", []events.Payload{stop, amend}, "stopped", "enough", true},
	} {
		f := begin(t)
		f.must(c.history...)
		s := f.State()
		if s.Status != c.status || s.Reason != c.reason || s.Status.Ended() != c.ended || s.EndedAt.IsZero() == c.ended {
			t.Errorf("%s: it is %s (%q), ended at %v", c.name, s.Status, s.Reason, s.EndedAt)
		}
		if slices.Contains(c.history, events.Payload(amend)) != (s.Definition.Budget.Experiments == 20 && s.Source == "new" && s.DefinedBy != "i1") {
			t.Errorf("%s: the definition is of %s", c.name, s.DefinedBy)
		}
	}
	if campaign.New().State().Status.Ended() {
		t.Error("a campaign without events has ended")
	}
	f := begin(t)
	f.must(request(1), request(2), pause, resume)
	if s := f.State(); s.ResumedAt != 2 || !s.ResumedOn.Equal(began.Add(5*time.Minute)) {
		t.Errorf("resumed after %d experiments, at %v", s.ResumedAt, s.ResumedOn)
	}
}

// Law: a correction that gives something back to spend lets a campaign go on that
// ended for want of it, and no other.
func TestCorrectionsReopen(t *testing.T) {
	for _, c := range []struct {
		name    string
		spent   int // of a budget of 10
		end     events.Payload
		outcome events.Resolution
		want    campaign.Status
	}{
		{"the budget was spent", 10, &events.CampaignCompleted{Reason: events.CompletedBudget}, events.ResolvedNotPerformed, campaign.Running},
		{"all was tried", 10, &events.CampaignCompleted{Reason: events.CompletedExhausted}, events.ResolvedNotPerformed, campaign.Running},
		{"more than the budget was spent", 11, &events.CampaignCompleted{Reason: events.CompletedBudget}, events.ResolvedNotPerformed, campaign.Completed},
		{"a failure is spent", 10, &events.CampaignCompleted{Reason: events.CompletedBudget}, events.ResolvedFailed, campaign.Completed},
		{"the target was reached", 10, &events.CampaignCompleted{Reason: events.CompletedTarget}, events.ResolvedNotPerformed, campaign.Completed},
		{"the time was spent", 10, &events.CampaignCompleted{Reason: events.CompletedTime}, events.ResolvedNotPerformed, campaign.Completed},
		{"a person stopped it", 10, &events.CampaignStopped{Reason: events.CompletedBudget}, events.ResolvedNotPerformed, campaign.Stopped},
		{"it was paused", 10, &events.CampaignPaused{Reason: events.CompletedBudget}, events.ResolvedNotPerformed, campaign.Paused},
	} {
		f := begin(t)
		for n := 1; n <= c.spent; n++ {
			f.must(request(n), &events.ExperimentMeasured{Experiment: fmt.Sprintf("e%d", n), Requested: point(float64(n)), Measurement: result(0, 1)})
		}
		f.must(c.end)
		x := f.State().Experiment("e3")
		f.must(&events.ExperimentCorrected{Experiment: "e3", Supersedes: x.Source, Was: events.ResolvedMeasured, Outcome: c.outcome, Reason: "why"})
		if s := f.State(); s.Status != c.want || (s.Status == campaign.Running) != (s.Reason == "" && s.EndedAt.IsZero()) {
			t.Errorf("%s: it is %s (%q, %v), want %s", c.name, s.Status, s.Reason, s.EndedAt, c.want)
		}
	}
}

// Law: decisions and exclusions are counted in order, trust moves from where it was,
// and each expert has their own.
func TestCounting(t *testing.T) {
	f := begin(t)
	box := func(lo, hi float64) definition.Region {
		return definition.Region{Name: fmt.Sprint(lo), Where: map[string]definition.RegionSide{"x": {Min: &lo, Max: &hi}}}
	}
	f.refuses(&events.DecisionMade{Decision: "d2"}, &events.DecisionMade{Decision: ""}, &events.RegionExcluded{Exclusion: "n2", Region: box(0, 1)},
		&events.RegionAllowed{Exclusion: "n1"})
	f.must(&events.DecisionMade{Decision: "d1"}, &events.DecisionMade{Decision: "d2"})
	f.refuses(&events.DecisionMade{Decision: "d2"}, &events.DecisionMade{Decision: "d4"})
	for id, want := range map[string]bool{"d1": true, "d2": true, "d3": false, "d0": false, "d": false, "e1": false, "": false, "d+1": false} {
		if f.State().HasDecision(id) != want {
			t.Errorf("decision %q: %v", id, !want)
		}
	}

	f.must(&events.RegionExcluded{Exclusion: "n1", Region: box(0, 1), About: "q1", Reason: "smells"}, &events.RegionExcluded{Exclusion: "n2", Region: box(2, 3), Reason: "burns"})
	f.must(&events.RegionAllowed{Exclusion: "n1"})
	f.refuses(&events.RegionAllowed{Exclusion: "n1"}, &events.RegionAllowed{Exclusion: "n3"}, &events.RegionExcluded{Exclusion: "n2"})
	if excluded := f.State().Excluded(); len(excluded) != 1 || excluded[0].Name != "2" {
		t.Errorf("what people have excluded: %v", excluded)
	}
	f.State().Definition.Excluded = make([]definition.Region, 1, 8) // with room to append in place
	f.State().Definition.Excluded[0] = box(5, 6)
	if bounded := f.State().Bounded(); len(bounded.Excluded) != 2 || bounded.Excluded[0].Name != "5" || bounded.Excluded[1].Name != "2" {
		t.Errorf("what is excluded: %v", bounded.Excluded)
	}
	if own := f.State().Definition.Excluded; len(own) != 1 || own[:2][1].Name != "" {
		t.Errorf("the definition has become %v", own[:2])
	}
	f.must(&events.RegionAllowed{Exclusion: "n2"})
	if bounded := f.State().Bounded(); len(bounded.Excluded) != 1 || f.State().Excluded() != nil {
		t.Errorf("what is excluded once all is allowed: %v", bounded.Excluded)
	}

	if _, ok := f.State().Lambda("ada"); ok {
		t.Error("ada is trusted before anything was said of it")
	}
	f.must(&events.TrustAdjusted{Expert: "ada", From: 1, To: 0.5}, &events.TrustAdjusted{Expert: "bob", From: 1, To: 2})
	f.refuses(&events.TrustAdjusted{Expert: "ada", From: 1, To: 0.2})
	f.must(&events.TrustAdjusted{Expert: "ada", From: 0.5, To: 0})
	a, okA := f.State().Lambda("ada")
	b, okB := f.State().Lambda("bob")
	if a != 0 || !okA || b != 2 || !okB {
		t.Errorf("λ is %v (%v) and %v (%v)", a, okA, b, okB)
	}

	f.must(&events.ModelFitFailed{Cause: "singular"})
	if f.State().Failure != "singular" {
		t.Errorf("the fit failed for %q", f.State().Failure)
	}
	f.must(&events.ModelFitted{}, &events.RecoveryDone{Epoch: "w2"}, &events.RecoveryDone{}, &events.NoteAdded{Text: "stirred", About: "e1"})
	s := f.State()
	if s.Failure != "" || s.Recoveries != 2 || s.Epoch != "w2" || s.Instance != "w" || s.Name != "c" || s.Trace != "t1" || s.DefinedBy != "i1" {
		t.Errorf("the state is %+v", s)
	}
	if len(s.Notes) != 1 || s.Notes[0].Text != "stirred" || s.Notes[0].About != "e1" || s.Notes[0].Actor != "person:ada" {
		t.Errorf("the notes are %+v", s.Notes)
	}
}

// Law: a projection restored from a snapshot is as the one that was folded, at any
// point of a history; half a snapshot, or one of another build, is refused and the state
// stays as it was.
func TestSnapshots(t *testing.T) {
	f := begin(t)
	restored := campaign.New()
	for _, payload := range []events.Payload{
		request(1), &events.ExperimentDispatched{Experiment: "e1", Command: "c/e1"},
		&events.ExperimentMeasured{Experiment: "e1", Command: "c/e1", Requested: point(1), Measurement: result(1, 5)},
		asked("q1", events.FormComparison, 1, 2), answered("q1", events.FormComparison, events.Answer{}, 1, 2),
		volunteered("q2", events.FormLabel, reject, 1), &events.TrustAdjusted{Expert: "ada", To: 0.5}, &events.CampaignPaused{Reason: "lunch"},
	} {
		snapshot, err := f.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if err := restored.Restore(snapshot); err != nil {
			t.Fatal(err)
		}
		event := f.event(payload)
		f.must(payload)
		if err := restored.Apply(event, payload); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(f.State(), restored.State(), cmp.AllowUnexported(definition.Value{})); diff != "" {
			t.Fatalf("after %s (− folded, + restored and folded):\n%s", event.Kind, diff)
		}
	}
	for _, snapshot := range []string{"", "{", "[]", `{"sequence": 3, "unheard": 1}`} {
		if restored.Restore([]byte(snapshot)) == nil || restored.State().Sequence != f.State().Sequence {
			t.Errorf("%q is restored", snapshot)
		}
	}
}
