// Package yamledit changes single values of a YAML file, and leaves the rest of the text as its
// author wrote it: comments, order, spelling, blank lines.
//
// A change is made in the text, at the smallest place that holds it. It is then read again: if the
// result differs from the intended tree, the value around the change is written anew, then the one
// around that. So the meaning is always that of the change; at worst the layout is lost, and
// comments within the rewritten value.
package yamledit

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/internal/files/yamltree"
)

// Change is a change of one value of a file.
type Change struct {
	// Path leads to the value. A last step that is the length of a list appends to it.
	// Mappings and lists on the way that do not exist are made.
	Path yamltree.Path
	// Value is the new value; nil removes the key or the item.
	Value *yamltree.Node
	// Order lists keys of the file's first level in their usual order. An added key goes behind
	// those before it.
	Order []string
}

// ErrUnreadable is returned for a file that is not YAML, or has faults of form: the author's
// intention is not guessed.
var ErrUnreadable = errors.New("the text has faults: mend them first")

// format is the file's name in messages of reading; they are not shown.
var format = yamltree.Format{Name: "a file", Subject: "value"}

// Apply returns the file with the change made. It fails with [ErrUnreadable], or where the
// path leads into a scalar.
func Apply(source string, c Change) (string, error) {
	source = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(source)
	root, err := read(source)
	if err != nil {
		return "", err
	}
	want, err := changed(root, c.Path, c.Value)
	if err != nil {
		return "", err
	}
	for n := len(c.Path); n > 0; n-- {
		wider := Change{Path: c.Path[:n], Order: c.Order}
		if n == len(c.Path) {
			wider.Value = c.Value
		} else if found, rest := want.Find(wider.Path); len(rest) == 0 {
			wider.Value = found
		}
		edited, ok := splice(source, root, wider)
		if ok && says(edited, want) {
			return edited, nil
		}
	}
	return block(want, 0), nil
}

// read reads a file that may be changed. An empty one is a mapping without keys.
func read(source string) (*yamltree.Node, error) {
	if strings.TrimSpace(source) == "" {
		return yamltree.Mapping(), nil
	}
	root, faults := yamltree.Read([]byte(source), format)
	if root == nil || len(faults) > 0 {
		return nil, ErrUnreadable
	}
	return root, nil
}

// says reports whether a file has exactly the content of a tree.
func says(source string, want *yamltree.Node) bool {
	got, err := read(source)
	return err == nil && same(got, want)
}

// same compares two trees. The order of keys does not matter, as nothing in a campaign file depends
// on it: ordered data are lists.
func same(a, b *yamltree.Node) bool {
	if a.IsMapping() != b.IsMapping() || a.IsList() != b.IsList() {
		return false
	}
	if len(a.Keys()) != len(b.Keys()) {
		return false
	}
	for _, key := range a.Keys() {
		if b.Field(key) == nil || !same(a.Field(key), b.Field(key)) {
			return false
		}
	}
	if len(a.Items) != len(b.Items) {
		return false
	}
	for i := range a.Items {
		if !same(a.Items[i], b.Items[i]) {
			return false
		}
	}
	return reflect.DeepEqual(a.Value, b.Value)
}

// changed returns the tree with a value set at a path, or removed.
func changed(n *yamltree.Node, path yamltree.Path, value *yamltree.Node) (*yamltree.Node, error) {
	if len(path) == 0 {
		return value, nil
	}
	switch step := path[0].(type) {
	case string:
		if n != nil && !n.IsMapping() && !n.IsNull() {
			return nil, fmt.Errorf("%q is sought in %s", step, n.Describe())
		}
		below, err := changed(n.Field(step), path[1:], value)
		switch {
		case err != nil:
			return nil, err
		case below == nil:
			return n.Without(step), nil
		}
		return n.With(step, below), nil
	case int:
		items, err := itemsOf(n, step)
		if err != nil {
			return nil, err
		}
		var old *yamltree.Node
		if step < len(items) {
			old = items[step]
		}
		below, err := changed(old, path[1:], value)
		switch {
		case err != nil:
			return nil, err
		case below == nil && step < len(items):
			return yamltree.List(slices.Delete(items, step, step+1)), nil
		case below == nil:
			return yamltree.List(items), nil
		case step == len(items):
			return yamltree.List(append(items, below)), nil
		}
		items[step] = below
		return yamltree.List(items), nil
	}
	return nil, fmt.Errorf("%v is not a step of a path", path[0])
}

// itemsOf returns a copy of the items of a list, or of nothing, in which a place exists
// or is the next one.
func itemsOf(n *yamltree.Node, place int) ([]*yamltree.Node, error) {
	if n != nil && !n.IsList() && !n.IsNull() {
		return nil, fmt.Errorf("item %d is sought in %s", place, n.Describe())
	}
	var items []*yamltree.Node
	if n != nil {
		items = slices.Clone(n.Items)
	}
	if place < 0 || place > len(items) {
		return nil, fmt.Errorf("item %d is sought in a list of %d", place, len(items))
	}
	return items, nil
}
