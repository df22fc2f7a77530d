package wire

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// sign is an [events.Sign] on the line.
type sign struct {
	Handle   string   `json:"handle,omitempty"`
	Fraction *float64 `json:"fraction,omitempty"`
	Text     string   `json:"text,omitempty"`
	// NextBy is a duration as in a campaign file.
	NextBy definition.Duration `json:"next_by,omitempty"`
}

// DecodeSign reads a sign of life: {"fraction": 0.4, "text": "cycle 12 of 30", "next_by": "10m"}.
func DecodeSign(raw json.RawMessage) (events.Sign, error) {
	var s sign
	if err := json.Unmarshal(raw, &s); err != nil {
		return events.Sign{}, fmt.Errorf("the sign: %w", err)
	}
	return events.Sign{
		Handle: s.Handle, Fraction: s.Fraction, Text: s.Text,
		NextBy: time.Duration(s.NextBy).Seconds(),
	}, nil
}

// EncodeSign writes one.
func EncodeSign(s events.Sign) (json.RawMessage, error) {
	return json.Marshal(sign{s.Handle, s.Fraction, s.Text, definition.Duration(s.Promised())})
}
