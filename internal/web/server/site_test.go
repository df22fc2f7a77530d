package server_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/tests/built"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
	"github.com/campaignd/campaignd/internal/web/server"
	"github.com/campaignd/campaignd/internal/web/server/gate"
)

// TestMain keeps the notes and the locks of this machine apart from those of these tests.
func TestMain(m *testing.M) {
	remove := draws.Apart("XDG_STATE_HOME", lock.Variable)
	draws.Waiting(4, 2)
	code := m.Run()
	chromium.end()
	remove()
	built.Remove()
	os.Exit(code)
}

// farmVariable, set to anything, has the tests of this package serve their labs by a farm: two
// servers of a lab in a database. Without, one server serves a folder.
const farmVariable = "CAMPAIGND_FARM"

// bothWays has a test serve its lab both ways, by a farm where all is tried.
func bothWays(t *testing.T, test func(t *testing.T)) {
	t.Run("folder", func(t *testing.T) { t.Setenv(farmVariable, ""); test(t) })
	t.Run("farm", func(t *testing.T) {
		if testing.Short() || !draws.Whole() {
			t.Skip("a farm is tried where all is: set CAMPAIGND_DRAWS")
		}
		t.Setenv(farmVariable, "2")
		test(t)
	})
}

// site is a lab that is served for the time of a test, at one address: by one server, or by a farm
// behind a switch that sends each request, and not each connection, to one of its servers at random.
type site struct {
	t        *testing.T
	places   []string // of the lab, to each server: a folder, or a database
	registry registry.Registry
	accounts *accounts.Options // nil where the lab is open to everybody
	confirm  map[string]bool
	undo     time.Duration // 0: as long as usual
	url      string

	// What follows is of each server, and there between begin and end.
	urls    []string
	books   []*accounts.Directory
	labs    []*lab.Lab
	servers []*server.Server

	front net.Listener // nil once it is served
	close []func()
}

// newSite makes a lab that is not served yet, and has an address already.
func newSite(t *testing.T) *site {
	t.Helper()
	servers := 1
	if os.Getenv(farmVariable) != "" {
		servers = 2
	}
	return newSiteOf(t, servers)
}

// newSiteOf is newSite with so many servers: one serves a folder, more of them a database.
func newSiteOf(t *testing.T, servers int) *site {
	t.Helper()
	s := &site{t: t, registry: builtin.Registry(), front: listen(t, "127.0.0.1:0")}
	s.url = "http://" + s.front.Addr().String()
	t.Cleanup(s.end)
	if servers == 1 {
		s.places = []string{t.TempDir()}
		return s
	}
	database := pgtest.URL(t)
	for i := range servers {
		// An address of its own is a process to the others.
		s.places = append(s.places, fmt.Sprintf("%s&application_name=s%d", database, i))
	}
	return s
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	return must.Get(net.Listen("tcp", address))(t)
}

// farm reports whether there are several servers.
func (s *site) farm() bool { return len(s.places) > 1 }

// alone skips a test, where there would be several servers, for a reason.
func alone(t *testing.T, why string) {
	t.Helper()
	if os.Getenv(farmVariable) != "" {
		t.Skip("it is of one server: " + why)
	}
}

// settle has all servers know what one of them has recorded of the accounts: what was taken from a
// person is gone at the others within a second, and until then they may let them in.
func (s *site) settle() {
	for _, book := range s.books {
		_ = book.Accounts()
	}
}

// open opens the accounts, of which there are none yet.
func (s *site) open() {
	s.t.Helper()
	for _, place := range s.places {
		book := must.Get(accounts.Open(lablog.Address(place), *s.accounts))(s.t)
		s.books = append(s.books, book)
		s.close = append(s.close, func() { _ = book.Close() })
	}
}

// begin begins to serve.
func (s *site) begin() {
	s.t.Helper()
	if s.accounts != nil && s.books == nil {
		s.open()
	}
	front := s.front
	if s.front = nil; front == nil {
		front = listen(s.t, s.url[len("http://"):])
	}
	for i, place := range s.places {
		o := lab.Options{Folder: place, Registry: s.registry, Log: s.t.Logf}
		guards := gate.Options{Confirm: s.confirm}
		if store.InDatabase(place) {
			o.Folder, o.Database = s.t.TempDir(), place
		}
		if s.accounts != nil {
			o.Own, guards.Accounts = s.books[i].Lab(), s.books[i]
		}
		l := must.Get(lab.Open(s.t.Context(), o))(s.t)
		s.close = append(s.close, l.Close)
		listener := front
		if s.farm() {
			listener = listen(s.t, "127.0.0.1:0")
		}
		one := server.New(server.Options{Lab: l, Gate: guards, Version: "test", Log: s.t.Logf, Undo: s.undo})
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- one.Serve(ctx, listener) }()
		s.close = append(s.close, func() {
			cancel()
			if err := <-ended; err != nil {
				s.t.Error(err)
			}
		})
		s.labs, s.servers = append(s.labs, l), append(s.servers, one)
		s.urls = append(s.urls, "http://"+listener.Addr().String())
	}
	if s.farm() {
		balancer := &http.Server{Handler: either(s.t, s.urls)}
		go func() { _ = balancer.Serve(front) }()
		s.close = append(s.close, func() { _ = balancer.Close() })
	}
}

// either is a switch that sends each request to a server at random.
func either(t *testing.T, urls []string) http.Handler {
	t.Helper()
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			to, _ := url.Parse(urls[rand.IntN(len(urls))])
			r.SetURL(to)
			r.Out.Host = r.In.Host
			for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				if values, sent := r.In.Header[name]; sent {
					r.Out.Header[name] = values
				}
			}
		},
		FlushInterval: -1, // streams are passed on as they come
	}
}

// end ends the servers, what was begun last first. They can be begun again, at the same address.
func (s *site) end() {
	for len(s.close) > 0 {
		last := len(s.close) - 1
		do := s.close[last]
		s.close = s.close[:last]
		do()
	}
	if s.front != nil {
		_ = s.front.Close()
	}
	s.urls, s.books, s.labs, s.servers = nil, nil, nil, nil
	// The next server has this one's address: a form that was sent to it along a connection of before ended with it.
	http.DefaultClient.CloseIdleConnections()
}

// add makes an account at a server.
func add(t *testing.T, book *accounts.Directory, name string, grants ...accounts.Grant) {
	t.Helper()
	must.Get(book.Add(t.Context(), accounts.SystemIdentity("root"), accounts.NewAccount{
		Name: name, Grants: grants, Password: accounts.NewSecret(password),
	}))(t)
}

// as is what a role gives.
func as(role accounts.Role) accounts.Grant { return accounts.Grant{Role: role} }
