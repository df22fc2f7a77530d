package view

import (
	"fmt"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// fewOutside is how many compositions outside are named behind the best.
const fewOutside = 3

// OutsideSays names, a line each, the experiments that would lead and lie outside the space as it
// is now: "higher, but outside: e1 95.00 (T is 120 C, outside 20 to 80 C)".
func OutsideSays(def *definition.Campaign, all []engine.Outside) (lines []string) {
	how := def.Sought().Pick("higher, but outside", "lower, but outside")
	if !def.Single() {
		how = "not compared, outside"
	}
	for i, o := range all {
		if i == fewOutside {
			return append(lines, fmt.Sprintf("%s: %s more", how, format.Count(len(all)-i, "experiment")))
		}
		text := how + ": " + o.Experiment
		for _, value := range o.Values {
			if !def.Single() {
				text += " " + value.Name
			}
			text += " " + format.Result(value)
		}
		lines = append(lines, text+" ("+o.Why+")")
	}
	return lines
}

// OutsideLines are those of [OutsideSays].
func (c *Campaign) OutsideLines() []string { return OutsideSays(c.Definition, c.Outside) }

// outsideRows are its rows.
func (c *Campaign) outsideRows() (rows []Row) {
	for _, line := range c.OutsideLines() {
		rows = append(rows, Row{"", line})
	}
	return rows
}

// NoneWithin reports that all measured compositions lie outside; "" where one lies inside.
func (c *Campaign) NoneWithin() string {
	if c.BestMeasured != nil || len(c.Values) > 0 || len(c.Outside) == 0 {
		return ""
	}
	return "nothing that was measured lies within the space as it is now"
}
