package process

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/internal/program"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/store"
)

// Name of the driver in a campaign file.
const Name = "process"

// ActsVariable is the environment variable that gives a program the path of the
// file for its acts ([instruments.Environment]), where these are counted.
const ActsVariable = "CAMPAIGND_ACTS"

// Driver is the program's row for this instrument.
var Driver = instruments.Driver{
	Name:     Name,
	Settings: func() definition.Settings { return new(Settings) },
	Open: func(
		_ context.Context, def definition.Campaign, env instruments.Environment,
	) (instruments.Instrument, error) {
		settings, err := SettingsOf(def)
		if err != nil {
			return nil, err
		}
		// A copy of the map, since the settings belong to the recorded
		// definition.
		if env.Acts != "" {
			settings.Env = maps.Clone(settings.Env)
			if settings.Env == nil {
				settings.Env = make(map[string]string)
			}
			settings.Env[ActsVariable] = env.Acts
		}
		i, err := New(settings, def, env.Folder, env.Logf)
		if err != nil {
			return nil, err
		}
		if env.Store != "" {
			files, err := store.OpenFiles(env.Store)
			if err != nil {
				return nil, errors.Join(err, i.Close())
			}
			i.KeepFiles(files)
			i.KeepRecord(env.Store, env.Resource)
		}
		return i, nil
	},
}

// Settings of a program that speaks JSON Lines on its standard input and output
// (docs/process-instrument.md). In a campaign file a bare list stands for the
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
	// program gets besides the harmless ones (PATH, HOME, LANG, PYTHONPATH, …),
	// whatever they hold: what it needs of the shell's secrets is named here,
	// and never recorded.
	Environment []string `json:"environment,omitempty" jsonschema:"uniqueItems=true"`
	// ReplyWithin is how long the program may take to answer anything but a
	// measurement. Default "10s".
	ReplyWithin definition.Duration `json:"reply_within,omitempty"`
	// Settings are passed to the program with the handshake.
	Settings map[string]any `json:"settings,omitempty"`
}

// SettingsOf returns the settings in a definition that names a program.
func SettingsOf(def definition.Campaign) (Settings, error) {
	return definition.SettingsOf[Settings](def.Driver())
}

// Short implements definition.Shortened: a bare list is the command.
func (*Settings) Short() string { return "command" }

// Choose returns the choice of this driver with its settings.
func Choose(s Settings) definition.Choice { return definition.NewChoice(Name, s) }

// Complete implements definition.Settings.
func (s *Settings) Complete(*definition.Campaign) {
	if s.ReplyWithin == 0 {
		s.ReplyWithin = definition.Duration(DefaultReplyWithin)
	}
}

// Check implements definition.Settings.
func (s *Settings) Check(_ *definition.Campaign, here definition.Path) []definition.Fault {
	return (*definition.Program)(s).Check(here)
}

// Words implements definition.Settings.
func (s *Settings) Words(def *definition.Campaign) string {
	return fmt.Sprintf("the program %s; reported as stalled after %s of silence, given up after %s",
		(*definition.Program)(s), def.Instrument.StallAfter, def.Instrument.GiveUpAfter)
}

// Remarks implements definition.Remarkable: it names programs and scripts that
// are missing on this machine.
func (s *Settings) Remarks(folder string, here definition.Path) []string {
	return program.Remarks(definition.Program(*s), folder, here, "campaignd instrument check")
}
