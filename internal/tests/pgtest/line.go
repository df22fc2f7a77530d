//go:build unix

package pgtest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// Line is a proxy before a server: a bad line to it.
type Line struct {
	listener net.Listener
	target   string
	watch    Watch

	mu      sync.Mutex
	state   state
	changed chan struct{} // closed and replaced whenever state changes
	conns   map[net.Conn]bool
	random  *rand.Rand
	delay   time.Duration
	late    float64
}

// Watch is called for each connection of a line. Its functions see the data sent to the server and
// by the server, may change them in place, and cut the connection by returning false.
type Watch func() (toServer, toClient func([]byte) bool)

type state int

const (
	passing state = iota
	held
	cut
)

// NewLine starts a line to a server. It ends with the test. watch may be nil.
func NewLine(t testing.TB, s *Server, watch Watch) *Line {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	if watch == nil {
		all := func([]byte) bool { return true }
		watch = func() (toServer, toClient func([]byte) bool) { return all, all }
	}
	l := &Line{
		listener: listener, target: fmt.Sprintf("127.0.0.1:%d", s.Port), watch: watch,
		changed: make(chan struct{}), conns: make(map[net.Conn]bool), random: rand.New(rand.NewPCG(1, 2)),
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { l.serve(client) })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); l.Cut(); serving.Wait() })
	return l
}

// Port is where the line begins.
func (l *Line) Port() int { return l.listener.Addr().(*net.TCPAddr).Port }

// Pass makes the line work, from the start and after Hold or Cut. Held data are delivered.
func (l *Line) Pass() { l.become(passing) }

// Hold makes the line keep the data: nothing is closed, new connections are accepted, and nothing
// arrives.
func (l *Line) Hold() { l.become(held) }

// Cut breaks the present connections, and later ones.
func (l *Line) Cut() {
	l.become(cut)
	l.Break()
}

// Break breaks the present connections. The data they held are lost.
func (l *Line) Break() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset: neither side can take it for an orderly end
		}
		_ = c.Close()
	}
}

// Delay delays each packet for a random time below most, and a part of them (late,
// from 0 to 1) for ten times as long.
func (l *Line) Delay(most time.Duration, late float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay, l.late = most, late
}

func (l *Line) become(s state) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = s
	close(l.changed)
	l.changed = make(chan struct{})
}

// passes waits while the line is held, and reports whether it works.
func (l *Line) passes() bool {
	for {
		l.mu.Lock()
		now, changed := l.state, l.changed
		l.mu.Unlock()
		if now != held {
			return now == passing
		}
		<-changed
	}
}

// track registers a connection with the line, to break it.
func (l *Line) track(c net.Conn) (forget func()) {
	l.mu.Lock()
	l.conns[c] = true
	l.mu.Unlock()
	return func() {
		l.mu.Lock()
		delete(l.conns, c)
		l.mu.Unlock()
		_ = c.Close()
	}
}

func (l *Line) serve(client net.Conn) {
	defer l.track(client)()
	if !l.passes() {
		return
	}
	server, err := net.Dial("tcp", l.target)
	if err != nil {
		return
	}
	defer l.track(server)()
	if !l.passes() { // it was cut meanwhile, and did not know this one
		return
	}
	toServer, toClient := l.watch()
	var both sync.WaitGroup
	both.Go(func() { l.copy(server, client, toServer) })
	both.Go(func() { l.copy(client, server, toClient) })
	both.Wait()
}

// copy passes on what it reads, until look says no.
func (l *Line) copy(to, from net.Conn, look func([]byte) bool) {
	defer func() { _ = to.Close(); _ = from.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !look(buf[:n]) {
				return
			}
			time.Sleep(l.lateness())
			if !l.passes() {
				return
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

// lateness is the delay of a packet.
func (l *Line) lateness() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.delay == 0 {
		return 0
	}
	d := time.Duration(l.random.Int64N(int64(l.delay)))
	if l.random.Float64() < l.late {
		d *= 10
	}
	return d
}
