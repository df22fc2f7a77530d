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

	"github.com/campaignd/campaignd/internal/problem"
)

// Passkeys says for which site passkeys are made. A browser offers a passkey to that site alone.
type Passkeys struct {
	// ID is the domain of the site, such as "lab.example.org", without a port. Passkeys are lost
	// where it changes.
	ID string
	// Name is what people are told the site is called; "campaignd" by default.
	Name string
	// Origins are the addresses under which the site is opened, such as
	// "https://lab.example.org:7070".
	Origins []string
}

// Passkey is one of an account's passkeys.
type Passkey struct {
	// ID identifies it in lists and in the audit trail. It is no secret.
	ID string `json:"id"`
	// Name is what its owner calls it.
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	// Used is the last login with it, zero where there was none.
	Used time.Time `json:"used,omitzero"`
	// Synced reports whether it lives on several devices of its owner.
	Synced bool `json:"synced"`
}

// passkey is a passkey as it is stored. There is only a public key in it.
type passkey struct {
	Name       string              `json:"name"`
	Created    time.Time           `json:"created"`
	Used       time.Time           `json:"used,omitzero"`
	Credential webauthn.Credential `json:"credential"`
}

func (k *passkey) id() string {
	return string(keyOf(base64.RawURLEncoding.EncodeToString(k.Credential.ID)))[:16]
}

func (k *passkey) public() Passkey {
	return Passkey{
		ID:      k.id(),
		Name:    k.Name,
		Created: k.Created,
		Used:    k.Used,
		Synced:  k.Credential.Flags.BackupEligible,
	}
}

const (
	longestPasskeyName = 100
	mostPasskeys       = 20
)

// relyingParty is campaignd, as authenticators see it.
type relyingParty struct{ *webauthn.WebAuthn }

// newRelyingParty returns nil where there are no passkeys.
func newRelyingParty(p *Passkeys) (*relyingParty, error) {
	if p == nil {
		return nil, nil
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
			// A passkey stands for a password: the device makes sure who holds it.
			UserVerification: protocol.VerificationRequired,
		},
	})
	if err == nil && p.ID == "" {
		err = errors.New("the domain of the site is missing")
	}
	if err != nil {
		return nil, problem.New(problem.Invalid, "passkeys cannot be set up for %q: %w", p.ID, err)
	}
	return &relyingParty{w}, nil
}

// holder is an account as the library sees it.
type holder struct{ *account }

func (h holder) WebAuthnID() []byte   { return h.Handle }
func (h holder) WebAuthnName() string { return h.Name }
func (h holder) WebAuthnDisplayName() string {
	if h.DisplayName != "" {
		return h.DisplayName
	}
	return h.Name
}
func (h holder) WebAuthnCredentials() []webauthn.Credential {
	all := make([]webauthn.Credential, len(h.Passkeys))
	for i, k := range h.Passkeys {
		all[i] = k.Credential
	}
	return all
}

// HasPasskeys reports whether people can log in with passkeys here.
func (b *Book) HasPasskeys() bool { return b.relying != nil }

func (b *Book) noPasskeys() error {
	if b.relying != nil {
		return nil
	}
	return problem.New(problem.NotPossible, "there are no passkeys here: it is not said for which site they would be").
		With(problem.Remedy{Text: "log in with a password", Action: problem.LogIn})
}

// BeginPasskey begins to add a passkey to the account that is logged in, which must have shown
// who they are within the last ten minutes. The options are for navigator.credentials.create
// (PublicKeyCredential.parseCreationOptionsFromJSON reads the member publicKey), the ceremony
// names this to [Book.FinishPasskey], within ten minutes.
func (b *Book) BeginPasskey(
	ctx context.Context,
	sessionToken string,
) (ceremonyName string, options json.RawMessage, err error) {
	if err := b.noPasskeys(); err != nil {
		return "", nil, err
	}
	a, err := b.justHere(sessionToken)
	if err != nil {
		return "", nil, err
	}
	if len(a.Passkeys) >= mostPasskeys {
		return "", nil, problem.New(problem.Conflict, "%s has %d passkeys, and more are not kept: remove one first", a.Name, len(a.Passkeys)).
			About(a.Name)
	}
	creation, data, err := b.relying.BeginRegistration(holder{a},
		webauthn.WithExclusions(webauthn.Credentials(holder{a}.WebAuthnCredentials()).CredentialDescriptors()))
	if err != nil {
		return "", nil, err
	}
	return b.options(ctx, creation, &ceremony{what: toRegister, account: a.Name, passkey: *data})
}

