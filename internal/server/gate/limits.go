package gate

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"

	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/server/problems"
)

// Limits of a request.
const (
	// MaxBody is the size of a body, in bytes.
	MaxBody = 8 << 20
	// MaxUpload is that of the upload of a file, with what surrounds it in a
	// form. Files themselves are bounded where they are kept.
	MaxUpload = 52 << 20
	// slowest is how fast an upload comes at least, in bytes per second.
	slowest = 64 << 10
	// maxUnknown is that of a caller of whom it is not known who they are: they
	// log in.
	maxUnknown = 64 << 10
	// maxConnections is how many connections are open at once; further ones
	// wait. Each is an open file, of which many systems allow a process 1,024:
	// a client that opens connections and says nothing must not take those that the
	// campaigns' stores need.
	maxConnections = 800
	// maxFrom is how many of them are of one address, or of one /64 of IPv6:
	// further ones are closed. This machine and the trusted proxy have no such
	// bound.
	maxFrom = maxConnections / 4
)

// Bounded returns a listener that has so many connections open at once as a lab
// needs and its stores can spare, and few enough of each address that others
// find room. proxy is the trusted one's network, nil for none. TLS goes around
// it.
func Bounded(listener net.Listener, proxy *net.IPNet) net.Listener {
	return &bounded{
		Listener: netutil.LimitListener(listener, maxConnections), proxy: proxy,
		open: make(map[netip.Prefix]int),
	}
}

// bounded is the listener of [Bounded]: it closes what comes from an address
// that has too many connections, and goes on accepting. The bound on all of
// them is that of the listener below, which makes further ones wait.
type bounded struct {
	net.Listener
	proxy *net.IPNet

	mu   sync.Mutex
	open map[netip.Prefix]int // connections, by where they come from
}

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from, counted := b.from(c.RemoteAddr())
		if !counted {
			return c, nil
		}
		if b.admit(from) {
			return &boundedConn{Conn: c, release: sync.OnceFunc(func() { b.release(from) })}, nil
		}
		_ = c.Close()
	}
}

// from is what a connection is counted by, if it is.
func (b *bounded) from(address net.Addr) (from netip.Prefix, counted bool) {
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

// admit takes a place for a connection, false where its address has none left.
func (b *bounded) admit(from netip.Prefix) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open[from] >= maxFrom {
		return false
	}
	b.open[from]++
	return true
}

// release gives a place back. Addresses without connections are forgotten, so
// that the table does not grow with those that have gone.
func (b *bounded) release(from netip.Prefix) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open[from]--; b.open[from] == 0 {
		delete(b.open, from)
	}
}

