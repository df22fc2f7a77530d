package accounts

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/campaignd/campaignd/internal/ground/problem"
)

// BeginOIDC begins a login with OpenID Connect: the browser is sent to the address, and keeps the
// ceremony in a cookie until it comes back, within ten minutes. confirm, the name of the account a
// person is logged in with here, makes the issuer authenticate the person anew, no matter who is
// logged in there, and requires that the same account comes back.
func (d *Directory) BeginOIDC(ctx context.Context, confirm string) (address, ceremonyName string, err error) {
	if d.issuer == nil {
		return "", "", problem.New(problem.NotPossible, "OpenID Connect is not set up here").
			With(problem.Remedy{Text: "log in with a password", Action: problem.LogIn})
	}
	p, err := d.issuer.discover(ctx)
	if err != nil {
		return "", "", err
	}
	c := &ceremony{
		What: toReturn, From: networkOf(addressOf(ctx)), Account: confirm,
		State: random(), Nonce: random(), Verifier: oauth2.GenerateVerifier(),
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(c.Nonce), oauth2.S256ChallengeOption(c.Verifier)}
	if confirm != "" {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"),
			oauth2.SetAuthURLParam("max_age", "0"))
	}
	name, err := d.ceremonies.start(c)
	return d.issuer.oauth(p).AuthCodeURL(c.State, options...), name, err
}

// OIDCAnswer holds the query parameters with which the issuer sends the browser back.
type OIDCAnswer struct {
	State, Code        string
	Error, Description string // instead of a code
}

// FinishOIDC begins a session of the account of the person the issuer has identified, as
// [Directory.Login] does. At the first login the person is linked to the account with their
// verified e-mail address in one of the Domains, or gets a new one if NewAccounts says so. A person
// no longer admitted loses the roles that the issuer gave, and their sessions.
func (d *Directory) FinishOIDC(
	ctx context.Context,
	ceremonyName string,
	answer OIDCAnswer,
	from string,
) (token string, _ Identity, err error) {
	from = shown(from)
	refuse := func(name, why string) {
		d.ledger.refuse(Entry{Kind: KindLoginFailed, Method: ByOIDC, From: from, Account: name, Reason: shown(why)})
	}
	fail := func(name string, err error) (string, Identity, error) {
		refuse(name, err.Error())
		return "", Identity{}, err
	}
	begun, err := d.ceremonies.take(ceremonyName, toReturn)
	if err != nil {
		return "", Identity{}, err
	}
	if d.issuer == nil || begun == nil {
		return "", Identity{}, tooLate() // no login is under way that could have failed
	}
	if subtle.ConstantTimeCompare([]byte(begun.State), []byte(answer.State)) != 1 {
		return fail("", tooLate())
	}
	if answer.Error != "" {
		// The browser supplied the words: its person may read them, and the audit log does not keep
		// them.
		refuse("", d.issuer.name()+" sent them back without having said who they are")
		return "", Identity{}, problem.New(problem.Unauthenticated, "%s says: %s", d.issuer.name(),
			shown(cmp.Or(answer.Description, answer.Error))).
			With(problem.Remedy{Text: "try again", Action: problem.LogIn})
	}
	if err := d.ceremonies.once(ceremonyName); err != nil {
		return fail("", err)
	}
	subject, said, err := d.issuer.redeem(ctx, begun, answer.Code)
	if err != nil {
		return fail("", err)
	}
	given, err := d.issuer.admits(said)
	if err != nil {
		name, failed := d.issuer.revoke(ctx, d, subject)
		return fail(name, cmp.Or(failed, err))
	}
	confirmed := time.Time{} // the issuer may have known them for days
	if said.AuthTime > 0 {
		confirmed = time.Unix(said.AuthTime, 0).UTC()
	}
	if now := d.now(); confirmed.After(now) {
		confirmed = now
	}
	if begun.Account != "" && d.now().Sub(confirmed) > ceremonyTime {
		return fail("", problem.New(problem.Unauthenticated, "%s did not ask again who this is",
			d.issuer.name()).
			With(problem.Remedy{Text: "give the password", Action: problem.Confirm}))
	}
	var (
		who     Identity
		name    string // of the refused account
		refused bool
	)
	err = d.ledger.decide(func() error {
		a, entries, closed, err := d.issuer.linked(ctx, d, subject, said, given)
		if err == nil && begun.Account != "" && a.Name != begun.Account {
			err = problem.New(problem.Unauthenticated,
				"%s says that this is %s, and %s was to show it again", d.issuer.name(), a.Name, begun.Account).
				With(problem.Remedy{Text: "log in there as " + begun.Account, Action: problem.Confirm})
		}
		if err != nil {
			name, refused = closed, true
			return err
		}
		token, who, err = d.begin(a.Name, ByOIDC, from, confirmed, change{entries: entries})
		return err
	})
	if refused {
		return fail(name, err)
	}
	return token, who, err
}

