package console_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: every form that has something recorded carries an identifier, another one each time that
// the page is made. Those that are pressed in a part that is kept up to date are listed here.
func TestFormsAreIdentified(t *testing.T) {
	files, err := filepath.Glob("templates/*.html")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	not := regexp.MustCompile(`action="(` + strings.Join([]string{
		`\{\{\.\}\}`,                       // to log out
		`\{\{\.Post\}\}`,                   // to run or resume, in parts that are kept up to date
		`\{\{\.Path\}\}/(run|halt|filing)`, // what may be the case already
		`\{\{\.Path\}\}/(undo|send)`,       // of an answer that is not recorded yet
		`\{\{\.Path\}\}/dismiss`,           // of what was read
		`\{\{\.Path\}\}/whatif/[^"]*/cancel`,
		`/begin/table`,                                          // it records nothing
		`/trail/verify`, `/(login|confirm|account|people)[^"]*`, // accounts have a log of their own
	}, "|") + `)"`)
	forms := 0
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		for i, part := range strings.Split(string(text), `<form method="post"`) {
			if i == 0 {
				continue
			}
			tag, rest, _ := strings.Cut(part, ">")
			list := filepath.Base(file) == "page-campaigns.html" && strings.Contains(rest[:60], `name="from"`)
			if not.MatchString(tag) || list {
				continue
			}
			forms++
			if !strings.Contains(rest[:60], `.Request `) && !strings.Contains(rest[:60], `"watched"`) {
				t.Errorf("%s: the form%s> carries no identifier", file, tag)
			}
		}
	}
	if forms < 20 {
		t.Errorf("%d forms were looked at", forms)
	}
	s := serve(t, time.Hour)
	s.begin(byHand("bench", "{experiments: 2}", "{next: lognei}"))
	made := func() string {
		_, page := s.get("/campaigns/bench")
		return s.hidden(page, "/campaigns/bench/note").Get("request")
	}
	if a, b := made(), made(); a == "" || a == b {
		t.Errorf("two pages have the identifiers %q and %q", a, b)
	}
}

// Law: a form that is sent twice, by a double click, the back button or after a restart, counts
// once, and is answered as the first time. What is typed into a page that was sent before is refused,
// shown again, and counts when it is sent from there.
func TestFormsCountOnce(t *testing.T) {
	private(t)
	folder := t.TempDir()
	s := open(t, folder, time.Hour)
	defer func() { s.close() }()
	_, page := s.get("/new")
	begin := s.hidden(page, "/new")
	begin.Set("source", byHand("bench", "{experiments: 2}", "{next: lognei}"))
	want := s.sent("/new", begin)
	form := func(path, action string, fields url.Values) url.Values {
		t.Helper()
		_, page := s.get(path)
		form := s.hidden(page, action)
		for name, values := range fields {
			form[name] = values
		}
		return form
	}
	c := must.Get(s.lab.Campaign("bench"))(t)
	s.until(c, "something to measure", func(state *campaign.State) bool { return len(state.Experiments) > 0 })
	const bench = "/campaigns/bench"
	sent := []struct {
		path string
		form url.Values
		kind events.Kind
	}{
		{bench + "/note", form(bench, bench+"/note", url.Values{"text": {"stirred"}}), events.KindNoteAdded},
		{bench + "/tell", form(bench+"/results", bench+"/tell", url.Values{"value": {"3.5"}}), events.KindExperimentMeasured},
		{bench + "/pause", form(bench, bench+"/pause", url.Values{"reason": {"lunch"}}), events.KindCampaignPaused},
	}
	for life := range 2 {
		if location := s.sent("/new", begin); location != want {
			t.Errorf("life %d: begun again: %s, and %s at first", life, location, want)
		}
		for _, one := range sent {
			first := s.sent(one.path, one.form)
			if again := s.sent(one.path, one.form); again != first {
				t.Errorf("life %d, %s: answered with %s, then %s", life, one.path, first, again)
			}
			c = must.Get(s.lab.Campaign("bench"))(t)
			if n := len(s.events(c, one.kind)); n != 1 {
				t.Errorf("life %d: %d times %s", life, n, one.kind)
			}
		}
		s.close()
		s = open(t, folder, time.Hour)
	}
	other := sent[0].form
	other.Set("text", "stirred again")
	status, _, text := s.post(sent[0].path, other)
	if status != http.StatusUnprocessableEntity || !strings.Contains(text, "stirred again") ||
		!strings.Contains(text, "his page was sent before") {
		t.Fatalf("%d %s", status, text)
	}
	other = s.hidden(text, bench+"/note")
	other.Set("text", "stirred again")
	s.sent(sent[0].path, other)
	c = must.Get(s.lab.Campaign("bench"))(t)
	if n := len(s.events(c, events.KindNoteAdded)); n != 2 {
		t.Errorf("%d notes", n)
	}
}

// Law: an answer that was recorded is not recorded again when its page is sent once more.
func TestAnswersCountOnce(t *testing.T) {
	s := serve(t, time.Millisecond)
	c := s.begin(byHand("bench", "{experiments: 2, labels: 0}", "{trust: cobol}"))
	q := s.asked(c, events.FormLabel)
	path := "/questions/bench/" + q.ID
	_, page := s.get(path)
	form := s.hidden(page, path)
	form.Set("answer", "accept")
	first := s.sent(path, form)
	if again := s.sent(path, form); again != first {
		t.Errorf("answered with %s, then %s", first, again)
	}
	if n := len(s.events(c, events.KindQuestionAnswered)) + len(s.events(c, events.KindQuestionSuperseded)); n != 1 {
		t.Errorf("%d answers", n)
	}
}

// instanceOf is the random word of a campaign.
func instanceOf(c *lab.Campaign) (word string) {
	c.Read(func(core *engine.Core) { word = core.State().Instance })
	return word
}
