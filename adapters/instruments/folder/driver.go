package folder

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments/remote"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/input"
)

// Name of the driver in a campaign file.
const Name = "folder"

// Driver is the program's row for this instrument.
var Driver = remote.Driver(Name, New)

// Settings of a device that reads requests from a folder, and writes results into another
// (docs/bridges.md). Both have the command's identifier in their names: campaign/7XKQ2/e1 is
// campaign.7XKQ2.e1.
type Settings struct {
	// Device says what it is.
	Device remote.DeviceSettings `json:"device" jsonschema:"required"`
	// Folder that both sides see, on a network drive for example. Relative to the campaign file.
	Folder string `json:"folder" jsonschema:"required"`
	// Requests is the folder in it for requests. Default "requests".
	Requests string `json:"requests,omitempty"`
	// Results is the folder in it for results. Default "results".
	Results string `json:"results,omitempty"`
	// TakesAway says that the device takes a request out of its folder before it acts on it: what still
	// lies there has not begun, and is withdrawn where it is called off. Otherwise the device leaves it
	// there until the result is written, and cannot be called off. Default false.
	TakesAway bool `json:"takes_away,omitempty"`
	// Request says what a request holds.
	Request RequestFile `json:"request,omitempty"`
	// Result says where a result holds what.
	Result ResultFile `json:"result" jsonschema:"required"`
	// Every is how often the folders are looked at. Default "1s".
	Every definition.Duration `json:"every,omitempty"`
	// Ledger is the folder that remembers which commands were handed over. Default: ledger, in the
	// folder of both sides.
	Ledger string `json:"ledger,omitempty"`
	// Durable declares that the ledger is durable and complete (docs/process-instrument.md): what a
	// crash leaves between a command and its request is asked for again, and no person has to look.
	Durable bool `json:"durable,omitempty"`
}

// RequestFile is the content of a request.
type RequestFile struct {
	// Ending of its name. Default ".json", or ".csv" where there are columns.
	Ending string `json:"ending,omitempty"`
	// Body is the JSON of a request, with {id}, {name}, {parameters.NAME} and the like in place of the
	// parts of the command. Default: id, campaign, experiment, replicate and parameters.
	Body map[string]any `json:"body,omitempty"`
	// Columns make it a table with a header and one row.
	Columns []RequestColumn `json:"columns,omitempty"`
}

// RequestColumn is one of a request that is a table.
type RequestColumn struct {
	Name string `json:"name" jsonschema:"required"`
	// Value with {id}, {name}, {parameters.NAME} and the like in it.
	Value string `json:"value" jsonschema:"required"`
}

// ResultFile says how a result is read. Places in JSON are JSON Pointers (RFC 6901), as in /data/0/value;
// in a table they are names of columns.
type ResultFile struct {
	// Ending of its name, which tells the form: ".csv" for a table with a header and one row, JSON
	// otherwise. Default ".json".
	Ending string `json:"ending,omitempty"`
	// Marker is the ending of a file that the device writes when the result is whole, as in ".done".
	Marker string `json:"marker,omitempty"`
	// UnchangedFor is for how long a result without a marker is the same before it counts as whole.
	// Default: 0 for JSON, which counts as soon as it can be read, and "5s" for a table.
	UnchangedFor definition.Duration `json:"unchanged_for,omitempty"`
	// ID is the place of the command's identifier, or of its name as a file: a result with another one
	// is not taken for that of the command.
	ID string `json:"id,omitempty"`
	// State says whether it was measured. Default: every result is a measurement.
	State *remote.State `json:"state,omitempty"`
	remote.Values
	// Files are patterns of those in the results that belong to it, as in "{name}*.png". They are
	// complete when the result is.
	Files []string `json:"files,omitempty"`
}

// table says that it is a table.
func (r *ResultFile) table() bool { return strings.HasSuffix(r.Ending, ".csv") }

// Choose returns the choice of this driver with its settings.
func Choose(s Settings) definition.Choice { return definition.NewChoice(Name, s) }

