package engine

import (
	"strings"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/projections/campaign"
)

// commandID identifies a physical action for ever: NAME/INSTANCE.EPOCH/e7.
func commandID(s *campaign.State, experiment string) string {
	word := s.Instance
	if s.Epoch != "" {
		word = strings.TrimPrefix(word+"."+s.Epoch, ".")
	}
	if word == "" {
		return s.Name + "/" + experiment
	}
	return s.Name + "/" + word + "/" + experiment
}

// command is what the instrument sees of an experiment.
func command(s *campaign.State, x *campaign.Experiment) instruments.Command {
	return instruments.Command{
		ID: x.Command, Campaign: s.Name, Experiment: x.ID, Parameters: x.Parameters,
		Replicate: x.Replicate,
	}
}
