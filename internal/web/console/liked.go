package console

import (
	"fmt"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view"
)

// mostLiked is how many compositions a ranking lists.
const mostLiked = 12

// ranked is the order in which an expert is expected to prefer the measured outcomes.
type ranked struct {
	First string     // the experiment of the most preferred composition
	Says  []view.Row // the expected outcome
	Open  string     // whether it comes first is open; "" where it is not
	Head  []string
	Rows  []rankedRow
	More  int // further ones
}

type rankedRow struct {
	Experiment, Before, Line string
	Doubtful                 bool
	Cells                    []string
}

// rankedOf lists a ranking; nil for an empty one.
func rankedOf(def *definition.Campaign, ranking []engine.Liked) *ranked {
	if len(ranking) == 0 {
		return nil
	}
	write := format.CompositionsOf(def)
	r := &ranked{First: ranking[0].Experiment}
	for _, q := range ranking[0].Quantities {
		r.Says = append(r.Says, view.Row{Name: q.Quantity, Text: view.Expected(q)})
		r.Head = append(r.Head, format.Heading(q.Quantity, q.Unit))
	}
	if open := view.OpenFirst(ranking); open != "" {
		r.Open = view.Sentence(open)
	}
	for i := range ranking {
		if i == mostLiked {
			r.More = len(ranking) - i
			break
		}
		l := &ranking[i]
		row := rankedRow{Experiment: l.Experiment, Line: write.Line(l.Parameters), Doubtful: l.Doubtful}
		for _, q := range l.Quantities {
			q.Unit = "" // it stands in the head
			row.Cells = append(row.Cells, view.Expected(q))
		}
		if l.Before != nil {
			row.Before = fmt.Sprintf("%.2f", *l.Before)
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

// rankTone is the tone of an experiment by its place in a ranking, darker being better; the
// lightest one stands for experiments outside the ranking.
func rankTone(ranking []engine.Liked, experiment string) int {
	for i := range ranking {
		if ranking[i].Experiment == experiment {
			return tones - i*tones/len(ranking)
		}
	}
	return 1
}
