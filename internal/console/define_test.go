package console_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
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
