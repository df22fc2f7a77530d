package events_test

import (
	"encoding/json"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: the events of the lab's devices keep their form: it is read by every later version.
func TestDeviceEvents(t *testing.T) {
	user := events.DeviceUser{
		Store: "lab/a.campaign", Campaign: "a", Command: "a/K3JD/e7", Worker: "W2", Host: "bench-pc", PID: 41,
	}
	tickets := []events.DeviceTicket{{Device: "M2, serial 0042", Capacity: 2}}
	const asUser = `"store":"lab/a.campaign","campaign":"a","command":"a/K3JD/e7","worker":"W2","host":"bench-pc","pid":41,` +
		`"tickets":[{"device":"M2, serial 0042","capacity":2}],"instead_of":[3,4]`
	for kind, c := range map[events.Kind]struct {
		payload events.Payload
		text    string
		subject string
	}{
		"device.awaited": {
			&events.DeviceAwaited{DeviceUser: user, Tickets: tickets, InsteadOf: []events.Sequence{3, 4}}, `{` + asUser + `}`, "a"},
		"device.taken": {
			&events.DeviceTaken{DeviceUser: user, Tickets: tickets, InsteadOf: []events.Sequence{3, 4}}, `{` + asUser + `}`, "a"},
		"device.freed": {
			&events.DeviceFreed{Taken: []events.Sequence{5, 6}, Because: events.DeviceLeft}, `{"taken":[5,6],"because":"left"}`, ""},
	} {
		e, err := events.Lab.New(events.DevicesStream, kind, c.payload)
		if err != nil || string(e.Data) != c.text || c.payload.Subject() != c.subject || e.Campaign != "devices" {
			t.Errorf("%s: %s, %v", kind, e.Data, err)
		}
		read := must.Get(events.Lab.Decode(events.Event{Kind: kind, Version: 1, Data: []byte(c.text)}))(t)
		if again, err := json.Marshal(read); err != nil || string(again) != c.text {
			t.Errorf("%s: read and written again: %s, %v", kind, again, err)
		}
	}
}
