// Package campaignfile reads campaign files: strict YAML that describes a
// campaign, checked against the published schema and for sense, every fault
// reported at once with its place and a way out.
//
// Reading goes through four steps: YAML to a plain tree with positions (yaml.go),
// short forms to long ones (short.go), the JSON Schema of package schemas
// (schema.go), and into [definition.Campaign], which [Complete] fills with every
// default and [Validate] checks for sense. [Amend] decides which changes of a
// running campaign are allowed, [Explain] says in words what a definition means.
package campaignfile

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/input"
)

// File is a campaign file that was read without a fault.
type File struct {
	// Definition has every default written out.
	Definition definition.Campaign
	// Source is the file as it was read.
	Source string
}

// Read reads the campaign file at path. A file that cannot be read gives the
// error of the operating system; one with faults gives an *[Error]. Files that
// the campaign file names are looked for relative to it, but not opened.
func Read(path string) (*File, error) {
	data, err := input.Read(path, MaxSize)
	if err != nil {
		return nil, fmt.Errorf("the campaign file cannot be read: %w", err)
	}
	return parse(path, data, func(def definition.Campaign) []Fault { return checkFiles(def, filepath.Dir(path)) })
}

// Parse reads a campaign file from memory; name is what messages call it. Unlike
// [Read] it does not look for files that the campaign file names.
func Parse(name string, data []byte) (*File, error) {
	return parse(name, data, func(definition.Campaign) []Fault { return nil })
}

func parse(name string, data []byte, check func(definition.Campaign) []Fault) (*File, error) {
	tree, places, faults := readYAML(data)
	if tree == nil {
		return nil, newError(name, data, places, faults)
	}
	expand(tree)
	unread := make(map[string]bool, len(faults))
	for _, f := range faults {
		unread[f.at.key()] = true
	}
	for _, f := range checkSchema(tree) {
		if !f.missing || !unread[f.at.key()] { // what could not be read is not missing
			faults = append(faults, f)
		}
	}
	if len(faults) > maxSyntax {
		return nil, newError(name, data, places, faults)
	}

	// Take out what broke the schema, so that the rest can be checked for sense
	// in the same run.
	for _, f := range faults {
		prune(tree, f.at)
	}
	var def definition.Campaign
	text, err := json.Marshal(tree)
	if err == nil {
		err = json.Unmarshal(text, &def)
	}
	switch {
	case err != nil && len(faults) == 0:
		faults = append(faults, Fault{Problem: err.Error()})
	case err == nil:
		def = Complete(def)
		syntax := len(faults)
		for _, f := range append(Validate(def), check(def)...) {
			if !echoes(f, faults[:syntax]) {
				faults = append(faults, f)
			}
		}
	}
	if len(faults) > 0 {
		return nil, newError(name, data, places, faults)
	}
	return &File{Definition: def, Source: string(data)}, nil
}

// maxSyntax is the number of faults of form above which a file is not checked for sense:
// what would be found are mostly their consequences.
const maxSyntax = 500

// echoes says whether a fault of sense may only be the consequence of a fault of
// syntax at, above or below the same place.
func echoes(f Fault, syntax []Fault) bool {
	for _, g := range syntax {
		if f.at.within(g.at) || g.at.within(f.at) {
			return true
		}
	}
	return false
}

func checkFiles(def definition.Campaign, dir string) []Fault {
	if t := def.Instrument.Table; t != nil && t.File != "" {
		file := t.File
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		info, err := os.Stat(file)
		switch {
		case err != nil:
			return []Fault{fault(at("instrument", "table", "file"), fmt.Sprintf("there is no file %s", file), "the path is relative to the campaign file")}
		case !info.Mode().IsRegular():
			return []Fault{fault(at("instrument", "table", "file"), fmt.Sprintf("%s is not a regular file", file), "name a CSV file; the path is relative to the campaign file")}
		}
	}
	return nil
}
