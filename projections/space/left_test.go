package space

import (
	"context"
	"errors"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
)

// leaving is the context of somebody who leaves after so many looks at it.
type leaving struct {
	context.Context
	looks int
}

func (l *leaving) Err() error {
	if l.looks--; l.looks < 0 {
		return context.Canceled
	}
	return nil
}

// Law: whoever waits for a space may leave at any look, of which each constraint and each part of a contradiction
// takes at least one; then there is no space, and no explanation either. Who stays has what New gives.
func TestASpaceIsLeft(t *testing.T) {
	var chained, contradicts definition.Campaign
	for i := range 8 {
		name := string(rune('a' + i))
		chained.Parameters = append(chained.Parameters, continuous(name, 0, 1))
		if i > 0 {
			chained.Constraints = append(chained.Constraints,
				definition.Constraint{Terms: map[string]float64{string(rune('a' + i - 1)): 1, name: 1}, AtLeast: ptr(0.5)})
		}
	}
	contradicts = chained
	contradicts.Excluded = []definition.Region{
		{Where: map[string]definition.RegionSide{"a": {Max: ptr(0.5)}}}, {Where: map[string]definition.RegionSide{"a": {Min: ptr(0.5)}}},
	}
	for name, c := range map[string]struct {
		def  definition.Campaign
		most int // looks, at least
	}{"constraints": {chained, 7}, "a contradiction": {contradicts, 9}} {
		want, wantErr := New(c.def)
		for looks := 0; ; looks++ {
			s, err := NewContext(&leaving{t.Context(), looks}, c.def)
			if errors.Is(err, context.Canceled) {
				if s != nil {
					t.Fatalf("%s: a space for whoever has left", name)
				}
				continue
			}
			if looks < c.most || (s == nil) != (want == nil) || wantErr != nil && err.Error() != wantErr.Error() {
				t.Errorf("%s, after %d looks: %v, want %v", name, looks, err, wantErr)
			}
			break
		}
	}
}
