package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/campaignd/campaignd/internal/accounts"
	"github.com/campaignd/campaignd/internal/console"
	"github.com/campaignd/campaignd/internal/notify"
	"github.com/campaignd/campaignd/internal/problem"
)

// The door: pages and routes by which people log in, show again who they are,
// look after their account, and by which an admin looks after everybody's.

// ceremonyCookie holds the name of a login with OpenID Connect while the
// browser is away, nextCookie where it goes then.
const (
	ceremonyCookie = "campaignd-oidc"
	nextCookie     = "campaignd-oidc-next"
)

// door mounts the routes. They are there where there are accounts.
func (s *Server) door() {
	if s.options.Accounts == nil {
		return
	}
	// Whoever is nobody yet may reach these.
	s.mux.HandleFunc("GET /login", s.loginPage)
	s.mux.HandleFunc("POST /login", s.login)
	s.mux.HandleFunc("POST /login/passkey/begin", s.beginPasskeyLogin)
	s.mux.HandleFunc("POST /login/passkey/finish", s.finishPasskeyLogin)
	s.mux.HandleFunc("GET /login/oidc", s.beginOIDC)
	s.mux.HandleFunc("GET /oidc/callback", s.finishOIDC)
	s.mux.HandleFunc("POST /logout", s.logout)

	for route, handle := range map[string]http.HandlerFunc{
		"GET /confirm":                  s.confirmPage,
		"POST /confirm":                 s.confirm,
		"GET /confirm/oidc":             s.beginOIDCConfirm,
		"POST /confirm/passkey/begin":   s.beginPasskeyConfirm,
		"POST /confirm/passkey/finish":  s.finishPasskeyConfirm,
		"GET /account":                  s.accountPage,
		"POST /account/password":        s.changePassword,
		"POST /account/passkeys/begin":  s.beginPasskey,
		"POST /account/passkeys/finish": s.finishPasskey,
		"POST /account/passkeys/{id}/remove": s.ofAccount(func(
			ctx context.Context, who accounts.Identity, r *http.Request,
		) error {
			_, err := s.options.Accounts.RemovePasskey(ctx, who, who.Account, r.PathValue("id"))
			return err
		}),
		"POST /account/tokens": s.createToken,
		"POST /account/tokens/{id}/revoke": s.ofAccount(func(
			ctx context.Context, who accounts.Identity, r *http.Request,
		) error {
			_, err := s.options.Accounts.RevokeToken(ctx, who, r.PathValue("id"))
			return err
		}),
		"POST /account/sessions/{id}/end": s.ofAccount(func(
			ctx context.Context, who accounts.Identity, r *http.Request,
		) error {
			return s.options.Accounts.EndSession(ctx, who, who.Account, r.PathValue("id"))
		}),
	} {
		s.mux.HandleFunc(route, s.inPerson(handle))
	}
	for route, handle := range map[string]http.HandlerFunc{
		"GET /people":  s.peoplePage,
		"POST /people": s.ofPeople(s.addAccount),
		"POST /people/{name}/grant": s.ofPeople(func(ctx context.Context, who accounts.Identity, r *http.Request) error {
			_, err := s.options.Accounts.Grant(ctx, who, r.PathValue("name"), grantIn(r))
			return err
		}),
		"POST /people/{name}/revoke": s.ofPeople(func(ctx context.Context, who accounts.Identity, r *http.Request) error {
			_, err := s.options.Accounts.Revoke(ctx, who, r.PathValue("name"), grantIn(r))
			return err
		}),
		"POST /people/{name}/password": s.ofPeople(func(ctx context.Context, who accounts.Identity, r *http.Request) error {
			_, err := s.options.Accounts.SetPassword(ctx, who, r.PathValue("name"),
				r.PostFormValue("password"))
			return err
		}),
		"POST /people/{name}/disable": s.ofPeople(func(ctx context.Context, who accounts.Identity, r *http.Request) error {
			_, err := s.options.Accounts.Disable(ctx, who, r.PathValue("name"))
			return err
		}),
		"POST /people/{name}/enable": s.ofPeople(func(ctx context.Context, who accounts.Identity, r *http.Request) error {
			_, err := s.options.Accounts.Enable(ctx, who, r.PathValue("name"))
			return err
		}),
		"POST /people/{name}/unlock": s.ofPeople(func(ctx context.Context, who accounts.Identity, r *http.Request) error {
			return s.options.Accounts.Unlock(ctx, who, r.PathValue("name"))
		}),
	} {
		s.mux.HandleFunc(route, s.needs(accounts.Administer, handle))
	}
	s.mux.HandleFunc("GET /trail", s.needs(accounts.Audit, s.trailPage))
	s.mux.HandleFunc("POST /trail/verify", s.needs(accounts.Audit, s.verifyTrail))
}

