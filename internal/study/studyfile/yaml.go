package studyfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/internal/campaignfile"
	"github.com/campaignd/campaignd/internal/plaintext"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// node is a value of the file with its place. Unlike a Go map it keeps the order
// of keys, which is the order in which a study shows its policies.
type node struct {
	path         string // "policies.cobol.next"
	line, column int    // of the value; of the key where it has one
	value        any    // a scalar: nil, bool, string or json.Number
	keys         []string
	fields       map[string]*node // a mapping, where not nil
	items        []*node          // a list, where isList
	isList       bool
}

func (n *node) isMapping() bool { return n.fields != nil }

// plain returns the value as encoding/json would read it.
func (n *node) plain() any {
	switch {
	case n.isMapping():
		m := make(map[string]any, len(n.fields))
		for name, field := range n.fields {
			m[name] = field.plain()
		}
		return m
	case n.isList:
		list := make([]any, len(n.items))
		for i, item := range n.items {
			list[i] = item.plain()
		}
		return list
	}
	return n.value
}

// describe names the type of the value for a message.
func (n *node) describe() string {
	switch n.value.(type) {
	case bool:
		return "true or false"
	case string:
		return "text"
	case json.Number:
		return "a number"
	}
	switch {
	case n.isMapping():
		return "a mapping"
	case n.isList:
		return "a list"
	}
	return "empty"
}

// maxNodes bounds the size of a file after its aliases are written out.
const maxNodes = 100_000

// readYAML returns the file's document as a tree; nil where there is none that
// could be looked at further.
func readYAML(data []byte) (*node, []Fault) {
	if f := campaignfile.Bounds(data); f != nil {
		return nil, []Fault{{Problem: f.Problem, Advice: f.Advice, Line: f.Line, Column: f.Column}}
	}
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		f := Fault{Problem: "this is not YAML: " + err.Error()}
		var located yaml.Error
		if errors.As(err, &located) {
			f.Problem = "this is not YAML: " + located.GetMessage()
			if t := located.GetToken(); t != nil && t.Position != nil {
				f.Line, f.Column = t.Position.Line, t.Position.Column
			}
		}
		return nil, []Fault{f}
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if _, comment := doc.Body.(*ast.CommentGroupNode); doc.Body == nil || comment {
			continue
		}
		if body != nil {
			return nil, []Fault{{Problem: "the file holds more than one document", Advice: "describe one study in one file, without further --- lines"}}
		}
		body = doc.Body
	}
	if body == nil {
		return nil, []Fault{{Problem: "the file is empty", Advice: shape}}
	}
	r := yamlReader{anchors: map[string]ast.Node{}}
	root := r.node("", body)
	if len(r.faults) == 0 && !root.isMapping() {
		r.fault(root, "a study is a mapping (key: value), and this is "+root.describe(), shape)
	}
	return root, r.faults
}

const shape = "begin with name:, seeds:, experiments:, tasks: and policies:; examples/studies shows how"

type yamlReader struct {
	anchors map[string]ast.Node
	open    []string // aliases being written out
	nodes   int
	faults  []Fault
}

func (r *yamlReader) fault(n *node, problem, advice string) {
	r.faults = append(r.faults, n.fault(problem, advice))
}

func placeOf(n ast.Node) (line, column int) {
	var t *token.Token
	switch n := n.(type) {
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
		return 0, 0
	}
	return t.Position.Line, t.Position.Column
}

// exponent matches numbers of YAML's core schema that the parser takes for text.
var exponent = regexp.MustCompile(`^[-+]?[0-9]+[eE][-+]?[0-9]+$`)

