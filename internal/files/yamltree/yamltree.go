// Package yamltree reads YAML into a tree of nodes that know their place in the
// file, and reports every fault at once, each with its place, the line it is in
// and a remedy.
//
// Reading is within bounds (bounds.go) and strict: a key that stands twice, a
// tag, a number that is not finite and text that could rewrite a terminal are
// faults. An alias is replaced by its value, with the place of the alias; a
// merge (<<) adds the keys that a mapping does not have itself, the first of
// several.
//
// A scalar without quotes is typed once, here (scalar.go): true, false and
// null, decimal and other numbers, and text for everything else, so that yes,
// on and dates are text. Quoted scalars are always text.
//
// [Node.Decode] decodes a tree, or a part of it, into a struct and holds it to
// the constraints in its tags. Trees can be composed from parts of others: a
// node remembers where it was written.
package yamltree

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/internal/ground/input"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Format is a kind of file, in the words of its faults.
type Format struct {
	// Name is the kind of file: "a campaign file".
	Name string
	// Subject is the described thing: "campaign".
	Subject string
	// Begin is the remedy for a file of another kind: how to begin.
	Begin string
}

// Read returns the one document of a file, which is a mapping; nil if it is missing or cannot be
// processed further. Faults are in no order, see [NewError].
func Read(data []byte, format Format) (*Node, []Fault) {
	// The parser misreads some lines that end in a carriage return, and
	// miscounts others.
	data = []byte(lineBreaks.Replace(string(input.Text(data))))
	if f := outOfBounds(data); f != nil {
		return nil, []Fault{*f}
	}
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, []Fault{notYAML(err)}
	}
	r := reader{anchors: map[string]*Node{}}
	var body ast.Node
	for _, doc := range file.Docs {
		if _, comment := doc.Body.(*ast.CommentGroupNode); doc.Body == nil || comment {
			continue
		}
		if body != nil {
			r.fault(nil, placeOf(doc.Body), "the file holds more than one document",
				"describe one "+format.Subject+" in one file, without further --- lines")
			continue
		}
		body = doc.Body
	}
	if body == nil {
		return nil, []Fault{{Message: "the file is empty", Remedy: format.Begin}}
	}
	root := r.node(nil, body, Place{})
	if r.exceeded { // unread parts are not missing: nothing more can be checked
		return nil, r.faults[len(r.faults)-1:]
	}
	if !root.IsMapping() {
		if !root.Faulty {
			r.fault(nil, root.Place, format.Name+" is a mapping (key: value), and this is "+root.Describe(),
				format.Begin)
		}
		return nil, r.faults
	}
	return root, r.faults
}

// notYAML returns the fault that the parser reports. Only two of the parser's messages need better
// words; the others are passed on.
func notYAML(err error) Fault {
	f := Fault{Message: "this is not YAML: " + err.Error()}
	var located yaml.Error
	if !errors.As(err, &located) {
		return f
	}
	f.Message = "this is not YAML: " + located.GetMessage()
	t := located.GetToken()
	if t == nil || t.Position == nil {
		return f
	}
	f.Place = Place{t.Position.Line, t.Position.Column}
	switch {
	case strings.Contains(f.Message, "'\t'"):
		f.Message = "this is not YAML: a tab stands where the line is indented"
		f.Remedy = "indent with spaces"
	case strings.Contains(f.Message, "must be specified"):
		f.Remedy = "a bracket that was opened before this place is not closed"
	}
	return f
}

// placeOf returns where the text of a node begins: a mapping in lines begins at its first key.
func placeOf(n ast.Node) Place {
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
		return Place{}
	}
	return Place{t.Position.Line, t.Position.Column}
}

// reader makes nodes of the parser's syntax tree.
type reader struct {
	anchors  map[string]*Node
	open     []string // anchors whose values are being read
	nodes    int
	exceeded bool // the last fault is that the file is too large
	faults   []Fault
}

// fault reports a fault; the reading goes on.
func (r *reader) fault(p Path, where Place, message, remedy string) {
	r.faults = append(r.faults, Fault{Place: where, Path: p, Message: message, Remedy: remedy})
}

// count counts a node at p; false if there are too many, or it lies too deep, which only aliases
// can bring about.
func (r *reader) count(p Path, where Place) bool {
	r.nodes++
	switch {
	case r.exceeded:
	case len(p) > maxDepth:
		r.exceeded = true
		r.fault(p, where,
			fmt.Sprintf("lists and mappings lie more than %d deep in each other once aliases are written out",
				maxDepth),
			"write less of it with aliases")
	case r.nodes > maxNodes && len(r.anchors) == 0:
		r.exceeded = true
		r.fault(p, where, fmt.Sprintf("the file holds more than %d values", maxNodes),
			"long lists of compositions go into a CSV file")
	case r.nodes > maxNodes:
		r.exceeded = true
		r.fault(p, where, "the file is too large once its aliases are written out",
			"write less of it with aliases")
	}
	return !r.exceeded
}

