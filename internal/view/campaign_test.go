package view_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/adapters/instruments/manual"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/policies/cobol"
	"github.com/campaignd/campaignd/policies/coexbo"
	"github.com/campaignd/campaignd/projections/campaign"
)

func ptr[T any](x T) *T { return &x }

// how names a remedy as the tests expect it.
func how(r problem.Remedy) string {
	return strings.Join(strings.Fields(string(r.Action)+" "+r.Subject+" "+strings.Join(r.Ways, "|")), " ")
}

// clause adds to a message what can be done about it, as the tests expect it.
func clause(message string, remedies []problem.Remedy) string {
	for _, r := range remedies {
		message += "; " + r.Text
	}
	return message
}

// choosing simulates a campaign whose expert chooses between candidates.
func choosing(t *testing.T) (events.Log, *engine.Core) {
	t.Helper()
	def := must.Get(studytest.Define("branin", 4, 9, studytest.WithExpert(2), func(def *definition.Campaign) {
		def.Policy.Trust = coexbo.CoExBO{}.Choice()
		def.Policy.Handover = coexbo.Choose{Gate: ptr(false)}.Choice()
		def.Initial.Comparisons = ptr(12)
	}))(t)
	log := memlog.New()
	core := must.Get(studytest.Simulate(t.Context(), log, def))(t)
	return log, core
}

// fold makes a campaign of events.
func fold(t *testing.T, payloads ...events.Payload) *engine.Core {
	t.Helper()
	core := engine.NewCore(builtin.Registry())
	for i, payload := range payloads {
		e := must.Get(events.New("x", payload))(t)
		e.Sequence = events.Sequence(i + 1)
		e.Position = events.Position(i + 1)
		e.ID = string(rune('a' + i))
		e.Actor = "engine"
		e.Time = time.Date(2026, 3, 2, 8, i, 0, 0, time.UTC)
		if err := core.Apply(e); err != nil {
			t.Fatalf("%d, %s: %v", i, events.KindOf(payload), err)
		}
	}
	return core
}

// byHand is a campaign whose experiments people run.
func byHand() *events.CampaignDefined {
	def := campaignfile.Complete(builtin.Registry(), definition.Campaign{
		Name:       "x",
		Objective:  definition.Objective{Name: "conductivity", Unit: "mS/cm", Goal: definition.Maximize},
		Parameters: []definition.Parameter{{Name: "salt", Unit: "mol/kg", Min: ptr(0.2), Max: ptr(2.1)}},
		Instrument: definition.Instrument{Driver: manual.Choose(manual.Settings{})},
		Experts:    []definition.Expert{{Name: "ada", Channel: terminal.Choose(terminal.Settings{})}},
		Policy:     definition.Policy{Trust: cobol.COBOL{}.Choice()},
		Budget:     definition.Budget{Experiments: 5},
		Seed:       1,
	})
	return &events.CampaignDefined{Instance: "i", Definition: def}
}

// asksToLabel is a question about a composition.
func asksToLabel(id, expert, explanation string) *events.QuestionAsked {
	return &events.QuestionAsked{
		Question: id, Form: events.FormLabel, Expert: expert, Decision: "d1",
		Options: []events.Option{{Parameters: salt(1.5)}}, Explanation: explanation,
	}
}

func salt(x float64) definition.Point { return definition.Point{"salt": definition.Number(x)} }

// remark adds a person's remark to the log of a campaign.
func remark(t *testing.T, log events.Log, name, about string) {
	t.Helper()
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, name))(t)
	e := must.Get(events.New(name, &events.NoteAdded{Text: "why?", About: about}))(t)
	e.Actor = "person:ada"
	e.ID = "remark"
	e.Time = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	must.Get(log.Append(t.Context(), name, core.State().Sequence, e))(t)
}

