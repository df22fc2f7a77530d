package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const declared = `package x

import (
	"html/template"
	"strings"
)

type page struct {
	Name   string
	Markup template.HTML
	Any    any
	Fields struct{ X int }
	Names  []string
	Next   *page
}

func (*page) Greet(who string, times int) string { return who }

func (*page) Nothing() {}

var motto = strings.ToUpper("x")
`

// refusals are templates, by what is wrong with each.
var refusals = map[string]string{
	`<p>{{.Nmae}}</p>`: "page.html:2:5: .Nmae: *page has no field or method Nmae",
	"<p>\n{{with .Next}}{{.Next.Nmae}}{{end}}</p>": "page.html:3:21: .Next.Nmae: *page has no field or method Nmae",
	`{{.Name.First}}`:                 "string has no field or method First",
	`{{strings.Nothing .Name}}`:       "package strings declares no Nothing",
	`{{other .Name}}`:                 "package x declares no other",
	`{{motto .Name}}`:                 "motto has arguments and is not a function",
	`{{.Name "x"}}`:                   "has arguments and is not a function",
	`{{.Greet "x"}}`:                  "takes 2 arguments, and has 1",
	`{{.Greet 1 2}}`:                  "takes a string, and has a int",
	`{{.Nothing}}`:                    "returns no value",
	`{{.Next}}`:                       "a *page is not written",
	`{{.Any}}`:                        "a any is not written",
	`{{.Names}}`:                      "a []string is not written",
	`{{if .Any}}x{{end}}`:             "a any is always true, or true by what is in it",
	`{{if .Fields}}x{{end}}`:          "is always true",
	`{{range .Name}}x{{end}}`:         "cannot range over string",
	`{{eq .Name 1}}`:                  "a string is not compared with a int",
	`{{index .Names "x"}}`:            "has no element at a string",
	`{{len .Next}}`:                   "has no length",
	`{{or .Name .Names}}`:             "or yields a string or a []string",
	`{{println .Name}}`:               "the function println is not compiled",
	`{{$x := .Name}}`:                 "$x is declared and not used",
	`{{$x := .Name}}{{$x = 1}}{{$x}}`: "a int is not a string",
	`{{with $x := .Name}}{{$x = "y"}}{{.}}{{end}}`:                 "$x is dot, too, and is not assigned to",
	`{{template "part" .}}`:                                        `no such template "part"`,
	`{{define "part"}}{{end}}{{template "part"}}`:                  "a template is drawn with a dot",
	`{{define "a"}}x{{template "a" .}}{{end}}{{template "a" .}}`:   `template "a" with *page draws itself`,
	`{{define "a"}}{{.Name}}{{end}}<p title="{{template "a" .}}">`: "stands in an attribute or a script",
	`<p title="{{.Markup}}">`:                                      "HTML in an attribute",
	`<p title={{.Name}}>`:                                          "the escaper nospaceescaper of html/template is not compiled",
	`<script>x = {{.Name}}</script>`:                               "the escaper jsvalescaper of html/template is not compiled",
	`<p style="width:{{.Name}}">`:                                  "a style of another type",
	`<p title="{{if .Name}}">{{end}}`:                              "{{if}} branches end in different contexts",
}

// Law: what a template cannot do is said before a page is drawn, with the place.
func TestRefusals(t *testing.T) {
	for text, want := range refusals {
		folder := t.TempDir()
		write(t, folder, "x.go", declared)
		write(t, folder, "page.html", "{{/* dot: *page */ -}}\n"+text)
		out, err := compile(folder, []string{"page.html"})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "page.html:") {
			t.Errorf("%s: %v, want %q\n%s", text, err, want, out)
		}
	}
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
