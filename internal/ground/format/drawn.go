package format

import (
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/events"
)

// Drawn writes what a command uses up: "4.2 mL of solvent, tips C5, D5".
func Drawn(drawn []events.Drawn) string {
	parts := make([]string, len(drawn))
	for i, d := range drawn {
		if d.Unit != "" {
			parts[i] = WithUnit(Rounded(d.Amount, 4), d.Unit) + " of " + d.Stock
			continue
		}
		parts[i] = d.Stock + " " + Labels(d.Labels)
	}
	return strings.Join(parts, ", ")
}

// manyLabels is the number of labels from which on the first and the last stand for all.
const manyLabels = 6

// Labels lists labels, in the order in which they are handed out.
func Labels(labels []string) string {
	if n := len(labels); n > manyLabels {
		return fmt.Sprintf("%s … %s (%d)", labels[0], labels[n-1], n)
	}
	return strings.Join(labels, ", ")
}
