package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Complete returns an error for an event that lacks something its folds and readers rely on: a
// definition has every default written out and names only what exists, a decision is about
// candidates that it names, a fit has all the parts of its model. campaignd writes only
// complete events, so that an incomplete one was changed or is another program's.
//
// It comes before any projection folds the event, so that these need no check
// for a missing default, and a forged event is an error with a name rather than
// a panic.
func (c *Core) Complete(e events.Event, payload events.Payload) error {
	var err error
	switch p := payload.(type) {
	case *events.CampaignDefined:
		err = lacks(p.Definition)
	case *events.CampaignAmended:
		err = lacks(p.Definition)
	case *events.DecisionMade:
		err = p.Fault()
	case *events.QuestionAsked:
		err = known(p.Form)
	case *events.QuestionAnswered:
		err = known(p.Form)
	case *events.QuestionSuperseded:
		err = known(p.Form)
	case *events.QuestionContested:
		err = known(p.Form)
	case *events.ModelFitted:
		if c.space != nil {
			err = fits(c.At(World{}), p)
		}
	}
	if err != nil {
		return fmt.Errorf("event %s, %s: %w", e.ID, e.Kind, err)
	}
	return nil
}

// known returns an error for a form of question that does not exist.
func known(form events.Form) error {
	if !slices.Contains(events.Forms(), form) {
		return fmt.Errorf("it is a question of the form %q, which there is not", form)
	}
	return nil
}

// lacks names the settings that a definition does not write out, and the parts that
// cannot be found by their names.
func lacks(def definition.Campaign) error {
	if missing := def.Missing(); missing != nil {
		return fmt.Errorf(
			"the definition lacks %s; campaignd writes every setting out, so that it was changed or is another program's",
			strings.Join(missing, ", "),
		)
	}
	if misnamed := def.Misnamed(); misnamed != nil {
		return fmt.Errorf("the definition has parts that are named twice, or not at all: %s; campaignd writes no such "+
			"definition, so that it was changed or is another program's", strings.Join(misnamed, ", "))
	}
	return nil
}

// fits validates the form of a fit, and the form alone: the audit checks whether a fit gives
// these numbers. It is called only once there is a space, whose dimension it compares with.
func fits(c Now, p *events.ModelFitted) error {
	dim := c.space.Dim()
	if p.Preference != nil && p.Preference.Form == events.PreferenceOutcomes {
		dim = len(c.Definition.Preferred())
	}
	scales := func(lengthscales []float64, scale float64) error {
		// No event holds a number that is not finite.
		if len(lengthscales) != dim || scale <= 0 ||
			slices.ContainsFunc(lengthscales, func(x float64) bool { return x <= 0 }) {
			return fmt.Errorf("its hyperparameters are not those of a model of %d dimensions", dim)
		}
		return nil
	}
	switch f, b, q := p.Objective, p.Belief, p.Preference; {
	case p.Model == events.ModelQuantity && c.quantities.Of(p.Of()) == nil:
		return fmt.Errorf("the campaign models no quantity %q", p.Quantity)
	case (p.Model == events.ModelObjective || p.Model == events.ModelQuantity) &&
		f != nil && b == nil && q == nil:
		return scales(f.Lengthscales, f.OutputScale)
	case p.Model == events.ModelBelief && f == nil && b != nil && q == nil:
		return nil
	case p.Model == events.ModelPreference && f == nil && b == nil && q != nil:
		if q.Form != c.policy.Needs().Preference.Form {
			return fmt.Errorf("its form is %q, which the campaign's policy does not read", q.Form)
		}
		if q.Form == events.PreferenceChoice {
			if q.Score == nil || q.Spread == nil {
				return errors.New("it lacks its second stage")
			}
			if err := errors.Join(scales(q.Score.Lengthscales, q.Score.OutputScale),
				scales(q.Spread.Lengthscales, q.Spread.OutputScale)); err != nil {
				return err
			}
		}
		return scales(q.Lengthscales, q.OutputScale)
	}
	return fmt.Errorf("it is not a fit of the model %q", p.Model)
}
