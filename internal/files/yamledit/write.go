package yamledit

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/campaignd/campaignd/internal/files/yamltree"
)

// widest is the maximum length of a mapping or list in one line, in characters.
const widest = 88

// flow writes a value in one line.
func flow(n *yamltree.Node) string {
	var parts []string
	switch {
	case n.IsMapping():
		for _, key := range n.Keys() {
			parts = append(parts, written(key)+": "+flow(n.Field(key)))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case n.IsList():
		for _, item := range n.Items {
			parts = append(parts, flow(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return scalar(n.Value)
}

// block writes a mapping, or a list, over lines that are indented so far: each entry in
// one line where it fits.
func block(n *yamltree.Node, indent int) string {
	var b strings.Builder
	pad := strings.Repeat(" ", indent)
	for _, key := range n.Keys() {
		b.WriteString(pad + entry(key, n.Field(key), indent) + "\n")
	}
	for _, item := range n.Items {
		if text := flow(item); fits(text, indent+2) || !long(item) {
			b.WriteString(pad + "- " + text + "\n")
		} else {
			b.WriteString(pad + "- " + strings.TrimLeft(block(item, indent+2), " "))
		}
	}
	return b.String()
}

// entry writes a key and its value, which may go on over further lines, without the line
// break at the end.
func entry(key string, value *yamltree.Node, indent int) string {
	text := flow(value)
	if fits(text, indent+len(key)+2) || !long(value) {
		return written(key) + ": " + text
	}
	return written(key) + ":\n" + strings.TrimRight(block(value, indent+2), "\n")
}

// long reports whether a value can be written over lines.
func long(n *yamltree.Node) bool { return len(n.Keys()) > 0 || len(n.Items) > 0 }

// fits reports whether a text fits in a line, behind so many characters.
func fits(text string, before int) bool { return before+utf8.RuneCountInString(text) <= widest }

// plain matches text that means the same without quotes: everywhere, also in a list or mapping in
// one line. All other text is quoted.
var plain = regexp.MustCompile(`^[\pL_][\pL\pN_./·²³°()+*^<>=-]*( [\pL\pN_./·²³°()+*^<>=-]+)*$`)

// words are texts that would be read as other types.
var words = regexp.MustCompile(`(?i)^(true|false|null|yes|no|on|off|y|n|nan|inf)$`)

// scalar writes a scalar. Quotes are those of JSON, which YAML reads too.
func scalar(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case string:
		if plain.MatchString(value) && !words.MatchString(value) {
			return value
		}
		return quoted(value)
	}
	return fmt.Sprint(value)
}

// written writes a key.
func written(key string) string { return scalar(key) }

// quoted writes text in quotes.
func quoted(text string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string always can be
	return strings.TrimSuffix(b.String(), "\n")
}