func (r *yamlReader) node(path string, n ast.Node) *node {
	out := &node{path: path}
	out.line, out.column = placeOf(n)
	if r.nodes > maxNodes {
		return out
	}
	if r.nodes++; r.nodes > maxNodes {
		r.faults = nil // what is not read is not missing
		r.fault(out, "the file is too large once its aliases are written out", "write less of it, or with fewer aliases")
		return out
	}
	switch n := n.(type) {
	case *ast.NullNode:
	case *ast.MappingNode:
		r.mapping(out, n.Values)
	case *ast.MappingValueNode:
		r.mapping(out, []*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		out.isList = true
		for i, item := range n.Values {
			out.items = append(out.items, r.node(fmt.Sprintf("%s[%d]", path, i), item))
		}
	case *ast.AnchorNode:
		r.anchors[n.Name.String()] = n.Value
		return r.node(path, n.Value)
	case *ast.AliasNode:
		return r.alias(out, n)
	case *ast.StringNode:
		out.value = n.Value
		r.printable(out, n.Value)
		if n.Token != nil && n.Token.Type == token.StringType && exponent.MatchString(n.Value) {
			out.value = json.Number(n.Value)
		}
	case *ast.LiteralNode:
		out.value = n.Value.Value
		r.printable(out, n.Value.Value)
	case *ast.BoolNode:
		out.value = n.Value
	case *ast.IntegerNode:
		out.value = json.Number(fmt.Sprint(n.Value))
	case *ast.FloatNode:
		if math.IsInf(n.Value, 0) || math.IsNaN(n.Value) {
			r.fault(out, "this is not a finite number", "")
			break
		}
		out.value = json.Number(strconv.FormatFloat(n.Value, 'g', -1, 64))
	default:
		r.fault(out, "this cannot stand in a study", "")
	}
	return out
}

// printable refuses a text that could rewrite a terminal or turn what is beside it
// around. Tabs and newlines are white space.
func (r *yamlReader) printable(n *node, text string) {
	if c, offset := plaintext.Find(strings.ReplaceAll(text, "\t", " ")); offset >= 0 {
		r.fault(n, fmt.Sprintf("the text holds a character that cannot be seen, U+%04X (%s)", c, plaintext.Name(c)), "remove it")
	}
}

// alias writes out what an alias stands for; what is in it has the alias's place.
func (r *yamlReader) alias(at *node, n *ast.AliasNode) *node {
	name := n.Value.String()
	target, ok := r.anchors[name]
	switch {
	case !ok:
		r.fault(at, fmt.Sprintf("there is no anchor &%s before this alias", name), "")
		return at
	case slices.Contains(r.open, name):
		r.fault(at, fmt.Sprintf("the alias *%s stands inside its own anchor", name), "")
		return at
	}
	r.open = append(r.open, name)
	out := r.node(at.path, target)
	r.open = r.open[:len(r.open)-1]
	return out
}

func (r *yamlReader) mapping(out *node, entries []*ast.MappingValueNode) {
	out.fields = make(map[string]*node, len(entries))
	var merged []*node
	for _, entry := range entries {
		if _, merge := entry.Key.(*ast.MergeKeyNode); merge {
			source := r.node(out.path, entry.Value)
			if !source.isMapping() {
				r.fault(source, "<< needs the alias of a mapping", "")
				continue
			}
			merged = append(merged, source)
			continue
		}
		name := keyName(entry.Key)
		path := name
		if out.path != "" {
			path = out.path + "." + name
		}
		field := r.node(path, entry.Value)
		field.line, field.column = placeOf(entry.Key)
		r.printable(field, name)
		if first, twice := out.fields[name]; twice {
			r.fault(field, fmt.Sprintf("the key %q stands here twice", name), fmt.Sprintf("it is on line %d already; keep one of them", first.line))
			continue
		}
		out.keys = append(out.keys, name)
		out.fields[name] = field
	}
	for _, source := range merged { // a merge brings keys that the mapping itself does not have
		for _, name := range source.keys {
			if _, own := out.fields[name]; !own {
				out.keys = append(out.keys, name)
				out.fields[name] = source.fields[name]
			}
		}
	}
}

func keyName(n ast.MapKeyNode) string {
	if s, ok := n.(*ast.StringNode); ok {
		return s.Value
	}
	return n.String()
}
