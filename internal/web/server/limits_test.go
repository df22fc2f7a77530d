package server_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/web/server"
	"github.com/campaignd/campaignd/internal/web/server/gate"
)

// narrow is a listener whose connections hold little that is not read, and tell when the server
// lets go of them.
type narrow struct {
	net.Listener
	mu   sync.Mutex
	gone map[string]chan struct{} // by the client's address

	open, most atomic.Int64
}

type narrowConn struct {
	net.Conn
	once sync.Once
	gone chan struct{}
	of   *narrow
}

func (n *narrow) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if err != nil {
		return nil, err
	}
	_ = c.(*net.TCPConn).SetWriteBuffer(4 << 10)
	gone := make(chan struct{})
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gone[c.RemoteAddr().String()] = gone
	n.most.Store(max(n.most.Load(), n.open.Add(1)))
	return &narrowConn{Conn: c, gone: gone, of: n}, nil
}

func (c *narrowConn) Close() error {
	c.once.Do(func() {
		c.of.open.Add(-1)
		close(c.gone)
	})
	return c.Conn.Close()
}

// left waits until the server has let go of a connection.
func (n *narrow) left(c net.Conn) bool {
	timeout := time.After(20 * time.Second)
	for {
		n.mu.Lock()
		gone := n.gone[c.LocalAddr().String()]
		n.mu.Unlock()
		if gone != nil {
			select {
			case <-gone:
				return true
			case <-timeout:
				return false
			}
		}
		time.Sleep(time.Millisecond) // it is not accepted yet
	}
}

// impatient is a server with an admin that waits so long for what is sent, and for what it sends to be taken.
func impatient(t *testing.T, within time.Duration) (c *client, n *narrow, token, cookie string) {
	t.Helper()
	folder := t.TempDir()
	book, err := accounts.Open(accounts.Dir(folder), accounts.Options{})
	if err != nil {
		t.Fatal(err)
	}
	system := accounts.SystemIdentity("root")
	must.Get(book.Add(t.Context(), system, accounts.NewAccount{
		Name: "admin", Grants: []accounts.Grant{{Role: accounts.Admin}}, Password: accounts.NewSecret(password),
	}))(t)
	if token, _, err = book.CreateToken(t.Context(), system, "admin", accounts.NewToken{Name: "all", Scopes: accounts.Permissions()}); err != nil {
		t.Fatal(err)
	}
	cookie, _ = must.Get2(book.Login(t.Context(), "admin", password, "127.0.0.1"))(t)
	l, err := lab.Open(t.Context(), lab.Options{Folder: folder, Own: book.Lab(), Registry: builtin.Registry(), Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	n = &narrow{Listener: listener, gone: make(map[string]chan struct{})}
	s := server.New(server.Options{Lab: l, Gate: gate.Options{Accounts: book}, Version: "test", Log: t.Logf})
	s.Hurry(within)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, gate.Bounded(n, nil)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		l.Close()
		book.Close()
	})
	return &client{t, "http://" + listener.Addr().String()}, n, "Bearer " + token, "campaignd-session=" + cookie
}

// dial opens a connection and sends what is given, without ever reading.
func (c *client) dial(text string) net.Conn {
	c.t.Helper()
	conn := must.Get(net.Dial("tcp", strings.TrimPrefix(c.url, "http://")))(c.t)
	c.t.Cleanup(func() { conn.Close() })
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	must.Get(io.WriteString(conn, text))(c.t)
	return conn
}

// laughs is a small file that would be 10¹⁰ words once its aliases are written out.
func laughs() string {
	var b strings.Builder
	b.WriteString("name: bomb\na: &a [x,x,x,x,x,x,x,x,x,x]\n")
	for ch := 'b'; ch <= 'j'; ch++ {
		fmt.Fprintf(&b, "%c: &%c [%s*%c]\n", ch, ch, strings.Repeat(fmt.Sprintf("*%c,", ch-1), 9), ch-1)
	}
	return b.String()
}

