package pglog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// badLine is a line to the shared server that cuts the answers to appends which
// the server has committed.
type badLine struct {
	*pgtest.Line
	server *pgtest.Server
	lost   atomic.Int64 // answers that were cut

	mu     sync.Mutex
	random *rand.Rand
}

// newBadLine starts a line on which a part of the answers to appends, from 0 to
// 1, is lost with the connection.
func newBadLine(t testing.TB, part float64) *badLine {
	t.Helper()
	x := &badLine{server: pgtest.Shared(t), random: rand.New(rand.NewPCG(1, 2))}
	x.Line = pgtest.NewLine(t, x.server, func() (toServer, toClient func([]byte) bool) {
		var appends atomic.Bool // an append is on its way
		var name []byte
		return func(b []byte) bool {
				if m := prepared.FindSubmatch(b); m != nil {
					name = bytes.Clone(m[1])
				} else if name != nil && bytes.Contains(b, append([]byte{0}, append(name, 0)...)) {
					appends.Store(true)
				}
				return true
			}, func(b []byte) bool {
				if bytes.Contains(b, []byte("INSERT 0 ")) && appends.Swap(false) && x.chance(part) {
					x.lost.Add(1)
					return false
				}
				return true
			}
	})
	return x
}

// prepared finds the name of the prepared statement that appends.
var prepared = regexp.MustCompile(`(statement_[0-9]+)\x00with head as \(`)

// chance reports whether something of this probability happens.
func (x *badLine) chance(p float64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.random.Float64() < p
}

// address changes an address of the shared server to that of the line.
func (x *badLine) address(a string) string {
	return strings.Replace(a, fmt.Sprint("port=", x.server.Port), fmt.Sprint("port=", x.Port()), 1)
}
