package console_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// still returns what a page says outside of the parts that the script exchanges, and the shape
// by which it sees that the page is another one now.
func still(t *testing.T, page string) (text string, shape []string) {
	t.Helper()
	root := must.Get(html.Parse(strings.NewReader(page)))(t)
	has := func(n *html.Node, name string) bool {
		return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
	}
	var said strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			said.WriteString(strings.Join(strings.Fields(n.Data), " ") + "\n")
		case n.Data == "script", n.Data == "style":
			return
		case has(n, "data-live"):
			shape = append(shape, attribute(n, "id"))
			return
		case has(n, "data-shows"):
			shape = append(shape, attribute(n, "data-shows"))
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(root)
	slices.Sort(shape)
	return said.String(), shape
}

// Law: whatever a page of a campaign says that changes while the campaign goes on stands in a part
// of it that follows, or changes the page's shape, by which the script knows that there is
// another page to be shown. The oracle is the server's page of before and of after.
func TestPagesFollowTheCampaign(t *testing.T) {
	s := serve(t, time.Hour)
	mine := s.begin("name: mine" + space + "initial: {experiments: 3}\nbudget: {experiments: 6}\nparallel: 2\ninstrument: manual\n")
	waits := func(n int) {
		s.until(mine, "waits", func(state *campaign.State) bool { return len(state.Experiments) >= n })
	}
	waits(2)
	const path = "/campaigns/mine"
	pages := []string{"", "?said=begun", "?tab=compositions", "?tab=instruments", "/charts", "/results", "/files", "/log", "/definition", "/bring", "/sheet",
		"/experiments/e1", "/region", "/charts?still"}
	before := make(map[string]string)
	read := func(page string) string {
		status, text := s.get(path + page)
		if status != http.StatusOK {
			t.Fatalf("%s: %d", page, status)
		}
		return text
	}
	compare := func(when string) {
		t.Helper()
		for _, page := range pages {
			now := read(page)
			was, shape := still(t, before[page])
			is, another := still(t, now)
			if slices.Equal(shape, another) && was != is {
				t.Errorf("%s: the page %q says\n%s\nafter\n%s", when, page, differing(is, was), differing(was, is))
			}
			before[page] = now
		}
		for _, page := range []string{"/campaigns", "/questions"} {
			_, now := s.get(page)
			was, shape := still(t, before[page])
			if is, another := still(t, now); before[page] != "" && slices.Equal(shape, another) && was != is {
				t.Errorf("%s: the page %s says\n%s\nafter\n%s", when, page, differing(is, was), differing(was, is))
			}
			before[page] = now
		}
	}
	for _, page := range pages {
		before[page] = read(page)
	}
	s.sent(path+"/note", url.Values{"text": {"a note"}})
	s.sent(path+"/tell", url.Values{"experiment": {"e1"}, "outcome": {"measured"}, "value": {"1"}})
	waits(3)
	compare("after a result")
	pages = append(pages, "?tab=notes")
	before["?tab=notes"] = read("?tab=notes")
	s.sent(path+"/pause", url.Values{"reason": {"lunch"}})
	compare("paused")
	s.sent(path+"/resume", url.Values{})
	s.sent(path+"/note", url.Values{"text": {"another"}})
	s.sent(path+"/tell", url.Values{"experiment": {"e2"}, "outcome": {"measured"}, "value": {"2"}})
	s.sent(path+"/tell", url.Values{"experiment": {"e3"}, "outcome": {"measured"}, "value": {"4"}})
	waits(5)
	compare("once the model chooses")
	s.sent(path+"/tell", url.Values{"experiment": {"e4"}, "outcome": {"measured"}, "value": {"3"}})
	waits(6)
	compare("one result later")
	s.sent(path+"/stop", url.Values{"name": {"mine"}, "reason": {"enough"}})
	compare("stopped")
	if _, page := s.get(path + "?said=begun"); strings.Contains(page, "The campaign has begun") {
		t.Error("a campaign that has ended has just begun")
	}
}

// differing are the lines of a text that another one is without.
func differing(text, other string) string {
	lines := strings.Split(other, "\n")
	var only []string
	for _, line := range strings.Split(text, "\n") {
		if !slices.Contains(lines, line) {
			only = append(only, line)
		}
	}
	return strings.Join(only, "\n")
}
