package yamltree_test

import (
	"fmt"

	"github.com/campaignd/campaignd/internal/files/yamltree"
)

// A file is read into a tree, and the tree into a struct. All that is wrong with it is reported at
// once, with the line and a remedy.
func Example() {
	type oven struct {
		Temperature float64 `json:"temperature" jsonschema:"required,maximum=250"`
		Mode        string  `json:"mode" jsonschema:"enum=fan,enum=grill"`
	}
	data := []byte("temperature: 280\nmood: fan\n")

	root, faults := yamltree.Read(data, yamltree.Format{Name: "an oven file", Subject: "oven"})
	var o oven
	if root != nil {
		faults = append(faults, root.Decode(&o)...)
	}
	if len(faults) > 0 {
		fmt.Println(yamltree.NewError("oven.yaml", data, "nothing was baked", faults))
	}
	// Output:
	// oven.yaml:1:14: temperature: 280 is too large
	//     1 | temperature: 280
	//       |              ^
	//       = the greatest is 250
	// oven.yaml:2:1: mood: unknown key "mood"
	//     2 | mood: fan
	//       | ^
	//       = the keys here are temperature, mode
	// 2 faults; nothing was baked
}
