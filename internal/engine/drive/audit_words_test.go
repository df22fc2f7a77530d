package drive_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// says reports whether something that was found at an event says a text.
func says(found []decisions.Mismatch, at int, text string) bool {
	return slices.ContainsFunc(found, func(m decisions.Mismatch) bool {
		return m.Position == events.Position(at+1) && strings.Contains(m.Problem, text)
	})
}

// Law: a mismatch stands at the event that does not follow, and says in which respect.
func TestAuditSaysWhatDoesNotFollow(t *testing.T) {
	log, _ := wrongRuns(t, 7, definition.OutlierRepeat, 17, map[string]float64{"e14": 0.05})
	all := history(t, log)
	const first, last = 0, -1
	for _, c := range []struct {
		kind  events.Kind
		which int
		path  string
		value any
		says  string
	}{
		{events.KindDecisionMade, last, "seed", "17", "its seed is 17, the campaign's seed gives "},
		{events.KindDecisionMade, last, "at", 3, "it says it was made from event 3, but stands behind event "},
		{events.KindDecisionMade, last, "decision", "d99", "nothing before it calls for this decision"},
		{events.KindDecisionMade, last, "policy/version", 0, "there is no version 0 of the policies"},
		{events.KindModelFitted, last, "seed", "17", "its seed is 17, the campaign's seed gives "},
		{events.KindModelFitted, last, "at", 9999, "it says it was made from event 9999, but stands behind event "},
		{events.KindModelFitted, last, "at", 1, "it says it was made from event 1, but event "},
		{events.KindModelFitted, last, "expert", "ada", "nothing before it calls for this fit"},
		{events.KindMeasurementsJudged, last, "expected/0/experiment", "e1", "/expected/0/experiment was e1, made again it is "},
		{events.KindMeasurementFlagged, last, "experiment", "e2", "/experiment was e2, made again it is "},
		{events.KindMeasurementFlagged, first, "deviation", -4.5, "/deviation was -4.5, made again it is "},
		{events.KindCampaignCompleted, last, "reason", events.CompletedTarget, "/reason was target, made again it is budget"},
	} {
		t.Run(string(c.kind)+" "+c.path, func(t *testing.T) {
			i := find(t, all, c.kind, "", c.which)
			if c.kind == events.KindMeasurementsJudged {
				i = find(t, all, c.kind, `"expected":[{`, c.which)
			}
			report := audit(t, replace(all, i, edit(t, all[i], c.path, c.value))[:i+1])
			if !says(report.Mismatches, i, c.says) {
				t.Errorf("event %d: the audit says %+v, want %q", i+1, report.Mismatches, c.says)
			}
		})
	}

	// A result without one of its parameters can be neither expected nor decided from.
	judged := find(t, all, events.KindMeasurementsJudged, `"expected":[{`, last)
	measured := find(t, all[:judged], events.KindExperimentMeasured, "", last)
	forged := replace(all[:judged+1], measured, withoutField(t, all[measured], "actual/lipf6"))
	report := audit(t, forged)
	if !says(report.Mismatches, measured, "lacks lipf6") || !says(report.Mismatches, judged, "it cannot be made again: the composition of e") {
		t.Errorf("the audit says %+v", report.Mismatches)
	}
}

// withoutField takes one field out of an event's payload.
func withoutField(t *testing.T, e events.Event, path string) events.Event {
	t.Helper()
	var data map[string]any
	must.Do(t, json.Unmarshal(e.Data, &data))
	in := data
	keys := strings.Split(path, "/")
	for _, key := range keys[:len(keys)-1] {
		in = in[key].(map[string]any)
	}
	delete(in, keys[len(keys)-1])
	e.Data, _ = json.Marshal(data)
	return e
}

// leaving is a log whose reader is called off when it comes to an event.
type leaving struct {
	events.Log
	at    events.Sequence
	leave func()
}

