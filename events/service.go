package events

import "time"

// ServiceStream is the stream of the lab's log that is about the service of its instruments: what people
// say of them, by their names in lab.yaml. The tickets of [DevicesStream] are those of processes, by
// what a device calls itself.
const ServiceStream = "service"

// KindResourceServiced is the kind of [ResourceServiced].
const KindResourceServiced Kind = "resource.serviced"

// ResourceServiced says that a person has taken an instrument of the lab out of service, or has put it
// back. The newest one of an instrument holds: while it is out, or its calibration has expired, no
// campaign of the lab hands it a command.
type ResourceServiced struct {
	// Resource is its name in lab.yaml.
	Resource string `json:"resource"`
	// Out is set where it is out of service from here on.
	Out bool `json:"out"`
	// Reason is in the person's words.
	Reason string `json:"reason,omitempty"`
	// CalibratedUntil is the end of its calibration; absent where none is known, so that none expires.
	CalibratedUntil time.Time `json:"calibrated_until,omitzero"`
	// Files are where they can be fetched, certificates for example: the lab's log keeps no bytes.
	Files []Attachment `json:"files,omitempty"`
}

// Subject implements [Payload]: the instrument is of the lab, and of no campaign.
func (ResourceServiced) Subject() string { return "" }
