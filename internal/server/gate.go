package server

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

	"github.com/danielgtaylor/huma/v2"

	"github.com/campaignd/campaignd/internal/accounts"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/problem"
)

// The gate finds out who makes a request, and refuses what they may not do. It
// has three ways to know: a session's cookie, an API token, and, in a lab
// without accounts on this machine alone, that everybody here may do
// everything.

// sessionCookie holds the token of a session. With TLS its name binds it to
// this host and to secure connections.
const (
	sessionCookie       = "campaignd-session"
	secureSessionCookie = "__Host-campaignd-session"
)

type identityKey struct{}

// identityOf returns who makes a request.
func identityOf(ctx context.Context) accounts.Identity {
	who, _ := ctx.Value(identityKey{}).(accounts.Identity)
	return who
}

// open reports whether everybody who reaches the server may do everything.
func (s *Server) open() bool { return s.options.Accounts == nil || s.options.Accounts.Empty() }

// gate finds out who makes a request. What they may not do is refused where it
// is known what they want.
func (s *Server) gate(next http.Handler) http.Handler {
	// A form or a script of another site must not act with the session of
	// whoever visits it. What a program sends with a token is no browser's
	// doing.
	guarded := http.NewCrossOriginProtection()
	guarded.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, newProblem(http.StatusForbidden, problem.Forbidden,
			"The request came from a page of another site, and was not carried out."))
	}))
	checked := guarded.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.open() && !forThisMachine(r) {
			writeProblem(w, newProblem(http.StatusForbidden, problem.Forbidden,
				"There are no accounts here, so that only this machine is served, under its own name."))
			return
		}
		if s.open() && (s.options.Proxy != nil || forwarded(r)) {
			writeProblem(w, newProblem(http.StatusForbidden, problem.Forbidden,
				"There are no accounts here, so that only this machine is served, and nobody whose request was passed on."))
			return
		}
		ctx := accounts.WithAddress(r.Context(), s.address(r))
		who, byToken, err := s.identify(r.WithContext(ctx))
		if err != nil {
			if byToken {
				w.Header().Set("WWW-Authenticate", `Bearer realm="campaignd", error="invalid_token"`)
			}
			s.unknown(w, r, problemOf(err))
			return
		}
		if who.Known() {
			acquainted(ctx)
		}
		r = r.WithContext(context.WithValue(s.withStill(ctx, r), identityKey{}, who))
		if byToken {
			next.ServeHTTP(w, r)
			return
		}
		checked.ServeHTTP(w, r)
	})
}

// identify returns who makes a request; nobody, where it does not say.
func (s *Server) identify(r *http.Request) (who accounts.Identity, byToken bool, err error) {
	if s.open() {
		return accounts.OpenIdentity(s.options.User), false, nil
	}
	book := s.options.Accounts
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		who, err = book.AuthenticateToken(r.Context(), strings.TrimSpace(bearer))
		return who, true, err
	}
	cookie, err := r.Cookie(s.cookieName())
	if err != nil || cookie.Value == "" {
		return accounts.Identity{}, false, nil
	}
	who, err = book.Authenticate(r.Context(), cookie.Value)
	var wrong *problem.Error
	if errors.As(err, &wrong) && wrong.Code == problem.Unauthenticated {
		return accounts.Identity{}, false, nil // the session has ended: they are nobody, and may log in
	}
	return who, false, err
}

// unknown answers a request of which it cannot be said who makes it.
func (s *Server) unknown(w http.ResponseWriter, _ *http.Request, p *Problem) {
	if p.Status == http.StatusUnauthorized && w.Header().Get("WWW-Authenticate") == "" {
		w.Header().Set("WWW-Authenticate", `Bearer realm="campaignd"`)
	}
	writeProblem(w, p)
}

// address is where a request comes from: as the proxy says, where one is
// trusted.
func (s *Server) address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	if s.options.Proxy != nil && s.options.Proxy.Contains(net.ParseIP(host)) {
		// A proxy may add its hop to the client's line, or in a line of its own
		// after it.
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		if last := strings.TrimSpace(hops[len(hops)-1]); net.ParseIP(last) != nil {
			return last // the one that the trusted proxy itself has seen
		}
	}
	return host
}

// forThisMachine reports whether a request comes from this machine and asks for
// it by its own name: a page of the web that lets its name lead here does not.
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

