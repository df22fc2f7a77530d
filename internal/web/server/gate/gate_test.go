package gate

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/web/server/problems"
)

// Law: an operation whose path names a campaign needs its permission in that campaign, and no other
// does; each operation of the API's document is in the table, and nothing else is.
func TestNeedsAreInTheCampaign(t *testing.T) {
	text := must.Get(os.ReadFile("../../../../docs/openapi.json"))(t)
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
		}
	}
	must.Do(t, json.Unmarshal(text, &document))
	found := 0
	for path, operations := range document.Paths {
		for _, o := range operations {
			found++
			need, listed := NeedOf(o.OperationID)
			if inCampaign := strings.Contains(path, "{campaign}"); !listed || need.InCampaign != inCampaign {
				t.Errorf("%s %s: in the table %t, as %+v", o.OperationID, path, listed, need)
			}
			if need.InCampaign && need.Permission == "" {
				t.Errorf("%s needs nothing", o.OperationID)
			}
		}
	}
	if found != len(needed) || found < 40 {
		t.Errorf("the document has %d operations, the table %d", found, len(needed))
	}
}

// Law: of each count so many places are taken at a time as it has and no more, a request that finds
// one of its counts full takes none, and nothing is remembered of places that are given back.
func TestPlaces(t *testing.T) {
	bounds := map[string]int{"a": 3, "b": 2, "all": 4}
	random := rand.New(rand.NewPCG(1, 2))
	var b busy
	taken := make(map[string]int)
	type visit struct {
		leave func()
		of    []string
	}
	var there []visit
	full := 0
	for range 2000 {
		if len(there) > 0 && random.IntN(2) == 0 {
			i := random.IntN(len(there))
			there[i].leave()
			for _, name := range there[i].of {
				taken[name]--
			}
			there = slices.Delete(there, i, i+1)
			continue
		}
		of := [][]string{{"a", "all"}, {"b", "all"}, {"a"}, {"all"}}[random.IntN(4)]
		room := true
		var places []place
		for _, name := range of {
			room = room && taken[name] < bounds[name]
			places = append(places, place{name, bounds[name], "of " + name})
		}
		leave, err := b.enter(places...)
		if (err == nil) != room {
			t.Fatalf("with %v taken, %v: %v", taken, of, err)
		}
		if err != nil {
			if full++; problem.CodeOf(err) != problem.TooMany {
				t.Fatalf("where it is full: %v", err)
			}
			continue
		}
		for _, name := range of {
			taken[name]++
		}
		there = append(there, visit{leave, of})
	}
	for _, v := range there {
		v.leave()
	}
	if len(b.open) > 0 || full < 100 {
		t.Errorf("%v is left; it was full %d times", b.open, full)
	}
}

// deadlines is a connection that notes when it is read until.
type deadlines struct {
	net.Conn
	read time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.read = t
	return nil
}

// Law: a connection on which nobody is known is read for so long at most; one without a limit stays
// without, and so does one on which a caller is known.
func TestDeadlinesOfConnections(t *testing.T) {
	const patience = 30 * time.Second
	for _, c := range []struct {
		name     string
		stranger time.Duration
		known    bool
		asked    time.Duration // 0: no limit
		want     time.Duration
	}{
		{"longer", patience, false, time.Hour, patience},
		{"shorter", patience, false, time.Second, time.Second},
		{"without a limit", patience, false, 0, 0},
		{"known", patience, true, time.Hour, time.Hour},
		{"as long as others", 0, false, time.Hour, time.Hour},
	} {
		inner := new(deadlines)
		conn := &boundedConn{Conn: inner, of: new(bounded), stranger: c.stranger}
		if c.known {
			conn.owner.Store("account ada")
		}
		var asked time.Time
		began := time.Now()
		if c.asked > 0 {
			asked = began.Add(c.asked)
		}
		if err := conn.SetReadDeadline(asked); err != nil {
			t.Error(err)
		}
		if c.want == 0 {
			if !inner.read.IsZero() {
				t.Errorf("%s: until %v", c.name, inner.read)
			}
			continue
		}
		if got := inner.read.Sub(began); got < c.want || got > c.want+10*time.Second {
			t.Errorf("%s: for %s, want %s", c.name, got, c.want)
		}
	}
}

// client reads an answer, and has a connection with deadlines.
type client struct {
	*httptest.ResponseRecorder
	room        int // bytes until it fails
	read, write time.Time
	pieces      []int
	hurried     int // pieces without a deadline
}

func (c *client) SetReadDeadline(t time.Time) error  { c.read = t; return nil }
func (c *client) SetWriteDeadline(t time.Time) error { c.write = t; return nil }

var errGone = errors.New("the client is gone")

func (c *client) Write(p []byte) (int, error) {
	c.pieces = append(c.pieces, len(p))
	if c.write.IsZero() {
		c.hurried++
	}
	if len(p) > c.room {
		n := c.room
		c.room = 0
		return n, errGone
	}
	c.room -= len(p)
	return c.ResponseRecorder.Write(p)
}

