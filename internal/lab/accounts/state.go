package accounts

import (
	"slices"
	"time"
)

// state is everything about accounts but their secrets: the fold of their events. It changes by
// [state.apply], followed by [state.forget], so that reopened accounts equal the closed ones. Its
// values are immutable once others can see them.
type state struct {
	accounts map[string]*account
	sessions map[string]*session // by ID; also expired ones
	tokens   map[string]*token   // by ID
	first    *Entry              // how the first account was added

	// released are the values that apply has left unreferenced.
	released []string
}

// newState returns the state before the first event.
func newState() *state {
	return &state{
		accounts: make(map[string]*account),
		sessions: make(map[string]*session),
		tokens:   make(map[string]*token),
	}
}

// account is an account without its secrets.
type account struct {
	Name        string    `json:"name"`
	DisplayName string    `json:"display_name,omitempty"`
	Email       string    `json:"email,omitempty"`
	Disabled    bool      `json:"disabled,omitempty"`
	AnswersAs   []string  `json:"answers_as,omitempty"`
	Grants      []Grant   `json:"grants,omitempty"`
	Created     time.Time `json:"created"`

	// Password is the reference of the password's hash.
	Password    string    `json:"password,omitempty"`
	PasswordSet time.Time `json:"password_set,omitzero"`
	// Handle is the account's random identifier at authenticators; it does not contain the name.
	Handle   []byte    `json:"handle"`
	Passkeys []passkey `json:"passkeys,omitempty"`
	Links    []Link    `json:"links,omitempty"`
}

// passkey is a passkey without its credential, which is kept under the reference Secret.
type passkey struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	Secret  string    `json:"secret"`
}

// session is a session without its token's hash, which is kept under the reference Secret.
type session struct {
	ID        string    `json:"id"`
	Account   string    `json:"account"`
	Method    Method    `json:"method"`
	Created   time.Time `json:"created"`
	Confirmed time.Time `json:"confirmed"`
	From      string    `json:"from,omitempty"`
	Secret    string    `json:"secret"`
}

// token is an API token without its hash, which is kept under its ID.
type token struct {
	ID      string    `json:"id"`
	Account string    `json:"account"`
	Created time.Time `json:"created"`
	Revoked time.Time `json:"revoked,omitzero"`
	Terms
}

// apply folds an entry into the state. Entries taken over from an earlier audit log describe
// changes whose result came with the last of them. It reads neither a clock nor values: the same
// events always give the same state.
func (s *state) apply(e Entry) {
	facts := e.facts
	if facts == nil {
		facts = new(Facts)
	}
	if e.Kind == KindAdded && s.first == nil {
		s.first = &e
	}
	if facts.Earlier != nil {
		return
	}
	switch e.Kind {
	case KindAdded:
		a := &account{Name: e.Account, Created: e.Time}
		a.describe(facts.Details)
		s.accounts[e.Account] = a
	case KindTakenOver:
		s.take(facts.Taken)
	case KindLogin:
		s.sessions[e.Credential] = &session{
			ID:        e.Credential,
			Account:   e.Account,
			Method:    e.Method,
			Created:   e.Time,
			Confirmed: facts.Confirmed,
			From:      e.From,
			Secret:    facts.Secret,
		}
	case KindConfirmed:
		if before := s.sessions[e.Credential]; before != nil {
			after := *before
			after.Confirmed, after.Secret = e.Time, facts.Secret
			s.released = append(s.released, sessionKey+before.Secret)
			s.sessions[e.Credential] = &after
		}
	case KindLogout, KindSessionEnded:
		s.endSession(e.Credential)
	case KindSessionsEnded:
		s.endSessions(e.Account)
	case KindTokenCreated:
		s.tokens[e.Credential] = &token{
			ID: e.Credential, Account: e.Account, Created: e.Time, Terms: *facts.Terms,
		}
	case KindTokenRevoked:
		if before := s.tokens[e.Credential]; before != nil {
			after := *before
			after.Revoked = e.Time
			s.tokens[e.Credential] = &after
		}
	default:
		s.change(e, facts)
	}
}