func zipped(size int) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(make([]byte, size))
	_ = z.Close()
	return b.String()
}

// Law: a client that sends too much, or something that grows when it is read, is refused for that reason, and
// others are served as before.
func TestLarge(t *testing.T) {
	c, _, token, cookie := impatient(t, time.Minute) // however slow this machine is
	if status, _, text := c.do("POST", "/api/v1/campaigns", "application/yaml", bench, "Authorization", token); status != http.StatusCreated {
		t.Fatalf("%d %s", status, text)
	}
	const form, problems = "application/x-www-form-urlencoded", "application/problem+json"
	for _, p := range []struct {
		name, path, contentType, body string
		headers                       []string
		status                        int
		holds                         string
	}{
		{"a large file", "/api/v1/campaigns", "application/yaml", strings.Repeat("#\n", 4<<20+500), []string{"Authorization", token}, 413, `"code":"invalid"`},
		{"a large body with a key", "/api/v1/campaigns", "application/yaml", strings.Repeat("#\n", 4<<20+500), []string{"Authorization", token, "Idempotency-Key", "k"}, 413, "larger"},
		{"a large form", "/new", form, "source=" + strings.Repeat("x", 8<<20+500), []string{"Cookie", cookie}, 413, "larger than"},
		{"a large form of nobody", "/login", form, "name=" + strings.Repeat("x", 64<<10+500), nil, 413, "larger than"},
		{"a large body of nobody", "/api/v1/campaigns", "application/yaml", strings.Repeat("#\n", 32<<10+500), []string{"Idempotency-Key", "k"}, 401, "who asks"}, // unread
		{"half a form", "/new", form, "source=%", []string{"Cookie", cookie}, 400, "did not come whole"},
		{"very many fields", "/new", form, strings.Repeat("a&", 1<<20), []string{"Cookie", cookie}, 400, "did not come whole"},
		{"a zipped file", "/api/v1/campaigns", "application/yaml", zipped(100 << 20), []string{"Authorization", token, "Content-Encoding", "gzip"}, 415, "compressed"},
		{"a zipped form", "/login", form, zipped(1 << 20), []string{"Content-Encoding", "gzip"}, 415, "compressed"},
		{"a file of aliases", "/api/v1/campaigns", "application/yaml", laughs(), []string{"Authorization", token}, 422, "aliases"},
		{"a file of aliases as a form", "/new", form, url.Values{"source": {laughs()}}.Encode(), []string{"Cookie", cookie}, 422, "aliases"},
		{"a file of aliases as it is typed", "/validate", form, url.Values{"source": {laughs()}}.Encode(), []string{"Cookie", cookie}, 200, "aliases"},
		{"a deep file", "/api/v1/validate", "application/yaml", "a: " + strings.Repeat("[", 1<<20), []string{"Authorization", token}, 422, `"code":"invalid"`},
		{"a deep body", "/api/v1/questions/bench/q1", "application/json", strings.Repeat(`{"point":`, 1<<18), []string{"Authorization", token}, 400, `"code":"invalid"`},
	} {
		status, header, text := c.do("POST", p.path, p.contentType, p.body, p.headers...)
		if status != p.status || !strings.Contains(string(text), p.holds) {
			t.Errorf("%s: %d %.300s", p.name, status, text)
		}
		if strings.HasPrefix(p.path, "/api/") && header.Get("Content-Type") != problems {
			t.Errorf("%s: %s", p.name, header.Get("Content-Type"))
		}
	}
	if status, _, text := c.do("GET", "/campaigns/bench", "", "", "Cookie", cookie); status != http.StatusOK {
		t.Errorf("after all that: %d %s", status, text)
	}
}

