package drive_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/campaignd/campaignd/adapters/humans"
	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/adapters/instruments/manual"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/forgery"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/cobol"
	"github.com/campaignd/campaignd/policies/coexbo"
	"github.com/campaignd/campaignd/policies/duel"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
)

// goldenRelease is the release whose golden logs -update writes: the present one, or the
// next where something is to be in its logs that is in none yet.
const goldenRelease = "0.4.0"

var update = flag.Bool("update", false, "write the golden logs of the release, once; those of a release are never changed")

// goldenCampaigns are the campaigns of the golden logs of a release: between them they
// hold every kind of event and every form of question.
var goldenCampaigns = map[string]func(*testing.T) []events.Event{
	"people":     people,
	"label":      labeled,
	"pair":       paired,
	"pinpoint":   pinpointedBy,
	"duel":       dueled,
	"unfit":      unfit,
	"estimate":   estimated,
	"contest":    contestedBy,
	"files":      filed,
	"several":    several,
	"awaiting":   awaiting,
	"outcomes":   tradedOff,
	"preference": comparedOutcomes,
	"programs":   programmed,
	"calledoff":  calledOff,
	"cycled":     cycled,
	"stocked":    stocked,
	"procedure":  procedures,
	"secured":    secured,
	"remade":     remade,
	"referenced": referenced,
}

// Law: golden logs stay readable. A log of each release that was ever published still
// folds to the same science, and its audit refutes nothing; logs are added, never changed.
func TestGoldenLogs(t *testing.T) {
	if *update {
		for name, campaign := range goldenCampaigns {
			writeGoldenLog(t, filepath.Join("testdata", "golden", goldenRelease, name), campaign(t))
		}
	}
	logs, err := filepath.Glob("testdata/golden/*/*.jsonl")
	if err != nil || len(logs) == 0 {
		t.Fatalf("there are no golden logs: %v", err)
	}
	for _, path := range logs {
		t.Run(path, func(t *testing.T) {
			all := readGoldenLog(t, path)
			want := must.Get(os.ReadFile(strings.TrimSuffix(path, ".jsonl") + ".txt"))(t)
			core := must.Get(engine.Load(t.Context(), builtin.Registry(), refill(t, all), all[0].Campaign))(t)
			if diff := cmp.Diff(string(want), science(core.State())); diff != "" {
				t.Error(diff)
			}
			another := events.Build{Version: "another"}
			report, err := decisions.Audit(t.Context(), builtin.Registry(), refill(t, all), all[0].Campaign, another, nil)
			if err != nil || len(report.Mismatches) > 0 {
				t.Errorf("audit: %+v %v", report.Mismatches, err)
			}
			if made := report.Reproduced + report.OtherVersion - report.OtherModels; made != report.Decisions {
				t.Errorf("audit: of %d decisions %d are accounted for", report.Decisions, made)
			}
		})
	}
}

// Law: the golden logs hold every kind of event, and every form of question asked and
// answered.
func TestGoldenLogsHoldEverything(t *testing.T) {
	logs := must.Get(filepath.Glob("testdata/golden/*/*.jsonl"))(t)
	kinds := make(map[events.Kind]bool)
	asked, answered := make(map[events.Form]bool), make(map[events.Form]bool)
	for _, path := range logs {
		for _, e := range readGoldenLog(t, path) {
			kinds[e.Kind] = true
			payload := must.Get(events.Decode(e))(t)
			switch p := payload.(type) {
			case *events.QuestionAsked:
				asked[p.Form] = true
			case *events.QuestionAnswered:
				answered[p.Form] = answered[p.Form] || !p.Answer.Unsure()
			}
		}
	}
	for _, info := range events.Kinds() {
		if !kinds[info.Kind] {
			t.Errorf("no golden log holds %s: have a campaign of goldenCampaigns cause it, then run with -update", info.Kind)
		}
	}
	for _, form := range events.Forms() {
		if !asked[form] || !answered[form] {
			t.Errorf("in no golden log is a question of the form %s asked, and one answered", form)
		}
	}
}

