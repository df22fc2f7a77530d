package campaignfile

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// hintForValue suggests a replacement for a value of the wrong kind if its meaning can be
// guessed, and is empty otherwise. A wrong guess misleads, so there is a hint only for a plain
// meaning.
func hintForValue(where path, value any) string {
	side := len(where) == 4 && where[0] == "excluded" && where[2] == "where"
	constraint := len(where) == 2 && where[0] == "constraints"
	howMany := len(where) == 2 && where[0] == "initial" && (where[1] == "design" || where[1] == "points")
	switch v := value.(type) {
	case string:
		switch {
		case side:
			return fmt.Sprintf("write %s: {is: %s} for a category, {min: …, max: …} for a number",
				where[3], v)
		case constraint:
			return "write " + constraintHint(v)
		case len(where) == 3 && where[0] == "reference_experiments" && where[2] == "every":
			return fmt.Sprintf("every counts experiments; a time is written within: %s", v)
		}
	case []any:
		if side {
			return fmt.Sprintf("a region holds one category: write %s: {is: …}, and one region for each", where[3])
		}
	case map[string]any:
		if len(where) == 1 && where[0] == "constraints" {
			return "write each constraint after a dash: - " + constraintExample
		}
	case json.Number:
		switch {
		case side:
			return fmt.Sprintf("write %s: {min: %s, max: %s}, or wider", where[3], v, v)
		case howMany:
			return fmt.Sprintf("how many experiments come first is written experiments: %s", v)
		}
	}
	return ""
}

// constraintExample is a constraint as campaign files have it.
const constraintExample = "{terms: {ec: 1, dmc: 1}, at_most: 0.8}"

// comparison is a formula with its relation and right side, summand a coefficient and a name,
// signs the separators of summands.
var (
	comparison = regexp.MustCompile(`^(.*?)(<=|>=|==|=|≤|≥|<|>)\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*$`)
	summand    = regexp.MustCompile(`^\s*([-+]?)\s*(?:([0-9.]+)\s*\*?\s*)?([A-Za-z][A-Za-z0-9._-]*)\s*$`)
	signs      = regexp.MustCompile(`\s+([-+])\s+`)
)

// constraintHint turns a constraint written as a formula into the form of
// campaign files. A formula that it does not understand gets the example. Strict
// and loose comparisons are one: bounds of real numbers have no other meaning.
func constraintHint(text string) string {
	example := constraintExample + " for ec + dmc ≤ 0.8; also at_least and equals"
	parts := comparison.FindStringSubmatch(text)
	if parts == nil {
		return example
	}
	var terms []string
	for _, part := range strings.Split(signs.ReplaceAllString(parts[1], "\x00$1 "), "\x00") {
		m := summand.FindStringSubmatch(part)
		if m == nil {
			return example
		}
		coefficient := m[2]
		if coefficient == "" {
			coefficient = "1"
		}
		terms = append(terms, m[3]+": "+strings.TrimPrefix(m[1], "+")+coefficient)
	}
	how := map[string]string{"<": "at_most", "≤": "at_most", ">": "at_least", "≥": "at_least",
		"=": "equals"}[strings.TrimSuffix(parts[2], "=")]
	if how == "" {
		how = "equals"
	}
	return fmt.Sprintf("{terms: {%s}, %s: %s}", strings.Join(terms, ", "), how, parts[3])
}

// namesOfHowMany are names that other programs give to the number of initial
// experiments.
var namesOfHowMany = []string{"n", "number", "count", "size", "samples", "trials", "runs"}

// hintForKey suggests a replacement for a key that other programs have and campaign files do
// not. It comes before the suggestion of a similar key, which is about typing errors.
func hintForKey(where path, name string, siblings any) string {
	parameter := len(where) == 2 && where[0] == "parameters"
	switch {
	case len(where) == 0 && name == "objectives":
		return "a campaign has one objective: objective: {name: …, goal: maximize}"
	case len(where) == 1 && where[0] == "initial" && slices.Contains(namesOfHowMany, name):
		return "how many experiments come first is written experiments: 3"
	case parameter && (name == "type" || name == "kind"):
		return "the kind follows from what is given: " +
			"min and max, values: [1, 2, 3] (also for whole numbers), or categories: [A, B]"
	case parameter && (name == "scale" || name == "log" || name == "transform"):
		return "parameters vary linearly: for another scale vary the exponent, as in {name: log10_c, min: -3, max: 0}"
	case parameter && (name == "step" || name == "steps" || name == "resolution"):
		return "steps belong to what measures: instrument: {steps: {NAME: 0.1}}"
	case parameter && (name == "range" || name == "bounds"):
		return "write min: and max:"
	case parameter && (name == "choices" || name == "options" || name == "levels"):
		return "write values: [1, 2] for numbers, categories: [A, B] for names"
	}
	// {min: 0,15} is min: 0 and a key 15.
	if _, err := strconv.Atoi(name); err == nil {
		if m, ok := siblings.(map[string]any); ok && m[name] == nil {
			return "a comma separates entries: write a number with a decimal point, as in 0." + name
		}
	}
	return ""
}
