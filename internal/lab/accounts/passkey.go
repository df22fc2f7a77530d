package accounts

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Passkeys is the site of the passkeys. A browser offers a passkey to that site only.
type Passkeys struct {
	// ID is the domain of the site, such as "lab.example.org", without a port. Changing it loses
	// all passkeys.
	ID string
	// Name is the name of the site that people see; "campaignd" by default.
	Name string
	// Origins are the addresses of the site, such as "https://lab.example.org:7070".
	Origins []string
}

// Passkey is one of an account's passkeys.
type Passkey struct {
	// ID identifies it in lists and in the audit log. It is not secret.
	ID string `json:"id"`
	// Name is the owner's name for it.
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	// Used is the last login with it; zero if never used.
	Used time.Time `json:"used,omitzero"`
	// Synced reports whether it lives on several devices of its owner.
	Synced bool `json:"synced"`
}

// passkeyID returns the short name of a credential. It is a hash because a credential's own
// identifier is long and would let other sites recognize its owner; 64 bits distinguish the
// passkeys of a lab.
func passkeyID(credential []byte) string {
	return string(keyOf(base64.RawURLEncoding.EncodeToString(credential)))[:16]
}

// public returns the visible part of a passkey. One whose credential was forgotten is still shown,
// so that its owner can remove it.
func (k *passkey) public(v *values) Passkey {
	p := Passkey{ID: k.ID, Name: k.Name, Created: k.Created}
	if kept := v.passkeys[k.Secret]; kept != nil {
		p.Used, p.Synced = kept.Used, kept.Credential.Flags.BackupEligible
	}
	return p
}

const (
	longestPasskeyName = 100
	mostPasskeys       = 20
)

// relyingParty is campaignd, as authenticators see it.
type relyingParty struct{ *webauthn.WebAuthn }

// newRelyingParty returns nil without passkeys.
//
// Attestation is not requested: the make of a person's device is private and decides nothing. The
// passkey must be discoverable by the device itself, so that a login needs no name.
func newRelyingParty(p *Passkeys) (*relyingParty, error) {
	if p == nil {
		return nil, problem.New(problem.NotPossible, "it is not said for which site they would be")
	}
	if err := protocol.ValidateRPID(p.ID); err != nil {
		return nil, problem.New(problem.NotPossible, "they need a domain name, and %q is not one", p.ID)
	}
	name := p.Name
	if name == "" {
		name = "campaignd"
	}
	w, err := webauthn.New(&webauthn.Config{
		RPID: p.ID, RPDisplayName: name, RPOrigins: p.Origins,
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey:        protocol.ResidentKeyRequirementRequired,
			RequireResidentKey: protocol.ResidentKeyRequired(),
			// A passkey replaces a password, so the device must verify its holder.
			UserVerification: protocol.VerificationRequired,
		},
	})
	if err != nil {
		return nil, problem.New(problem.NotPossible, "they cannot be set up for %q: %w", p.ID, err)
	}
	return &relyingParty{w}, nil
}

// holder is an account as the library sees it. Credentials are separate from the account because
// they are stored as values.
type holder struct {
	*account
	credentials []webauthn.Credential
}

// holder returns an account with the credentials of its passkeys.
func (r *roster) holder(a *account) holder {
	r.mu.RLock()
	defer r.mu.RUnlock()
	h := holder{account: a}
	for _, k := range a.Passkeys {
		if kept := r.values.passkeys[k.Secret]; kept != nil {
			h.credentials = append(h.credentials, kept.Credential)
		}
	}
	return h
}

// The methods of webauthn.User.
func (h holder) WebAuthnID() []byte   { return h.Handle }
func (h holder) WebAuthnName() string { return h.Name }
func (h holder) WebAuthnDisplayName() string {
	if h.DisplayName != "" {
		return h.DisplayName
	}
	return h.Name
}
func (h holder) WebAuthnCredentials() []webauthn.Credential { return h.credentials }

// HasPasskeys reports whether people can log in with passkeys here.
func (d *Directory) HasPasskeys() bool { return d.relying != nil }

// CheckPasskeys says why these settings allow no passkeys, nil if they do.
func CheckPasskeys(p *Passkeys) error {
	_, err := newRelyingParty(p)
	return err
}