// Law: an event is in the state of its campaign, or its kind is known to change other
// projections alone.
func TestEveryKindChangesTheState(t *testing.T) {
	elsewhere := []events.Kind{events.KindAnchorsDeclared, events.KindMeasurementsJudged}
	logs := must.Get(filepath.Glob("testdata/golden/*/*.jsonl"))(t)
	changes := make(map[events.Kind]bool)
	for _, path := range logs {
		core := engine.NewCore(builtin.Registry())
		for _, e := range readGoldenLog(t, path) {
			before := beyondPlace(t, *core.State())
			must.Do(t, core.Apply(e))
			if beyondPlace(t, *core.State()) != before {
				changes[e.Kind] = true
			}
		}
	}
	for _, info := range events.Kinds() {
		if other := slices.Contains(elsewhere, info.Kind); changes[info.Kind] == other {
			t.Errorf("%s: changes the state: %t", info.Kind, changes[info.Kind])
		}
	}
}

// beyondPlace is a state without what every event changes: which one was the last.
func beyondPlace(t *testing.T, s campaign.State) string {
	t.Helper()
	s.Sequence = 0
	s.LastEvent = ""
	s.Experiments = slices.Clone(s.Experiments)
	for i := range s.Experiments {
		s.Experiments[i].LastEvent = ""
		s.Experiments[i].Trace = ""
	}
	s.Questions = slices.Clone(s.Questions)
	for i := range s.Questions {
		s.Questions[i].LastEvent = ""
		s.Questions[i].Trace = ""
	}
	text := must.Get(json.Marshal(s))(t)
	return string(text)
}

// readGoldenLog returns the events of a golden log.
func readGoldenLog(t *testing.T, path string) []events.Event {
	t.Helper()
	return must.Get(forgery.Read(path))(t)
}

// writeGoldenLog writes a golden log, unless it is there.
func writeGoldenLog(t *testing.T, path string, all []events.Event) {
	t.Helper()
	if _, err := os.Stat(path + ".jsonl"); err == nil {
		return
	}
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), refill(t, all), all[0].Campaign))(t)
	var b bytes.Buffer
	for _, e := range all {
		line := must.Get(events.MarshalCloudEvent(e))(t)
		b.Write(append(line, '\n'))
	}
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	for end, data := range map[string][]byte{".jsonl": b.Bytes(), ".txt": []byte(science(core.State()))} {
		must.Do(t, os.WriteFile(path+end, data, 0o644))
	}
}

// labeled is a campaign in which an expert labels compositions and trust in them moves,
// and which is long enough for measurements to be judged.
func labeled(t *testing.T) []events.Event {
	log, _ := simulate(t, electrolyte(t, 5, 10, func(def *definition.Campaign) {
		def.Policy.Handover = cobol.Width{Gate: ptr(false)}.Choice()
	}))
	return history(t, log)
}

// comparedOutcomes is a campaign in which an expert compares outcomes, of which they cannot tell a few.
func comparedOutcomes(t *testing.T) []events.Event {
	def, err := studytest.Define("electrolyte", 3, 7, studytest.WithPreference(humansim.Settings{UnsureRate: 0.2}))
	if err != nil {
		t.Fatal(err)
	}
	log, _ := simulate(t, def)
	return history(t, log)
}

// paired is a campaign in which an expert chooses between two candidates.
func paired(t *testing.T) []events.Event {
	def := must.Get(studytest.Define("branin", 3, 5, studytest.WithExpert(2), func(def *definition.Campaign) {
		def.Policy.Trust = coexbo.CoExBO{}.Choice()
		def.Initial.Comparisons = ptr(6)
	}))(t)
	log, _ := simulate(t, def)
	return history(t, log)
}

