package duel_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/preference"
	"github.com/campaignd/campaignd/projections/space"
)

// asked is a comparison of two compositions, with what became of it.
func asked(expert string, status campaign.QuestionStatus, order ...int) campaign.Question {
	return campaign.Question{
		Status: status, Form: events.FormComparison, Expert: expert, Answer: events.Answer{Order: order},
		Options: []events.Option{{Parameters: at(0.2, 0.3)}, {Parameters: at(0.7, 0.6)}},
	}
}

// times is so many questions alike.
func times(n int, q campaign.Question) []campaign.Question {
	var list []campaign.Question
	for range n {
		list = append(list, q)
	}
	return list
}

// together is a campaign of comparisons of three experts.
func together(t *testing.T, p definition.Policy, candidates ...definition.Point) definition.Campaign {
	t.Helper()
	def := taste(t, p, candidates...)
	def.Experts = []definition.Expert{{Name: "ada"}, {Name: "bob"}, {Name: "eve"}}
	return def
}

// decided is the decision of a policy after questions, without models of what anybody
// prefers.
func decided(t *testing.T, def definition.Campaign, change func(*policies.View), questions ...campaign.Question) policies.Decision {
	t.Helper()
	sp := must.Get(space.New(def))(t)
	n := len(def.Experts)
	view := policies.View{
		Campaign: &campaign.State{Definition: &def, Questions: questions}, Space: sp,
		Preferences: make([]*preference.Model, n), PreferenceErrors: make([]error, n),
	}
	if change != nil {
		change(&view)
	}
	p := must.Get(builtin.Registry().Methods.New(def))(t)
	return must.Get(p.Decide(t.Context(), view, 7))(t)
}

// Law: whoever was asked least compares next, the first of equals, whatever became of the
// questions; an example that nobody asked for and a question that the campaign itself
// withdrew do not count.
func TestWhoComparesNext(t *testing.T) {
	example, moot := asked("ada", campaign.Answered, 0, 1), asked("ada", campaign.Withdrawn)
	example.Volunteered, moot.Moot = true, true
	label := asked("ada", campaign.Answered)
	label.Form = events.FormLabel
	for _, c := range []struct {
		name      string
		questions [][]campaign.Question
		want      string
	}{
		{"nobody was asked", nil, "ada"},
		{"the first was", [][]campaign.Question{times(1, asked("ada", campaign.Answered, 0, 1))}, "bob"},
		{"two were", [][]campaign.Question{times(1, asked("bob", campaign.Expired)), times(1, asked("ada", campaign.Answered, 0, 1))}, "eve"},
		{"all were once", [][]campaign.Question{
			times(1, asked("eve", campaign.Answered)), times(1, asked("bob", campaign.Expired)), times(1, asked("ada", campaign.Answered, 0, 1)),
		}, "ada"},
		{"the second least", [][]campaign.Question{
			times(3, asked("ada", campaign.Answered)), times(1, asked("bob", campaign.Expired)), times(2, asked("eve", campaign.Answered, 0, 1)),
		}, "bob"},
		{"the last least", [][]campaign.Question{
			times(3, asked("ada", campaign.Answered)), times(2, asked("bob", campaign.Expired)), times(1, asked("eve", campaign.Answered, 0, 1)),
		}, "eve"},
		{"what does not count", [][]campaign.Question{
			times(5, example), times(5, moot), times(5, label), times(1, asked("bob", campaign.Expired)), times(1, asked("eve", campaign.Expired)),
		}, "ada"},
	} {
		var questions []campaign.Question
		for _, some := range c.questions {
			questions = append(questions, some...)
		}
		for _, name := range []string{"random-duels", "mr-lpf"} {
			d := decided(t, together(t, rules()[name]), nil, questions...)
			if d.Action != events.ActionAsk || d.Form != events.FormComparison || d.Rule != policies.RuleCompare || d.Expert != c.want {
				t.Errorf("%s, %s: it is to %s %s a %q by %q, want %s", c.name, name, d.Action, d.Expert, d.Form, d.Rule, c.want)
			}
		}
	}
}