// Law: what followed from a decision is every later event that names what it asked
// for, in the log's order, and no other: looked up here in the stored bytes.
func TestWhatFollowedFromADecision(t *testing.T) {
	log, core := choosing(t)
	remark(t, log, core.State().Name, "d2") // that took up the answer to d1
	type stored struct {
		kind   events.Kind
		fields map[string]any
		text   string
	}
	var all []stored
	for e := range must.Each(t, log.Read(t.Context(), 0)) {
		var fields map[string]any
		must.Do(t, json.Unmarshal(e.Data, &fields))
		text := must.Get(events.MarshalCloudEvent(e))(t)
		all = append(all, stored{e.Kind, fields, string(text)})
	}
	explained := 0
	for at, made := range all {
		if made.kind != events.KindDecisionMade {
			continue
		}
		id := made.fields["decision"].(string)
		d := must.Get(recordOf(t, log, core).Decision(t.Context(), log, id))(t)
		asked := map[any]bool{}
		deciders := map[any]bool{id: true}
		var want []string
		for _, later := range all[at+1:] {
			f := later.fields
			follows := false
			switch later.kind {
			case events.KindDecisionMade: // the one that took up the answer
				if made.fields["form"] == string(events.FormComparison) &&
					f["action"] == string(events.ActionRun) && len(deciders) == 1 {
					deciders[f["decision"]] = true
					follows = true
				}
			case events.KindTrustAdjusted:
				follows = f["decision"] == id
			case events.KindCampaignCompleted:
				follows = made.fields["action"] == string(events.ActionStop)
			case events.KindExperimentRequested:
				follows = deciders[f["decision"]]
				asked[f["experiment"]] = asked[f["experiment"]] || follows
			case events.KindQuestionAsked:
				follows = deciders[f["decision"]]
				asked[f["question"]] = asked[f["question"]] || follows
			case events.KindNoteAdded:
				follows = deciders[f["about"]]
			default:
				follows = f["experiment"] != nil && asked[f["experiment"]] ||
					f["question"] != nil && asked[f["question"]]
			}
			if follows {
				want = append(want, later.text)
			}
		}
		var got []string
		for _, text := range d.Followed {
			got = append(got, string(text))
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %s there followed\n%s\nwant\n%s", id, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for about := range asked {
			if !asked[about] || len(deciders) > 1 && strings.HasPrefix(about.(string), "e") {
				continue
			}
			if behind, why := view.DecisionBehind(core.State(), about.(string)); behind != id {
				t.Errorf("behind %s is %q (%s), want %s", about, behind, why, id)
			}
		}
		explained++
	}
	if explained < 8 {
		t.Errorf("only %d decisions were made", explained)
	}
}

// Law: the end of a campaign follows from the decision to stop, whatever other campaigns of
// the store record between the two.
func TestEndFollowsFromDecision(t *testing.T) {
	log, core := choosing(t)
	name := core.State().Name
	shared := memlog.New() // the same events, each after three of another campaign
	var last string
	var n events.Sequence
	for e, err := range events.ReadCampaign(t.Context(), log, name, 0) {
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			other := e
			other.Campaign = "other"
			other.ID = fmt.Sprint("other", n)
			must.Get(shared.Append(t.Context(), "other", n, other))(t)
			n++
		}
		must.Get(shared.Append(t.Context(), name, e.Sequence-1, e))(t)
		if p, err := events.Decode(e); err == nil && e.Kind == events.KindDecisionMade {
			last = p.(*events.DecisionMade).Decision
		}
	}
	d := must.Get(recordOf(t, shared, core).Decision(t.Context(), shared, last))(t)
	if d.Decision.Action != events.ActionStop || len(d.Followed) == 0 ||
		!strings.Contains(string(d.Followed[0]), string(events.KindCampaignCompleted)) {
		t.Errorf("after the decision to %s there followed %s", d.Decision.Action, d.Followed)
	}
}

