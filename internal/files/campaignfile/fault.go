package campaignfile

import "github.com/campaignd/campaignd/internal/files/yamltree"

// path leads to a field of a campaign file.
type path = yamltree.Path

// at is a path of keys (strings) and indices (ints).
func at(steps ...any) path { return steps }

// fault has no place in the file yet: see [placed].
func fault(at path, message, remedy string) yamltree.Fault {
	return yamltree.Fault{Path: at, Message: message, Remedy: remedy}
}

// formFault is a fault of form, as the schema finds them, with the data needed to leave out its
// consequences.
type formFault struct {
	yamltree.Fault
	// at is the field with the fault. Where a key is missing the fault's Path
	// is the mapping that lacks it.
	at      path
	onKey   bool     // the key is wrong, not its value
	known   []string // the possible keys, where the key is unknown
	missing bool     // the key is missing
	implied bool     // a consequence of another fault: not reported
}

// placed returns a fault with the place, and the path as written in the file,
// of the node that is nearest to the field at. Short forms and references of a
// file are written out before it is checked, so that the field itself may not
// stand in the file.
//
// onKey points at the key instead of its value, for a fault of the key.
func placed(root *yamltree.Node, f yamltree.Fault, at path, onKey bool) yamltree.Fault {
	node, rest := root.Written(at)
	if node == nil {
		return f
	}
	f.Place = node.Place
	if onKey && len(rest) == 0 && node.Key != (yamltree.Place{}) {
		f.Place = node.Key
	}
	steps := min(len(at)-len(rest), len(f.Path)) // those that node's own path stands for
	f.Path = node.Path.To(f.Path[steps:]...)
	return f
}
