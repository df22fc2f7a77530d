package definition

import "slices"

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
	// RelativeNoise is that as a part of each measured value, which is the standard
	// deviation of the logarithm where Scale is "log". In a campaign file it stands
	// as noise, in per cent: noise: 2%.
	RelativeNoise *float64 `json:"relative_noise,omitempty" jsonschema:"exclusiveMinimum=0,maximum=1"`
	// Min and Max are the range of plausible results: a value outside is missing
	// from its experiment, with the reason; the others count. Absent: no limit.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// From is a formula of numeric parameters that the quantity follows from, as a
	// price does: it is exact, and never measured. Absent: an experiment gives it.
	From string `json:"from,omitempty" jsonschema:"maxLength=2000"`
	// Better is "higher" or "lower" where no one would say otherwise. It is for
	// objectives by preference: the expert then need not be asked that.
	Better string `json:"better,omitempty" jsonschema:"enum=higher,enum=lower"`
	// Record keeps the quantity and models nothing of it.
	Record bool `json:"record,omitempty"`
	// Arrives is "later" where the value comes after its experiment has ended, as
	// a capacity after 100 cycles does: the experiment counts as measured without
	// it, and awaits it. Default: it comes with the experiment's result.
	Arrives string `json:"arrives,omitempty" jsonschema:"enum=later"`
	// AnswerWithin is how long after the end of its experiment a late value is awaited. After that
	// the value is missing, unless it still arrives. Absent: awaited without limit.
	AnswerWithin Duration `json:"answer_within,omitempty"`
}

// ArrivesLater is a quantity whose value comes after its experiment has ended.
const ArrivesLater = "later"

// Later reports whether the value comes after its experiment has ended.
func (q *QuantityDef) Later() bool { return q.Arrives == ArrivesLater }

// Several reports whether the campaign declares its quantities one by one. One
// that does not knows the objective, and takes what else an instrument reports
// for a remark.
func (c *Campaign) Several() bool { return len(c.Quantities) > 0 }

// Declared returns all quantities that an experiment of the campaign measures: the objective first,
// unless it stands among the others or is computed from them. Those that follow from the parameters
// are left out. For an instrument that gives none of them there are none: see [Campaign.For].
func (c *Campaign) Declared() []QuantityDef {
	given := c.Quantities
	follows := func(q QuantityDef) bool { return q.From != "" }
	if slices.ContainsFunc(given, follows) {
		given = slices.DeleteFunc(slices.Clone(given), follows)
	}
	o := c.Objective
	if o.Name == "" || o.Computed() || slices.ContainsFunc(c.Quantities, func(q QuantityDef) bool { return q.Name == o.Name }) {
		return given
	}
	sought := QuantityDef{
		Name: o.Name, Unit: o.Unit, Noise: o.Noise, RelativeNoise: o.RelativeNoise, Min: o.Min, Max: o.Max,
	}
	return append([]QuantityDef{sought}, given...)
}

// DeclaredNames are the names of all quantities that an experiment measures, the objective first.
func (c *Campaign) DeclaredNames() (names []string) {
	for _, q := range c.Declared() {
		if q.Name == c.Objective.Name {
			names = append([]string{q.Name}, names...)
		} else {
			names = append(names, q.Name)
		}
	}
	return names
}

// Awaits reports whether quantities arrive after their experiments have ended.
func (c *Campaign) Awaits() bool {
	return slices.ContainsFunc(c.Quantities, func(q QuantityDef) bool { return q.Later() })
}

// Quantity returns the declared quantity of a name, including those that follow from the
// parameters; nil where the name is unknown.
func (c *Campaign) Quantity(name string) *QuantityDef {
	for i := range c.Quantities {
		if c.Quantities[i].Name == name {
			return &c.Quantities[i]
		}
	}
	declared := c.Declared()
	for i := range declared {
		if declared[i].Name == name {
			return &declared[i]
		}
	}
	return nil
}

// Directions in which a quantity is better.
const (
	BetterHigher = "higher"
	BetterLower  = "lower"
)

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
