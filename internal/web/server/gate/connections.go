package gate

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/web/server/problems"
)

const (
	// maxConnections is the number of open connections. Each is an open file, and many systems
	// allow a process 1,024 of them: a client that opens connections must not take those that the
	// campaigns' stores need.
	maxConnections = 800
	// maxFrom is the number of connections of one address, or of one /64 of IPv6: further ones are
	// closed. This machine and the trusted proxy have no such bound.
	maxFrom = maxConnections / 4
	// maxIdle is the number of idle connections kept for one account. A browser keeps six.
	maxIdle = 64
	// spare is the number of additional connections when all others are busy. They answer only
	// health checks: an orchestrator without an answer would end a busy server.
	spare = 16
)

// Bounded returns a listener that limits open connections to what a lab needs and its stores can
// spare, and those of each address so that others find room. proxy is the trusted proxy's network,
// or nil. TLS goes around it.
//
// A connection that arrives when all places are taken displaces the one idle for longest or, if
// none has been answered yet, the one silent for longest. The server reports these states by
// [Gate.State].
func Bounded(listener net.Listener, proxy *net.IPNet) net.Listener {
	return &bounded{
		Listener: listener, proxy: proxy,
		from: make(map[netip.Prefix]int), idleOf: make(map[string]*list.List),
	}
}

// bounded is the listener of [Bounded].
type bounded struct {
	net.Listener
	proxy *net.IPNet

	mu   sync.Mutex
	open int                  // connections, without spare ones
	from map[netip.Prefix]int // those that are counted by address
	// Those that may be closed for another one, the longest first: idle ones have been answered,
	// silent ones have not sent a request yet.
	idle, silent list.List
	idleOf       map[string]*list.List // idle ones, by their account
	spare        list.List             // in the order of their arrival
}

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		own := &boundedConn{Conn: c, of: b}
		own.from, own.counted = b.origin(c.RemoteAddr())
		ok, instead := b.admit(own)
		if instead != nil {
			_ = instead.Close()
		}
		if ok {
			return own, nil
		}
		_ = c.Close()
	}
}

// origin returns the network that a connection is counted by, if any.
func (b *bounded) origin(address net.Addr) (from netip.Prefix, counted bool) {
	of, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return from, false
	}
	ip := of.Addr().Unmap().WithZone("")
	if ip.IsLoopback() || b.proxy != nil && b.proxy.Contains(ip.AsSlice()) {
		return from, false
	}
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	from, err = ip.Prefix(bits)
	return from, err == nil
}

// admit takes a place for a connection; false if its address has none left. instead is the
// connection to be closed for it, or nil.
func (b *bounded) admit(c *boundedConn) (ok bool, instead *boundedConn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.counted && b.from[c.from] >= maxFrom {
		return false, nil
	}
	if b.open >= maxConnections {
		switch {
		case b.idle.Len() > 0:
			instead = b.idle.Front().Value.(*boundedConn)
		case b.silent.Len() > 0:
			instead = b.silent.Front().Value.(*boundedConn)
		default:
			c.spare = true
			if b.spare.Len() >= spare {
				instead = b.spare.Front().Value.(*boundedConn)
			}
		}
		if instead != nil {
			b.forget(instead)
		}
	}
	if c.counted {
		b.from[c.from]++
	}
	if c.spare {
		c.waits(&b.spare)
	} else {
		b.open++
		c.waits(&b.silent)
	}
	return true, instead
}

// forget gives a connection's place back, once. Addresses and accounts without connections are
// forgotten, so that the tables do not grow with past ones.
func (b *bounded) forget(c *boundedConn) {
	if c.gone {
		return
	}
	c.gone = true
	c.leave()
	if !c.spare {
		b.open--
	}
	if c.counted {
		if b.from[c.from]--; b.from[c.from] == 0 {
			delete(b.from, c.from)
		}
	}
}

