package notify

import (
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
)

// Law: what is recorded is read for ever: the payloads of the stream's kinds are these.
func TestRecords(t *testing.T) {
	payloads := map[events.Kind]string{
		kindBegun: `{"earlier":{"version":1,"began":"2026-03-02T10:00:00Z",` +
			`"streams":{"bread":{"instance":"b1","sequence":10}},` +
			`"matters":[{"key":"bread/2/question/q1","campaign":"bread",` +
			`"told":{"ada#0":{"first":"2026-03-02T10:00:05Z","last":"2026-03-02T14:00:05Z","times":2,"over":true}}}],` +
			`"channels":{"ada#0":{"attempt":{"id":"02dd","at":"2026-03-02T14:00:05Z",` +
			`"notices":[{"matter":"bread/2/question/q1","time":-1}]},"sent":["2026-03-02T13:00:05Z"],"failures":1,` +
			`"again":"2026-03-02T13:00:35Z","delivered":"2026-03-02T13:00:05Z","error":"no","failed":"2026-03-02T13:00:05Z"}}}}`,
		kindAttempted: `{"id":"02dd","person":"ada","target":1,"notices":[{"matter":"bread/b1/2/question/q1","time":0}]}`,
		kindDelivered: `{"id":"02dd","person":"ada","target":0}`,
		kindFailed:    `{"id":"02dd","person":"ada","target":0,"error":"no route"}`,
		kindDropped:   `{"id":"02dd","person":"ada","target":0,"notices":[{"matter":"bread/b1/2/question/q1","time":3}]}`,
	}
	for _, info := range vocabulary.Kinds() {
		text := payloads[info.Kind]
		payload, err := vocabulary.Decode(events.Event{Kind: info.Kind, Version: 1, Data: []byte(text)})
		if err != nil {
			t.Errorf("%s: %v", info.Kind, err)
			continue
		}
		if e := newEvent(info.Kind, time.Now(), payload); string(e.Data) != text || e.Campaign != Stream || e.Actor != "engine" {
			t.Errorf("%s is recorded as\n%+v %s\nand not as\n%s", info.Kind, e, e.Data, text)
		}
	}
}
