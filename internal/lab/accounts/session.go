package accounts

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Session is a person who is logged in. It does not hold the session's token.
type Session struct {
	// ID identifies it in the audit log and in lists. It is not secret.
	ID      string `json:"id"`
	Account string `json:"account"`
	Method  Method `json:"method"`
	// Created is the login, Seen the last request, to within a minute, Confirmed the last
	// authentication.
	Created   time.Time `json:"created"`
	Seen      time.Time `json:"seen"`
	Confirmed time.Time `json:"confirmed"`
	// From is the address of the login.
	From string `json:"from,omitempty"`
}

const (
	// tokenSize is the length of a session's token, of 32 bytes in base64.
	tokenSize = 43
	// seenEvery is the maximum lag of Seen.
	seenEvery = time.Minute
	// mostSessions is the maximum number of an account's sessions: a further one ends the one
	// unused for longest.
	mostSessions = 50
	// mostNetworks is the number of networks remembered as places of a person's logins.
	mostNetworks = 20
)

// random returns a secret of 256 bits, for a URL or a cookie.
func random() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	return base64.RawURLEncoding.EncodeToString(secret)
}

// randomID returns a random identifier, not secret.
func randomID() string {
	id := make([]byte, 8)
	_, _ = rand.Read(id)
	return hex.EncodeToString(id)
}

// ended reports whether a session is over. The caller holds mu. The limits are the present ones,
// not those at the login: a lab that shortens them shortens existing sessions. A session without
// its stored value is over too. One that began while the clock was ahead counts from the moment
// this is noticed: it could last for a year otherwise.
func (r *roster) ended(s *session, now time.Time) bool {
	proof := r.values.sessions[s.Secret]
	if proof == nil {
		return true
	}
	seen, created := r.seen.Past(s.Secret, proof.Seen, now), r.since.Past(s.ID, s.Created, now)
	return now.Sub(seen) > r.o.Idle || now.Sub(created) > r.o.Lifetime
}

// public returns the visible part of a session that is not over.
func (s *session) public(v *values) Session {
	return Session{
		ID:        s.ID,
		Account:   s.Account,
		Method:    s.Method,
		Created:   s.Created,
		Seen:      v.sessions[s.Secret].Seen,
		Confirmed: s.Confirmed,
		From:      s.From,
	}
}

// identity returns the identity of a session's owner. The grants are the account's present ones,
// not those at the login: a revoked role is gone at the next request.
func (s *session) identity(a *account, from string) Identity {
	return Identity{
		Account: a.Name, DisplayName: a.DisplayName, Method: s.Method, Grants: append([]Grant{}, a.Grants...),
		ExpertNames: slices.Clone(a.AnswersAs), Credential: s.ID, Since: s.Created,
		Confirmed: s.Confirmed, From: from,
	}
}

// Login checks a name and a password that came from an address, and begins a session. The token
// proves the session from now on: its bearer is that person. It is new each time, whatever token
// the browser had before; the caller ends that one with [Directory.Logout].
//
// The error is a problem.Error: [problem.Unauthenticated] for a wrong name or password, without
// saying which of the two, or a disabled account; [problem.TooMany], with a [TooSoonError], after
// too many attempts.
func (d *Directory) Login(
	ctx context.Context, name, password, from string,
) (token string, who Identity, err error) {
	name, from = canonicalName(name), shown(from)
	a, again, err := d.checkPassword(ctx, name, password, from)
	if err != nil {
		return "", Identity{}, err
	}
	err = d.ledger.decide(func() (err error) {
		now := d.roster.account(name)
		if now == nil || now.Password != a.Password || now.Disabled {
			return wrongLogin() // changed meanwhile
		}
		var c change
		if again != "" { // the same password, kept better
			c.values = append(c.values, value(passwordKey+now.Password, again))
		}
		token, who, err = d.begin(name, ByPassword, from, d.now(), c)
		return err
	})
	return token, who, err
}

