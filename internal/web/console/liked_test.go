package console_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: the page of what an expert prefers lists what was measured in the order of the
// campaign's ranking, names the first, and draws no course of a single quantity, which
// is not what is sought; the list of campaigns names the first, too.
func TestPreferencePage(t *testing.T) {
	source := must.Get(os.ReadFile("../../../examples/formulation.yaml"))(t)
	s := serve(t, time.Hour)
	c := s.begin(strings.Replace(string(source), "experiments: 20", "experiments: 9", 1))
	s.until(c, "ends", func(st *campaign.State) bool { return st.Status.Ended() })
	var want []string
	c.Read(func(core *engine.Core) {
		summary := must.Get(core.Summarize(t.Context()))(t)
		for _, l := range summary.Ranking {
			want = append(want, l.Experiment)
		}
	})
	_, page := s.get("/campaigns/formulation?tab=ranking")
	_, ranking, _ := strings.Cut(page, `id="ranking"`)
	ranking, _, _ = strings.Cut(ranking, "</section>")
	var got []string
	for _, row := range regexp.MustCompile(`<tr data-x="(e\d+)"`).FindAllStringSubmatch(ranking, -1) {
		got = append(got, row[1])
	}
	if len(want) != 9 || !slices.Equal(got, want) {
		t.Errorf("the page lists %v, the ranking is %v", got, want)
	}
	if !strings.Contains(page, "what is preferred of conductivity, viscosity and price") {
		t.Error("it does not say what is sought")
	}
	for _, wrong := range []string{"the best measured so far", "maximize conductivity", "Nothing has been measured"} {
		if strings.Contains(page, wrong) {
			t.Errorf("the page says %q", wrong)
		}
	}
	if _, list := s.get("/campaigns"); !strings.Contains(list, "preferred so far") || strings.Contains(list, "nothing measured") {
		t.Error("the list does not say which is preferred")
	}
}
