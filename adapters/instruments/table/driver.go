package table

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/input"
)

// Name of the driver in a campaign file.
const Name = "table"

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
		return New(settings, def, env.Folder)
	},
	Listed: true,
	// The best row and not the best mean: it is the most that the campaign can
	// be given, the luck of a replicate included.
	Foregone: func(def definition.Campaign, folder string) (instruments.Foregone, error) {
		settings, err := SettingsOf(def)
		if err != nil {
			return instruments.Foregone{}, err
		}
		i, err := New(settings, def, folder)
		if err != nil {
			return instruments.Foregone{}, err
		}
		if def.Tradeoff() != nil {
			return instruments.Foregone{}, fmt.Errorf("no row of %s is the best: it is a trade-off", i.name)
		}
		rows := slices.DeleteFunc(i.Rows(), func(r Row) bool { return !r.Keeps })
		if len(rows) == 0 {
			return instruments.Foregone{}, fmt.Errorf("no row of %s has %s, or none keeps the constraints",
				i.name, i.sought.Name)
		}
		best := rows[0]
		for _, r := range rows {
			if i.sought.Better(r.Value, best.Value) {
				best = r
			}
		}
		return instruments.Foregone{Point: best.Point, Value: best.Value, Identity: i.identity}, nil
	},
	Identify: func(def definition.Campaign) (string, bool) {
		settings, _ := SettingsOf(def)
		return "table/" + filepath.Base(settings.File), true
	},
}

// Settings of a table: a CSV file of measured rows, whose compositions are the
// only candidates (backtesting). In a campaign file a bare text stands for the
// file.
type Settings struct {
	// File is the CSV file, relative to the campaign file. Its header names the
	// parameters and the objective.
	File string `json:"file" jsonschema:"required"`
	// Columns maps parameter and objective names to column names where they
	// differ.
	Columns map[string]string `json:"columns,omitempty"`
}

// SettingsOf returns the settings in a definition that names a table.
func SettingsOf(def definition.Campaign) (Settings, error) {
	return definition.SettingsOf[Settings](def.Driver())
}

// Short is the setting that a bare value stands for.
func (*Settings) Short() string { return "file" }

// Choose returns the choice of this driver with its settings.
func Choose(s Settings) definition.Choice { return definition.NewChoice(Name, s) }

// Complete implements definition.Settings.
func (*Settings) Complete(*definition.Campaign) {}

// Check implements definition.Settings. Steps and candidates would contradict the table, whose rows
// are the only compositions that can be measured.
func (s *Settings) Check(def *definition.Campaign, here definition.Path) []definition.Fault {
	var known []string
	for _, q := range def.Declared() {
		known = append(known, q.Name)
	}
	for _, p := range def.Parameters {
		known = append(known, p.Name)
	}
	var faults []definition.Fault
	for _, name := range slices.Sorted(maps.Keys(s.Columns)) {
		if !slices.Contains(known, name) {
			faults = append(faults, definition.Fault{
				At:      here.To("columns", name),
				Problem: fmt.Sprintf("%q is neither a parameter nor a measured quantity", name),
				Unknown: name,
				Known:   known,
			})
		}
	}
	if len(def.Steps()) > 0 {
		faults = append(faults, definition.Fault{
			At:      definition.At("instrument", "steps"),
			Problem: "candidates are measured as they are listed, not in steps",
			Remedy:  "remove steps",
		})
	}
	if len(def.Candidates) > 0 {
		faults = append(faults, definition.Fault{
			At:      definition.At("candidates"),
			Problem: "the rows of the instrument's table are the candidates",
			Remedy:  "remove candidates",
		})
	}
	return faults
}

// CheckFiles implements definition.Filed.
func (s *Settings) CheckFiles(folder string, here definition.Path) []definition.Fault {
	return CheckFile(folder, s.File, here.To("file"))
}

// CheckFile validates the place of a table; here is where it is named. A relative path starts from
// folder. Nothing is read: New judges the content of the file, with lines.
func CheckFile(folder, file string, here definition.Path) []definition.Fault {
	if file == "" {
		return nil
	}
	file = input.Path(folder, file)
	fault := definition.Fault{At: here}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		fault.Problem = "there is no file " + file
		fault.Remedy = "the path is relative to the campaign file"
	case !info.Mode().IsRegular():
		fault.Problem = file + " is not a regular file"
		fault.Remedy = "name a CSV file; the path is relative to the campaign file"
	default:
		return nil
	}
	return []definition.Fault{fault}
}

// Words implements definition.Settings.
func (s *Settings) Words(*definition.Campaign) string { return "the table " + s.File }
