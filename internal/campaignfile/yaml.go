package campaignfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/internal/plaintext"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// place is where something stands in the file, both from 1.
type place struct{ line, column int }

// maxNodes bounds the size of a file after its aliases are written out.
const maxNodes = 200_000

// readYAML turns a YAML document into maps, slices, strings, booleans, nulls and
// json.Numbers, with the place of everything by path. The tree is nil where the
// file has no document that could be looked at further.
func readYAML(data []byte) (tree map[string]any, places map[string]place, faults []Fault) {
	if f := Bounds(data); f != nil {
		return nil, nil, []Fault{*f}
	}
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		f := Fault{Problem: "this is not YAML: " + err.Error()}
		var located yaml.Error
		if errors.As(err, &located) {
			f.Problem = "this is not YAML: " + located.GetMessage()
			if t := located.GetToken(); t != nil && t.Position != nil {
				f.Line, f.Column = t.Position.Line, t.Position.Column
				switch {
				case strings.Contains(f.Problem, "'\t'"):
					f.Problem, f.Advice = "this is not YAML: a tab stands where the line is indented", "indent with spaces"
				case strings.Contains(f.Problem, "must be specified"):
					f.Advice = "a bracket that was opened before this place is not closed"
				}
			}
		}
		return nil, nil, []Fault{f}
	}
	r := yamlReader{places: map[string]place{}, anchors: map[string]ast.Node{}}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if _, empty := doc.Body.(*ast.CommentGroupNode); empty {
			continue
		}
		if body != nil {
			r.fault(nil, doc.Body, "the file holds more than one document", "describe one campaign in one file, without further --- lines")
			continue
		}
		body = doc.Body
	}
	if body == nil {
		return nil, nil, []Fault{{Problem: "the file is empty", Advice: "begin with name:, parameters:, objective:, budget: and instrument:; examples/electrolyte.yaml shows how"}}
	}
	value, ok := r.value(nil, body)
	if r.nodes > maxNodes { // what was not read is not missing: nothing more can be said
		return nil, nil, r.faults[len(r.faults)-1:]
	}
	tree, isMap := value.(map[string]any)
	if ok && !isMap {
		r.fault(nil, body, "a campaign file is a mapping (key: value), and this is "+describe(value), "begin with name:, parameters:, objective:, budget: and instrument:; examples/electrolyte.yaml shows how")
	}
	return tree, r.places, r.faults
}

type yamlReader struct {
	places  map[string]place
	anchors map[string]ast.Node
	open    []string // aliases being written out
	nodes   int
	faults  []Fault
}

func (r *yamlReader) fault(p path, n ast.Node, problem, advice string) {
	f := fault(p, problem, advice)
	if where, ok := placeOf(n); ok {
		f.Line, f.Column = where.line, where.column
	}
	r.faults = append(r.faults, f)
}

func placeOf(n ast.Node) (place, bool) {
	var t *token.Token
	switch n := n.(type) {
	case nil:
	case *ast.MappingNode:
		if len(n.Values) > 0 && !n.IsFlowStyle {
			return placeOf(n.Values[0].Key)
		}
		t = n.Start
	case *ast.MappingValueNode:
		return placeOf(n.Key)
	default:
		t = n.GetToken()
	}
	if t == nil || t.Position == nil {
		return place{}, false
	}
	return place{t.Position.Line, t.Position.Column}, true
}

// mark notes where the value at p stands.
func (r *yamlReader) mark(p path, n ast.Node) {
	if where, ok := placeOf(n); ok && len(r.open) == 0 {
		r.places[p.key()] = where
	}
}

// exponent matches the numbers of YAML's core schema that the parser takes for
// text: 1e-3 without a point.
var exponent = regexp.MustCompile(`^[-+]?[0-9]+[eE][-+]?[0-9]+$`)