// checkPassword checks a password, within the limits, and records failures.
//
// The attempt is counted before the password is checked, so that a hundred concurrent attempts
// count as a hundred. The log gives the reason more exactly than the caller's error. An error of
// hashing, such as a request that ended, is not an attempt.
func (d *Directory) checkPassword(
	ctx context.Context, name, password, from string,
) (_ *account, again hash, err error) {
	if d.ledger.shared != nil { // failures at other servers count too
		if err := d.ledger.look(time.Now()); err != nil {
			return nil, "", err
		}
	}
	a := d.roster.account(name)
	d.roster.mu.RLock()
	familiar := a != nil && d.roster.familiar(name, from)
	stored := hash("")
	if a != nil {
		stored = d.roster.values.passwords[a.Password]
	}
	d.roster.mu.RUnlock()
	failed := Entry{Kind: KindLoginFailed, Method: ByPassword, From: from}
	counted, bucket := name, ""
	if d.ledger.shared != nil { // for every name, so that it takes as long
		if bucket, err = d.ceremonies.bucket(name); err != nil {
			return nil, "", err
		}
	}
	if a != nil {
		failed.Account = name
	} else if bucket != "" {
		failed.facts = &Facts{Bucket: bucket}
		counted = bucketName(bucket)
	}
	try, wait, first := d.ledger.limits.begin(d.now(), counted, from, familiar)
	if try == nil {
		if first {
			failed.Kind = KindLockedOut
			d.ledger.record(failed)
		}
		return nil, "", tooSoon(wait)
	}
	ok, again, err := d.passwords.matches(ctx, stored, password)
	switch {
	case err != nil:
		try.withdrawn()
		return nil, "", err
	case ok && !a.Disabled:
		try.succeeded()
		return a, again, nil
	case a == nil:
		failed.Reason = "there is no account of that name"
	case stored == "":
		failed.Reason = "the account has no password"
	case !ok:
		failed.Reason = "the password is wrong"
	default:
		failed.Reason = "the account is disabled"
	}
	d.ledger.record(failed)
	if ok { // they know the password: they may know this too
		return nil, "", disabled(name)
	}
	return nil, "", wrongLogin()
}

// familiar reports whether the account's owner has logged in from an address before. The caller
// holds mu.
func (r *roster) familiar(name, from string) bool {
	return from != "" && slices.Contains(r.values.networks[name], networkOf(from))
}

// record adds an entry to the audit log about a refusal, which stands whether or not the entry is
// written.
func (l *ledger) record(e Entry) {
	_ = l.decide(func() error { return l.commit(change{entries: []Entry{e}}) })
}

// wrongLogin does not say which of the two is wrong.
func wrongLogin() error {
	return problem.New(problem.Unauthenticated, "the name or the password is wrong").With(
		problem.Remedy{Text: "try again", Action: problem.LogIn},
		problem.Remedy{Text: "have an admin set a new one", Action: problem.SetPassword},
	)
}

// disabled names the remedy. Knowing the account's name is not enough to see it: a wrong password
// has the same answer for every account.
func disabled(name string) error {
	return problem.New(problem.Unauthenticated, "the account %s is disabled", name).About(name).
		With(problem.Remedy{Text: "have an admin enable it", Action: problem.Enable, Subject: name})
}

// begin begins a session of an account and records it, with the other changes in c. The caller
// holds writing.
//
// The network used last is at the end of the list, and the list is written only when that changes:
// most logins come from the same place. Ended sessions are swept here, since something is written
// anyway.
func (d *Directory) begin(
	name string, how Method, from string, confirmed time.Time, c change,
) (string, Identity, error) {
	d.roster.mu.RLock()
	known := d.roster.values.networks[name]
	d.roster.mu.RUnlock()
	if network := networkOf(from); from != "" && (len(known) == 0 || known[len(known)-1] != network) {
		known = slices.DeleteFunc(slices.Clone(known), func(x string) bool { return x == network })
		known = append(known, network)
		c.values = append(c.values, value(networksKey+name, known[max(0, len(known)-mostNetworks):]))
	}
	now := d.now()
	if d.ledger.shared != nil {
		now = now.Add(-sweepLate)
	}
	for _, over := range d.roster.sweep(name, now) {
		c.values = append(c.values, removed(sessionKey+over.Secret))
	}
	login := Entry{
		Kind: KindLogin, By: name, Account: name, Method: how, From: from, Credential: randomID(),
		facts: &Facts{Confirmed: confirmed},
	}
	token := c.prove(&login, d.now())
	if err := d.ledger.commit(c); err != nil {
		return "", Identity{}, err
	}
	return d.roster.begun(token, from)
}

// prove adds the entry of a session that continues under a new token, which it returns, and stores
// the token's hash. The reference is new as well: until the entry is in the log, the old token
// stays valid.
func (c *change) prove(e *Entry, now time.Time) (token string) {
	token = random()
	e.facts.Secret = randomID()
	proof := sessionValue{ID: e.Credential, Hash: keyOf(token), Seen: now}
	c.values = append(c.values, value(sessionKey+e.facts.Secret, proof))
	c.entries = append(c.entries, *e)
	return token
}

// begun is the result of a recorded login.
func (r *roster) begun(token, from string) (string, Identity, error) {
	s, a := r.session(token)
	if s == nil {
		return "", Identity{}, noSession()
	}
	return token, s.identity(a, from), nil
}

