package input_test

import (
	"testing"
	"unicode/utf16"

	"github.com/campaignd/campaignd/internal/ground/input"
	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"pgregory.net/rapid"
)

// encodings are how editors write a text, each as the Unicode standard says (chapter 3.10).
var encodings = map[string]func(string) []byte{
	"UTF-8":             func(s string) []byte { return []byte(s) },
	"UTF-8 with a mark": func(s string) []byte { return []byte("\ufeff" + s) },
	"UTF-16LE":          func(s string) []byte { return units("\ufeff"+s, 0, 8) },
	"UTF-16BE":          func(s string) []byte { return units("\ufeff"+s, 8, 0) },
}

func units(s string, first, second int) (data []byte) {
	for _, u := range utf16.Encode([]rune(s)) {
		data = append(data, byte(u>>first), byte(u>>second))
	}
	return data
}

// Law: however an editor writes a text, the same is read.
func TestText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.StringOf(rapid.RuneFrom([]rune("name: µ°電𝛼\r\n\t"))).Draw(t, "text")
		for name, encoded := range encodings {
			if got := string(input.Text(encoded(want))); got != want {
				t.Errorf("%s: %q is read as %q", name, want, got)
			}
		}
	})
	for _, plain := range []string{"name: a\r\n", "lab"} {
		for name, data := range map[string][]byte{"LE": units(plain, 0, 8), "BE": units(plain, 8, 0)} {
			if got := string(input.Text(data)); got != plain {
				t.Errorf("UTF-16%s without a mark: %q is read as %q", name, plain, got)
			}
		}
	}
}

// Law: what is not text stays as it is, for its reader to refuse.
func TestNoText(t *testing.T) {
	for _, data := range []string{"", "\x00", "\xff\xfea", "\x89PNG\r\n\x1a\n", "caf\xe9", "PK\x03\x04"} {
		if got := string(input.Text([]byte(data))); got != data {
			t.Errorf("%q is read as %q", data, got)
		}
	}
}
