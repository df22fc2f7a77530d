package view

import (
	"math"
	"testing"
	"time"

	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: what a column is sorted by follows from its data: a number, whole or not, a time; nothing
// else has a place.
func TestPlacesOfColumns(t *testing.T) {
	at := func(content any) float64 {
		c := Column{Data: func(*Experiments, *campaign.Experiment) any { return content }}
		return new(Experiments).At(&c, nil)
	}
	early := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if at(2) != 2 || at(2.5) != 2.5 || at(early) >= at(early.Add(time.Second)) {
		t.Errorf("the places are %v, %v, %v", at(2), at(2.5), at(early))
	}
	for _, none := range []any{nil, "sobol", true} {
		if place := at(none); !math.IsNaN(place) {
			t.Errorf("%v has the place %v", none, place)
		}
	}
}
