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
	"path/filepath"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/input"
	"github.com/campaignd/campaignd/internal/registry"
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
func Read(reg registry.Registry, path string) (*File, error) {
	data, err := input.Read(path, MaxSize)
	if err != nil {
		return nil, fmt.Errorf("the campaign file cannot be read: %w", err)
	}
	return parse(reg, path, data, func(def definition.Campaign) []Fault { return checkFiles(reg, def, filepath.Dir(path)) })
}

// Parse reads a campaign file from memory; name is what messages call it. Unlike
// [Read] it does not look for files that the campaign file names.
func Parse(reg registry.Registry, name string, data []byte) (*File, error) {
	return parse(reg, name, data, func(definition.Campaign) []Fault { return nil })
}

func parse(reg registry.Registry, name string, data []byte, check func(definition.Campaign) []Fault) (*File, error) {
	tree, places, faults := readYAML(data)
	if tree == nil {
		return nil, newError(name, data, places, faults)
	}
	expand(reg, tree)
	unclear := ambiguous(reg, tree)
	unread := make(map[string]bool, len(faults))
	for _, f := range faults {
		unread[f.at.key()] = true
	}
	for _, f := range checkSchema(reg, tree) {
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
		def = Complete(reg, def)
		syntax := len(faults)
		for _, f := range append(Validate(reg, def), check(def)...) {
			if !echoes(f, faults[:syntax]) {
				faults = append(faults, f)
			}
		}
	}
	if faults = append(faults, unclear...); len(faults) > 0 {
		return nil, newError(name, data, places, faults)
	}
	return &File{Definition: def, Source: string(data)}, nil
}

// ambiguous reports instruments and experts that name more than one driver or
// channel, and leaves the first, so that the rest can be checked.
func ambiguous(reg registry.Registry, tree map[string]any) []Fault {
	var faults []Fault
	if instrument, ok := tree["instrument"].(map[string]any); ok {
		if named := several(instrument, reg.DriverNames()); named != nil {
			faults = append(faults, fault(at("instrument"), "it names more than one instrument",
				"keep one of "+strings.Join(named, ", ")))
		}
	}
	experts, _ := tree["experts"].([]any)
	for i := range experts {
		expert, _ := experts[i].(map[string]any)
		if named := several(expert, reg.ChannelNames()); named != nil {
			faults = append(faults, fault(at("experts", i), fmt.Sprintf("it names more than one way to ask %v", expert["name"]),
				"keep one of "+strings.Join(named, ", ")))
		}
	}
	return faults
}

// several returns the names that an object has as keys, where they are more than one,
// and deletes all but the first.
func several(object map[string]any, names []string) []string {
	var named []string
	for _, name := range names {
		if _, ok := object[name]; ok {
			named = append(named, name)
		}
	}
	if len(named) < 2 {
		return nil
	}
	for _, name := range named[1:] {
		delete(object, name)
	}
	return named
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

// checkFiles asks the owner of the instrument about the files it names.
func checkFiles(reg registry.Registry, def definition.Campaign, dir string) []Fault {
	settings, err := reg.InstrumentSettings(&def)
	if err != nil {
		return nil
	}
	s, ok := settings.(definition.Filed)
	if !ok {
		return nil
	}
	return faultsOf(s.CheckFiles(dir, definition.At("instrument", def.Instrument.Driver.Name)))
}
