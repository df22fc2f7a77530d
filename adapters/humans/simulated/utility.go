package simulated

import (
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// Worth is the worth of a value v of one quantity to an expert who compares outcomes,
//
//	weight·S(6(v − from)/(to − from) − 3),
//
// with the logistic function S: next to nothing at From (0.05 of the weight), next to all at To
// (0.95), and hardly more beyond. Either may be the greater.
type Worth struct {
	// Quantity is one that the campaign's objective names.
	Quantity string `json:"quantity" jsonschema:"required"`
	// From and To are in the quantity's unit.
	From float64 `json:"from" jsonschema:"required"`
	To   float64 `json:"to" jsonschema:"required"`
	// Weight among the other quantities. Default 1.
	Weight *float64 `json:"weight,omitempty" jsonschema:"exclusiveMinimum=0"`
}

// Of returns the worth of a value.
func (w Worth) Of(value float64) float64 {
	weight := 1.0
	if w.Weight != nil {
		weight = *w.Weight
	}
	return weight / (1 + math.Exp(3-6*(value-w.From)/(w.To-w.From)))
}

// Utility is the worth of an outcome to an expert: the sum over its quantities. A quantity without
// a Worth contributes nothing.
func Utility(worths []Worth, o events.Outcome) (utility float64) {
	for _, w := range worths {
		for _, q := range o.Quantities {
			if q.Name == w.Quantity {
				utility += w.Of(q.Value)
			}
		}
	}
	return utility
}

// outcomes orders outcomes by their utility, each judged with normal noise of its
// own. Who misleads (a negative accuracy) says the opposite.
func (r *Reviewer) outcomes(q humans.Question) ([]int, error) {
	if len(r.cfg.Utility) == 0 {
		return nil, fmt.Errorf("%w: it is not said what outcomes are worth to %s", ErrConfig, r.name)
	}
	liking := make([]float64, len(q.Options))
	order := make([]int, len(q.Options))
	for i, o := range q.Options {
		if o.Outcome == nil {
			return nil, fmt.Errorf("option %d has no outcome", i+1)
		}
		purpose, question := r.occasion("outcome", i, q.ID)
		noise := r.cfg.UtilityNoise * math.Sqrt2 * math.Erfinv(2*r.open(purpose, question, o.Parameters)-1)
		liking[i] = Utility(r.cfg.Utility, *o.Outcome) + noise
		if a := r.cfg.Accuracy; a != nil && *a < 0 {
			liking[i] = -liking[i]
		}
		order[i] = i
	}
	if r.copies(answered(q.ID), q.ID, points(q.Options)...) {
		return order, nil
	}
	sortByLiking(order, liking)
	return order, nil
}

// worthless is the truth of an expert who knows what outcomes are worth, and
// nothing of compositions.
func worthless(e definition.Expert, def definition.Campaign) Knowledge {
	return Knowledge{
		Sought: def.Sought(),
		Value: func(definition.Point) (float64, error) {
			return math.NaN(), fault(e, "it judges outcomes alone, and nothing of compositions")
		},
	}
}

// checkUtility returns the faults of the worths of outcomes.
func (s *Settings) checkUtility(
	def *definition.Campaign, here definition.Path,
) (faults []definition.Fault) {
	over := def.Preferred()
	if over == nil && len(s.Utility) > 0 {
		return []definition.Fault{{At: here.To("utility"), Problem: "no outcomes are compared in this campaign",
			Remedy: "remove utility, or write objective: {preference: {over: […]}}"}}
	}
	if over != nil && len(s.Utility) == 0 {
		return []definition.Fault{{At: here, Problem: "it does not say what outcomes are worth to the expert",
			Remedy: fmt.Sprintf("write utility: [{quantity: %s, from: …, to: …}, …]", over[0])}}
	}
	for i, w := range s.Utility {
		switch at := here.To("utility", i); {
		case !slices.Contains(over, w.Quantity):
			faults = append(faults, definition.Fault{At: at.To("quantity"),
				Problem: w.Quantity + " is not compared", Unknown: w.Quantity, Known: over})
		case !(w.From != w.To) || math.IsInf(w.From, 0) || math.IsInf(w.To, 0):
			faults = append(faults, definition.Fault{At: at, Problem: "its ends are one",
				Remedy: "write from where it is worth nothing, and to where it is worth all"})
		}
	}
	return faults
}

// utilityWords says what outcomes are worth.
func (s *Settings) utilityWords(def *definition.Campaign) (text string) {
	for i, w := range s.Utility {
		unit := ""
		if q := def.Quantity(w.Quantity); q != nil {
			unit = q.Unit
		}
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(" %s from %s to %s",
			w.Quantity, format.Setting(w.From), format.SettingIn(w.To, unit))
		if w.Weight != nil && *w.Weight != 1 {
			text += " with weight " + format.Setting(*w.Weight)
		}
	}
	if s.UtilityNoise > 0 {
		text += ", each judged with noise " + format.Setting(s.UtilityNoise)
	}
	return text
}
