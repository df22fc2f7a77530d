package server_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	xhtml "golang.org/x/net/html"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/tests/forgery"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// moments are golden logs, each as it stood after so many events (0: at its end): with questions of
// each form, with experiments to be measured by hand, under way, of unknown fate and being called
// off, with values that are to arrive, and at the end.
var moments = []struct {
	log    string
	events int
}{
	{"0.4.0/contest", 3},
	{"0.4.0/unfit", 15},
	{"0.4.0/estimate", 4},
	{"0.4.0/contest", 0},
	{"0.4.0/duel", 15},
	{"0.3.0/preference", 17},
	{"0.4.0/pinpoint", 16},
	{"0.4.0/awaiting", 30},
	{"0.4.0/calledoff", 5},
	{"0.4.0/calledoff", 31},
	{"0.4.0/people", 63},
	{"0.4.0/people", 0},
	{"0.4.0/files", 0},
	{"0.4.0/several", 0},
}

// Law: what a form that changes something does stays as it is until a commit changes it on purpose:
// which input is refused, and with which words; what is kept of what was typed; where the visitor is
// led; what is recorded. Each form that a visitor reaches, also from the answer to another form, is
// submitted as it stands, filled in, and with each field left out, empty, and so on. What is refused
// records nothing.
//
// Forms with the same address and the same fields are one, and tried where they are met first.
func TestPosted(t *testing.T) {
	alone(t, "a store lies in a folder")
	if runtime.GOARCH != "amd64" {
		t.Skip("the digests are those of figures on amd64")
	}
	inMarch(t)
	met := make(map[string]bool)
	var now strings.Builder
	for i, m := range moments {
		if !allShown() && i > 4 {
			break
		}
		all := must.Get(forgery.Read("../../engine/drive/testdata/golden/" + m.log + ".jsonl"))(t)
		if m.events > 0 {
			all = all[:m.events]
		}
		p := newPoster(t, fmt.Sprint(m.log, "@", len(all)), all, met)
		for _, line := range p.run() {
			fmt.Fprintln(&now, line)
		}
		p.site.end()
	}
	compareDigests(t, "testdata/posted.txt", now.String())
}

// poster submits the forms of a campaign, each time to its log as it was.
type poster struct {
	*client
	site     *site
	name     string // of the moment
	campaign string
	kept     string // a folder with the log as it was
	changed  bool   // what is served is not what was kept any more
	met      map[string]bool
	same     *strings.Replacer
	table    string // of the campaign's experiments, to be brought
}

