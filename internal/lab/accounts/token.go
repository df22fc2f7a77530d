package accounts

import (
	"cmp"
	"context"
	"crypto/rand"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// TokenPrefix begins every API token, so that people and repository scanners recognize one.
const TokenPrefix = "campaignd_"

const (
	longestToken     = 366 * 24 * time.Hour
	longestTokenName = 100
	mostTokens       = 200 // that are valid, of an account
	usedEvery        = time.Minute
	// listedFor is how long an invalid token is still listed.
	listedFor = 90 * 24 * time.Hour
)

// Token is an API token of an account, for a program. It does not hold the secret itself, which is
// shown once.
type Token struct {
	// ID identifies it in the audit log and in lists. It is not secret.
	ID      string `json:"id"`
	Account string `json:"account"`
	// Name describes its purpose, in words.
	Name string `json:"name"`
	// Scopes are its permissions at most: it never has more than its account.
	Scopes []Permission `json:"scopes"`
	// Campaigns are the campaigns it is for; empty means those of its account.
	Campaigns []string  `json:"campaigns,omitempty"`
	Created   time.Time `json:"created"`
	Expires   time.Time `json:"expires"`
	// Used is the last request, to within a minute, and From its address; Used is zero for an
	// unused token.
	Used time.Time `json:"used,omitzero"`
	From string    `json:"from,omitempty"`
	// Revoked is when it was revoked; zero if it was not.
	Revoked time.Time `json:"revoked,omitzero"`
}

// public returns the visible part of a token.
func (t *token) public(v *values) Token {
	p := Token{
		ID:        t.ID,
		Account:   t.Account,
		Name:      t.Name,
		Scopes:    t.Scopes,
		Campaigns: t.Campaigns,
		Created:   t.Created,
		Expires:   t.Expires,
		Revoked:   t.Revoked,
	}
	if used := v.tokens[t.ID]; used != nil {
		p.Used, p.From = used.Used, used.From
	}
	return p
}

// valid reports whether a token is valid at a time. A disabled account is checked elsewhere. A
// token made while the clock was ahead gets its full lifetime from the moment this is noticed.
func (r *roster) valid(t *token, now time.Time) bool {
	created := r.since.Past(t.ID, t.Created, now)
	return t.Revoked.IsZero() && now.Before(t.Expires.Add(created.Sub(t.Created)))
}

// NewToken holds the settings of a new token.
type NewToken struct {
	Name      string       `json:"name"`
	Scopes    []Permission `json:"scopes"`
	Campaigns []string     `json:"campaigns,omitempty"`
	// Lifetime is how long it is valid, in nanoseconds as JSON; zero means [Options].TokenLifetime.
	Lifetime time.Duration `json:"lifetime,omitempty"`
}

// CreateToken makes an API token of an account. People make their own, if they have authenticated
// [JustNow], and a token cannot make another; users of the folder itself may make any account's.
// The secret is returned once and not stored.
func (d *Directory) CreateToken(
	ctx context.Context,
	by Identity,
	name string,
	n NewToken,
) (secret string, _ Token, err error) {
	name = canonicalName(name)
	if !by.everything && (by.Account != name || by.Method == ByToken) {
		d.Refused(by, Administer, "", by.From)
		if !by.Known() {
			return "", Token{}, nobody()
		}
		return "", Token{}, problem.New(problem.Forbidden,
			"a person makes their own API tokens: whoever had one of %s could act in their name", name).
			About(name).
			With(problem.Remedy{Text: "log in as the account it is for", Action: problem.LogIn})
	}
	if err := by.Recent(d.now(), JustNow); err != nil {
		return "", Token{}, err
	}
	secret = newSecret()
	var made Token
	if err := d.ledger.decide(func() error {
		a := d.roster.account(name)
		if a == nil {
			return noAccount(name)
		}
		t, err := d.roster.newTerms(a, n)
		if err != nil {
			return err
		}
		e := by.entry(ctx, KindTokenCreated, name)
		e.Credential = randomID()
		e.facts = &Facts{Terms: t}
		e.Reason = t.Name + ": " + joined(t.Scopes)
		if len(t.Campaigns) > 0 {
			e.Reason += " in " + strings.Join(t.Campaigns, ", ")
		}
		c := change{entries: []Entry{e}}
		for _, id := range d.roster.bygone(name) {
			c.values = append(c.values, removed(tokenKey+id))
		}
		c.values = append(c.values, value(tokenKey+e.Credential, tokenValue{Hash: keyOf(secret)}))
		if err := d.ledger.commit(c); err != nil {
			return err
		}
		made, err = d.roster.madeToken(e.Credential)
		return err
	}); err != nil {
		return "", Token{}, err
	}
	return secret, made, nil
}

// madeToken returns a token that was just changed. Over a shared log it may be gone by now.
func (r *roster) madeToken(id string) (Token, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t := r.state.tokens[id]
	if t == nil {
		return Token{}, problem.New(problem.NotFound, "there is no token %q any more", shown(id))
	}
	return t.public(r.values), nil
}

// bygone returns the tokens of an account that are no longer listed; the audit log still has them.
// The caller holds writing, and removes their values: that ends them.
func (r *roster) bygone(name string) (gone []string) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	now := r.now()
	for id, t := range r.state.tokens {
		last := t.Expires
		if !t.Revoked.IsZero() && t.Revoked.Before(last) {
			last = t.Revoked
		}
		if t.Account == name && now.Sub(last) > listedFor {
			gone = append(gone, id)
		}
	}
	return gone
}