// Law: the campaign ends when as many comparisons have been asked as its budget holds, and
// says how many of them were answered; or when every expert has made their share.
func TestComparisonsEnd(t *testing.T) {
	def := together(t, rules()["random-duels"])
	def.Budget.Comparisons = 4
	moot := asked("ada", campaign.Withdrawn)
	moot.Moot = true
	answered, expired := asked("bob", campaign.Answered, 0, 1), asked("ada", campaign.Expired)
	for _, c := range []struct {
		name      string
		questions []campaign.Question
		detail    string // empty: it goes on
	}{
		{"three of four", times(3, answered), ""},
		{"three and one that was withdrawn", append(times(3, answered), moot), ""},
		{"four", times(4, answered), "All 4 comparisons have been made."},
		{"three of them answered", append(times(3, answered), expired), "All 4 comparisons have been asked, and 3 of them answered."},
	} {
		d := decided(t, def, nil, c.questions...)
		if ends := c.detail != ""; (d.Action == events.ActionStop) != ends || ends && (d.Rule != policies.RuleBudget || d.Completed.Reason != events.CompletedBudget || d.Completed.Detail != c.detail) {
			t.Errorf("%s: it is to %s by %q: %s", c.name, d.Action, d.Rule, d.Reason)
		}
	}
	// Of ten comparisons a share is four, the first expert's as the others'. Examples that
	// nobody asked for are part of it, and count against no budget.
	list := []definition.Point{at(0.1, 0.8), at(0.9, 0.1), at(0.5, 0.6), at(0.3, 0.2)}
	def = together(t, rules()["mr-lpf"], list...)
	def.Budget.Comparisons = 10
	examples := func(expert string, n int) (questions []campaign.Question) {
		for i := range n {
			q := asked(expert, campaign.Answered, 0, 1)
			q.Volunteered, q.Options = true, []events.Option{{Parameters: list[i%3]}, {Parameters: list[3]}}
			questions = append(questions, q)
		}
		return questions
	}
	for _, c := range []struct {
		made [3]int
		next string // empty: it ends
	}{{[3]int{3, 4, 4}, "ada"}, {[3]int{4, 0, 0}, "bob"}, {[3]int{4, 4, 3}, "eve"}, {[3]int{4, 4, 4}, ""}} {
		var questions []campaign.Question
		for i, e := range def.Experts {
			questions = append(questions, examples(e.Name, c.made[i])...)
		}
		d := decided(t, def, nil, questions...)
		ended := d.Action == events.ActionStop && d.Rule == policies.RuleBudget && d.Completed.Reason == events.CompletedBudget
		if d.Expert != c.next || ended != (c.next == "") {
			t.Errorf("after %v comparisons it is to %s %q by %q (%s), want %q", c.made, d.Action, d.Expert, d.Rule, d.Reason, c.next)
		}
	}
}

// Law: a campaign ends when every expert's time is spent, and says so; an
// expert whose time is spent is asked nothing more while others have some.
func TestComparisonsEndWithTheTime(t *testing.T) {
	def := together(t, rules()["random-duels"])
	def.Budget.Comparisons = 100
	for i := range def.Experts {
		def.Experts[i].Time = definition.Duration(time.Minute)
		def.Experts[i].AnswerTakes = definition.Duration(20 * time.Second)
	}
	// One comparison takes 40 s, so that after it less than 40 s are left, and
	// after two of bob's none.
	ada, bob := asked("ada", campaign.Answered, 0, 1), asked("bob", campaign.Answered, 0, 1)
	eve := asked("eve", campaign.Answered, 0, 1)
	spent := slices.Concat(times(2, ada), times(2, bob), times(2, eve))
	d := decided(t, def, nil, spent...)
	want := "Every expert's time is spent, or they have made their share of the comparisons."
	if d.Action != events.ActionStop || d.Rule != policies.RuleBudget ||
		d.Completed.Reason != events.CompletedBudget || d.Completed.Detail != want {
		t.Errorf("it is to %s by %q: %+v", d.Action, d.Rule, d.Completed)
	}
	d = decided(t, def, nil, spent[:4]...)
	if d.Action != events.ActionAsk || d.Expert != "eve" {
		t.Errorf("it is to %s %q, and eve has time", d.Action, d.Expert)
	}
}

