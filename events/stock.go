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

// StocksStream is the stream of the lab's log that is about the stocks of the lab, which its
// campaigns share. It is one stream for all of them, so that one append takes several or none.
// Each event is appended with the sequence that its process had seen: of two processes that want
// the last tip one is refused, and looks again.
const StocksStream = "stocks"

// KindStockTaken is the kind of [StockTaken].
const KindStockTaken Kind = "stock.taken"

// StockTaken says that a campaign has taken parts of the lab's stocks for a command, which it has
// not sent yet. They stay taken, whatever becomes of it.
type StockTaken struct {
	// Store is the path of the campaign's store, with slashes, from the lab's folder on.
	Store    string `json:"store"`
	Campaign string `json:"campaign"`
	// Experiment is that of the command. A command is given parts once: a further event about it
	// says that it needs others meanwhile.
	Experiment string `json:"experiment"`
	Command    string `json:"command"`
	// Taken are the parts, by the names of the stocks in the lab.
	Taken []Drawn `json:"taken"`
}

// Subject implements [Payload].
func (p StockTaken) Subject() string { return p.Campaign }

// LabStockCounted gives the contents of a stock of the lab: by the word of a person or, the first
// time, of lab.yaml. Its kind is [KindStockCounted]. The file counts once: a label that was handed
// out comes back by the word of a person who has looked, and by nothing else.
type LabStockCounted struct {
	StockCounted
	// Unit is that of Amount.
	Unit string `json:"unit,omitempty"`
}
