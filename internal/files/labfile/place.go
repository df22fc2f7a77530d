package labfile

import (
	"fmt"

	"github.com/campaignd/campaignd/internal/files/yamltree"
)

// Place is something that matter occupies over several acts, of whichever campaign of the lab.
type Place struct {
	Name string `json:"name" jsonschema:"required,pattern=^[A-Za-z_][A-Za-z0-9_-]*$,maxLength=64"`
	// Room is how many batches it has room for. Default 1.
	Room int `json:"room,omitempty" jsonschema:"minimum=1,maximum=384"`
}

// places reads the places of a lab: names, or names with their room.
func places(c *checker, node *yamltree.Node) (all []Place) {
	if node == nil || node.Faulty {
		return nil
	}
	if !node.IsList() {
		message, remedy := yamltree.WrongType(node.Plain(), "array")
		c.fault(node, message, remedy)
		return nil
	}
	seen := make(map[string]bool)
	for _, item := range node.Items {
		var p Place
		faults := written(item).Decode(&p)
		c.faults = append(c.faults, faults...)
		if len(faults) == 0 && seen[p.Name] {
			c.fault(item, fmt.Sprintf("place %q stands here twice", p.Name), "write it once, with its room")
		}
		seen[p.Name] = true
		all = append(all, p)
	}
	return all
}

// written writes the short form of a place out: its name.
func written(item *yamltree.Node) *yamltree.Node {
	if name, short := item.Value.(string); short && !item.Faulty {
		return item.With("name", yamltree.Text(name))
	}
	return item
}