// redeem exchanges a code for the issuer's claims about a person.
//
// A code is valid for one exchange, so nothing here is retried. The words of the issuer are shown;
// the token itself is removed from any message, since it would authenticate the person elsewhere.
func (i *issuer) redeem(
	ctx context.Context, begun *ceremony, code string,
) (subject string, _ claims, err error) {
	p, err := i.discover(ctx)
	if err != nil {
		return "", claims{}, err
	}
	refused := func(why string) (string, claims, error) {
		return "", claims{}, problem.New(problem.Unauthenticated,
			"%s has not shown who this is: %s", i.name(), why).
			With(problem.Remedy{Text: "try again", Action: problem.LogIn})
	}
	ctx = oidc.ClientContext(ctx, i.client)
	token, err := i.oauth(p).Exchange(ctx, code, oauth2.VerifierOption(begun.Verifier))
	var answered *oauth2.RetrieveError
	switch {
	case errors.As(err, &answered):
		return refused(shown(cmp.Or(answered.ErrorDescription, answered.ErrorCode, "it did not take the code")))
	case err != nil:
		return "", claims{}, i.unreachable(err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return refused("its answer lacks an ID token")
	}
	id, err := p.VerifierContext(ctx, &oidc.Config{ClientID: i.config.ClientID, Now: i.now}).Verify(ctx, raw)
	if err != nil {
		return refused(shown(strings.ReplaceAll(err.Error(), raw, "…")))
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(begun.Nonce)) != 1 {
		return refused("its ID token is not an answer to this login")
	}
	var said claims
	if err := errors.Join(id.Claims(&said), id.Claims(&said.all)); err != nil {
		return refused("its claims cannot be read")
	}
	if p.UserInfoEndpoint() != "" && (i.unsaid(said) != "" || i.config.NewAccounts && i.accountName(said) == "") {
		info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil {
			return "", claims{}, i.unreachable(err)
		}
		var more map[string]any
		if info.Subject != id.Subject || info.Claims(&more) != nil || said.add(more) != nil {
			return refused("what its UserInfo says is not about this person, or cannot be read")
		}
	}
	if missing := i.unsaid(said); missing != "" {
		return "", claims{}, i.silent(missing, said)
	}
	return id.Subject, said, nil
}

// revoke revokes the roles and sessions that the issuer granted to an account, once it no
// longer admits the person. It returns the account's name, "" without an account. The account is
// found by its subject alone: an e-mail address that the issuer no longer vouches for decides
// nothing.
func (i *issuer) revoke(ctx context.Context, d *Directory, subject string) (name string, err error) {
	err = d.ledger.decide(func() error {
		own, _ := d.roster.atIssuer(i, subject, claims{})
		if len(own) == 0 {
			return nil
		}
		a := own[0]
		name = a.Name
		by := Identity{Method: ByOIDC}
		c := change{entries: i.sync(ctx, by, a, nil, d.roster.otherAdmin(a.Name))}
		if len(d.roster.sessionsOf(a.Name)) > 0 {
			e := by.entry(ctx, KindSessionsEnded, a.Name)
			e.Reason = "as " + i.config.Issuer + " says"
			c.entries = append(c.entries, e)
		}
		if len(c.entries) == 0 {
			return nil
		}
		return d.ledger.commit(c)
	})
	return name, err
}

// atIssuer returns the accounts linked to a person at the issuer, and the unlinked accounts with
// that e-mail address.
func (r *roster) atIssuer(i *issuer, subject string, said claims) (own, same []*account) {
	issuer := i.config.Issuer
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, a := range r.state.accounts {
		if slices.ContainsFunc(a.Links, func(l Link) bool {
			return l.Issuer == issuer && l.Subject == subject
		}) {
			own = append(own, a)
		} else if a.Email != "" && strings.EqualFold(a.Email, said.Email) && i.vouches(said) &&
			!slices.ContainsFunc(a.Links, func(l Link) bool { return l.Issuer == issuer }) {
			same = append(same, a)
		}
	}
	return own, same
}

// linked returns the account for a person at the issuer, with the entries that change it. name is
// the account's name if the login is refused. The caller holds writing.
//
// The first account is never made here, whatever NewAccounts says: it must be an admin's, and the
// issuer decides about roles only within a lab that has one. An account once linked stays that
// person's when its e-mail address changes.
func (i *issuer) linked(
	ctx context.Context, d *Directory, subject string, said claims, given []Grant,
) (_ *account, entries []Entry, name string, err error) {
	config := i.config
	by := Identity{Method: ByOIDC}
	own, same := d.roster.atIssuer(i, subject, said)
	empty := d.roster.none()

	var a *account
	switch {
	case len(own) > 0:
		a = own[0]
	case len(same) > 1:
		return nil, nil, "", problem.New(problem.Conflict,
			"several accounts have the e-mail address %s", said.Email).
			With(problem.Remedy{Text: "have an admin give each its own", Action: problem.ChangeAccount})
	case len(same) == 1:
		a = same[0]
	case !config.NewAccounts || empty:
		return nil, nil, "", problem.New(problem.Forbidden, "this person has no account yet").
			With(problem.Remedy{Text: "ask an admin for one with this e-mail address",
				Action: problem.AddAccount})
	default:
		wanted := i.accountName(said)
		if wanted == "" {
			return nil, nil, "", problem.New(problem.Forbidden,
				"%s gives no name for a new account: neither a preferred_username nor a verified e-mail address", i.name()).
				With(problem.Remedy{Text: "ask an admin for an account with this e-mail address",
					Action: problem.AddAccount})
		}
		n := NewAccount{Name: wanted, DisplayName: shown(said.Name)}
		if said.EmailVerified {
			n.Email = said.Email
		}
		if a, entries, err = d.newAccount(ctx, by, n); err != nil {
			return nil, nil, "", err
		}
	}
	if a.Disabled {
		return nil, nil, a.Name, disabled(a.Name)
	}
	if len(own) == 0 {
		e := by.entry(ctx, KindLinked, a.Name)
		e.Reason = shown(subject) + " at " + config.Issuer
		e.facts = &Facts{Link: &Link{Issuer: config.Issuer, Subject: subject, Since: d.now()}}
		entries = append(entries, e)
	}
	return a, append(entries, i.sync(ctx, by, a, given, d.roster.otherAdmin(a.Name))...), "", nil
}

// sync makes the issuer's roles of an account those it gives now. The last admin stays one. Roles
// granted by an administrator are not touched.
func (i *issuer) sync(
	ctx context.Context, by Identity, a *account, given []Grant, otherAdmin bool,
) (entries []Entry) {
	var kept []Grant
	wasAdmin := a.isAdmin()
	for _, g := range a.Grants {
		if g.Issuer != i.config.Issuer || slices.Contains(given, g) {
			kept = append(kept, g)
			continue
		}
		e := granted(by.entry(ctx, KindRevoked, a.Name), g)
		after := &account{Grants: slices.DeleteFunc(slices.Clone(a.Grants),
			func(x Grant) bool { return x == g })}
		if wasAdmin && g.Role == Admin && !after.isAdmin() && !otherAdmin {
			kept = append(kept, g)
			continue
		}
		entries = append(entries, e)
	}
	for _, g := range given {
		if !slices.Contains(kept, g) { // given has each once
			entries = append(entries, granted(by.entry(ctx, KindGranted, a.Name), g))
		}
	}
	return entries
}

var _ json.Unmarshaler = (*anyBool)(nil)
