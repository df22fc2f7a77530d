package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/invopop/jsonschema"
)

// pythonFile holds the dataclasses of the campaign file for Python.
const pythonFile = "../internal/python/campaignd/schema.py"

// The dataclasses of the Python package are those of campaign.json.
func TestPython(t *testing.T) {
	campaign := new(jsonschema.Schema)
	must.Do(t, json.Unmarshal(Campaign(), campaign))
	want := newPythonWriter(campaign).write()
	if *update {
		must.Do(t, os.WriteFile(pythonFile, want, 0o644))
		return
	}
	got := must.Get(os.ReadFile(pythonFile))(t)
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what campaign.json says: run go generate ./schemas", pythonFile)
	}
}

// pythonWriter writes a class for each object of a schema that has keys.
type pythonWriter struct {
	b       bytes.Buffer
	root    *jsonschema.Schema
	classes map[string]*pythonClass // by the name of the definition
}

type pythonClass struct {
	name, doc string
	fields    []pythonField
	short     []*jsonschema.Schema // what may stand in its place
}

type pythonField struct {
	key      string
	schema   *jsonschema.Schema
	required bool
}

// newPythonWriter collects the classes. Objects within an object, of which there
// is one, get a class that is named after their key.
func newPythonWriter(root *jsonschema.Schema) *pythonWriter {
	w := &pythonWriter{root: root, classes: make(map[string]*pythonClass)}
	for name, s := range root.Definitions {
		class := &pythonClass{name: pythonName(name), doc: s.Description}
		class.collect(s)
		if len(class.fields) > 0 {
			w.classes[name] = class
		}
	}
	for pair := root.Properties.Oldest(); pair != nil; pair = pair.Next() {
		if pair.Value.Properties != nil && pair.Value.Properties.Len() > 0 {
			name := strings.ToUpper(pair.Key[:1]) + pair.Key[1:]
			class := &pythonClass{name: name, doc: pair.Value.Description}
			class.collect(pair.Value)
			w.classes[name] = class
			pair.Value.Ref = "#/$defs/" + name
		}
	}
	return w
}

// collect takes the keys of all objects that a definition may be. A key is
// required where each of them requires it.
func (c *pythonClass) collect(s *jsonschema.Schema) {
	objects := []*jsonschema.Schema{s}
	if s.AnyOf != nil {
		objects = s.AnyOf
	}
	objects = slices.DeleteFunc(slices.Clone(objects), func(o *jsonschema.Schema) bool {
		if o.Type == "object" && o.Properties != nil {
			return false
		}
		if o.Type != "object" && o.Type != "null" {
			c.short = append(c.short, o)
		}
		return true
	})
	for _, o := range objects {
		for pair := o.Properties.Oldest(); pair != nil; pair = pair.Next() {
			if slices.ContainsFunc(c.fields, func(f pythonField) bool { return f.key == pair.Key }) {
				continue
			}
			required := !slices.ContainsFunc(objects, func(o *jsonschema.Schema) bool {
				return !slices.Contains(o.Required, pair.Key)
			})
			c.fields = append(c.fields, pythonField{pair.Key, pair.Value, required})
		}
	}
}

// pythonName is the name of a definition as a class: MrLpfDuel, Quantity.
func pythonName(name string) string {
	name = name[strings.LastIndex(name, "_")+1:]
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimSuffix(name, "Def"), "-") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// pythonKeywords are the keys that Python keeps for itself.
var pythonKeywords = []string{"from", "is", "lambda"}

// pythonKey is a key as the name of a field.
func pythonKey(key string) string {
	name := strings.ReplaceAll(key, "-", "_")
	if slices.Contains(pythonKeywords, key) {
		name += "_"
	}
	return name
}

const pythonHead = `"""The campaign file as dataclasses: every key of schemas/campaign.json has a field.

Written by go generate ./schemas; not to be edited. What is None is left out of the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from .parts import Part, part

if TYPE_CHECKING:
    from .definition import Sought
`

func (w *pythonWriter) write() []byte {
	w.b.WriteString(pythonHead)
	all := make([]*pythonClass, 0, len(w.classes))
	for _, class := range w.classes {
		all = append(all, class)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].name < all[j].name })
	whole := &pythonClass{name: "Definition", doc: w.root.Description}
	whole.collect(w.root)
	for _, class := range append(all, whole) {
		w.class(class)
	}
	w.keys(whole)
	return w.b.Bytes()
}

