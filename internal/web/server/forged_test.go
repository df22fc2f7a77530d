package server_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/forgery"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// shown are the paths of all pages and of all that the API says of a campaign: the routes of the
// pages are those of the matrix, the operations those of the API's own description.
func shown(t *testing.T, c *client, campaign string) (paths []string) {
	t.Helper()
	fill := strings.NewReplacer("{campaign}", campaign, "{decision}", "d1", "{experiment}", "e1",
		"{question}", "q1", "{file}", "f1", "{event}", "e1")
	for _, row := range matrix {
		method, path, _ := strings.Cut(row.pattern, " ")
		if method == "GET" && strings.HasPrefix(path, "/campaigns/{campaign}") || strings.HasPrefix(path, "/questions/{campaign}") {
			paths = append(paths, fill.Replace(path))
		}
	}
	var api document
	status, _, text := c.do("GET", "/api/v1/openapi.json", "", "")
	if err := json.Unmarshal(text, &api); status != http.StatusOK || err != nil {
		t.Fatalf("%d %v", status, err)
	}
	for path, operations := range api.Paths {
		if _, ok := operations["get"]; ok && strings.HasPrefix(path, "/campaigns/{campaign}") {
			paths = append(paths, "/api/v1"+fill.Replace(path))
		}
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return strings.Contains(path, "{") })
	slices.Sort(paths)
	return append(slices.Compact(paths), "/", "/campaigns", "/questions", "/compare", "/api/v1/campaigns", "/api/v1/questions")
}

// Law: a store of which an event was changed into whatever decodes is shown, or is said to be
// unreadable, by each page and each operation of the API: none ends in an internal error, and
// the server goes on. How many forgeries of each log are shown CAMPAIGND_FORGERIES says.
func TestForgedStoresAreShown(t *testing.T) {
	alone(t, "a forged store lies in a folder")
	n := 1
	if text := os.Getenv("CAMPAIGND_FORGERIES"); text != "" {
		all := must.Get(strconv.Atoi(text))(t)
		n = max(1, all/40) // each takes as long as a server to start, and a request for each page
	}
	logs, err := filepath.Glob("../../engine/drive/testdata/golden/0.[34].0/*.jsonl")
	if err != nil || len(logs) == 0 {
		t.Fatalf("there are no golden logs: %v", err)
	}
	drawn := rand.New(rand.NewPCG(3, 4))
	for i, path := range logs {
		if !draws.Whole() && i%3 != 0 {
			continue
		}
		all := must.Get(forgery.Read(path))(t)
		list := must.Get(forgery.Of(all))(t)
		list = slices.DeleteFunc(list, func(f forgery.Forgery) bool {
			_, err := events.Decode(f.Event)
			return err != nil
		})
		for range n {
			showForged(t, all, list[drawn.IntN(len(list))])
		}
	}
}

// Law: a campaign whose first event cannot be read is shown by no page, and says why it is not.
func TestUnreadableBeginning(t *testing.T) {
	alone(t, "a forged store lies in a folder")
	all := must.Get(forgery.Read("../../engine/drive/testdata/golden/0.4.0/calledoff.jsonl"))(t)
	first := all[0]
	first.Data = bytes.Replace(first.Data, []byte(`"budget"`), []byte(`"budgets"`), 1)
	texts := showForged(t, all, forgery.Forgery{At: 0, Path: "definition/budget", What: "renamed", Event: first})
	for _, path := range []string{"/campaigns/branin", "/api/v1/campaigns/branin", "/api/v1/campaigns/branin/course"} {
		if !strings.Contains(texts[path], "beginning of branin cannot be read") {
			t.Errorf("%s: %.400s", path, texts[path])
		}
	}
}

// showForged serves a forged store, asks for all that is shown of it, and returns that by its path.
func showForged(t *testing.T, all []events.Event, f forgery.Forgery) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	serveLog(t, f.In(all), func(c *client, _ string) {
		for _, path := range shown(t, c, all[0].Campaign) {
			status, _, text := c.do("GET", path, "", "")
			if texts[path] = string(text); strings.Contains(texts[path], "omething went wrong here") {
				t.Errorf("%s, %s %s in event %d: %d %.400s", path, f.Path, f.What, f.At+1, status, text)
			}
		}
	})
	return texts
}

// serveLog serves a lab whose one campaign has a log; where no store holds it nothing is served.
func serveLog(t *testing.T, log []events.Event, use func(c *client, folder string)) {
	t.Helper()
	s := newSite(t)
	defer s.end()
	name := log[0].Campaign
	kept := must.Get(store.Open(filepath.Join(s.places[0], name+".campaign"), store.Options{}))(t)
	_, refused := kept.Append(t.Context(), name, 0, log...)
	must.Do(t, kept.Close())
	if refused == nil {
		s.begin()
		use(&client{t, s.url}, s.places[0])
	}
}
