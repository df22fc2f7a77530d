package campaignfile

import (
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
)

const duelFile = `
name: taste
parameters: [{name: x, values: [1, 2, 3, 4]}]
objective: {name: liking, goal: maximize}
policy: POLICY
INITIAL
budget: {comparisons: 8}
experts: [{name: ada, terminal: {}}]
`

const measuredFile = `
name: lab
parameters: [{name: x, min: 0, max: 1}]
objective: {name: y, goal: maximize}
policy: POLICY
budget: {experiments: 8}
instrument: {manual: {}, steps: {x: 0.01}}
experts: [{name: ada, terminal: {}}]
`

// Law: what is valid and cannot be meant is remarked upon, and nothing else is: a
// budget that leaves the policy no choice, experts of whom nothing is read, and amounts
// that a person is to weigh out with any number of digits.
func TestRemarks(t *testing.T) {
	file := func(text, policy, initial string) string {
		return strings.NewReplacer("POLICY", policy, "INITIAL", initial).Replace(text)
	}
	listed := func(values string) string { // nothing comes in steps
		return strings.NewReplacer("min: 0, max: 1", values, ", steps: {x: 0.01}", "").Replace(file(measuredFile, "cobol", ""))
	}
	for _, test := range []struct{ file, want string }{
		{file(duelFile, "raeubo", ""), "all of the 8 comparisons are initial ones"}, // the default of 8
		{file(duelFile, "raeubo", "initial: {comparisons: 7}"), ""},
		{file(duelFile, "mr-lpf", ""), ""},
		{file(measuredFile, "lcb", ""), "reads nothing of what ada may say"},
		{file(measuredFile, "sobol", ""), "reads nothing of what ada may say"},
		{file(measuredFile, "cobol", ""), ""},
		{file(measuredFile, "coexbo", ""), ""},
		{file(measuredFile, "pibo", ""), ""},
		{file(measuredFile, "prior-sampling", ""), ""},
		{file(measuredFile, "manual", ""), ""},
		{file(measuredFile, "batch-ucb", ""), ""},
		{strings.Replace(file(measuredFile, "cobol", ""), ", steps: {x: 0.01}", "", 1), "steps: {x: 0.01}"},
		{listed("values: [1, 2, 5]"), "there are 3, and the others measure one of them again"},
		{listed("values: [1, 2, 5]") + "candidates: [{x: 1}, {x: 5}]\n", "ends after 2 experiments"},
		{listed("values: [1, 2, 3, 4, 5, 6, 7, 8]"), ""},
		{strings.Replace(file(measuredFile, "cobol", ""), "min: 0, max: 1", "min: 1e-6, max: 1e6", 1),
			"x is varied linearly over 12 powers of ten: vary the exponent, as in {name: log10_x, min: -6, max: 6}"},
		{strings.Replace(file(measuredFile, "cobol", ""), "min: 0, max: 1", "min: 1, max: 1000", 1), "vary the exponent"},
		{strings.Replace(file(measuredFile, "cobol", ""), "min: 0, max: 1", "min: 1, max: 999", 1), ""},
		{strings.Replace(file(measuredFile, "cobol", ""), "min: 0, max: 1", "min: 0, max: 1000", 1), ""},
	} {
		f := must.Get(Parse(builtin.Registry(), "test.yaml", []byte(test.file)))(t)
		got := strings.Join(Remarks(t.Context(), builtin.Registry(), f.Definition, "."), "; ")
		if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s\nis remarked upon with %q, want %q", test.file, got, test.want)
		}
	}
}
