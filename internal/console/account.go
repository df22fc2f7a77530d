package console

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/campaignd/campaignd/internal/accounts"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/server/gate"
)

// accountRoutes are those of people who are logged in.
func (c *Console) accountRoutes() []Route {
	return []Route{
		{"GET /confirm", c.confirm},
		{"POST /confirm", c.confirmed},
		{"GET /confirm/oidc", c.beginOIDCConfirm},
		{"POST /confirm/passkey/begin", c.beginPasskeyConfirm},
		{"POST /confirm/passkey/finish", c.finishPasskeyConfirm},
		{"GET /account", c.account},
		{"POST /account/password", c.changePassword},
		{"POST /account/passkeys/begin", c.beginPasskey},
		{"POST /account/passkeys/finish", c.finishPasskey},
		{"POST /account/passkeys/{id}/remove", c.ofAccount(c.removePasskey)},
		{"POST /account/tokens", c.createToken},
		{"POST /account/tokens/{id}/revoke", c.ofAccount(c.revokeToken)},
		{"POST /account/sessions/{id}/end", c.ofAccount(c.endSession)},
	}
}

// removePasskey, revokeToken and endSession end a credential that the address
// names. Whether it is the visitor's to end, the directory of accounts judges.
func (c *Console) removePasskey(ctx context.Context, who accounts.Identity, r *http.Request) error {
	_, err := c.gate.Accounts().RemovePasskey(ctx, who, who.Account, r.PathValue("id"))
	return err
}

func (c *Console) revokeToken(ctx context.Context, who accounts.Identity, r *http.Request) error {
	_, err := c.gate.Accounts().RevokeToken(ctx, who, r.PathValue("id"))
	return err
}

func (c *Console) endSession(ctx context.Context, who accounts.Identity, r *http.Request) error {
	return c.gate.Accounts().EndSession(ctx, who, who.Account, r.PathValue("id"))
}

// accountPage is the page of one's own account: what it is, what it can log in
// with, and what has been given out in its name. Permissions and Campaigns are
// the choices for the bounds of a new token.
type accountPage struct {
	*shell
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

// showAccount shows the page, with the secret of a token that was just made, or
// with why the last form was refused. A secret is shown in the answer to the
// form itself: it is kept nowhere, so that a page to which the browser is
// redirected could not show it.
func (c *Console) showAccount(w http.ResponseWriter, r *http.Request, secret string, failure error) {
	directory, who := c.gate.Accounts(), gate.IdentityOf(r.Context())
	account, err := directory.Account(who.Account)
	if err != nil {
		c.Fail(w, r, err)
		return
	}
	s, status := c.after(w, r, "Your account", failure, "/account")
	c.write(w, status, drawAccount(accountPage{
		shell:       s,
		Account:     account,
		Tokens:      directory.Tokens(who.Account),
		Sessions:    directory.Sessions(who.Account),
		Permissions: accounts.Permissions(),
		Campaigns:   c.campaignNames(r.Context()),
		Passkeys:    directory.HasPasskeys(),
		Confirmed:   directory.Recent(who, accounts.JustNow) == nil,
		Secret:      secret,
	}))
}

func (c *Console) account(w http.ResponseWriter, r *http.Request) { c.showAccount(w, r, "", nil) }

// ofAccount answers a form about one's own account: done, the browser is sent
// to the page anew, so that reloading repeats nothing; refused, the page says
// why.
func (c *Console) ofAccount(
	do func(context.Context, accounts.Identity, *http.Request) error,
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := do(r.Context(), gate.IdentityOf(r.Context()), r); err != nil {
			c.showAccount(w, r, "", err)
			return
		}
		http.Redirect(w, r, "/account", http.StatusSeeOther)
	}
}

// changePassword gives the session another token, under which it goes on: all
// other sessions of the account have ended with the old password.
func (c *Console) changePassword(w http.ResponseWriter, r *http.Request) {
	token, _, err := c.gate.Accounts().ChangePassword(
		r.Context(), c.gate.Session(r), r.PostFormValue("present"), r.PostFormValue("password"), c.gate.Address(r))
	if err != nil {
		c.showAccount(w, r, "", err)
		return
	}
	c.gate.SetSession(w, token)
	http.Redirect(w, r, "/account", http.StatusSeeOther)
}

// createToken makes a token that may no more than its form ticks, in no more
// than the named campaigns. 12 bits of days are more than eleven years; without
// a number, the lab's usual lifetime applies.
func (c *Console) createToken(w http.ResponseWriter, r *http.Request) {
	who := gate.IdentityOf(r.Context())
	wanted := accounts.NewToken{Name: r.PostFormValue("name"), Campaigns: r.PostForm["campaign"]}
	for _, scope := range r.PostForm["scope"] {
		wanted.Scopes = append(wanted.Scopes, accounts.Permission(scope))
	}
	if text := strings.TrimSpace(r.PostFormValue("days")); text != "" {
		days, err := strconv.ParseUint(text, 10, 12)
		if err != nil {
			c.showAccount(w, r, "", problem.New(problem.Invalid, "%q is not a number of days", text))
			return
		}
		wanted.Lifetime = time.Duration(days) * 24 * time.Hour
	}
	secret, _, err := c.gate.Accounts().CreateToken(r.Context(), who, who.Account, wanted)
	c.showAccount(w, r, secret, err)
}

// campaignNames are the campaigns that the visitor may see, each name once:
// grants and tokens name a campaign without its store.
func (c *Console) campaignNames(ctx context.Context) (names []string) {
	for _, c := range c.lab.Campaigns() {
		if gate.Sees(ctx, c.Name()) {
			names = append(names, c.Name())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