// sweep returns the sessions that are over, and the oldest of an account with too many. The caller
// holds writing, and removes their values: that ends them.
func (r *roster) sweep(name string, now time.Time) (over []*session) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var own []*session
	for _, s := range r.state.sessions {
		if r.ended(s, now) {
			over = append(over, s)
		} else if s.Account == name {
			own = append(own, s)
		}
	}
	seen := func(s *session) time.Time { return r.values.sessions[s.Secret].Seen }
	slices.SortFunc(own, func(x, y *session) int { return seen(x).Compare(seen(y)) })
	return append(over, own[:max(0, len(own)-mostSessions+1)]...)
}

// sessionsOf returns the sessions of an account that are not over. They are copies, which a logout
// does not change.
func (r *roster) sessionsOf(name string) (own []*session) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	now := r.now()
	for _, s := range r.state.sessions {
		if s.Account == name && !r.ended(s, now) {
			own = append(own, s)
		}
	}
	return own
}

// session returns the session of a token, nil for an invalid token.
//
// The length is checked first, so that an impossible token is not hashed. The lookup is by hash, so
// that its timing reveals nothing about a token.
func (r *roster) session(token string) (*session, *account) {
	if len(token) != tokenSize {
		return nil, nil
	}
	hashed := keyOf(token)
	r.mu.RLock()
	defer r.mu.RUnlock()
	s := r.state.sessions[r.values.sessionOf[hashed]]
	if s == nil || r.ended(s, r.now()) || r.values.sessions[s.Secret].Hash != hashed {
		return nil, nil
	}
	a := r.state.accounts[s.Account]
	if a == nil || a.Disabled {
		return nil, nil
	}
	return s, a
}

// Authenticate returns the owner of a session token, with their present permissions, and keeps the
// session alive. The error has the code [problem.Unauthenticated].
func (d *Directory) Authenticate(ctx context.Context, sessionToken string) (Identity, error) {
	s, a, err := d.ledger.sure(sessionToken)
	if err != nil {
		return Identity{}, err
	}
	d.ledger.touch(s.Secret)
	return s.identity(a, addressOf(ctx)), nil
}

// touch notes the use of a session. A note that is lost with the process, or not written at all,
// only ends the session earlier. It checks without writing first: most requests come within the
// minute and must not wait for a change in progress.
func (l *ledger) touch(secret string) {
	if l.roster.lateSeen(secret) == nil {
		return
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	seen := l.roster.lateSeen(secret)
	if seen == nil {
		return // it has ended, or was touched meanwhile
	}
	after := *seen
	after.Seen = l.now()
	_ = l.commit(change{values: []events.KeyValue{value(sessionKey+secret, after)}, lazily: true})
}

// lateSeen returns the value of a session whose use must be noted now.
func (r *roster) lateSeen(secret string) *sessionValue {
	r.mu.RLock()
	defer r.mu.RUnlock()
	seen := r.values.sessions[secret]
	if seen == nil || r.now().Sub(seen.Seen).Abs() < seenEvery {
		return nil
	}
	return seen
}

// noSession gives no reason: a token that never existed and an ended one look the same from here.
func noSession() error {
	return problem.New(problem.Unauthenticated, "not logged in, or not any more").
		With(problem.Remedy{Text: "log in", Action: problem.LogIn})
}

// Reauthenticate checks the password of a person who is logged in, and notes that they have just
// authenticated ([Identity.Recent]). The session continues under a new token; the old one becomes
// invalid.
func (d *Directory) Reauthenticate(
	ctx context.Context,
	sessionToken, password, from string,
) (token string, who Identity, err error) {
	_, a, err := d.ledger.sure(sessionToken)
	if err != nil {
		return "", Identity{}, err
	}
	if _, _, err := d.checkPassword(ctx, a.Name, password, shown(from)); err != nil {
		return "", Identity{}, err
	}
	err = d.ledger.decide(func() (err error) {
		token, who, err = d.confirm(sessionToken, ByPassword, shown(from), change{})
		return err
	})
	return token, who, err
}

// confirm gives a session a new token and notes that its owner has authenticated. The caller holds
// writing. c holds further changes.
func (d *Directory) confirm(
	sessionToken string, how Method, from string, c change,
) (string, Identity, error) {
	s, a := d.roster.session(sessionToken) // anew: it may have ended meanwhile
	if s == nil {
		return "", Identity{}, noSession()
	}
	confirmed := Entry{
		Kind: KindConfirmed, By: a.Name, Account: a.Name, Method: how, From: from, Credential: s.ID,
		facts: new(Facts),
	}
	token := c.prove(&confirmed, d.now())
	if err := d.ledger.commit(c); err != nil {
		return "", Identity{}, err
	}
	return d.roster.begun(token, from)
}

// ChangePassword gives a person who is logged in a password of their own choice. They prove the
// present one; without a password, they must have logged in within the last ten minutes. All other
// sessions of the account end; this one continues under a new token.
func (d *Directory) ChangePassword(
	ctx context.Context,
	sessionToken, present, password, from string,
) (token string, who Identity, err error) {
	s, a, err := d.ledger.sure(sessionToken)
	if err != nil {
		return "", Identity{}, err
	}
	if !d.roster.hasPassword(a) {
		err = s.identity(a, "").Recent(d.now(), JustNow)
	} else {
		_, _, err = d.checkPassword(ctx, a.Name, present, shown(from))
	}
	if err != nil {
		return "", Identity{}, err
	}
	hashed, err := d.passwords.hashed(ctx, a.Name, password)
	if err != nil {
		return "", Identity{}, err
	}
	err = d.ledger.decide(func() (err error) {
		s, a := d.roster.session(sessionToken)
		if s == nil {
			return noSession()
		}
		var c change
		c.setPassword(Entry{
			Kind: KindPasswordSet, By: a.Name, Account: a.Name, Method: s.Method, From: shown(from),
			Credential: s.ID,
		}, hashed)
		token, who, err = d.begin(a.Name, s.Method, shown(from), d.now(), c)
		return err
	})
	return token, who, err
}

// hasPassword reports whether an account can log in with a password. The reference alone does not
// prove it: the hash may have been forgotten.
func (r *roster) hasPassword(a *account) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.values.passwords[a.Password] != ""
}

