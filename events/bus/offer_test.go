package bus

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
)

// An acknowledgement counts although the end of the subscription is seen at
// the same time; a message that was never handed out is unanswered.
func TestOfferCountsAnAcknowledgementAtTheEnd(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	handed := 0
	for range 200 { // which of two ready channels is served is chance
		msg := message.NewMessage("1", nil)
		msg.Ack()
		out := make(chan *message.Message, 1)
		got, want := offer(ended, msg, out, false), unanswered
		if len(out) == 1 {
			handed++
			want = acked
		}
		if got != want {
			t.Fatalf("handed out: %t, answer %d, want %d", len(out) == 1, got, want)
		}
	}
	if handed == 0 {
		t.Error("no message was handed out")
	}
}
