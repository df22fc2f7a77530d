// Package schemas holds the JSON Schemas of everything campaignd reads and
// writes as JSON, generated from the Go types of package events and embedded:
//
//   - campaign.json, the campaign file, short forms included;
//   - lab.json, the lab file;
//   - KIND.vN.json, the payload of each kind and version of event;
//   - event.json, the CloudEvents envelope;
//   - view.json, what programs are shown of a campaign.
//
// An editor with yaml-language-server completes and checks a campaign file that
// begins with
//
//	# yaml-language-server: $schema=campaign.json
//
// Payload schemas allow members they do not know: a newer campaignd may add
// optional ones without raising the version. Those of the campaign file and the
// lab file do not.
//
// After a change of package events, `go generate ./schemas` writes the files
// anew, and the dataclasses of the Python package; a test fails until that is done. The schema of an older version of a
// kind is kept as it was.
package schemas

import (
	"embed"
	"fmt"

	"github.com/campaignd/campaignd/events"
)

//go:generate go test -run ^TestCurrent$ . -args -update
//go:generate go test -run ^TestPython$ . -args -update

//go:embed *.json
var files embed.FS

// Campaign returns the schema of the campaign file.
func Campaign() []byte { return read("campaign.json") }

// Lab returns the schema of the lab file.
func Lab() []byte { return read("lab.json") }

// Envelope returns the schema of the CloudEvents form of an event: what
// [events.MarshalCloudEvent] writes.
func Envelope() []byte { return read("event.json") }

// View returns the schema of what programs are shown of a campaign.
func View() []byte { return read("view.json") }

// Event returns the schema of a kind's payload; ok is false for a kind or
// version that does not exist.
func Event(kind events.Kind, version int) (schema []byte, ok bool) {
	schema, err := files.ReadFile(EventFile(kind, version))
	return schema, err == nil
}

// EventFile returns the file name of a kind's schema:
// "experiment.measured.v1.json".
func EventFile(kind events.Kind, version int) string {
	return fmt.Sprintf("%s.v%d.json", kind, version)
}

// File returns the schema in a file: "view.json".
func File(name string) (schema []byte, ok bool) {
	schema, err := files.ReadFile(name)
	return schema, err == nil
}

func read(name string) []byte {
	schema, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the files are part of the program
	}
	return schema
}