// Law: a client that is slow, or does not read what it asked for, is answered so or cut off, and others are served
// as before.
func TestSlow(t *testing.T) {
	c, n, token, cookie := impatient(t, 300*time.Millisecond)
	if status, _, text := c.do("POST", "/api/v1/campaigns", "application/yaml", bench, "Authorization", token); status != http.StatusCreated {
		t.Fatalf("%d %s", status, text)
	}
	const form = "application/x-www-form-urlencoded"
	// What is never sent whole is answered, or cut off.
	for name, p := range map[string]struct{ sent, answered string }{
		"headers":         {"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ", ""},
		"a body":          {"POST /api/v1/campaigns HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: " + token + "\r\nContent-Type: application/yaml\r\nContent-Length: 100\r\n\r\nname", "408"},
		"a body with key": {"POST /api/v1/campaigns HTTP/1.1\r\nHost: 127.0.0.1\r\nIdempotency-Key: s\r\nAuthorization: " + token + "\r\nContent-Type: application/yaml\r\nContent-Length: 100\r\n\r\nname", "408"},
		"a form":          {"POST /new HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: " + cookie + "\r\nContent-Type: " + form + "\r\nContent-Length: 100\r\n\r\nsource=", "408"},
		"a login":         {"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: " + form + "\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nname=", "408"},
		"nothing at all":  {"", ""},
	} {
		conn := c.dial(p.sent)
		answer, err := io.ReadAll(conn)
		if err != nil || p.answered == "" && len(answer) > 0 || p.answered != "" && !strings.HasPrefix(string(answer), "HTTP/1.1 "+p.answered) {
			t.Errorf("%s that does not come: %v %.200s", name, err, answer)
		}
	}
	// Who does not read is cut off: a stream that has more to tell, and a long list.
	long := strings.Repeat("and so on ", 800)
	for range 40 {
		if status, _, text := c.do("POST", "/api/v1/campaigns/bench/note", "application/json", fmt.Sprintf(`{"text": %q}`, long), "Authorization", token); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
	}
	for name, head := range map[string]string{
		"a stream": "GET /api/v1/campaigns/bench/events HTTP/1.1\r\nAccept: text/event-stream\r\nAuthorization: " + token,
		"a log":    "GET /api/v1/campaigns/bench/events HTTP/1.1\r\nAuthorization: " + token,
		"a page":   "GET /campaigns/bench/log HTTP/1.1\r\nCookie: " + cookie,
	} {
		if conn := c.dial(head + "\r\nHost: 127.0.0.1\r\n\r\n"); !n.left(conn) {
			t.Errorf("%s that nobody reads is held for ever", name)
		}
	}
	if status, _, text := c.do("GET", "/campaigns/bench", "", "", "Cookie", cookie); status != http.StatusOK {
		t.Errorf("after all that: %d %s", status, text)
	}
}

// Law: whoever opens connections and says nothing does not take the open files that the stores
// need, and others are served once they are let go of.
func TestManyConnections(t *testing.T) {
	c, n, _, _ := impatient(t, 300*time.Millisecond)
	for range 1100 {
		c.dial("")
	}
	if status, _, _ := c.do("GET", "/healthz", "", ""); status != http.StatusOK {
		t.Errorf("after them: %d", status)
	}
	if most := n.most.Load(); most > 800+16+1 { // the spare ones, and one that takes another's place
		t.Errorf("%d connections were open at once", most)
	}
}

// Law: connections that one account keeps, and asks nothing of, lock out no one, health
// least of all.
func TestIdleConnections(t *testing.T) {
	c, n, token, _ := impatient(t, time.Minute)
	for range 900 {
		conn := c.dial("GET /api/v1/version HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: " + token + "\r\n\r\n")
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%+v, %v", answer, err)
		}
	}
	for _, path := range []string{"/livez", "/readyz", "/healthz", "/login"} {
		if status, _, text := c.do("GET", path, "", ""); status != http.StatusOK {
			t.Errorf("%s beside them: %d %s", path, status, text)
		}
	}
	if open := n.open.Load(); open > 100 {
		t.Errorf("%d connections are kept", open)
	}
}