func (w *pythonWriter) class(c *pythonClass) {
	fmt.Fprintf(&w.b, "\n\n@part(kw_only=True)\nclass %s(Part):\n", c.name)
	w.doc(c.doc)
	for _, f := range c.fields {
		name, of := pythonKey(f.key), w.typeOf(f.schema)
		w.b.WriteByte('\n')
		union := strings.Split(of, " | ")
		if !f.required {
			union = append(union, "None")
		}
		value := ""
		switch {
		case name != f.key && f.required:
			value = fmt.Sprintf("field(metadata={%q: %q})", "key", f.key)
		case name != f.key:
			value = fmt.Sprintf("field(default=None, metadata={%q: %q})", "key", f.key)
		case !f.required:
			value = "None"
		}
		if value != "" {
			value = " = " + value
		}
		fmt.Fprintf(&w.b, "    %s: %s%s\n", name, pythonUnion(union, len(name)+len(value)), value)
		w.doc(f.schema.Description)
	}
}

// pythonUnion writes a union of types, on several lines where one would be too
// long with the rest of it.
func pythonUnion(of []string, rest int) string {
	line := strings.Join(of, " | ")
	if rest+len(line) <= 90 {
		return line
	}
	return "(\n        " + strings.Join(of, "\n        | ") + "\n    )"
}

// keys writes the keys of the file as the keywords of a function.
func (w *pythonWriter) keys(c *pythonClass) {
	w.b.WriteString("\n\nclass Keys(TypedDict, total=False):\n" +
		"    \"\"\"The keys of a campaign file as keywords; the seed is one of its own.\"\"\"\n\n")
	for _, f := range c.fields {
		if f.key != "seed" {
			union := append(strings.Split(w.typeOf(f.schema), " | "), "None")
			fmt.Fprintf(&w.b, "    %s: %s\n", pythonKey(f.key), pythonUnion(union, len(f.key)))
		}
	}
}

// typeOf is the type of a value: of a part its class, or a mapping with the
// same keys, or its short form.
func (w *pythonWriter) typeOf(s *jsonschema.Schema) string {
	var of []string
	add := func(t string) {
		if t != "" && !slices.Contains(of, t) {
			of = append(of, t)
		}
	}
	switch {
	case s.Ref != "":
		name := strings.TrimPrefix(s.Ref, "#/$defs/")
		if name == "Point" {
			return "Mapping[str, float | str]"
		}
		class := w.classes[name]
		if class == nil { // without keys
			return "Mapping[str, Any]"
		}
		add(class.name)
		if name == "Objective" || name == "Aim" {
			add("Sought")
		}
		add("Mapping[str, Any]")
		for _, short := range class.short {
			for t := range strings.SplitSeq(w.typeOf(short), " | ") {
				add(t)
			}
		}
	case s.AnyOf != nil:
		for _, one := range s.AnyOf {
			add(w.typeOf(one))
		}
	case s.Enum != nil && s.Type == "string":
		var names []string
		for _, name := range s.Enum {
			names = append(names, fmt.Sprintf("%q", name))
		}
		if t := "Literal[" + strings.Join(names, ", ") + "]"; len(t) < 60 {
			return t
		}
		return "str"
	case s.Type == "array":
		return "Sequence[" + w.typeOf(s.Items) + "]"
	case s.Type == "object":
		if s.AdditionalProperties != nil && (s.AdditionalProperties.Type != "" || s.AdditionalProperties.Ref != "") {
			return "Mapping[str, " + w.typeOf(s.AdditionalProperties) + "]"
		}
		return "Mapping[str, Any]"
	case s.Type == "string":
		return "str"
	case s.Type == "number":
		return "float"
	case s.Type == "integer":
		return "int"
	case s.Type == "boolean":
		return "bool"
	case s.Type == "null":
		return ""
	default:
		return "Any"
	}
	return strings.Join(of, " | ")
}

// words are what a line of a docstring is broken between.
var words = regexp.MustCompile(`\S+`)

// doc writes a docstring, 92 columns wide.
func (w *pythonWriter) doc(text string) {
	if text == "" {
		return
	}
	lines, line := []string{}, ""
	for _, word := range words.FindAllString(strings.ReplaceAll(text, `\`, `\\`), -1) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > 88 {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	lines = append(lines, line)
	end := `"""`
	if len(lines) > 1 {
		end = "\n    " + end
	}
	if strings.HasSuffix(lines[len(lines)-1], `"`) && len(lines) == 1 {
		end = " " + end
	}
	fmt.Fprintf(&w.b, "    \"\"\"%s%s\n", strings.Join(lines, "\n    "), end)
}