// A decision is laid out with its candidates, the answer, the Shapley values and what
// followed.
func TestDecisionInWords(t *testing.T) {
	log, core := choosing(t)
	asked := slices.IndexFunc(core.State().Questions, func(q campaign.Question) bool { return q.Decision != "" })
	d := must.Get(recordOf(t, log, core).Decision(t.Context(), log, core.State().Questions[asked].Decision))(t)
	var text strings.Builder
	must.Do(t, d.Write(&text, how))
	for _, want := range []string{
		"which of two candidates is better", "\nCandidates\n", "A ", "B ", "  * ", "predicted value",
		"\nWhat each parameter does (Shapley values)\n", "base + sum", "\nModels\n", "\nWhat followed\n", " prefers ",
		"'s choice in q",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
	took := must.Get(recordOf(t, log, core).Decision(t.Context(), log, d.Chose))(t)
	text.Reset()
	must.Do(t, took.Write(&text, how))
	if want := "; what was weighed then: explain " + d.Decision.Decision; !strings.Contains(text.String(), want) {
		t.Errorf("%q is not in\n%s", want, text.String())
	}
}

// Law: no decision is behind what belongs to the initial design, and it is said why.
func TestNoDecisionBehind(t *testing.T) {
	core := fold(t, byHand(),
		&events.ExperimentRequested{Experiment: "e1", Parameters: salt(1), Origin: events.OriginInitial, Replicate: 1},
		&events.QuestionAnswered{
			Question: "q1", Form: events.FormLabel, Expert: "ada", Options: []definition.Point{salt(1)},
			Answer: events.Answer{Label: events.LabelAccept}, Volunteered: true,
		},
	)
	for id, want := range map[string]string{"e1": "the initial design", "q1": "an initial label"} {
		if decision, why := view.DecisionBehind(core.State(), id); decision != "" || !strings.Contains(why, want) {
			t.Errorf("behind %s is %q: %s", id, decision, why)
		}
	}
}

// status returns how a campaign stands, as data and in words.
func status(t *testing.T, core *engine.Core, running string) (*view.Status, string) {
	t.Helper()
	st := must.Get(view.StatusOf(t.Context(), core, nil))(t)
	var text strings.Builder
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	around := view.Around{Running: running, NeedsPerson: st.NeedsPerson(how, true), Store: "x.campaign", Now: now}
	must.Do(t, st.Write(&text, around, how))
	return st, text.String()
}

// Law: what a person must see to is said of whatever needs them, with what they can do,
// and of nothing else.
func TestStatusSaysWhatNeedsAPerson(t *testing.T) {
	requested := &events.ExperimentRequested{
		Experiment: "e1",
		Parameters: salt(1),
		Origin:     events.OriginInitial,
		Replicate:  1,
	}
	dispatched := &events.ExperimentDispatched{Experiment: "e1", Command: "x/i/e1", Instrument: "bench"}
	unresolved := &events.ExperimentUnresolved{
		Experiment: "e1",
		Command:    "x/i/e1",
		Instrument: "bench",
		Cause:      "no light",
	}
	measured := &events.ExperimentMeasured{
		Experiment: "e1", Command: "x/i/e1", Instrument: "bench", Requested: salt(1),
		Measurement: events.Measurement{Actual: salt(1), Objective: definition.Quantity{Value: 12, Unit: "mS/cm"}},
	}
	suspect := &events.MeasurementFlagged{Experiment: "e1", Verdict: events.VerdictSuspect, Reason: "far off."}
	again := &events.ExperimentRequested{
		Experiment: "e2",
		Parameters: salt(1),
		Origin:     events.OriginInitial,
		Replicate:  2,
	}
	sign := &events.InstrumentSignalled{
		Experiment: "e1",
		Command:    "x/i/e1",
		Instrument: "bench",
		Sign:       events.Sign{Fraction: ptr(0.4), Text: "cycle 12 of 30", NextBy: 7 * 3600},
	}
	for name, c := range map[string]struct {
		after []events.Payload
		want  []string
		line  string
	}{
		"at work": {[]events.Payload{requested, dispatched, sign}, nil, "under way    e1 is dispatched; 40 %, cycle 12 of 30, the next sign within 7 h 0 min, 57 min 0 s ago (salt 1.00)"},
		"nothing": {nil, nil, "run          by hand: `suggest` gives the next experiment, and `tell EXPERIMENT` takes its result"},
		"asked":   {[]events.Payload{requested}, nil, "under way    e1 is requested (salt 1.00)"},
		"unknown": {[]events.Payload{requested, dispatched, unresolved},
			[]string{"the fate of e1 is unknown (no light): look at bench, then `resolve e1`"},
			"under way    e1 is unresolved (salt 1.00)"},
		"in doubt": {[]events.Payload{requested, dispatched, measured, suspect},
			[]string{"e1 is in doubt: far off. Settle it with `correct e1 include|exclude`"},
			"             measured: conductivity 12.00 mS/cm, in e1"},
		"repeated": {[]events.Payload{requested, dispatched, measured, suspect, again}, nil,
			"under way    e2 is requested (salt 1.00)"},
	} {
		st, text := status(t, fold(t, append([]events.Payload{byHand()}, c.after...)...), "")
		if got := st.NeedsPerson(how, true); !slices.Equal(got, c.want) {
			t.Errorf("%s: a person is needed for %q, want %q", name, got, c.want)
		}
		if n := strings.Count(text, "NEEDS YOU"); n != len(c.want) {
			t.Errorf("%s: it says so %d times:\n%s", name, n, text)
		}
		if !strings.Contains(text, "  "+c.line+"\n") {
			t.Errorf("%s: %q is not in\n%s", name, c.line, text)
		}
	}
}

// Law: a reference experiment outside its limits needs a person, until a word on it was said.
func TestStatusOfReferences(t *testing.T) {
	def := byHand()
	def.Definition.ReferenceExperiments = map[string]definition.ReferenceExperiment{"standard": {
		Composition: salt(1), Every: 5, Limits: map[string]definition.ControlLimits{"conductivity": {Target: 10, Tolerance: 1}},
	}}
	all := []events.Payload{
		def, &events.ExperimentRequested{Experiment: "e1", Parameters: salt(1), Origin: events.OriginReference, Replicate: 1},
		&events.ExperimentMeasured{Experiment: "e1", Instrument: "person", Requested: salt(1), Measurement: events.Measurement{
			Actual: salt(1), Objective: definition.Quantity{Name: "conductivity", Value: 12, Unit: "mS/cm"},
		}},
	}
	st, text := status(t, fold(t, all...), "")
	want := []string{"e1, a reference experiment (standard), is 12.00 mS/cm, outside the limits of its control chart (9.000 to 11.00): " +
		"the instrument may have drifted; look at it, and write what you found with `note e1`"}
	if got := st.NeedsPerson(how, true); !slices.Equal(got, want) {
		t.Errorf("a person is needed for %q", got)
	}
	if strings.Contains(text, "measured:") || st.Done != 0 {
		t.Errorf("it is taken for a result:\n%s", text)
	}
	core := fold(t, all...)
	if c := view.CourseOf(core.State(), core.Space(), view.NewTimeline(core.Registry().Methods)); len(c.Experiments) > 0 {
		t.Errorf("it is in the course: %+v", c.Experiments)
	}
	from := 0.9
	barred := &events.RegionExcluded{Exclusion: "n1", Region: definition.Region{Where: map[string]definition.RegionSide{"salt": {Min: &from}}}}
	st, _ = status(t, fold(t, append(slices.Clone(all), barred)...), "")
	if got := st.NeedsPerson(how, true); len(got) != 2 || !strings.HasPrefix(got[1], "the reference experiment standard is not measured: ") {
		t.Errorf("of one in an excluded region it is said %q", got)
	}
	st, _ = status(t, fold(t, append(all, &events.NoteAdded{Text: "a new lamp", About: "e1"})...), "")
	if got := st.NeedsPerson(how, true); len(got) > 0 {
		t.Errorf("after a word a person is needed for %q", got)
	}
}

// Law: what is left of each stock is in the status, and a stock that does not suffice comes before all
// else that a person must see to.
func TestStatusOfStocks(t *testing.T) {
	def := byHand()
	def.Definition.Stocks = map[string]definition.Stock{"tips": {Labels: "A1-C1"}, "water": {Amount: "10 mL"}}
	def.Definition.Instrument.Draws = map[string]definition.Draw{"tips": "2", "water": "4.5 mL"}
	requested := func(id string) events.Payload {
		return &events.ExperimentRequested{Experiment: id, Parameters: salt(1), Origin: events.OriginInitial, Replicate: 1}
	}
	st, text := status(t, fold(t, def, requested("e1"),
		&events.ExperimentDispatched{Experiment: "e1", Command: "x/i/e1", Instrument: "bench", Drawn: []events.Drawn{
			{Stock: "tips", Labels: []string{"A1", "B1"}}, {Stock: "water", Amount: 4.5, Unit: "mL"},
		}},
		&events.ExperimentUnresolved{Experiment: "e1", Command: "x/i/e1", Instrument: "bench", Cause: "no light"},
		requested("e2")), "")
	needs := st.NeedsPerson(how, true)
	if want := "e2 cannot be begun: it needs 2 of tips, and 1 is left; refill it, and count it with "; len(needs) != 2 || !strings.HasPrefix(needs[0], want) {
		t.Errorf("a person is needed for %q, want %q first", needs, want)
	}
	for _, line := range []string{"stock        tips: 1 of 3 left, C1 next", "stock        water: 5.5 of 10 mL left"} {
		if !strings.Contains(text, "  "+line+"\n") {
			t.Errorf("%q is not in\n%s", line, text)
		}
	}
	if d := st.Document(); len(d.Stocks) != 2 || d.Stocks[0].Left != 1 || d.Stocks[0].Next != "C1" || d.Stocks[1].Left != 5.5 {
		t.Errorf("for programs they are %+v", d.Stocks)
	}
}

// A status says what is asked and how it is answered, what still can be, where nothing
// is suggested, and who runs the campaign.
func TestStatusInWords(t *testing.T) {
	asks := func(id string) events.Payload {
		return asksToLabel(id, "ada", "")
	}
	_, text := status(t, fold(t, byHand(),
		asks("q1"), &events.QuestionExpired{Question: "q1"},
		asks("q2"),
		&events.RegionExcluded{
			Exclusion: "n1",
			Reason:    "too thick",
			Region:    definition.Region{Where: map[string]definition.RegionSide{"salt": {Min: ptr(1.9)}}},
		},
		&events.CampaignPaused{Reason: "lunch"},
	), "by process 7")
	want := `Campaign x: paused (lunch)

  run          by process 7
  experiments  0 of 5
  labels       0
  best         nothing was measured
  asked        2 questions
  asked        q2 to ada (salt 1.50)
               answer q2 accept|reject|unsure|exclude
  unanswered   q1 to ada; an answer still counts: answer q1 accept|reject|unsure|exclude
  excluded     n1: salt from 1.9 (too thick; ` + "`allow n1`" + ` takes it back)
  store        x.campaign, 6 events
`
	if text != want {
		t.Errorf("it says\n%s\nwant\n%s", text, want)
	}
}

// Law: of questions that nobody answered the latest few are named, those alone that can
// still be answered: a composition of one's own cannot, once something else was decided.
func TestQuestionsNobodyAnswered(t *testing.T) {
	payloads := []events.Payload{byHand()}
	for i := range 7 {
		id := events.QuestionID(i + 1)
		payloads = append(payloads,
			asksToLabel(id, "ada", ""),
			&events.QuestionExpired{Question: id})
	}
	payloads = append(payloads,
		&events.QuestionAsked{Question: "q8", Form: events.FormPinpoint, Expert: "ada", Decision: "d1"},
		&events.QuestionExpired{Question: "q8"},
		decided("d1"), decided("d2"))
	st, text := status(t, fold(t, payloads...), "")
	if len(st.Expired) != 7 {
		t.Errorf("%d questions can still be answered, want 7", len(st.Expired))
	}
	want := "unanswered   2 before, q3, q4, q5, q6 and q7 to ada; an answer still counts: answer q7 "
	if !strings.Contains(text, want) {
		t.Errorf("%q is not in\n%s", want, text)
	}
}

// decided is a decision to measure something.
func decided(id string) *events.DecisionMade {
	return &events.DecisionMade{Decision: id, Action: events.ActionRun, At: 1}
}

// Law: what others wrote never begins a line of its own.
func TestOthersCannotForgeLines(t *testing.T) {
	forged := "x\nFORGED"
	def := byHand()
	def.Definition.Objective.Name = forged
	def.Definition.Experts[0].Name = forged
	core := fold(t, def,
		&events.ExperimentRequested{Experiment: "e1", Parameters: salt(1), Origin: events.OriginInitial, Replicate: 1},
		asksToLabel("q1", forged, forged),
		&events.RegionExcluded{
			Exclusion: "n1",
			Reason:    forged,
			Region:    definition.Region{Where: map[string]definition.RegionSide{"salt": {Min: ptr(1.9)}}},
		},
		&events.CampaignPaused{Reason: forged},
	)
	_, text := status(t, core, forged)
	var predictions strings.Builder
	mean := []view.Prediction{{Parameters: salt(3), Outside: "salt = 3\nFORGED", Mean: ptr(1.0), SD: ptr(0.5)}}
	must.Do(t, view.WritePredictions(&predictions, &def.Definition, mean))
	if !strings.Contains(predictions.String(), "outside the space: salt = 3") {
		t.Errorf("the table does not say what is outside:\n%s", predictions.String())
	}
	for _, line := range strings.Split(text+predictions.String(), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "FORGED") {
			t.Errorf("a line is forged in\n%s%s", text, predictions.String())
		}
	}
}

