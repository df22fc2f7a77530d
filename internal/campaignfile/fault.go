package campaignfile

import "github.com/campaignd/campaignd/internal/yamltree"

// path leads to a field of a campaign file.
type path = yamltree.Path

func at(steps ...any) path { return steps }

func fault(at path, message, remedy string) yamltree.Fault {
	return yamltree.Fault{Path: at, Message: message, Remedy: remedy}
}

// formFault is a fault of form: one that the schema finds.
type formFault struct {
	yamltree.Fault
	// at is the field that is at fault. Path is the one above where a key is
	// missing.
	at      path
	onKey   bool     // the key is wrong, not its value
	known   []string // where the key is unknown, those that are possible
	missing bool     // there is no such key
	implied bool     // another fault says it all
}

// placed returns a fault at the place in the file that is nearest to the field
// at which it is, with the field's path in that file.
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