// justHere returns the account of a session whose owner has shown who they are just now.
func (b *Book) justHere(sessionToken string) (*account, error) {
	_, s, a := b.session(sessionToken)
	if s == nil {
		return nil, noSession()
	}
	return a, s.identity(a, "").Recent(b.now(), JustNow)
}

// options remembers a ceremony and writes what the browser gets.
func (b *Book) options(ctx context.Context, value any, c *ceremony) (string, json.RawMessage, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", nil, err
	}
	c.from = networkOf(addressOf(ctx))
	return b.ceremonies.begin(b.now(), c), text, nil
}

// FinishPasskey adds the passkey that the browser has made: the answer is the JSON of its
// PublicKeyCredential. The name is what its owner calls it.
func (b *Book) FinishPasskey(
	ctx context.Context,
	sessionToken, ceremonyName, name string,
	answer []byte,
) (Passkey, error) {
	if err := b.noPasskeys(); err != nil {
		return Passkey{}, err
	}
	name = strings.TrimSpace(name)
	if name == "" {
		name = "passkey"
	}
	if err := fits("the name of the passkey", name, longestPasskeyName); err != nil {
		return Passkey{}, err
	}
	a, err := b.justHere(sessionToken)
	if err != nil {
		return Passkey{}, err
	}
	begun := b.ceremonies.finish(b.now(), ceremonyName, toRegister)
	if begun == nil || begun.account != a.Name {
		return Passkey{}, tooLate()
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return Passkey{}, refusedPasskey(err)
	}
	credential, err := b.relying.CreateCredential(holder{a}, begun.passkey, parsed)
	if err != nil {
		return Passkey{}, refusedPasskey(err)
	}
	k := passkey{Name: name, Created: b.now(), Credential: *credential}
	b.writing.Lock()
	defer b.writing.Unlock()
	if b.ownerOf(k.Credential.ID) != nil {
		return Passkey{}, problem.New(problem.Conflict, "this passkey is known already")
	}
	_, s, _ := b.session(sessionToken)
	if s == nil {
		return Passkey{}, noSession()
	}
	_, err = b.edit(a.Name, func(a *account, _ *change) ([]Entry, error) {
		a.Passkeys = append(slices.Clone(a.Passkeys), k)
		e := s.identity(a, addressOf(ctx)).entry(ctx, KindPasskeyAdded, a.Name)
		e.Credential = k.id()
		return []Entry{e}, nil
	})
	return k.public(), err
}

// ownerOf returns the account that a passkey belongs to, nil where there is none.
func (b *Book) ownerOf(credential []byte) *account {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, a := range b.accounts {
		if a.passkey(credential) >= 0 {
			return a
		}
	}
	return nil
}

func (a *account) passkey(credential []byte) int {
	return slices.IndexFunc(a.Passkeys, func(k passkey) bool { return string(k.Credential.ID) == string(credential) })
}

// BeginPasskeyLogin begins a login with whichever passkey the person chooses. The options are
// for navigator.credentials.get, the ceremony names this to [Book.FinishPasskeyLogin], within
// ten minutes.
func (b *Book) BeginPasskeyLogin(ctx context.Context) (ceremonyName string, options json.RawMessage, err error) {
	if err := b.noPasskeys(); err != nil {
		return "", nil, err
	}
	assertion, data, err := b.relying.BeginDiscoverableLogin()
	if err != nil {
		return "", nil, err
	}
	return b.options(ctx, assertion, &ceremony{what: toLogIn, passkey: *data})
}