// change applies an entry that changes an account. The account is copied before it is changed,
// since others may be reading the old one.
func (s *state) change(e Entry, facts *Facts) {
	before := s.accounts[e.Account]
	if before == nil {
		return
	}
	a := *before
	switch e.Kind {
	case KindChanged:
		a.describe(facts.Details)
	case KindDisabled:
		a.Disabled = true
		s.endSessions(a.Name)
	case KindEnabled:
		a.Disabled = false
	case KindGranted:
		a.Grants = append(slices.Clone(a.Grants), e.grant())
	case KindRevoked:
		g := e.grant()
		a.Grants = slices.DeleteFunc(slices.Clone(a.Grants), func(has Grant) bool {
			// An admin revokes a role no matter who gave it; an issuer revokes its own.
			return has.Role == g.Role && has.Campaign == g.Campaign &&
				(g.Issuer == "" || g.Issuer == has.Issuer)
		})
	case KindPasswordSet:
		if a.Password != "" {
			s.released = append(s.released, passwordKey+a.Password)
		}
		a.Password, a.PasswordSet = facts.Secret, e.Time
		s.endSessions(a.Name)
	case KindPasskeyAdded:
		k := passkey{ID: e.Credential, Name: facts.Name, Created: e.Time, Secret: facts.Secret}
		a.Passkeys = append(slices.Clone(a.Passkeys), k)
	case KindPasskeyRemoved:
		a.Passkeys = slices.DeleteFunc(slices.Clone(a.Passkeys), func(k passkey) bool {
			if k.ID == e.Credential {
				s.released = append(s.released, passkeyKey+k.Secret)
			}
			return k.ID == e.Credential
		})
	case KindLinked:
		a.Links = append(slices.Clone(a.Links), *facts.Link)
	default:
		return // no change: a refusal, a failure
	}
	s.accounts[a.Name] = &a
}

// describe applies a person's details. A missing handle leaves the present one: authenticators know
// the account by it.
func (a *account) describe(d *Details) {
	a.DisplayName = d.DisplayName
	a.Email = d.Email
	a.AnswersAs = d.AnswersAs
	if d.Handle != nil {
		a.Handle = d.Handle
	}
}

// take adds the accounts of an earlier version. They become the state's own: nothing else refers to
// them.
func (s *state) take(taken *Taken) {
	for _, a := range taken.Accounts {
		s.accounts[a.Name] = a
	}
	for _, x := range taken.Sessions {
		s.sessions[x.ID] = x
	}
	for _, t := range taken.Tokens {
		s.tokens[t.ID] = t
	}
}

// endSession removes a session and releases its value. A missing session is ignored: an entry may
// end one that has expired.
func (s *state) endSession(id string) {
	if ended := s.sessions[id]; ended != nil {
		s.released = append(s.released, sessionKey+ended.Secret)
		delete(s.sessions, id)
	}
}

// endSessions ends all sessions of an account. Their order does not matter: each is only removed.
func (s *state) endSessions(account string) {
	for id, x := range s.sessions {
		if x.Account == account {
			s.endSession(id)
		}
	}
}

// after returns an account as some entries would change it. A change is judged with it before it is
// recorded, by the same code that will apply it.
func (a *account) after(entries []Entry) *account {
	s := newState()
	s.accounts[a.Name] = a
	for _, e := range entries {
		s.apply(e)
	}
	return s.accounts[a.Name]
}

// named returns the keys of the values that the state refers to. All other values are left over,
// and can be removed.
func (s *state) named() map[string]bool {
	named := make(map[string]bool)
	for _, a := range s.accounts {
		named[passwordKey+a.Password] = true
		named[networksKey+a.Name] = true
		for _, k := range a.Passkeys {
			named[passkeyKey+k.Secret] = true
		}
	}
	for _, x := range s.sessions {
		named[sessionKey+x.Secret] = true
	}
	for id := range s.tokens {
		named[tokenKey+id] = true
	}
	return named
}

// forget drops the sessions and tokens whose values are gone: they are invalid. A value can be gone
// while its event is not: values exist to be forgettable.
func (s *state) forget(v *values) {
	for id, x := range s.sessions {
		if v.sessions[x.Secret] == nil {
			delete(s.sessions, id)
		}
	}
	for id := range s.tokens {
		if v.tokens[id] == nil {
			delete(s.tokens, id)
		}
	}
}
