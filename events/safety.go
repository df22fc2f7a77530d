package events

// SafetyOrdered says that a device is to be brought to its safe state, in which nothing moves, flows or
// heats: a person has aborted the campaign. It is durable before the instrument hears of it, and holds
// until [SafetyAnswered], or until the campaign is resumed.
type SafetyOrdered struct {
	// Resource is the campaign's name of the instrument; empty in a campaign without a procedure.
	Resource string `json:"resource,omitempty"`
	// Instrument is its own name.
	Instrument string `json:"instrument"`
	Reason     string `json:"reason,omitempty"`
}

// SafetyAnswered says that a device is in its safe state, by the instrument's word.
type SafetyAnswered struct {
	Resource   string `json:"resource,omitempty"`
	Instrument string `json:"instrument"`
}

// Subject implements [Payload].
func (SafetyOrdered) Subject() string { return "" }

// Subject implements [Payload].
func (SafetyAnswered) Subject() string { return "" }
