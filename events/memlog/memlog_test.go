package memlog_test

import (
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/logtest"
	"github.com/campaignd/campaignd/events/memlog"
)

func TestConformance(t *testing.T) {
	logtest.RunInMemory(t, func(testing.TB) events.Log { return memlog.New() })
}