// Law: where a pair is at random because nothing is modelled, the reason says why: what is
// wrong with the model, why the last fit failed, or that nothing has been compared. Whoever
// named the better one alone has compared.
func TestWhyNothingIsModelled(t *testing.T) {
	wrong := func(v *policies.View) { v.PreferenceErrors[0] = errors.New("it is singular") }
	failed := func(v *policies.View) { v.Campaign.Failure = "the search was lost" }
	for _, c := range []struct {
		name      string
		change    func(*policies.View)
		questions []campaign.Question
		says      string // behind "There is no model of the utility"
	}{
		{"nothing asked", nil, nil, ": ada has compared nothing yet."},
		{"can't tell", nil, times(1, asked("ada", campaign.Answered)), ": ada has compared nothing yet."},
		{"another's", nil, times(1, asked("bob", campaign.Answered, 0, 1)), ": ada has compared nothing yet."},
		{"whole order", nil, times(1, asked("ada", campaign.Answered, 0, 1)), "."},
		{"the better one alone", nil, times(1, asked("ada", campaign.Answered, 1)), "."},
		{"a failed fit", failed, times(1, asked("ada", campaign.Answered, 1)), ": the search was lost."},
		{"a failed fit of something else", failed, nil, ": ada has compared nothing yet."},
		{"an unusable model", wrong, times(1, asked("ada", campaign.Answered, 1)), ": it is singular."},
	} {
		d := decided(t, taste(t, rules()["eubo"]), c.change, c.questions...)
		if want := "There is no model of the utility" + c.says; !strings.HasSuffix(d.Reason, want) {
			t.Errorf("%s: %q, want %q", c.name, d.Reason, want)
		}
	}
	if d := decided(t, taste(t, rules()["random-duels"]), nil); d.Reason != "Two compositions at random." {
		t.Errorf("whoever wants pairs at random is told %q", d.Reason)
	}
}

// Law: what a file leaves out of a rule has the default that its settings document, and
// nothing that the rule does not read is filled in.
func TestDefaults(t *testing.T) {
	beta, paper := 3.0, definition.Utility{Paper: true}
	// kernelled are the defaults of a rule on candidates; 0.1·√2 is the lengthscale in a square.
	kernelled := `"lengthscale":0.14142135623730953,"lambda":0.05,"kappa":1,"loss":"rkhs",`
	for _, c := range []struct {
		name   string
		choice definition.Choice
		model  definition.Utility
		want   string
	}{
		{"mr-lpf", rules()["mr-lpf"].Duel, definition.Utility{}, `{` + kernelled + `"beta_rule":"calibrated","points":256}`},
		{"maxmin-lcb", rules()["maxmin-lcb"].Duel, definition.Utility{}, `{` + kernelled + `"beta_rule":"paper","points":256}`},
		{"by Eq. 14", definition.NewChoice("maxmin-lcb", map[string]any{"beta_rule": "eq14"}), definition.Utility{},
			`{` + kernelled + `"beta_rule":"eq14","norm":1,"points":256}`},
		{"by Eq. 14 with a norm", definition.NewChoice("mr-lpf", map[string]any{"beta_rule": "eq14", "norm": 2.5}), definition.Utility{},
			`{` + kernelled + `"beta_rule":"eq14","norm":2.5,"points":256}`},
		{"with its own β", definition.NewChoice("mr-lpf", map[string]any{"beta": beta}), definition.Utility{}, `{` + kernelled + `"beta":3,"points":256}`},
		{"eubo", rules()["eubo"].Duel, definition.Utility{}, `{}`},
		{"raeubo", rules()["raeubo"].Duel, definition.Utility{}, `{"alpha":1}`},
		{"raeubo of the paper", rules()["raeubo"].Duel, paper, `{"alpha":10}`},
		{"eubo, logistic", rules()["eubo"].Duel, definition.Utility{Link: definition.LinkLogistic}, `{}`},
		{"ucb", rules()["utility-ucb"].Duel, paper, `{"beta":2}`},
		{"anpei", rules()["anpei"].Duel, paper, `{"gamma":1}`},
		{"rahbo", rules()["rahbo"].Duel, definition.Utility{}, `{"eta":2,"gamma":1}`},
		{"rahbo of the paper", rules()["rahbo"].Duel, paper, `{"eta":2,"gamma":10}`},
	} {
		def := taste(t, definition.Policy{Duel: c.choice})
		def.Model.Utility, def.Initial.Comparisons, def.Policy.Duel = c.model, nil, c.choice
		settings := must.Get(builtin.Registry().Methods.Settings(def.Policy, policies.Duel))(t)
		settings.Complete(&def)
		if want := definition.NewChoice(c.choice.Name, settings); !want.Equal(definition.NewChoice(c.choice.Name, raw(c.want))) {
			t.Errorf("%s: %+v, want %s", c.name, want, c.want)
		}
		u, onCandidates := def.Model.Utility, strings.Contains(c.want, "kappa")
		if onCandidates {
			if u.Noise != nil || u.RefitEvery != nil || def.Initial.Comparisons != nil {
				t.Errorf("%s models no utility, and has %+v", c.name, u)
			}
			continue
		}
		strength := u.Strength != nil && *u.Strength == 4
		scale := map[bool]string{false: definition.ScaleLearned, true: definition.ScaleFixed}[u.Paper]
		posterior := map[string]string{
			definition.LinkProbit: definition.PosteriorEP, definition.LinkLogistic: definition.PosteriorLaplace,
		}[u.Link]
		if u.Link != cmp.Or(c.model.Link, definition.LinkProbit) || u.Posterior != posterior || *u.Noise != 1 || *u.RefitEvery != 5 ||
			u.OutputScale != scale || *def.Initial.Comparisons != 8 || strength == u.Paper || u.Paper && u.Strength != nil {
			t.Errorf("%s: the utility is modelled by %+v after %d comparisons", c.name, u, *def.Initial.Comparisons)
		}
	}
}

