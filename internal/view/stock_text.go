package view

import (
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// DrawnText says what a command uses up: "tips C5 and D5, 4.2 mL of solvent".
func DrawnText(drawn []events.Drawn) string {
	parts := make([]string, len(drawn))
	for i, d := range drawn {
		if d.Unit != "" {
			parts[i] = format.SettingIn(d.Amount, d.Unit) + " of " + d.Stock
			continue
		}
		parts[i] = d.Stock + " " + labelsText(d.Labels)
	}
	return strings.Join(parts, ", ")
}

// manyLabels is the number of labels from which on the first and the last stand for all.
const manyLabels = 6

// labelsText lists labels, in the order in which they are handed out.
func labelsText(labels []string) string {
	if n := len(labels); n > manyLabels {
		return fmt.Sprintf("%s … %s (%d)", labels[0], labels[n-1], n)
	}
	return strings.Join(labels, ", ")
}

// StockText puts the rest of a stock into words: "tips: 47 of 96 are left, D6 next".
func StockText(s *campaign.Stock) string {
	text := s.Name + ": " + engine.LeftOf(s)
	if s.Unit != "" {
		return text + " of " + format.SettingIn(s.Full, s.Unit)
	}
	text += fmt.Sprintf(" of %d", int(s.Full))
	if len(s.Labels) > 0 {
		text += ", " + s.Labels[0] + " next"
	}
	return text
}

func stockCounted(e events.Event, p *events.StockCounted) Entry {
	text := "counted the stock " + p.Stock + ": "
	switch {
	case p.Amount != nil:
		text += format.Setting(*p.Amount)
	case len(p.Labels) == 0:
		text += "none is left"
	default:
		text += labelsText(p.Labels)
	}
	if p.Lot != "" {
		text += " (lot " + p.Lot + ")"
	}
	return Entry{Who: doer(e), Text: text, Reason: p.Reason}
}
