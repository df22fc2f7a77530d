package console_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
)

// Law: whoever comes to an empty folder is offered a campaign that begins as it stands,
// and the file that is offered for one's own is sound, too.
func TestWhatIsOffered(t *testing.T) {
	s := serve(t, time.Second)
	if status, page := s.get("/campaigns"); status != http.StatusOK || !strings.Contains(page, `href="/new?demonstration"`) {
		t.Fatalf("the empty folder offers no demonstration: %d", status)
	}
	for path, name := range map[string]string{"/new": "my-campaign", "/new?demonstration": "demonstration"} {
		_, page := s.get(path)
		_, rest, _ := strings.Cut(page, `wrap="off">`)
		source, _, found := strings.Cut(rest, "</textarea>")
		if !found {
			t.Fatalf("%s has no text to begin from", path)
		}
		if c := s.begin(html.UnescapeString(source)); c.Name() != name {
			t.Errorf("%s begins %s", path, c.Name())
		}
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
	if _, err := was.Submit(t.Context(), engine.Request{Actor: "person:eve", Import: []engine.Tell{
		{Parameters: definition.Point{"solvent": definition.Category("THF"), "x": definition.Number(0.25)}, Value: 3},
		{Parameters: definition.Point{"solvent": definition.Category("THF"), "x": definition.Number(0.25)}, Value: 3}, // the same again
		{Parameters: definition.Point{"solvent": definition.Category("dioxane"), "x": definition.Number(0.5)}, Value: 4},
	}}); err != nil {
		t.Fatal(err)
	}
	_, page := s.get("/new?from=coupling")
	_, rest, _ := strings.Cut(page, `wrap="off">`)
	source, _, _ := strings.Cut(rest, "</textarea>")
	source = strings.Replace(html.UnescapeString(source), "dioxane]", "dioxane, DMF]", 1)
	if !strings.Contains(source, "name: coupling-2\n") || !strings.Contains(page, "3 measurements") {
		t.Fatalf("it begins with %s", source)
	}
	if status, _, text := s.post("/new", url.Values{"source": {source}, "from": {"coupling"}, "along": {"on"}}); status >= 400 {
		t.Fatalf("%d %s", status, text)
	}
	next, err := s.lab.Campaign("coupling-2")
	if err != nil {
		t.Fatal(err)
	}
	next.Read(func(core *engine.Core) {
		state := core.State()
		if len(state.Experiments) < 3 || state.Spent() != 0 && state.Experiments[0].Origin != events.OriginImport {
			t.Errorf("it begins with %+v", state.Experiments)
		}
		if len(state.Notes) != 3 || !strings.HasPrefix(state.Notes[2].Text, "taken over from e") || !strings.HasSuffix(state.Notes[2].Text, " of coupling") {
			t.Errorf("its notes are %+v", state.Notes)
		}
	})

	validate := func(changed string) string {
		_, _, text := s.post("/validate?amends=coupling", url.Values{"source": {changed}})
		return text
	}
	if text := validate(strings.Replace(file, "dioxane]", "dioxane, DMF]", 1)); !strings.Contains(text, `"changes":["parameters.solvent.categories`) ||
		!strings.Contains(text, "DMF") {
		t.Errorf("a category more is compared as %s", text)
	}
	if text := validate(strings.Replace(file, "THF, dioxane]", "DMF, THF]", 1)); !strings.Contains(text, `parameters[0] \"solvent\"`) || strings.Contains(text, "/parameters/") {
		t.Errorf("a category less is refused as %s", text)
	}
	if text := validate(file); !strings.Contains(text, "defined like that already") {
		t.Errorf("the same file is compared as %s", text)
	}
}
