// Package examples holds the campaigns that the program can show by itself: their
// files, embedded, so that a machine with nothing but the program has them.
package examples

import (
	"embed"
	"fmt"
	"regexp"
	"strings"
	"time"
)

//go:embed electrolyte.yaml coupling.yaml mixture.yaml taste.yaml electrolyte-tradeoff.yaml
var files embed.FS

// Example is a campaign that looks after itself: instruments and experts in it are
// simulated, and it names no file.
type Example struct {
	// Name is the campaign's, and that of its file.
	Name string
	// Title and Text say what it is about, Shows what can be watched in it.
	Title, Text, Shows string
	// latency is how long each measurement takes, or each comparison: so long that
	// a person can watch.
	latency time.Duration
}

// Gallery lists the examples, the simplest first.
func Gallery() []Example {
	return []Example{
		{
			"electrolyte", "An electrolyte", "Salt and solvents of a lithium-ion battery, for the greatest conductivity.",
			"An expert says at first what to expect of 20 compositions; what that is worth is learned.", time.Second,
		},
		{
			"coupling", "A reaction", "Temperature, time, catalyst, ligand and solvent of a coupling, for the greatest yield.",
			"Numbers, steps and names together: which ligand goes with which solvent.", time.Second,
		},
		{
			"mixture", "A mixture", "Four solvents whose fractions sum to one, dosed in steps of 0.01.",
			"Every suggestion keeps the sum, two bounds and an excluded region.", time.Second,
		},
		{
			"taste", "A taste", "Nothing is measured: an expert tastes two formulations, and says which is better.",
			"48 candidates, of which comparisons leave the best.", 300 * time.Millisecond,
		},
		{
			"electrolyte-tradeoff", "Three quantities", "An electrolyte that conducts well, is thin and costs little.",
			"No composition is the best in all three: the front of the trade-off grows.", time.Second,
		},
	}
}

// Find returns the example of a name; false where there is none.
func Find(name string) (Example, bool) {
	for _, e := range Gallery() {
		if e.Name == name {
			return e, true
		}
	}
	return Example{}, false
}

var (
	nameLine = regexp.MustCompile(`(?m)^name: .*$`)
	// latencyOf is a latency that the file has already, with what stands before it.
	latencyOf = regexp.MustCompile(`(?m)^ *latency: .*\n`)
	// simulation is where the settings of what is simulated begin: in braces, or in
	// lines of their own.
	simulation = regexp.MustCompile(`simulated:(?: \{|\n( +))`)
)

// Source is the example's campaign file under another name, without the words about
// where the file lies, and with a latency that lets people watch.
func (e Example) Source(name string) string {
	text, err := files.ReadFile(e.Name + ".yaml")
	if err != nil {
		panic(err) // it is embedded, or a test fails
	}
	source := string(text)
	at := nameLine.FindStringIndex(source)
	source = "name: " + name + source[at[1]:]
	source = latencyOf.ReplaceAllString(source, "")
	first := simulation.FindStringSubmatchIndex(source)
	latency := fmt.Sprintf("latency: %v", e.latency)
	if first[2] < 0 {
		latency += ", "
	} else {
		latency += "\n" + source[first[2]:first[3]]
	}
	return strings.TrimRight(source[:first[1]]+latency+source[first[1]:], "\n") + "\n"
}