// Complete implements definition.Settings.
func (s *Settings) Complete(*definition.Campaign) {
	s.Requests, s.Results = cmp.Or(s.Requests, "requests"), cmp.Or(s.Results, "results")
	s.Every = cmp.Or(s.Every, definition.Duration(time.Second))
	s.Device.Capacity = cmp.Or(s.Device.Capacity, 1)
	ending := ".json"
	if s.Request.Columns != nil {
		ending = ".csv"
	}
	s.Request.Ending, s.Result.Ending = cmp.Or(s.Request.Ending, ending), cmp.Or(s.Result.Ending, ".json")
	if s.Request.Body == nil && s.Request.Columns == nil {
		s.Request.Body = map[string]any{
			"id": "{id}", "campaign": "{campaign}", "experiment": "{experiment}", "replicate": "{replicate}", "parameters": "{parameters}",
		}
	}
	if s.Result.Marker == "" && s.Result.table() {
		s.Result.UnchangedFor = cmp.Or(s.Result.UnchangedFor, definition.Duration(5*time.Second))
	}
}

// Check implements definition.Settings.
func (s *Settings) Check(def *definition.Campaign, here definition.Path) []definition.Fault {
	f := remote.Faults{Def: def, List: def.OneByOne(here)}
	f.Device(here.To("device"), s.Device, false, s.Durable)
	if s.Folder == "" {
		f.Add(here.To("folder"), "the folder of requests and results is missing", "write folder: with its path")
	}
	for _, sub := range []struct{ field, path string }{{"requests", s.Requests}, {"results", s.Results}} {
		if !filepath.IsLocal(sub.path) {
			f.Add(here.To(sub.field), fmt.Sprintf("%s does not lie in the folder of both sides", sub.path), "name a folder in it")
		}
	}
	if filepath.Clean(s.Requests) == filepath.Clean(s.Results) && s.Request.Ending == s.Result.Ending {
		f.Add(here.To("results"), "a result would take the place of its request", "name two folders, or two endings")
	}
	if s.Request.Body != nil && s.Request.Columns != nil {
		f.Add(here.To("request"), "it has a body and columns", "keep the body for JSON, or the columns for a table")
	}
	f.List = append(f.List, remote.CheckTemplate(s.Request.Body, def, here.To("request", "body"), false)...)
	for k, c := range s.Request.Columns {
		f.List = append(f.List, remote.CheckTemplate(c.Value, def, here.To("request", "columns", k, "value"), false)...)
	}
	for _, e := range []struct {
		at   definition.Path
		text string
	}{
		{here.To("request", "ending"), s.Request.Ending}, {here.To("result", "ending"), s.Result.Ending},
		{here.To("result", "marker"), s.Result.Marker},
	} {
		if e.text != "" && (!strings.HasPrefix(e.text, ".") || strings.ContainsAny(e.text, `/\`)) {
			f.Add(e.at, fmt.Sprintf("%q is not the ending of a name", e.text), `begin it with a point, as in ".json"`)
		}
	}
	result := here.To("result")
	place := f.Pointer
	if s.Result.table() {
		place = func(definition.Path, string) {} // any name of a column
	}
	place(result.To("id"), s.Result.ID)
	if s.Result.State != nil {
		f.State(result.To("state"), s.Result.State, place)
	}
	f.Values(result, &s.Result.Values, place)
	for k, pattern := range s.Result.Files {
		f.List = append(f.List, remote.CheckTemplate(pattern, def, result.To("files", k), false)...)
		if _, err := filepath.Match(pattern, ""); err != nil || !filepath.IsLocal(pattern) {
			f.Add(result.To("files", k), fmt.Sprintf("%q is not a pattern of names in the results", pattern), `write it as "{name}*.png"`)
		}
		if !strings.Contains(pattern, "{name}") {
			f.Add(result.To("files", k), fmt.Sprintf("%q has nothing of the command in it: the files of others would be taken", pattern), `write it as "{name}*.png"`)
		}
	}
	return f.List
}

// Words implements definition.Settings.
func (s *Settings) Words(*definition.Campaign) string {
	return fmt.Sprintf("%s, by files in %s", s.Device.Name, s.Folder)
}

// Remarks implements definition.Remarkable.
func (s *Settings) Remarks(folder string, here definition.Path) []string {
	d := device{Settings: *s, root: input.Path(folder, s.Folder)}
	if err := d.there(); err != nil {
		return []string{fmt.Sprintf("%s: %v", here.To("folder"), err)}
	}
	return nil
}