// BeginPasskey begins to add a passkey to the account that is logged in; its owner must have
// authenticated within the last ten minutes. The options are for navigator.credentials.create
// (PublicKeyCredential.parseCreationOptionsFromJSON reads the member publicKey), the ceremony
// identifies this to [Directory.FinishPasskey], within ten minutes.
func (d *Directory) BeginPasskey(
	ctx context.Context,
	sessionToken string,
) (ceremonyName string, options json.RawMessage, err error) {
	if d.noPasskeys != nil {
		return "", nil, d.noPasskeys
	}
	a, err := d.ledger.justHere(sessionToken)
	if err != nil {
		return "", nil, err
	}
	if len(a.Passkeys) >= mostPasskeys {
		return "", nil, problem.New(problem.Conflict,
			"%s has %d passkeys, and more are not kept: remove one first", a.Name, len(a.Passkeys)).
			About(a.Name)
	}
	h := d.roster.holder(a)
	creation, data, err := d.relying.BeginRegistration(h,
		webauthn.WithExclusions(webauthn.Credentials(h.credentials).CredentialDescriptors()))
	if err != nil {
		return "", nil, err
	}
	return d.ceremonies.options(ctx, creation, &ceremony{What: toRegister, Account: a.Name, Passkey: data})
}

// justHere returns the account of a session whose owner has authenticated just now.
func (l *ledger) justHere(sessionToken string) (*account, error) {
	s, a, err := l.sure(sessionToken)
	if err != nil {
		return nil, err
	}
	return a, s.identity(a, "").Recent(l.now(), JustNow)
}

// options stores a ceremony and returns the JSON for the browser.
func (c *ceremonies) options(ctx context.Context, value any, x *ceremony) (string, json.RawMessage, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", nil, err
	}
	x.From = networkOf(addressOf(ctx))
	name, err := c.start(x)
	return name, text, err
}

// FinishPasskey adds the passkey that the browser has made: the answer is the JSON of its
// PublicKeyCredential. The name is the owner's choice. The session is checked again before anything
// is written: it may have ended while the authenticator was asked.
func (d *Directory) FinishPasskey(
	ctx context.Context,
	sessionToken, ceremonyName, name string,
	answer []byte,
) (Passkey, error) {
	if d.noPasskeys != nil {
		return Passkey{}, d.noPasskeys
	}
	name = strings.TrimSpace(name)
	if name == "" {
		name = "passkey"
	}
	if err := fits("the name of the passkey", name, longestPasskeyName); err != nil {
		return Passkey{}, err
	}
	a, err := d.ledger.justHere(sessionToken)
	if err != nil {
		return Passkey{}, err
	}
	begun, err := d.ceremonies.take(ceremonyName, toRegister)
	if err != nil {
		return Passkey{}, err
	}
	if begun == nil || begun.Account != a.Name {
		return Passkey{}, tooLate()
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return Passkey{}, refusedPasskey(err)
	}
	credential, err := d.relying.CreateCredential(d.roster.holder(a), *begun.Passkey, parsed)
	if err != nil {
		return Passkey{}, refusedPasskey(err)
	}
	if err := d.ceremonies.once(ceremonyName); err != nil {
		return Passkey{}, err
	}
	var added Account
	err = d.ledger.decide(func() (err error) {
		if d.roster.ownerOf(credential.ID) != nil {
			return problem.New(problem.Conflict, "this passkey is known already")
		}
		s, _ := d.roster.session(sessionToken)
		if s == nil {
			return noSession()
		}
		added, err = d.edit(a.Name, func(a *account, c *change) ([]Entry, error) {
			e := s.identity(a, addressOf(ctx)).entry(ctx, KindPasskeyAdded, a.Name)
			e.Credential = passkeyID(credential.ID)
			e.facts = &Facts{Secret: randomID(), Name: name}
			c.values = append(c.values, value(passkeyKey+e.facts.Secret, passkeyValue{Credential: *credential}))
			return []Entry{e}, nil
		})
		return err
	})
	if err != nil {
		return Passkey{}, err
	}
	return added.Passkeys[len(added.Passkeys)-1], nil
}