// elsewhere is a listener whose connections say that they come from other addresses, in turn.
type elsewhere struct {
	net.Listener
	from func() string
}

type elsewhereConn struct {
	net.Conn
	from net.Addr
}

func (c elsewhereConn) RemoteAddr() net.Addr { return c.from }

func (e elsewhere) Accept() (net.Conn, error) {
	c, err := e.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return elsewhereConn{c, net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(e.from()), 4711))}, nil
}

// piped is a listener that always has a connection.
type piped struct{ net.Listener }

func (piped) Accept() (net.Conn, error) {
	c, _ := net.Pipe()
	return c, nil
}

// Law: one address, or one network of IPv6 that a customer has, does not take the connections of
// others; what it lets go of it can have again. The trusted proxy and this machine stand for many.
func TestConnectionsOfOneAddress(t *testing.T) {
	_, proxy, _ := net.ParseCIDR("10.0.0.1/32")
	var all []string
	listener := gate.Bounded(elsewhere{piped{}, func() string {
		next := all[0]
		all = all[1:]
		return next
	}}, proxy)
	// got is the connection that comes of connections from addresses.
	got := func(addresses ...string) net.Conn {
		t.Helper()
		all = addresses
		return must.Get(listener.Accept())(t)
	}
	is := func(c net.Conn, address string) {
		t.Helper()
		if from := netip.MustParseAddrPort(c.RemoteAddr().String()).Addr().String(); from != address {
			t.Errorf("a connection from %s, want %s", from, address)
		}
	}
	var first net.Conn
	for range 200 {
		first = got("203.0.113.7")
	}
	is(got("203.0.113.7", "203.0.113.7", "203.0.113.8"), "203.0.113.8")
	is(got("::ffff:203.0.113.7", "203.0.113.9"), "203.0.113.9")
	for range 2 {
		if err := first.Close(); err != nil { // twice counts once
			t.Fatal(err)
		}
	}
	is(got("203.0.113.7"), "203.0.113.7")
	is(got("203.0.113.7", "203.0.113.8"), "203.0.113.8")
	for n := range 150 {
		got(fmt.Sprintf("2001:db8::%x", n+1))
	}
	for range 50 {
		got("2001:db8:0:0:ffff::1")
	}
	is(got("2001:db8::9999", "2001:db8:0:1::1"), "2001:db8:0:1::1")
	var many []net.Conn
	for _, address := range []string{"10.0.0.1", "127.0.0.1", "::1"} {
		for range 300 {
			c := got(address, "203.0.113.10")
			is(c, address)
			if many = append(many, c); len(many) > 350 {
				many[0].Close()
				many = many[1:]
			}
		}
	}
}

// Law: a connection on which nobody has shown who they are is not kept for as long as others.
func TestStrangersConnections(t *testing.T) {
	g := guard(t)
	far := server.New(server.Options{Lab: g.lab, Gate: gate.Options{Accounts: g.book}, Log: t.Logf})
	far.HurryStrangers(200 * time.Millisecond)
	inner := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	g.url = "http://" + inner.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- far.Serve(ctx, gate.Bounded(elsewhere{inner, func() string { return "203.0.113.7" }}, nil))
	}()
	token := g.token("viewer")
	known, unknown := g.dial(""), g.dial("")
	read := bufio.NewReader(known)
	ask := func(c net.Conn, r *bufio.Reader, header string) {
		t.Helper()
		must.Get(io.WriteString(c, "GET /api/v1/campaigns HTTP/1.1\r\nHost: x\r\n"+header+"\r\n"))(t)
		answer := must.Get(http.ReadResponse(r, nil))(t)
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
	ask(known, read, "Authorization: Bearer "+token+"\r\n")
	of := bufio.NewReader(unknown)
	ask(unknown, of, "")
	_ = unknown.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := of.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the stranger's is held: %v", err)
	}
	ask(known, read, "Authorization: Bearer "+token+"\r\n") // it is older, and still there
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Law: the time for a body is not that for the work that follows; nor is the time for a piece of
// an answer that between two pieces.
func TestPatientWithItself(t *testing.T) {
	const d = 50 * time.Millisecond
	l, err := lab.Open(t.Context(), lab.Options{Folder: t.TempDir(), Registry: builtin.Registry(), Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := server.New(server.Options{Lab: l, Log: t.Logf})
	s.Hurry(d)
	h := httptest.NewServer(s.Limited(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for range 2 {
			select {
			case <-r.Context().Done():
				t.Errorf("the request was given up: %v", context.Cause(r.Context()))
			case <-time.After(3 * d):
			}
			_, _ = io.WriteString(w, "here ")
			_ = http.NewResponseController(w).Flush()
		}
	})))
	defer h.Close()
	c := &client{t, h.URL}
	if status, _, text := c.do("POST", "/", "text/plain", "work"); status != http.StatusOK || string(text) != "here here " {
		t.Errorf("%d %q", status, text)
	}
}

