package format

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
)

// Digits of a parameter's range, after the first, that its values are written
// with.
const (
	digitsToRead = 2 // between a hundredth and a thousandth of the range
	digitsToMake = 3 // between a thousandth and a ten-thousandth
)

// Compositions writes the compositions of a campaign, each value with the decimals that matter for
// its parameter: those of the instrument's dosing step, else those that show about a thousandth of
// the range. Listed values are written as they were listed.
//
// A number is rounded so that it stays on the allowed side of a bound, or of an end of an excluded
// region: 80.9999999 next to a region that begins at 81 is 80.9, since a person would set 81.0.
type Compositions struct {
	parameters []definition.Parameter
	decimals   []int   // of each parameter
	ends       [][]end // of each parameter
}

// end is a bound, or an end of an excluded region: values are allowed on one side of it.
type end struct {
	at    float64
	below bool // the allowed ones are less
	bound bool // a bound itself is allowed, an end of a region is not
}

// allows reports whether a number is on the allowed side.
func (e end) allows(x float64) bool {
	return x == e.at && e.bound || x != e.at && (x < e.at) == e.below
}

// asGiven stands for the decimals of a parameter whose values are written as
// they are.
const asGiven = -1

// CompositionsOf returns the writer of a campaign's compositions.
func CompositionsOf(def *definition.Campaign) Compositions {
	return campaign(def, digitsToRead)
}

// CompositionsToMake is [CompositionsOf] with one more digit, for a person who
// makes a composition, or a page from which one may be made.
func CompositionsToMake(def *definition.Campaign) Compositions {
	return campaign(def, digitsToMake)
}

func campaign(def *definition.Campaign, digits int) Compositions {
	c := compositions(def.Parameters, def.Steps(), digits).Outside(def.Excluded).Outside(def.Barred)
	if len(def.Candidates) > 0 {
		return c.AsGiven()
	}
	return c
}

// NewCompositions returns the writer of compositions of the given parameters;
// steps holds the dosing steps of those that have one.
func NewCompositions(parameters []definition.Parameter, steps map[string]float64) Compositions {
	return compositions(parameters, steps, digitsToRead)
}

func compositions(parameters []definition.Parameter, steps map[string]float64, digits int) Compositions {
	c := Compositions{
		parameters: parameters, decimals: make([]int, len(parameters)), ends: make([][]end, len(parameters)),
	}
	for i, p := range parameters {
		step := steps[p.Name]
		if p.Min != nil {
			c.ends[i] = append(c.ends[i], end{at: *p.Min, bound: true})
		}
		if p.Max != nil {
			c.ends[i] = append(c.ends[i], end{at: *p.Max, below: true, bound: true})
		}
		switch {
		case p.Values != nil:
			c.decimals[i] = asGiven
		case step > 0:
			c.decimals[i] = decimalsOf(step)
		case p.Min != nil && p.Max != nil && *p.Max > *p.Min:
			c.decimals[i] = decimalsOver(*p.Max-*p.Min, digits)
		default:
			c.decimals[i] = asGiven
		}
	}
	return c
}

// Outside returns a writer that keeps values on their side of the ends of some
// regions, too.
func (c Compositions) Outside(regions []definition.Region) Compositions {
	c.ends = slices.Clone(c.ends)
	for i, p := range c.parameters {
		for _, r := range regions {
			side := r.Where[p.Name]
			if side.Min != nil {
				c.ends[i] = append(slices.Clip(c.ends[i]), end{at: *side.Min, below: true})
			}
			if side.Max != nil {
				c.ends[i] = append(slices.Clip(c.ends[i]), end{at: *side.Max})
			}
		}
	}
	return c
}

// Nearest returns a writer that rounds to the nearest number, on either side of an end, as earlier
// versions wrote all values.
func (c Compositions) Nearest() Compositions {
	c.ends = make([][]end, len(c.parameters))
	return c
}

// AsGiven returns a writer of every value as it is, to six digits: for values that a person entered
// or will enter.
func (c Compositions) AsGiven() Compositions {
	c.decimals = slices.Repeat([]int{asGiven}, len(c.parameters))
	return c
}

// Apart returns a writer that writes different compositions differently: with up to four more
// decimals for a parameter with two values that would look alike.
func (c Compositions) Apart(points ...definition.Point) Compositions {
	c.decimals = slices.Clone(c.decimals)
	for i, p := range c.parameters {
		if c.decimals[i] == asGiven {
			continue
		}
		values := make(map[float64]bool)
		for _, point := range points {
			if x, ok := point[p.Name].Float(); ok {
				values[x] = true
			}
		}
		for range 4 {
			if texts(values, c.decimals[i]) == len(values) {
				break
			}
			c.decimals[i]++
		}
	}
	return c
}

