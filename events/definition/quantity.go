package definition

// QuantityDef is one of several quantities that an experiment gives. A campaign
// that declares some reads them from its instrument by name, in their own
// units, and goes on where one of them is missing.
type QuantityDef struct {
	// Name of the quantity as the instrument reports it.
	Name string `json:"name" jsonschema:"required,pattern=^[A-Za-z_][A-Za-z0-9_]*$,maxLength=64"`
	// Unit the instrument must report it in. Empty for a pure number.
	Unit string `json:"unit,omitempty"`
	// Description in free text.
	Description string `json:"description,omitempty"`
	// Scale is "log" where the model is of the logarithm, for what spans orders of
	// magnitude and is never 0 or less. Default: as measured.
	Scale string `json:"scale,omitempty" jsonschema:"enum=log"`
	// Noise is the standard deviation of one measurement, in Unit, where it is
	// known. Absent: inferred from the measurements.
	Noise *float64 `json:"noise,omitempty" jsonschema:"minimum=0"`
	// Min and Max are the range of plausible results: a value outside is missing
	// from its experiment, with the reason; the others count. Absent: no limit.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// Record keeps the quantity and models nothing of it.
	Record bool `json:"record,omitempty"`
}

// Several reports whether the campaign declares its quantities one by one. One
// that does not knows the objective, and takes what else an instrument reports
// for a remark.
func (c *Campaign) Several() bool { return len(c.Quantities) > 0 }

// Declared are all quantities that an experiment of the campaign gives: what is
// sought first, unless it stands among the others or is computed from them.
func (c *Campaign) Declared() []QuantityDef {
	o := c.Objective
	for i := range c.Quantities {
		if c.Quantities[i].Name == o.Name {
			return c.Quantities
		}
	}
	if o.Formula != "" {
		return c.Quantities
	}
	sought := QuantityDef{Name: o.Name, Unit: o.Unit, Noise: o.Noise, Min: o.Min, Max: o.Max}
	return append([]QuantityDef{sought}, c.Quantities...)
}

// Quantity returns the declared quantity of a name, nil where there is none.
func (c *Campaign) Quantity(name string) *QuantityDef {
	declared := c.Declared()
	for i := range declared {
		if declared[i].Name == name {
			return &declared[i]
		}
	}
	return nil
}

// ScaleLog models a quantity by its logarithm.
const ScaleLog = "log"

// Plausible reports whether a value lies in the range of plausible results, and
// has a logarithm where that is modelled.
func (q *QuantityDef) Plausible(value float64) bool {
	if q.Scale == ScaleLog && value <= 0 {
		return false
	}
	return (q.Min == nil || value >= *q.Min) && (q.Max == nil || value <= *q.Max)
}
