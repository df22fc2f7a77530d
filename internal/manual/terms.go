package manual

import (
	"slices"
	"strings"
)

// terms says where each word that stands on the pages of a lab is explained: a page, or a
// section of one.
var terms = map[string]string{
	"states":      "words#states",
	"best":        "words#best-measured-and-best-by-the-model",
	"worth":       "words#the-worth-of-an-answer",
	"quantities":  "quantities",
	"simulated":   "words#simulated",
	"backtest":    "words#backtest",
	"table":       "words#from-a-table",
	"corrections": "corrections",
	"methods":     "methods#which-one",
	"initial":     "methods#the-initial-design",
	"people":      "operations#accounts",
	"rows":        "your-own-data",
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

// Policy is the address at which a policy is explained: a section of the page of methods
// whose heading names it, or else whose text does. For a name that the documentation does
// not know, as that of a plug-in, it is where one chooses among all.
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
