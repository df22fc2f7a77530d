package view

import (
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// fewLiked is how many preferred compositions a summary lists.
const fewLiked = 3

// foundPreferred lists the preferred compositions among the measured ones: the first, how sure that
// is, and the next ones. Utilities are not written: they have no unit.
func (c *Campaign) foundPreferred() (rows []Row) {
	switch {
	case len(c.Ranking) == 0 && len(c.Values) == 0:
		return []Row{{"preferred", c.noValue()}}
	case len(c.Ranking) == 0:
		return []Row{{"preferred", c.byNoModel()}}
	}
	first := &c.Ranking[0]
	text := LikedText(first)
	if first.Doubtful {
		text = "nothing measured keeps the constraints with confidence; " + text
	}
	rows = append(rows, Row{"preferred", text}, Row{"", format.CompositionsOf(c.Definition).LineWithUnits(first.Parameters)})
	if open := OpenFirst(c.Ranking); open != "" {
		rows = append(rows, Row{"", open})
	} else if sure := LikedBefore(c.Ranking, 0); sure != "" {
		rows = append(rows, Row{"", sure})
	}
	for i := 1; i < min(fewLiked, len(c.Ranking)); i++ {
		name, text := "", LikedText(&c.Ranking[i])
		if i == 1 {
			name = "then"
		}
		if sure := LikedBefore(c.Ranking, i); sure != "" {
			text += "; " + sure
		}
		rows = append(rows, Row{name, text})
	}
	return rows
}

// sureFirst is the probability from which on it is taken as settled which of two
// compositions is preferred.
const sureFirst = 0.9

// OpenFirst names the comparison that would settle the first place of a ranking; "" for a settled
// one.
func OpenFirst(ranking []engine.Liked) string {
	if len(ranking) == 0 || ranking[0].Before == nil || *ranking[0].Before >= sureFirst {
		return ""
	}
	return fmt.Sprintf("whether %[1]s or %[2]s comes first is open, %[1]s with probability %.2[3]f: a comparison of the two would say",
		ranking[0].Experiment, ranking[1].Experiment, *ranking[0].Before)
}

// LikedText is an experiment with the predictions of its quantities.
func LikedText(l *engine.Liked) string {
	return l.Experiment + ": " + strings.Join(Expects(l.Quantities), ", ")
}

// LikedBefore says how probably one of a ranking is preferred to the next; empty of
// the last one.
func LikedBefore(ranking []engine.Liked, i int) string {
	if ranking[i].Before == nil {
		return ""
	}
	return fmt.Sprintf("preferred to %s with probability %.2f", ranking[i+1].Experiment, *ranking[i].Before)
}
