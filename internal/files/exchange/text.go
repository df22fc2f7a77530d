package exchange

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/campaignd/campaignd/internal/ground/input"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Text is the text of a table that a person has, whichever way it is encoded: as any text that
// people write ([input.Text]), and Windows-1252, in which a German Excel writes its CSV. how
// names the encoding it was read as, if that is worth reporting. Data that are not text are
// refused.
func Text(table []byte) (text, how string, err error) {
	if Workbook(string(table[:min(len(table), 8)])) {
		return "", "", errWorkbook
	}
	text, how, err = decoded(table)
	if err == nil && strings.ContainsFunc(text, control) {
		err = errNoText
	}
	if err != nil {
		return "", "", err
	}
	return strings.ReplaceAll(text, "\r\n", "\n"), how, nil
}

var (
	errWorkbook = problem.New(problem.Invalid, "it is a workbook of a spreadsheet (as .xlsx), and no table of text").
			With(problem.Remedy{Text: "save it as CSV, or copy its cells and paste them"})
	errNoText = problem.New(problem.Invalid, "it is not text, or in an encoding other than UTF-8, UTF-16 and Windows-1252").
			With(problem.Remedy{Text: "save it as CSV UTF-8"})
)

func decoded(table []byte) (text, how string, err error) {
	out := input.Text(table)
	switch sixteen := !bytes.HasSuffix(table, out); {
	case sixteen && bytes.ContainsRune(out, utf8.RuneError):
		return "", "", errNoText
	case sixteen:
		return string(out), "It was read as UTF-16.", nil
	case utf8.Valid(out):
		return string(out), "", nil
	}
	if out, err = charmap.Windows1252.NewDecoder().Bytes(table); err != nil || bytes.ContainsRune(out, utf8.RuneError) {
		return "", "", errNoText
	}
	return string(out), "It was read as Windows-1252, in which Excel writes CSV: look at letters such as ä, µ and °.", nil
}

// control reports whether a character stands in no text.
func control(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\r\f\v", r) }

// Workbook reports whether a file begins as those of spreadsheets do: .xls; and
// .xlsx and .ods, which are archives.
func Workbook(file string) bool {
	return strings.HasPrefix(file, "PK\x03\x04") || strings.HasPrefix(file, "\xd0\xcf\x11\xe0")
}
