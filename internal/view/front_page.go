package view

import (
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/policies/seek"
)

// FrontWords are the sentences about the front of a trade-off besides its table.
type FrontWords struct {
	// None is why it has no member; empty where it has some.
	None string
	// BestIn names the best composition in each objective, OfInterest from where on a value is of
	// interest, Grown how much the last experiments brought.
	BestIn, OfInterest, Grown string
	// Constant names the objectives that are the same everywhere.
	Constant string
	// Waiting are the constraints that cannot be judged yet.
	Waiting []Row
}

// WordsOf returns the sentences about a front.
func WordsOf(f *seek.Front) FrontWords {
	w := FrontWords{
		OfInterest: ofInterest(f), Grown: grown(f.Curve), Constant: decidesNothing(f), Waiting: waiting(f.Waiting),
	}
	if len(f.Members) == 0 {
		w.None = noFront(f)
	} else if f.Compromise != nil {
		w.BestIn = bestIn(f)
	}
	return w
}

// FoundInShort returns a campaign's findings by the models in a few rows: the front, or the best
// composition.
func (c *Campaign) FoundInShort() []Row {
	switch best := c.BestByModel; {
	case c.Definition.Tradeoff() != nil:
		return c.FrontInShort()
	case best == nil:
		return []Row{{"best by the model", c.NoModel}}
	default:
		rows := []Row{{"best by the model", best.Experiment + ": " + c.Definition.Sought().Name + " " + ByModel(best)},
			{"its composition", format.CompositionsOf(c.Definition).LineWithUnits(best.Parameters)}}
		for _, line := range ModelSays(c.Definition, best) {
			rows = append(rows, Row{"", line})
		}
		return append(rows, c.outsideRows()...)
	}
}

// Requirements are the constraints on outcomes, as people write them: "viscosity ≤ 5 with
// probability 0.95". A constraint with the default's confidence is written without it.
func Requirements(def *definition.Campaign) (texts []string) {
	for _, c := range def.ConstraintsOnOutcomes {
		text := Compared(c.Require)
		if c.Confidence != nil {
			text += " with probability " + format.Setting(*c.Confidence)
		}
		texts = append(texts, text)
	}
	return texts
}

// Compared writes the comparisons of a constraint, or of a reason that names one, with the
// signs of print.
func Compared(text string) string {
	return strings.NewReplacer("<=", "≤", ">=", "≥").Replace(text)
}

// Sought are the objectives of a campaign of several quantities: "maximize conductivity (mS/cm)".
func Sought(def *definition.Campaign) (texts []string) {
	for _, a := range def.Tradeoff() {
		o := def.ObjectiveOf(a)
		text := o.Goal + " " + format.HeadingOf(o)
		if a.Worst != nil {
			text += ", worst of interest " + format.SettingIn(*a.Worst, o.Unit)
		}
		texts = append(texts, text)
	}
	if def.Preferred() != nil {
		return []string{Seeks(def)}
	}
	if texts == nil {
		sought := def.Sought()
		texts = append(texts, sought.Goal+" "+format.HeadingOf(sought))
	}
	return texts
}
