// Package campaignfile reads campaign files: strict YAML that describes a
// campaign, checked against the published schema and for sense, every fault
// reported at once with its place and a way out.
//
// Reading goes through four steps: YAML to a tree with places ([yamltree.Read]),
// short forms to long ones (short.go), the JSON Schema of package schemas
// (schema.go), and into [events.Definition], which [Complete] fills with every
// default and [Validate] checks for sense. [Amend] decides which changes of a
// running campaign are allowed, [Explain] says in words what a definition means.
package campaignfile

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/input"
	"github.com/campaignd/campaignd/internal/yamltree"
)

// File is a campaign file that was read without a fault.
type File struct {
	// Definition has every default written out.
	Definition events.Definition
	// Source is the file as it was read.
	Source string
}

// Read reads the campaign file at path. A file that cannot be read gives the
// error of the operating system; one with faults gives an *[yamltree.Error]. Files that
// the campaign file names are looked for relative to it, but not opened.
func Read(path string) (*File, error) {
	data, err := input.Read(path, yamltree.MaxSize)
	if err != nil {
		return nil, fmt.Errorf("the campaign file cannot be read: %w", err)
	}
	return parse(path, data, func(def events.Definition) []yamltree.Fault { return checkFiles(def, filepath.Dir(path)) })
}

// Parse reads a campaign file from memory; name is what messages call it. Unlike
// [Read] it does not look for files that the campaign file names.
func Parse(name string, data []byte) (*File, error) {
	return parse(name, data, noFurther)
}

func parse(name string, data []byte, check func(events.Definition) []yamltree.Fault) (*File, error) {
	root, faults := yamltree.Read(data, fileFormat)
	if root == nil {
		return nil, yamltree.NewError(name, data, consequence, faults)
	}
	def, faults := define(root, faults, check)
	if len(faults) > 0 {
		return nil, yamltree.NewError(name, data, consequence, faults)
	}
	return &File{Definition: def, Source: string(data)}, nil
}

// fileFormat is that of campaign files.
var fileFormat = yamltree.Format{
	Name:    "a campaign file",
	Subject: "campaign",
	Begin:   "begin with name:, parameters:, objective:, budget: and instrument:; examples/electrolyte.yaml shows how",
}

// consequence ends the message of a file with faults.
const consequence = "nothing was changed"

// Define returns the campaign that a tree describes, which is that of a campaign file or
// was composed from parts of several. Where there are faults the definition is empty. A
// fault has the place and path of the node that is nearest to it and stands in a file; where
// there is none it has no place, and its path is that within the tree.
func Define(root *yamltree.Node) (events.Definition, []yamltree.Fault) {
	return define(root, nil, noFurther)
}

// noFurther checks nothing.
func noFurther(events.Definition) []yamltree.Fault { return nil }

// define has, beside the tree, the faults that were found when it was read, and a further
// check of the complete definition. It returns all faults.
func define(root *yamltree.Node, faults []yamltree.Fault, check func(events.Definition) []yamltree.Fault) (events.Definition, []yamltree.Fault) {
	tree := root.Plain().(map[string]any)
	expand(tree)
	var syntax []path // where a fault of form is
	for _, f := range faults {
		syntax = append(syntax, f.Path)
	}
	for _, f := range checkSchema(tree) {
		if f.missing && unread(root, f.at) {
			continue // what could not be read is not missing
		}
		syntax = append(syntax, f.at)
		if !f.implied {
			faults = append(faults, placed(root, f.Fault, f.at, f.onKey))
		}
	}
	if len(faults) > maxSyntax {
		return events.Definition{}, faults
	}

	// Take out what broke the schema, so that the rest can be checked for sense
	// in the same run.
	for _, p := range syntax {
		prune(tree, p)
	}
	var def events.Definition
	text, err := json.Marshal(tree)
	if err == nil {
		err = json.Unmarshal(text, &def)
	}
	if err != nil {
		if len(faults) == 0 {
			faults = append(faults, yamltree.Fault{Message: err.Error()})
		}
		return events.Definition{}, faults
	}
	def = Complete(def)
	for _, f := range append(Validate(def), check(def)...) {
		if !echoes(f.Path, syntax) {
			faults = append(faults, placed(root, f, f.Path, false))
		}
	}
	if len(faults) > 0 {
		return events.Definition{}, faults
	}
	return def, nil
}

// unread says whether there is a node at a path and it could not be read.
func unread(root *yamltree.Node, p path) bool {
	node, rest := root.Find(p)
	return len(rest) == 0 && node.Faulty
}

// maxSyntax is the number of faults of form above which a file is not checked for sense:
// what would be found are mostly their consequences.
const maxSyntax = 500

// echoes says whether a fault of sense at p may only be the consequence of a fault of
// form at, above or below the same place.
func echoes(p path, syntax []path) bool {
	for _, q := range syntax {
		if p.Within(q) || q.Within(p) {
			return true
		}
	}
	return false
}

// prune removes what stands at p: an entry of a mapping, or of a list the whole
// list.
func prune(tree map[string]any, p path) {
	var node any = tree
	for i, step := range p {
		m, isMap := node.(map[string]any)
		name, isName := step.(string)
		if !isMap || !isName {
			return
		}
		last := i == len(p)-1
		if !last {
			if _, inList := p[i+1].(int); inList {
				// An entry of a list cannot be removed without moving the others.
				list, ok := m[name].([]any)
				k, _ := p[i+1].(int)
				if !ok || k >= len(list) {
					delete(m, name)
					return
				}
				if inner, ok := list[k].(map[string]any); ok && i+2 < len(p) {
					prune(inner, p[i+2:])
					return
				}
				delete(m, name)
				return
			}
		}
		if last {
			delete(m, name)
			return
		}
		node = m[name]
	}
}

func checkFiles(def events.Definition, dir string) []yamltree.Fault {
	if t := def.Instrument.Table; t != nil && t.File != "" {
		file := t.File
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		info, err := os.Stat(file)
		switch {
		case err != nil:
			return []yamltree.Fault{fault(at("instrument", "table", "file"), fmt.Sprintf("there is no file %s", file), "the path is relative to the campaign file")}
		case !info.Mode().IsRegular():
			return []yamltree.Fault{fault(at("instrument", "table", "file"), fmt.Sprintf("%s is not a regular file", file), "name a CSV file; the path is relative to the campaign file")}
		}
	}
	return nil
}
