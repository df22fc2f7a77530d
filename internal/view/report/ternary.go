package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view/diagnose"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/projections/campaign"
)

// ternaryNodes is how many steps of a triangle's side have their own predictions;
// in between is interpolated.
const ternaryNodes = 40

// ternary is the triangle that the maps of a mixture are drawn over.
type ternary struct {
	diagnose.Triangle
	h     *history
	nodes [][][]float64 // points of the unit cube: [top component][right component]
	// allowed reports for each node whether bounds and constraints are kept.
	allowed func(shares [3]float64) bool
	barred  func(shares [3]float64) bool
	corners [3]figure.Corner
	best    [3]float64
}

// Mixture are the components of a campaign's mixture from which three can be drawn
// against each other, and those that are.
type Mixture struct {
	Components []string
	Drawn      [3]string
}

// Corner is a corner of the triangle, and the component that stands there.
type Corner struct{ Name, Component string }

// Corners are the three.
func (m *Mixture) Corners() []Corner {
	return []Corner{{"top", m.Drawn[0]}, {"left", m.Drawn[1]}, {"right", m.Drawn[2]}}
}

// Choice reports whether the mixture has more than three components.
func (m *Mixture) Choice() bool { return len(m.Components) > 3 }

// mixtureOf returns the triangle to be drawn: of the requested components, else of those whose
// amounts vary most among the measured compositions; ok is false where the campaign has no mixture
// of three.
func mixtureOf(h *history, asked [3]string) (out ternary, m *Mixture, ok bool, err error) {
	through := h.through()
	f := diagnose.NewFrame(h.def, h.core.Space())
	all := f.Mixtures()
	if through == nil || len(all) == 0 {
		return out, nil, false, nil
	}
	x, err := h.core.Space().Encode(through)
	if err != nil {
		return out, nil, false, err
	}
	index := func(name string) int {
		return slices.IndexFunc(h.def.Parameters, func(p definition.Parameter) bool { return p.Name == name })
	}
	components := all[0]
	t, ok := f.Triangle(x, [3]int{index(asked[0]), index(asked[1]), index(asked[2])})
	if !ok {
		if t, ok = f.Triangle(x, variedOf(h, f, components)); !ok {
			return out, nil, false, nil
		}
	}
	m = new(Mixture)
	for _, k := range components {
		m.Components = append(m.Components, h.def.Parameters[k].Name)
	}
	for i, k := range t.Components {
		m.Drawn[i] = h.def.Parameters[k].Name
	}
	return ternaryOver(h, t, f, x), m, true, nil
}

// variedOf are the three components whose measured amounts have the greatest range,
// in the order of the definition.
func variedOf(h *history, f *diagnose.Frame, components []int) (three [3]int) {
	span := func(k int) float64 {
		low, high := math.Inf(1), math.Inf(-1)
		for _, x := range h.model.X {
			low, high = min(low, f.Value(k, x)), max(high, f.Value(k, x))
		}
		return high - low
	}
	most := slices.Clone(components)
	slices.SortStableFunc(most, func(a, b int) int { return cmp.Compare(span(b), span(a)) })
	most = most[:3]
	slices.Sort(most)
	return [3]int(most)
}

// ternaryOver lays the nodes.
func ternaryOver(h *history, t diagnose.Triangle, f *diagnose.Frame, x []float64) ternary {
	out := ternary{Triangle: t, h: h}
	for i, k := range t.Components {
		p := h.def.Parameters[k]
		out.corners[i] = figure.Corner{Name: p.Name, Unit: p.Unit, Low: t.Low[i], High: t.High[i]}
	}
	for a := range ternaryNodes + 1 {
		row := make([][]float64, ternaryNodes+1-a)
		for c := range row {
			top, right := float64(a)/ternaryNodes, float64(c)/ternaryNodes
			row[c] = t.At([3]float64{top, 1 - top - right, right})
		}
		out.nodes = append(out.nodes, row)
	}
	out.allowed = func(shares [3]float64) bool { return f.Feasible(t.At(shares)) }
	out.barred = func([3]float64) bool { return false }
	if h.barred() {
		out.barred = func(shares [3]float64) bool {
			_, ok := h.core.Space().Excluded(h.core.Space().Decode(t.At(shares)))
			return ok
		}
	}
	out.best, _ = t.Shares(x)
	return out
}

