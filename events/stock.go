package events

// StockCounted is a person's word on what there is of a stock: it was refilled, or counted. It takes the
// place of what the log knew before.
type StockCounted struct {
	// Stock is its name in the definition.
	Stock string `json:"stock"`
	// Labels are those that are there, in the order in which they are handed out; none: the stock of
	// labels is empty.
	Labels []string `json:"labels,omitempty"`
	// Amount is how much is there, in the stock's unit. Absent for a stock of labels.
	Amount *float64 `json:"amount,omitempty"`
	// Lot is the number of the lot on the package, where it was given.
	Lot string `json:"lot,omitempty"`
	// Reason is in the person's words.
	Reason string `json:"reason,omitempty"`
}

// Subject implements [Payload].
func (p StockCounted) Subject() string { return "" }
