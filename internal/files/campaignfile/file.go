// Package campaignfile reads campaign files: strict YAML that describes a
// campaign. It checks them against the published schema and for meaning, and
// reports every fault at once, with its place and a remedy.
//
//	file, err := campaignfile.Read(registry, "electrolyte.yaml")
//	// *yamltree.Error: every fault with its line, column and remedy
//	file.Definition // complete, ready to be recorded with file.Source
//
// Reading takes five steps: YAML becomes a tree with places ([yamltree.Read]);
// references to the lab file are written out (refer.go), then short forms
// (short.go); the JSON Schema of package schemas is checked (schema.go); and
// the tree becomes a [definition.Campaign], which [Complete] fills with every
// default and [Validate] checks.
//
// A campaign under way changes only by an amendment: [Diff] finds the differences and [Amend]
// decides which are allowed; [Meant] and [File.Begun] keep defaults that have changed since
// from looking like changes of the person's. [Sound] checks a definition that a program sends.
// [Explain] puts the meaning of a definition into words, and [Remarks] lists what its author
// probably did not mean.
package campaignfile

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/ground/input"
)

// File is a campaign file that was read without a fault.
type File struct {
	// Definition has every default written out.
	Definition definition.Campaign
	// Source is the file as it was read. If it refers to a lab file, that file's entries for
	// the names are added at its end, so that Source alone gives Definition, without a lab
	// file.
	Source string

	said   definition.Campaign // what the file says, without defaults
	shared resolved            // what the lab declares of its stocks and places
}

// Alone is the definition of a campaign that has the lab for itself: with the stocks and places that the
// lab file declares in place of references to them. A rehearsal has no log of the lab.
func (f *File) Alone() *definition.Campaign {
	def := f.Definition
	def.Stocks, def.Places = maps.Clone(def.Stocks), slices.Clone(def.Places)
	maps.Copy(def.Stocks, f.shared.stocks)
	for i, p := range def.Places {
		if p.Lab != "" {
			def.Places[i] = definition.Place{Name: p.Name, Room: f.shared.rooms[p.Lab]}
		}
	}
	return &def
}

// Read reads the campaign file at path. A file that cannot be read gives the
// error of the operating system; one with faults gives an *[yamltree.Error].
// Files that the campaign file names are looked for relative to it, but not
// opened.
func Read(reg registry.Registry, path string) (*File, error) {
	data, err := input.ReadText(path, yamltree.MaxSize)
	if err != nil {
		return nil, fmt.Errorf("the campaign file cannot be read: %w", err)
	}
	// A missing table or program is found here, before a campaign is begun.
	further := func(def definition.Campaign) []yamltree.Fault {
		return checkFiles(reg, def,
			filepath.Dir(path))
	}
	return parse(context.Background(), reg, path, data, inFolder(reg, filepath.Dir(path)), further)
}

// Parse reads a campaign file from memory; messages call it name. Unlike [Read] it does not
// look for files that the campaign file names, nor for a lab file.
func Parse(reg registry.Registry, name string, data []byte) (*File, error) {
	return ParseIn(context.Background(), reg, nil, name, data)
}

// ParseIn is [Parse] in a lab, whose instruments and experts the campaign file can name; nil
// for none. A server reads campaign files with it: the lab file is its own, and it must not
// read files named by the sender.
//
// It fails with the error of ctx once that is done: constraints of some kilobytes can
// take minutes.
func ParseIn(ctx context.Context, reg registry.Registry, lab *labfile.File, name string, data []byte) (*File, error) {
	return parse(ctx, reg, name, data, of(lab), noFurther)
}

// parse performs all steps of reading; from resolves names of the lab, check is a further check
// of the complete definition.
//
// A tree that could not be read at all has only its faults of syntax; all later
// steps collect theirs and are reported together.
func parse(
	ctx context.Context, reg registry.Registry, name string, data []byte, from source,
	check func(definition.Campaign) []yamltree.Fault,
) (*File, error) {
	data = input.Text(data)
	root, faults := yamltree.Read(data, Format)
	if root == nil {
		return nil, yamltree.NewError(name, data, consequence, faults)
	}
	refers, err := resolve(reg, root, from)
	if err != nil {
		return nil, err
	}
	def, said, faults := define(ctx, reg, refers, faults, check)
	if err := ctx.Err(); err != nil {
		return nil, err // not all was checked
	}
	if len(faults) > 0 {
		return nil, yamltree.NewError(name, data, consequence, faults)
	}
	source, err := selfContained(string(data), root, refers.used)
	if err != nil {
		return nil, err
	}
	return &File{Definition: def, Source: source, said: said, shared: refers}, nil
}

// Format is the name of campaign files in yamltree's messages.
var Format = yamltree.Format{
	Name:    "a campaign file",
	Subject: "campaign",
	Begin:   "begin with name:, parameters:, objective:, budget: and instrument:; examples/electrolyte.yaml shows how",
}

// consequence ends the message of a file with faults.
const consequence = "nothing was changed"

// Define returns the campaign that a tree describes, and its faults; with faults the definition
// is empty. The tree is that of a campaign file, or composed from parts of several, as studies
// do. A fault has the place and path of the nearest node that stands in a file; without such a
// node it has no place, and its path is that within the tree.
func Define(reg registry.Registry, root *yamltree.Node) (definition.Campaign, []yamltree.Fault) {
	refers, err := resolve(reg, root, noLab())
	if err != nil {
		return definition.Campaign{}, []yamltree.Fault{{Message: err.Error()}}
	}
	def, _, faults := define(context.Background(), reg, refers, nil, noFurther)
	return def, faults
}

// noFurther checks nothing. It is for definitions read without a folder, where no further files
// can be looked for.
func noFurther(definition.Campaign) []yamltree.Fault { return nil }

