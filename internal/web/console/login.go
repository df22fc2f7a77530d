package console

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/campaignd/campaignd/internal/lab/accounts"
)

// ceremonyCookie holds the name of a login with OpenID Connect while the
// browser is away, nextCookie where it goes then.
const (
	ceremonyCookie = "campaignd-oidc"
	nextCookie     = "campaignd-oidc-next"
)

// loginRoutes are open to anyone before login. Since strangers reach them, their costs are bounded
// elsewhere: bodies by the gate, attempts by the directory of accounts.
var loginRoutes = []accountRoute{
	{"GET /login", func(v *visit) error { return showLogin(v, v.r.URL.Query().Get("next")) }},
	{"POST /login", logIn},
	{"POST /login/passkey/begin", beginPasskeyLogin},
	{"POST /login/passkey/finish", finishPasskeyLogin},
	{"GET /login/oidc", func(v *visit) error { return goToIssuer(v, "") }},
	{"GET /oidc/callback", finishOIDC},
	{"POST /logout", logOut},
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
func showLogin(v *visit, next string) error {
	return v.write(drawLogin(v.loginPage("Log in", next, v.r.PostFormValue("name"))))
}

// showConfirm shows the form on which a person shows again who they are. The
// name is that of the session, and no other counts.
func showConfirm(v *visit, next string) error {
	return v.write(drawConfirm(v.loginPage("Confirm", next, v.identity().Account)))
}

// loginPage is the common part of both forms.
func (v *visit) loginPage(title, next, name string) loginPage {
	return loginPage{
		shell: v.after(title, ""), Next: nextOf(next), Name: name,
		Passkeys: v.accounts().HasPasskeys(), OIDC: v.accounts().OIDCName(),
	}
}

// logIn begins a session and ends the one that the browser had: a session that
// was planted before the login is not the one that is logged in.
func logIn(v *visit) error {
	name, next := v.r.PostFormValue("name"), nextOf(v.r.PostFormValue("next"))
	token, _, err := v.accounts().Login(v.r.Context(), name, v.r.PostFormValue("password"), v.gate.Address(v.r))
	if err != nil {
		v.refusal = err
		return showLogin(v, next)
	}
	v.gate.BeginSession(v.w, v.r, token)
	return v.redirect(next, "")
}

// logOut ends the session on the server first and takes the cookie after that:
// where the first fails, the person must know that the session still holds.
func logOut(v *visit) error {
	if token := v.gate.Session(v.r); token != "" {
		if err := v.accounts().Logout(v.r.Context(), token); err != nil {
			return err
		}
	}
	v.gate.SetSession(v.w, "")
	return v.redirect("/login", "")
}

// confirmed takes the password again. The session goes on under another token,
// so that a copy of the old one does not profit from it.
func confirmed(v *visit) error {
	next := nextOf(v.r.PostFormValue("next"))
	token, _, err := v.accounts().Reauthenticate(
		v.r.Context(), v.gate.Session(v.r), v.r.PostFormValue("password"), v.gate.Address(v.r))
	if err != nil {
		v.refusal = err
		return showConfirm(v, next)
	}
	v.gate.SetSession(v.w, token)
	return v.redirect(next, "")
}

// goToIssuer sends the browser to the issuer, from which it comes back to
// finishOIDC. confirm is the account that must come back, empty for any. What
// is remembered meanwhile is in cookies for ten minutes, so that only the
// browser that began a login can end it; they are lax and not strict, since the
// way back is a link from the issuer's site.
func goToIssuer(v *visit, confirm string) error {
	address, name, err := v.accounts().BeginOIDC(v.r.Context(), confirm)
	if err != nil {
		return err
	}
	keep := func(cookie, value string) {
		http.SetCookie(v.w, &http.Cookie{
			Name: cookie, Value: value, Path: "/oidc/", MaxAge: 600,
			HttpOnly: true, Secure: v.gate.Secure(), SameSite: http.SameSiteLaxMode,
		})
	}
	keep(ceremonyCookie, name)
	keep(nextCookie, url.QueryEscape(nextOf(v.r.URL.Query().Get("next"))))
	return v.redirect(address, "")
}

// finishOIDC ends a login at the issuer. The cookies are taken away whatever the result: a login is
// tried once. The directory of accounts judges the issuer's message, an error of its own too. The
// address to which the person was on the way is checked again, since a cookie is sent by the
// browser like any other input.
func finishOIDC(v *visit) error {
	take := func(cookie string) string {
		http.SetCookie(v.w, &http.Cookie{Name: cookie, Path: "/oidc/", MaxAge: -1})
		if c, err := v.r.Cookie(cookie); err == nil {
			return c.Value
		}
		return ""
	}
	name := take(ceremonyCookie)
	next, _ := url.QueryUnescape(take(nextCookie))
	next = nextOf(next)
	query := v.r.URL.Query()
	token, _, err := v.accounts().FinishOIDC(v.r.Context(), name, accounts.OIDCAnswer{
		State: query.Get("state"), Code: query.Get("code"),
		Error: query.Get("error"), Description: query.Get("error_description"),
	}, v.gate.Address(v.r))
	if err != nil {
		v.refusal = err
		return showLogin(v, next)
	}
	v.gate.BeginSession(v.w, v.r, token)
	return v.redirect(next, "")
}
