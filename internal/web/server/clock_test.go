package server_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/ground/clock"
)

// Law: that the clock of the machine was set while a campaign is run stands on its page and in the
// list of programs, and not with one whose run began later.
func TestClockIsSet(t *testing.T) {
	var by atomic.Int64
	t.Cleanup(clock.Skew(func() time.Duration { return time.Duration(by.Load()) }, 10*time.Millisecond))
	c := serve(t)
	begin := func(name string) {
		t.Helper()
		file := strings.Replace(bench, "bench", name, 1)
		if status, _, text := c.do("POST", "/api/v1/campaigns", "application/yaml", file); status != http.StatusCreated {
			t.Fatalf("%d %s", status, text)
		}
	}
	says := func(path, words string) bool {
		t.Helper()
		status, _, text := c.do("GET", path, "", "")
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, status, text)
		}
		return strings.Contains(string(text), words)
	}
	until := func(path, words string) {
		t.Helper()
		for late := time.Now().Add(time.Minute); !says(path, words); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(late) {
				t.Fatalf("%s never says %q", path, words)
			}
		}
	}
	begin("bench")
	until("/api/v1/campaigns/bench", `"pid":`)
	if says("/campaigns/bench", "The clock of the machine") {
		t.Error("a clock that was not set is said to be")
	}
	by.Store(int64(-time.Hour))
	until("/campaigns/bench", "The clock of the machine that runs it was set back by 1h0m0s meanwhile")
	until("/api/v1/campaigns", `"clock":"set back by 1h0m0s"`)
	begin("later")
	until("/api/v1/campaigns/later", `"pid":`)
	if says("/campaigns/later", "The clock of the machine") {
		t.Error("a step is said of a run that began later")
	}
}