// page shows a page in the console's frame.
func (s *Server) page(w http.ResponseWriter, r *http.Request, p console.Page) {
	if p.Failure != nil {
		retryAfter(w, p.Failure)
	}
	s.console.Show(w, r.WithContext(console.WithVisitor(r.Context(), s.visitor(r.Context()))), p)
}

// fail shows an error as a page.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	retryAfter(w, err)
	s.console.Fail(w, r.WithContext(console.WithVisitor(r.Context(), s.visitor(r.Context()))), err)
}

// known lets nobody through of whom it is not known who they are: they are
// asked to log in, and come back.
func (s *Server) known(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case identityOf(r.Context()).Known():
			next(w, r)
		case r.Method == http.MethodGet:
			http.Redirect(w, r, "/login?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		default:
			s.fail(w, r, problem.New(problem.Unauthenticated, "You are not logged in, or not any more."))
		}
	}
}

// inPerson lets people through who are logged in, and no token of theirs: a
// token is for what its scopes say, and an account is nobody's business but its
// person's.
func (s *Server) inPerson(next http.HandlerFunc) http.HandlerFunc {
	return s.known(func(w http.ResponseWriter, r *http.Request) {
		if identityOf(r.Context()).Method == accounts.ByToken {
			s.fail(w, r, problem.New(problem.Forbidden,
				"a person looks after their own account, and no API token does").
				With(problem.Remedy{Text: "log in", Action: problem.LogIn}))
			return
		}
		next(w, r)
	})
}

// needs lets through who may do something in the whole lab.
func (s *Server) needs(p accounts.Permission, next http.HandlerFunc) http.HandlerFunc {
	return s.known(func(w http.ResponseWriter, r *http.Request) {
		if err := s.allowed(r.Context(), p, ""); err != nil {
			s.fail(w, r, err)
			return
		}
		next(w, r)
	})
}

