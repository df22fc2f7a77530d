package report

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
)

// Law: what a person did to a campaign, and why, is in its report: every act that has a
// reason, and every comment of an expert. Regions that a person excludes are drawn as those of the definition are.
func TestWhatPeopleDid(t *testing.T) {
	region := definition.Region{Where: map[string]definition.RegionSide{"lipf6": {Min: pointer(1.9)}}}
	c := newTrial(t, electrolyte(6)).run(nil)
	plain := c.html()
	if strings.Contains(plain, "excluded regions") {
		t.Error("nothing is excluded yet")
	}
	judged := []definition.Point{c.history().state.Experiments[0].Parameters}
	acts := map[string]events.Payload{
		"why it paused":     &events.CampaignPaused{Reason: "why it paused"},
		"why it went on":    &events.CampaignResumed{Reason: "why it went on"},
		"clouds at once":    &events.RegionExcluded{Exclusion: "n1", Region: region, Reason: "clouds at once"},
		"a hasty exclusion": &events.RegionExcluded{Exclusion: "n2", Region: region, Reason: "a hasty exclusion"},
		"it does dissolve":  &events.RegionAllowed{Exclusion: "n2", Reason: "it does dissolve"},
		"looks like what we know": &events.QuestionAnswered{
			Question: "q90", Form: events.FormLabel, Expert: "ada", Options: judged, Answer: events.Answer{Label: events.LabelAccept},
			Comment: "looks like what we know", Volunteered: true,
		},
		"looked again": &events.QuestionSuperseded{
			Question: "q90", Form: events.FormLabel, Expert: "ada", Options: judged, Answer: events.Answer{Label: events.LabelReject},
			Reason: "looked again",
		},
		"nothing left to do": &events.CampaignStopped{Reason: "nothing left to do"},
	}
	h, story := new(history), view.NewStory(&c.def)
	for reason, payload := range acts {
		e := must.Get(events.New(c.def.Name, payload))(t)
		e.Actor, e.Time = "person:ada", time.Now()
		h.act(e, view.Line{Time: e.Time, Entry: story.Entry(e, payload)}, payload)
		if n := len(h.acts); n == 0 || h.acts[n-1].Reason != reason || h.acts[n-1].Actor != "ada" ||
			h.acts[n-1].Text == "" {
			t.Errorf("%T is not told: %+v", payload, h.acts)
		}
	}
	c.record(acts["clouds at once"], acts["a hasty exclusion"], acts["it does dissolve"])
	page := c.html()
	for _, want := range []string{"clouds at once", "a hasty exclusion", "it does dissolve", "lipf6 from 1.9",
		"Shaded: excluded regions", "Excluded, and left out since"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in the report", want)
		}
	}
	if rows := exclusionsOf(c.history()); len(rows) != 1 || rows[0].ID != "n1" {
		t.Errorf("excluded now: %+v", rows)
	}
}

// Law: whatever a person gives a reason for stands among the acts in the report, or where this
// table says.
func TestEveryReasonIsTold(t *testing.T) {
	elsewhere := map[events.Kind]string{
		events.KindCampaignAmended:      "the changes of the definition",
		events.KindCampaignCompleted:    "the header",
		events.KindQuestionWithdrawn:    "the questions",
		events.KindExperimentCorrected:  "the corrections",
		events.KindMeasurementCorrected: "the corrections",
		events.KindMeasurementFlagged:   "the measurements in doubt",
		events.KindDecisionMade:         "the decisions",
		events.KindMethodAnswered:       "the decisions",
	}
	for _, k := range events.Kinds() {
		payload := k.New()
		if anchors, ok := payload.(*events.AnchorsDeclared); ok {
			anchors.Instead = true
		}
		reasoned := reflect.ValueOf(payload).Elem().FieldByName("Reason").IsValid()
		told := isAct(events.Event{Kind: k.Kind, Actor: "person:ada"}, payload)
		where, apart := elsewhere[k.Kind]
		if reasoned && told == apart {
			t.Errorf("%s: listed among the acts: %t; told elsewhere: %q", k.Kind, told, where)
		}
	}
}

// A campaign that came to its end and was continued after a change was not
// interrupted; the time between counts for nobody. One that was, was.
func TestContinuedIsNotInterrupted(t *testing.T) {
	h := func(payloads ...events.Payload) *history {
		c := newTrial(t, electrolyte(4)).run(nil)
		return c.record(payloads...).history()
	}
	if got := h(&events.RecoveryDone{}); len(got.incidents) != 0 || got.idle <= 0 {
		t.Errorf("continued after its end: %d incidents, idle for %v", len(got.incidents), got.idle)
	}
	if got := h(&events.RecoveryDone{}, &events.RecoveryDone{}); len(got.incidents) != 1 {
		t.Errorf("interrupted once: %d incidents", len(got.incidents))
	}
	if got := h(&events.RecoveryDone{Commands: []events.RecoveredCommand{{Experiment: "e1", Fate: "running"}}}); len(got.incidents) != 1 {
		t.Errorf("a command was under way: %d incidents", len(got.incidents))
	}
}

// The head of the page names each policy that chose, and how much goes on at once.
func TestThePoliciesThatChose(t *testing.T) {
	h := &history{policies: []policySpan{{"lcb, β = 2", 0}, {"logei", 12}, {"pi", 30}}}
	if got, want := policyOf(h), "lcb, β = 2 until e12, then logei until e30, then pi"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	def := electrolyte(4)
	def.Parallel = 4
	page := newTrial(t, def).html()
	if !strings.Contains(page, "<dt>at the same time</dt><dd>4 experiments</dd>") {
		t.Error("the head does not say how much goes on at once")
	}
	if strings.Contains(page, `href="#experts"`) != (len(def.Experts) > 0) {
		t.Error("the contents name what is not there")
	}
}
