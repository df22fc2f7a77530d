// Package gate stands before everything a server answers: it identifies the caller of a request,
// bounds the use of the server, and decides on permissions.
//
// Callers are identified by a session's cookie, by an API token or, in a lab without accounts, by
// their machine: everyone on the server's own machine may do everything. A forbidden act is refused
// where the act is known: by [NeedOf] for an operation of the API, by [Gate.Known], [Gate.InPerson]
// and [Gate.Needs] for a page.
package gate

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/web/server/problems"
)

// Options are the rules of admission.
type Options struct {
	// Accounts hold the permissions. Nil, or without an account, the server is open to all callers
	// of this machine, and to no others.
	Accounts *accounts.Directory
	// User is the recorded name of requests to an open server. Default: the system's user.
	User string
	// Confirm lists the acts, of [ActStop], [ActResolve] and [ActOverride], that need a recent
	// confirmation by password.
	Confirm map[string]bool
	// Secure is set if browsers reach the server over TLS, its own or a proxy's.
	Secure bool
	// Proxy, if set, is the network of the proxies trusted to give a request's address.
	Proxy *net.IPNet
}

// Gate identifies the callers of requests. Its methods may be called by several goroutines.
type Gate struct {
	// Patience holds the timeouts of clients, Bounds the limits on concurrent requests. Both are
	// set before anything is served.
	Patience Patience
	Bounds   Bounds
	// Uploads reports whether a request is the upload of a file: its body is larger than others',
	// and read piece by piece. It is set before anything is served.
	Uploads func(*http.Request) bool

	options Options
	busy    busy
}

// New returns a gate with the usual patience and bounds.
func New(o Options) *Gate {
	if o.User == "" {
		o.User = systemUser()
	}
	none := func(*http.Request) bool { return false }
	return &Gate{Patience: usualPatience, Bounds: usualBounds, Uploads: none, options: o}
}

// Accounts returns the lab's accounts, or nil.
func (g *Gate) Accounts() *accounts.Directory { return g.options.Accounts }

// Secure reports whether browsers reach the server over TLS.
func (g *Gate) Secure() bool { return g.options.Secure }

// Secured sets the headers of every answer.
func (g *Gate) Secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy",
			"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "+
				"font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Cache-Control", "no-store")
		if g.options.Secure {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}

// sessionCookie holds the token of a session. With TLS its name binds it to this host and to secure
// connections.
const (
	sessionCookie       = "campaignd-session"
	secureSessionCookie = "__Host-campaignd-session"
)

type identityKey struct{}

// IdentityOf returns the caller of a request.
func IdentityOf(ctx context.Context) accounts.Identity {
	who, _ := ctx.Value(identityKey{}).(accounts.Identity)
	return who
}

// WithIdentity returns a context that holds the caller of the request.
func WithIdentity(ctx context.Context, who accounts.Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, who)
}

// Open reports whether every caller who reaches the server may do everything.
func (g *Gate) Open() bool { return g.options.Accounts == nil || g.options.Accounts.Empty() }

// Identified identifies the caller of a request. Forbidden acts are refused later, where the act is
// known.
func (g *Gate) Identified(next http.Handler) http.Handler {
	// A form or a script of another site must not act with the session of any visitor. This does
	// not apply to a token, which browsers do not send.
	guarded := http.NewCrossOriginProtection()
	guarded.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		problems.Write(w, problems.New(http.StatusForbidden, problem.Forbidden,
			"The request came from a page of another site, and was not carried out."))
	}))
	checked := guarded.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.Open() && !forThisMachine(r) {
			problems.Write(w, problems.New(http.StatusForbidden, problem.Forbidden,
				"There are no accounts here, so that only this machine is served, under its own name."))
			return
		}
		if g.Open() && (g.options.Proxy != nil || forwarded(r)) {
			problems.Write(w, problems.New(http.StatusForbidden, problem.Forbidden,
				"There are no accounts here, so that only this machine is served, and nobody whose request was passed on."))
			return
		}
		ctx := accounts.WithAddress(r.Context(), g.Address(r))
		who, byToken, err := g.identify(r.WithContext(ctx))
		if err != nil {
			if byToken {
				w.Header().Set("WWW-Authenticate", `Bearer realm="campaignd", error="invalid_token"`)
			}
			g.Unknown(w, r, problems.Of(err))
			return
		}
		if who.Known() {
			acquainted(ctx, ownerOf(who))
		}
		r = r.WithContext(WithIdentity(g.withStill(ctx, r), who))
		if byToken {
			next.ServeHTTP(w, r)
			return
		}
		checked.ServeHTTP(w, r)
	})
}

