package console_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: the file that is offered for one's own begins as it stands, and with the expert whom
// it offers.
func TestWhatIsOffered(t *testing.T) {
	s := serve(t, time.Second)
	_, page := s.get("/new")
	_, rest, _ := strings.Cut(page, `wrap="off">`)
	source, _, found := strings.Cut(rest, "</textarea>")
	if !found {
		t.Fatal("there is no text to begin from")
	}
	source = html.UnescapeString(source)
	if c := s.begin(source); c.Name() != "my-campaign" {
		t.Errorf("it begins %s", c.Name())
	}
	expert := regexp.MustCompile(`(?m)^# (experts:$|  - )`) // what can be put in by removing the mark
	whole := expert.ReplaceAllString(source, "$1")
	if whole == source {
		t.Fatal("the file does not say how an expert is put in")
	}
	whole = strings.Replace(whole, "name: my-campaign", "name: with-an-expert", 1)
	if c := s.begin(whole); len(c.Defined().Experts) != 1 {
		t.Errorf("with its expert it begins with %+v", c.Defined().Experts)
	}
	if status, _, text := s.post("/new", url.Values{"source": {"name: x"}}); status < 400 {
		t.Errorf("a file without a parameter is taken: %d %s", status, text)
	}
}

// Law: a campaign goes on in another one, with what was measured, and each measurement says where it comes from. What a
// changed file would make of a campaign is said before it is amended, and what is refused with its place in words.
func TestGoOnFromThisOne(t *testing.T) {
	s := serve(t, time.Second)
	const file = `name: coupling
parameters: [{name: solvent, categories: [THF, dioxane]}, {name: x, min: 0, max: 1}]
objective: {name: yield, goal: maximize}
initial: {experiments: 3}
budget: {experiments: 9}
instrument: manual
`
	was := s.begin(file)
	must.Get(was.Submit(t.Context(), engine.Request{Actor: "person:eve", Import: []engine.Tell{
		{Parameters: definition.Point{"solvent": definition.Category("THF"), "x": definition.Number(0.25)}, Value: new(3.0)},
		{Parameters: definition.Point{"solvent": definition.Category("THF"), "x": definition.Number(0.25)}, Value: new(3.0)}, // the same again
		{Parameters: definition.Point{"solvent": definition.Category("dioxane"), "x": definition.Number(0.5)}, Value: new(4.0)},
	}}))(t)
	_, page := s.get("/new?from=coupling")
	_, rest, _ := strings.Cut(page, `wrap="off">`)
	source, _, _ := strings.Cut(rest, "</textarea>")
	source = strings.Replace(html.UnescapeString(source), "dioxane]", "dioxane, DMF]", 1)
	if !strings.Contains(source, "name: coupling-2\n") {
		t.Fatalf("the file that is offered is\n%s", source)
	}
	if !strings.Contains(page, `name="along" value="on" checked>`) || !strings.Contains(page, "3 measurements") {
		t.Fatal("the page does not offer to take the 3 measurements along")
	}
	form := url.Values{"source": {source}, "from": {"coupling"}, "along": {"on"}, "check": {"on"}}
	if status, _, page := s.post("/new", form); status != http.StatusOK || !strings.Contains(page, `name="along" value="on" checked>`) ||
		!strings.Contains(page, "3 measurements") {
		t.Errorf("once it is checked, the page does not offer to take them along: %d %s", status, page)
	}
	form.Del("check")
	if status, _, text := s.post("/new", form); status >= 400 {
		t.Fatalf("%d %s", status, text)
	}
	next := must.Get(s.lab.Campaign("coupling-2"))(t)
	s.until(next, "suggests an experiment of its own", func(state *campaign.State) bool {
		return len(state.Experiments) > 3
	})
	next.Read(func(core *engine.Core) {
		state := core.State()
		for i, want := range []string{"THF 0.25 3", "THF 0.25 3", "dioxane 0.5 4"} {
			x := state.Experiments[i]
			if x.Origin != events.OriginImport { // that is: the campaign decided before the measurements were there
				t.Errorf("%s is an experiment of its own, not one that was taken over", x.ID)
				continue
			}
			is := fmt.Sprint(x.Parameters["solvent"], " ", x.Parameters["x"], " ", x.Measurement.Objective.Value)
			if is != want {
				t.Errorf("%s was taken over as %s; it was %s", x.ID, is, want)
			}
			from := regexp.MustCompile(`^taken over from e\d+ of coupling$`)
			if i >= len(state.Notes) || state.Notes[i].About != x.ID || !from.MatchString(state.Notes[i].Text) {
				t.Errorf("nothing says where %s comes from; the notes are %+v", x.ID, state.Notes)
			}
		}
	})
	alone := strings.Replace(source, "name: coupling-2", "name: alone", 1)
	if status, _, text := s.post("/new", url.Values{"source": {alone}, "from": {"coupling"}}); status >= 400 {
		t.Fatalf("%d %s", status, text)
	}
	next = must.Get(s.lab.Campaign("alone"))(t)
	next.Read(func(core *engine.Core) {
		for _, x := range core.State().Experiments {
			if x.Origin == events.OriginImport {
				t.Errorf("%s was taken over, and nobody wanted that", x.ID)
			}
		}
	})

	validate := func(changed string) string {
		_, _, text := s.post("/validate?amends=coupling", url.Values{"source": {changed}})
		return text
	}
	more := strings.NewReplacer("dioxane]", "dioxane, DMF]", "budget: {experiments: 9}", "budget: {experiments: 12}")
	_, changes, _ := strings.Cut(validate(more.Replace(file)), `"changes":`)
	if !strings.Contains(changes, "parameters.solvent.categories") || !strings.Contains(changes, "DMF") ||
		!strings.Contains(changes, "budget.experiments") || !strings.Contains(changes, "12") {
		t.Errorf("a category and three experiments more are compared as %s", changes)
	}
	before := was.Sequence()
	look := func(changed string) (int, string) {
		status, _, page := s.post("/campaigns/coupling/definition", url.Values{"source": {changed}, "look": {"on"}, "reason": {"a try"}})
		return status, html.UnescapeString(page)
	}
	status, page := look(more.Replace(file)) // by a button, without script
	for _, want := range []string{"What would change:", "parameters.solvent.categories", "budget.experiments", "dioxane, DMF]", `value="a try"`} {
		if status != http.StatusOK || !strings.Contains(page, want) {
			t.Errorf("the page that shows what changes, %d, does not say %q", status, want)
		}
	}
	if status, page := look(strings.Replace(file, "dioxane]", "DMF]", 1)); status < 400 || strings.Contains(page, "What would change:") {
		t.Errorf("what is refused is shown as a change: %d", status)
	}
	if was.Sequence() != before {
		t.Error("looking at what would change has changed it")
	}
	fewer := strings.Replace(file, "THF, dioxane]", "DMF, THF]", 1)
	if text := validate(fewer); !strings.Contains(text, `parameters[0] \"solvent\"`) || strings.Contains(text, "/parameters/") {
		t.Errorf("a category less is refused as %s", text)
	}
	if text := validate(file); !strings.Contains(text, "defined like that already") {
		t.Errorf("the same file is compared as %s", text)
	}
}
