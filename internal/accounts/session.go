package accounts

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"time"

	"github.com/campaignd/campaignd/internal/problem"
)

// Session is somebody who is logged in. It does not hold the token that proves it.
type Session struct {
	// ID identifies it in the audit trail and in lists. It is no secret.
	ID      string `json:"id"`
	Account string `json:"account"`
	Method  Method `json:"method"`
	// Created is when they logged in, Seen the last request, to within a minute, Confirmed when
	// they last showed who they are.
	Created   time.Time `json:"created"`
	Seen      time.Time `json:"seen"`
	Confirmed time.Time `json:"confirmed"`
	// From is the address they logged in from.
	From string `json:"from,omitempty"`
}

const (
	// seenEvery is how far Seen may lag behind.
	seenEvery = time.Minute
	// mostSessions is how many sessions an account has at most: a further one ends the one that
	// was not used for longest.
	mostSessions = 50
	// mostAddresses is how many addresses are remembered from which somebody logs in.
	mostAddresses = 20
)

// random is a secret of 256 bits, for a URL or a cookie.
func random() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	return base64.RawURLEncoding.EncodeToString(secret)
}

// randomID identifies something, and is no secret.
func randomID() string {
	id := make([]byte, 8)
	_, _ = rand.Read(id)
	return hex.EncodeToString(id)
}

// ended reports whether a session is over.
func (b *Book) ended(s *Session, now time.Time) bool {
	return now.Sub(s.Seen) > b.o.Idle || now.Sub(s.Created) > b.o.Lifetime
}

// identity is that of a session's owner.
func (s *Session) identity(a *account, from string) Identity {
	return Identity{
		Account: a.Name, DisplayName: a.DisplayName, Method: s.Method, Grants: append([]Grant{}, a.Grants...),
		ExpertNames: slices.Clone(a.AnswersAs), Credential: s.ID, Since: s.Created, Confirmed: s.Confirmed, From: from,
	}
}

// Login checks a name and a password that came from an address, and begins a session. The
// token is what proves the session from now on: whoever has it is that person. It is a new one
// each time, whatever the browser had before, which the caller ends with [Book.Logout].
//
// The error is a problem.Error: [problem.Unauthenticated] where the name or the password is
// wrong, without saying which of the two, or the account is disabled; [problem.TooMany], with a
// [TooSoonError], where there were too many attempts.
func (b *Book) Login(ctx context.Context, name, password, from string) (token string, _ Identity, err error) {
	name, from = canonicalName(name), shown(from)
	a, again, err := b.checkPassword(ctx, name, password, from)
	if err != nil {
		return "", Identity{}, err
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	now := b.account(name)
	if now == nil || now.Password != a.Password || now.Disabled {
		return "", Identity{}, wrongLogin() // changed meanwhile
	}
	after := now.copy()
	if again != "" {
		after.Password = again
	}
	return b.begin(after, ByPassword, from, b.now(), change{})
}

// checkPassword checks a password, within the limits, and records what fails.
func (b *Book) checkPassword(ctx context.Context, name, password, from string) (_ *account, again hash, err error) {
	a := b.account(name)
	familiar := a != nil && from != "" && slices.Contains(a.Addresses, networkOf(from))
	failed := Entry{Kind: KindLoginFailed, Method: ByPassword, From: from}
	if a != nil {
		failed.Account = name
	}
	try, wait, first := b.limits.begin(b.now(), name, from, familiar)
	if try == nil {
		if first {
			failed.Kind = KindLockedOut
			b.record(failed)
		}
		return nil, "", tooSoon(wait)
	}
	ok, again, err := b.passwords.matches(ctx, a, password)
	switch {
	case err != nil:
		try.withdrawn()
		return nil, "", err
	case ok && !a.Disabled:
		try.succeeded()
		return a, again, nil
	case a == nil:
		failed.Reason = "there is no account of that name"
	case a.Password == "":
		failed.Reason = "the account has no password"
	case !ok:
		failed.Reason = "the password is wrong"
	default:
		failed.Reason = "the account is disabled"
	}
	b.record(failed)
	if ok { // they know the password: they may know this too
		return nil, "", disabled(name)
	}
	return nil, "", wrongLogin()
}

// record adds an entry to the audit trail, of something that was refused whatever becomes of
// the entry.
func (b *Book) record(e Entry) {
	b.writing.Lock()
	defer b.writing.Unlock()
	_ = b.commit(change{entries: []Entry{e}})
}

// wrongLogin does not say which of the two is wrong.
func wrongLogin() error {
	return problem.New(problem.Unauthenticated, "the name or the password is wrong").With(
		problem.Remedy{Text: "try again", Action: problem.LogIn},
		problem.Remedy{Text: "have an admin set a new one", Action: problem.SetPassword},
	)
}

func disabled(name string) error {
	return problem.New(problem.Unauthenticated, "the account %s is disabled", name).About(name).
		With(problem.Remedy{Text: "have an admin enable it", Action: problem.Enable, Subject: name})
}

// begin begins a session of an account and records it, with whatever else c changes. The
// account is a copy of the present one. The caller holds writing.
func (b *Book) begin(a *account, how Method, from string, confirmed time.Time, c change) (string, Identity, error) {
	if network := networkOf(from); from != "" && (len(a.Addresses) == 0 || a.Addresses[len(a.Addresses)-1] != network) {
		known := slices.DeleteFunc(slices.Clone(a.Addresses), func(x string) bool { return x == network })
		known = append(known, network)
		a.Addresses = known[max(0, len(known)-mostAddresses):]
	}
	token, now := random(), b.now()
	s := &Session{
		ID:        randomID(),
		Account:   a.Name,
		Method:    how,
		Created:   now,
		Seen:      now,
		Confirmed: confirmed,
		From:      from,
	}
	c.accounts = map[string]*account{a.Name: a}
	if c.sessions == nil {
		c.sessions = make(map[key]*Session)
	}
	b.sweep(a.Name, &c)
	c.sessions[keyOf(token)] = s
	c.entries = append(c.entries, Entry{
		Kind: KindLogin, By: a.Name, Account: a.Name, Method: how, From: from, Credential: s.ID,
	})
	if err := b.commit(c); err != nil {
		return "", Identity{}, err
	}
	return token, s.identity(a, from), nil
}

// sweep removes the sessions that are over, and the oldest of an account that has too many.
func (b *Book) sweep(name string, c *change) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	now := b.now()
	type place struct {
		at key
		s  *Session
	}
	var own []place
	for at, s := range b.sessions {
		_, changed := c.sessions[at]
		switch {
		case changed:
		case b.ended(s, now):
			c.sessions[at] = nil
		case s.Account == name:
			own = append(own, place{at, s})
		}
	}
	slices.SortFunc(own, func(x, y place) int { return x.s.Seen.Compare(y.s.Seen) })
	for len(own) >= mostSessions {
		c.sessions[own[0].at] = nil
		own = own[1:]
	}
}

