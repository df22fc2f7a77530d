package events

// DevicesStream is the stream of the lab's log that is the queue of the lab's devices.
// It is one stream for all of them, so that one append can take several or none.
const DevicesStream = "devices"

// The kinds of event of the queue. Each is appended with the sequence that its process had
// seen: of two processes that want the same room at a device one is refused, and looks again.
const (
	KindDeviceAwaited Kind = "device.awaited"
	KindDeviceTaken   Kind = "device.taken"
	KindDeviceFreed   Kind = "device.freed"
)

// DeviceTicket is room at a device: for one command, or for a campaign between its commands.
type DeviceTicket struct {
	// Device is the identity that it describes, or its name where it has none.
	Device string `json:"device"`
	// Capacity is how many tickets of this sort the device has room for, by the word of the
	// campaign. Of all that have it the smallest holds.
	Capacity int `json:"capacity"`
}

// DeviceUser says who wants a device, or has it.
type DeviceUser struct {
	// Store is the path of the campaign's store, with slashes, from the lab's folder on.
	Store    string `json:"store"`
	Campaign string `json:"campaign"`
	// Command that the device is sent. A ticket without one is the campaign's own: it keeps other
	// campaigns off the device between two commands.
	Command string `json:"command,omitempty"`
	// Worker is a random word that tells the process from every other one.
	Worker string `json:"worker"`
	// Host is the name of its machine.
	Host string `json:"host,omitempty"`
	// PID is the number of the process on its machine.
	PID int `json:"pid"`
}

// DeviceAwaited says that a campaign waits for its turn at devices. Its place in the queue is
// the sequence of this event.
type DeviceAwaited struct {
	DeviceUser
	Tickets []DeviceTicket `json:"tickets"`
	// InsteadOf are the sequences of what earlier processes of the campaign have left.
	InsteadOf []Sequence `json:"instead_of,omitempty"`
}

// Subject implements Payload.
func (d DeviceAwaited) Subject() string { return d.Campaign }

// DeviceTaken says that a campaign has devices from here on, all that are listed. It has them
// until [DeviceFreed] names the sequence of this event, whatever becomes of the process.
type DeviceTaken struct {
	DeviceUser
	Tickets []DeviceTicket `json:"tickets"`
	// InsteadOf are the sequences of what this one takes the place of: the place in the queue,
	// or a ticket for the same from an earlier process.
	InsteadOf []Sequence `json:"instead_of,omitempty"`
}

// Subject implements Payload.
func (d DeviceTaken) Subject() string { return d.Campaign }

// DeviceFreed says that tickets have ended, or places in the queue.
type DeviceFreed struct {
	// Taken are the sequences of the events that took or awaited.
	Taken []Sequence `json:"taken"`
	// Because is why: "ended", the fate of the command is known, or the campaign needs the device
	// no more; "left", an earlier process has left it, and the campaign's log does not have the
	// command or knows its fate; "passed over", it was the turn of one who waited, and did not come.
	Because string `json:"because"`
}

// The reasons of [DeviceFreed].
const (
	DeviceEnded      = "ended"
	DeviceLeft       = "left"
	DevicePassedOver = "passed over"
)

// Subject implements Payload: the tickets may be of several campaigns.
func (DeviceFreed) Subject() string { return "" }
