package engine

import (
	"strings"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/projections/campaign"
)

// CommandID identifies a physical action for ever: NAME/INSTANCE.EPOCH/e7.
//
// A campaign that was begun before there were instances has NAME/e7, one without an epoch has
// no dot; identifiers in a log keep their form.
func CommandID(s *campaign.State, experiment string) string {
	word := s.Instance
	if s.Epoch != "" {
		word = strings.TrimPrefix(word+"."+s.Epoch, ".")
	}
	if word == "" {
		return s.Name + "/" + experiment
	}
	return s.Name + "/" + word + "/" + experiment
}

// CommandOf returns the command that the instrument receives for an experiment. It depends on
// the state alone, so that a process that takes over sends the same command.
func CommandOf(s *campaign.State, x *campaign.Experiment) instruments.Command {
	return instruments.Command{
		ID: x.Command.ID, Campaign: s.Name, Experiment: x.ID, Parameters: x.Parameters,
		Replicate: x.Replicate, Handle: x.Command.Handle, Drawn: x.Command.Drawn,
	}
}