// value reads a node; ok is false if it was faulty and is left out.
func (r *yamlReader) value(p path, n ast.Node) (value any, ok bool) {
	if r.nodes > maxNodes {
		return nil, false
	}
	if r.nodes++; r.nodes > maxNodes {
		problem, advice := "the file is too large once its aliases are written out", "write less of it with aliases"
		if len(r.anchors) == 0 {
			problem, advice = fmt.Sprintf("the file holds more than %d values", maxNodes), "long lists of compositions go into a CSV file"
		}
		r.fault(p, n, problem, advice)
		return nil, false
	}
	switch n := n.(type) {
	case *ast.NullNode:
		return nil, true // its place is that of its key
	case *ast.MappingNode:
		r.mark(p, n)
		return r.mapping(p, n.Values)
	case *ast.MappingValueNode:
		r.mark(p, n)
		return r.mapping(p, []*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		r.mark(p, n)
		list := make([]any, 0, len(n.Values))
		for i, item := range n.Values {
			if v, ok := r.value(p.to(i), item); ok {
				list = append(list, v)
			} else {
				list = append(list, nil)
			}
		}
		return list, true
	case *ast.AnchorNode:
		r.anchors[n.Name.String()] = n.Value
		return r.value(p, n.Value)
	case *ast.AliasNode:
		return r.alias(p, n)
	}
	r.mark(p, n)
	switch n := n.(type) {
	case *ast.StringNode:
		if n.Token != nil && n.Token.Type == token.StringType && exponent.MatchString(n.Value) {
			x, err := strconv.ParseFloat(n.Value, 64)
			if err != nil {
				r.fault(p, n, n.Value+" is too large a number", "")
				return nil, false
			}
			return json.Number(strconv.FormatFloat(x, 'g', -1, 64)), true
		}
		return n.Value, r.printable(p, n, n.Value)
	case *ast.LiteralNode:
		return n.Value.Value, r.printable(p, n, n.Value.Value)
	case *ast.BoolNode:
		return n.Value, true
	case *ast.IntegerNode:
		switch v := n.Value.(type) {
		case int64:
			return json.Number(strconv.FormatInt(v, 10)), true
		case uint64:
			return json.Number(strconv.FormatUint(v, 10)), true
		}
		r.fault(p, n, fmt.Sprintf("%s is too large a number", n.Token.Value), "")
		return nil, false
	case *ast.FloatNode:
		if math.IsInf(n.Value, 0) || math.IsNaN(n.Value) {
			r.fault(p, n, fmt.Sprintf("%s is too large a number", n.Token.Value), "")
			return nil, false
		}
		return json.Number(strconv.FormatFloat(n.Value, 'g', -1, 64)), true
	case *ast.InfinityNode, *ast.NanNode:
		r.fault(p, n, n.GetToken().Value+" is not a finite number", "where there is no limit, leave the key out")
		return nil, false
	case *ast.TagNode:
		r.fault(p, n, "tags ("+n.Start.Value+") are not used in campaign files", "remove the tag")
		return nil, false
	}
	r.fault(p, n, "this cannot stand in a campaign file", "")
	return nil, false
}

// printable refuses a text that could rewrite a terminal or turn what is beside it
// around. Tabs and newlines are white space.
func (r *yamlReader) printable(p path, n ast.Node, text string) bool {
	c, offset := plaintext.Find(strings.ReplaceAll(text, "\t", " "))
	if offset >= 0 {
		r.fault(p, n, fmt.Sprintf("the text holds a character that cannot be seen, U+%04X (%s)", c, plaintext.Name(c)), "remove it")
	}
	return offset < 0
}

func (r *yamlReader) alias(p path, n *ast.AliasNode) (any, bool) {
	name := n.Value.String()
	target, ok := r.anchors[name]
	if !ok {
		r.fault(p, n, fmt.Sprintf("there is no anchor &%s before this alias", name), "")
		return nil, false
	}
	for _, open := range r.open {
		if open == name {
			r.fault(p, n, fmt.Sprintf("the alias *%s stands inside its own anchor", name), "")
			return nil, false
		}
	}
	r.mark(p, n)
	r.open = append(r.open, name)
	value, ok := r.value(p, target)
	r.open = r.open[:len(r.open)-1]
	return value, ok
}

func (r *yamlReader) mapping(p path, entries []*ast.MappingValueNode) (any, bool) {
	m := make(map[string]any, len(entries))
	seen := map[string]place{}
	var merged []map[string]any
	for _, entry := range entries {
		if _, merge := entry.Key.(*ast.MergeKeyNode); merge {
			// A merge brings keys that the mapping itself does not have.
			value, ok := r.value(p, entry.Value)
			if source, isMap := value.(map[string]any); isMap {
				merged = append(merged, source)
			} else if ok {
				r.fault(p, entry.Key, "<< needs the alias of a mapping", "")
			}
			continue
		}
		name := keyName(entry.Key)
		where, _ := placeOf(entry.Key)
		if first, twice := seen[name]; twice {
			r.fault(p.to(name), entry.Key, fmt.Sprintf("the key %q stands here twice", name), fmt.Sprintf("it is on line %d already; keep one of them", first.line))
			continue
		}
		seen[name] = where
		if c, offset := plaintext.Find(name); offset >= 0 {
			r.fault(p.to(name), entry.Key, fmt.Sprintf("the key holds a character that cannot be seen, U+%04X (%s)", c, plaintext.Name(c)), "remove it")
			continue
		}
		at := p.to(name)
		if len(r.open) == 0 {
			r.places[at.key()] = where // for a null or faulty value
		}
		if value, ok := r.value(at, entry.Value); ok {
			m[name] = value
		}
		if len(r.open) == 0 {
			r.places[at.to(keyStep{}).key()] = where
		}
	}
	for _, source := range merged {
		for name, value := range source {
			if _, own := seen[name]; !own {
				m[name] = value
			}
		}
	}
	return m, true
}

// keyStep, at the end of a path, stands for the key of the field.
type keyStep struct{}

func keyName(n ast.MapKeyNode) string {
	if s, ok := n.(*ast.StringNode); ok {
		return s.Value
	}
	return n.String()
}

// describe names the type of a value for a message.
func describe(value any) string {
	switch value.(type) {
	case nil:
		return "empty"
	case bool:
		return "true or false"
	case string:
		return "text"
	case []any:
		return "a list"
	case map[string]any:
		return "a mapping"
	}
	return "a number"
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
