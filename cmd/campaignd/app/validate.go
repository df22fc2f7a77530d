package app

import (
	"encoding/json"
	"errors"
	"path/filepath"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/yamltree"
)

// validated is the document of `validate --json`. Lists are never null, so that
// a script can count them.
type validated struct {
	Valid bool `json:"valid"`
	// Definition is the campaign with every default written out.
	Definition *definition.Campaign `json:"definition,omitempty"`
	Faults     []validatedFault     `json:"faults"`
	// Remarks are about settings that are allowed and probably not meant.
	Remarks []string `json:"remarks"`
}

// validatedFault is one fault in the file. Line and Column count from 1; 0
// where the fault has no place in it.
type validatedFault struct {
	Path    string `json:"path,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Problem string `json:"problem"`
	Advice  string `json:"advice,omitempty"`
}

// validateCommand is `campaignd validate`. With --json a file with faults is an answer and is
// printed as one; the exit code says that it is not valid. Without it, faults are the command's
// error, which is printed with their lines.
//
// Remarks do not make a file invalid: they are about content that is allowed and probably not
// meant.
var validateCommand = command{
	name: "validate",
	args: cobra.ExactArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		var explain bool
		flags.BoolVar(&explain, "explain", false,
			"write policy, model and initial design out, with every default")
		return func(c *call, args []string) error {
			def, err := validate(c, args[0])
			remarks := []string{}
			if err == nil {
				found := campaignfile.Remarks(c.ctx, c.registry, *def, filepath.Dir(args[0]))
				remarks = append(remarks, found...)
			}
			if c.json {
				return validatedJSON(c, def, remarks, err)
			}
			if err != nil {
				return err
			}
			c.print(campaignfile.Explain(c.ctx, c.registry, *def))
			if explain {
				if err := printCourse(c.app, def); err != nil {
					return err
				}
			}
			for _, remark := range remarks {
				c.printf("Remark: %s.\n", remark)
			}
			c.printf("%s is valid.\n", args[0])
			return nil
		}
	},
}

// validatedJSON prints the result for a file as the document.
func validatedJSON(c *call, def *definition.Campaign, remarks []string, err error) error {
	answer := validated{Valid: err == nil, Definition: def, Faults: []validatedFault{}, Remarks: remarks}
	var faulty *yamltree.Error
	switch {
	case errors.As(err, &faulty):
		for _, f := range faulty.Faults {
			answer.Faults = append(answer.Faults,
				validatedFault{f.Path.String(), f.Line, f.Column, f.Message, f.Remedy})
		}
	case err != nil:
		answer.Faults = append(answer.Faults, validatedFault{Problem: err.Error()})
	}
	if printed := c.printJSON(answer); printed != nil {
		return printed
	}
	if err != nil {
		return errors.Join(errReported, err)
	}
	return nil
}

// printCourse writes model, initial design and policy out, with every default,
// as they may stand in a campaign file.
func printCourse(a *app, def *definition.Campaign) error {
	text, err := campaignYAML(struct {
		Model   definition.Model   `json:"model"`
		Initial definition.Initial `json:"initial"`
		Policy  definition.Policy  `json:"policy"`
	}{def.Model, def.Initial, def.Policy})
	if err != nil {
		return err
	}
	a.print("Written out\n\n" + string(text))
	return nil
}

// campaignYAML writes a value as it may stand in a campaign file: by way of its
// JSON, because the settings' own forms are defined for that.
func campaignYAML(value any) ([]byte, error) {
	written, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(written)
}

// validate reads a file and checks whether a campaign could begin with it, in
// memory. A program of an instrument is not started and no person is asked.
//
// The definition of the file is returned and not the completed one: a table's
// candidates would bury the answer.
func validate(a *call, path string) (*definition.Campaign, error) {
	t, err := a.fileTarget(path, "validate takes a campaign file")
	if err != nil {
		return nil, err
	}
	def, err := a.listCandidates(a.ctx, t, t.file.Definition)
	if err != nil {
		return nil, err
	}
	if _, err := a.rehearse(def); err != nil {
		return nil, inputError{err}
	}
	return &t.file.Definition, nil
}
