package space_test

import (
	"fmt"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/space"
)

// A space follows from a definition. Models and searches work in its unit cube; Encode and Decode
// go there and back, and Sample draws compositions that may be measured.
func Example() {
	least, greatest, most := 0.0, 2.0, 2.5
	def := definition.Campaign{
		Parameters: []definition.Parameter{
			{Name: "salt", Unit: "mol/kg", Min: &least, Max: &greatest},
			{Name: "water", Unit: "kg", Values: []float64{1, 2}},
			{Name: "vessel", Categories: []definition.CategoryDef{{Name: "glass"}, {Name: "steel"}}},
		},
		Constraints: []definition.Constraint{
			{Terms: map[string]float64{"salt": 1, "water": 1}, AtMost: &most},
		},
	}
	s, err := space.New(def)
	if err != nil {
		fmt.Println(err)
		return
	}

	p := definition.Point{
		"salt":   definition.Number(0.5),
		"water":  definition.Number(2),
		"vessel": definition.Category("steel"),
	}
	x, err := s.Encode(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("in the cube:", x)
	fmt.Println("and back:", s.Format(s.Decode(x)))

	p["salt"] = definition.Number(1)
	fmt.Println("with more salt:", s.Contains(p))

	sample, err := s.Sample(100, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	inside := 0
	for _, p := range sample {
		if s.Contains(p) == nil {
			inside++
		}
	}
	fmt.Println(inside, "of", len(sample), "samples may be measured")
	// Output:
	// in the cube: [0.25 1 0 1]
	// and back: salt 0.5 mol/kg, water 2 kg, vessel steel
	// with more salt: outside the design space: the constraint salt + water ≤ 2.5: the sum is 3
	// 100 of 100 samples may be measured
}
