package events

import "strconv"

// An identifier names one thing of a campaign: a letter that says what kind of
// thing it is, and a number that counts up from 1 in the order of events,
// without leading zeros. numberOf is the one reader of that form.
const (
	experimentLetter = 'e'
	questionLetter   = 'q'
	decisionLetter   = 'd'
	exclusionLetter  = 'n'
	fileLetter       = 'f'
	actLetter        = 'a'
	batchLetter      = 'b'
)

// ExperimentID returns the identifier of a campaign's n-th experiment, n from
// 1: "e7".
func ExperimentID(n int) string { return identifier(experimentLetter, n) }

// QuestionID returns the identifier of a campaign's n-th question, n from 1:
// "q12".
func QuestionID(n int) string { return identifier(questionLetter, n) }

// DecisionID returns the identifier of a campaign's n-th decision, n from 1:
// "d31".
func DecisionID(n int) string { return identifier(decisionLetter, n) }

// ExclusionID returns the identifier of a campaign's n-th exclusion, n from 1:
// "n2".
func ExclusionID(n int) string { return identifier(exclusionLetter, n) }

// FileID returns the identifier of a campaign's n-th file, n from 1: "f3".
func FileID(n int) string { return identifier(fileLetter, n) }

// ActID returns the identifier of a campaign's n-th act, n from 1: "a12".
func ActID(n int) string { return identifier(actLetter, n) }

// BatchID returns the identifier of a campaign's n-th batch, n from 1: "b3".
func BatchID(n int) string { return identifier(batchLetter, n) }

func identifier(letter byte, n int) string { return string(letter) + strconv.Itoa(n) }

// ExperimentNumber returns n of [ExperimentID], 0 for any other text.
func ExperimentNumber(id string) int { return numberOf(experimentLetter, id) }

// QuestionNumber returns n of [QuestionID], 0 for any other text.
func QuestionNumber(id string) int { return numberOf(questionLetter, id) }

// DecisionNumber returns n of [DecisionID], 0 for any other text.
func DecisionNumber(id string) int { return numberOf(decisionLetter, id) }

// ExclusionNumber returns n of [ExclusionID], 0 for any other text.
func ExclusionNumber(id string) int { return numberOf(exclusionLetter, id) }

// FileNumber returns n of [FileID], 0 for any other text.
func FileNumber(id string) int { return numberOf(fileLetter, id) }

// ActNumber returns n of [ActID], 0 for any other text.
func ActNumber(id string) int { return numberOf(actLetter, id) }

// BatchNumber returns n of [BatchID], 0 for any other text.
func BatchNumber(id string) int { return numberOf(batchLetter, id) }

// numberOf is the one reader of identifiers. It rejects text that merely begins like an identifier,
// or writes its number in another way: two texts never name the same thing.
func numberOf(letter byte, id string) int {
	if len(id) < 2 || id[0] != letter || id[1] < '1' || id[1] > '9' { // Atoi takes signs and zeros in front
		return 0
	}
	n, err := strconv.Atoi(id[1:])
	if err != nil {
		return 0
	}
	return n
}