// ownerOf returns the account that a passkey belongs to, or nil. It scans all accounts: a lab has
// few.
func (r *roster) ownerOf(credential []byte) *account {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, a := range r.state.accounts {
		if secret, _ := a.passkey(credential, r.values); secret != "" {
			return a
		}
	}
	return nil
}

// passkey returns the reference of one of the account's credentials and its stored value; "" if the
// credential is not the account's.
func (a *account) passkey(credential []byte, v *values) (secret string, kept *passkeyValue) {
	for _, k := range a.Passkeys {
		if kept := v.passkeys[k.Secret]; kept != nil && string(kept.Credential.ID) == string(credential) {
			return k.Secret, kept
		}
	}
	return "", nil
}

// BeginPasskeyLogin begins a login with any passkey the person chooses. The options are for
// navigator.credentials.get, the ceremony identifies this to [Directory.FinishPasskeyLogin], within
// ten minutes.
func (d *Directory) BeginPasskeyLogin(
	ctx context.Context,
) (ceremonyName string, options json.RawMessage, err error) {
	if d.noPasskeys != nil {
		return "", nil, d.noPasskeys
	}
	assertion, data, err := d.relying.BeginDiscoverableLogin()
	if err != nil {
		return "", nil, err
	}
	return d.ceremonies.options(ctx, assertion, &ceremony{What: toLogIn, Passkey: data})
}

// FinishPasskeyLogin begins a session of the account whose passkey has
// answered, as [Directory.Login] does: the answer is the JSON of the browser's
// PublicKeyCredential.
func (d *Directory) FinishPasskeyLogin(
	ctx context.Context,
	ceremonyName string,
	answer []byte,
	from string,
) (token string, who Identity, err error) {
	proved, err := d.answered(ceremonyName, toLogIn, "", answer, shown(from))
	if err != nil {
		return "", Identity{}, err
	}
	err = d.ledger.decide(func() error {
		used, err := d.roster.afterUse(proved)
		if err == nil {
			token, who, err = d.begin(proved.account, ByPasskey, shown(from), d.now(), used)
		}
		return err
	})
	return token, who, err
}

// BeginPasskeyConfirm is BeginPasskeyLogin for a person who is logged in and authenticates again.
func (d *Directory) BeginPasskeyConfirm(
	ctx context.Context,
	sessionToken string,
) (ceremonyName string, options json.RawMessage, err error) {
	if d.noPasskeys != nil {
		return "", nil, d.noPasskeys
	}
	_, a, err := d.ledger.sure(sessionToken)
	if err != nil {
		return "", nil, err
	}
	if len(a.Passkeys) == 0 {
		return "", nil, problem.New(problem.NotPossible, "%s has no passkey", a.Name).About(a.Name).
			With(problem.Remedy{Text: "give the password", Action: problem.Confirm})
	}
	assertion, data, err := d.relying.BeginLogin(d.roster.holder(a))
	if err != nil {
		return "", nil, err
	}
	return d.ceremonies.options(ctx, assertion, &ceremony{What: toConfirm, Account: a.Name, Passkey: data})
}

// FinishPasskeyConfirm is [Directory.Reauthenticate] with a passkey.
func (d *Directory) FinishPasskeyConfirm(
	ctx context.Context,
	sessionToken, ceremonyName string,
	answer []byte,
	from string,
) (token string, who Identity, err error) {
	_, a, err := d.ledger.sure(sessionToken)
	if err != nil {
		return "", Identity{}, err
	}
	proved, err := d.answered(ceremonyName, toConfirm, a.Name, answer, shown(from))
	if err != nil {
		return "", Identity{}, err
	}
	err = d.ledger.decide(func() error {
		used, err := d.roster.afterUse(proved)
		if err == nil {
			token, who, err = d.confirm(sessionToken, ByPasskey, shown(from), used)
		}
		return err
	})
	return token, who, err
}

// proof is a passkey that has answered, with its new counter. The counter is not stored yet: the
// caller writes it together with the session, under writing.
type proof struct {
	account    string
	credential *webauthn.Credential
}

