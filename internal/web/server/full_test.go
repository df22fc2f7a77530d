//go:build linux

package server_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// Law: once the full disk of a database has refused something, /readyz and /healthz say so from the
// next request on, and for as long as it is full, whatever small things it still takes; what is
// there can be read meanwhile; and with room all is well again, without a restart.
func TestDatabaseFull(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a server of PostgreSQL")
	}
	t.Parallel()
	small := pgtest.NewSmall(t)
	f := newSiteOf(t, 1)
	f.places = []string{small.URL}
	f.begin()
	c := &client{t, f.url}
	if status, _, text := c.do("POST", "/api/v1/campaigns", "application/yaml", bench); status != http.StatusCreated {
		t.Fatalf("%d %s", status, text)
	}
	note := func() int {
		// What can be compressed takes no room.
		text := fmt.Appendf(nil, `{"text": "%x"}`, rand.Perm(300))
		status, _, _ := c.do("POST", "/api/v1/campaigns/bench/note", "application/json", string(text))
		return status
	}
	health := func(want int, words string) bool {
		for _, path := range []string{"/readyz", "/healthz"} {
			if status, _, text := c.do("GET", path, "", ""); status != want || !strings.Contains(string(text), words) {
				return false
			}
		}
		return true
	}
	until := func(what string, done func() bool) {
		t.Helper()
		for late := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(late) {
				t.Fatal(what)
			}
		}
	}
	for round := range 2 { // what was mended can fail again
		until("a database with room takes no note", func() bool { return note() == http.StatusOK })
		until("with room it is not well", func() bool { return health(http.StatusOK, "ok") })
		small.Fill(t)
		until("a full disk takes all notes", func() bool {
			status := note()
			if status != http.StatusOK && status != http.StatusServiceUnavailable {
				t.Fatalf("round %d: a note is answered %d", round, status)
			}
			return status != http.StatusOK
		})
		for n := range 50 { // longer than a store rests that is to be opened again
			if !health(http.StatusServiceUnavailable, "its disk is full") {
				t.Fatalf("round %d: look %d: the disk is full, and all is well", round, n)
			}
			if status, _, text := c.do("GET", "/api/v1/campaigns/bench", "", ""); status != http.StatusOK {
				t.Fatalf("what is there cannot be read: %d %s", status, text)
			}
			time.Sleep(100 * time.Millisecond)
		}
		small.Free(t)
	}
	until("with room it takes no note", func() bool { return note() == http.StatusOK })
	until("with room it is not well", func() bool { return health(http.StatusOK, "ok") })
}
