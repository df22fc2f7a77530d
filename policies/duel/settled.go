package duel

import (
	"slices"

	"github.com/campaignd/campaignd/policies/search"
)

// A pair is settled when one of the two leads by decided answers, or after
// enough answers, when both are about equally good. A composition that is
// better with odds of 5 to 1 leads by two after 2.3 answers on average; two
// that are equal take 4.
const (
	leading = 2
	enough  = 4
)

// settled are the pairs that an expert need not compare again, including those where they could
// not tell. Without it a rule could ask for the same pair for ever: Laplace's posterior does
// not narrow where an answer was as good as certain, and "can't tell" changes no posterior.
// Each pair holds two points of the unit cube.
type settled struct {
	pairs  [][2][]float64
	finite bool // members of a list are distinct, however close they are
}

// settledPairs reads the expert's answers. Pairs count as the same when they are as near each
// other as [search.Near] says. Each answer is compared with all others, since an expert gives
// few. A pair where the expert could not tell once is settled: asking again would only get the
// same answer.
func settledPairs(in Input) *settled {
	_, finite := in.Space.Finite()
	s := &settled{finite: finite}
	type answer struct {
		pair    [2][]float64 // the better one first
		decided bool
	}
	var all []answer
questions:
	for _, q := range answered(in) {
		a := answer{decided: len(q.Answer.Order) > 0}
		for i, point := range q.Points() {
			x, err := in.Space.Encode(point)
			if err != nil {
				continue questions // it is of a space that has been amended since
			}
			a.pair[i] = x
		}
		if a.decided && q.Answer.Order[0] == 1 {
			a.pair[0], a.pair[1] = a.pair[1], a.pair[0]
		}
		all = append(all, a)
	}
	for _, a := range all {
		won, lost := 0, 0
		for _, b := range all {
			switch {
			case !b.decided:
			case s.alike(a.pair, b.pair[0], b.pair[1]):
				won++
			case s.alike(a.pair, b.pair[1], b.pair[0]):
				lost++
			}
		}
		if !a.decided || won+lost >= enough || won-lost >= leading || lost-won >= leading {
			s.pairs = append(s.pairs, a.pair)
		}
	}
	return s
}

// alike reports whether x and y are the two compositions of a pair, in this order. Even close
// members of a list are different candidates, and each can be the best.
func (s *settled) alike(pair [2][]float64, x, y []float64) bool {
	if s.finite {
		return slices.Equal(pair[0], x) && slices.Equal(pair[1], y)
	}
	return search.Near(pair[0], x) && search.Near(pair[1], y)
}

// has reports whether the pair of x and y, in either order, is settled.
func (s *settled) has(x, y []float64) bool {
	return slices.ContainsFunc(s.pairs, func(pair [2][]float64) bool {
		return s.alike(pair, x, y) || s.alike(pair, y, x)
	})
}
