package gate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/accounts"
)

// A request answered at once keeps the identity it had when it was complete. A stream goes on:
// before it sends anything, the listener's identity and rights are checked again.

type stillKey struct{}

// withStill returns a context in which the present caller of the request can be determined.
func (g *Gate) withStill(ctx context.Context, r *http.Request) context.Context {
	return context.WithValue(ctx, stillKey{}, func() (accounts.Identity, error) { return g.still(ctx, r) })
}

// still returns the present caller of a request. It notes nothing, and keeps no session alive.
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

// Arrived waits for the body of a known caller's request, and identifies the caller again: access
// that ended during the transfer carries nothing out. An incomplete body fails where it is read. An
// upload passes: see [Gate.Arriving].
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

// Arriving returns the body of an upload, which [Gate.Arrived] leaves to the operation. At its end
// the caller is identified again, with a permission in a campaign: without it the body fails like
// an incomplete one.
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

// readCloser is a body already read, with the original body to close.
type readCloser struct {
	io.Reader
	io.Closer
}

// failing is the end of an incomplete body.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Listener returns the present caller of the request of a context.
func Listener(ctx context.Context) (accounts.Identity, error) {
	still, ok := ctx.Value(stillKey{}).(func() (accounts.Identity, error))
	if !ok {
		return IdentityOf(ctx), nil // it did not come through the gate
	}
	return still()
}

// MayListen says why the caller may not see a campaign any longer.
func MayListen(ctx context.Context, campaign string) error {
	who, err := Listener(ctx)
	if err != nil {
		return err
	}
	return who.May(accounts.See, campaign)
}
