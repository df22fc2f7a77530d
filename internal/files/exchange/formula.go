package exchange

import (
	"strconv"
	"strings"
)

// formulaSigns are the characters with which a cell begins that a spreadsheet
// takes for a formula.
const formulaSigns = "=+-@\t\r\n"

// formulaLike reports whether a cell would be a formula, but for apostrophes
// before it. Those count as well: a text that was written with one before it
// must get another, or reading would take away one that is the text's own.
func formulaLike(cell string) bool {
	rest := strings.TrimLeft(cell, "'")
	return rest != "" && strings.Contains(formulaSigns, rest[:1])
}

// asText writes a cell so that a spreadsheet takes it for text: with an apostrophe before a
// text that would be a formula. Numbers stay as they are. [fromText] reads it. Without it a
// comment that begins with an equals sign would run in the spreadsheet of the reader.
func asText(cell string) string {
	if _, err := strconv.ParseFloat(cell, 64); err == nil || !formulaLike(cell) {
		return cell
	}
	return "'" + cell
}

// Harmless writes a cell of another table so that a spreadsheet takes it for
// text, as [Table.WriteCSV] writes its own.
func Harmless(cell string) string { return asText(cell) }

// fromText undoes asText.
func fromText(cell string) string {
	if strings.HasPrefix(cell, "'") && formulaLike(cell) {
		return cell[1:]
	}
	return cell
}

// asTexts is asText for a row. Headings need it too: the name of a quantity is
// free text.
func asTexts(cells []string) []string {
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = asText(cell)
	}
	return texts
}