// draw draws the map of a layer.
func (t *ternary) draw(l layer) Figure {
	values := make([][]float64, len(t.nodes))
	var shown []float64
	least, most := extreme{value: math.Inf(1)}, extreme{value: math.Inf(-1)}
	for a, row := range t.nodes {
		for c, x := range row {
			v := l.at(x)
			values[a] = append(values[a], v)
			top, right := float64(a)/ternaryNodes, float64(c)/ternaryNodes
			if !t.allowed([3]float64{top, 1 - top - right, right}) || math.IsNaN(v) {
				continue
			}
			shown = append(shown, v)
			if v < least.value {
				least = extreme{v, x}
			}
			if v > most.value {
				most = extreme{v, x}
			}
		}
	}
	picture := figure.Ternary{
		Corners: t.corners, Bands: l.bands(shown), Unit: l.unit, Points: t.points(), Best: &t.best,
		Value: func(shares [3]float64) (float64, bool) {
			v := barycentric(values, shares)
			// Stripes let the map show between them.
			striped := math.Mod((shares[0]+2*shares[2])*ternaryNodes, 4) < 1 && t.barred(shares)
			return v, !math.IsNaN(v) && t.allowed(shares) && !striped
		},
	}
	words := t.words(l, least, most)
	return Figure{ID: "ternary-" + l.id, Title: l.title, SVG: t.h.target.Ternary(picture, l.title+". "+words), Caption: words}
}

// extreme is a value and where it is.
type extreme struct {
	value float64
	x     []float64
}

// words explain a map.
func (t *ternary) words(l layer, least, most extreme) string {
	if least.x == nil {
		return "No mixture of the triangle is allowed."
	}
	low, high := t.value(l, least.value), t.value(l, most.value)
	if low == high {
		return "Everywhere " + low + ". " + l.dark
	}
	return fmt.Sprintf("From %s at %s to %s at %s. %s", low, t.where(least.x), high, t.where(most.x), l.dark)
}

// value writes a value of a layer.
func (t *ternary) value(l layer, v float64) string {
	if l.share {
		return format.Fixed(v, 2)
	}
	return figure.Typeset(format.WithUnit(format.Significant(v, 3), l.unit))
}

// where names a mixture by its three amounts.
func (t *ternary) where(x []float64) string {
	texts := make([]string, len(t.Components))
	point := t.h.core.Space().Decode(x)
	write := format.CompositionsOf(t.h.def)
	for i, k := range t.Components {
		text, _ := write.Value(k, point)
		texts[i] = t.corners[i].Name + " " + text
	}
	return strings.Join(texts, ", ")
}

// points are the measured mixtures, seen in the triangle.
func (t *ternary) points() (points []figure.Mixture) {
	for _, x := range t.h.measuredExperiments() {
		at, err := t.h.core.Space().Encode(x.Measurement.Actual)
		if err != nil {
			continue
		}
		if shares, ok := t.Shares(at); ok && min(shares[0], shares[1], shares[2]) > -1e-6 {
			points = append(points, figure.Mixture{Shares: shares, ID: x.ID, Text: t.h.spotText(x)})
		}
	}
	return points
}

// measuredExperiments are those with a measurement that is not left out of the
// models.
func (h *history) measuredExperiments() (all []*campaign.Experiment) {
	for i := range h.state.Experiments {
		if x := &h.state.Experiments[i]; x.Measurement != nil && !x.Excluded {
			all = append(all, x)
		}
	}
	return all
}

// barycentric interpolates linearly between the three nodes around a mixture.
func barycentric(values [][]float64, shares [3]float64) float64 {
	n := len(values) - 1
	a, c := shares[0]*float64(n), shares[2]*float64(n)
	i := min(int(max(a, 0)), n-1)
	j := min(int(max(c, 0)), n-1-i)
	u, v := a-float64(i), c-float64(j)
	if u+v <= 1 || i+j+2 > n {
		return (1-u-v)*values[i][j] + u*values[i+1][j] + v*values[i][j+1]
	}
	return (1-v)*values[i+1][j] + (1-u)*values[i][j+1] + (u+v-1)*values[i+1][j+1]
}

// figuresTernary draws the predictions of models of several quantities over the mixtures of three
// components, with the common words of all maps as the caption.
func figuresTernary(h *history, layers []layer) (figures []Figure, m *Mixture, caption string, err error) {
	t, m, ok, err := mixtureOf(h, h.triangle)
	if err != nil || !ok {
		return nil, nil, "", err
	}
	for _, l := range layers {
		figures = append(figures, t.draw(l))
	}
	caption = fmt.Sprintf("Every place of the triangle is a mixture of %s, %s and %s: the nearer to a corner, "+
		"the more of the component that stands there. Star: the %s. Circles are measurements.",
		m.Drawn[0], m.Drawn[1], m.Drawn[2], h.middle())
	if others := len(h.def.Parameters) - 3; others > 0 {
		caption += " Everything else is as in the " + h.middle() + "; measurements are shown with the ratio " +
			"that the three have in them."
	}
	if h.barred() {
		caption += " Striped: excluded regions."
	}
	return figures, m, caption + " Blank: not allowed by bounds or constraints.", nil
}