// raw is JSON as it is written.
type raw string

func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// Law: a definition that lacks a setting which campaignd writes out is refused, with the
// setting's name; one that has all of them is not.
func TestWhatADefinitionLacks(t *testing.T) {
	lacking := map[string][]string{
		"mr-lpf":       {"lengthscale", "lambda", "kappa", "loss", "points", "beta_rule"},
		"maxmin-lcb":   {"lengthscale", "lambda", "kappa", "loss", "points", "beta_rule"},
		"raeubo":       {"alpha"},
		"utility-ucb":  {"beta"},
		"anpei":        {"gamma"},
		"rahbo":        {"eta", "gamma"},
		"eubo":         nil,
		"utility-ei":   nil,
		"random-duels": nil,
	}
	for name, p := range rules() {
		names, known := lacking[name]
		if !known {
			t.Errorf("%s is not in the table", name)
		}
		def := taste(t, p)
		ruleOf(t, def)
		for _, setting := range names {
			var settings map[string]any
			must.Do(t, def.Policy.Duel.Decode(&settings))
			delete(settings, setting)
			changed := def
			changed.Policy.Duel = definition.NewChoice(def.Policy.Duel.Name, settings)
			refused(t, name, changed, setting)
		}
		if len(names) > 4 {
			changed := def
			changed.Policy.Duel = definition.NewChoice(def.Policy.Duel.Name, raw(strings.NewReplacer(
				`"calibrated"`, `"eq14"`, `"paper"`, `"eq14"`).Replace(settingsText(t, def.Policy.Duel))))
			refused(t, name, changed, "norm")
			continue
		}
		for _, c := range []struct {
			setting string
			change  func(*definition.Utility)
		}{
			{"noise", func(u *definition.Utility) { u.Noise = nil }},
			{"strength", func(u *definition.Utility) { u.Strength = nil }},
			{"refit_every", func(u *definition.Utility) { u.RefitEvery = nil }},
		} {
			changed := def
			c.change(&changed.Model.Utility)
			refused(t, name, changed, c.setting)
		}
		paper := def
		paper.Model.Utility.Paper, paper.Model.Utility.Strength = true, nil
		ruleOf(t, paper)
	}
}

func settingsText(t *testing.T, c definition.Choice) string {
	t.Helper()
	var text raw
	var settings map[string]any
	must.Do(t, c.Decode(&settings))
	for key, value := range settings {
		if s, ok := value.(string); ok {
			value = fmt.Sprintf("%q", s)
		}
		text += raw(fmt.Sprintf(`,%q:%v`, key, value))
	}
	return "{" + string(text[1:]) + "}"
}

func refused(t *testing.T, name string, def definition.Campaign, setting string) {
	t.Helper()
	_, err := builtin.Registry().Methods.New(def)
	if err == nil || !strings.Contains(err.Error(), setting) {
		t.Errorf("%s without %s: %v", name, setting, err)
	}
}
