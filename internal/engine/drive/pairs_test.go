package drive_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
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
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/coexbo"
	"github.com/campaignd/campaignd/policies/duel"
)

// grid is a campaign of comparisons of n compositions by ada, all of them initial.
func grid(n, comparisons int, seed uint64, policy definition.Policy) definition.Campaign {
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i)
	}
	def := definition.Campaign{
		Name: "grid", Seed: seed, Parameters: []definition.Parameter{{Name: "x", Values: values}},
		Objective: definition.Objective{Name: "liking", Goal: definition.Maximize}, Policy: policy,
		Experts: []definition.Expert{{Name: "ada", Channel: terminal.Choose(terminal.Settings{})}},
		Initial: definition.Initial{Comparisons: &comparisons},
	}
	if !policy.Measures() {
		def.Budget.Comparisons = comparisons
	} else {
		def.Budget.Experiments = 3
		def.Instrument.Driver = manual.Choose(manual.Settings{})
	}
	return campaignfile.Complete(builtin.Registry(), def)
}

// compared plays the initial comparisons and returns the options of each, by experts.
func compared(t *testing.T, def definition.Campaign) map[string][][]float64 {
	t.Helper()
	opened := must.Get(events.New(def.Name, &events.CampaignDefined{Definition: def}))(t)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	opened.Actor, opened.Time = "person:ada", now
	log, asked := memlog.New(), make(map[string][][]float64)
	must.Get(log.Append(t.Context(), def.Name, 0, opened))(t)
	for range *def.Initial.Comparisons * len(def.Experts) {
		r := &drive.Runner{Registry: builtin.Registry(), Log: log, Campaign: def.Name, Now: func() time.Time { return now }}
		suggestion, err := r.Suggest(t.Context())
		if err != nil || len(suggestion.Questions) == 0 {
			t.Fatal(suggestion, err)
		}
		q := suggestion.Questions[0]
		var options []float64
		for _, p := range q.Points() {
			x, _ := p["x"].Float()
			options = append(options, x)
		}
		slices.Sort(options)
		asked[q.Expert] = append(asked[q.Expert], options)
		answer := engine.Request{Actor: "person:ada", Answer: &engine.Answer{Question: q.ID, Reply: humans.Reply{Answer: events.Answer{Order: []int{1, 0}}}}}
		must.Get(engine.Submit(t.Context(), log, r.Core(), answer, now))(t)
	}
	report, err := decisions.Audit(t.Context(), builtin.Registry(), log, def.Name, events.Build{}, nil)
	if err != nil || len(report.Mismatches) > 0 {
		t.Errorf("audit: %+v, %v", report, err)
	}
	return asked
}

// Law: initial comparisons of few compositions ask about each pair once before
// they ask about any again, never about a composition and itself, and about
// other pairs with another seed.
func TestInitialComparisonsDiffer(t *testing.T) {
	duels := definition.Policy{Duel: duel.RAEUBO{}.Choice()}
	prior := definition.Policy{Trust: coexbo.CoExBO{}.Choice()}
	for name, policy := range map[string]definition.Policy{"duels": duels, "choices": prior} {
		for _, n := range []int{2, 3, 4, 6, 8, 12, 30} {
			first := ""
			varied := false
			for seed := range uint64(4) {
				comparisons := min(n*(n-1)+1, 17)
				asked := compared(t, grid(n, comparisons, seed+1, policy))["ada"]
				times := make(map[string]int)
				for i, pair := range asked {
					if len(pair) != 2 || pair[0] == pair[1] {
						t.Errorf("%s of %d: %v is not a pair", name, n, pair)
					}
					if times[fmt.Sprint(pair)]++; times[fmt.Sprint(pair)] > i/(n*(n-1)/2)+1 {
						t.Errorf("%s of %d, seed %d: %v is asked again before every pair was: %v", name, n, seed+1, pair, asked)
					}
				}
				if first == "" {
					first = fmt.Sprint(asked)
				}
				varied = varied || fmt.Sprint(asked) != first
			}
			if n > 3 && !varied {
				t.Errorf("%s of %d: the same comparisons with every seed", name, n)
			}
		}
	}
}

// Law: each expert compares each pair before they compare any again, whatever others have been
// asked in between.
func TestInitialComparisonsOfSeveralExperts(t *testing.T) {
	def := grid(3, 3, 1, definition.Policy{Duel: duel.RAEUBO{}.Choice()})
	def.Experts = append(def.Experts, definition.Expert{Name: "bob", Channel: def.Experts[0].Channel})
	def.Budget.Comparisons = 6
	asked := compared(t, campaignfile.Complete(builtin.Registry(), def))
	for _, expert := range []string{"ada", "bob"} {
		slices.SortFunc(asked[expert], slices.Compare)
		if got := fmt.Sprint(asked[expert]); got != "[[0 1] [0 2] [1 2]]" {
			t.Errorf("%s was asked about %s", expert, got)
		}
	}
}
