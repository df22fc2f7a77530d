package campaignfile_test

import (
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/study/studyfile"
)

// utf16le is how Windows' editors write "Unicode".
func utf16le(text string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		b.WriteByte(byte(unit))
		b.WriteByte(byte(unit >> 8))
	}
	return b.String()
}

// Law: each file that people write says the same in UTF-8, with a byte order mark, with the line
// ends of Windows, and in UTF-16.
func TestEncodings(t *testing.T) {
	for path, read := range map[string]func(data string) (any, error){
		"../../../examples/electrolyte.yaml": func(data string) (any, error) {
			f, err := campaignfile.Parse(builtin.Registry(), "x.yaml", []byte(data))
			if err != nil {
				return nil, err
			}
			return strings.ReplaceAll(f.Source, "\r\n", "\n"), nil
		},
		"../../../examples/lab.yaml": func(data string) (any, error) {
			f, err := labfile.Parse(builtin.Registry(), "lab.yaml", []byte(data))
			if err != nil {
				return nil, err
			}
			return f.Title + f.URL, nil
		},
		"../../../examples/studies/anchors-fig2.yaml": func(data string) (any, error) {
			f, err := studyfile.Parse("../../../examples/studies/anchors-fig2.yaml", []byte(data), studyfile.Options{})
			if err != nil {
				return nil, err
			}
			return strings.ReplaceAll(f.Source, "\r\n", "\n"), nil
		},
	} {
		text, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		want, err := read(string(text))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for how, data := range map[string]string{
			"with a mark": "\ufeff" + string(text), "CRLF": strings.ReplaceAll(string(text), "\n", "\r\n"),
			"UTF-16": utf16le(string(text)),
		} {
			if got, err := read(data); err != nil || got != want {
				t.Errorf("%s, %s: %v", path, how, err)
			}
		}
	}
}
