package campaign_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: a turn is all that leads to one experiment of the policy: it begins behind the
// last one that the policy ran, and ends with the first experiment of a decision. What
// repeats that, what people run or say on their own, and the initial design, make none.
func TestTurns(t *testing.T) {
	f := begin(t)
	shown := []events.Option{{Parameters: point(1)}}
	decides := func(n int) { f.must(&events.DecisionMade{Decision: events.DecisionID(n)}) }
	asks := func(n int, decision string) {
		f.must(&events.QuestionAsked{
			Question: events.QuestionID(n), Form: events.FormLabel, Expert: "ada", Options: shown, Decision: decision,
		})
	}
	runs := func(n int, origin events.Origin, decision string) {
		f.must(&events.ExperimentRequested{
			Experiment: events.ExperimentID(n), Parameters: point(1), Origin: origin, Decision: decision,
		})
	}
	holds := func(turns int, underWay string) {
		t.Helper()
		s := f.State()
		asked := ""
		for _, q := range s.QuestionsIn(s.Turns + 1) {
			asked += q.ID + " "
		}
		if s.Turns != turns || asked != underWay {
			t.Errorf("%d turns are over, %q is asked; want %d, %q", s.Turns, asked, turns, underWay)
		}
	}

	asks(1, "") // of the initial examples
	runs(1, events.OriginInitial, "")
	holds(0, "")
	decides(1)
	asks(2, "d1")
	decides(2)
	asks(3, "d2")
	runs(2, events.OriginPerson, "")
	asks(4, "") // initial examples of an expert who has joined
	holds(0, "q2 q3 ")
	decides(3)
	runs(3, events.OriginPolicy, "d3")
	holds(1, "")
	runs(4, events.OriginPolicy, "d3") // once more
	holds(1, "")
	decides(4)
	runs(5, events.OriginPolicy, "d4") // nobody was asked
	runs(6, events.OriginPolicy, "d3") // once more, later
	holds(2, "")
	decides(5)
	asks(5, "d5")
	holds(2, "q5 ")

	s := f.State()
	turns := ""
	for _, x := range s.Experiments {
		turns += fmt.Sprint(x.Turn, " ")
	}
	if turns != "0 0 1 1 2 1 " {
		t.Errorf("the experiments are in the turns %s", turns)
	}
	for turn, want := range []string{"", "e3", "e5", ""} {
		var ran string
		if x := s.RanIn(turn); x != nil {
			ran = x.ID
		}
		if ran != want {
			t.Errorf("turn %d ran %q, want %q", turn, ran, want)
		}
	}
	if asked := s.QuestionsIn(1); len(asked) != 2 || asked[0].ID != "q2" || asked[1].ID != "q3" {
		t.Errorf("turn 1 asked %v", asked)
	}
	if asked := s.QuestionsIn(0); asked != nil {
		t.Errorf("what is in no turn was asked in one: %v", asked)
	}

	for decision, want := range map[string]string{"d1": "d1", "d2": "d1", "d3": "d1", "d4": "d4", "d5": "d5"} {
		if first := s.FirstOfTurn(decision); first != want {
			t.Errorf("the turn of %s begins with %s, want %s", decision, first, want)
		}
	}

	later := func(decision string) bool { return s.DecidedSince(&campaign.Question{Decision: decision}) }
	if !later("d4") || later("d5") {
		t.Error("d5 is the latest decision")
	}
}

// Law: the gains that are known are those of the latest experiments in a row that a trade-off ran,
// three at most. A question changes nothing; an experiment whose gain is not known, and an
// amendment, begin anew.
func TestGains(t *testing.T) {
	f := begin(t)
	n := 0
	decides := func(action events.Action, gains ...float64) {
		n++
		d := &events.DecisionMade{Decision: events.DecisionID(n), Action: action}
		if len(gains) > 0 {
			d.Tradeoff = &events.Tradeoff{Gain: &gains[0]}
		}
		f.must(d)
	}
	holds := func(want ...float64) {
		t.Helper()
		if got := f.State().Gains; !slices.Equal(got, want) {
			t.Errorf("after %d decisions: %v, want %v", n, got, want)
		}
	}
	holds()
	for _, gain := range []float64{4, 3, 2, 1} {
		decides(events.ActionRun, gain)
	}
	decides(events.ActionAsk)
	holds(3, 2, 1)
	decides(events.ActionRun)
	holds()
	decides(events.ActionRun, 5)
	holds(5)
	f.must(&events.CampaignAmended{Definition: *f.State().Definition})
	holds()
}