// Law: comparisons count against the budget once they are over, those that nobody asked
// for and those the campaign took back apart.
func TestComparisonsThatCount(t *testing.T) {
	c := view.Campaign{Definition: &definition.Campaign{Policy: definition.Policy{Duel: definition.Choice{Name: "eubo"}}}}
	for _, q := range []campaign.Question{
		{Form: events.FormComparison, Status: campaign.Answered, Answer: events.Answer{Order: []int{0, 1}}},
		{Form: events.FormComparison, Status: campaign.Answered, Answer: events.Answer{Order: []int{1, 0}}, Decision: "d1"},
		{Form: events.FormComparison, Status: campaign.Expired},
		{Form: events.FormComparison, Status: campaign.Asked},
		{Form: events.FormComparison, Status: campaign.Answered, Volunteered: true},
		{Form: events.FormComparison, Status: campaign.Withdrawn, Moot: true},
		{Form: events.FormLabel, Status: campaign.Answered},
		{Form: events.FormPinpoint, Status: campaign.Answered, Answer: events.Answer{Point: salt(1)}},
	} {
		c.Ask(&q)
	}
	if c.Done != 3 || c.AtFirst != 1 || c.Unanswered != 1 || len(c.Questions) != 1 {
		t.Errorf("%d comparisons count, %d at first, %d unanswered, %d open; want 3, 1, 1, 1",
			c.Done, c.AtFirst, c.Unanswered, len(c.Questions))
	}
	if c.Named != 1 {
		t.Errorf("%d compositions were named, want 1", c.Named)
	}
	for budget, share := range map[int]int{0: 0, 2: 100, 3: 100, 4: 75} {
		if c.Budget = budget; c.Share() != share {
			t.Errorf("3 of %d are %d %%, want %d", budget, c.Share(), share)
		}
	}
}