// boundedConn is a connection that counts against its address's bound. Until
// its caller is authenticated, the deadlines of anonymous callers apply.
type boundedConn struct {
	net.Conn
	release func()
	// stranger is that time, zero for as long as others; set before it is
	// served.
	stranger time.Duration
	known    atomic.Bool
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// SetReadDeadline implements net.Conn.
func (c *boundedConn) SetReadDeadline(t time.Time) error {
	if c.stranger > 0 && !t.IsZero() && !c.known.Load() {
		if latest := time.Now().Add(c.stranger); t.After(latest) {
			t = latest
		}
	}
	return c.Conn.SetReadDeadline(t)
}

type connKey struct{}

// Connected notes a connection in the context of its requests, so that the gate
// can tell it that a known caller uses it.
func (g *Gate) Connected(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	own, ok := c.(*boundedConn)
	if !ok {
		return ctx
	}
	own.stranger = g.Patience.Stranger
	return context.WithValue(ctx, connKey{}, own)
}

// acquainted tells the connection of a request that its caller is
// authenticated.
func acquainted(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(*boundedConn); ok {
		c.known.Store(true)
	}
}

// Patience is how long the server waits for a client. One that is slower is cut
// off, so that it does not hold what others need.
type Patience struct {
	Headers, Body time.Duration
	// Write is how long it takes to take the next piece of an answer, a
	// stream's too.
	Write time.Duration
	// Idle is how long a connection is kept that asks for nothing.
	Idle time.Duration
	// Stranger is how long a connection is waited for, at most, on which no one
	// is known.
	Stranger time.Duration
}

var usualPatience = Patience{
	Headers: 10 * time.Second, Body: 30 * time.Second, Write: 30 * time.Second,
	Idle: 2 * time.Minute, Stranger: 30 * time.Second,
}

// Limited bounds the body of a request, in size and in time, and how long its
// answer waits to be read.
func (g *Gate) Limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		out := &unhurried{ResponseWriter: w, control: control, each: g.Patience.Write}
		_ = control.SetWriteDeadline(time.Time{}) // that of the request before
		if r.Body != nil && r.ContentLength != 0 {
			most, patience := int64(MaxBody), g.Patience.Body
			if g.Uploads(r) {
				most = MaxUpload
				patience += MaxUpload / slowest * time.Second
			}
			_ = control.SetReadDeadline(time.Now().Add(patience))
			r.Body = &timed{http.MaxBytesReader(w, r.Body, most),
				func() { _ = control.SetReadDeadline(time.Time{}) }}
		}
		if encoding := r.Header.Get("Content-Encoding"); encoding != "" &&
			!strings.EqualFold(encoding, "identity") {
			out.Header().Set("Accept-Encoding", "identity")
			problems.Write(out, problems.New(http.StatusUnsupportedMediaType, problem.Invalid,
				"The body is compressed. Send it as it is, without Content-Encoding."))
			return
		}
		next.ServeHTTP(out, r)
		_ = control.SetWriteDeadline(time.Now().Add(g.Patience.Write)) // for what is not sent yet
	})
}

// timed is a body whose time is over once it is there: the work that follows
// may take longer.
type timed struct {
	io.ReadCloser
	whole func()
}

// Read implements io.Reader. The end of the body is what takes the deadline
// away: a body that is never read to its end keeps it.
func (t *timed) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		t.whole()
	}
	return n, err
}

// piece is how much of an answer is sent at a time, in bytes.
const piece = 64 << 10

// unhurried writes an answer as fast as the client reads it, but for one that
// does not read.
type unhurried struct {
	http.ResponseWriter
	control *http.ResponseController
	each    time.Duration
}

// Write implements http.ResponseWriter. Each piece has the whole patience, so
// that a slow client gets a large answer, and one that has stopped reading is
// cut off after a single piece's time.
func (u *unhurried) Write(p []byte) (n int, err error) {
	for {
		_ = u.control.SetWriteDeadline(time.Now().Add(u.each))
		k, err := u.ResponseWriter.Write(p[n:min(n+piece, len(p))])
		_ = u.control.SetWriteDeadline(time.Time{})
		n += k
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

// FlushError implements what http.ResponseController looks for.
func (u *unhurried) FlushError() error {
	_ = u.control.SetWriteDeadline(time.Now().Add(u.each))
	defer func() { _ = u.control.SetWriteDeadline(time.Time{}) }()
	return u.control.Flush()
}

// Flush implements http.Flusher.
func (u *unhurried) Flush() { _ = u.FlushError() }

// SetReadDeadline keeps the API's library from another limit: the body's time
// is limited already.
func (u *unhurried) SetReadDeadline(time.Time) error { return nil }

// Unwrap implements what http.ResponseController looks for.
func (u *unhurried) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// Formed reads the form of a request for a page, which is one outside the path
// of the API, so that one that does not come whole is refused as such and no
// page takes it for an empty one. Bodies of anonymous callers are bounded more
// tightly.
func (g *Gate) Formed(
	next http.Handler, api string, refuse func(http.ResponseWriter, *http.Request, *problems.Problem),
) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && !IdentityOf(r.Context()).Known() {
			r.Body = http.MaxBytesReader(w, r.Body, maxUnknown)
		}
		if r.Method == http.MethodPost && !strings.HasPrefix(r.URL.Path, api+"/") {
			if err := r.ParseForm(); err != nil {
				refuse(w, r, problems.UnreadBody(err))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