// identify returns the caller of a request; the zero Identity for an anonymous one.
func (g *Gate) identify(r *http.Request) (who accounts.Identity, byToken bool, err error) {
	if g.Open() {
		return accounts.OpenIdentity(g.options.User), false, nil
	}
	book := g.options.Accounts
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		who, err = book.AuthenticateToken(r.Context(), strings.TrimSpace(bearer))
		return who, true, err
	}
	cookie, err := r.Cookie(g.cookieName())
	if err != nil || cookie.Value == "" {
		return accounts.Identity{}, false, nil
	}
	who, err = book.Authenticate(r.Context(), cookie.Value)
	var wrong *problem.Error
	if errors.As(err, &wrong) && wrong.Code == problem.Unauthenticated {
		return accounts.Identity{}, false, nil // the session has ended: they may log in
	}
	return who, false, err
}

// Unknown answers a request whose caller cannot be determined.
func (g *Gate) Unknown(w http.ResponseWriter, _ *http.Request, p *problems.Problem) {
	if p.Status == http.StatusUnauthorized && w.Header().Get("WWW-Authenticate") == "" {
		w.Header().Set("WWW-Authenticate", `Bearer realm="campaignd"`)
	}
	problems.Write(w, p)
}

// Address returns the address of a request: the one the proxy gives, if one is trusted.
func (g *Gate) Address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	if g.options.Proxy != nil && g.options.Proxy.Contains(net.ParseIP(host)) {
		// A proxy may add its hop to the client's line, or in a line of its own after it.
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		if last := strings.TrimSpace(hops[len(hops)-1]); net.ParseIP(last) != nil {
			return last // the address that the trusted proxy itself has seen
		}
	}
	return host
}

// forThisMachine reports whether a request comes from this machine and addresses it by its own
// name: a web page whose name resolves to this machine fails the second test.
func forThisMachine(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || !net.ParseIP(host).IsLoopback() {
		return false
	}
	name := r.Host
	if bare, _, err := net.SplitHostPort(r.Host); err == nil {
		name = bare
	}
	name = strings.Trim(name, "[]")
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || net.ParseIP(name).IsLoopback()
}

// forwarded reports whether a request carries signs of forwarding: then its address is this
// machine's, but its sender may be elsewhere.
func forwarded(r *http.Request) bool {
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded") || slices.Contains(forwarding, name) {
			return true
		}
	}
	return false
}

// forwarding are the headers that proxies and tunnels add besides X-Forwarded-…, in the form of
// [http.CanonicalHeaderKey].
var forwarding = []string{
	"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip",
	"X-Original-Forwarded-For", "X-Original-Host",
	"X-Envoy-External-Address", "True-Client-Ip", "Cf-Connecting-Ip", "Fastly-Client-Ip", "Fly-Client-Ip",
}

// cookieName returns the name of the session's cookie. A server with TLS does not read the cookie
// of one without: a session that has crossed the network in the clear does not count there.
func (g *Gate) cookieName() string {
	if g.options.Secure {
		return secureSessionCookie
	}
	return sessionCookie
}

