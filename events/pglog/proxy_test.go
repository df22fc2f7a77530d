package pglog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy is a bad line to a server: it delays, cuts the answers to appends that
// the server has committed, and holds packets back.
type proxy struct {
	listener net.Listener
	target   string
	cut      float64       // of the answers to appends, how many are lost with the connection
	delay    time.Duration // of a packet, at most
	hold     float64       // of the packets, how many are held for ten times as long
	rewrite  func([]byte)  // changes what the server sends

	mu     sync.Mutex
	random *rand.Rand
	lost   atomic.Int64 // answers that were cut
}

// newProxy starts a proxy to a server. It ends with the test.
func newProxy(t testing.TB, p *postgres, change func(*proxy)) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x := &proxy{listener: l, target: fmt.Sprintf("127.0.0.1:%d", p.port), random: rand.New(rand.NewPCG(1, 2))}
	change(x)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { x.serve(client) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); serving.Wait() })
	return x
}

func (x *proxy) port() int { return x.listener.Addr().(*net.TCPAddr).Port }

// chance reports whether something of this probability happens.
func (x *proxy) chance(p float64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.random.Float64() < p
}

// prepared finds the name of the prepared statement that appends.
var prepared = regexp.MustCompile(`(stmtcache_[0-9a-f]+)\x00with head as \(`)

func (x *proxy) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", x.target)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	var appends atomic.Bool // an append is on its way
	var both sync.WaitGroup
	both.Go(func() {
		var name []byte
		x.copy(server, client, func(b []byte) bool {
			if m := prepared.FindSubmatch(b); m != nil {
				name = bytes.Clone(m[1])
			} else if name != nil && bytes.Contains(b, append([]byte{0}, append(name, 0)...)) {
				appends.Store(true)
			}
			return true
		})
	})
	both.Go(func() {
		x.copy(client, server, func(b []byte) bool {
			if x.rewrite != nil {
				x.rewrite(b)
			}
			if bytes.Contains(b, []byte("INSERT 0 ")) && appends.Swap(false) && x.chance(x.cut) {
				x.lost.Add(1)
				return false
			}
			return true
		})
	})
	both.Wait()
}

// copy passes on what it reads, until look says no.
func (x *proxy) copy(to, from net.Conn, look func([]byte) bool) {
	defer func() { _ = to.Close(); _ = from.Close() }()
	buf := make([]byte, 1<<20)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !look(buf[:n]) {
				return
			}
			if x.delay > 0 {
				x.mu.Lock()
				d := time.Duration(x.random.Int64N(int64(x.delay)))
				x.mu.Unlock()
				if x.chance(x.hold) {
					d *= 10
				}
				time.Sleep(d)
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