// Recent is [Identity.Recent] by the directory's clock.
func (d *Directory) Recent(i Identity, within time.Duration) error { return i.Recent(d.now(), within) }

// Logout ends a session. It succeeds if the session has ended already.
func (d *Directory) Logout(ctx context.Context, sessionToken string) error {
	return d.ledger.decide(func() error {
		s, a := d.roster.session(sessionToken)
		if s == nil {
			return nil
		}
		e := Entry{Kind: KindLogout, By: a.Name, Account: a.Name, Method: s.Method,
			From: addressOf(ctx), Credential: s.ID}
		return d.ledger.commit(change{entries: []Entry{e}})
	})
}

// Sessions returns the sessions of an account that are not over, the newest
// first.
func (d *Directory) Sessions(name string) []Session {
	d.ledger.catchUp()
	var own []Session
	live := d.roster.sessionsOf(canonicalName(name))
	d.roster.mu.RLock()
	defer d.roster.mu.RUnlock()
	for _, s := range live {
		if d.roster.values.sessions[s.Secret] != nil { // it may have ended meanwhile
			own = append(own, s.public(d.roster.values))
		}
	}
	slices.SortFunc(own, func(x, y Session) int { return y.Created.Compare(x.Created) })
	return own
}

// EndSessions ends all sessions of an account: the caller's own, or any for callers who may
// [Administer]. It returns their number.
func (d *Directory) EndSessions(ctx context.Context, by Identity, name string) (n int, err error) {
	name = canonicalName(name)
	if err := d.ownOrAdmin(by, name); err != nil {
		return 0, err
	}
	err = d.ledger.decide(func() error {
		if d.roster.account(name) == nil {
			return noAccount(name)
		}
		if n = len(d.roster.sessionsOf(name)); n == 0 {
			return nil
		}
		return d.ledger.commit(change{entries: []Entry{by.entry(ctx, KindSessionsEnded, name)}})
	})
	return n, err
}

// EndSession ends one session of an account, by its ID: the caller's own, or any for callers who
// may [Administer].
func (d *Directory) EndSession(ctx context.Context, by Identity, name, id string) error {
	name = canonicalName(name)
	if err := d.ownOrAdmin(by, name); err != nil {
		return err
	}
	return d.ledger.decide(func() error {
		if !slices.ContainsFunc(d.roster.sessionsOf(name), func(s *session) bool { return s.ID == id }) {
			return problem.New(problem.NotFound, "%s has no session %q", shown(name),
				shown(id)).About(shown(name))
		}
		e := by.entry(ctx, KindSessionEnded, name)
		e.Credential = id
		return d.ledger.commit(change{entries: []Entry{e}})
	})
}

// ownOrAdmin returns nil if an identity may change an account's belongings: the owner, though not
// by a token, or an administrator.
func (d *Directory) ownOrAdmin(by Identity, name string) error {
	if by.Account == name && by.Account != "" && by.Method != ByToken && !by.everything {
		return nil
	}
	return d.mayOrRefuse(by, Administer, "")
}
