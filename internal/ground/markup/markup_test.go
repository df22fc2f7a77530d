package markup

import (
	"bytes"
	"errors"
	"html/template"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: a text stands in each place of a page as html/template writes it there.
func TestEscapers(t *testing.T) {
	for place, escaped := range map[string]func(string) string{
		`<p>{{.}}</p>`:                 func(s string) string { return s },
		`<a title="{{.}}">`:            func(s string) string { return s },
		`<a title='{{.}}'>`:            func(s string) string { return s },
		`<title>{{.}}</title>`:         func(s string) string { return s },
		`<textarea>{{.}}</textarea>`:   func(s string) string { return s },
		`<a href="{{.}}">`:             func(s string) string { return URLNormalize(URLFilter(s)) },
		`<form action="/of/{{.}}">`:    URLNormalize,
		`<a href="/of?next={{.}}&x=">`: URLEscape,
		`<a href="#{{.}}">`:            URLEscape,
	} {
		oracle := template.Must(template.New("").Parse(place))
		before, after, _ := strings.Cut(place, "{{.}}")
		check := func(t rapid.TB, s string) {
			var want, got bytes.Buffer
			must.Do(t, oracle.Execute(&want, s))
			got.WriteString(before)
			Escape(&got, escaped(s))
			got.WriteString(after)
			if got.String() != want.String() {
				t.Fatalf("%q in %s:\n%s\nwant\n%s", s, place, &got, &want)
			}
		}
		for b := range 256 {
			check(t, string([]byte{'x', byte(b), '2', 'f'}))
		}
		for _, s := range []string{"", "HTTP:x", "httpS:x", "Mailto:x", "javascript:x", "data:x", "a/b:c", ":x", "%2F%2g%2"} {
			check(t, s)
		}
		rapid.Check(t, func(t *rapid.T) {
			check(t, rapid.OneOf(rapid.String(),
				rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "s"))
		})
	}
}

// Law: a page that fails is an error, and no half page.
func TestAPageThatFails(t *testing.T) {
	for name, draw := range map[string]func(*bytes.Buffer){
		"a pointer to nothing": func(w *bytes.Buffer) { var p *Page; w.WriteString(p.Name) },
		"a function that fails": func(w *bytes.Buffer) {
			w.WriteString("half")
			w.WriteString(Must("", errors.New("no such word")))
		},
	} {
		if text, err := (Page{"broken", draw}).Bytes(); err == nil || text != nil || !strings.Contains(err.Error(), "the page broken: ") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}
