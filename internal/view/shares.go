package view

import (
	"math"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Share is a quantity at a candidate, attributed to the parameters, in the
// campaign's unit and direction: Total is Base plus the sum of Values. Where
// the fit compresses bad results, so are the shares of them.
type Share struct {
	// Candidate is the candidate's name, Quantity one of the Quantity constants
	// of events.
	Candidate, Quantity string
	Base                float64
	Parameters          []string
	Values              []float64
	Total               float64
	// Model is the model's own prediction of the quantity there; nil where the decision did not
	// record it, or only in a unit that bad results stretch, or a standard deviation only as people
	// see it (model.intervals). It is the total, except for decisions of version 2 of the policies:
	// they rested on the measured compositions alone (Adachi et al. 2024, Prop. 4), which know less
	// and less about candidates far away.
	Model *float64
}

// AddUp reports whether shares add up to the model's own prediction, as those of Shapley values do
// for the prediction but not for decisions of version 2.
func AddUp(shares []Share) bool {
	for _, s := range shares {
		if s.Model == nil {
			continue
		}
		size := math.Abs(s.Total) + math.Abs(*s.Model) + math.Abs(s.Base)
		if math.Abs(s.Total-*s.Model) > sameValue*size {
			return false
		}
	}
	return true
}

// sameValue is the relative difference up to which two sums are the same.
const sameValue = 1e-6

// Shares returns the Shapley values of a decision in the campaign's unit, in
// the order in which they were recorded: nil where it has none, or no model. A
// mean is scaled, turned by the goal and shifted; a bound likewise; a standard
// deviation is only scaled. The sums are formed after that, in the campaign's
// unit.
func Shares(def *definition.Campaign, d *events.DecisionMade) []Share {
	if d.Attributions == nil || d.Objective == nil {
		return nil
	}
	// Recorded values are of a standardized and maximized objective.
	scale, sense := d.Objective.Scale, -def.Sought().Sign()
	var shares []Share
	for _, s := range d.Attributions.Shapley {
		share := Share{
			Candidate: s.Candidate, Quantity: s.Quantity,
			Parameters: s.Parameters,
			Model:      recorded(d, s.Candidate, s.Quantity),
		}
		if s.Quantity == events.QuantitySD && def.Model.Intervals == definition.IntervalsMarginal {
			share.Model = nil // the shares are of the fitted one, on which the decision rests
		}
		factor, shift := scale*sense, d.Objective.Shift
		if s.Quantity == events.QuantitySD { // a width: neither shifted nor turned
			factor, shift = scale, 0
		}
		share.Base = shift + factor*s.Base
		share.Total = share.Base
		for _, v := range s.Values {
			share.Values = append(share.Values, factor*v)
			share.Total += factor * v
		}
		shares = append(shares, share)
	}
	return shares
}

// recorded is a decision's record of a quantity at a candidate, compressed like the fit's values;
// nil if it did not record it in that form. A standard deviation has no compressed form where the
// mean is compressed.
func recorded(d *events.DecisionMade, candidate, quantity string) *float64 {
	compressed := d.Objective.Compressed
	for i := range d.Candidates {
		c := &d.Candidates[i]
		switch {
		case c.Name != candidate:
		case quantity == events.QuantityUCB:
			if c.Optimistic == nil {
				return nil
			}
			return new(compressed.Compress(*c.Optimistic))
		case c.Prediction == nil:
		case quantity == events.QuantityMean:
			return new(compressed.Compress(c.Prediction.Mean))
		case quantity == events.QuantitySD:
			if compressed.Compress(c.Prediction.Mean) != c.Prediction.Mean {
				return nil
			}
			return &c.Prediction.SD
		}
	}
	return nil
}

// ShareOf returns the share of a candidate and quantity, or nil.
func ShareOf(shares []Share, candidate, quantity string) *Share {
	for i := range shares {
		if shares[i].Candidate == candidate && shares[i].Quantity == quantity {
			return &shares[i]
		}
	}
	return nil
}
