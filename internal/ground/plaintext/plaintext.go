// Package plaintext makes text that came from files, people and programs safe
// to print: it can neither rewrite a terminal nor reorder the words of a line.
// Characters that could are shown as visible escapes such as \u001b, as JSON
// writes them.
//
// Records hold such text as it came; it is replaced only when it is shown to a
// person. The command line does so in one place, the writers of its two
// streams, so that no command can forget it; a report does so in its own
// writer.
package plaintext

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Unsafe reports whether a character could rewrite a terminal or change the reading order of text:
// control characters (C0, DEL, C1) other than the newline, line and paragraph separators, and
// controls of the direction of text.
func Unsafe(r rune) bool {
	return r != '\n' &&
		(unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029')
}

// Find returns the first unsafe character of a text and its offset in bytes; −1 for none.
func Find(text string) (r rune, offset int) {
	for i, r := range text {
		if Unsafe(r) {
			return r, i
		}
	}
	return 0, -1
}

// Escape is the visible form of a character.
func Escape(r rune) string {
	if r == '\t' {
		return `\t`
	}
	if r == '\r' {
		return `\r`
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// Name returns the kind of an unsafe character.
func Name(r rune) string {
	switch {
	case r == '\x1b':
		return "escape, which gives a terminal orders"
	case unicode.Is(unicode.Bidi_Control, r):
		return "it turns text around"
	case r == '\u2028', r == '\u2029':
		return "a line of its own kind"
	}
	return "a control character"
}

// Text makes a text of several lines safe to print. Bytes that are not UTF-8
// become the replacement character.
func Text(s string) string {
	if safe(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s { // invalid bytes read as U+FFFD
		if Unsafe(r) {
			b.WriteString(Escape(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Line makes a text safe to print within a line: newlines become spaces.
func Line(s string) string {
	return strings.ReplaceAll(Text(strings.ReplaceAll(s, "\r\n", "\n")), "\n", " ")
}

func safe(s string) bool {
	_, offset := Find(s)
	return offset < 0 && utf8.ValidString(s)
}

// Writer makes everything that is written to it safe to print. Newlines pass. It is safe for
// concurrent use: events and questions come to one terminal. A character that ends in the next call
// is held back until then.
type Writer struct {
	mu   sync.Mutex
	w    io.Writer
	tabs bool
	rest []byte // the beginning of a character
}

// NewWriter returns a Writer to a terminal, a pipe or a document. tabs lets
// tabs pass, which are white space in a document.
func NewWriter(w io.Writer, tabs bool) *Writer { return &Writer{w: w, tabs: tabs} }

// Unwrap returns the writer below.
func (w *Writer) Unwrap() io.Writer { return w.w }

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := p
	if len(w.rest) > 0 {
		text = append(w.rest, p...)
	}
	end := len(text)
	for i := end - 1; i >= max(end-utf8.UTFMax+1, 0); i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				end = i
			}
			break
		}
	}
	whole := string(text[:end])
	w.rest = append([]byte(nil), text[end:]...)
	if w.tabs {
		parts := strings.Split(whole, "\t")
		for i := range parts {
			parts[i] = Text(parts[i])
		}
		whole = strings.Join(parts, "\t")
	} else {
		whole = Text(whole)
	}
	if whole == "" {
		return len(p), nil
	}
	if _, err := io.WriteString(w.w, whole); err != nil {
		return 0, err
	}
	return len(p), nil
}
