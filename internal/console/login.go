package console

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/campaignd/campaignd/internal/accounts"
	"github.com/campaignd/campaignd/internal/server/gate"
)

// ceremonyCookie holds the name of a login with OpenID Connect while the
// browser is away, nextCookie where it goes then.
const (
	ceremonyCookie = "campaignd-oidc"
	nextCookie     = "campaignd-oidc-next"
)

// loginRoutes are those that anyone reaches who is not known yet. They are open
// to strangers, so that what they cost is bounded elsewhere: bodies by the
// gate, attempts by the directory of accounts.
func (c *Console) loginRoutes() []Route {
	return []Route{
		{"GET /login", c.login},
		{"POST /login", c.logIn},
		{"POST /login/passkey/begin", c.beginPasskeyLogin},
		{"POST /login/passkey/finish", c.finishPasskeyLogin},
		{"GET /login/oidc", c.beginOIDC},
		{"GET /oidc/callback", c.finishOIDC},
		{"POST /logout", c.logOut},
	}
}

// nextOf is where a person wanted to go: a path of this server, and nothing
// else. A link to the login with another site as its next would send people who
// trust this one there. Browsers read a backslash as a slash, and two slashes
// as a host.
func nextOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(text, "/") ||
		strings.HasPrefix(text, "//") || strings.Contains(text, `\`) {
		return "/"
	}
	return text
}

// loginPage is the page on which people log in, and the one on which they show
// again who they are. OIDC is the name of the issuer, empty for none.
type loginPage struct {
	*shell
	Next, Name string
	Passkeys   bool
	OIDC       string
}

// showLogin shows the form, with the name that was typed and why the login
// failed. The password is typed again: it is put into no page.
func (c *Console) showLogin(w http.ResponseWriter, r *http.Request, next string, failure error) {
	s, status := c.after(w, r, "Log in", failure, "")
	c.write(w, status, drawLogin(c.loginPage(s, next, r.PostFormValue("name"))))
}

// showConfirm shows the form on which a person shows again who they are. The
// name is that of the session, and no other counts.
func (c *Console) showConfirm(w http.ResponseWriter, r *http.Request, next string, failure error) {
	s, status := c.after(w, r, "Confirm", failure, "")
	c.write(w, status, drawConfirm(c.loginPage(s, next, gate.IdentityOf(r.Context()).Account)))
}

// loginPage is what both forms have.
func (c *Console) loginPage(s *shell, next, name string) loginPage {
	return loginPage{
		shell: s, Next: nextOf(next), Name: name,
		Passkeys: c.gate.Accounts().HasPasskeys(), OIDC: c.gate.Accounts().OIDCName(),
	}
}

func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	c.showLogin(w, r, r.URL.Query().Get("next"), nil)
}

// logIn begins a session and ends the one that the browser had: a session that
// was planted before the login is not the one that is logged in.
func (c *Console) logIn(w http.ResponseWriter, r *http.Request) {
	name, next := r.PostFormValue("name"), nextOf(r.PostFormValue("next"))
	token, _, err := c.gate.Accounts().Login(r.Context(), name, r.PostFormValue("password"), c.gate.Address(r))
	if err != nil {
		c.showLogin(w, r, next, err)
		return
	}
	c.gate.BeginSession(w, r, token)
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// logOut ends the session on the server first and takes the cookie after that:
// where the first fails, the person must know that the session still holds.
func (c *Console) logOut(w http.ResponseWriter, r *http.Request) {
	if token := c.gate.Session(r); token != "" {
		if err := c.gate.Accounts().Logout(r.Context(), token); err != nil {
			c.Fail(w, r, err)
			return
		}
	}
	c.gate.SetSession(w, "")
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

func (c *Console) confirm(w http.ResponseWriter, r *http.Request) {
	c.showConfirm(w, r, r.URL.Query().Get("next"), nil)
}

// confirmed takes the password again. The session goes on under another token,
// so that a copy of the old one does not profit from it.
func (c *Console) confirmed(w http.ResponseWriter, r *http.Request) {
	next := nextOf(r.PostFormValue("next"))
	token, _, err := c.gate.Accounts().Reauthenticate(
		r.Context(), c.gate.Session(r), r.PostFormValue("password"), c.gate.Address(r))
	if err != nil {
		c.showConfirm(w, r, next, err)
		return
	}
	c.gate.SetSession(w, token)
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// beginOIDC begins a login of a person who is not known yet.
func (c *Console) beginOIDC(w http.ResponseWriter, r *http.Request) { c.goToIssuer(w, r, "") }

// beginOIDCConfirm is beginOIDC of a person who is logged in and shows again
// who they are.
func (c *Console) beginOIDCConfirm(w http.ResponseWriter, r *http.Request) {
	c.goToIssuer(w, r, gate.IdentityOf(r.Context()).Account)
}

// goToIssuer sends the browser to the issuer, from which it comes back to
// finishOIDC. confirm is the account that must come back, empty for any. What
// is remembered meanwhile is in cookies for ten minutes, so that only the
// browser that began a login can end it; they are lax and not strict, since the
// way back is a link from the issuer's site.
func (c *Console) goToIssuer(w http.ResponseWriter, r *http.Request, confirm string) {
	address, name, err := c.gate.Accounts().BeginOIDC(r.Context(), confirm)
	if err != nil {
		c.Fail(w, r, err)
		return
	}
	keep := func(cookie, value string) {
		http.SetCookie(w, &http.Cookie{
			Name: cookie, Value: value, Path: "/oidc/", MaxAge: 600,
			HttpOnly: true, Secure: c.gate.Secure(), SameSite: http.SameSiteLaxMode,
		})
	}
	keep(ceremonyCookie, name)
	keep(nextCookie, url.QueryEscape(nextOf(r.URL.Query().Get("next"))))
	http.Redirect(w, r, address, http.StatusSeeOther)
}

// finishOIDC ends a login at the issuer. The cookies are taken away whatever
// comes of it: a login is tried once. What the issuer says, an error of its own
// too, is for the directory of accounts to judge. Where the person was on the
// way to is checked again, since a cookie is sent by the browser like anything
// else.
func (c *Console) finishOIDC(w http.ResponseWriter, r *http.Request) {
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
	token, _, err := c.gate.Accounts().FinishOIDC(r.Context(), name, accounts.OIDCAnswer{
		State: query.Get("state"), Code: query.Get("code"),
		Error: query.Get("error"), Description: query.Get("error_description"),
	}, c.gate.Address(r))
	if err != nil {
		c.showLogin(w, r, next, err)
		return
	}
	c.gate.BeginSession(w, r, token)
	http.Redirect(w, r, next, http.StatusSeeOther)
}
