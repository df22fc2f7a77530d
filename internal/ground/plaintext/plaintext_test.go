package plaintext_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/campaignd/campaignd/internal/ground/plaintext"
	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
	"pgregory.net/rapid"
)

// harmful are the characters that must never reach a screen: written out, not asked of
// the package.
func harmful(r rune) bool {
	switch {
	case r == '\n':
		return false
	case r < 0x20, r >= 0x7f && r <= 0x9f, // C0, DEL, C1
		r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, // direction
		r == 0x2028, r == 0x2029: // lines
		return true
	}
	return false
}

// Of all characters exactly the harmful ones are replaced, by something that can be
// seen.
func TestEveryCharacter(t *testing.T) {
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		got := plaintext.Text(string(r))
		if harmful(r) != (got != string(r)) || harmful(r) && (len(got) < 2 || got[0] != '\\') {
			t.Fatalf("%U is written %q", r, got)
		}
	}
}

func TestLine(t *testing.T) {
	for given, want := range map[string]string{
		"two\nlines":              "two lines",
		"of\r\nWindows":           "of Windows",
		"\x1b]0;title\a":          `\u001b]0;title\u0007`,
		"over\rwritten":           `over\rwritten`,
		"a\tb":                    `a\tb`,
		"\u202etxt.exe":           `\u202etxt.exe`,
		"\u009b2J \xff µ 電解 – é́": "\\u009b2J \uFFFD µ 電解 – é́",
	} {
		if got := plaintext.Line(given); got != want {
			t.Errorf("%q is written %q, want %q", given, got, want)
		}
	}
}

// However the writes are cut, what arrives is the same and harmless, and doing it twice
// changes nothing.
func TestWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune("aµ\x1b\u202e\u009b\t\r\n電\x00")),
			0, 40, -1)).Draw(t, "text")
		tabs := rapid.Bool().Draw(t, "tabs")
		var out strings.Builder
		w := plaintext.NewWriter(&out, tabs)
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if m, err := w.Write(rest[:n]); m != n || err != nil {
				t.Fatalf("%d of %d bytes, %v", m, n, err)
			}
			rest = rest[n:]
		}
		if want := plaintext.Text(text); !tabs && out.String() != want {
			t.Fatalf("%q, want %q", out.String(), want)
		}
		for _, r := range out.String() {
			if harmful(r) && !(tabs && r == '\t') {
				t.Fatalf("%U came through in %q", r, out.String())
			}
		}
		if again := plaintext.Text(out.String()); !tabs && again != out.String() {
			t.Fatalf("twice: %q", again)
		}
	})
}

// A JSON document means the same after it.
func TestWriterKeepsJSON(t *testing.T) {
	want := "\u202e\u009b\x7f\x1b\t\n\r\u2028 µ"
	text := must.Get(json.Marshal(want))(t)
	var out strings.Builder
	must.Get(plaintext.NewWriter(&out, false).Write(text))(t)
	var got string
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || got != want {
		t.Errorf("%q, %v from %s", got, err, &out)
	}
}
