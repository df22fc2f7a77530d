package campaign

import (
	"iter"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
)

// Uses yields the commands that have used up parts of stocks for an experiment, with these parts. Of a
// command for several experiments they are its share: the labels are in the order of the experiments, as
// many for each, and an amount follows from the composition.
func (s *State) Uses(x *Experiment) iter.Seq2[*Command, []events.Drawn] {
	return func(yield func(*Command, []events.Drawn) bool) {
		if x.Batch == "" {
			yield(&x.Command, x.Command.Drawn)
			return
		}
		for a := range s.ActsFor(x) {
			if !yield(&a.Command, s.share(a, x)) {
				return
			}
		}
	}
}

// share is the part of an experiment in what an act has used up.
func (s *State) share(a *Act, x *Experiment) (parts []events.Drawn) {
	if len(a.Experiments) == 1 {
		return a.Command.Drawn
	}
	at, of := slices.Index(a.Experiments, x.ID), len(a.Experiments)
	stage := s.Batch(a.Batch).Stage(a.Stage)
	for _, d := range a.Command.Drawn {
		if d.Unit == "" {
			n := len(d.Labels) / of
			d.Labels = d.Labels[at*n : (at+1)*n]
		} else {
			uses := map[string]definition.Draw{d.Stock: stage.Draws[d.Stock]}
			own, err := computed.Draws(s.Definition, uses, x.Parameters)
			if err != nil || len(own) == 0 {
				continue // the others of the act used it up
			}
			d.Amount = own[0].Amount
		}
		parts = append(parts, d)
	}
	return parts
}

// Used are the parts of stocks that were used up for an experiment, one of each stock, in the order of
// their names.
func (s *State) Used(x *Experiment) (all []events.Drawn) {
	for _, parts := range s.Uses(x) {
		for _, d := range parts {
			i, known := slices.BinarySearchFunc(all, d.Stock, func(d events.Drawn, name string) int {
				return strings.Compare(d.Stock, name)
			})
			if !known {
				all = slices.Insert(all, i, d)
				continue
			}
			all[i].Labels = append(slices.Clip(all[i].Labels), d.Labels...)
			all[i].Amount += d.Amount
		}
	}
	return all
}
