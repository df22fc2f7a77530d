package markuptest

import (
	"bytes"
	_ "embed"
	"html/template"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/campaignd/campaignd/internal/tests/draws"
)

//go:embed page.html
var source string

// texts are those that are escaped somewhere, and those of the conditions.
var texts = rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
	"", "a", "b", "last", "javascript:alert(1)", "/x?a=1&b=%20%zz#c", "https://x.org/ä b", "<b title=\"x\">'+\x00\xff</b>",
}))

func draw(t *rapid.T, depth int) *page {
	words := rapid.SliceOfN(texts, 0, 4)
	p := &page{
		head: &head{Title: texts.Draw(t, "title"), Words: words.Draw(t, "words")},
		Text: texts.Draw(t, "text"), Link: texts.Draw(t, "link"),
		Markup: template.HTML(texts.Draw(t, "markup")), Address: template.URL(texts.Draw(t, "address")),
		Style: template.CSS(texts.Draw(t, "style")), Word: word(texts.Draw(t, "word")),
		Shade: shade(rapid.IntRange(0, 2).Draw(t, "shade")), Trouble: trouble{texts.Draw(t, "trouble")},
		N: rapid.IntRange(-3, 4).Draw(t, "n"), Small: rapid.Uint8Range(0, 4).Draw(t, "small"),
		Large: rapid.Int64().Draw(t, "large"), Share: rapid.Float64().Draw(t, "share"),
		On: rapid.Bool().Draw(t, "on"), Off: rapid.Bool().Draw(t, "off"),
		Rows: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) row {
			return row{texts.Draw(t, "name"), words.Draw(t, "cells"), texts.Draw(t, "link")}
		}), 0, 3).Draw(t, "rows"),
		Pair:   [2]string{texts.Draw(t, "one"), texts.Draw(t, "two")},
		Counts: rapid.MapOfN(texts, rapid.IntRange(0, 2), 0, 3).Draw(t, "counts"),
	}
	if depth > 0 && rapid.Bool().Draw(t, "next") {
		p.Next = draw(t, depth-1)
	}
	return p
}

// Law: a compiled page is, byte for byte, what html/template makes of its template and data, and
// fails where html/template fails.
func TestCompiledPages(t *testing.T) {
	oracle := template.Must(template.New("page").Funcs(template.FuncMap{"shout": shout, "halve": halve}).Parse(source))
	whole, failed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t, 2)
		var want bytes.Buffer
		wrong := oracle.Execute(&want, p)
		got, err := drawPage(p).Bytes()
		switch {
		case (err != nil) != (wrong != nil):
			t.Fatalf("compiled: %v; html/template: %v", err, wrong)
		case err != nil:
			failed++
		case string(got) != want.String():
			t.Fatalf("compiled:\n%s\nhtml/template:\n%s", got, &want)
		default:
			whole++
		}
	})
	if whole == 0 || failed == 0 {
		t.Errorf("%d pages are whole, and %d failed", whole, failed)
	}
	// Law: the error says where.
	if _, err := drawPage(&page{head: &head{}, On: true}).Bytes(); err == nil || !strings.Contains(err.Error(), "at markuptest.htmlPage (pages_gen.go:") {
		t.Errorf("a page without rows, of which the first is shown: %v", err)
	}
}
