package gate

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// pipes is a listener that always has a connection.
type pipes struct{ net.Listener }

func (pipes) Accept() (net.Conn, error) {
	c, _ := net.Pipe()
	return &closing{Conn: c}, nil
}

// closing is a connection that says whether it was closed.
type closing struct {
	net.Conn
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return c.Conn.Close()
}

// listening is a bounded listener and the gate of its connections.
type listening struct {
	t *testing.T
	g *Gate
	l *bounded
}

func (p listening) accept() *boundedConn {
	p.t.Helper()
	c := must.Get(p.l.Accept())(p.t)
	return c.(*boundedConn)
}

// closed reports whether the server's end of a connection is closed.
func (p listening) closed(c *boundedConn) bool { return c.Conn.(*closing).closed }

// answered is a connection of an account that was asked for something, and keeps it.
func (p listening) answered(c *boundedConn, owner string) {
	p.g.State(c, http.StateActive)
	acquainted(p.g.Connected(p.t.Context(), c), owner)
	p.g.State(c, http.StateIdle)
}

// Law: there is a place for who comes next. It is that of the connection which has asked for
// nothing for longest, answered ones before those that have not asked yet; one at work keeps
// its own, and where all are at work there is room for questions about health alone.
func TestConnectionsGiveWay(t *testing.T) {
	p := listening{t, new(Gate), Bounded(pipes{}, nil).(*bounded)}
	var all []*boundedConn
	for range maxConnections {
		all = append(all, p.accept())
	}
	for _, c := range all[2:] {
		p.g.State(c, http.StateActive)
	}
	p.g.State(all[5], http.StateIdle)
	p.g.State(all[3], http.StateIdle)
	p.g.State(all[5], http.StateActive)
	p.g.State(all[5], http.StateIdle)
	for i, goes := range []int{3, 5, 0, 1} { // the idle ones, then the silent ones
		c := p.accept()
		p.g.State(c, http.StateActive)
		if c.spare || !p.closed(all[goes]) {
			t.Errorf("connection %d: spare %v, connection %d closed %v", i, c.spare, goes, p.closed(all[goes]))
		}
	}
	for i, c := range all {
		if busy := i > 1 && i != 3 && i != 5; busy == p.closed(c) {
			t.Errorf("connection %d is closed: %v", i, p.closed(c))
		}
	}
	var spares []*boundedConn
	for range spare + 1 {
		spares = append(spares, p.accept())
	}
	if !p.closed(spares[0]) || p.closed(spares[1]) || !spares[spare].spare {
		t.Error("of the spare ones, the first is to go")
	}
	for path, want := range map[string]int{"/livez": 204, "/campaigns": 429} {
		h := p.g.Spared(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }),
			func(r *http.Request) bool { return r.URL.Path == "/livez" })
		for _, c := range []*boundedConn{spares[1], all[7]} {
			r := httptest.NewRequestWithContext(p.g.Connected(t.Context(), c), "GET", path, nil)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if expected := map[bool]int{true: want, false: 204}[c.spare]; w.Code != expected || c.spare != (w.Header().Get("Connection") == "close") {
				t.Errorf("%s, spare %v: %d", path, c.spare, w.Code)
			}
			if w.Code == 429 && w.Header().Get("Retry-After") == "" {
				t.Errorf("%s does not say when to come again: %s", problem.TooMany, w.Body)
			}
		}
	}
	_ = all[7].Close()
	if c := p.accept(); c.spare {
		t.Error("a place that was given back is not taken")
	}
}

// Law: the connections of one account that ask for nothing are few, the longest idle goes,
// and those of others stay. Nothing is kept of those that have gone.
func TestIdleOfOneAccount(t *testing.T) {
	p := listening{t, new(Gate), Bounded(pipes{}, nil).(*bounded)}
	others := []*boundedConn{p.accept(), p.accept()}
	p.answered(others[0], "account bob")
	p.g.State(others[1], http.StateActive)
	p.g.State(others[1], http.StateIdle) // whose it is is not known
	var all []*boundedConn
	for range 3 * maxIdle {
		all = append(all, p.accept())
		p.answered(all[len(all)-1], "account ada")
	}
	for i, c := range all {
		if gone := i < 2*maxIdle; gone != p.closed(c) {
			t.Errorf("connection %d is closed: %v", i, p.closed(c))
		}
	}
	for _, c := range append(all, others...) {
		if c == others[0] && p.closed(c) || c == others[1] && p.closed(c) {
			t.Error("another's is closed")
		}
		_ = c.Close()
	}
	if l := p.l; l.open != 0 || len(l.from) != 0 || len(l.idleOf) != 0 || l.idle.Len()+l.silent.Len()+l.spare.Len() != 0 {
		t.Errorf("it keeps %d of %d, %d accounts, lists of %d", l.open, len(all), len(l.idleOf), l.idle.Len()+l.silent.Len())
	}
}

// Law: a connection of HTTP/2 without a stream is idle like one of HTTP/1 without a request.
func TestIdleOverHTTP2(t *testing.T) {
	g := new(Gate)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		acquainted(r.Context(), "account ada")
	}))
	l := Bounded(s.Listener, nil).(*bounded)
	s.Listener = l
	s.Config.ConnState = g.State
	s.Config.ConnContext = g.Connected
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	for range maxIdle + 6 {
		transport := s.Client().Transport.(*http.Transport).Clone()
		defer transport.CloseIdleConnections()
		answer, err := (&http.Client{Transport: transport}).Get(s.URL)
		if err != nil || answer.ProtoMajor != 2 {
			t.Fatalf("%+v, %v", answer, err)
		}
		_ = answer.Body.Close()
	}
	for open := maxIdle + 6; open > maxIdle; time.Sleep(time.Millisecond) { // the last become idle in a moment
		l.mu.Lock()
		open = l.open
		l.mu.Unlock()
	}
}
