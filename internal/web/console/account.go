package console

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/web/server/gate"
)

// accountRoutes are those of people who are logged in.
var accountRoutes = []accountRoute{
	{"GET /confirm", func(v *visit) error { return showConfirm(v, v.r.URL.Query().Get("next")) }},
	{"POST /confirm", confirmed},
	{"GET /confirm/oidc", func(v *visit) error { return goToIssuer(v, v.identity().Account) }},
	{"POST /confirm/passkey/begin", beginPasskeyConfirm},
	{"POST /confirm/passkey/finish", finishPasskeyConfirm},
	{"GET /account", func(v *visit) error { return showAccount(v, "") }},
	{"POST /account/password", changePassword},
	{"POST /account/passkeys/begin", beginPasskey},
	{"POST /account/passkeys/finish", finishPasskey},
	{"POST /account/passkeys/{id}/remove", ofAccount(removePasskey)},
	{"POST /account/tokens", createToken},
	{"POST /account/tokens/{id}/revoke", ofAccount(revokeToken)},
	{"POST /account/sessions/{id}/end", ofAccount(endSession)},
}

// removePasskey, revokeToken and endSession end a credential that the address
// names. Whether it is the visitor's to end, the directory of accounts judges.
func removePasskey(v *visit) error {
	who := v.identity()
	_, err := v.accounts().RemovePasskey(v.r.Context(), who, who.Account, v.r.PathValue("id"))
	return err
}

func revokeToken(v *visit) error {
	_, err := v.accounts().RevokeToken(v.r.Context(), v.identity(), v.r.PathValue("id"))
	return err
}

func endSession(v *visit) error {
	who := v.identity()
	return v.accounts().EndSession(v.r.Context(), who, who.Account, v.r.PathValue("id"))
}

// accountPage is the page of one's own account: its data, its means to log in, and the tokens given
// out in its name. Permissions and Campaigns are the choices for the bounds of a new token.
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
func showAccount(v *visit, secret string) error {
	directory, who := v.accounts(), v.identity()
	account, err := directory.Account(who.Account)
	if err != nil {
		return err
	}
	return v.write(drawAccount(accountPage{
		shell:       v.after("Your account", "/account"),
		Account:     account,
		Tokens:      directory.Tokens(who.Account),
		Sessions:    directory.Sessions(who.Account),
		Permissions: accounts.Permissions(),
		Campaigns:   v.campaignNames(),
		Passkeys:    directory.HasPasskeys(),
		Confirmed:   directory.Recent(who, accounts.JustNow) == nil,
		Secret:      secret,
	}))
}

// ofAccount answers a form about one's own account: done, the browser is sent
// to the page anew, so that reloading repeats nothing; refused, the page says
// why.
func ofAccount(do func(*visit) error) func(*visit) error {
	return func(v *visit) error {
		if v.refusal = do(v); v.refusal != nil {
			return showAccount(v, "")
		}
		return v.redirect("/account", "")
	}
}

// changePassword gives the session another token, under which it goes on: all
// other sessions of the account have ended with the old password.
func changePassword(v *visit) error {
	token, _, err := v.accounts().ChangePassword(
		v.r.Context(), v.gate.Session(v.r), v.r.PostFormValue("present"), v.r.PostFormValue("password"), v.gate.Address(v.r))
	if err != nil {
		v.refusal = err
		return showAccount(v, "")
	}
	v.gate.SetSession(v.w, token)
	return v.redirect("/account", "")
}

// createToken makes a token that may no more than its form ticks, in no more
// than the named campaigns. 12 bits of days are more than eleven years; without
// a number, the lab's usual lifetime applies.
func createToken(v *visit) error {
	who := v.identity()
	wanted := accounts.NewToken{Name: v.r.PostFormValue("name"), Campaigns: v.r.PostForm["campaign"]}
	for _, scope := range v.r.PostForm["scope"] {
		wanted.Scopes = append(wanted.Scopes, accounts.Permission(scope))
	}
	if text := strings.TrimSpace(v.r.PostFormValue("days")); text != "" {
		days, err := strconv.ParseUint(text, 10, 12)
		if err != nil {
			v.refusal = problem.New(problem.Invalid, "%q is not a number of days", text)
			return showAccount(v, "")
		}
		wanted.Lifetime = time.Duration(days) * 24 * time.Hour
	}
	secret, _, err := v.accounts().CreateToken(v.r.Context(), who, who.Account, wanted)
	v.refusal = err
	return showAccount(v, secret)
}

// campaignNames are the campaigns that the visitor may see, each name once:
// grants and tokens name a campaign without its store.
func (v *visit) campaignNames() (names []string) {
	for _, of := range v.lab.Campaigns() {
		if gate.Sees(v.r.Context(), of.Name()) {
			names = append(names, of.Name())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