func (l leaving) Read(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for e, err := range l.Log.Read(context.WithoutCancel(ctx), after) {
			if e.Sequence == l.at {
				l.leave()
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Law: an audit that is called off says so, whatever it was making again, and never that
// it found nothing.
func TestAuditIsCalledOff(t *testing.T) {
	log, _ := wrongRuns(t, 7, definition.OutlierRepeat, 17, map[string]float64{"e14": 0.05})
	outliers := history(t, log)
	log, _ = simulate(t, electrolyte(t, 3, 6))
	labels := history(t, log)
	why := errors.New("somebody pressed a key")
	for name, c := range map[string]struct {
		all  []events.Event
		kind events.Kind
		text string
	}{
		"a fit":           {outliers, events.KindModelFitted, `"objective":{`},
		"a judgment":      {outliers, events.KindMeasurementsJudged, `"fit":{`},
		"a decision":      {labels, events.KindDecisionMade, `"candidates"`},
		"a lone decision": {outliers, events.KindDecisionMade, `"candidates"`},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			i := find(t, c.all, c.kind, c.text, -1)
			log := leaving{refill(t, c.all[:i+1]), c.all[i].Sequence, func() { cancel(why) }}
			report, err := decisions.Audit(ctx, builtin.Registry(), log, c.all[0].Campaign, events.Build{}, nil)
			if !errors.Is(err, why) {
				t.Errorf("it ended with %v: %+v", err, report)
			}
		})
	}
}

// Law: experts give examples in the order of the definition, each as many as they are asked
// for: what another says in their place is not an example that was called for.
func TestAuditOfWhoGivesExamples(t *testing.T) {
	def := electrolyte(t, 3, 4, func(def *definition.Campaign) {
		def.Experts = append(def.Experts, studytest.Expert("bob", humansim.Settings{Accuracy: ptr(1.0)}))
		def.Initial.Labels = ptr(2)
	})
	log, _ := simulate(t, def)
	all := history(t, log)
	given := find(t, all, events.KindQuestionAnswered, `"volunteered":true`, 0)
	all = all[:given+2]
	if report := audit(t, all); len(report.Mismatches) > 0 {
		t.Fatalf("the honest log: %+v", report.Mismatches)
	}
	for i := given; i < len(all); i++ {
		all[i] = edit(t, all[i], "expert", "bob")
		all[i].Actor = "expert:bob"
	}
	if report := audit(t, all); !says(report.Mismatches, given, "nothing before it calls for an example") {
		t.Errorf("the audit says %+v", report.Mismatches)
	}
}

// Law: what the end of a campaign calls off it calls off at once, every experiment that was
// not handed out: of that nothing can be taken out of the log, or be about something else.
func TestAuditOfWhatIsCalledOffTogether(t *testing.T) {
	def := electrolyte(t, 1, 5, unaided, func(def *definition.Campaign) {
		def.Parallel, def.Initial.Experiments = 3, ptr(4)
	})
	release := make(chan struct{})
	d := newDevice("serial 1")
	d.await = func(instruments.Command) (instruments.Outcome, error) {
		<-release
		return measured(12), nil
	}
	log := memlog.New()
	r, waiting := start(t, log, def, d)
	ended := run(t, r)
	until(t, waiting, "to measure e1")
	stop := engine.Request{Actor: "person:eve", Stop: &events.CampaignStopped{Reason: "enough"}}
	must.Get(r.Submit(t.Context(), stop))(t)
	close(release)
	must.Do(t, ended())
	all := history(t, log)
	if report := audit(t, all); len(report.Mismatches) > 0 {
		t.Fatalf("the honest log: %+v", report.Mismatches)
	}
	first := find(t, all, events.KindExperimentCancelled, `"e2"`, 0)
	second := find(t, all, events.KindExperimentCancelled, `"e3"`, 0)
	if second != first+1 {
		t.Fatalf("e2 is called off by event %d, e3 by event %d", first+1, second+1)
	}
	for name, c := range map[string]struct {
		forged []events.Event
		at     int
		says   string
	}{
		"half":            {all[:second], first, "the log ends before what e2 led to: experiment.cancelled"},
		"without the one": {without(all, second), second, "it led to experiment.cancelled, which is not there"},
		"twice the same":  {replace(all[:second+1], second, edit(t, all[second], "experiment", "e2")), second, "/experiment was e2, made again it is e3"},
	} {
		if report := audit(t, c.forged); !says(report.Mismatches, c.at, c.says) {
			t.Errorf("%s: the audit says %+v, want %q at event %d", name, report.Mismatches, c.says, c.at+1)
		}
	}
}

// person is an expert at a terminal, who is to answer within a time; 0: the default.
func person(within time.Duration) definition.Expert {
	return definition.Expert{
		Name: "ada", Channel: terminal.Choose(terminal.Settings{}), AnswerWithin: definition.Duration(within),
	}
}

// Law: the time within which the file has a question answered cannot be taken out of the
// log. Where the file sets none, a question of a log of 0.1.0 may wait for ever: people may have run
// the experiments, which such a log does not say.
func TestAuditOfTheTimeToAnswer(t *testing.T) {
	for within, found := range map[time.Duration]bool{time.Hour: true, 0: false} {
		def := electrolyte(t, 3, 4, func(def *definition.Campaign) {
			def.Experts[0] = person(within)
			def.Initial.Labels = ptr(2)
		})
		log := memlog.New()
		r, waiting := start(t, log, def, nil)
		r.Reviewers = map[string]humans.Reviewer{"ada": silent{}}
		run(t, r)
		until(t, waiting, "to answer q1")
		all := upTo(t, history(t, log), events.KindQuestionAsked)
		i := len(all) - 1
		if report := audit(t, all); len(report.Mismatches) > 0 || !strings.Contains(string(all[i].Data), "expires") {
			t.Fatalf("the honest log: %+v, %s", report.Mismatches, all[i].Data)
		}
		forged := withoutField(t, all[i], "expires")
		if report := audit(t, replace(all, i, forged)); !says(report.Mismatches, i, "the definition says otherwise") {
			t.Errorf("within %v: the audit says %+v", within, report.Mismatches)
		}
		report := audit(t, replace(all, i, withoutField(t, forged, "by_hand")))
		if says(report.Mismatches, i, "the definition says otherwise") != found || !found && len(report.Mismatches) > 0 {
			t.Errorf("0.1.0, within %v: the audit says %+v", within, report.Mismatches)
		}
	}
}

// Law: an exclusion comes with an answer that rejects the composition, and is by whoever
// gave it. Behind any other answer it is an event of its own, which experts do not write, and
// people at a time of its own.
func TestAuditOfExclusionsWithAnswers(t *testing.T) {
	reject := humans.Reply{Answer: events.Answer{Label: events.LabelReject}, Exclude: true, Comment: "it freezes"}
	log := memlog.New()
	def := electrolyte(t, 3, 4, func(def *definition.Campaign) {
		def.Experts[0] = person(time.Hour)
		def.Initial.Labels = ptr(2)
	})
	def.Initial.Wait = nil // one question after the other: the answers come in their order
	r, _ := start(t, log, def, nil)
	r.Reviewers = map[string]humans.Reviewer{"ada": &oracle{answers: []humans.Reply{{Answer: events.Answer{Label: events.LabelAccept}}, reject}}}
	must.Do(t, run(t, r)())
	request := engine.Request{Actor: "person:eve", Answer: &engine.Answer{Question: "q1", Reply: reject}}
	must.Get(engine.Submit(t.Context(), log, r.Core(), request, r.Core().State().EndedAt.Add(time.Hour)))(t)
	all := history(t, log)
	if report := audit(t, all); len(report.Mismatches) > 0 {
		t.Fatalf("the honest log: %+v", report.Mismatches)
	}
	answered := find(t, all, events.KindQuestionAnswered, `"reject"`, 0)
	superseded := find(t, all, events.KindQuestionSuperseded, `"reject"`, -1)
	for _, i := range []int{answered, superseded} {
		if all[i+1].Kind != events.KindRegionExcluded {
			t.Fatalf("event %d is %s", i+2, all[i+1].Kind)
		}
	}
	another := func(i int) []events.Event { // the exclusion is by somebody else
		forged := slices.Clone(all[:i+2])
		forged[i+1].Actor = "person:mallory"
		return forged
	}
	about := func(i int, question string) []events.Event {
		return replace(all[:i+2], i+1, edit(t, all[i+1], "about", question))
	}
	accepted := func(i int) []events.Event {
		return replace(all[:i+2], i, edit(t, all[i], "answer/label", events.LabelAccept))
	}
	for name, c := range map[string]struct {
		forged []events.Event
		at     int
		says   string
	}{
		"an answer and somebody else's exclusion":     {another(answered), answered + 1, `its actor is "person:mallory"; that of event`},
		"a new answer and somebody else's":            {another(superseded), superseded + 1, `its actor is "person:mallory"; that of event`},
		"an expert excludes about another question":   {about(answered, "q1"), answered + 1, `its actor is "expert:ada", who does not write region.excluded`},
		"a person excludes about another question":    {about(superseded, "q2"), superseded + 1, "the time of the event before it"},
		"an expert accepts and excludes":              {accepted(answered), answered + 1, `its actor is "expert:ada", who does not write region.excluded`},
		"a person accepts, and excludes all the same": {accepted(superseded), superseded + 1, "the time of the event before it"},
	} {
		report := audit(t, c.forged)
		if !says(report.Mismatches, c.at, c.says) {
			t.Errorf("%s: the audit says %+v, want %q", name, report.Mismatches, c.says)
		}
	}
	// A clock that stands still: another person's exclusion is not part of the answer before it.
	core := mustLoad(t, log)
	for _, request := range []engine.Request{
		{Actor: "person:eve", Answer: &engine.Answer{Question: "q1", Reply: humans.Reply{Answer: events.Answer{Label: events.LabelAccept}}}},
		{Actor: "person:eve", Answer: &engine.Answer{Question: "q1", Reply: humans.Reply{Answer: events.Answer{Label: events.LabelReject}}}},
		{Actor: "person:bob", Exclude: &engine.Exclude{About: "q1", Reason: "it clouds"}},
	} {
		must.Get(engine.Submit(t.Context(), log, core, request, all[len(all)-1].Time.Add(time.Hour)))(t)
	}
	if report := audit(t, history(t, log)); len(report.Mismatches) > 0 {
		t.Errorf("three requests at one time: %+v", report.Mismatches)
	}
}

// Law: a correction is held to what was measured and to the definition, has a reason, and
// either gives a new value or leaves the measurement out; an excluded region is named after
// its reason. A correction of what was never measured ends the audit.
func TestAuditOfCorrectionsAndExclusions(t *testing.T) {
	log, def := told(t, 20, outcomes[campaign.Measured])
	core := mustLoad(t, log)
	correct(t, log, core, engine.Correct{Value: ptr(9.5)})
	exclude := &engine.Exclude{
		Region: map[string]definition.RegionSide{"lipf6": {Min: ptr(2.0), Max: ptr(2.1)}},
		Reason: "it clouds",
	}
	request := engine.Request{Actor: "person:eve", Exclude: exclude}
	must.Get(engine.Submit(t.Context(), log, core, request, time.Unix(101, 0)))(t)
	all := history(t, log)
	if report := audit(t, all); len(report.Mismatches) > 0 {
		t.Fatalf("the honest log of %s: %+v", def.Name, report.Mismatches)
	}
	corrected := find(t, all, events.KindMeasurementCorrected, "e2", 0)
	excluded := find(t, all, events.KindRegionExcluded, "", 0)
	forge := func(i int, path string, value any) []events.Event {
		return replace(all, i, edit(t, all[i], path, value))[:i+1]
	}
	unnamed := forge(excluded, "region/name", "")
	unnamed[excluded] = edit(t, unnamed[excluded], "reason", "")
	for name, c := range map[string]struct {
		forged []events.Event
		at     int
		says   string
	}{
		"another value was measured":   {forge(corrected, "old/value", 8), corrected, "was measured"},
		"another unit":                 {forge(corrected, "new/unit", "S/m"), corrected, `its unit is "S/m"`},
		"a new value, and left out":    {forge(corrected, "excluded", true), corrected, "a new value, or excluded"},
		"corrected without a reason":   {forge(corrected, "reason", ""), corrected, "it gives no reason"},
		"of what failed":               {forge(corrected, "experiment", "e4"), corrected, "contradicts"},
		"a region of another name":     {forge(excluded, "region/name", "it glows"), excluded, `that of its region "it glows"`},
		"a region without any reason":  {unnamed, excluded, `its reason is ""`},
		"a region where nothing holds": {forge(excluded, "region/where/lipf6/min", 3), excluded, "holds nothing"},
	} {
		if report := audit(t, c.forged); !says(report.Mismatches, c.at, c.says) {
			t.Errorf("%s: the audit says %+v, want %q at event %d", name, report.Mismatches, c.says, c.at+1)
		}
	}
}

// Law: what an honest log can hold is not a mismatch, and where an auditor should have seen it
// a remark says so: results that this program would not have taken, or would have, where
// another one or nobody knows which wrote them; an instrument that after a restart has
// another name, or is another world. What the campaign's definition does not admit is a
// mismatch, whoever wrote it, and so is another name without a restart.
func TestAuditRemarks(t *testing.T) {
	def := electrolyte(t, 1, 4, unaided, func(def *definition.Campaign) { def.Objective.Max = ptr(1e200) })
	clock := study.Clock() // of all that follows
	work := func(log *memlog.Log, change func(*device)) []events.Event {
		d := newDevice("serial 1")
		d.recall = func(instruments.Command) instruments.Fate { return instruments.FateFinished }
		change(d)
		r, _ := start(t, log, def, d)
		r.Now = clock
		must.Do(t, r.Run(t.Context()))
		return history(t, log)
	}
	all := work(memlog.New(), func(d *device) {
		d.await = func(cmd instruments.Command) (instruments.Outcome, error) {
			if cmd.Experiment == "e2" {
				o := measured(12)
				o.Measurement.Objective.Unit = "S/m"
				return o, nil
			}
			return measured(12), nil
		}
	})
	byInstrument := find(t, all, events.KindExperimentMeasured, "e1", 0)
	failed := find(t, all, events.KindExperimentFailed, "e2", 0)
	started := find(t, all, events.KindExperimentStarted, "e3", 0)

	short := refill(t, all[:byInstrument+1])
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), short, def.Name))(t)
	own := engine.Request{Actor: "person:eve", Tell: &engine.Tell{Parameters: at(1, 0.4, 0.5), Value: new(11.0)}}
	must.Get(engine.Submit(t.Context(), short, core, own, all[byInstrument].Time.Add(time.Hour)))(t)
	told := history(t, short)

	absurd := func(all []events.Event, i int) []events.Event {
		return replace(all[:i+1], i, edit(t, all[i], "objective/value", 1e150))
	}
	beyond := func(all []events.Event, i int) []events.Event { // of what the definition admits
		return replace(all[:i+1], i, edit(t, all[i], "objective/value", 1e201))
	}
	const outside = "outside the range of plausible results"
	ghost := slices.Clone(all[:byInstrument+1]) // nobody has taken over
	ghost[byInstrument].Actor = "instrument:mixer"
	honest := must.Get(json.Marshal(measured(12).Measurement))(t)
	renamed := work(refill(t, all[:started+1]), func(d *device) { d.description.Name = "mixer" })
	pretending := work(refill(t, all[:byInstrument+1]), func(d *device) { d.description.Simulated = true })
	const refused = "this program would not have taken it: "
	for name, c := range map[string]struct {
		all      []events.Event
		build    events.Build
		at       int
		mismatch string
		remark   string
	}{
		"told by a person":                     {absurd(told, len(told)-1), events.Build{}, len(told) - 1, "", refused},
		"of this program":                      {absurd(all, byInstrument), events.Build{}, byInstrument, "the objective is", ""},
		"of another program":                   {absurd(all, byInstrument), events.Build{Version: "v9"}, byInstrument, "", refused},
		"refused for nothing":                  {replace(all[:failed+1], failed, edit(t, all[failed], "rejected", string(honest))), events.Build{}, failed, "", "this program would have taken it"},
		"beyond the range, of another program": {beyond(all, byInstrument), events.Build{Version: "v9"}, byInstrument, outside, ""},
		"beyond the range, told by a person":   {beyond(told, len(told)-1), events.Build{}, len(told) - 1, outside, ""},
		"refused":                              {all[:failed+1], events.Build{}, failed, "", ""},
		"another name without a restart": {ghost, events.Build{}, byInstrument,
			`its actor is "instrument:mixer"; e1 was handed to "robot"`, ""},
		"another name": {renamed, events.Build{}, find(t, renamed, events.KindExperimentMeasured, "e3", 0), "",
			`its actor is "instrument:mixer"; e3 was handed to "robot", before the program was started again`},
		"another world": {pretending, events.Build{}, find(t, pretending, events.KindExperimentDispatched, "e2", 0), "",
			"the instrument says that it is simulated; before the program was started again it said real"},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := decisions.Audit(t.Context(), builtin.Registry(), refill(t, c.all), def.Name, c.build, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, list := range []struct {
				found []decisions.Mismatch
				want  string
			}{{report.Mismatches, c.mismatch}, {report.Remarks, c.remark}} {
				if list.want == "" && len(list.found) > 0 || list.want != "" && (len(list.found) != 1 || !says(list.found, c.at, list.want)) {
					t.Errorf("found %+v, want %q at event %d", list.found, list.want, c.at+1)
				}
			}
		})
	}
}

