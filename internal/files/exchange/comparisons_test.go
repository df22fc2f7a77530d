package exchange

import (
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: a table of comparisons says of each which option was named, that its
// expert could not tell, or nothing where nobody has answered.
func TestComparisonsAsATable(t *testing.T) {
	low, high := 0.0, 1.0
	def := definition.Campaign{Parameters: []definition.Parameter{{Name: "x", Min: &low, Max: &high}}}
	def.Policy.Duel = definition.NewChoice("random", nil)
	asked := func(id string, status campaign.QuestionStatus, order ...int) campaign.Question {
		return campaign.Question{
			ID: id, Status: status, Form: events.FormComparison, Expert: "ada",
			Answer: events.Answer{Order: order},
			Options: []events.Option{
				{Parameters: definition.Point{"x": definition.Number(0.1)}},
				{Parameters: definition.Point{"x": definition.Number(0.2)}},
			},
		}
	}
	s := &campaign.State{Definition: &def, Questions: []campaign.Question{
		asked("q1", campaign.Answered, 1, 0), asked("q2", campaign.Answered), asked("q3", campaign.Asked),
	}}
	var out strings.Builder
	must.Do(t, TableOf(s).WriteCSV(&out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	at := slices.Index(strings.Split(lines[0], ","), "better")
	if at < 0 || len(lines) != 4 {
		t.Fatalf("the table is\n%s", &out)
	}
	unsure := events.Answer{}.String()
	for i, want := range []string{"B", unsure, ""} {
		if got := strings.Split(lines[1+i], ",")[at]; got != want {
			t.Errorf("of q%d the table says %q, want %q", i+1, got, want)
		}
	}
	if unsure == "" {
		t.Error("there are no words for an expert who cannot tell")
	}
}