// answered checks the answer of a passkey, of the named account or of any, and records failures.
func (d *Directory) answered(
	ceremonyName string, what purpose, name string, answer []byte, from string,
) (proof, error) {
	if d.noPasskeys != nil {
		return proof{}, d.noPasskeys
	}
	begun, err := d.ceremonies.take(ceremonyName, what)
	if err == nil {
		err = d.ledger.renewPasskeys()
	}
	if err != nil {
		return proof{}, err
	}
	if begun == nil || begun.Account != name {
		return proof{}, tooLate()
	}
	var owner *account
	fail := func(err error) (proof, error) {
		e := Entry{Kind: KindLoginFailed, Method: ByPasskey, From: from,
			Reason: "the passkey did not prove anything"}
		if owner != nil {
			e.Account = owner.Name
			if owner.Disabled {
				e.Reason = "the account is disabled"
			}
		}
		d.ledger.refuse(e)
		if err == nil { // they have the passkey: they may know this too
			return proof{}, disabled(owner.Name)
		}
		return proof{}, refusedPasskey(err)
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return fail(err)
	}
	var credential *webauthn.Credential
	if what == toConfirm {
		owner = d.roster.account(name)
		credential, err = d.relying.ValidateLogin(d.roster.holder(owner), *begun.Passkey, parsed)
	} else {
		_, credential, err = d.relying.ValidatePasskeyLogin(func(id, handle []byte) (webauthn.User, error) {
			a := d.roster.ownerOf(id)
			if a == nil || string(a.Handle) != string(handle) {
				return nil, errors.New("nobody has this passkey")
			}
			owner = a
			return d.roster.holder(a), nil
		}, *begun.Passkey, parsed)
	}
	switch {
	case err != nil:
		return fail(err)
	case owner.Disabled:
		return fail(nil)
	case credential.Authenticator.CloneWarning:
		return fail(errors.New("its counter has not gone up since it was used last: there may be a copy of it"))
	}
	return proof{account: owner.Name, credential: credential}, d.ceremonies.once(ceremonyName)
}

// afterUse returns the change that notes the use of a passkey, and its counter. The caller holds
// writing. Checks made without the lock are repeated: the passkey may have been removed or used
// meanwhile.
func (r *roster) afterUse(p proof) (c change, err error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	a := r.state.accounts[p.account]
	secret, stored := a.passkey(p.credential.ID, r.values)
	if secret == "" || a.Disabled {
		return c, noSession() // changed meanwhile
	}
	if p.credential.Authenticator.SignCount < stored.Credential.Authenticator.SignCount {
		return c, refusedPasskey(errors.New("it was used elsewhere at the same time"))
	}
	used := passkeyValue{Credential: *p.credential, Used: r.now()}
	c.values = append(c.values, value(passkeyKey+secret, used))
	return c, nil
}

// RemovePasskey removes a passkey of an account: the caller's own, or any for callers who may
// [Administer].
func (d *Directory) RemovePasskey(
	ctx context.Context, by Identity, name, id string,
) (after Account, err error) {
	name = canonicalName(name)
	if err := d.ownOrAdmin(by, name); err != nil {
		return Account{}, err
	}
	err = d.ledger.decide(func() error {
		after, err = d.edit(name, func(a *account, _ *change) ([]Entry, error) {
			if !slices.ContainsFunc(a.Passkeys, func(k passkey) bool { return k.ID == id }) {
				return nil, problem.New(problem.NotFound, "%s has no passkey %q", name, shown(id)).About(name)
			}
			e := by.entry(ctx, KindPasskeyRemoved, name)
			e.Credential = id
			return []Entry{e}, nil
		})
		return err
	})
	return after, err
}

// refusedPasskey is the error for a passkey that proves nothing. The library's words help those who
// set up the site, and hold no secret.
func refusedPasskey(err error) error {
	message := "the passkey was not accepted"
	var detail *protocol.Error
	switch {
	case errors.As(err, &detail):
		message += ": " + shown(detail.Details)
	case err != nil:
		message += ": " + shown(err.Error())
	}
	return problem.New(problem.Unauthenticated, "%s", message).
		With(problem.Remedy{Text: "try again, or log in with a password", Action: problem.LogIn})
}

// tooLate is the error for an unknown ceremony. It gives all possible reasons, since the true one
// is unknown.
func tooLate() error {
	return problem.New(problem.Unauthenticated,
		"this took too long, or was begun in another window, or the server was started again meanwhile").
		With(problem.Remedy{Text: "begin again", Action: problem.LogIn})
}
