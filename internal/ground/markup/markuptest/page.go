// Package markuptest has a page with all supported contents of templates. Its test draws it as
// compiled, and as html/template executes the same file.
package markuptest

import (
	"errors"
	"html/template"
	"strings"
)

//go:generate go run -C ../../../tools/pages . ../../ground/markup/markuptest page.html

type (
	word    string
	shade   int
	trouble struct{ text string }
)

func (s shade) String() string { return "<" + strings.Repeat("#", int(s)) + ">" }

func (t trouble) Error() string { return "trouble: " + t.text }

type head struct {
	Title string
	Words []string
}

// Join is a method that fields of a page have by the pointer that it embeds.
func (h *head) Join(sep string) string { return strings.Join(h.Words, sep) }

type row struct {
	Name  string
	Cells []string
	Link  string
}

func (r row) Long() bool { return len(r.Cells) > 2 }

type page struct {
	*head
	Text, Link string
	Markup     template.HTML
	Address    template.URL
	Style      template.CSS
	Word       word
	Shade      shade
	Trouble    trouble
	N          int
	Small      uint8
	Large      int64
	Share      float64
	On, Off    bool
	Rows       []row
	Pair       [2]string
	Counts     map[string]int
	Next       *page
}

func shout(s string, times int) string { return strings.Repeat(strings.ToUpper(s), times) }

func halve(n int) (int, error) {
	if n%2 != 0 {
		return 0, errors.New("odd")
	}
	return n / 2, nil
}
