package process

import (
	"fmt"
	"time"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
)

// Name of the rule in a campaign file.
const Name = next.ProcessName

// Defaults of the settings.
const (
	DefaultReplyWithin = definition.Duration(time.Minute)
	DefaultAttempts    = 3
)

// Settings of a program that proposes what to measure next
// (docs/process-method.md). In a campaign file a bare list stands for the
// command.
type Settings struct {
	// Command is the program and its arguments. A relative path with a slash is
	// relative to the campaign file.
	Command []string `json:"command" jsonschema:"required,minItems=1"`
	// Dir is the working directory. Default: the folder of the campaign file.
	Dir string `json:"dir,omitempty"`
	// Env holds further environment variables.
	Env map[string]string `json:"env,omitempty"`
	// Environment names variables of campaignd's own environment that the
	// program gets besides the harmless ones (PATH, HOME, LANG, PYTHONPATH, …):
	// what it needs of the shell's secrets is named here, and never recorded.
	Environment []string `json:"environment,omitempty" jsonschema:"uniqueItems=true"`
	// ReplyWithin is how long the program may take to propose. Default "1m".
	ReplyWithin definition.Duration `json:"reply_within,omitempty"`
	// Attempts is how often it is asked for a decision at most, before the
	// campaign chooses by itself. Default 3.
	Attempts int `json:"attempts,omitempty" jsonschema:"minimum=1,maximum=20"`
	// Settings are passed to the program with the handshake, in which it can give
	// a schema of them.
	Settings map[string]any `json:"settings,omitempty"`
}

// Program returns how the program is run.
func (s *Settings) Program() definition.Program {
	return definition.Program{
		Command: s.Command, Dir: s.Dir, Env: s.Env, Environment: s.Environment, ReplyWithin: s.ReplyWithin,
		Settings: s.Settings,
	}
}

// Short implements definition.Shortened: a bare list is the command.
func (*Settings) Short() string { return "command" }

// Complete implements definition.Settings.
func (s *Settings) Complete(*definition.Campaign) {
	definition.Default(&s.ReplyWithin, DefaultReplyWithin)
	definition.Default(&s.Attempts, DefaultAttempts)
}

// Check implements definition.Settings.
func (s *Settings) Check(def *definition.Campaign, here definition.Path) []definition.Fault {
	program := s.Program()
	faults := program.Check(here)
	if def != nil && def.Preferred() != nil {
		faults = append(faults, definition.Fault{
			At:      here,
			Problem: "a program proposes by what is measured, and here an expert's preference is what is sought",
			Remedy:  "seek a quantity, a formula or a trade-off, or leave the policy to bope",
		})
	}
	return faults
}

// Words implements definition.Settings.
func (s *Settings) Words(*definition.Campaign) string {
	program := s.Program()
	return fmt.Sprintf("what the program %s proposes; where it says nothing usable within %s, %d times, the campaign's own choice",
		program.String(), s.ReplyWithin, s.Attempts)
}

// PartWords implements policies.PartSettings.
func (*Settings) PartWords(part policies.Part) string {
	if part == policies.Trust {
		return "the program is shown what experts answered, and weighs it as it likes"
	}
	return "no one is asked after the initial questions"
}
