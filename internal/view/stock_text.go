package view

import (
	"fmt"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// StockStatus is the rest of a stock, for programs.
type StockStatus struct {
	Name string `json:"name"`
	// Left is the number of labels that are left, or the amount, in Unit; Full how much there was at
	// first, or when it was counted last.
	Left float64 `json:"left"`
	Full float64 `json:"full"`
	Unit string  `json:"unit,omitempty"`
	// Next is the label that is handed out next.
	Next string `json:"next,omitempty"`
	// Low is the rest from which on it comes to an end, ComesToAnEnd whether it does.
	Low          float64   `json:"low"`
	ComesToAnEnd bool      `json:"comes_to_an_end"`
	CountedAt    time.Time `json:"counted_at,omitzero"`
	CountedBy    string    `json:"counted_by,omitempty"`
	Lot          string    `json:"lot,omitempty" doc:"What stood on the package when it was counted."`
}

// StockStatuses are those of the stocks of a campaign.
func StockStatuses(stocks []campaign.Stock) (all []StockStatus) {
	for i := range stocks {
		all = append(all, stockStatus(&stocks[i]))
	}
	return all
}

func stockStatus(s *campaign.Stock) StockStatus {
	status := StockStatus{
		Name: s.Name, Left: s.Left(), Full: s.Full, Unit: s.Unit, Low: s.Low, ComesToAnEnd: s.ComesToAnEnd(),
		CountedAt: s.CountedAt, CountedBy: s.CountedBy, Lot: s.Lot,
	}
	if len(s.Labels) > 0 {
		status.Next = s.Labels[0]
	}
	return status
}

// StockText puts the rest of a stock into words: "tips: 47 of 96 left, D6 next".
func StockText(s *campaign.Stock) string { return stockStatus(s).Words() }

// LeftText puts the rest into words without the stock's name: "47 of 96 left, D6 next".
func LeftText(s *campaign.Stock) string { return stockStatus(s).left() }

// Words puts the rest into words: "tips: 47 of 96 left, D6 next".
func (s StockStatus) Words() string {
	text := s.Name + ": " + s.left()
	if s.Lot != "" {
		text += " (lot " + s.Lot + ")"
	}
	if s.ComesToAnEnd && s.Left > 0 {
		text += "; it comes to an end"
	}
	return text
}

func (s StockStatus) left() string {
	text := fmt.Sprintf("%s of %s left", format.Rounded(s.Left, 5), format.WithUnit(format.Rounded(s.Full, 5), s.Unit))
	if s.Next != "" {
		text += ", " + s.Next + " next"
	}
	return text
}

// ShortText says why an experiment cannot be begun: "e5 cannot be begun: it needs 2 of tips, and 1 is left".
// It is empty where the stocks suffice.
func ShortText(s *campaign.State, x *campaign.Experiment) string {
	if _, short := engine.Drawn(s, x, engine.LabStocks{}); short != nil {
		return short.String()
	}
	return ""
}

func stockCounted(e events.Event, p *events.StockCounted) Entry {
	text := "counted the stock " + p.Stock + ": "
	switch {
	case p.Amount != nil:
		text += format.Setting(*p.Amount)
	case len(p.Labels) == 0:
		text += "none is left"
	default:
		text += format.Labels(p.Labels)
	}
	if p.Lot != "" {
		text += " (lot " + p.Lot + ")"
	}
	return Entry{Who: doer(e), Text: text, Reason: p.Reason}
}
