package bus_test

import (
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/events/pebblelog"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// suiteLogs are the logs on which the bus must pass Watermill's suite.
var suiteLogs = []struct {
	name string
	open func(t *testing.T) events.Log
}{
	{"memlog", func(*testing.T) events.Log { return memlog.New() }},
	{"pebblelog", func(t *testing.T) events.Log {
		return must.Get(pebblelog.Open(t.TempDir(), pebblelog.Options{}))(t)
	}},
}

// The bus passes the suite that Watermill holds every Pub/Sub to: without
// groups, where each subscriber reads everything, and with all of a test's
// subscribers in one group, which take turns.
func TestWatermillSuite(t *testing.T) {
	features := tests.Features{
		ConsumerGroups:                   true,
		GuaranteedOrder:                  true,
		Persistent:                       true,
		NewSubscriberReceivesOldMessages: true,
	}
	for _, l := range suiteLogs {
		t.Run(l.name, func(t *testing.T) {
			t.Run("without group", func(t *testing.T) {
				runSuite(t, l.open(t), features, "")
			})
			t.Run("one group", func(t *testing.T) {
				f := features
				// In one group a second subscriber does not see what the first has.
				f.NewSubscriberReceivesOldMessages = false
				runSuite(t, l.open(t), f, "suite")
			})
		})
	}
}

// runSuite runs the suite over a log, whose bus is closed when its parallel
// tests are through: some of them leave subscribers open.
func runSuite(t *testing.T, eventLog events.Log, features tests.Features, group string) {
	b := bus.New(eventLog, bus.Config{RetryPause: time.Millisecond, RetryPauseMax: 2 * time.Millisecond})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if err := eventLog.Close(); err != nil {
			t.Error(err)
		}
	})
	ofGroup := func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
		return b.Publisher(), b.Subscriber(group)
	}
	ungrouped := func(t *testing.T) (message.Publisher, message.Subscriber) {
		return ofGroup(t, group)
	}
	tests.TestPubSub(t, features, ungrouped, ofGroup)
}