// newTerms validates the settings of a token. A scope that the account has nowhere is refused: it
// would look like a right without being one.
func (r *roster) newTerms(a *account, n NewToken) (*Terms, error) {
	now := r.now()
	t := &Terms{
		Name:      strings.TrimSpace(n.Name),
		Scopes:    slices.Clone(n.Scopes),
		Campaigns: slices.Clone(n.Campaigns),
	}
	lifetime := cmp.Or(n.Lifetime, r.o.TokenLifetime)
	t.Expires = now.Add(lifetime)
	if a.Disabled {
		return nil, disabled(a.Name)
	}
	if t.Name == "" {
		return nil, problem.New(problem.Invalid, "a token needs a name that says what it is for")
	}
	if err := fits("the name of the token", t.Name, longestTokenName); err != nil {
		return nil, err
	}
	if lifetime < 0 || lifetime > longestToken {
		return nil, problem.New(problem.Invalid, "a token is valid for at most %d days",
			int(longestToken.Hours()/24))
	}
	if len(t.Scopes) == 0 {
		return nil, problem.New(problem.Invalid, "a token needs to say what it may: some of %s",
			joined(Permissions()))
	}
	owner := Identity{Account: a.Name, Grants: a.Grants}
	for _, p := range t.Scopes {
		if !slices.Contains(Permissions(), p) {
			return nil, problem.New(
				problem.Invalid,
				"unknown permission %q; the permissions are %s",
				p,
				joined(Permissions()),
			)
		}
		if !owner.MaySomewhere(p) {
			return nil, problem.New(problem.Conflict,
				"%s may not %s, and neither may a token of theirs", a.Name, p.Words()).
				About(a.Name)
		}
		if p.ForLab() && len(t.Campaigns) > 0 {
			return nil, problem.New(
				problem.Conflict,
				"to %s is a matter of the whole lab: a token for single campaigns may not",
				p.Words(),
			)
		}
	}
	for _, campaign := range t.Campaigns {
		if campaign == "" {
			return nil, problem.New(problem.Invalid, "the name of a campaign is empty")
		}
		if err := fits("the campaign's name", campaign, longestCampaign); err != nil {
			return nil, err
		}
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	own := 0
	for _, other := range r.state.tokens {
		if other.Account == a.Name && r.valid(other, now) {
			own++
		}
	}
	if own >= mostTokens {
		return nil, problem.New(problem.Conflict,
			"%s has %d tokens, and more are not kept: revoke those that nobody needs", a.Name, own).
			About(a.Name)
	}
	return t, nil
}

// newSecret returns a token: 256 bits in letters and digits, so that it is one word. It is padded
// with zeros to a fixed length, so that one of another length is refused without a look at the
// accounts.
func newSecret() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	text := new(big.Int).SetBytes(secret).Text(62)
	return TokenPrefix + strings.Repeat("0", secretLength-len(text)) + text
}

// secretLength is the length of 256 bits to the base 62.
const secretLength = 43

// AuthenticateToken returns the owner of an API token, with the token's permissions. The address is
// that of [WithAddress]. The error has the code [problem.Unauthenticated].
func (d *Directory) AuthenticateToken(ctx context.Context, bearer string) (Identity, error) {
	from := addressOf(ctx)
	if !strings.HasPrefix(bearer, TokenPrefix) || len(bearer) != len(TokenPrefix)+secretLength {
		return Identity{}, problem.New(problem.Unauthenticated,
			"not an API token of campaignd: those begin with %s", TokenPrefix).
			With(problem.Remedy{Text: "make a token, or log in", Action: problem.LogIn})
	}
	t, a, why, err := d.ledger.sureToken(bearer)
	if err != nil {
		return Identity{}, err
	}
	if why != "" {
		e := Entry{Kind: KindRefused, Method: ByToken, From: from, Reason: why}
		if t != nil {
			e.Account, e.Credential = t.Account, t.ID
		}
		d.ledger.refuse(e)
		return Identity{}, noToken(why)
	}
	d.ledger.used(t.ID, from)
	return t.identity(a, from), nil
}

