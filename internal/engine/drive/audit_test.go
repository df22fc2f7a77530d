package drive_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections"
)

// audit audits a forged history of the electrolyte campaign.
func audit(t *testing.T, forged []events.Event) decisions.Report {
	t.Helper()
	report, err := decisions.Audit(t.Context(), builtin.Registry(), refill(t, forged), forged[0].Campaign, events.Build{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// absent is what [edit] makes of a field that it removes; null is a value.
var absent = struct{}{}

// edit changes one field of an event's payload, or removes it.
func edit(t *testing.T, e events.Event, path string, value any) events.Event {
	t.Helper()
	var data map[string]any
	must.Do(t, json.Unmarshal(e.Data, &data))
	var at any = data
	keys := strings.Split(path, "/")
	for _, key := range keys[:len(keys)-1] {
		if list, ok := at.([]any); ok {
			var i int
			fmt.Sscan(key, &i)
			at = list[i]
			continue
		}
		at = at.(map[string]any)[key]
	}
	at.(map[string]any)[keys[len(keys)-1]] = value
	if value == any(absent) {
		delete(at.(map[string]any), keys[len(keys)-1])
	}
	e.Data, _ = json.Marshal(data)
	return e
}

// find returns the place of the first event, or with −1 the last, of a kind that holds a text.
func find(t *testing.T, all []events.Event, kind events.Kind, text string, from int) int {
	t.Helper()
	is := func(e events.Event) bool { return e.Kind == kind && strings.Contains(string(e.Data), text) }
	i := slices.IndexFunc(all, is)
	for j := range all {
		if from < 0 && is(all[j]) {
			i = j
		}
	}
	if i < 0 {
		t.Fatalf("the log holds no %s with %q", kind, text)
	}
	return i
}

// insert puts an event behind place i, and numbers the rest anew.
func insert(all []events.Event, i int, e events.Event) []events.Event {
	forged := slices.Insert(slices.Clone(all), i+1, e)
	for j := range forged {
		forged[j].Sequence = events.Sequence(j + 1)
	}
	return forged
}

// Law: an audit notices whatever was changed in what the engine made, in what
// it was made from, and in what belongs together.
func TestAuditFindsForgeries(t *testing.T) {
	log, _ := simulate(t, electrolyte(t, 3, 8))
	all := history(t, log)
	if report := audit(t, all); len(report.Mismatches) > 0 {
		t.Fatalf("the honest log: %+v", report.Mismatches)
	}
	const first, last = 0, -1
	for _, forgery := range []struct {
		kind  events.Kind
		text  string // the payload holds it
		which int
		path  string
		value any
	}{
		{events.KindDecisionMade, `"rule":"unaided"`, first, "rule", "ask"},
		{events.KindDecisionMade, "", first, "seed", "17"},
		{events.KindDecisionMade, "", first, "reason", "because"},
		{events.KindDecisionMade, "", first, "remark", "approved"},
		{events.KindDecisionMade, "", first, "remark", nil},
		{events.KindModelFitted, `"objective":{`, first, "objective/noise", 0.5},
		{events.KindModelFitted, `"objective":{`, first, "objective/lengthscales", []any{1}},
		{events.KindModelFitted, `"objective":{`, last, "seed", "4711"},
		{events.KindModelFitted, `"belief":{`, last, "seed", "4711"},
		{events.KindModelFitted, "", first, "model", "oracle"},
		{events.KindModelFitted, "", first, "remark", 1},
		{events.KindExperimentMeasured, "", first, "objective/value", 13.9},
		{events.KindExperimentMeasured, "", last, "command", "electrolyte/e1000"},
		{events.KindExperimentMeasured, "", last, "requested/lipf6", 1.0},
		{events.KindExperimentDispatched, "", last, "command", "electrolyte/e1000"},
		{events.KindExperimentRequested, "", first, "parameters/dmc", 0.5},
		{events.KindExperimentRequested, "", last, "parameters/lipf6", 1.0},
		{events.KindExperimentRequested, "", last, "replicate", 2},
		{events.KindQuestionAnswered, `"label":"reject"`, first, "answer/label", "accept"},
		{events.KindQuestionAnswered, `"volunteered":true`, first, "options/0/lipf6", 1.0},
		{events.KindQuestionAsked, "", first, "explanation", "Please accept this."},
		{events.KindQuestionAsked, "", first, "expires", "2026-01-01T00:00:00Z"},
		{events.KindTrustAdjusted, "", last, "to", 0.0},
		{events.KindTrustAdjusted, "", last, "from", 100.0},
		{events.KindTrustAdjusted, "", last, "violation", 3.0},
		{events.KindCampaignCompleted, "", last, "reason", events.CompletedTarget},
	} {
		t.Run(fmt.Sprint(forgery.kind, " ", forgery.path), func(t *testing.T) {
			t.Parallel()
			forged := slices.Clone(all)
			i := slices.IndexFunc(all, func(e events.Event) bool { return e.Kind == forgery.kind })
			if forgery.kind != events.KindDecisionMade || forgery.path != "rule" {
				i = find(t, all, forgery.kind, forgery.text, forgery.which)
			}
			forged[i] = edit(t, all[i], forgery.path, forgery.value)
			report := audit(t, forged)
			if len(report.Mismatches) == 0 {
				t.Fatalf("the audit missed a forged %s of event %d", forgery.path, i+1)
			}
			t.Logf("event %d: %+v", i+1, report.Mismatches[0])
		})
	}

	payload := func(p events.Payload) events.Event {
		e := must.Get(events.New("electrolyte", p))(t)
		e.Time, e.Actor = all[len(all)-1].Time, "engine"
		return e
	}
	requested := find(t, all, events.KindExperimentRequested, "", last)
	fitted := find(t, all, events.KindModelFitted, `"objective":{`, last)
	asked := find(t, all, events.KindQuestionAsked, "", first)
	point := definition.Point{"lipf6": definition.Number(1), "ec": definition.Number(0.4), "dmc": definition.Number(0.5)}
	for name, forged := range map[string][]events.Event{
		"an experiment no decision asked for": insert(all, len(all)-1, payload(&events.ExperimentRequested{
			Experiment: fmt.Sprintf("e%d", 9), Parameters: point, Origin: events.OriginPolicy, Decision: "d999", Replicate: 1})),
		"a question no decision asked for": insert(all, len(all)-1, payload(&events.QuestionAsked{
			Question: "q1000", Form: events.FormLabel, Expert: "ada", Options: []events.Option{{Parameters: point}}, Decision: "d999"})),
		"trust moved without a decision": insert(all, requested, payload(&events.TrustAdjusted{
			Expert: "ada", Decision: "d1", From: 1, To: 0})),
		"the campaign ended early": append(slices.Clone(all[:requested-1]), renumber(payload(&events.CampaignCompleted{
			Reason: events.CompletedTime, Detail: "the campaign has run for its 1h0m0s"}), requested)),
		"a decision without what it decided": slices.Clone(all[:asked]),
		"a fit that is said to have failed":  append(slices.Clone(all[:fitted]), renumber(failed(t, all[fitted], payload), fitted+1)),
		"a fit before the definition":        {renumber(all[fitted], 1)},
		"a decision before the definition":   {renumber(all[requested-1], 1)},
		"a payload that does not read":       append(slices.Clone(all[:fitted]), withData(all[fitted], `{"model":7}`)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := audit(t, forged)
			if len(report.Mismatches) == 0 {
				t.Fatal("the audit missed it")
			}
			t.Logf("%+v", report.Mismatches)
		})
	}
}

func renumber(e events.Event, sequence int) events.Event {
	e.Sequence = events.Sequence(sequence)
	return e
}

func withData(e events.Event, data string) events.Event {
	e.Data = []byte(data)
	return e
}

// failed turns a recorded fit into a failed one.
func failed(t *testing.T, e events.Event, event func(events.Payload) events.Event) events.Event {
	p := must.Get(events.Decode(e))(t)
	m := p.(*events.ModelFitted)
	return event(&events.ModelFitFailed{Model: m.Model, Expert: m.Expert, At: m.At, Seed: m.Seed, Cause: "not positive definite"})
}

// Law: naming another build loosens the comparison of numbers to what
// arithmetic can do, and of nothing else.
func TestAuditOfAnotherBuild(t *testing.T) {
	log, _ := simulate(t, electrolyte(t, 3, 12))
	honest := history(t, log)
	for i, e := range honest { // as another build would have recorded it
		if e.Kind == events.KindDecisionMade || e.Kind == events.KindModelFitted {
			honest[i] = edit(t, e, "build/version", "v0.0.1")
		}
	}
	report := audit(t, honest)
	if len(report.Mismatches) > 0 || report.Exact {
		t.Fatalf("an honest log of another build: %+v", report)
	}
	i := find(t, honest, events.KindDecisionMade, `"candidates"`, -1)
	var made events.DecisionMade
	must.Do(t, json.Unmarshal(honest[i].Data, &made))
	moved := func(by float64) any { // lipf6 ranges over 2
		point := maps.Clone(made.Candidates[0].Parameters)
		x, _ := point["lipf6"].Float()
		return x + by
	}
	var fitted events.ModelFitted
	if err := json.Unmarshal(honest[find(t, honest[:i], events.KindModelFitted, `"objective":{`, -1)].Data, &fitted); err != nil {
		t.Fatal(err)
	}
	scale, sd := fitted.Objective.Scale, made.Candidates[0].Prediction.SD
	if scale < 1.2*max(1, sd) {
		t.Fatalf("the spread %v of the objective is not what a difference of %v is measured against", scale, sd)
	}
	const within, beyond = 0.95 * decisions.Tolerance, 1.05 * decisions.Tolerance
	for _, change := range []struct {
		path  string
		value any
		found bool
	}{
		{"reason", "because", true},
		{"candidates/0/parameters/lipf6", moved(2e-3), true},
		{"candidates/0/parameters/lipf6", moved(1e-5), false},       // another build's arithmetic
		{"candidates/0/parameters/lipf6", moved(within * 2), false}, // of its range
		{"candidates/0/parameters/lipf6", moved(beyond * 2), true},
		{"candidates/0/prediction/sd", sd + within*scale, false}, // of the spread of the objective
		{"candidates/0/prediction/sd", sd + beyond*scale, true},
		{"at", float64(made.At) + 1, true},
		{"remark", "approved", true},
	} {
		t.Run(fmt.Sprint(change.path, " ", change.value), func(t *testing.T) {
			forged := slices.Clone(honest)
			forged[i] = edit(t, honest[i], change.path, change.value)
			report := audit(t, forged)
			if found := len(report.Mismatches) > 0; found != change.found {
				t.Errorf("mismatches: %+v", report.Mismatches)
			}
		})
	}
}

// Law: a sentence that prints what was computed may print other numbers where another build
// computed it, in the same words; of the same build it is the same to the letter.
func TestAuditOfNumbersInSentences(t *testing.T) {
	log, _ := simulate(t, electrolyte(t, 3, 6))
	same := history(t, log)
	another := slices.Clone(same)
	for i, e := range same {
		if e.Kind == events.KindDecisionMade || e.Kind == events.KindModelFitted {
			another[i] = edit(t, e, "build/version", "v0.0.1")
		}
	}
	i := find(t, same, events.KindQuestionAsked, "; the best so far is ", -1)
	var asked events.QuestionAsked
	must.Do(t, json.Unmarshal(same[i].Data, &asked))
	number := regexp.MustCompile(`[0-9]+\.[0-9]+`)
	numbers := number.ReplaceAllString(asked.Explanation, "7.25")
	words := strings.Replace(asked.Explanation, "expects", "promises", 1)
	for _, c := range []struct {
		all   []events.Event
		says  string
		found bool
	}{
		{same, numbers, true},
		{same, words, true},
		{another, numbers, false},
		{another, words, true},
	} {
		report := audit(t, replace(c.all, i, edit(t, c.all[i], "explanation", c.says)))
		if says(report.Mismatches, i, "/explanation was ") != c.found || !c.found && len(report.Mismatches) > 0 {
			t.Errorf("%q: the audit says %+v", c.says, report.Mismatches)
		}
	}
}

// Law: fits and judgments of a version of the models that this program does not have are neither confirmed nor
// refuted, and counted; one without a version is of the first.
func TestAuditOfOtherModels(t *testing.T) {
	log, _ := simulate(t, electrolyte(t, 3, 9))
	others, records := history(t, log), 0
	for i, e := range others {
		switch e.Kind {
		case events.KindModelFitted, events.KindMeasurementsJudged:
			others[i] = edit(t, e, "version", 1+i%2*projections.Version)
			records++
		}
	}
	report := audit(t, others)
	if len(report.Mismatches) > 0 || report.OtherVersion != records || records < 6 || report.FitsReproduced != 0 {
		t.Errorf("of %d records: %+v", records, report)
	}
}

// Law: decisions of a version of the policies that this program does not have are neither
// confirmed nor refuted, and counted: the audit is incomplete. There is no version 0.
func TestAuditOfOtherVersions(t *testing.T) {
	log, _ := simulate(t, electrolyte(t, 3, 6))
	others, none := history(t, log), history(t, log)
	decisions := 0
	for i, e := range others {
		if e.Kind == events.KindDecisionMade {
			others[i] = edit(t, e, "policy/version", policies.Version+2)
			none[i] = edit(t, e, "policy/version", 0)
			decisions++
		}
	}
	report := audit(t, others)
	if len(report.Mismatches) > 0 || report.OtherVersion != decisions || report.Reproduced != 0 {
		t.Errorf("another version: %+v", report)
	}
	if report := audit(t, none); len(report.Mismatches) < decisions || report.OtherVersion > 0 {
		t.Errorf("no version: %+v", report)
	}
}

// Law: a version belongs to a family of methods. Decisions of another family, or of one of
// the name from another module, are neither confirmed nor refuted, whatever their number; of
// which family and version they are is said.
func TestAuditOfOtherFamilies(t *testing.T) {
	log, _ := simulate(t, electrolyte(t, 3, 6))
	for field, name := range map[string]string{"family": "hillclimb", "module": "example.org/lab"} {
		others, decisions := history(t, log), 0
		for i, e := range others {
			if e.Kind == events.KindDecisionMade {
				others[i] = edit(t, e, "policy/"+field, name)
				decisions++
			}
		}
		report := audit(t, others)
		if len(report.Mismatches) > 0 || report.OtherVersion != decisions || report.Reproduced != 0 ||
			len(report.Unmade) != 1 || report.Unmade[0].Decisions != decisions {
			t.Errorf("another %s: %+v", field, report)
		}
	}
}

// Law: programs of before did not record the families of their methods, and changed methods
// without a new version. A decision of theirs that comes out otherwise is not refuted, one
// that comes out the same is confirmed; this program's own must name the family.
func TestAuditOfDecisionsWithoutFamily(t *testing.T) {
	log, _ := simulate(t, electrolyte(t, 3, 6))
	all := history(t, log)
	decisions, last := 0, 0
	for i, e := range all {
		if e.Kind == events.KindDecisionMade {
			all[i] = edit(t, edit(t, e, "policy/family", absent), "build/version", "earlier")
			decisions++
			last = i
		}
	}
	if report := audit(t, all); len(report.Mismatches) > 0 || report.Reproduced != decisions {
		t.Errorf("as they were made: %+v", report)
	}
	all[last] = edit(t, all[last], "reason", "it was another one")
	if report := audit(t, all); len(report.Mismatches) > 0 || report.Reproduced != decisions-1 || report.OtherVersion != 1 {
		t.Errorf("one comes out otherwise: %+v", report)
	}
	all[last] = edit(t, history(t, log)[last], "policy/family", absent)
	if report := audit(t, all); len(report.Mismatches) == 0 {
		t.Errorf("one of this program: %+v", report)
	}
}

// Law: nobody writes an event of any kind under a name that is not an actor.
func TestNobodyWritesEvents(t *testing.T) {
	log, _ := simulate(t, electrolyte(t, 3, 4))
	all := history(t, log)
	for _, info := range events.Kinds() {
		e := must.Get(events.New("electrolyte", info.New()))(t)
		e.Time, e.Cause, e.Actor = all[0].Time, "1", "nobody"
		if report := audit(t, append(slices.Clone(all[:1]), renumber(e, 2))); len(report.Mismatches) == 0 {
			t.Errorf("%s by nobody is not found", info.Kind)
		}
	}
}

// Law: a clock that was set back is remarked on, where it was; a date that alone is out of
// line by more than a clock can be is a mismatch of the event that bears it.
func TestAuditOfClocks(t *testing.T) {
	log, _ := simulate(t, electrolyte(t, 3, 4))
	all := history(t, log)
	from := find(t, all, events.KindExperimentStarted, "e2", 0)
	shift := func(from, to int, by time.Duration) []events.Event {
		moved := slices.Clone(all)
		for i := from; i < to; i++ {
			moved[i].Time = moved[i].Time.Add(by)
		}
		return moved
	}
	const day = 24 * time.Hour
	gap := all[from].Time.Sub(all[from-1].Time)
	const before, after = "before the event that it follows", "after the event that follows it"
	for _, c := range []struct {
		name             string
		all              []events.Event
		mismatch, remark string // empty: none
		at               int
	}{
		{"set back by an hour", shift(from, len(all), -time.Hour), "", before + ": a clock was set back", from},
		{"set back by a year", shift(from, len(all), -365*day), "", before + ": a clock was set back", from},
		{"another computer's, five minutes slow", shift(from, from+1, -5*time.Minute), "", before, from},
		{"another computer's, five minutes fast", shift(from, from+1, 5*time.Minute), "", before, from + 1},
		{"at the same time", shift(from, len(all), -gap), "", "", 0},
		{"set forward", shift(from, len(all), 365*day), "", "", 0},
		{"one date a day early", shift(from, from+1, -day-gap), "", before, from},
		{"one date more than a day early", shift(from, from+1, -day-gap-time.Microsecond), before + ", and what follows it is not", "", from},
		{"one date a month early", shift(from, from+1, -30*day), before + ", and what follows it is not", "", from},
		{"one date a month late", shift(from, from+1, 30*day), after, "", from},
		{"the last date a month early", shift(from, from+1, -30*day)[:from+1], "", before, from},
	} {
		report := audit(t, c.all)
		for _, list := range []struct {
			found []decisions.Mismatch
			want  string
		}{{report.Mismatches, c.mismatch}, {report.Remarks, c.remark}} {
			if list.want == "" && len(list.found) > 0 || list.want != "" && (len(list.found) != 1 || !says(list.found, c.at, list.want)) {
				t.Errorf("%s: found %+v, want %q at event %d", c.name, list.found, list.want, c.at+1)
			}
		}
	}
}

// Law: where the clock was set back, that a question has expired says nothing of when: it
// may have been up when the clock was read. Else it does not expire before its time.
func TestAuditOfExpiries(t *testing.T) {
	log := memlog.New()
	r, waiting := start(t, log, electrolyte(t, 3, 4, func(def *definition.Campaign) {
		def.Experts[0] = person(time.Hour)
		def.Initial.Labels = ptr(2)
	}), nil)
	r.Reviewers = map[string]humans.Reviewer{"ada": silent{}}
	run(t, r)
	until(t, waiting, "to answer q1")
	all := upTo(t, history(t, log), events.KindQuestionAsked)
	asked := all[len(all)-1]
	expired := must.Get(events.New(asked.Campaign, &events.QuestionExpired{Question: "q1"}))(t)
	expired.Actor, expired.Cause = "engine", asked.ID
	payload := must.Get(events.Decode(asked))(t)
	expires := payload.(*events.QuestionAsked).Expires
	for name, c := range map[string]struct {
		at    time.Time
		found bool
	}{
		"in time":                 {expires, false},
		"later":                   {expires.Add(time.Hour), false},
		"a microsecond early":     {expires.Add(-time.Microsecond), true},
		"as soon as it was asked": {asked.Time, true},
		"the clock was set back":  {asked.Time.Add(-time.Microsecond), false},
	} {
		expired.Time = c.at
		report := audit(t, append(slices.Clone(all), renumber(expired, len(all)+1)))
		found := says(report.Mismatches, len(all), "it says that nobody answered in time at ")
		if found != c.found || !found && len(report.Mismatches) > 0 {
			t.Errorf("%s: %+v", name, report.Mismatches)
		}
	}
}

// Law: a campaign that had ended when its run began, and was amended since, goes on
// with the instrument it describes: nothing is handed to a nameless one, and nothing
// simulated passes for real.
func TestAmendedAfterItsEnd(t *testing.T) {
	def := electrolyte(t, 3, 3)
	log, _ := simulate(t, def)
	r := must.Get(studytest.Runner(t.Context(), log, def, nil))(t)
	amended := *r.Core().State().Definition
	amended.Budget.Experiments += 2
	request := engine.Request{Actor: "person:eve", Amend: &events.CampaignAmended{Definition: amended}}
	must.Get(engine.Submit(t.Context(), log, r.Core(), request, time.Now()))(t)
	must.Do(t, r.Run(t.Context()))
	for _, e := range history(t, log) {
		if e.Kind == events.KindExperimentDispatched && (!e.Simulated || !strings.Contains(string(e.Data), `"simulated/electrolyte"`)) {
			t.Errorf("event %d, simulated %v: %s", e.Sequence, e.Simulated, e.Data)
		}
	}
}
