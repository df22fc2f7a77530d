package console

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/space"
)

// known is an experiment that is shown with a candidate, for comparison.
type known struct{ ID, Value, Line string }

// card is a composition on a page of a question, with the knowledge around it: all in words and
// drawings, ready for the template.
type card struct {
	Index      int
	Name       string // the letter, if there are several
	Key        int    // on the keyboard
	Rows       []cardRow
	Near       string // the nearest measured composition, in words
	NearID     string
	Prediction string
	Scale      template.HTML // the prediction among the measurements
	Belief     string
	Line       string   // the composition in one line
	Plain      []string // the values, in the campaign's order
	Typed      string   // the place given
	Numbers    []number // requested for it
}

// number is a field for an estimate of a row; Of is its column's quantity where the row has
// columns.
type number struct{ Field, Typed, Of string }

// ID is the field's in the page.
func (n number) ID() string { return strings.ReplaceAll(n.Field, ".", "-") }

// cardRow is a parameter of a composition, with the incumbent's value: the best
// measured one's.
type cardRow struct {
	Name, Unit, Value, Description string
	Bar                            template.HTML
	Differs                        bool
	Incumbent                      string
}

// reference holds the measurements, and the best of them, with which candidates of a question are
// compared. It holds copies, since it outlives the lock on the campaign. Distances are in the unit
// cube of the campaign's space, in which each parameter's range has length one: raw units would let
// one parameter decide.
type reference struct {
	def    *definition.Campaign
	space  *space.Space
	best   *campaign.Experiment // nil if nothing was measured
	gave   definition.Quantity  // by the best
	near   []neighbor           // all measurements that count
	values []float64            // theirs
	at     []float64            // where the best lies in each parameter's range
}

// neighbor is a measured experiment in the unit cube.
type neighbor struct {
	x    *campaign.Experiment
	at   []float64
	gave definition.Quantity
}

// newReference gathers the measurements. The campaign is locked meanwhile. Compositions as they
// were made count, not as they were asked for; one that the space cannot encode (of a definition
// that was amended since) has no place and is left out of the neighbors.
func newReference(core *engine.Core) *reference {
	s := core.State()
	b := &reference{def: s.Definition, space: core.Space(), values: measuredValues(s)}
	if best := core.Counts().BestMeasured; best != nil {
		x := s.Experiment(best.Experiment)
		if value, ok := s.Value(x); ok {
			copied := *x
			b.best, b.gave = &copied, value
			b.at = positions(b.def, x.Measurement.Actual)
		}
	}
	for x, value := range s.Results() {
		if at, err := b.space.Encode(x.Measurement.Actual); err == nil {
			copied := *x
			b.near = append(b.near, neighbor{&copied, at, value})
		}
	}
	return b
}

// span is the scale of measurements and predictions: predictions within two standard deviations fit
// in. All cards of a page share it, so that their bars can be compared by eye.
func (b *reference) span(options []events.Option) figure.Span {
	all := slices.Clone(b.values)
	for _, o := range options {
		if o.Prediction != nil {
			all = append(all, o.Prediction.Mean-2*o.Prediction.SD, o.Prediction.Mean+2*o.Prediction.SD)
		}
	}
	return figure.SpanOf(0.02, all...)
}

// order sorts the parameters, those first in which the compositions differ most: from each other if
// there are several, else from the best. It returns their numbers. A question is about the
// differences; with many parameters they would be lost among the similarities. Equal ones keep the
// campaign's order.
func (b *reference) order(points []definition.Point) []int {
	differ := make([]float64, len(b.def.Parameters))
	all := make([][]float64, 0, len(points)+1)
	for _, p := range points {
		all = append(all, positions(b.def, p))
	}
	if len(points) == 1 && b.at != nil {
		all = append(all, b.at)
	}
	order := make([]int, len(differ))
	for k := range differ {
		order[k] = k
		low, high := math.Inf(1), math.Inf(-1)
		for _, at := range all {
			low, high = min(low, at[k]), max(high, at[k])
		}
		if high > low {
			differ[k] = high - low
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(differ[j], differ[i]) })
	return order
}