// nextOf is where somebody wanted to go: a path of this server, and nothing
// else.
func nextOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(text, "/") ||
		strings.HasPrefix(text, "//") || strings.Contains(text, `\`) {
		return "/"
	}
	return text
}

type loginData struct {
	Next, Name string
	Passkeys   bool
	OIDC       string
}

func (s *Server) loginData(next, name string) loginData {
	return loginData{
		Next: nextOf(next), Name: name, Passkeys: s.options.Accounts.HasPasskeys(),
		OIDC: s.options.Accounts.OIDCName(),
	}
}

func (s *Server) loginPage(w http.ResponseWriter, r *http.Request) {
	s.page(w, r, console.Page{Name: "login", Title: "Log in",
		Data: s.loginData(r.URL.Query().Get("next"), "")})
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	name, next := r.PostFormValue("name"), nextOf(r.PostFormValue("next"))
	token, _, err := s.options.Accounts.Login(r.Context(), name, r.PostFormValue("password"), s.address(r))
	if err != nil {
		s.page(w, r, console.Page{Name: "login", Title: "Log in", Failure: err,
			Data: s.loginData(next, name)})
		return
	}
	s.begin(w, r, token)
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// begin hands the browser a new session, and ends the one it had before.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, token string) {
	if old := s.session(r); old != "" && old != token {
		_ = s.options.Accounts.Logout(r.Context(), old) // that it stays for its time is no harm
	}
	s.setSession(w, token)
}

// session is the token of the browser's session, "" where it has none.
func (s *Server) session(r *http.Request) string {
	cookie, err := r.Cookie(s.cookieName())
	if err != nil {
		return ""
	}
	return cookie.Value
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	if token := s.session(r); token != "" {
		if err := s.options.Accounts.Logout(r.Context(), token); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	s.setSession(w, "")
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

func (s *Server) confirmPage(w http.ResponseWriter, r *http.Request) {
	who := identityOf(r.Context())
	s.page(w, r, console.Page{
		Name: "confirm", Title: "Confirm", Data: s.loginData(r.URL.Query().Get("next"), who.Account),
	})
}

func (s *Server) confirm(w http.ResponseWriter, r *http.Request) {
	next := nextOf(r.PostFormValue("next"))
	token, _, err := s.options.Accounts.Reauthenticate(
		r.Context(), s.session(r), r.PostFormValue("password"), s.address(r))
	if err != nil {
		data := s.loginData(next, identityOf(r.Context()).Account)
		s.page(w, r, console.Page{Name: "confirm", Title: "Confirm", Failure: err, Data: data})
		return
	}
	s.setSession(w, token)
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// ceremony is what a browser sends to finish a ceremony with a passkey.
type ceremony struct {
	Ceremony string          `json:"ceremony"`
	Name     string          `json:"name"`
	Answer   json.RawMessage `json:"answer"`
}

// begun answers with what the browser needs for a ceremony.
func begun(w http.ResponseWriter, name string, options json.RawMessage, err error) {
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"ceremony": name, "options": options})
}

// finished reads what a browser brings back from a ceremony, and answers with
// what do says of it.
func finished(w http.ResponseWriter, r *http.Request, do func(ceremony) error) {
	var c ceremony
	err := json.NewDecoder(r.Body).Decode(&c)
	if err != nil {
		err = problem.New(problem.Invalid, "that is no answer of a passkey: %w", err)
	} else {
		err = do(c)
	}
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte("{}\n"))
}

func (s *Server) beginPasskeyLogin(w http.ResponseWriter, r *http.Request) {
	name, options, err := s.options.Accounts.BeginPasskeyLogin(r.Context())
	begun(w, name, options, err)
}

func (s *Server) finishPasskeyLogin(w http.ResponseWriter, r *http.Request) {
	finished(w, r, func(c ceremony) error {
		token, _, err := s.options.Accounts.FinishPasskeyLogin(r.Context(), c.Ceremony, c.Answer,
			s.address(r))
		if err == nil {
			s.begin(w, r, token)
		}
		return err
	})
}

func (s *Server) beginPasskeyConfirm(w http.ResponseWriter, r *http.Request) {
	name, options, err := s.options.Accounts.BeginPasskeyConfirm(r.Context(), s.session(r))
	begun(w, name, options, err)
}

func (s *Server) finishPasskeyConfirm(w http.ResponseWriter, r *http.Request) {
	finished(w, r, func(c ceremony) error {
		token, _, err := s.options.Accounts.FinishPasskeyConfirm(
			r.Context(), s.session(r), c.Ceremony, c.Answer, s.address(r))
		if err == nil {
			s.setSession(w, token)
		}
		return err
	})
}

func (s *Server) beginPasskey(w http.ResponseWriter, r *http.Request) {
	name, options, err := s.options.Accounts.BeginPasskey(r.Context(), s.session(r))
	begun(w, name, options, err)
}

func (s *Server) finishPasskey(w http.ResponseWriter, r *http.Request) {
	finished(w, r, func(c ceremony) error {
		_, err := s.options.Accounts.FinishPasskey(r.Context(), s.session(r), c.Ceremony, c.Name, c.Answer)
		return err
	})
}

func (s *Server) beginOIDC(w http.ResponseWriter, r *http.Request) { s.goToIssuer(w, r, "") }

// beginOIDCConfirm is beginOIDC of somebody who is logged in and shows again
// who they are.
func (s *Server) beginOIDCConfirm(w http.ResponseWriter, r *http.Request) {
	s.goToIssuer(w, r, identityOf(r.Context()).Account)
}

// goToIssuer sends the browser to the issuer, from which it comes back to
// finishOIDC.
func (s *Server) goToIssuer(w http.ResponseWriter, r *http.Request, confirm string) {
	address, name, err := s.options.Accounts.BeginOIDC(r.Context(), confirm)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	keep := func(cookie, value string) {
		http.SetCookie(w, &http.Cookie{
			Name: cookie, Value: value, Path: "/oidc/", MaxAge: 600,
			HttpOnly: true, Secure: s.options.Secure, SameSite: http.SameSiteLaxMode,
		})
	}
	keep(ceremonyCookie, name)
	keep(nextCookie, url.QueryEscape(nextOf(r.URL.Query().Get("next"))))
	http.Redirect(w, r, address, http.StatusSeeOther)
}

func (s *Server) finishOIDC(w http.ResponseWriter, r *http.Request) {
	take := func(cookie string) string {
		http.SetCookie(w, &http.Cookie{Name: cookie, Path: "/oidc/", MaxAge: -1})
		if c, err := r.Cookie(cookie); err == nil {
			return c.Value
		}
		return ""
	}
	name := take(ceremonyCookie)
	next, _ := url.QueryUnescape(take(nextCookie))
	next = nextOf(next)
	query := r.URL.Query()
	token, _, err := s.options.Accounts.FinishOIDC(r.Context(), name, accounts.OIDCAnswer{
		State: query.Get("state"), Code: query.Get("code"),
		Error: query.Get("error"), Description: query.Get("error_description"),
	}, s.address(r))
	if err != nil {
		s.page(w, r, console.Page{Name: "login", Title: "Log in", Failure: err, Data: s.loginData(next, "")})
		return
	}
	s.begin(w, r, token)
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// accountData is what the page of one's own account shows.
type accountData struct {
	Account     accounts.Account
	Tokens      []accounts.Token
	Sessions    []accounts.Session
	Permissions []accounts.Permission
	Campaigns   []string
	Passkeys    bool
	// Confirmed says that they have shown just now who they are.
	Confirmed bool
	// Secret is that of a token that was just made.
	Secret string
}

func (s *Server) showAccount(w http.ResponseWriter, r *http.Request, secret string, failure error) {
	book, who := s.options.Accounts, identityOf(r.Context())
	account, err := book.Account(who.Account)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.page(w, r, console.Page{Name: "account", Title: "Your account", Failure: failure,
		Back: "/account", Data: accountData{
			Account:     account,
			Tokens:      book.Tokens(who.Account),
			Sessions:    book.Sessions(who.Account),
			Permissions: accounts.Permissions(),
			Campaigns:   s.campaignNames(r.Context()),
			Passkeys:    book.HasPasskeys(),
			Confirmed:   book.Recent(who, accounts.JustNow) == nil,
			Secret:      secret,
		}})
}

func (s *Server) accountPage(w http.ResponseWriter, r *http.Request) { s.showAccount(w, r, "", nil) }

// ofAccount answers a form about one's own account.
func (s *Server) ofAccount(
	do func(context.Context, accounts.Identity, *http.Request) error,
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := do(r.Context(), identityOf(r.Context()), r); err != nil {
			s.showAccount(w, r, "", err)
			return
		}
		http.Redirect(w, r, "/account", http.StatusSeeOther)
	}
}

func (s *Server) changePassword(w http.ResponseWriter, r *http.Request) {
	token, _, err := s.options.Accounts.ChangePassword(
		r.Context(), s.session(r), r.PostFormValue("present"), r.PostFormValue("password"), s.address(r))
	if err != nil {
		s.showAccount(w, r, "", err)
		return
	}
	s.setSession(w, token)
	http.Redirect(w, r, "/account", http.StatusSeeOther)
}

func (s *Server) createToken(w http.ResponseWriter, r *http.Request) {
	who := identityOf(r.Context())
	wanted := accounts.NewToken{Name: r.PostFormValue("name"), Campaigns: r.PostForm["campaign"]}
	for _, scope := range r.PostForm["scope"] {
		wanted.Scopes = append(wanted.Scopes, accounts.Permission(scope))
	}
	if text := strings.TrimSpace(r.PostFormValue("days")); text != "" {
		days, err := strconv.ParseUint(text, 10, 12)
		if err != nil {
			s.showAccount(w, r, "", problem.New(problem.Invalid, "%q is not a number of days", text))
			return
		}
		wanted.Lifetime = time.Duration(days) * 24 * time.Hour
	}
	secret, _, err := s.options.Accounts.CreateToken(r.Context(), who, who.Account, wanted)
	s.showAccount(w, r, secret, err)
}

// listIn reads names with commas between them.
func listIn(text string) (names []string) {
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func grantIn(r *http.Request) accounts.Grant {
	return accounts.Grant{
		Role:     accounts.Role(r.PostFormValue("role")),
		Campaign: strings.TrimSpace(r.PostFormValue("campaign")),
	}
}

type peopleData struct {
	Accounts []accounts.Account
	// First says how the first account came about; empty where that is not
	// known.
	First string
	// Campaigns are those that a role can be given in.
	Campaigns []string
	Roles     []accounts.Role
	Reached   []notify.Status
	// Confirmed says that the visitor has authenticated just now.
	Confirmed bool
}

// campaignNames are the campaigns that the visitor may see, each name once.
func (s *Server) campaignNames(ctx context.Context) (names []string) {
	for _, c := range s.lab.Campaigns() {
		if sees(ctx, c.Name()) {
			names = append(names, c.Name())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (s *Server) showPeople(w http.ResponseWriter, r *http.Request, failure error) {
	who := identityOf(r.Context())
	data := peopleData{
		Accounts: s.options.Accounts.Accounts(), Roles: accounts.Roles(),
		Confirmed: s.options.Accounts.Recent(who, accounts.JustNow) == nil,
		Campaigns: s.campaignNames(r.Context()),
	}
	if first, ok := s.options.Accounts.First(); ok {
		data.First = first.Origin()
	}
	if s.options.Reached != nil {
		data.Reached = s.options.Reached()
	}
	s.page(w, r, console.Page{Name: "people", Title: "People", Failure: failure, Back: "/people", Data: data})
}

func (s *Server) peoplePage(w http.ResponseWriter, r *http.Request) { s.showPeople(w, r, nil) }

// ofPeople answers a form about other people's accounts.
func (s *Server) ofPeople(do func(context.Context, accounts.Identity, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := do(r.Context(), identityOf(r.Context()), r); err != nil {
			s.showPeople(w, r, err)
			return
		}
		http.Redirect(w, r, "/people", http.StatusSeeOther)
	}
}

func (s *Server) addAccount(ctx context.Context, who accounts.Identity, r *http.Request) error {
	_, err := s.options.Accounts.Add(ctx, who, accounts.NewAccount{
		Name:        strings.TrimSpace(r.PostFormValue("name")),
		DisplayName: strings.TrimSpace(r.PostFormValue("display_name")),
		Email:       strings.TrimSpace(r.PostFormValue("email")),
		AnswersAs:   listIn(r.PostFormValue("answers_as")),
		Grants:      []accounts.Grant{grantIn(r)},
		Password:    accounts.NewSecret(r.PostFormValue("password")),
	})
	return err
}

type trailData struct {
	Entries  []accounts.Entry
	Before   uint64
	Verified string
}

// trailPageSize is how many entries of the audit trail a page shows.
const trailPageSize = 100

func (s *Server) showTrail(w http.ResponseWriter, r *http.Request, verified string, failure error) {
	before, _ := strconv.ParseUint(r.URL.Query().Get("before"), 10, 64)
	entries, err := s.options.Accounts.AuditLog(identityOf(r.Context()),
		accounts.Page{Before: before, Limit: trailPageSize})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	data := trailData{Entries: entries, Verified: verified}
	if len(entries) == trailPageSize {
		data.Before = entries[len(entries)-1].Number
	}
	s.page(w, r, console.Page{Name: "trail", Title: "Audit trail", Failure: failure, Data: data})
}

func (s *Server) trailPage(w http.ResponseWriter, r *http.Request) { s.showTrail(w, r, "", nil) }

func (s *Server) verifyTrail(w http.ResponseWriter, r *http.Request) {
	proof, err := s.options.Accounts.Verify(identityOf(r.Context()))
	verified := ""
	if err == nil {
		verified = fmt.Sprintf("Each of the %d events of the lab's log is there, as it was written. Their root hash is %s.",
			proof.Entries, proof.Head)
	}
	s.showTrail(w, r, verified, err)
}
