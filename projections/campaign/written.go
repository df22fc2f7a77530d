package campaign

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Written is an [Experiment] as it is written for programs, with its one command among its own
// fields: clients of the API know this form, and reports name the digest of states in it. A change
// of the fold leaves it as it is.
type Written struct {
	ID           string                     `json:"id"`
	Status       ExperimentStatus           `json:"status"`
	Parameters   definition.Point           `json:"parameters"`
	Origin       events.Origin              `json:"origin"`
	Decision     string                     `json:"decision,omitempty"`
	Batch        string                     `json:"batch,omitempty"`
	Turn         int                        `json:"turn,omitempty"`
	Replicate    int                        `json:"replicate"`
	Command      string                     `json:"command,omitempty"`
	Instrument   string                     `json:"instrument,omitempty"`
	Identity     string                     `json:"identity,omitempty"`
	Real         bool                       `json:"real,omitempty"`
	Measurement  *events.Measurement        `json:"measurement,omitempty"`
	Retracted    *events.Measurement        `json:"retracted,omitempty"`
	Source       string                     `json:"source,omitempty"`
	Excluded     bool                       `json:"excluded,omitempty"`
	Without      []string                   `json:"without,omitempty"`
	Later        []string                   `json:"later,omitempty"`
	Elsewhere    bool                       `json:"elsewhere,omitempty"`
	Outside      string                     `json:"outside,omitempty"`
	Astray       bool                       `json:"astray,omitempty"`
	Flag         *events.MeasurementFlagged `json:"flag,omitempty"`
	Simulated    bool                       `json:"simulated,omitempty"`
	Once         bool                       `json:"once,omitempty"`
	Cause        string                     `json:"cause,omitempty"`
	Drawn        []events.Drawn             `json:"drawn,omitempty"`
	Handle       string                     `json:"handle,omitempty"`
	Sign         *Sign                      `json:"sign,omitempty"`
	Stalled      bool                       `json:"stalled,omitempty"`
	CallOff      *CallOff                   `json:"call_off,omitempty"`
	RequestedAt  time.Time                  `json:"requested_at,omitzero"`
	DispatchedAt time.Time                  `json:"dispatched_at,omitzero"`
	RecalledAt   time.Time                  `json:"recalled_at,omitzero"`
	EndedAt      time.Time                  `json:"ended_at,omitzero"`
	LastEvent    string                     `json:"last_event"`
	Trace        string                     `json:"trace,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (x Experiment) MarshalJSON() ([]byte, error) {
	c := x.Command
	return json.Marshal(Written{
		x.ID, x.Status, x.Parameters, x.Origin, x.Decision, x.Batch, x.Turn, x.Replicate,
		c.ID, c.Instrument, c.Identity, c.Real, x.Measurement, x.Retracted, x.Source, x.Excluded,
		x.Without, x.Later, x.Elsewhere, x.Outside, x.Astray, x.Flag, x.Simulated, x.Once, x.Cause,
		c.Drawn, c.Handle, c.Sign, c.Stalled, c.CallOff, x.RequestedAt, c.DispatchedAt, c.RecalledAt, x.EndedAt,
		x.LastEvent, x.Trace,
	})
}

// UnmarshalJSON implements json.Unmarshaler. An unknown field is an error: see [Projection.Restore].
func (x *Experiment) UnmarshalJSON(text []byte) error {
	var w Written
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&w); err != nil {
		return err
	}
	*x = Experiment{
		w.ID, w.Status, w.Parameters, w.Origin, w.Decision, w.Batch, w.Turn, w.Replicate,
		Command{
			w.Command, fateOf(w.Status), w.Instrument, w.Identity, w.Real,
			w.DispatchedAt, w.RecalledAt, w.Drawn, w.Handle, w.Sign, w.Stalled, w.CallOff,
		},
		w.Measurement, w.Retracted, w.Source, w.Excluded, w.Without, w.Later, w.Elsewhere,
		w.Outside, w.Astray, w.Flag, w.Simulated, w.Once, w.Cause, w.RequestedAt, w.EndedAt,
		w.LastEvent, w.Trace,
	}
	return nil
}