// card shows a composition with the knowledge around it. order is that of its rows; points are all
// that are shown together; blind leaves out all that would influence an expert: neighbors,
// predictions and beliefs. The incumbent's values stay: they were measured, and no model had a part
// in them.
func (b *reference) card(
	write format.Compositions, o events.Option, order []int, points []definition.Point,
	shown figure.Span, blind bool,
) card {
	c := card{Line: write.LineWithUnits(o.Parameters)}
	at := positions(b.def, o.Parameters)
	for k := range b.def.Parameters {
		text, _ := write.Value(k, o.Parameters)
		c.Plain = append(c.Plain, text)
	}
	for _, k := range order {
		par := b.def.Parameters[k]
		text, _ := write.Value(k, o.Parameters)
		row := cardRow{Name: par.Name, Unit: par.Unit, Value: text, Description: par.Description}
		title := par.Name + " " + text
		incumbent := math.NaN()
		if b.at != nil {
			incumbent = b.at[k]
			row.Incumbent, _ = write.Value(k, b.best.Measurement.Actual)
			title += "; the best so far has " + row.Incumbent
		}
		row.Bar = bar(title, at[k], incumbent)
		for _, other := range points {
			row.Differs = row.Differs || other[par.Name] != o.Parameters[par.Name]
		}
		c.Rows = append(c.Rows, row)
	}
	if blind {
		return c
	}
	c.near(b, o.Parameters)
	if o.Prediction != nil {
		c.Prediction = format.PlusMinus(o.Prediction.Mean, o.Prediction.SD, o.Prediction.Unit)
	}
	if o.Prediction != nil || len(b.values) > 0 {
		var best *float64
		if b.best != nil {
			best = &b.gave.Value
		}
		c.Scale = scale(b.values, best, shown, o.Prediction)
	}
	if o.Belief != nil {
		c.Belief = beliefText(*o.Belief)
	}
	return c
}

// near names the nearest measured composition, by the Euclidean distance in the
// unit cube, and how this one differs from it. People know experiments that
// they have made better than numbers: "like e7, but with more salt" can be
// judged.
func (c *card) near(b *reference, point definition.Point) {
	at, err := b.space.Encode(point)
	if err != nil || len(b.near) == 0 {
		return
	}
	distance := func(n neighbor) (sum float64) {
		for i, v := range n.at {
			sum += (v - at[i]) * (v - at[i])
		}
		return sum
	}
	n := slices.MinFunc(b.near, func(m, o neighbor) int { return cmp.Compare(distance(m), distance(o)) })
	c.NearID = n.x.ID
	gave := n.x.ID + ", which gave " + format.Result(n.gave)
	if differences := b.differences(n.x.Measurement.Actual, point); differences != "" {
		c.Near = "Like " + gave + ", but with " + differences
	} else {
		c.Near = "Almost the same as " + gave
	}
}

// noticeable is the share of a parameter's range from which a difference is
// named: below it, "more" and "less" would be about noise.
const noticeable = 0.05

// differences names the one or two parameters in which a composition differs
// most from another. Another category counts as more than any number does:
// numbers differ by at most one, in shares of their range, and a category by
// two.
func (b *reference) differences(from, to definition.Point) string {
	type difference struct {
		text string
		size float64
	}
	var all []difference
	for k := range b.def.Parameters {
		par := &b.def.Parameters[k]
		if par.Categories != nil {
			if from[par.Name] != to[par.Name] {
				all = append(all, difference{fmt.Sprintf("%s %s instead of %s", par.Name, to[par.Name], from[par.Name]), 2})
			}
			continue
		}
		change := positionOf(par, to[par.Name]) - positionOf(par, from[par.Name])
		switch {
		case change > noticeable:
			all = append(all, difference{"more " + par.Name, change})
		case change < -noticeable:
			all = append(all, difference{"less " + par.Name, -change})
		}
	}
	slices.SortStableFunc(all, func(a, b difference) int { return cmp.Compare(b.size, a.size) })
	var texts []string
	for _, d := range all[:min(len(all), 2)] {
		texts = append(texts, d.text)
	}
	return strings.Join(texts, " and ")
}

// beliefText puts into words the interval of the expert's latent rejection
// score g, whose bounds are logits (Xu et al. 2024, Eq. 5): a rejection has the
// probability 1 / (1 + exp(−g)). Zero is a probability of a half: an interval
// on one side of it foresees an answer, one around it does not.
func beliefText(g events.Interval) string {
	chance := func(x float64) string { return format.Percent(1 / (1 + math.Exp(-x))) }
	low, high := chance(g.Lower), chance(g.Upper)
	between := low + " to " + high
	if low == high {
		between = "about " + low
	}
	switch {
	case g.Upper < 0:
		return "From the answers so far you would accept it: a rejection is " + between + " likely."
	case g.Lower > 0:
		return "From the answers so far you would reject it: a rejection is " + between + " likely."
	}
	return "The answers so far leave it open: a rejection is " + between + " likely."
}
