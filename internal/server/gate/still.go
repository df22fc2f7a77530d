package gate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/campaignd/campaignd/internal/accounts"
	"github.com/campaignd/campaignd/internal/problem"
)

// A request that is answered at once is made by who it was when it had come
// whole. A stream goes on: before it tells of anything, it is asked again who
// listens and what they may.

type stillKey struct{}

// withStill returns a context in which it can be asked who makes the request
// now.
func (g *Gate) withStill(ctx context.Context, r *http.Request) context.Context {
	return context.WithValue(ctx, stillKey{}, func() (accounts.Identity, error) { return g.still(ctx, r) })
}

// still returns who makes a request now. It notes nothing, and keeps no session
// alive.
func (g *Gate) still(ctx context.Context, r *http.Request) (accounts.Identity, error) {
	if g.Open() {
		return accounts.OpenIdentity(g.options.User), nil
	}
	book := g.options.Accounts
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return book.StillToken(ctx, strings.TrimSpace(bearer))
	}
	cookie, err := r.Cookie(g.cookieName())
	if err != nil {
		return accounts.Identity{}, g.Unidentified(problem.New(problem.Unauthenticated, "nobody is logged in here"))
	}
	return book.Still(ctx, cookie.Value)
}

// Arrived waits for the body of a request of a known caller, and asks
// again who they are: access that has ended while the body was on its way
// carries nothing out. A body that does not come whole fails where it is read.
// An upload passes: see [Gate.Arriving].
func (g *Gate) Arrived(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody || g.Uploads(r) || !IdentityOf(r.Context()).Known() {
			next.ServeHTTP(w, r)
			return
		}
		text, err := io.ReadAll(r.Body)
		whole := io.Reader(bytes.NewReader(text))
		if err != nil {
			whole = io.MultiReader(whole, failing{err})
		}
		r.Body = readCloser{whole, r.Body}
		who, err := Listener(r.Context())
		if err != nil {
			who = accounts.Identity{}
		}
		next.ServeHTTP(w, r.WithContext(WithIdentity(r.Context(), who)))
	})
}

// Arriving returns the body of an upload, which [Gate.Arrived] leaves to the
// operation. At its end it is asked again who makes the request, and whether
// they have a permission in a campaign: where not, the body fails as one that
// did not come whole.
func (g *Gate) Arriving(
	ctx context.Context, body io.Reader, p accounts.Permission, campaign string,
) io.Reader {
	return &arriving{body, func() error {
		who, err := Listener(ctx)
		if err != nil {
			return err
		}
		return who.May(p, campaign)
	}}
}

// arriving is the body of Arriving.
type arriving struct {
	io.Reader
	may func() error
}

// Read implements io.Reader.
func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		if refused := a.may(); refused != nil {
			err = refused
		}
	}
	return n, err
}

// readCloser is a body that was read, with what closes the one it came in.
type readCloser struct {
	io.Reader
	io.Closer
}

// failing is the end of a body that did not come whole.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Listener returns who makes the request of a context now.
func Listener(ctx context.Context) (accounts.Identity, error) {
	still, ok := ctx.Value(stillKey{}).(func() (accounts.Identity, error))
	if !ok {
		return IdentityOf(ctx), nil // it did not come through the gate
	}
	return still()
}

// MayListen says why who makes a request may not see a campaign any more.
func MayListen(ctx context.Context, campaign string) error {
	who, err := Listener(ctx)
	if err != nil {
		return err
	}
	return who.May(accounts.See, campaign)
}
