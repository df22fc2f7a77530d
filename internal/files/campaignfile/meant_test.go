package campaignfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: what a file does not say, and did not, a campaign keeps, whatever this program's
// defaults are; what the file says otherwise than before is changed, and that alone.
func TestMeant(t *testing.T) {
	const begun = `
name: taste
parameters: [{name: salt, values: [0, 1, 2]}, {name: acid, values: [0, 1, 2]}]
objective: {name: quality, goal: maximize}
policy: raeubo
budget: {comparisons: 20}
experts: [{name: ada, web: {}}, {name: bo, web: {}}]
`
	read := func(text string) definition.Campaign {
		t.Helper()
		file := must.Get(Parse(builtin.Registry(), "taste.yaml", []byte(text)))(t)
		return file.Definition
	}
	recorded := read(begun) // by a program with other defaults, and with --seed 7
	recorded.Seed = 7
	recorded.Model.Utility.Posterior, recorded.Model.Utility.OutputScale = "laplace", ""
	*recorded.Model.Utility.RefitEvery = 10
	for name, c := range map[string]struct {
		text   string
		change func(*definition.Campaign)
	}{
		"the same file":   {begun, func(*definition.Campaign) {}},
		"other comments":  {"# of May\n" + begun, func(*definition.Campaign) {}},
		"another budget":  {strings.Replace(begun, "comparisons: 20", "comparisons: 30", 1), func(def *definition.Campaign) { def.Budget.Comparisons = 30 }},
		"a default named": {begun + "model: {utility: {refit_every: 5}}\n", func(*definition.Campaign) {}},
		"another setting": {begun + "model: {utility: {refit_every: 3}}\n", func(def *definition.Campaign) {
			*def.Model.Utility.RefitEvery = 3
		}},
		"another rule": {strings.Replace(begun, "policy: raeubo", "policy: eubo", 1), func(def *definition.Campaign) {
			def.Policy.Duel = read(strings.Replace(begun, "policy: raeubo", "policy: eubo", 1)).Policy.Duel
		}},
		"another seed": {begun + "seed: 3\n", func(def *definition.Campaign) { def.Seed = 3 }},
		"an expert less": {strings.Replace(begun, ", {name: bo, web: {}}", "", 1), func(def *definition.Campaign) {
			def.Experts = def.Experts[:1]
		}},
	} {
		want := read(begun)
		want.Seed = 7
		want.Model.Utility.Posterior, want.Model.Utility.OutputScale = "laplace", ""
		*want.Model.Utility.RefitEvery = 10
		c.change(&want)
		got := must.Get(Meant(builtin.Registry(), recorded, begun, read(c.text)))(t)
		if diff := cmp.Diff(plain(want), plain(got)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	unread := read(strings.Replace(begun, "comparisons: 20", "comparisons: 30", 1))
	if got, err := Meant(builtin.Registry(), recorded, "no source", unread); err != nil || !cmp.Equal(plain(got), plain(unread)) {
		t.Errorf("with a source that cannot be read: %v %v", got, err)
	}
}