// Law: when a person answered last is known of people's answers alone, and not of those that
// no one was asked for.
func TestAnsweredByPeople(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	c := view.Campaign{Definition: &definition.Campaign{Experts: []definition.Expert{{Name: "ada", Person: true}, {Name: "sim"}}}}
	for i, q := range []campaign.Question{
		{Expert: "ada", Status: campaign.Answered, AnsweredAt: at},
		{Expert: "sim", Status: campaign.Answered},
		{Expert: "ada", Status: campaign.Answered, Volunteered: true},
		{Expert: "ada", Status: campaign.Expired},
	} {
		if i > 0 {
			q.AnsweredAt = at.Add(time.Hour)
		}
		if c.Ask(&q); !c.Answered.Equal(at) {
			t.Errorf("%+v: a person answered at %v", q, c.Answered)
		}
	}
}

// Law: a list in a status is a list where there is nothing in it, as programs read it.
func TestStatusListsAreLists(t *testing.T) {
	st, _ := status(t, fold(t, byHand()), "")
	text := must.Get(json.Marshal(st.Document()))(t)
	for _, name := range []string{"trust", "open", "questions", "expired", "excluded"} {
		if !strings.Contains(string(text), `"`+name+`":[]`) {
			t.Errorf("%s is not an empty list in %s", name, text)
		}
	}
}