// pinpointedBy is a campaign in which an expert names compositions.
func pinpointedBy(t *testing.T) []events.Event {
	def := must.Get(studytest.Define("branin", 3, 6, studytest.WithExpert(2), func(def *definition.Campaign) {
		def.Policy.Trust = cobol.COBOL{Settings: belief.Settings{Feedback: belief.FeedbackPinpoint}}.Choice()
	}))(t)
	log, _ := simulate(t, def)
	return history(t, log)
}

// contestedBy is a campaign in which two people answer a question for an expert, and each
// insists.
func contestedBy(t *testing.T) []events.Event {
	def := campaignfile.Complete(builtin.Registry(), definition.Campaign{
		Name: "contest", Seed: 1,
		Parameters: []definition.Parameter{{Name: "x", Min: ptr(0.0), Max: ptr(1.0)}},
		Objective:  definition.Objective{Name: "y", Goal: definition.Maximize},
		Policy:     definition.Policy{Trust: cobol.COBOL{}.Choice()},
		Experts:    []definition.Expert{{Name: "ada", Channel: terminal.Choose(terminal.Settings{})}},
		Initial:    definition.Initial{Experiments: ptr(1), Labels: ptr(1)},
		Budget:     definition.Budget{Experiments: 4},
		Instrument: definition.Instrument{Driver: manual.Choose(manual.Settings{})},
	})
	log := memlog.New()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	defined := events.CampaignDefined{Instance: "CONTEST", Definition: def}
	must.Do(t, engine.Define(t.Context(), log, defined, "person:ada", now, ""))
	suggest := func() *engine.Core {
		t.Helper()
		now = now.Add(time.Minute)
		r := &drive.Runner{
			Registry: builtin.Registry(), Log: log, Campaign: def.Name,
			Build: events.Build{Version: goldenRelease}, Now: func() time.Time { return now },
		}
		must.Get(r.Suggest(t.Context()))(t)
		return must.Get(engine.Load(t.Context(), builtin.Registry(), log, def.Name))(t)
	}
	core := suggest()
	for core.State().Question("q1") == nil {
		for _, x := range core.State().Experiments {
			if x.Status.Open() {
				tell := &engine.Tell{Experiment: x.ID, Value: new(1.0)}
				if _, err := engine.Submit(t.Context(), log, core, engine.Request{Actor: "person:ada", Tell: tell}, now); err != nil {
					t.Fatal(err)
				}
			}
		}
		core = suggest()
	}
	none := ""
	said := func(actor string, label events.Label, saw *string) {
		t.Helper()
		now = now.Add(time.Second)
		answer := &engine.Answer{Question: "q1", Saw: saw, Reply: humans.Reply{
			Answer: events.Answer{Label: label}, Exclude: label == events.LabelReject, Comment: "I know it", Took: 4,
			Shown: &events.Shown{At: core.State().Sequence, Best: "e1", Nearest: []string{"e1"}},
		}}
		must.Get(engine.Submit(t.Context(), log, core, engine.Request{Actor: actor, Answer: answer}, now))(t)
	}
	said("person:ada", events.LabelAccept, &none)
	said("person:bob", events.LabelReject, &none)
	said("person:bob", events.LabelReject, &core.State().Question("q1").Source)
	suggest()
	return history(t, log)
}

// dueled is a campaign that measures nothing, whose expert names anchors.
func dueled(t *testing.T) []events.Event {
	def := must.Get(studytest.Define("branin", 3, 0, studytest.WithExpert(2), func(def *definition.Campaign) {
		def.Policy.Duel = duel.RAEUBO{}.Choice()
		def.Initial.Comparisons = ptr(4)
		studytest.SimulatedExpert(def, 0, func(s *humansim.Settings) { s.Task = "branin" })
		def.Instrument, def.Budget = definition.Instrument{}, definition.Budget{Comparisons: 6}
	}))(t)
	log := memlog.New()
	r := must.Get(studytest.Runner(t.Context(), log, def, nil))(t)
	expert := def.Experts[0].Name
	for _, anchors := range []*engine.Anchors{
		{Expert: expert, Points: []definition.Point{{"x1": definition.Number(3), "x2": definition.Number(2)}},
			Instead: true, Reason: "these alone"},
		{Expert: expert, Points: []definition.Point{{"x1": definition.Number(9), "x2": definition.Number(3)}}},
	} {
		request := engine.Request{Actor: "person:ada", Anchors: anchors}
		must.Get(engine.Submit(t.Context(), log, r.Core(), request, r.Core().State().DefinedAt))(t)
	}
	must.Do(t, r.Run(t.Context()))
	return history(t, log)
}