func newPoster(t *testing.T, name string, all []events.Event, met map[string]bool) *poster {
	t.Helper()
	p := &poster{site: newSite(t), name: name, campaign: all[0].Campaign, met: met, kept: t.TempDir()}
	log, err := store.Open(filepath.Join(p.kept, p.campaign+".campaign"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = log.Append(t.Context(), p.campaign, 0, all...)
	must.Do(t, errors.Join(err, log.Close()))
	p.client = &client{t, p.site.url}
	p.same = strings.NewReplacer(p.site.url, "URL", p.site.places[0], "FOLDER")
	p.changed = true
	p.restore(nil)
	_, _, text := p.do("GET", "/campaigns/"+p.campaign+"/export.csv", "", "")
	p.table = string(text)
	return p
}

// restore serves the log as it was, and submits to it what comes before.
func (p *poster) restore(before []posted) {
	p.t.Helper()
	if p.changed {
		if p.site.front == nil { // it was served
			p.site.end()
		}
		folder := p.site.places[0]
		for _, gone := range []string{folder, os.Getenv("XDG_STATE_HOME")} {
			must.Do(p.t, os.RemoveAll(gone))
		}
		must.Do(p.t, os.CopyFS(folder, os.DirFS(p.kept)))
		p.site.begin()
		p.changed = false
	}
	for _, one := range before {
		p.submit(one)
		p.changed = true
	}
}

// posted is a form with what is in its fields.
type posted struct {
	path   string
	fields url.Values
	files  map[string]string // of a form that takes files; nil for another
	varied string            // the field in which it is another one than the form filled in
}

// submit sends a form, and does not go where its answer leads.
func (p *poster) submit(one posted) (status int, location string, text []byte) {
	p.t.Helper()
	body, contentType := one.fields.Encode(), "application/x-www-form-urlencoded"
	if one.files != nil {
		var parts bytes.Buffer
		w := multipart.NewWriter(&parts)
		for _, name := range slices.Sorted(maps.Keys(one.fields)) {
			for _, value := range one.fields[name] {
				_ = w.WriteField(name, value)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(one.files)) {
			part := must.Get(w.CreateFormFile(name, "a table.csv"))(p.t)
			_, _ = part.Write([]byte(one.files[name]))
		}
		_ = w.Close()
		body, contentType = parts.String(), w.FormDataContentType()
	}
	r, err := http.NewRequestWithContext(p.t.Context(), "POST", p.url+one.path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	answer := must.Get(http.DefaultTransport.RoundTrip(r))(p.t)
	defer answer.Body.Close()
	text = must.Get(io.ReadAll(answer.Body))(p.t)
	return answer.StatusCode, answer.Header.Get("Location"), text
}

// try submits a form to the log as it was, after others, and returns what came of it and the pages
// that were shown.
func (p *poster) try(before []posted, one posted) (came string, page []byte) {
	p.t.Helper()
	if p.changed || len(before) > 0 {
		p.restore(before)
	}
	first := len(p.events(p.campaign))
	status, location, text := p.submit(one)
	action, _, _ := strings.Cut(one.path, "?")
	runs := strings.HasSuffix(action, "/run") // what a campaign does that is run is not of the form
	var recorded []string
	switch {
	case status == http.StatusSeeOther:
		p.changed = true
		to, _, _ := strings.Cut(location, "?")
		other, isOther := strings.CutPrefix(to, "/campaigns/")
		other, _, _ = strings.Cut(other, "/")
		switch {
		case isOther && other != p.campaign: // it was begun, and goes on
			recorded = p.events(other)[:1]
		case !runs:
			if strings.Contains(to, "/whatif/") {
				p.whatIf(to)
			}
			_, _, page = p.do("GET", location, "", "")
			recorded = p.events(p.campaign)[first:]
		}
	default:
		page = text
		recorded = p.events(p.campaign)[first:]
		if len(recorded) > 0 {
			p.changed = true
		}
		if status >= 400 && len(recorded) > 0 {
			p.t.Errorf("%s: %s is refused, and records %s", p.name, one.path, recorded)
		}
		if status >= 500 {
			p.t.Errorf("%s: %s %v: %d %.400s", p.name, one.path, one.fields, status, text)
		}
	}
	return fmt.Sprintf("%d %s\n%s\n%s\n", status, location, strings.Join(recorded, "\n"), page), page
}

// whatIf waits until a question of what if is answered.
func (p *poster) whatIf(path string) {
	p.t.Helper()
	var run struct{ State string }
	for run.State == "" || run.State == "waiting" || run.State == "running" {
		p.get("/api/v1"+strings.Replace(path, "/whatif/", "/what-ifs/", 1)+"?wait=60", &run)
	}
}

// events are those of a campaign, as far as they are the same each time.
func (p *poster) events(campaign string) (lines []string) {
	p.t.Helper()
	status, _, text := p.do("GET", "/api/v1/campaigns/"+campaign+"/events", "", "")
	if status != http.StatusOK {
		p.t.Fatalf("%s: %d %s", campaign, status, text)
	}
	for line := range strings.Lines(string(text)) {
		var e struct {
			Type, Actor string
			Data        map[string]any
		}
		must.Do(p.t, json.Unmarshal([]byte(line), &e))
		for _, other := range []string{"build", "instance", "took"} {
			delete(e.Data, other)
		}
		data := must.Get(json.Marshal(e.Data))(p.t)
		lines = append(lines, fmt.Sprint(e.Type, " ", e.Actor, " ", string(data)))
	}
	return lines
}

// run tries all forms, and returns a line for each and each kind of input.
func (p *poster) run() (lines []string) {
	p.t.Helper()
	asker := ofUser(p.t)
	type found struct {
		before []posted
		form   *xhtml.Node
	}
	var waiting []found
	look := func(before []posted, page []byte) {
		document := must.Get(xhtml.Parse(bytes.NewReader(page)))(p.t)
		for n := range document.Descendants() {
			if n.Data != "form" || attribute(n, "method") != "post" {
				continue
			}
			if key := p.key(n); !p.met[key] {
				p.met[key] = true
				waiting = append(waiting, found{before, n})
			}
		}
	}
	for _, page := range p.pages() {
		look(nil, page)
	}
	for len(waiting) > 0 {
		f := waiting[0]
		waiting = waiting[1:]
		for _, kind := range p.inputs(f.form) {
			all := sha256.New()
			for i, one := range kind.all {
				came, page := p.try(f.before, one)
				came = changing.ReplaceAllString(p.same.Replace(came), "…")
				came = asker.ReplaceAllString(came, "${1}…")
				fmt.Fprintln(all, one.path, came)
				keepShown(p.t, filepath.Join(p.name, kind.of), fmt.Sprint(len(f.before), " ", one.path, " ", i, " ", one.varied), came)
				if len(f.before) < 2 {
					look(append(slices.Clone(f.before), one), page)
				}
			}
			lines = append(lines, fmt.Sprintf("%s %s %d %s %s", p.name, hex.EncodeToString(all.Sum(nil)[:6]), len(kind.all), kind.of, p.key(f.form)))
		}
	}
	return lines
}

// pages are those with forms that a visitor reaches by links alone, in the order in which they are
// reached.
func (p *poster) pages() (texts [][]byte) {
	p.t.Helper()
	waiting := append([]string{"/begin", "/begin/table", "/new"}, slices.DeleteFunc(shown(p.t, p.client, p.campaign), func(path string) bool {
		return aside.MatchString(path) || strings.ContainsAny(path, ".")
	})...)
	asked := make(map[string]bool)
	for len(waiting) > 0 {
		path := waiting[0]
		waiting = waiting[1:]
		if asked[path] {
			continue
		}
		asked[path] = true
		_, header, text := p.do("GET", path, "", "")
		if !strings.HasPrefix(header.Get("Content-Type"), "text/html") {
			continue
		}
		texts = append(texts, text)
		if strings.HasSuffix(path, "/region") { // which has a form where it is said which region
			waiting = append(waiting, submits(p.t, text)...)
		}
		for _, link := range links.FindAllStringSubmatch(string(text), -1) {
			next, _, _ := strings.Cut(html.UnescapeString(link[1]), "#")
			if next != "" && !aside.MatchString(next) && !strings.ContainsAny(next, "?.") {
				waiting = append(waiting, next)
			}
		}
	}
	return texts
}

// formField is a field of a form: what stands in it, and what it offers.
type formField struct {
	name, kind string
	value      string
	stands     bool // it is sent as it stands
	offers     []string
	low, high  string
	number     bool
}

// fieldsOf are a form's fields in the order of the page; its buttons are fields of that kind.
func fieldsOf(form *xhtml.Node) (all []formField) {
	at := make(map[string]int) // of radio buttons
	for n := range form.Descendants() {
		f := formField{name: attribute(n, "name"), value: attribute(n, "value"), low: attribute(n, "min"), high: attribute(n, "max")}
		f.number = attribute(n, "inputmode") != "" || attribute(n, "type") == "number" || attribute(n, "type") == "hidden"
		checked := slices.ContainsFunc(n.Attr, func(a xhtml.Attribute) bool { return a.Key == "checked" })
		switch {
		case f.name == "":
			continue
		case n.Data == "input":
			f.kind = cmp.Or(attribute(n, "type"), "text")
			f.stands = f.kind != "checkbox" || checked
		case n.Data == "textarea":
			f.kind, f.stands = n.Data, true
			for text := range n.Descendants() {
				f.value += text.Data
			}
			f.value = strings.TrimPrefix(f.value, "\n")
		case n.Data == "button":
			f.kind = n.Data
		case n.Data == "select":
			f.kind, f.stands = n.Data, true
			for option := range n.Descendants() {
				if option.Data != "option" {
					continue
				}
				value := attribute(option, "value")
				if len(f.offers) == 0 || slices.ContainsFunc(option.Attr, func(a xhtml.Attribute) bool { return a.Key == "selected" }) {
					f.value = value
				}
				f.offers = append(f.offers, value)
			}
		default:
			continue
		}
		if f.kind == "checkbox" {
			f.value = cmp.Or(f.value, "on")
		}
		if f.kind == "radio" {
			i, ok := at[f.name]
			if !ok {
				i = len(all)
				at[f.name] = i
				all = append(all, formField{name: f.name, kind: f.kind})
			}
			all[i].offers = append(all[i].offers, f.value)
			if checked {
				all[i].value, all[i].stands = f.value, true
			}
			continue
		}
		all = append(all, f)
	}
	return all
}

// pattern is what fields of the same sort are called alike: of each parameter, of each row.
func pattern(name string) string {
	sort, _, several := strings.Cut(name, ".")
	if several {
		sort += "."
	}
	return numbers.ReplaceAllString(sort, "#")
}

// key names forms of one kind: which address and which fields they have.
func (p *poster) key(form *xhtml.Node) string {
	action, _, _ := strings.Cut(attribute(form, "action"), "?")
	action = numbers.ReplaceAllString(strings.Replace(action, "/"+p.campaign, "/NAME", 1), "#")
	var parts []string
	for _, f := range fieldsOf(form) {
		part := pattern(f.name)
		if f.kind == "button" {
			part += "=" + f.value
		}
		if part != "request" && !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return action + " " + strings.Join(parts, ",")
}

// filled is what a visitor might type into an empty field; empty where they might leave it so.
func (p *poster) filled(form *xhtml.Node, f formField) string {
	switch {
	case f.kind == "file" || f.name == "table":
		return p.table
	case f.name == "name" && strings.HasSuffix(attribute(form, "action"), "/stop"):
		return p.campaign
	case f.name == "experiments":
		return "2"
	case f.name == "value" || f.name == "sd" || strings.HasPrefix(f.name, "v."):
		return "1.5"
	case f.name == "text" || f.name == "comment" || strings.Contains(f.name, "reason") || strings.HasPrefix(f.name, "w."):
		return "the valve stuck"
	case strings.HasPrefix(f.name, "p.") || strings.HasPrefix(f.name, "made."):
		return cmp.Or(f.low, "0.5")
	case f.kind == "radio" && f.name != "repeat":
		return f.offers[0]
	}
	return ""
}

// inputs are a kind of input, with all forms that are filled in so.
type inputs struct {
	of  string
	all []posted
}

// inputs are what a form is tried with, by kind.
func (p *poster) inputs(form *xhtml.Node) []inputs {
	path := attribute(form, "action")
	all := fieldsOf(form)
	stands := posted{path: path, fields: make(url.Values)}
	if attribute(form, "enctype") == "multipart/form-data" {
		stands.files = make(map[string]string)
	}
	for _, f := range all {
		if f.stands && f.kind != "file" {
			stands.fields.Add(f.name, f.value)
		}
	}
	filled, inWords := stands.clone(), stands.clone()
	for _, f := range all {
		text := p.filled(form, f)
		switch {
		case text == "" || f.value != "" && f.kind != "radio":
		case f.kind == "file":
			filled.files[f.name] = text
		case f.kind != "button" && f.kind != "hidden":
			filled.fields.Set(f.name, text)
			if !f.number || f.name == "experiments" {
				inWords.fields.Set(f.name, text)
			}
		}
	}
	tried := []inputs{{"as it stands", []posted{stands}}, {"filled in", []posted{filled}}}
	var buttons []posted
	for _, f := range all {
		if f.kind == "button" {
			for _, base := range []posted{filled, inWords} {
				one := base.clone()
				one.fields.Set(f.name, f.value)
				buttons = append(buttons, one)
			}
		}
	}
	if len(buttons) > 0 {
		tried = append(tried, inputs{"a button", buttons})
		filled, inWords = buttons[0], buttons[1]
	}
	with := make(map[string][]posted)
	count := make(map[string]int)
	for _, f := range all {
		if f.kind == "button" || f.name == "request" {
			continue
		}
		if count[pattern(f.name)]++; count[pattern(f.name)] > 2 {
			continue
		}
		set := func(base posted, kind string, values ...string) {
			one := base.clone()
			one.varied = f.name
			delete(one.fields, f.name)
			if len(values) > 0 {
				one.fields[f.name] = values
			}
			if f.kind == "file" {
				delete(one.fields, f.name)
				delete(one.files, f.name)
				if len(values) > 0 {
					one.files[f.name] = values[0]
				}
			}
			with[kind] = append(with[kind], one)
		}
		set(filled, "left out")
		switch f.kind {
		case "checkbox":
			set(filled, "checked", f.value)
		case "radio", "select":
			for _, value := range f.offers {
				set(filled, "chosen", value)
				if inWords.fields.Encode() != filled.fields.Encode() {
					set(inWords, "chosen, without numbers", value)
				}
			}
			set(filled, "a word", "sentinel")
		default:
			set(filled, "empty", "")
			set(filled, "a word", "sentinel")
			if f.number {
				set(filled, "a number", "-1e9")
				set(filled, "twice", cmp.Or(filled.fields.Get(f.name), "1"), "sentinel")
			}
			for _, end := range []string{f.low, f.high} {
				if end != "" {
					set(filled, "an end", end)
				}
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(with)) {
		tried = append(tried, inputs{kind, with[kind]})
	}
	return tried
}

func (p posted) clone() posted {
	fields := make(url.Values)
	for name, values := range p.fields {
		fields[name] = slices.Clone(values)
	}
	p.fields, p.files = fields, maps.Clone(p.files)
	return p
}
