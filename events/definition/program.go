package definition

import (
	"fmt"
	"strings"
)

// Program is a program of the user's that campaignd starts, and how it is
// spoken to. In a campaign file it stands among the settings of what the
// program is: an instrument, a method, an expert.
type Program struct {
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
	// ReplyWithin is how long the program may take to answer.
	ReplyWithin Duration `json:"reply_within,omitempty"`
	// Settings are passed to the program with the handshake.
	Settings map[string]any `json:"settings,omitempty"`
}

// Check validates a program's settings at a place of the file.
//
// Environment may hold names alone: values of variables would be recorded with the definition. A
// wildcard is refused too: it would hand on variables that no one has thought of.
func (p *Program) Check(here Path) []Fault {
	var faults []Fault
	report := func(at Path, problem, remedy string) {
		faults = append(faults, Fault{At: at, Problem: problem, Remedy: remedy})
	}
	if len(p.Command) == 0 || p.Command[0] == "" {
		report(here.To("command"), "the program to start is missing",
			"give the program and its arguments as a list")
	}
	unnameable := func(r rune) bool { return r <= ' ' || r == 0x7f || r == '*' }
	for i, name := range p.Environment {
		at := here.To("environment", i)
		switch _, set := p.Env[name]; {
		case strings.Contains(name, "="):
			report(at, "it sets a variable, and what a campaign file says is recorded",
				"write only the name; a value that is not a secret belongs under env")
		case name == "" || strings.ContainsFunc(name, unnameable):
			report(at, fmt.Sprintf("%q is not the name of a variable", name),
				"name each variable that the program is to get of campaignd's environment")
		case set:
			report(at, name+" is set under env as well", "keep one of the two")
		}
	}
	return faults
}

// String is the command as people read it.
func (p *Program) String() string { return strings.Join(p.Command, " ") }