// forwarded reports whether a request says of itself that it was passed on:
// then it comes from this machine, and whoever made it need not be here.
func forwarded(r *http.Request) bool {
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded") || slices.Contains(forwarding, name) {
			return true
		}
	}
	return false
}

// forwarding are what proxies and tunnels add to requests beside X-Forwarded-…,
// in the form of [http.CanonicalHeaderKey].
var forwarding = []string{
	"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip",
	"X-Original-Forwarded-For", "X-Original-Host",
	"X-Envoy-External-Address", "True-Client-Ip", "Cf-Connecting-Ip", "Fastly-Client-Ip", "Fly-Client-Ip",
}

func (s *Server) cookieName() string {
	if s.options.Secure {
		return secureSessionCookie
	}
	return sessionCookie
}

// setSession hands the browser a session; an empty token takes it away.
func (s *Server) setSession(w http.ResponseWriter, token string) {
	cookie := &http.Cookie{
		Name:     s.cookieName(),
		Value:    token,
		Path:     "/",
		HttpOnly: true,
		Secure:   s.options.Secure,
		SameSite: http.SameSiteLaxMode, // links in messages to people lead here
	}
	if token == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}

// allowed refuses what somebody may not do, and notes that in the audit trail.
func (s *Server) allowed(ctx context.Context, p accounts.Permission, campaign string) error {
	who := identityOf(ctx)
	err := who.May(p, campaign)
	if err != nil {
		s.noteRefused(who, p, campaign)
	}
	return err
}

// noteRefused notes in the audit trail what somebody may not do.
func (s *Server) noteRefused(who accounts.Identity, p accounts.Permission, campaign string) {
	if s.options.Accounts != nil && who.Known() {
		s.options.Accounts.Refused(who, p, campaign, who.From)
	}
}

// answersAs refuses an answer in the place of an expert, and notes that in the
// audit trail.
func (s *Server) answersAs(ctx context.Context, expert, campaign string) error {
	who := identityOf(ctx)
	err := who.AnswersAs(expert, campaign)
	if err != nil {
		s.noteRefused(who, accounts.ActForOthers, campaign)
	}
	return err
}

// confirmedWithin is how long ago somebody must have shown who they are, at
// most, for what the lab does not leave to a session that was found open.
const confirmedWithin = 10 * time.Minute

// confirmed refuses an act that the lab wants people to confirm with their
// password, where they have not lately.
func (s *Server) confirmed(ctx context.Context, act string) error {
	who := identityOf(ctx)
	if s.open() || !s.options.Confirm[act] {
		return nil
	}
	return s.options.Accounts.Recent(who, confirmedWithin)
}

