package manual

import (
	"slices"
	"strings"
)

// terms maps each explained word of a lab's pages to its explanation: a page, or a section of one.
var terms = map[string]string{
	"states":      "words#states",
	"best":        "words#best-measured-and-best-by-the-model",
	"worth":       "words#the-worth-of-an-answer",
	"quantities":  "quantities",
	"simulated":   "words#simulated",
	"backtest":    "words#backtest",
	"table":       "words#from-a-table",
	"corrections": "corrections",
	"stocks":      "stocks",
	"methods":     "methods#which-one",
	"initial":     "methods#the-initial-design",
	"people":      "operations#accounts",
	"rows":        "your-own-data",
}

// keys maps keys of a campaign file to their documentation. The form explains the other keys
// completely.
var keys = map[string]string{
	"parameters":              "your-own-data",
	"constraints":             "your-own-data",
	"candidates":              "your-own-data#a-list-to-compare",
	"excluded":                "corrections",
	"objective":               "quantities",
	"quantities":              "quantities",
	"constraints_on_outcomes": "quantities",
	"reference":               "quantities",
	"model":                   "words#the-model",
	"initial":                 "methods#the-initial-design",
	"policy":                  "methods#which-one",
	"cost":                    "quantities#what-an-experiment-costs",
	"fidelity":                "quantities#cheaper-experiments",
	"budget":                  "quantities#what-an-experiment-costs",
	"instrument":              "process-instrument",
	"instruments":             "procedures",
	"procedure":               "procedures#stages",
	"batch":                   "procedures#stages",
	"places":                  "procedures#stages",
	"stocks":                  "stocks",
	"experts":                 "methods#several-experts",
	"lab":                     "operations#one-file-for-the-lab",
}

// Keys are the addresses at which the keys of a campaign file are explained, by key.
func Keys() map[string]string {
	all := make(map[string]string, len(keys))
	for key, at := range keys {
		all[key] = Root + "/" + at
	}
	return all
}

// Term is the address at which a word is explained; it panics for one that is not in the
// table, as a template that misspells it.
func Term(word string) string {
	at, ok := terms[word]
	if !ok {
		panic("the manual does not explain " + word)
	}
	return Root + "/" + at
}

// Policy returns the address at which a policy is explained: a section of the page of methods whose
// heading names it, or else whose text does. For a name unknown to the documentation, such as a
// plug-in's, it is the place where one chooses among all.
func Policy(name string) string {
	p := Find("methods")
	if p == nil {
		return Term("methods")
	}
	names := func(text string) bool { return slices.Contains(strings.FieldsFunc(text, apart), name) }
	for _, s := range p.Sections[1:] {
		if names(s.Heading) {
			return s.Path()
		}
	}
	for _, s := range p.Sections {
		if slices.ContainsFunc(s.Paragraphs, names) {
			return s.Path()
		}
	}
	return Term("methods")
}
