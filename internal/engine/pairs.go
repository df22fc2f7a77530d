package engine

import (
	"math/rand/v2"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// leastCompared chooses size of the given compositions for an expert to
// compare: those that the expert has least often seen together, then those seen
// least often, then by chance. So no pair comes again before every pair has
// come. It returns fewer where there are fewer.
//
// It is greedy: the first composition is the one seen least, each further one
// the one least often seen with those chosen. together[i·n+j] counts the
// questions that showed i and j. The lot decides ties, and is drawn by the seed
// alone.
func leastCompared(
	c Now, points []definition.Point, expert string, size int, seed uint64,
) ([]definition.Point, error) {
	n := len(points)
	index := make(map[string]int, n)
	for i, p := range points {
		key, err := c.space.Key(p)
		if err != nil {
			return nil, err
		}
		index[key] = i
	}
	together, seen := make([]int, n*n), make([]int, n)
	questions := c.Questions
	for i := range questions {
		q := &questions[i]
		if q.Form != events.FormComparison || q.Expert != expert {
			continue
		}
		var shown []int
		for _, p := range q.Points() {
			if key, err := c.space.Key(p); err == nil {
				if k, ok := index[key]; ok {
					shown = append(shown, k)
					seen[k]++
				}
			}
		}
		for _, a := range shown {
			for _, b := range shown {
				together[a*n+b]++
			}
		}
	}
	var chosen []int
	lot := rand.New(rand.NewPCG(seed, 0)).Perm(n)
	for range min(size, n) {
		best, least := -1, 0
		for _, i := range lot {
			if slices.Contains(chosen, i) {
				continue
			}
			met := 0
			for _, j := range chosen {
				met += together[i*n+j]
			}
			if best < 0 || met < least || met == least && seen[i] < seen[best] {
				best, least = i, met
			}
		}
		chosen = append(chosen, best)
	}
	options := make([]definition.Point, len(chosen))
	for i, k := range chosen {
		options[i] = points[k]
	}
	return options, nil
}