// Law: what a channel showed beside a question was there, in the log before the answer, and nobody
// answers before they are shown a question. An answer that does not count says as much as one that does.
func TestAuditOfWhatWasShown(t *testing.T) {
	all := contestedBy(t)
	for _, kind := range []events.Kind{
		events.KindQuestionAnswered, events.KindQuestionContested, events.KindQuestionSuperseded,
	} {
		i := find(t, all, kind, "", 0)
		for path, c := range map[string]struct {
			value any
			says  string
		}{
			"shown/at":      {i + 1, "event " + fmt.Sprint(i+1) + " was shown, and stands behind event " + fmt.Sprint(i)},
			"shown/best":    {"e7", `"e7" was shown`},
			"shown/nearest": {[]string{"e1", "e7"}, `"e7" was shown`},
			"took":          {-0.5, "nobody answers -0.5 seconds after"},
		} {
			if report := audit(t, replace(all, i, edit(t, all[i], path, c.value))); !says(report.Mismatches, i, c.says) {
				t.Errorf("%s: %s = %v: the audit says %+v", kind, path, c.value, report.Mismatches)
			}
		}
	}
	i := find(t, all, events.KindQuestionContested, `"exclude":true`, 0)
	if report := audit(t, replace(all, i, edit(t, all[i], "answer/label", "accept"))); !says(report.Mismatches, i, "only a composition that is rejected") {
		t.Errorf("the audit says %+v", report.Mismatches)
	}
}