// define is [Define] for a tree whose references are written out, given the faults of the steps
// before, and with a further check of the complete definition. It returns the definition, the
// tree's own part of it without defaults, and all faults.
//
// Its order: references and short forms are written out; faults of form are collected, and the
// broken parts are taken out of the tree; the rest is decoded, completed and checked for
// meaning. A fault of meaning at a place that has one of form is left out, as it is mostly its
// echo.
func define(
	ctx context.Context, reg registry.Registry, refers resolved, faults []yamltree.Fault,
	check func(definition.Campaign) []yamltree.Fault,
) (definition.Campaign, definition.Campaign, []yamltree.Fault) {
	root := withStages(withProgram(refers.root))
	tree := root.Plain().(map[string]any)
	expand(reg, tree)
	var syntax []path // where a fault of form is
	for _, f := range faults {
		syntax = append(syntax, f.Path)
	}
	for _, f := range refers.faults {
		syntax = append(syntax, f.at)
		if !f.implied {
			faults = append(faults, f.Fault)
		}
	}
	for _, f := range ambiguous(reg, tree) {
		faults = append(faults, placed(root, f, f.Path, false))
	}
	for _, f := range checkSchema(reg, tree) {
		if f.missing && unread(root, f.at) {
			continue // what could not be read is not missing
		}
		syntax = append(syntax, f.at)
		if !f.implied {
			faults = append(faults, placed(root, f.Fault, f.at, f.onKey))
		}
	}
	if len(faults) > maxSyntax {
		return definition.Campaign{}, definition.Campaign{}, faults
	}

	// Take out the parts that broke the schema, so that the rest can be validated in the same
	// run.
	for _, p := range syntax {
		prune(tree, p)
	}
	var def definition.Campaign
	text, err := json.Marshal(tree)
	if err == nil {
		err = json.Unmarshal(text, &def)
	}
	if err != nil {
		if len(faults) == 0 {
			faults = append(faults, yamltree.Fault{Message: err.Error()})
		}
		return definition.Campaign{}, definition.Campaign{}, faults
	}
	said := def
	def = Complete(reg, def)
	for _, f := range slices.Concat(validate(ctx, reg, def), check(def), labDraws(&def, refers.stocks)) {
		if !echoes(f.Path, syntax) {
			faults = append(faults, placed(root, f, f.Path, false))
		}
	}
	if len(faults) > 0 {
		return definition.Campaign{}, definition.Campaign{}, faults
	}
	return def, said, nil
}

// unread reports whether there is a node at a path that could not be read. Its
// own fault is reported with the syntax. That a key is missing whose value
// could not be read would be said on top of it, and be wrong.
func unread(root *yamltree.Node, p path) bool {
	node, rest := root.Find(p)
	return len(rest) == 0 && node.Faulty
}

// ambiguous reports instruments and experts that name more than one driver or
// channel, and leaves the first, so that the rest can be checked. The schema
// cannot say it in words that help: there a driver is a property like others.
func ambiguous(reg registry.Registry, tree map[string]any) []yamltree.Fault {
	var faults []yamltree.Fault
	instrument := func(here path, value any) {
		if instrument, ok := value.(map[string]any); ok {
			if named := several(instrument, reg.DriverNames()); named != nil {
				faults = append(faults, fault(here, "it names more than one instrument",
					"keep one of "+strings.Join(named, ", ")))
			}
		}
	}
	instrument(at("instrument"), tree["instrument"])
	instruments, _ := tree["instruments"].(map[string]any)
	for _, name := range sortedKeys(instruments) {
		instrument(at("instruments", name), instruments[name])
	}
	experts, _ := tree["experts"].([]any)
	for i := range experts {
		expert, _ := experts[i].(map[string]any)
		if named := several(expert, reg.ChannelNames()); named != nil {
			faults = append(faults, fault(at("experts", i),
				fmt.Sprintf("it names more than one way to ask %v", expert["name"]),
				"keep one of "+strings.Join(named, ", ")))
		}
	}
	return faults
}

// several returns the names that an object has as keys, where they are more
// than one, and deletes all but the first. The first is that of the registry's
// order, so that the same file always has the same faults.
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

// maxSyntax is the number of faults of form above which a file is not validated
// for meaning: most further faults would be consequences of these.
const maxSyntax = 500

// echoes reports whether a fault of meaning at p may be the mere consequence of a fault of form
// at, above or below the same place. It may hide an independent fault; that one shows once the
// other is corrected.
func echoes(p path, syntax []path) bool {
	for _, q := range syntax {
		if p.Within(q) || q.Within(p) {
			return true
		}
	}
	return false
}

// prune removes the entry at p from its mapping; for an entry of a list it
// removes the whole list.
//
// A missing entry is not an error: two faults may lie at one place.
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
				// An entry of a list cannot be removed without moving the
				// others.
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

// checkFiles has the owners of the instrument's and the channels' settings
// check the files that these name, relative to dir. To open them is the driver's
// task when the campaign begins.
func checkFiles(reg registry.Registry, def definition.Campaign, dir string) []yamltree.Fault {
	var faults []yamltree.Fault
	check := func(settings definition.Settings, here path) {
		if s, ok := settings.(definition.Filed); ok {
			faults = append(faults, faultsOf(s.CheckFiles(dir, here))...)
		}
	}
	for _, resource := range def.Resources() {
		own := def.For(resource)
		if settings, err := reg.InstrumentSettings(own); err == nil {
			check(settings, definition.PathOf(resource).To(own.Driver().Name))
		}
	}
	for i, e := range def.Experts {
		if settings, err := reg.ExpertSettings(e); err == nil {
			check(settings, at("experts", i, e.Channel.Name))
		}
	}
	return faults
}
