// Package markup is the writer of compiled templates (internal/tools/pages). It escapes texts as
// html/template does in the same place; html/template chose the escaper of a place when the
// template was compiled.
package markup

import (
	"bytes"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// unsafe replaces an address that a browser must not follow, as html/template writes it.
const unsafe = "#ZgotmplZ"

// Page is a page that can be drawn.
type Page struct {
	Name string
	Draw func(*bytes.Buffer)
}

// Bytes draws the page, whole or not at all. A fault of its data, such as a nil pointer or an index
// out of range, is an error of the page.
func (p Page) Bytes() (text []byte, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("the page %s: %v%s", p.Name, x, place())
		}
	}()
	var w bytes.Buffer
	p.Draw(&w)
	return w.Bytes(), nil
}

// place returns the line of a compiled template that panics: the text there leads a reader of the
// log to the template.
func place() string {
	stack := make([]uintptr, 64)
	frames := runtime.CallersFrames(stack[:runtime.Callers(1, stack)])
	for {
		f, more := frames.Next()
		if filepath.Base(f.File) == "pages_gen.go" {
			return fmt.Sprintf(" at %s (pages_gen.go:%d)", filepath.Base(f.Function), f.Line)
		}
		if !more {
			return ""
		}
	}
}

// Must is the value of a function that can fail; its failure is the page's.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Escape writes a text into text, a quoted attribute or a text area. NUL, which HTML forbids,
// becomes the replacement character, and + a reference, since old browsers read UTF-7.
func Escape(w *bytes.Buffer, s string) {
	written := 0
	for i := range len(s) {
		var reference string
		switch s[i] {
		case 0:
			reference = "\uFFFD"
		case '"':
			reference = "&#34;"
		case '&':
			reference = "&amp;"
		case '\'':
			reference = "&#39;"
		case '+':
			reference = "&#43;"
		case '<':
			reference = "&lt;"
		case '>':
			reference = "&gt;"
		default:
			continue
		}
		w.WriteString(s[written:i])
		w.WriteString(reference)
		written = i + 1
	}
	w.WriteString(s[written:])
}

// URLFilter lets addresses pass that name no scheme or a harmless one.
func URLFilter(s string) string {
	scheme, _, ok := strings.Cut(s, ":")
	if !ok || strings.Contains(scheme, "/") || strings.EqualFold(scheme, "http") ||
		strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "mailto") {
		return s
	}
	return unsafe
}

// URLNormalize writes a text as a part of an address, and keeps its delimiters and existing
// escapes.
func URLNormalize(s string) string { return escapeURL(s, "!#$&*+,/:;=?@[]") }

// URLEscape writes a text as a value in the query of an address.
func URLEscape(s string) string { return escapeURL(s, "") }

// escapeURL escapes all bytes except the unreserved ones of RFC 3986 and some others. If others
// stay, escapes do.
func escapeURL(s, others string) string {
	hex := func(i int) bool { return i < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[i]) >= 0 }
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			strings.IndexByte("-._~", c) >= 0, strings.IndexByte(others, c) >= 0,
			c == '%' && others != "" && hex(i+1) && hex(i+2):
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}