// SetSession gives the browser a session; an empty token removes it.
func (g *Gate) SetSession(w http.ResponseWriter, token string) {
	cookie := &http.Cookie{
		Name:     g.cookieName(),
		Value:    token,
		Path:     "/",
		HttpOnly: true,
		Secure:   g.options.Secure,
		SameSite: http.SameSiteLaxMode, // links in messages to people lead here
	}
	if token == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}

// BeginSession gives the browser a new session, and ends its previous one.
func (g *Gate) BeginSession(w http.ResponseWriter, r *http.Request, token string) {
	if old := g.Session(r); old != "" && old != token {
		_ = g.options.Accounts.Logout(r.Context(), old) // a failure is harmless: the old session expires
	}
	g.SetSession(w, token)
}

// Session returns the token of the browser's session, "" without one.
func (g *Gate) Session(r *http.Request) string {
	cookie, err := r.Cookie(g.cookieName())
	if err != nil {
		return ""
	}
	return cookie.Value
}

// Allowed refuses what the caller may not do, and records the refusal in the audit log.
func (g *Gate) Allowed(ctx context.Context, p accounts.Permission, campaign string) error {
	who := IdentityOf(ctx)
	err := who.May(p, campaign)
	if err != nil {
		g.NoteRefused(who, p, campaign)
	}
	return err
}

// Unidentified is the error for a request without an identity: err, unless the accounts are
// unreadable, or were when the request came. Such a lab need not have accounts.
func (g *Gate) Unidentified(err error) error {
	if g.options.Accounts == nil {
		return err
	}
	if away := g.options.Accounts.Readable(); away != nil {
		return away
	}
	if g.Open() {
		return problem.New(problem.Unavailable, "a moment ago it was not known who there is").
			With(problem.Remedy{Text: "try again"})
	}
	return err
}

// NoteRefused records in the audit log what the caller may not do.
func (g *Gate) NoteRefused(who accounts.Identity, p accounts.Permission, campaign string) {
	if g.options.Accounts != nil && who.Known() {
		g.options.Accounts.Refused(who, p, campaign, who.From)
	}
}

// AnswersAs refuses an answer in the place of an expert, and records the refusal in the audit log.
func (g *Gate) AnswersAs(ctx context.Context, expert, campaign string) error {
	who := IdentityOf(ctx)
	err := who.AnswersAs(expert, campaign)
	if err != nil {
		g.NoteRefused(who, accounts.ActForOthers, campaign)
	}
	return err
}

// confirmedWithin is the maximum age of a person's authentication for acts that must not be
// possible from a session left open.
const confirmedWithin = 10 * time.Minute

// Confirmed refuses an act that the lab wants confirmed by password, unless that was done recently.
func (g *Gate) Confirmed(ctx context.Context, act string) error {
	who := IdentityOf(ctx)
	if g.Open() || !g.options.Confirm[act] {
		return nil
	}
	return g.options.Accounts.Recent(who, confirmedWithin)
}

// CampaignIn returns the campaign's name in a path that may hold NAME@STORE.
func CampaignIn(id string) string {
	name, _, _ := strings.Cut(id, "@")
	if unescaped, err := url.PathUnescape(name); err == nil {
		return unescaped
	}
	return name
}

// Sees reports whether the caller may see a campaign.
func Sees(ctx context.Context, campaign string) bool {
	return IdentityOf(ctx).May(accounts.See, campaign) == nil
}

// ActorOf returns the recorded actor of a request, and the account behind it.
func ActorOf(ctx context.Context) (actor, account string) {
	who := IdentityOf(ctx)
	return who.Actor(), who.Account
}

// ActingAs is [ActorOf] for a caller who names an actor. An open server believes it; otherwise a
// request is recorded under the name of its account.
func (g *Gate) ActingAs(ctx context.Context, wanted string) (actor, account string) {
	actor, account = ActorOf(ctx)
	if wanted != "" && g.Open() {
		actor = wanted
	}
	return actor, account
}

// systemUser returns the name of the system's user that runs the server.
func systemUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "somebody"
}