// Law: the JSON documents that programs read keep their fields.
func TestDocuments(t *testing.T) {
	log, core := choosing(t)
	st, _ := status(t, core, "")
	d := must.Get(recordOf(t, log, core).Decision(t.Context(), log, "d1"))(t)
	suggestion := must.Get(view.Suggest(t.Context(), core, log,
		engine.Suggestion{Experiments: core.State().Experiments[:1]}))(t)
	methods := view.Methods(builtin.Registry())
	cobol := slices.IndexFunc(methods, func(m view.Method) bool { return m.Name == "cobol" })
	for name, c := range map[string]struct {
		document any
		fields   string
	}{
		"status": {st.Document(), "asked best_by_model best_measured budget campaign comparisons events excluded experiments experts expired labels model open" +
			" questions reason status stopped trust"},
		"decision":   {d, "asked chose decision followed position review time"},
		"suggestion": {suggestion, "campaign experiment further questions stopped"},
		"method":     {methods[cobol], "asks expert instrument name policy source summary"},
		"prediction": {view.Prediction{}, "belief parameters"},
	} {
		text := must.Get(json.Marshal(c.document))(t)
		var fields map[string]any
		must.Do(t, json.Unmarshal(text, &fields))
		if name == "decision" {
			delete(fields, "best_measured") // it has it with a plane alone
		}
		want := c.fields
		if got := strings.Join(slices.Sorted(maps.Keys(fields)), " "); got != want {
			t.Errorf("the %s has the fields\n%s, want\n%s", name, got, want)
		}
	}
}