// Law: no name of a campaign and no address leads out of the lab's folder or of what is embedded.
func TestPaths(t *testing.T) {
	above := t.TempDir()
	folder := filepath.Join(above, "lab")
	must.Do(t, os.Mkdir(folder, 0o700))
	const hidden = "nobody is to read this"
	for _, path := range []string{filepath.Join(above, "secret.txt"), filepath.Join(folder, "secret.txt")} {
		must.Do(t, os.WriteFile(path, []byte(hidden), 0o600))
	}
	l, err := lab.Open(t.Context(), lab.Options{Folder: folder, Registry: builtin.Registry(), Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(server.New(server.Options{Lab: l, Log: t.Logf}).Handler())
	t.Cleanup(func() { h.Close(); l.Close() })
	c := &client{t, h.URL}
	for _, name := range []string{"../evil", "..", ".", "a/b", `a\b`, "/tmp/evil", ".hidden", `"a\0b"`, strings.Repeat("x", 300), "evil@x"} {
		status, _, text := c.do("POST", "/api/v1/campaigns", "application/yaml", strings.Replace(bench, "name: bench", "name: "+name, 1))
		if status != http.StatusUnprocessableEntity || !strings.Contains(string(text), `"faults"`) {
			t.Errorf("a campaign called %.20s: %d %s", name, status, text)
		}
	}
	for _, path := range []string{
		"/static/../secret.txt", "/static/..%2fsecret.txt", "/static/%2e%2e/%2e%2e/secret.txt", "/static/..%5csecret.txt", "/static//secret.txt",
		"/static/../templates/layout.html", "/static/%2e%2e/templates/layout.html",
		"/campaigns/..%2fsecret.txt", "/campaigns/..%2fsecret.txt/definition", "/campaigns/x@..%2f../definition",
		"/api/v1/campaigns/..%2f..%2fsecret.txt/definition", "/api/v1/campaigns/%2e%2e%2fsecret.txt/export", "/api/v1/schemas/..%2f..%2fsecret.txt",
		"/api/v1/audits/..%2f..%2fsecret.txt", "/api/v1/campaigns/x/control/..%2f..%2fsecret.txt",
	} {
		conn := c.dial("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n") // a client of its own would tidy the path up
		answer, err := io.ReadAll(conn)
		if err != nil || strings.HasPrefix(string(answer), "HTTP/1.1 2") || strings.HasPrefix(string(answer), "HTTP/1.1 5") ||
			strings.Contains(string(answer), hidden) || strings.Contains(string(answer), "{{") {
			t.Errorf("%s: %v\n%.300s", path, err, answer)
		}
	}
	entries, err := os.ReadDir(above)
	if err != nil || len(entries) != 2 {
		t.Errorf("beside the lab: %v, %v", entries, err)
	}
}