// unfit is a campaign of a person whose measurements are all taken back, so that a belief
// cannot be fitted any more, whose expert is not there in time, and which is stopped.
func unfit(t *testing.T) []events.Event {
	def := campaignfile.Complete(builtin.Registry(), definition.Campaign{
		Name: "unfit", Seed: 1,
		Parameters: []definition.Parameter{{Name: "x", Min: ptr(0.0), Max: ptr(1.0)}},
		Objective:  definition.Objective{Name: "y", Goal: definition.Maximize},
		Policy:     definition.Policy{Trust: cobol.COBOL{}.Choice()},
		Experts: []definition.Expert{{
			Name: "ada", Channel: terminal.Choose(terminal.Settings{}), AnswerWithin: definition.Duration(time.Minute),
		}},
		Initial:    definition.Initial{Experiments: ptr(2), Labels: ptr(1)},
		Budget:     definition.Budget{Experiments: 6},
		Instrument: definition.Instrument{Driver: manual.Choose(manual.Settings{})},
	})
	log := memlog.New()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	defined := events.CampaignDefined{Instance: "UNFIT", Definition: def}
	by := engine.Request{Actor: "person:ada", Account: "ada (uid 1000)"}
	must.Do(t, engine.DefineBy(t.Context(), log, defined, by, now, ""))
	// later is what the campaign suggests two minutes on, after these requests.
	later := func(requests ...engine.Request) {
		t.Helper()
		core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, def.Name))(t)
		for _, request := range requests {
			request.Actor, request.Account = "person:ada", "ada (uid 1000)"
			must.Get(engine.Submit(t.Context(), log, core, request, now))(t)
		}
		now = now.Add(2 * time.Minute)
		r := &drive.Runner{
			Registry: builtin.Registry(), Log: log, Campaign: def.Name,
			Build: events.Build{Version: goldenRelease}, Now: func() time.Time { return now },
		}
		must.Get(r.Suggest(t.Context()))(t)
	}
	excluded := func(id string) engine.Request {
		return engine.Request{Correct: &engine.Correct{Experiment: id, Exclude: true, Reason: "the wrong bottle"}}
	}
	accept := humans.Reply{Answer: events.Answer{Label: events.LabelAccept}}
	later()
	later() // nobody has answered
	later(engine.Request{Tell: &engine.Tell{Experiment: "e1", Value: new(1.0), Notes: []string{"cloudy"}}})
	later(engine.Request{Tell: &engine.Tell{Experiment: "e2", Value: new(3.0)}})
	later() // nobody has answered
	later(
		engine.Request{Answer: &engine.Answer{Question: "q1", Reply: accept}},
		excluded("e1"), excluded("e2"),
		engine.Request{Tell: &engine.Tell{Experiment: "e3", Failed: "a leak"}},
	)
	later(engine.Request{Correct: &engine.Correct{
		Experiment: "e3", Outcome: events.ResolvedMeasured, Value: ptr(2.0), Reason: "it was the neighbor's",
	}})
	later(
		engine.Request{Correct: &engine.Correct{Experiment: "e1", Reason: "it was the right one"}},
		engine.Request{Correct: &engine.Correct{
			Experiment: "e4", Outcome: events.ResolvedNotPerformed, Reason: "no bottle is left",
		}},
	)
	later(engine.Request{Stop: &events.CampaignStopped{Reason: "the scale is broken"}})
	return history(t, log)
}