// token returns the token that a bearer shows and its account, or why it is invalid. The reason is
// for the audit log and for the bearer.
func (r *roster) token(bearer string) (t *token, a *account, why string) {
	r.mu.RLock()
	t = r.state.tokens[r.values.tokenOf[keyOf(bearer)]]
	if t != nil {
		a = r.state.accounts[t.Account]
	}
	r.mu.RUnlock()
	switch {
	case t == nil:
		why = "nobody knows this API token"
	case !t.Revoked.IsZero():
		why = "this API token was revoked"
	case !r.valid(t, r.now()):
		why = "this API token has expired"
	case a == nil || a.Disabled:
		why = "the account of this API token is disabled"
	}
	return t, a, why
}

// noToken gives the reason: to a guesser it is still only an unknown token.
func noToken(why string) error {
	return problem.New(problem.Unauthenticated, "%s", why).
		With(problem.Remedy{Text: "log in, and make a new one", Action: problem.LogIn})
}

// identity returns the identity of a request with the token.
func (t *token) identity(a *account, from string) Identity {
	i := Identity{
		Account:     a.Name,
		DisplayName: a.DisplayName,
		Method:      ByToken,
		Grants:      append([]Grant{}, a.Grants...),
		ExpertNames: slices.Clone(a.AnswersAs),
		Scopes:      append([]Permission{}, t.Scopes...),
		Credential:  t.ID,
		From:        from,
	}
	if len(t.Campaigns) > 0 {
		i.Campaigns = slices.Clone(t.Campaigns)
	}
	return i
}

// used notes the use of a token, if it can. The note is written lazily and at most once a minute:
// programs make many requests, and losing it does no harm.
func (l *ledger) used(id, from string) {
	if l.roster.lateUsed(id) == nil {
		return
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	before := l.roster.lateUsed(id)
	if before == nil {
		return
	}
	after := *before
	after.Used, after.From = l.now(), from
	_ = l.commit(change{values: []events.KeyValue{value(tokenKey+id, after)}, lazily: true})
}

// lateUsed returns the value of a token whose use must be noted now.
func (r *roster) lateUsed(id string) *tokenValue {
	r.mu.RLock()
	defer r.mu.RUnlock()
	used := r.values.tokens[id]
	if used == nil || r.now().Sub(used.Used).Abs() < usedEvery {
		return nil
	}
	return used
}

// Tokens returns the tokens of an account, the newest first, including, for some months, invalid
// ones.
func (d *Directory) Tokens(name string) []Token {
	d.ledger.catchUp()
	d.roster.mu.RLock()
	defer d.roster.mu.RUnlock()
	var own []Token
	for _, t := range d.roster.state.tokens {
		if t.Account == canonicalName(name) {
			own = append(own, t.public(d.roster.values))
		}
	}
	slices.SortFunc(own, func(x, y Token) int {
		return cmp.Or(y.Created.Compare(x.Created), strings.Compare(x.ID, y.ID))
	})
	return own
}

// RevokeToken ends a token by its ID: the caller's own, or any for callers who may [Administer].
func (d *Directory) RevokeToken(ctx context.Context, by Identity, id string) (after Token, err error) {
	d.roster.mu.RLock()
	owner := ""
	if t := d.roster.state.tokens[id]; t != nil {
		owner = t.Account
	}
	d.roster.mu.RUnlock()
	// A caller who may not revoke a token does not learn whether it exists either.
	if err := d.ownOrAdmin(by, owner); err != nil {
		return Token{}, err
	}
	err = d.ledger.decide(func() (err error) {
		d.roster.mu.RLock()
		t := d.roster.state.tokens[id]
		d.roster.mu.RUnlock()
		switch {
		case t == nil:
			return problem.New(problem.NotFound, "there is no token %q", shown(id))
		case !t.Revoked.IsZero():
			return problem.New(problem.Conflict, "the token %s was revoked before", id).About(id)
		}
		e := by.entry(ctx, KindTokenRevoked, t.Account)
		e.Credential = id
		if err := d.ledger.commit(change{entries: []Entry{e}}); err != nil {
			return err
		}
		after, err = d.roster.madeToken(id)
		return err
	})
	return after, err
}
