package campaign

import (
	"fmt"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
)

// File is a file of an experiment, or of the campaign.
type File struct {
	ID string `json:"id"`
	// Experiment is the one that it belongs to; empty where it is the
	// campaign's.
	Experiment string `json:"experiment,omitempty"`
	events.Attachment
	// Actor is who attached it, Time when.
	Actor string    `json:"actor"`
	Time  time.Time `json:"time"`
	// Withdrawn is set once a person has said that it does not count, and why in
	// Reason.
	Withdrawn bool   `json:"withdrawn,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// File returns the file with the given identifier, or nil.
func (s *State) File(id string) *File {
	if n := events.FileNumber(id); 1 <= n && n <= len(s.Files) {
		return &s.Files[n-1]
	}
	return nil
}

// FilesOf returns the files of an experiment, or of the campaign where the
// identifier is empty, without those that were withdrawn.
func (s *State) FilesOf(experiment string) []File {
	var files []File
	for _, f := range s.Files {
		if f.Experiment == experiment && !f.Withdrawn {
			files = append(files, f)
		}
	}
	return files
}

// FilesGiven returns the files that the instrument of an act gave, without those that were withdrawn.
// They are recorded with its end, as files of its first experiment.
func (s *State) FilesGiven(a *Act) (files []File) {
	for _, f := range s.Files {
		if f.Experiment == a.Experiments[0] && f.Time.Equal(a.EndedAt) && strings.HasPrefix(f.Actor, "instrument:") && !f.Withdrawn {
			files = append(files, f)
		}
	}
	return files
}

// attach folds a file.
func attach(s *State, e events.Event, p *events.FileAttached) (problem string) {
	switch next := events.FileID(len(s.Files) + 1); {
	case p.File != next:
		return fmt.Sprintf("file %s is out of order, %s was next", p.File, next)
	case p.Experiment != "" && s.Experiment(p.Experiment) == nil:
		return fmt.Sprintf("there is no experiment %s", p.Experiment)
	}
	s.Files = append(s.Files, File{
		ID: p.File, Experiment: p.Experiment, Attachment: p.Attachment, Actor: e.Actor, Time: e.Time,
	})
	return ""
}

// withdrawFile folds a person's word that a file does not count. Its row stays:
// files are numbered by their place in the list.
func withdrawFile(s *State, p *events.FileWithdrawn) (problem string) {
	f := s.File(p.File)
	switch {
	case f == nil:
		return fmt.Sprintf("there is no file %s", p.File)
	case f.Withdrawn:
		return fmt.Sprintf("%s was withdrawn before", p.File)
	case f.Experiment != p.Experiment:
		return fmt.Sprintf("%s belongs to %q, not to %q", p.File, f.Experiment, p.Experiment)
	}
	f.Withdrawn, f.Reason = true, p.Reason
	return ""
}
