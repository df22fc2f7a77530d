package projections

import (
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Comparison is an expert's order of compositions; "can't tell" is none.
type Comparison struct {
	// Question is the question's identifier.
	Question string             `json:"question"`
	Options  []definition.Point `json:"options"`
	// Order lists options from the best to the worst; those left out come after
	// them in no order.
	Order []int `json:"order"`
}

// Pairs returns the pairwise choices that follow from the comparison: indices
// of the preferred and the other option.
func (c Comparison) Pairs() (pairs [][2]int) {
	for i, winner := range c.Order {
		for _, loser := range c.Order[i+1:] {
			pairs = append(pairs, [2]int{winner, loser})
		}
		for loser := range c.Options {
			if !slices.Contains(c.Order, loser) {
				pairs = append(pairs, [2]int{winner, loser})
			}
		}
	}
	return pairs
}

// Compare adds a comparison to a list in the order of questions, in place of an
// earlier answer to the same one; without an order it only takes that away.
// changes counts what was taken away and added.
func Compare(list []Comparison, c Comparison) (_ []Comparison, changes int) {
	if i := slices.IndexFunc(list, func(o Comparison) bool { return o.Question == c.Question }); i >= 0 {
		list = slices.Delete(list, i, i+1)
		changes++
	}
	if len(c.Order) == 0 {
		return list, changes
	}
	return InOrder(list, c, func(c Comparison) int { return events.QuestionNumber(c.Question) }), changes + 1
}

// InOrder inserts a record in the order of what it is about, whose number among
// its kind is given, behind equal ones. Answers and results come in any order;
// what is computed from them must not depend on who was faster.
func InOrder[T any](list []T, record T, number func(T) int) []T {
	n := number(record)
	i := len(list)
	for i > 0 && number(list[i-1]) > n {
		i--
	}
	return slices.Insert(list, i, record)
}
