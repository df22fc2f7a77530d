package engine

import (
	"maps"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// CommandID identifies a physical action for ever: NAME/INSTANCE.EPOCH/e7, of an act
// NAME/INSTANCE.EPOCH/a12.
//
// A campaign that was begun before there were instances has NAME/e7, one without an epoch has
// no dot; identifiers in a log keep their form.
func CommandID(s *campaign.State, subject string) string {
	word := s.Instance
	if s.Epoch != "" {
		word = strings.TrimPrefix(word+"."+s.Epoch, ".")
	}
	if word == "" {
		return s.Name + "/" + subject
	}
	return s.Name + "/" + word + "/" + subject
}

// CommandOf returns the command that the instrument receives for an experiment or an act. It depends
// on the state alone, so that a process that takes over sends the same command.
func CommandOf(s *campaign.State, about string) instruments.Command {
	o := s.Order(about)
	cmd := instruments.Command{ID: o.ID, Campaign: s.Name, Handle: o.Handle, Drawn: o.Drawn}
	a := s.Act(about)
	if a == nil {
		x := s.Experiment(about)
		cmd.Experiment, cmd.Parameters, cmd.Replicate = x.ID, x.Parameters, x.Replicate
		return cmd
	}
	b := s.Batch(a.Batch)
	stage := b.Stage(a.Stage)
	cmd.Act, cmd.Stage, cmd.Batch = a.ID, a.Stage, a.Batch
	cmd.Gives = stage.Gives
	if !stage.Together { // any program can perform it
		x := s.Experiment(a.Experiments[0])
		cmd.Experiment, cmd.Parameters, cmd.Replicate = x.ID, sent(stage, x.Parameters), x.Replicate
		return cmd
	}
	for _, id := range a.Experiments {
		cmd.Experiments = append(cmd.Experiments, instruments.Sample{
			Experiment: id, Position: slices.Index(b.Experiments, id) + 1,
			Parameters: sent(stage, s.Experiment(id).Parameters),
		})
	}
	return cmd
}

// sent is the part of a composition that an instrument is sent at a stage.
func sent(stage *definition.Stage, all definition.Point) definition.Point {
	if stage.Parameters == nil && stage.Set == nil {
		return all
	}
	point := maps.Clone(stage.Set)
	if point == nil {
		point = make(definition.Point)
	}
	for name, value := range all {
		if stage.Parameters == nil || slices.Contains(stage.Parameters, name) {
			point[name] = value
		}
	}
	return point
}