// texts counts how many different texts the values are with a number of
// decimals.
func texts(values map[float64]bool, decimals int) int {
	different := make(map[string]bool)
	for x := range values {
		different[Fixed(x, decimals)] = true
	}
	return len(different)
}

// Parameters returns the parameters in the campaign's order.
func (c Compositions) Parameters() []definition.Parameter { return c.parameters }

// Value writes the value of the i-th parameter; ok is false where the
// composition has none.
func (c Compositions) Value(i int, point definition.Point) (text string, ok bool) {
	v, ok := point[c.parameters[i].Name]
	if !ok {
		return "", false
	}
	x, numeric := v.Float()
	if !numeric || c.decimals[i] == asGiven {
		return v.String(), true
	}
	return onItsSide(x, c.decimals[i], c.ends[i]), true
}

// Values writes the values of all parameters; missing stands for one that the composition
// does not have.
func (c Compositions) Values(point definition.Point, missing string) []string {
	texts := make([]string, len(c.parameters))
	for i := range c.parameters {
		var ok bool
		if texts[i], ok = c.Value(i, point); !ok {
			texts[i] = missing
		}
	}
	return texts
}

// Headings are the parameters with their units.
func (c Compositions) Headings() (all []string) {
	for _, par := range c.parameters {
		all = append(all, Heading(par.Name, par.Unit))
	}
	return all
}

// onItsSide writes x with a number of decimals so that it stays on the allowed side of each end
// that it is on the allowed side of: rounded to the nearest number, else the other way, else with
// more decimals, and in the end with all of them.
func onItsSide(x float64, decimals int, ends []end) string {
	stays := func(text string) bool {
		y, err := strconv.ParseFloat(text, 64)
		return err == nil && !slices.ContainsFunc(ends, func(e end) bool { return e.allows(x) && !e.allows(y) })
	}
	for d := decimals; d <= decimals+mostDecimals; d++ {
		nearest := Fixed(x, d)
		y, err := strconv.ParseFloat(nearest, 64)
		if err != nil || strings.Contains(nearest, "e") || stays(nearest) {
			return nearest
		}
		if other := Fixed(y+math.Copysign(math.Pow10(-d), x-y), d); stays(other) {
			return other
		}
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// Number writes a number as a value of the named parameter.
func (c Compositions) Number(parameter string, x float64) string {
	for i := range c.parameters {
		if c.parameters[i].Name == parameter {
			text, _ := c.Value(i, definition.Point{parameter: definition.Number(x)})
			return text
		}
	}
	return definition.Number(x).String()
}

// Line writes a composition in a line, in the campaign's order: "lipf6 1.10, ec
// 0.340, dmc 1.00".
func (c Compositions) Line(point definition.Point) string {
	return c.join(point, ", ", func(p definition.Parameter, value string) string {
		return p.Name + " " + value
	})
}

// LineWithUnits is Line with each parameter's unit.
func (c Compositions) LineWithUnits(point definition.Point) string {
	return c.join(point, ", ", func(p definition.Parameter, value string) string {
		return WithUnit(p.Name+" "+value, p.Unit)
	})
}

// Assignments writes a composition as it may be entered: "lipf6=1.10 ec=0.340".
func (c Compositions) Assignments(point definition.Point) string {
	return c.join(point, " ", func(p definition.Parameter, value string) string {
		return p.Name + "=" + value
	})
}

func (c Compositions) join(
	point definition.Point, between string, write func(definition.Parameter, string) string,
) string {
	var parts []string
	for i, p := range c.parameters {
		if value, ok := c.Value(i, point); ok {
			parts = append(parts, write(p, value))
		}
	}
	return strings.Join(parts, between)
}

// Region writes a box: "ec 0.45 to 0.52, salt LiPF6".
func (c Compositions) Region(r definition.Region) string {
	names := slices.Sorted(maps.Keys(r.Where))
	if c.parameters != nil {
		names = nil
		for _, p := range c.parameters {
			names = append(names, p.Name)
		}
	}
	var sides []string
	for _, name := range names {
		if side, ok := r.Where[name]; ok {
			sides = append(sides, name+" "+sideOf(side))
		}
	}
	return strings.Join(sides, ", ")
}

func sideOf(side definition.RegionSide) string {
	switch {
	case side.Is != "":
		return side.Is
	case side.Min != nil && side.Max != nil:
		return Rounded(*side.Min, 4) + " to " + Rounded(*side.Max, 4)
	case side.Min != nil:
		return "from " + Rounded(*side.Min, 4)
	case side.Max != nil:
		return "up to " + Rounded(*side.Max, 4)
	}
	return "any"
}

// Blank is a composition to be filled in: "lipf6=… ec=… dmc=…".
func Blank(parameters []definition.Parameter) string {
	names := make([]string, len(parameters))
	for i, p := range parameters {
		names[i] = p.Name + "=…"
	}
	return strings.Join(names, " ")
}