// state notes the new state of a connection. It returns a connection to be closed because its
// account has too many idle ones.
func (b *bounded) state(c *boundedConn, now http.ConnState) (instead *boundedConn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.gone || c.spare {
		return nil
	}
	switch now {
	case http.StateActive:
		c.leave()
	case http.StateIdle:
		c.leave()
		c.waits(&b.idle)
		owner, known := c.owner.Load().(string)
		if !known {
			return nil
		}
		of := b.idleOf[owner]
		if of == nil {
			of = list.New()
			b.idleOf[owner] = of
		}
		c.idleOf, c.atOf = owner, of.PushBack(c)
		if of.Len() > maxIdle {
			instead = of.Front().Value.(*boundedConn)
			b.forget(instead)
		}
	}
	return instead
}

// boundedConn is a connection that counts against the bounds. Until its caller is authenticated,
// the deadlines of anonymous callers apply.
type boundedConn struct {
	net.Conn
	of      *bounded
	from    netip.Prefix
	counted bool // against the bound of from
	spare   bool
	// stranger is that deadline, zero if it equals the others; set before it is served.
	stranger time.Duration
	owner    atomic.Value // a string: whose the last request was

	// Guarded by of.mu.
	gone   bool
	in     *list.List // the list of those that may be closed; nil while it is at work
	at     *list.Element
	idleOf string // the account that it is idle for
	atOf   *list.Element
}

// waits appends the connection to a list.
func (c *boundedConn) waits(in *list.List) { c.in, c.at = in, in.PushBack(c) }

// leave removes the connection from its lists.
func (c *boundedConn) leave() {
	if c.in != nil {
		c.in.Remove(c.at)
		c.in = nil
	}
	if c.atOf != nil {
		of := c.of.idleOf[c.idleOf]
		if of.Remove(c.atOf); of.Len() == 0 {
			delete(c.of.idleOf, c.idleOf)
		}
		c.atOf = nil
	}
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	c.of.mu.Lock()
	c.of.forget(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// SetReadDeadline implements net.Conn.
func (c *boundedConn) SetReadDeadline(t time.Time) error {
	if c.stranger > 0 && !t.IsZero() && c.owner.Load() == nil {
		if latest := time.Now().Add(c.stranger); t.After(latest) {
			t = latest
		}
	}
	return c.Conn.SetReadDeadline(t)
}

// bound returns the connection of [Bounded] below TLS; nil for another listener's.
func bound(c net.Conn) *boundedConn {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	own, _ := c.(*boundedConn)
	return own
}

type connKey struct{}

// Connected stores a connection in the context of its requests, so that the gate can tell it that a
// known caller uses it.
func (g *Gate) Connected(ctx context.Context, c net.Conn) context.Context {
	own := bound(c)
	if own == nil {
		return ctx
	}
	if own.counted {
		own.stranger = g.Patience.Stranger
	}
	return context.WithValue(ctx, connKey{}, own)
}

// State receives http.Server's reports on its connections.
func (g *Gate) State(c net.Conn, now http.ConnState) {
	if own := bound(c); own != nil {
		if instead := own.of.state(own, now); instead != nil {
			_ = instead.Close()
		}
	}
}

// acquainted tells the connection of a request its owner, once the caller is authenticated.
func acquainted(ctx context.Context, owner string) {
	if c, ok := ctx.Value(connKey{}).(*boundedConn); ok {
		c.owner.Store(owner)
	}
}

// Spared refuses requests on a spare connection, except health checks.
func (g *Gate) Spared(next http.Handler, isHealth func(*http.Request) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(connKey{}).(*boundedConn)
		if !ok || !c.spare {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Connection", "close")
		if isHealth(r) {
			next.ServeHTTP(w, r)
			return
		}
		err := problem.New(problem.TooMany, "%d connections are at work here, and no more at a time", maxConnections).
			With(problem.Remedy{Text: "close pages that show the lab, or end programs that follow it, and try again"})
		RetryAfter(w, err)
		problems.Write(w, problems.Of(err))
	})
}