// node reads a value. above is the place of an empty value: that of its key, or of its list.
//
// Anchors are remembered once their value has been read, so that an alias within it is found out.
func (r *reader) node(p Path, n ast.Node, above Place) *Node {
	out := &Node{Path: p, Place: placeOf(n)}
	if !r.count(p, out.Place) {
		out.Faulty = true
		return out
	}
	switch n := n.(type) {
	case *ast.NullNode:
		out.Place = above
	case *ast.MappingNode:
		r.mapping(out, n.Values)
	case *ast.MappingValueNode:
		r.mapping(out, []*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		out.kind = listKind
		for i, item := range n.Values {
			out.Items = append(out.Items, r.node(p.To(i), item, out.Place))
		}
	case *ast.AnchorNode:
		name := n.Name.String()
		r.open = append(r.open, name)
		out = r.node(p, n.Value, above)
		r.open = r.open[:len(r.open)-1]
		r.anchors[name] = out
	case *ast.AliasNode:
		return r.alias(out, n.Value.String())
	default:
		var message, remedy string
		out.Value, message, remedy = scalar(n)
		if message == "" {
			if text, ok := out.Value.(string); ok {
				message, remedy = unprintable("text", text)
			}
		}
		if message != "" {
			r.fault(p, out.Place, message, remedy)
			out.Value, out.Faulty = nil, true
		}
	}
	return out
}

// unprintable refuses a text that could rewrite a terminal or reverse adjacent text. Tabs and
// newlines are white space.
func unprintable(what, text string) (message, remedy string) {
	c, offset := plaintext.Find(strings.ReplaceAll(text, "\t", " "))
	if offset < 0 {
		return "", ""
	}
	message = fmt.Sprintf("the %s holds a character that cannot be seen, U+%04X (%s)",
		what, c, plaintext.Name(c))
	return message, "remove it"
}

// alias returns the value of an anchor, at the place of the alias.
func (r *reader) alias(at *Node, name string) *Node {
	at.Faulty = true
	if slices.Contains(r.open, name) {
		r.fault(at.Path, at.Place, fmt.Sprintf("the alias *%s stands inside its own anchor", name), "")
		return at
	}
	target := r.anchors[name]
	if target == nil {
		r.fault(at.Path, at.Place, fmt.Sprintf("there is no anchor &%s before this alias", name), "")
		return at
	}
	r.nodes-- // at is counted again as the copy
	return r.copy(target, at.Path, at.Place)
}

// copy writes a node out at another path. Everything in it has the same place. It counts each node
// again: aliases of aliases grow exponentially.
func (r *reader) copy(n *Node, p Path, where Place) *Node {
	out := &Node{Path: p, Place: where, Value: n.Value, Faulty: n.Faulty, kind: n.kind, keys: n.keys}
	if !r.count(p, where) {
		out.Faulty = true
		return out
	}
	if n.kind == mappingKind {
		out.fields = make(map[string]*Node, len(n.fields))
	}
	for _, name := range n.keys {
		field := r.copy(n.fields[name], p.To(name), where)
		field.Key = where
		out.fields[name] = field
	}
	for i, item := range n.Items {
		out.Items = append(out.Items, r.copy(item, p.To(i), where))
	}
	return out
}

// mapping reads the entries of a mapping. Merges come last, whatever line they
// stand on: a mapping's own keys count first.
func (r *reader) mapping(out *Node, entries []*ast.MappingValueNode) {
	out.kind = mappingKind
	out.fields = make(map[string]*Node, len(entries))
	var merged []*Node
	for _, entry := range entries {
		where := placeOf(entry.Key)
		if _, merge := entry.Key.(*ast.MergeKeyNode); merge {
			source := r.node(out.Path, entry.Value, where)
			if source.IsMapping() {
				merged = append(merged, source)
			} else if !source.Faulty {
				r.fault(out.Path, where, "<< needs the alias of a mapping", "")
			}
			continue
		}
		name := keyName(entry.Key)
		at := out.Path.To(name)
		if first, twice := out.fields[name]; twice {
			r.fault(at, where, fmt.Sprintf("the key %q stands here twice", name),
				fmt.Sprintf("it is on line %d already; keep one of them", first.Key.Line))
			continue
		}
		field := &Node{Path: at, Place: where, Faulty: true}
		if message, remedy := unprintable("key", name); message != "" {
			r.fault(at, where, message, remedy)
		} else {
			field = r.node(at, entry.Value, where)
		}
		field.Key = where
		out.set(name, field)
	}
	for _, source := range merged {
		for _, name := range source.keys {
			if _, own := out.fields[name]; !own {
				out.set(name, source.fields[name])
			}
		}
	}
}

// keyName returns a key as text; numbers and other scalars are keys by their written text.
func keyName(n ast.MapKeyNode) string {
	if s, ok := n.(*ast.StringNode); ok {
		return s.Value
	}
	return n.String()
}
