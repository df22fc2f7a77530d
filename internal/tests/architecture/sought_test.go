package architecture

import (
	"regexp"
	"strings"
	"testing"
)

// oneOfMany are the fields of which there will be several, and how many lines may read them.
// A definition has one objective and one instrument, a measurement one value of the objective.
// Each line that says so is a line to change when there are more. So they are asked for, and
// what was asked for is passed on.
var oneOfMany = []struct {
	field *regexp.Regexp
	most  int
	ask   string
}{
	// What is left are questions to people, who are told what is sought, and what writes a definition.
	{regexp.MustCompile(`Objective\.(Goal|Unit|Name|Noise)\b`), 9, "Campaign.Sought, once"},
	// What is left checks, corrects, arranges or records a measurement itself.
	{regexp.MustCompile(`(Measurement|\bm|\br)\.Objective\b`), 27, "State.Value or State.Results"},
	// What is left chooses an instrument, and the loop.
	{regexp.MustCompile(`\.Instrument\.(Driver|ByHand|Steps|StallAfter|GiveUpAfter)\b`), 7,
		"Campaign.Driver, ByHand, Steps or Silence, or Registry.DriverOf"},
}

// Law: few lines outside the definition and the campaign file know that a campaign has one
// objective and one instrument. The numbers may be lowered, and raised with a reason.
func TestOneObjectiveIsKnownInFewPlaces(t *testing.T) {
	found := make([][]string, len(oneOfMany))
	eachFile(t, func(name, text string) {
		if strings.HasPrefix(name, "events/definition/") || strings.HasPrefix(name, "internal/files/campaignfile/") {
			return
		}
		for line := range strings.Lines(text) {
			for i, one := range oneOfMany {
				if one.field.MatchString(line) {
					found[i] = append(found[i], name+": "+strings.TrimSpace(line))
				}
			}
		}
	})
	for i, one := range oneOfMany {
		if n := len(found[i]); n > one.most {
			t.Errorf("%d lines read %s, at most %d may; ask %s:\n%s",
				n, one.field, one.most, one.ask, strings.Join(found[i], "\n"))
		}
	}
}

// kinds ask which kind of campaign one is: with one quantity or several, measured or compared.
var kinds = regexp.MustCompile(`\.(Sought|Measures|Several|Tradeoff|ByHand|SeveralMatter)\(`)

// mostKinds may be lowered, never raised. The aim is 60: a campaign of one quantity is one with a
// list of one.
const mostKinds = 384

// Law: no further place asks for the kind of a campaign.
func TestFewPlacesAskForTheKind(t *testing.T) {
	n := 0
	eachFile(t, func(_, text string) { n += len(kinds.FindAllString(text, -1)) })
	if n > mostKinds {
		t.Errorf("%d places ask for the kind of a campaign, at most %d may", n, mostKinds)
	}
}