// needed is the table of what each operation of the API needs. One that is not
// in it is refused to everybody: nothing is open by oversight. Where campaign
// is set, the permission is asked for in the campaign that the path names;
// otherwise it is one of the lab, or the operation itself shows only what its
// caller may see.
var needed = map[string]struct {
	permission accounts.Permission
	campaign   bool
	// act is what the lab may want to have confirmed.
	act string
}{
	"list-campaigns":    {},
	"list-questions":    {},
	"begin-campaign":    {permission: accounts.Define},
	"validate-campaign": {permission: accounts.Define},

	"get-campaign":   {permission: accounts.See, campaign: true},
	"get-definition": {permission: accounts.See, campaign: true},
	"get-decision":   {permission: accounts.See, campaign: true},
	"get-report":     {permission: accounts.See, campaign: true},
	"get-events":     {permission: accounts.See, campaign: true},
	"predict":        {permission: accounts.See, campaign: true},

	"list-experiments":  {permission: accounts.See, campaign: true},
	"list-asked":        {permission: accounts.See, campaign: true},
	"list-rows":         {permission: accounts.See, campaign: true},
	"diagnose-campaign": {permission: accounts.See, campaign: true},
	"export-campaign":   {permission: accounts.See, campaign: true},
	"replay-campaign":   {permission: accounts.See, campaign: true},

	// What the program is; nothing of any campaign.
	"list-methods": {},
	"get-method":   {},
	"get-schema":   {},
	"get-version":  {},
	"verify":       {}, // a proof that the caller brings along

	"begin-audit":    {permission: accounts.Audit, campaign: true},
	"get-audit":      {}, // its path names no campaign: it asks for Audit in the audit's own
	"get-checkpoint": {permission: accounts.Audit, campaign: true},
	"prove-event":    {permission: accounts.Audit, campaign: true},
	"prove-growth":   {permission: accounts.Audit, campaign: true},

	"answer-question": {permission: accounts.Answer, campaign: true},

	// It records nothing, but takes a processor for a while: for those who take
	// part.
	"begin-what-if":  {permission: accounts.Answer, campaign: true},
	"cancel-what-if": {permission: accounts.Answer, campaign: true},
	"get-what-if":    {permission: accounts.See, campaign: true},
	"list-what-ifs":  {permission: accounts.See, campaign: true},

	"suggest":         {permission: accounts.Run, campaign: true},
	"tell":            {permission: accounts.Run, campaign: true},
	"anchor":          {permission: accounts.Run, campaign: true},
	"import-csv":      {permission: accounts.Run, campaign: true},
	"import":          {permission: accounts.Run, campaign: true},
	"correct":         {permission: accounts.Run, campaign: true, act: ActOverride},
	"exclude":         {permission: accounts.Run, campaign: true},
	"allow":           {permission: accounts.Run, campaign: true},
	"note":            {permission: accounts.Run, campaign: true},
	"pause-campaign":  {permission: accounts.Run, campaign: true},
	"resume-campaign": {permission: accounts.Run, campaign: true},
	"stop-campaign":   {permission: accounts.Run, campaign: true, act: ActStop},
	"run-run":         {permission: accounts.Run, campaign: true},
	"halt-run":        {permission: accounts.Run, campaign: true},
	"amend-campaign":  {permission: accounts.Run, campaign: true, act: ActOverride},
	"resolve":         {permission: accounts.Resolve, campaign: true, act: ActResolve},
}

// neededFor is what a request needs that came by the protocol of a store.
func neededFor(r *engine.Request) (p accounts.Permission, act string) {
	switch {
	case r.Answer != nil:
		return accounts.Answer, "" // as whom, is asked where the question is known
	case r.Resolve != nil:
		return accounts.Resolve, ActResolve
	case r.Stop != nil:
		return accounts.Run, ActStop
	case r.Correct != nil, r.Amend != nil:
		return accounts.Run, ActOverride
	}
	return accounts.Run, ""
}

// Acts that a lab may want people to confirm: see [Options.Confirm].
const (
	ActStop     = "stop"
	ActResolve  = "resolve"
	ActOverride = "override"
)

// admit is the API's middleware: it refuses what the table does not allow.
func (a *api) admit(hc huma.Context, next func(huma.Context)) {
	ctx := hc.Context()
	refuse := func(err error) {
		p := problemOf(err)
		if p.Status == http.StatusUnauthorized {
			hc.SetHeader("WWW-Authenticate", `Bearer realm="campaignd"`)
		}
		hc.SetHeader("Content-Type", p.ContentType(""))
		hc.SetStatus(p.Status)
		_ = a.huma.Marshal(hc.BodyWriter(), "application/json", p)
	}
	need, listed := needed[hc.Operation().OperationID]
	if !listed {
		refuse(problem.New(problem.Forbidden, "nobody may do that here"))
		return
	}
	if !identityOf(ctx).Known() {
		refuse(problem.New(problem.Unauthenticated, "It is not known who asks.").
			With(problem.Remedy{Text: "send an API token: Authorization: Bearer campaignd_…, or log in"}))
		return
	}
	campaign := ""
	if need.campaign {
		campaign = campaignIn(hc.Param("campaign"))
	}
	if need.permission != "" {
		if err := a.allowed(ctx, need.permission, campaign); err != nil {
			refuse(err)
			return
		}
	}
	if need.act != "" {
		if err := a.confirmed(ctx, need.act); err != nil {
			refuse(err)
			return
		}
	}
	next(hc)
}

// campaignIn is the campaign's name in a path that may say NAME@STORE.
func campaignIn(id string) string {
	name, _, _ := strings.Cut(id, "@")
	if unescaped, err := url.PathUnescape(name); err == nil {
		return unescaped
	}
	return name
}

// sees reports whether the caller may see a campaign.
func sees(ctx context.Context, campaign string) bool {
	return identityOf(ctx).May(accounts.See, campaign) == nil
}

// systemUser is the name of the system's user that runs the server.
func systemUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "somebody"
}
