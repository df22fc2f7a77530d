package events_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: what was said of the service of an instrument keeps its form: it is read by every later version.
func TestServiceEvents(t *testing.T) {
	until := time.Date(2027, 3, 2, 0, 0, 0, 0, time.FixedZone("", 3600))
	for text, payload := range map[string]*events.ResourceServiced{
		`{"resource":"spectrometer","out":true,"reason":"lamp exchanged"}`: {
			Resource: "spectrometer", Out: true, Reason: "lamp exchanged"},
		`{"resource":"spectrometer","out":false,"reason":"new lamp","calibrated_until":"2027-03-02T00:00:00+01:00",` +
			`"files":[{"name":"2206.pdf","media_type":"application/pdf","uri":"https://lab.example.org/2206.pdf"}]}`: {
			Resource: "spectrometer", Reason: "new lamp", CalibratedUntil: until,
			Files: []events.Attachment{{Name: "2206.pdf", MediaType: "application/pdf", URI: "https://lab.example.org/2206.pdf"}}},
	} {
		e, err := events.Lab.New(events.ServiceStream, "resource.serviced", payload)
		if err != nil || string(e.Data) != text || payload.Subject() != "" || e.Campaign != "service" || e.Version != 1 {
			t.Errorf("%s, %v", e.Data, err)
		}
		read := must.Get(events.Lab.Decode(events.Event{Kind: "resource.serviced", Version: 1, Data: []byte(text)}))(t)
		if again, err := json.Marshal(read); err != nil || string(again) != text {
			t.Errorf("read and written again: %s, %v", again, err)
		}
	}
}
