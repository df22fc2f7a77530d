package yamltree

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/internal/ground/format"
)

// WrongType says that a plain value has none of the expected types, which are those of JSON Schema
// ("object", "integer"), and guesses the remedy where it can.
//
// These words are shared by all readers of YAML here, and by campaignfile for faults that its
// schema finds, so that a fault reads the same everywhere.
func WrongType(value any, wanted ...string) (message, remedy string) {
	var words []string
	for _, w := range wanted {
		if word := typeWords[w]; word != "" && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	want := strings.Join(words, " or ")
	if want == "" {
		want = "one"
	}
	if value == nil {
		return "there is no value", "give it " + want + ", or remove the key"
	}
	message = fmt.Sprintf("it must be %s, and this is %s", want, describe(value))
	switch v := value.(type) {
	case string:
		remedy = insteadOfText(v, wanted)
	case json.Number:
		switch {
		case slices.Contains(wanted, "integer"):
			message = fmt.Sprintf("%s is not a whole number", v)
		case slices.Contains(wanted, "string"):
			remedy = fmt.Sprintf("a name that looks like a number goes in quotes: %q", v)
		}
	case bool:
		if slices.Contains(wanted, "string") {
			remedy = fmt.Sprintf("put it in quotes if it is a name: %q", strconv.FormatBool(v))
		}
	}
	return message, remedy
}

// typeWords are the types of JSON Schema in everyday words.
var typeWords = map[string]string{
	"object":  "a mapping (key: value)",
	"array":   "a list",
	"string":  "text",
	"integer": "a whole number",
	"number":  "a number",
	"boolean": "true or false",
}

// insteadOfText returns the remedy for a text in place of another type. It guesses only likely
// causes: a decimal comma, needless quotes, a list without brackets, a number with its unit.
func insteadOfText(text string, wanted []string) string {
	pointed := strings.Replace(text, ",", ".", 1)
	if _, err := format.ReadNumber(pointed); err == nil {
		if pointed != text {
			return "write " + pointed + ", with a point"
		}
		return "remove the quotes"
	}
	fields := strings.Fields(text)
	if slices.Contains(wanted, "array") {
		return "write a list in brackets: [" + strings.Join(fields, ", ") + "]"
	}
	if len(fields) == 2 && slices.Contains(wanted, "number") {
		if _, err := format.ReadNumber(fields[0]); err == nil {
			return fmt.Sprintf("write %s here and the unit %q in its own key", fields[0], fields[1])
		}
	}
	return ""
}

// TooSmall says that a number is less than the least, or not more than it.
func TooSmall(got, least float64, exclusive bool) (message, remedy string) {
	message = format.Setting(got) + " is too small"
	if exclusive {
		return message, "it must be more than " + format.Setting(least)
	}
	return message, "the least is " + format.Setting(least)
}

// TooLarge says that a number is more than the greatest, or not less than it.
func TooLarge(got, greatest float64, exclusive bool) (message, remedy string) {
	message = format.Setting(got) + " is too large"
	if exclusive {
		return message, "it must be less than " + format.Setting(greatest)
	}
	return message, "the greatest is " + format.Setting(greatest)
}

// NotAmong says that a plain value is not one of the possible ones.
func NotAmong(value any, names []string) (message, remedy string) {
	return quote(value) + " is not possible here", Suggest(fmt.Sprint(value), names)
}

// UnknownKey says that a key is unknown. If no known key is similar, it lists all of them.
func UnknownKey(name string, known []string) (message, remedy string) {
	remedy = Suggest(name, known)
	if strings.HasPrefix(remedy, "choose") {
		remedy = "the keys here are " + strings.Join(known, ", ")
	}
	return fmt.Sprintf("unknown key %q", name), remedy
}

// Missing says that a mapping lacks a key.
func Missing(name string) string { return fmt.Sprintf("%q is missing", name) }

// TooShort says that a text has too few characters.
func TooShort(got, least int) (message, remedy string) {
	message = "the text is empty"
	if got > 0 {
		message = fmt.Sprintf("the text has %d characters", got)
	}
	return message, fmt.Sprintf("it needs at least %d", least)
}

// TooLong says that a text has too many characters.
func TooLong(got, most int) (message, remedy string) {
	return fmt.Sprintf("the text has %d characters", got), fmt.Sprintf("at most %d are possible", most)
}

// TooFewItems says that a list has too few items.
func TooFewItems(got, least int) (message, remedy string) {
	message = "the list is empty"
	if got > 0 {
		message = fmt.Sprintf("the list has %d entries", got)
	}
	return message, fmt.Sprintf("it needs at least %d", least)
}

// TooManyItems says that a list is too long.
func TooManyItems(got, most int) (message, remedy string) {
	return fmt.Sprintf("the list has %d entries", got), fmt.Sprintf("it may have at most %d", most)
}

// WrongForm says that a text lacks the required form.
func WrongForm(text string) string { return fmt.Sprintf("%q does not have the right form", text) }

// Suggest returns the remedy for an unknown name: the probable name, or all names.
func Suggest(name string, names []string) string {
	// a name that was refused itself
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" })
	if nearest := format.Nearest(name, names); nearest != "" {
		return fmt.Sprintf("did you mean %q?", nearest)
	}
	if len(names) == 0 {
		return ""
	}
	return "choose from " + strings.Join(names, ", ")
}
