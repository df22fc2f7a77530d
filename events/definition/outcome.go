package definition

// OutcomeConstraint is a bound on what an experiment gives: a composition that
// keeps it is feasible.
type OutcomeConstraint struct {
	// Require compares two formulas of quantities and numeric parameters by <= or
	// >=: "viscosity <= 5", "price <= 1.1*reference.price". reference.NAME is the
	// value of NAME at the reference composition.
	Require string `json:"require" jsonschema:"required,maxLength=2000"`
	// Confidence is the probability from which on a composition counts as one that
	// keeps it. Default 0.9.
	Confidence *float64 `json:"confidence,omitempty" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1"`
	// Exact takes a bound on one measured quantity with the other exact ones on it for
	// one interval, whose probability is exact however small it is. Default true where
	// several constraints bound one quantity, and where one bounds the quantity that is
	// sought. Absent: as it was before there was this, each by itself.
	Exact bool `json:"exact,omitempty"`
}

// DefaultConfidence is the probability from which on a composition counts as
// feasible, where a constraint does not say.
const DefaultConfidence = 0.9

// Reference is the composition that constraints on outcomes compare with: that
// of an experiment, or a given one.
type Reference struct {
	// Experiment names an experiment of the campaign, "e7".
	Experiment string `json:"experiment,omitempty"`
	// Composition gives every parameter.
	Composition Point `json:"composition,omitempty"`
}

// IsZero reports whether no reference is set.
func (r Reference) IsZero() bool { return r.Experiment == "" && r.Composition == nil }

// Desire is the worth of one quantity, as a part of a desirability: 0 at From and beyond, 1 at To
// and beyond, growing evenly in between. Either may be the greater. Where there is a Best, the
// quantity is worth 1 within it, and nothing at From and To, which lie on both sides.
type Desire struct {
	// Quantity is a declared quantity.
	Quantity string `json:"quantity" jsonschema:"required"`
	// From and To are in the quantity's unit.
	From *float64 `json:"from" jsonschema:"required"`
	To   *float64 `json:"to" jsonschema:"required"`
	// Best are the two ends of the best range.
	Best []float64 `json:"best,omitempty" jsonschema:"minItems=2,maxItems=2"`
	// Weight of this quantity among the others. Default 1.
	Weight *float64 `json:"weight,omitempty" jsonschema:"exclusiveMinimum=0"`
}

// Aim is one of the objectives of a trade-off.
type Aim struct {
	// Name of a declared quantity.
	Name string `json:"name" jsonschema:"required"`
	// Goal is "maximize" or "minimize".
	Goal string `json:"goal" jsonschema:"required,enum=maximize,enum=minimize"`
	// Worst is the worst value that is still of interest, in the quantity's unit:
	// compositions that are worse are no part of the front. Absent: inferred from
	// what was measured.
	Worst *float64 `json:"worst,omitempty"`
}

// Cost is the cost of an experiment: hours, or money, or anything that it takes. Where it counts,
// cheap experiments come first. The price of the product is a quantity, and may be optimized or
// bounded. In a campaign file a bare text stands for Of.
type Cost struct {
	// Of is a formula of numeric parameters, "2 + 0.5*temperature/100", or the name of
	// a declared quantity that is the cost.
	Of string `json:"of" jsonschema:"required,maxLength=2000"`
	// Unit of the cost, "h". That of a declared quantity is the quantity's.
	Unit string `json:"unit,omitempty"`
}

// IsZero reports whether nothing is said of the cost.
func (c Cost) IsZero() bool { return c.Of == "" }

// Preference asks an expert to compare outcomes.
type Preference struct {
	// Over are the declared quantities that are compared.
	Over []string `json:"over" jsonschema:"required,minItems=2,maxItems=6"`
}

// Computed reports whether the value that is sought is computed from several
// quantities: a formula, or a desirability.
func (o Objective) Computed() bool { return o.Formula != "" || len(o.Desirability) > 0 }

// ObjectiveOf is the aim as an objective of its own, with unit, noise and range
// of its quantity.
func (c *Campaign) ObjectiveOf(a Aim) Objective {
	o := Objective{Name: a.Name, Goal: a.Goal}
	if q := c.Quantity(a.Name); q != nil {
		o.Unit = q.Unit
		o.Noise = q.Noise
		o.RelativeNoise = q.RelativeNoise
		o.Min, o.Max = q.Min, q.Max
	}
	return o
}

// Tradeoff are the objectives that a campaign trades off against each other,
// two to four; none where it seeks one value.
func (c *Campaign) Tradeoff() []Aim { return c.Objective.Tradeoff }

// Objectives are the quantities that are sought: those of a trade-off, or the only one.
func (c *Campaign) Objectives() (all []Objective) {
	for _, a := range c.Objective.Tradeoff {
		all = append(all, c.ObjectiveOf(a))
	}
	if all == nil {
		all = append(all, c.Sought())
	}
	return all
}

// Preferred are the quantities whose outcomes an expert compares; none where the
// campaign seeks something else.
func (c *Campaign) Preferred() []string {
	if c.Objective.Preference == nil {
		return nil
	}
	return c.Objective.Preference.Over
}

// Single reports whether one value is sought, which is measured or computed: not a
// front, and not what an expert prefers.
func (c *Campaign) Single() bool { return c.Tradeoff() == nil && c.Objective.Preference == nil }

// SeveralMatter reports whether more than the objective's value decides: with a trade-off, with a
// preference, and where outcomes are bounded.
func (c *Campaign) SeveralMatter() bool { return !c.Single() || len(c.ConstraintsOnOutcomes) > 0 }

// Names reports whether a result names each of its quantities: the objective is computed from
// several, or several are traded off or compared, so that a value without a name could belong to
// any of them.
func (c *Campaign) Names() bool { return !c.Single() || c.Sought().Computed() }

// Unnamed returns the quantity of a value without a name, where results name theirs: the only one
// that is measured. Nil where the value could belong to several, or to a computed one.
func (c *Campaign) Unnamed() *QuantityDef {
	all := c.Declared()
	if len(all) != 1 || c.Sought().Computed() {
		return nil
	}
	return &all[0]
}
