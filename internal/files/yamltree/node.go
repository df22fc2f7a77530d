package yamltree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/campaignd/campaignd/events/definition"
)

// Path leads to a node: keys of mappings are strings, places in lists are ints.
type Path = definition.Path

// Place is a place in a file: line and column from 1, in characters. The zero Place is nowhere.
type Place struct{ Line, Column int }

// Node is a value of a tree: a mapping, a list or a scalar. Nodes are immutable; [Node.With],
// [Node.Without] and [Node.WithItems] return copies.
//
// A nil node stands for a missing value: IsMapping, IsList, IsNull, Keys, Field, With and Without
// accept it.
type Node struct {
	// Path is the place of the node in its file, or in the value that it was made from. It stays
	// when the node becomes part of another tree.
	Path Path
	// Place is that of the value, or of its key if the value is empty. Nodes from an alias or a
	// merge have the place of the alias. It is zero for a node that a program made.
	Place Place
	// Key is the place of the key; zero in a list and for the root.
	Key Place
	// Value is that of a scalar: nil, bool, string or json.Number. A number is
	// finite and in decimal.
	Value any
	// Items are those of a list.
	Items []*Node
	// Faulty marks an unreadable value, whose fault was reported.
	Faulty bool

	kind   kind
	keys   []string // of a mapping, in the order of the file
	fields map[string]*Node
}

type kind int

const (
	scalarKind kind = iota
	listKind
	mappingKind
)

// IsMapping reports whether the node has keys.
func (n *Node) IsMapping() bool { return n != nil && n.kind == mappingKind }

// IsList reports whether the node has items.
func (n *Node) IsList() bool { return n != nil && n.kind == listKind }

// IsNull reports whether the node is a scalar without a value.
func (n *Node) IsNull() bool { return n != nil && n.kind == scalarKind && n.Value == nil }

// Keys returns the keys of a mapping, in the order of the file.
func (n *Node) Keys() []string {
	if n == nil {
		return nil
	}
	return n.keys
}

// Field returns the value of a key; nil for a missing key, or if n is not a mapping.
func (n *Node) Field(key string) *Node {
	if n == nil {
		return nil
	}
	return n.fields[key]
}

// Find follows a path and returns the last existing node on it, and the remaining steps. rest is
// the subject of a fault about a missing value.
func (n *Node) Find(p Path) (last *Node, rest Path) {
	for len(p) > 0 {
		next := n.step(p[0])
		if next == nil {
			break
		}
		n, p = next, p[1:]
	}
	return n, p
}

// Written follows a path and returns the last node on it that is in a file, and the steps after it;
// nil without one. A fault of a value that a program filled in is shown at the text around it.
func (n *Node) Written(p Path) (last *Node, rest Path) {
	rest = p
	for n != nil {
		if n.Place != (Place{}) {
			last, rest = n, p
		}
		if len(p) == 0 {
			break
		}
		n, p = n.step(p[0]), p[1:]
	}
	return last, rest
}

// step returns the field of a name or the item at an index, or nil.
func (n *Node) step(step any) *Node {
	switch step := step.(type) {
	case string:
		return n.Field(step)
	case int:
		if step >= 0 && step < len(n.Items) {
			return n.Items[step]
		}
	}
	return nil
}

// FromValue returns a value as a tree without a file: its encoding/json form, with keys in
// alphabetical order. The error is that of encoding/json. Numbers keep their text on the way, as
// those of a file do.
func FromValue(value any) (*Node, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return nil, err
	}
	return of(nil, plain), nil
}

// of makes a node of a plain value at a path, without a place. Keys are sorted,
// since a map has no order.
func of(p Path, plain any) *Node {
	switch value := plain.(type) {
	case map[string]any:
		n := &Node{
			Path:   p,
			kind:   mappingKind,
			keys:   slices.Sorted(maps.Keys(value)),
			fields: make(map[string]*Node, len(value)),
		}
		for name, field := range value {
			n.fields[name] = of(p.To(name), field)
		}
		return n
	case []any:
		n := &Node{Path: p, kind: listKind}
		for i, item := range value {
			n.Items = append(n.Items, of(p.To(i), item))
		}
		return n
	}
	return &Node{Path: p, Value: plain}
}

// Mapping returns a mapping without keys and without a file.
func Mapping() *Node { return &Node{kind: mappingKind} }

// List returns a list without a file. The items are the caller's, and must not change
// afterwards.
func List(items []*Node) *Node { return &Node{kind: listKind, Items: items} }

// Text returns a text without a file.
func Text(s string) *Node { return &Node{Value: s} }

// Int returns a whole number without a file.
func Int(k int) *Node { return &Node{Value: json.Number(strconv.Itoa(k))} }

// With returns a copy of a mapping in which a key has the given value. Anything
// but a mapping, also nil, counts as a mapping without keys. The nodes below are
// shared; they do not change.
func (n *Node) With(key string, value *Node) *Node {
	out := Mapping()
	if n != nil {
		out.Path = n.Path
		out.Place = n.Place
		out.Key = n.Key
	}
	if n.IsMapping() {
		out.keys = slices.Clone(n.keys)
		out.fields = maps.Clone(n.fields)
	}
	if out.fields == nil {
		out.fields = map[string]*Node{}
	}
	out.set(key, value)
	return out
}

// set gives a key a value. An existing key keeps its place.
func (n *Node) set(key string, value *Node) {
	if _, there := n.fields[key]; !there {
		n.keys = append(n.keys, key)
	}
	n.fields[key] = value
}

// Without returns a copy of a mapping without a key.
func (n *Node) Without(key string) *Node {
	if n.Field(key) == nil {
		return n
	}
	out := *n
	out.keys = slices.DeleteFunc(slices.Clone(n.keys), func(k string) bool { return k == key })
	out.fields = maps.Clone(n.fields)
	delete(out.fields, key)
	return &out
}

// WithItems returns a copy of a list with other items. The items are the caller's, and must not
// change afterwards.
func (n *Node) WithItems(items []*Node) *Node {
	out := *n
	out.Items = items
	return &out
}

// Plain returns the value as encoding/json would read it, numbers as json.Number. For faulty values
// a mapping lacks the key, and a list has nil. The result is the caller's. Missing keys of faulty
// values keep a later check from reporting the same fault again.
func (n *Node) Plain() any {
	switch n.kind {
	case mappingKind:
		m := make(map[string]any, len(n.fields))
		for name, field := range n.fields {
			if !field.Faulty {
				m[name] = field.Plain()
			}
		}
		return m
	case listKind:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = item.Plain()
		}
		return list
	}
	return n.Value
}

// Describe names the type of the value for a message.
func (n *Node) Describe() string {
	switch n.kind {
	case mappingKind:
		return "a mapping"
	case listKind:
		return "a list"
	}
	return describe(n.Value)
}

// describe names the type of a plain value for a message.
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

// quote writes a plain value for a message: text in quotes.
func quote(value any) string {
	if s, ok := value.(string); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprint(value)
}
