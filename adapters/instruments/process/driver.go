package process

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/filestore"
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
			i.KeepRecord(filepath.Join(env.Store, "instrument.json"))
			i.KeepFiles(filestore.Of(env.Store))
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

// Check implements definition.Settings. Environment may hold names alone: values
// of variables would be recorded with the definition. A wildcard is refused
// too: it would hand on variables that no one has thought of.
func (s *Settings) Check(_ *definition.Campaign, here definition.Path) []definition.Fault {
	var faults []definition.Fault
	report := func(at definition.Path, problem, remedy string) {
		faults = append(faults, definition.Fault{At: at, Problem: problem, Remedy: remedy})
	}
	if len(s.Command) == 0 || s.Command[0] == "" {
		report(here.To("command"), "there is no program to start",
			"give the program and its arguments as a list")
	}
	unnameable := func(r rune) bool { return r <= ' ' || r == 0x7f || r == '*' }
	for i, name := range s.Environment {
		at := here.To("environment", i)
		switch _, set := s.Env[name]; {
		case strings.Contains(name, "="):
			report(at, "it sets a variable, and what a campaign file says is recorded",
				"write only the name; a value that is no secret belongs under env")
		case name == "" || strings.ContainsFunc(name, unnameable):
			report(at, fmt.Sprintf("%q is not the name of a variable", name),
				"name each variable that the program is to get of campaignd's environment")
		case set:
			report(at, name+" is set under env as well", "keep one of the two")
		}
	}
	return faults
}

// Words implements definition.Settings.
func (s *Settings) Words(def *definition.Campaign) string {
	return fmt.Sprintf("the program %s; reported as stalled after %s of silence, given up after %s",
		strings.Join(s.Command, " "), def.Instrument.StallAfter, def.Instrument.GiveUpAfter)
}

// scripts are endings of arguments that look like the program's own source: a
// missing one is worth a remark.
var scripts = []string{".py", ".sh", ".jl", ".js", ".rb", ".pl", ".R", ".lua", ".jar"}

// Remarks implements definition.Remarkable: it names programs and scripts that
// are missing on this machine. That is no fault, because the file may be meant
// for another one. Only arguments with the ending of a script are looked for:
// any other one may be a name on the device.
func (s *Settings) Remarks(folder string, here definition.Path) []string {
	if len(s.Command) == 0 {
		return nil
	}
	dir := within(folder, s.Dir)
	missing := func(file string) bool {
		_, err := os.Stat(within(dir, file))
		return err != nil
	}
	var remarks []string
	program, at := s.Command[0], here.To("command").String()
	absent := missing(program)
	if !strings.ContainsRune(program, '/') {
		_, err := exec.LookPath(program)
		absent = err != nil
	}
	if absent {
		remarks = append(remarks, fmt.Sprintf("%s: there is no program %s here", at, program))
	}
	for _, arg := range s.Command[1:] {
		script := slices.Contains(scripts, filepath.Ext(arg)) && !strings.HasPrefix(arg, "-")
		if script && missing(arg) {
			remarks = append(remarks, fmt.Sprintf(
				"%s: there is no file %s in %s; `campaignd instrument check` tries the program", at,
				arg, dir))
		}
	}
	return remarks
}