// Law: the prediction at the best composition is the value that the summary gives it,
// and what cannot be suggested is said to be outside.
func TestPredictions(t *testing.T) {
	if _, err := view.NewPredictor(t.Context(), fold(t, byHand())); !errors.Is(err, view.ErrNoModel) {
		t.Errorf("before any result: %v", err)
	}
	_, core := choosing(t)
	predictor := must.Get(view.NewPredictor(t.Context(), core))(t)
	summary := must.Get(core.Summarize(t.Context()))(t)
	p, err := predictor.Predict(t.Context(), summary.BestByModel.Parameters)
	if err != nil || math.Abs(*p.Mean-summary.BestByModel.Mean) > 1e-9*math.Abs(*p.Mean) || p.Outside != "" {
		t.Errorf("the best is predicted %+v, %v; the summary says %v", p, err, summary.BestByModel.Mean)
	}
	if _, ok := p.Preferences[core.State().Definition.Experts[0].Name]; !ok {
		t.Error("nothing is said of what the expert prefers")
	}
	beyond := maps.Clone(summary.BestByModel.Parameters)
	first := core.State().Definition.Parameters[0]
	beyond[first.Name] = definition.Number(*first.Max + 1)
	if p, err := predictor.Predict(t.Context(), beyond); err != nil || !strings.Contains(p.Outside, first.Name) {
		t.Errorf("beyond %s it says %q, %v", first.Name, p.Outside, err)
	}
	var text strings.Builder
	must.Do(t, view.WritePredictions(&text, core.State().Definition, []view.Prediction{p}))
	if lines := strings.Split(text.String(), "\n"); len(lines) != 3 || !strings.Contains(lines[0], "score by") {
		t.Errorf("the table is\n%s", text.String())
	}
}

