package instrumenttest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
)

// draw takes the labels and amounts of a command at a point from the campaign's stocks. Each command is given other labels;
// where a stock has no more, as after a refill, they begin again. The caller holds mu.
func (s *Session) draw(point definition.Point) (drawn []events.Drawn) {
	def := s.env.Definition
	draws, err := computed.Draws(&def, def.Draws(), point)
	if err != nil {
		return nil // the campaign would wait for a person
	}
	for _, d := range draws {
		one := events.Drawn{Stock: d.Stock, Amount: d.Amount, Unit: d.Unit}
		// Which labels a stock of the lab has is not the campaign's to know.
		all, _ := definition.ParseLabels(cmp.Or(def.Stocks[d.Stock].Labels, "A1-H12"))
		if s.used == nil {
			s.used = make(map[string]int)
		}
		for range d.Labels {
			one.Labels = append(one.Labels, all[s.used[d.Stock]%len(all)])
			s.used[d.Stock]++
		}
		drawn = append(drawn, one)
	}
	return drawn
}

// drawn compares what the record of acts says was used with what the commands were given. A program that
// counts by itself does not know what it had used when it was killed: what it takes next may be used
// already.
func drawn(_ context.Context, s *Session) error {
	if len(s.env.Definition.Draws()) == 0 {
		return skip("experiments of the campaign use nothing up (instrument.draws)")
	}
	if !s.acts.counted() {
		return skip("only a record of its acts tells what it used")
	}
	r, err := s.acts.record()
	if err != nil {
		return err
	}
	said := false
	for _, act := range r.lines {
		cmd := s.issued[act.Command]
		if cmd == nil || act.Set == "" {
			continue
		}
		for _, d := range cmd.drawn {
			used, there, err := usedOf(act, d.Stock)
			if err != nil {
				return err
			}
			if !there || d.Unit != "" {
				continue
			}
			said = true
			if !asDrawn(used, d.Labels, act.Part > 0) {
				return fmt.Errorf("command %s was given %v of %s, and the record of acts says that %v was used: "+
					"use what the command names in \"drawn\", and count nothing yourself", act.Command, d.Labels, d.Stock, used)
			}
		}
	}
	if !said {
		return skip("the record of acts does not say what was used: write it behind a line, as in %s", exampleOf(s.env.Definition))
	}
	return nil
}

// asDrawn reports whether the used labels are those that were drawn, in any order. Of several parts, each
// uses some of them.
func asDrawn(used, drawn []string, part bool) bool {
	if !part && len(used) != len(drawn) {
		return false
	}
	left := slices.Clone(drawn)
	for _, label := range used {
		i := slices.Index(left, label)
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}

// usedOf reads the labels of a stock from a line of the record: one, or a list of them.
func usedOf(act Act, stock string) (labels []string, there bool, err error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(act.Set), &all); err != nil {
		return nil, false, fmt.Errorf("the record of acts, command %s: %s is not a JSON object: %w", act.Command, act.Set, err)
	}
	text, there := all[stock]
	if !there {
		return nil, false, nil
	}
	var one string
	if json.Unmarshal(text, &one) == nil {
		return []string{one}, true, nil
	}
	_ = json.Unmarshal(text, &labels) // an amount has no labels
	return labels, true, nil
}

// exampleOf is a line of the record that says what was used.
func exampleOf(def definition.Campaign) string {
	for _, name := range slices.Sorted(maps.Keys(def.Stocks)) {
		if _, unit, _, _ := def.Stocks[name].Uses(def.Draws()[name]); unit == "" {
			return fmt.Sprintf(`ID begin {%q: ["A1"]}`, name)
		}
	}
	return `ID begin {"tips": ["A1"]}`
}