// endSessions ends all sessions of an account.
func (b *Book) endSessions(name string, c *change) int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if c.sessions == nil {
		c.sessions = make(map[key]*Session)
	}
	n := 0
	for at, s := range b.sessions {
		if s.Account == name {
			c.sessions[at] = nil
			n++
		}
	}
	return n
}

// session returns what a token proves, nil where it proves nothing.
func (b *Book) session(token string) (key, *Session, *account) {
	if len(token) != 43 { // of 32 bytes in base64
		return "", nil, nil
	}
	at := keyOf(token)
	b.mu.RLock()
	defer b.mu.RUnlock()
	s := b.sessions[at]
	if s == nil || b.ended(s, b.now()) {
		return at, nil, nil
	}
	a := b.accounts[s.Account]
	if a == nil || a.Disabled {
		return at, nil, nil
	}
	return at, s, a
}

// Authenticate returns whose session a token proves, with what they may at this moment, and
// keeps the session alive. The error has the code [problem.Unauthenticated].
func (b *Book) Authenticate(ctx context.Context, sessionToken string) (Identity, error) {
	at, s, a := b.session(sessionToken)
	if s == nil {
		return Identity{}, noSession()
	}
	if now := b.now(); now.Sub(s.Seen) >= seenEvery {
		b.touch(at, now)
	}
	return s.identity(a, addressOf(ctx)), nil
}

// touch notes that a session was used. What is lost with the process, or not written at all,
// only ends it earlier.
func (b *Book) touch(at key, now time.Time) {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.RLock()
	s := b.sessions[at]
	b.mu.RUnlock()
	if s == nil || now.Sub(s.Seen) < seenEvery {
		return // it has ended, or somebody was quicker
	}
	seen := *s
	seen.Seen = now
	_ = b.commit(change{sessions: map[key]*Session{at: &seen}, lazily: true})
}

func noSession() error {
	return problem.New(problem.Unauthenticated, "nobody is logged in here, or not any more").
		With(problem.Remedy{Text: "log in", Action: problem.LogIn})
}