// Each form of a question says what may be answered, and how.
func TestHowQuestionsAreAnswered(t *testing.T) {
	def := &byHand().Definition
	options := func(n int) []events.Option { return make([]events.Option, n) }
	for _, c := range []struct {
		q       campaign.Question
		command string
		answers string
	}{
		{campaign.Question{ID: "q1", Form: events.FormLabel}, "answer q1 accept|reject|unsure|exclude",
			"accept, reject, unsure or exclude"},
		{campaign.Question{ID: "q2", Form: events.FormComparison, Options: options(2)},
			"answer q2 A|B|unsure", "A or B, the better one, or unsure"},
		{campaign.Question{ID: "q3", Form: events.FormComparison, Options: options(3)},
			"answer q3 A B C (the best first), or unsure", "as in B A C, or unsure"},
		{campaign.Question{ID: "q4", Form: events.FormPinpoint}, "answer q4 salt=… (or unsure)", "salt=… or unsure"},
		{campaign.Question{ID: "q5", Form: events.FormPinpoint, Suggestion: &events.Option{Parameters: salt(1)}},
			"answer q5 salt=… (or ok, or unsure)", "ok for what the campaign would take, or unsure"},
		{campaign.Question{ID: "q6", Form: events.FormEstimate, Options: options(20), Scale: events.ScaleOf(def.Objective, false)},
			"answer q6 1=… 2=… … 20=… (or all in order: --values …,…; or unsure)", "the numbers of all 20 rows in order"},
		{campaign.Question{ID: "q7", Form: events.FormEstimate, Options: options(20), Scale: events.ScaleOf(def.Objective, true)},
			"answer q7 1=… 2=… … 20=… (or all in order: --values …,…; or unsure)", "the marks from 1 (worst) to 5 (best) of all 20 rows"},
	} {
		if got := how(view.AnswerTo(def, &c.q)); got != c.command {
			t.Errorf("%s is answered by %q, want %q", c.q.ID, got, c.command)
		}
		if got := view.Answers(def, &c.q); !strings.Contains(got, c.answers) {
			t.Errorf("%s may be answered %q, want %q", c.q.ID, got, c.answers)
		}
	}
}

// A suggestion says what to measure, why, and how to tell the result.
func TestSuggestionInWords(t *testing.T) {
	core := fold(t, byHand(),
		&events.ExperimentRequested{Experiment: "e1", Parameters: salt(1), Origin: events.OriginInitial, Replicate: 2},
		asksToLabel("q1", "ada", ""),
	)
	write := func(suggested engine.Suggestion) string {
		s := must.Get(view.Suggest(t.Context(), core, memlog.New(), suggested))(t)
		var text strings.Builder
		by := view.Showing{Question: terminal.Show, Clause: clause, How: how}
		must.Do(t, s.Write(&text, by))
		return text.String()
	}
	experiments := core.State().Experiments
	for _, c := range []struct {
		suggested engine.Suggestion
		want      string
	}{
		{engine.Suggestion{WaitingFor: "ada"}, "No experiment to suggest: waiting for ada.\n"},
		{engine.Suggestion{WaitingFor: "a resume", Remedies: []problem.Remedy{{Text: "go on"}}},
			"No experiment to suggest: waiting for a resume; go on.\n"},
		{engine.Suggestion{Experiments: experiments}, "Measure conductivity as e1:\n  salt  1.000 mol/kg\n" +
			"  replicate 2 of this composition\n\nThen tell: tell e1\n"},
		{engine.Suggestion{Experiments: slices.Concat(experiments, experiments)},
			"\nThen tell each, in any order: tell EXPERIMENT\n"},
		{engine.Suggestion{Questions: core.State().Questions},
			"  salt  1.50 mol/kg\n"},
		{engine.Suggestion{Questions: core.State().Questions},
			"Answer: answer q1 accept|reject|unsure|exclude\n"},
	} {
		if got := write(c.suggested); !strings.Contains(got, c.want) {
			t.Errorf("it says\n%s\nwant\n%s", got, c.want)
		}
	}
}

// Law: a method needs an expert exactly where it asks for something, its source stands
// apart from its summary, and its policy is one that a campaign file may hold.
func TestMethods(t *testing.T) {
	for _, m := range view.Methods(builtin.Registry()) {
		if m.Expert != (m.Asks != "") || strings.Contains(m.Needs(), "expert") != m.Expert {
			t.Errorf("%s asks for %q and needs %s", m.Name, m.Asks, m.Needs())
		}
		if strings.Contains(m.Summary, "20") || strings.ContainsAny(m.Source, "()") {
			t.Errorf("%s: %q comes from %q", m.Name, m.Summary, m.Source)
		}
		for _, key := range m.OpenSettings() {
			if !strings.HasPrefix(key, "policy.") {
				t.Errorf("%s has the further setting %q", m.Name, key)
			}
		}
	}
}
