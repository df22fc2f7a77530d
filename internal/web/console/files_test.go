package console_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/web/console"
	"github.com/campaignd/campaignd/projections/campaign"
)

// form sends a form with files by their names, as a browser does.
func (s *site) form(path string, fields url.Values, files ...[2]string) (int, string, string) {
	s.t.Helper()
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	for _, file := range files { // before the fields: their order is the page's
		part, err := parts.CreateFormFile("file", file[0])
		if err == nil {
			_, err = part.Write([]byte(file[1]))
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	for name, values := range fields {
		for _, value := range values {
			must.Do(s.t, parts.WriteField(name, value))
		}
	}
	must.Do(s.t, parts.Close())
	r := must.Get(http.NewRequest(http.MethodPost, s.server.URL+path, &body))(s.t)
	r.Header.Set("Content-Type", parts.FormDataContentType())
	status, header, text := s.do(r)
	return status, header.Get("Location"), text
}

// Law: a form brings its files with the result, or to an experiment or the campaign, once however
// often it is sent; the page of the experiment shows the picture and the beginning of the table.
func TestFilesOfForms(t *testing.T) {
	s := serve(t, time.Hour)
	c := s.begin(byHand("bench", "{experiments: 3}", "sobol"))
	s.until(c, "measures", func(st *campaign.State) bool { return len(st.Experiments) > 0 })
	table := "\ufefftime;current\n0,5;1,25\n" + strings.Repeat("1;2\n", 50)
	own := url.Values{"own.x": {"0.5"}, "own.salt": {"A"}, "value": {"7"}, "request": {"R1"}}
	for range 2 {
		status, location, text := s.form("/campaigns/bench/tell", own, [2]string{"run.csv", table}, [2]string{`C:\data\cell.png`, "picture"})
		if status != http.StatusSeeOther || !strings.Contains(location, "said=told") {
			t.Fatalf("%d %s %s", status, location, text)
		}
	}
	for range 2 {
		form := url.Values{"experiment": {"e1"}, "file.comment": {"<b>cloudy</b>"}, "request": {"R2"}}
		if status, location, text := s.form("/campaigns/bench/attach", form, [2]string{"page.html", "<script>"}); status != http.StatusSeeOther ||
			!strings.Contains(location, "/experiments/e1?said=attached#files") {
			t.Fatalf("%d %s %s", status, location, text)
		}
	}
	if status, location, _ := s.form("/campaigns/bench/attach", url.Values{"request": {"R3"}}, [2]string{"protocol.pdf", "steps"}); status != http.StatusSeeOther ||
		!strings.Contains(location, "/campaigns/bench/files?said=attached") {
		t.Errorf("%d %s", status, location)
	}
	var got []string
	for _, e := range s.events(c, events.KindFileAttached) {
		var f events.FileAttached
		must.Do(t, json.Unmarshal(e.Data, &f))
		got = append(got, fmt.Sprint(f.File, " ", f.Experiment, " ", f.Name, " ", f.Comment))
	}
	own1 := ""
	c.Read(func(core *engine.Core) {
		for _, x := range core.State().Experiments {
			if x.Origin == events.OriginPerson {
				own1 = x.ID
			}
		}
	})
	want := []string{"f1 " + own1 + " run.csv ", "f2 " + own1 + " cell.png ", "f3 e1 page.html <b>cloudy</b>", "f4  protocol.pdf "}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("attached are\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	_, page := s.get("/campaigns/bench/experiments/" + own1)
	for _, part := range []string{`<img src="/campaigns/bench/files/f2"`, `<th scope="col">current</th>`, "<td>1,25</td>", "It goes on."} {
		if !strings.Contains(page, part) {
			t.Errorf("the page of %s lacks %s", own1, part)
		}
	}
	_, page = s.get("/campaigns/bench/experiments/e1")
	if strings.Contains(page, "<b>cloudy") || !strings.Contains(page, "&lt;b&gt;cloudy") || strings.Contains(page, "<img") {
		t.Errorf("the page of e1 is %s", page)
	}
	_, page = s.get("/campaigns/bench/files")
	for _, part := range []string{"4 files", ">protocol.pdf</a>", "the campaign"} {
		if !strings.Contains(page, part) {
			t.Errorf("the list lacks %s", part)
		}
	}
	r := must.Get(http.NewRequest(http.MethodGet, s.server.URL+"/campaigns/bench/files/f3", nil))(t)
	if status, header, text := s.do(r); status != 200 || text != "<script>" || !strings.HasPrefix(header.Get("Content-Disposition"), "attachment") ||
		header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("%d %v %s", status, header, text)
	}
	if status, _ := s.get("/campaigns/bench/files/f9"); status != 404 {
		t.Errorf("a file that there is not: %d", status)
	}
	if _, page := s.get("/campaigns/bench/files?experiment=e1"); !strings.Contains(page, ">page.html</a>") || strings.Contains(page, "protocol.pdf") {
		t.Error("the list of an experiment's files is another one")
	}
	// Taken out, it is neither on the page nor in the list.
	if _, location, text := s.post("/campaigns/bench/withdraw", url.Values{"file": {"f3"}, "experiment": {"e1"}, "reason": {"another cell"}}); !strings.Contains(location, "said=withdrawn") {
		t.Errorf("%s %s", location, text)
	}
	if _, page := s.get("/campaigns/bench/experiments/e1"); strings.Contains(page, "page.html</a>") {
		t.Error("a file that was taken out is shown")
	}
}

// Law: what a form with files lacks, or has too much of, is refused with the page again, and
// nothing is recorded; a result that is refused attaches nothing.
func TestRefusedFileForms(t *testing.T) {
	s := serve(t, time.Hour)
	c := s.begin(byHand("bench", "{experiments: 3}", "sobol"))
	s.until(c, "measures", func(st *campaign.State) bool { return len(st.Experiments) > 0 })
	many := make([][2]string, 21)
	for i := range many {
		many[i] = [2]string{fmt.Sprintf("%d.csv", i), "1"}
	}
	for _, f := range []struct {
		path, says string
		form       url.Values
		files      [][2]string
	}{
		{"attach", "There is no file", nil, nil},
		{"attach", "empty", url.Values{"experiment": {"e1"}}, [][2]string{{"a.csv", ""}}},
		{"attach", "no experiment", url.Values{"experiment": {"e77"}}, [][2]string{{"a.csv", "1"}}},
		{"attach", "at most 20 files", nil, many},
		{"attach", "more text than is read", url.Values{"experiment": {strings.Repeat("e", 2<<20)}}, nil},
		{"tell", "Give the value", url.Values{"experiment": {"e1"}, "outcome": {"measured"}}, [][2]string{{"a.csv", "1"}}},
		{"withdraw", "for a reason", url.Values{"file": {"f1"}}, nil},
	} {
		status, _, text := s.form("/campaigns/bench/"+f.path, f.form, f.files...)
		if status < 400 || status >= 500 || !strings.Contains(text, f.says) {
			t.Errorf("%s with %v: %d, want %q: %s", f.path, f.form, status, f.says, text)
		}
	}
	// Whose access ends while the bytes are on their way attaches nothing.
	s.visitor.Now = func() (console.Visitor, error) {
		return console.Visitor{}, problem.New(problem.Unauthenticated, "logged out")
	}
	if status, _, text := s.form("/campaigns/bench/attach", nil, [2]string{"a.csv", "1"}); status != 401 {
		t.Errorf("%d %s", status, text)
	}
	if n := len(s.events(c, events.KindFileAttached)); n != 0 {
		t.Errorf("%d files are attached", n)
	}
}
