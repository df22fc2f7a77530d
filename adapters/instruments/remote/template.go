package remote

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
)

// placeholder stands in a template for a part of the command.
var placeholder = regexp.MustCompile(`\{([^{}]*)\}`)

// parametersName stands for the whole composition, and before a parameter's name.
const parametersName = "parameters"

// parts are those of a command, by the names that templates have for them.
func parts(cmd instruments.Command) map[string]any {
	m := map[string]any{
		"id": cmd.ID, "name": FileName(cmd.ID), "campaign": cmd.Campaign, "experiment": cmd.Experiment,
		"act": cmd.Act, "stage": cmd.Stage, "batch": cmd.Batch,
		"replicate": cmd.Replicate, "handle": cmd.Handle, parametersName: cmd.Parameters,
	}
	for name, v := range cmd.Parameters {
		m[parametersName+"."+name] = v
	}
	return m
}

// Fill returns a template with the parts of a command in it. A text that is a placeholder and nothing
// else becomes the part with its type: "{parameters.salt}" a number.
func Fill(template any, cmd instruments.Command) any {
	switch t := template.(type) {
	case string:
		if m := placeholder.FindStringSubmatch(t); m != nil && m[0] == t {
			return parts(cmd)[m[1]]
		}
		return Text(t, cmd, nil)
	case map[string]any:
		filled := make(map[string]any, len(t))
		for k, v := range t {
			filled[k] = Fill(v, cmd)
		}
		return filled
	case []any:
		filled := make([]any, len(t))
		for k, v := range t {
			filled[k] = Fill(v, cmd)
		}
		return filled
	}
	return template
}

// Text fills a template that is a text; escape, where it is not nil, writes each part for its place.
func Text(template string, cmd instruments.Command, escape func(string) string) string {
	known := parts(cmd)
	return placeholder.ReplaceAllStringFunc(template, func(s string) string {
		text := textOf(known[s[1:len(s)-1]])
		if escape != nil {
			text = escape(text)
		}
		return text
	})
}

// textOf is a part, or a value of JSON, as text, with every digit of a number.
func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case definition.Value:
		if x, number := v.Float(); number {
			return strconv.FormatFloat(x, 'g', -1, 64)
		}
		return v.Name()
	}
	text, _ := json.Marshal(v) // a json.Number keeps its digits
	return string(text)
}

// CheckTemplate finds placeholders that stand for nothing. handle says that the device's handle is
// known where the template is filled.
func CheckTemplate(template any, def *definition.Campaign, here definition.Path, handle bool) (faults []definition.Fault) {
	switch t := template.(type) {
	case string:
		point := definition.Point{}
		for _, p := range def.Parameters {
			point[p.Name] = definition.Value{}
		}
		known := parts(instruments.Command{Parameters: point})
		if !handle {
			delete(known, "handle")
		}
		for _, m := range placeholder.FindAllStringSubmatch(t, -1) {
			if _, ok := known[m[1]]; !ok {
				faults = append(faults, definition.Fault{
					At: here, Problem: fmt.Sprintf("%s stands for nothing of a command", m[0]),
					Unknown: m[1], Known: slices.Sorted(maps.Keys(known)),
				})
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(t)) {
			faults = append(faults, CheckTemplate(t[k], def, here.To(k), handle)...)
		}
	case []any:
		for k, v := range t {
			faults = append(faults, CheckTemplate(v, def, here.To(k), handle)...)
		}
	}
	return faults
}

// FileName is a command's identifier as the name of a file on any system: letters, digits, "-" and
// "_" as they are, "." for the slashes, and %XX for each byte of anything else, so that no two
// identifiers share a name.
func FileName(id string) string {
	var b strings.Builder
	for _, c := range []byte(id) {
		switch {
		case c == '/':
			b.WriteByte('.')
		case c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