// Reauthenticate checks the password of somebody who is logged in, and notes that they have
// just shown who they are ([Identity.Recent]). The session goes on under a new token; the old
// one proves nothing any more.
func (b *Book) Reauthenticate(
	ctx context.Context,
	sessionToken, password, from string,
) (token string, _ Identity, err error) {
	_, s, a := b.session(sessionToken)
	if s == nil {
		return "", Identity{}, noSession()
	}
	if _, _, err := b.checkPassword(ctx, a.Name, password, shown(from)); err != nil {
		return "", Identity{}, err
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	return b.confirm(sessionToken, ByPassword, shown(from), nil)
}

// confirm gives a session a new token and notes that its owner has shown who they are. The
// caller holds writing. after, where it is not nil, is the account as it is now.
func (b *Book) confirm(sessionToken string, how Method, from string, after *account) (string, Identity, error) {
	at, s, a := b.session(sessionToken) // anew: it may have ended meanwhile
	if s == nil {
		return "", Identity{}, noSession()
	}
	c := change{}
	if after != nil {
		a = after
		c.accounts = map[string]*account{a.Name: a}
	}
	token, now := random(), b.now()
	confirmed := *s
	confirmed.Seen, confirmed.Confirmed = now, now
	c.sessions = map[key]*Session{at: nil, keyOf(token): &confirmed}
	c.entries = []Entry{{
		Kind: KindConfirmed, By: a.Name, Account: a.Name, Method: how, From: from, Credential: s.ID,
	}}
	if err := b.commit(c); err != nil {
		return "", Identity{}, err
	}
	return token, confirmed.identity(a, from), nil
}

// ChangePassword gives somebody who is logged in a password of their own choice. They show the
// present one; where there is none, they must have logged in within the last ten minutes. All
// sessions of the account end; the one that asked goes on under a new token.
func (b *Book) ChangePassword(
	ctx context.Context,
	sessionToken, present, password, from string,
) (token string, _ Identity, err error) {
	_, s, a := b.session(sessionToken)
	if s == nil {
		return "", Identity{}, noSession()
	}
	if a.Password == "" {
		err = s.identity(a, "").Recent(b.now(), JustNow)
	} else {
		_, _, err = b.checkPassword(ctx, a.Name, present, shown(from))
	}
	if err != nil {
		return "", Identity{}, err
	}
	hashed, err := b.newPassword(ctx, a.Name, password)
	if err != nil {
		return "", Identity{}, err
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	if _, s, a = b.session(sessionToken); s == nil {
		return "", Identity{}, noSession()
	}
	after := a.copy()
	after.Password, after.PasswordSet = hashed, b.now()
	var c change
	b.endSessions(a.Name, &c)
	c.entries = []Entry{{
		Kind: KindPasswordSet, By: a.Name, Account: a.Name, Method: s.Method, From: shown(from), Credential: s.ID,
	}}
	return b.begin(after, s.Method, shown(from), b.now(), c)
}

// Recent is [Identity.Recent] by the book's clock.
func (b *Book) Recent(i Identity, within time.Duration) error { return i.Recent(b.now(), within) }

// Logout ends a session. One that has ended already is no error.
func (b *Book) Logout(ctx context.Context, sessionToken string) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	at, s, a := b.session(sessionToken)
	if s == nil {
		return nil
	}
	e := Entry{Kind: KindLogout, By: a.Name, Account: a.Name, Method: s.Method, From: addressOf(ctx), Credential: s.ID}
	return b.commit(change{sessions: map[key]*Session{at: nil}, entries: []Entry{e}})
}

// Sessions returns the sessions of an account that are not over, the newest first.
func (b *Book) Sessions(name string) []Session {
	b.mu.RLock()
	defer b.mu.RUnlock()
	now := b.now()
	var own []Session
	for _, s := range b.sessions {
		if s.Account == canonicalName(name) && !b.ended(s, now) {
			own = append(own, *s)
		}
	}
	slices.SortFunc(own, func(x, y Session) int { return y.Created.Compare(x.Created) })
	return own
}

// EndSessions ends all sessions of an account: one's own, or those of anybody for those who may
// [Administer]. It returns how many there were.
func (b *Book) EndSessions(ctx context.Context, by Identity, name string) (int, error) {
	name = canonicalName(name)
	if err := b.ownOrAdmin(by, name); err != nil {
		return 0, err
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	if b.account(name) == nil {
		return 0, noAccount(name)
	}
	var c change
	n := b.endSessions(name, &c)
	if n == 0 {
		return 0, nil
	}
	c.entries = []Entry{by.entry(ctx, KindSessionsEnded, name)}
	return n, b.commit(c)
}

// EndSession ends one session of an account, by its ID: one's own, or that of anybody for those who
// may [Administer].
func (b *Book) EndSession(ctx context.Context, by Identity, name, id string) error {
	name = canonicalName(name)
	if err := b.ownOrAdmin(by, name); err != nil {
		return err
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.RLock()
	var ended key
	for at, s := range b.sessions {
		if s.Account == name && s.ID == id {
			ended = at
		}
	}
	b.mu.RUnlock()
	if ended == "" {
		return problem.New(problem.NotFound, "%s has no session %q", shown(name), shown(id)).About(shown(name))
	}
	e := by.entry(ctx, KindSessionEnded, name)
	e.Credential = id
	return b.commit(change{sessions: map[key]*Session{ended: nil}, entries: []Entry{e}})
}

// ownOrAdmin returns nil where an identity may change what belongs to an account: its person's,
// though not by a token, or an administrator's.
func (b *Book) ownOrAdmin(by Identity, name string) error {
	if by.Account == name && by.Account != "" && by.Method != ByToken && !by.everything {
		return nil
	}
	return b.mayOrRefuse(by, Administer, "")
}