// Law: an answer is sent in pieces, each with a time of its own to be taken, up to the first that is
// not: what was sent until then is said, and why no more.
func TestAnswersArePieces(t *testing.T) {
	for _, room := range []int{0, 1, piece - 1, piece, piece + 1, 2*piece + 7, 3 * piece, 1 << 30} {
		for _, size := range []int{0, 1, piece, piece + 1, 3*piece - 1} {
			out := &client{ResponseRecorder: httptest.NewRecorder(), room: room}
			u := &unhurried{ResponseWriter: out, control: http.NewResponseController(out), each: time.Hour}
			n, err := u.Write(make([]byte, size))
			if n != min(size, room) || (err != nil) != (size > room) || err != nil && !errors.Is(err, errGone) {
				t.Errorf("of %d bytes, with room for %d: %d, %v", size, room, n, err)
			}
			if len(out.pieces) > size/piece+1 || slices.Max(out.pieces) > piece || out.hurried > 0 || !out.write.IsZero() {
				t.Errorf("%d bytes in pieces of %v, %d without a time; the time after it is %v", size, out.pieces, out.hurried, out.write)
			}
		}
	}
}

// Law: the time for a body ends when it is there, whole, and not before: the work that follows has
// another. A body that stops before its end keeps its time.
func TestTimeForABody(t *testing.T) {
	for _, c := range []struct {
		name  string
		body  io.Reader
		whole bool
	}{
		{"whole", strings.NewReader("a=b"), true},
		{"cut off", io.MultiReader(strings.NewReader("a"), failing{io.ErrUnexpectedEOF}), false},
	} {
		out := &client{ResponseRecorder: httptest.NewRecorder(), room: 1 << 20}
		g := New(Options{})
		began := time.Now()
		served := false
		g.Limited(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			served = true
			if left := out.read.Sub(began); left < g.Patience.Body || left > g.Patience.Body+10*time.Second {
				t.Errorf("%s: there are %s for it", c.name, left)
			}
			_, err := io.ReadAll(r.Body)
			if (err == nil) != c.whole || out.read.IsZero() != c.whole {
				t.Errorf("%s: it was read with %v, and there is time until %v", c.name, err, out.read)
			}
		})).ServeHTTP(out, httptest.NewRequest(http.MethodPost, "/", c.body))
		if !served {
			t.Errorf("%s: it was not served", c.name)
		}
	}
}

// Law: the body of a caller who is not known is bounded more tightly, wherever it goes. The form of
// a page comes whole or is refused; a body for the API, and what is not a form, is read by whom it is for.
func TestForms(t *testing.T) {
	const fits, larger = maxUnknown - 2, maxUnknown + 1
	ada := accounts.Identity{Account: "ada", Method: accounts.ByPassword}
	for _, c := range []struct {
		name    string
		who     accounts.Identity
		method  string
		path    string
		body    string // without one: none
		refused bool
		unread  bool // by the handler
	}{
		{"a form", accounts.Identity{}, "POST", "/login", "a=" + strings.Repeat("x", fits), false, false},
		{"a large form", accounts.Identity{}, "POST", "/login", "a=" + strings.Repeat("x", larger), true, false},
		{"a large form of one who is known", ada, "POST", "/login", "a=" + strings.Repeat("x", larger), false, false},
		{"no form", ada, "POST", "/login", "%zz", true, false},
		{"for the API", accounts.Identity{}, "POST", "/api/v1/verify", "%" + strings.Repeat("x", fits), false, false},
		{"large, for the API", accounts.Identity{}, "POST", "/api/v1/verify", "%" + strings.Repeat("x", larger), false, true},
		{"large, of one who is known", ada, "POST", "/api/v1/verify", "%" + strings.Repeat("x", larger), false, false},
		{"no POST", accounts.Identity{}, "PUT", "/login", "%zz", false, false},
		{"a page with a path like the API's", ada, "POST", "/api/v1x", "%zz", true, false},
		{"no body", accounts.Identity{}, "GET", "/login", "", false, false},
		{"no body, known", ada, "GET", "/login", "", false, false},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		if c.body == "" {
			r.Body = nil
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		refused, served := false, false
		(*Gate)(nil).Formed(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			served = true
			switch {
			case c.body == "":
				if r.Body != nil {
					t.Errorf("%s: there is one", c.name)
				}
			case c.method == "POST" && c.path == "/login":
				if r.PostForm.Get("a") != c.body[2:] {
					t.Errorf("%s: its a has %d bytes", c.name, len(r.PostForm.Get("a")))
				}
			default:
				text, err := io.ReadAll(r.Body)
				if (err != nil) != c.unread || err == nil && string(text) != c.body {
					t.Errorf("%s: %d bytes, %v", c.name, len(text), err)
				}
			}
		}), "/api/v1", func(_ http.ResponseWriter, _ *http.Request, p *problems.Problem) {
			refused = true
			if large := len(c.body) > maxUnknown; (p.Status == http.StatusRequestEntityTooLarge) != large {
				t.Errorf("%s: refused with %d", c.name, p.Status)
			}
		}).ServeHTTP(httptest.NewRecorder(), r.WithContext(WithIdentity(context.Background(), c.who)))
		if refused != c.refused || served == refused {
			t.Errorf("%s: refused %t, served %t", c.name, refused, served)
		}
	}
}