// FinishPasskeyLogin begins a session of the account whose passkey has answered, as
// [Book.Login] does: the answer is the JSON of the browser's PublicKeyCredential.
func (b *Book) FinishPasskeyLogin(
	ctx context.Context,
	ceremonyName string,
	answer []byte,
	from string,
) (token string, _ Identity, err error) {
	proved, err := b.answered(ceremonyName, toLogIn, "", answer, shown(from))
	if err != nil {
		return "", Identity{}, err
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	after, err := b.afterUse(proved)
	if err != nil {
		return "", Identity{}, err
	}
	return b.begin(after, ByPasskey, shown(from), b.now(), change{})
}

// BeginPasskeyConfirm is BeginPasskeyLogin for somebody who is logged in and shows again who
// they are.
func (b *Book) BeginPasskeyConfirm(
	ctx context.Context,
	sessionToken string,
) (ceremonyName string, options json.RawMessage, err error) {
	if err := b.noPasskeys(); err != nil {
		return "", nil, err
	}
	_, s, a := b.session(sessionToken)
	if s == nil {
		return "", nil, noSession()
	}
	if len(a.Passkeys) == 0 {
		return "", nil, problem.New(problem.NotPossible, "%s has no passkey", a.Name).About(a.Name).
			With(problem.Remedy{Text: "give the password", Action: problem.Confirm})
	}
	assertion, data, err := b.relying.BeginLogin(holder{a})
	if err != nil {
		return "", nil, err
	}
	return b.options(ctx, assertion, &ceremony{what: toConfirm, account: a.Name, passkey: *data})
}

// FinishPasskeyConfirm is [Book.Reauthenticate] with a passkey.
func (b *Book) FinishPasskeyConfirm(
	ctx context.Context,
	sessionToken, ceremonyName string,
	answer []byte,
	from string,
) (token string, _ Identity, err error) {
	_, s, a := b.session(sessionToken)
	if s == nil {
		return "", Identity{}, noSession()
	}
	proved, err := b.answered(ceremonyName, toConfirm, a.Name, answer, shown(from))
	if err != nil {
		return "", Identity{}, err
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	after, err := b.afterUse(proved)
	if err != nil {
		return "", Identity{}, err
	}
	return b.confirm(sessionToken, ByPasskey, shown(from), after)
}

// proof is a passkey that has answered, with its new counter.
type proof struct {
	account    string
	credential *webauthn.Credential
}

// answered checks the answer of a passkey, of the account of that name or of whichever, and
// records what fails.
func (b *Book) answered(ceremonyName string, what purpose, name string, answer []byte, from string) (proof, error) {
	if err := b.noPasskeys(); err != nil {
		return proof{}, err
	}
	begun := b.ceremonies.finish(b.now(), ceremonyName, what)
	if begun == nil || begun.account != name {
		return proof{}, tooLate()
	}
	var owner *account
	fail := func(err error) (proof, error) {
		e := Entry{Kind: KindLoginFailed, Method: ByPasskey, From: from, Reason: "the passkey did not prove anything"}
		if owner != nil {
			e.Account = owner.Name
			if owner.Disabled {
				e.Reason = "the account is disabled"
			}
		}
		b.refuse(e)
		if owner != nil && owner.Disabled {
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
		owner = b.account(name)
		credential, err = b.relying.ValidateLogin(holder{owner}, begun.passkey, parsed)
	} else {
		_, credential, err = b.relying.ValidatePasskeyLogin(func(id, handle []byte) (webauthn.User, error) {
			a := b.ownerOf(id)
			if a == nil || string(a.Handle) != string(handle) {
				return nil, errors.New("nobody has this passkey")
			}
			owner = a
			return holder{a}, nil
		}, begun.passkey, parsed)
	}
	switch {
	case err != nil:
		return fail(err)
	case owner.Disabled:
		return fail(nil)
	case credential.Authenticator.CloneWarning:
		return fail(errors.New("its counter has not gone up since it was used last: there may be a copy of it"))
	}
	return proof{account: owner.Name, credential: credential}, nil
}

// afterUse returns the account of a passkey as it is after the passkey was used. The caller holds
// writing.
func (b *Book) afterUse(p proof) (*account, error) {
	a := b.account(p.account)
	i := a.passkey(p.credential.ID)
	if i < 0 || a.Disabled {
		return nil, noSession() // changed meanwhile
	}
	if stored := a.Passkeys[i].Credential.Authenticator.SignCount; p.credential.Authenticator.SignCount < stored {
		return nil, refusedPasskey(errors.New("it was used elsewhere at the same time"))
	}
	after := a.copy()
	after.Passkeys = slices.Clone(a.Passkeys)
	after.Passkeys[i].Credential = *p.credential
	after.Passkeys[i].Used = b.now()
	return after, nil
}

// RemovePasskey removes a passkey of an account: one's own, or anybody's for those who may
// [Administer].
func (b *Book) RemovePasskey(ctx context.Context, by Identity, name, id string) (Account, error) {
	name = canonicalName(name)
	if err := b.ownOrAdmin(by, name); err != nil {
		return Account{}, err
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	return b.edit(name, func(a *account, _ *change) ([]Entry, error) {
		kept := slices.DeleteFunc(slices.Clone(a.Passkeys), func(k passkey) bool { return k.id() == id })
		if len(kept) == len(a.Passkeys) {
			return nil, problem.New(problem.NotFound, "%s has no passkey %q", name, shown(id)).About(name)
		}
		a.Passkeys = kept
		e := by.entry(ctx, KindPasskeyRemoved, name)
		e.Credential = id
		return []Entry{e}, nil
	})
}

// refusedPasskey is the answer to a passkey that proves nothing. The library's words help whoever
// sets up the site, and hold no secret.
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

func tooLate() error {
	return problem.New(problem.Unauthenticated, "this took too long, or was begun in another window, or the server was started again meanwhile").
		With(problem.Remedy{Text: "begin again", Action: problem.LogIn})
}
