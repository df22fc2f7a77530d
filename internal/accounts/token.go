package accounts

import (
	"cmp"
	"context"
	"crypto/rand"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/internal/problem"
)

// TokenPrefix begins every API token, so that people and scanners of repositories know one when
// they see it.
const TokenPrefix = "campaignd_"

const (
	longestToken     = 366 * 24 * time.Hour
	longestTokenName = 100
	mostTokens       = 200 // that are valid, of an account
	usedEvery        = time.Minute
	// listedFor is how long a token is listed that is not valid any more.
	listedFor = 90 * 24 * time.Hour
)

// Token is an API token of an account, for a program. It does not hold the secret itself,
// which is shown once.
type Token struct {
	// ID identifies it in the audit trail and in lists. It is no secret.
	ID      string `json:"id"`
	Account string `json:"account"`
	// Name says what it is for, in words.
	Name string `json:"name"`
	// Scopes are what it may at most: whatever its account may not, it may not either.
	Scopes []Permission `json:"scopes"`
	// Campaigns are those it is for; empty: those of its account.
	Campaigns []string  `json:"campaigns,omitempty"`
	Created   time.Time `json:"created"`
	Expires   time.Time `json:"expires"`
	// Used is the last request, to within a minute, and From where it came from; Used is zero
	// for one that was never used.
	Used time.Time `json:"used,omitzero"`
	From string    `json:"from,omitempty"`
	// Revoked is when it was revoked; zero where it was not.
	Revoked time.Time `json:"revoked,omitzero"`
}

// valid reports whether a token proves anything at a time.
func (t *Token) valid(now time.Time) bool { return t.Revoked.IsZero() && now.Before(t.Expires) }

// NewToken is what is wanted of a token.
type NewToken struct {
	Name      string       `json:"name"`
	Scopes    []Permission `json:"scopes"`
	Campaigns []string     `json:"campaigns,omitempty"`
	// Lifetime is how long it is valid, in nanoseconds as JSON; zero: as
	// [Options].TokenLifetime says.
	Lifetime time.Duration `json:"lifetime,omitempty"`
}

// CreateToken makes an API token of an account. People make their own, where they have shown
// [JustNow] who they are, and no token makes another; whoever works in the folder itself may make
// anybody's. The secret is returned once and kept nowhere.
func (b *Book) CreateToken(
	ctx context.Context,
	by Identity,
	name string,
	n NewToken,
) (secret string, _ Token, err error) {
	name = canonicalName(name)
	if !by.everything && (by.Account != name || by.Method == ByToken) {
		b.Refused(by, Administer, "", by.From)
		if !by.Known() {
			return "", Token{}, nobody()
		}
		return "", Token{}, problem.New(problem.Forbidden, "a person makes their own API tokens: whoever had one of %s could act in their name", name).
			About(name).
			With(problem.Remedy{Text: "log in as the account it is for", Action: problem.LogIn})
	}
	if err := by.Recent(b.now(), JustNow); err != nil {
		return "", Token{}, err
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	a := b.account(name)
	if a == nil {
		return "", Token{}, noAccount(name)
	}
	t, err := b.newToken(a, n)
	if err != nil {
		return "", Token{}, err
	}
	secret = newSecret()
	e := by.entry(ctx, KindTokenCreated, name)
	e.Credential = t.ID
	e.Reason = t.Name + ": " + joined(t.Scopes)
	if len(t.Campaigns) > 0 {
		e.Reason += " in " + strings.Join(t.Campaigns, ", ")
	}
	c := change{tokens: b.bygone(name), entries: []Entry{e}}
	c.tokens[keyOf(secret)] = t
	if err := b.commit(c); err != nil {
		return "", Token{}, err
	}
	return secret, *t, nil
}

// bygone are the tokens of an account that are not listed any more. The audit trail knows them.
func (b *Book) bygone(name string) map[key]*Token {
	b.mu.RLock()
	defer b.mu.RUnlock()
	gone, now := make(map[key]*Token), b.now()
	for at, t := range b.tokens {
		last := t.Expires
		if !t.Revoked.IsZero() && t.Revoked.Before(last) {
			last = t.Revoked
		}
		if t.Account == name && now.Sub(last) > listedFor {
			gone[at] = nil
		}
	}
	return gone
}

// newToken checks what is wanted of a token.
func (b *Book) newToken(a *account, n NewToken) (*Token, error) {
	now := b.now()
	t := &Token{
		ID: randomID(), Account: a.Name, Name: strings.TrimSpace(n.Name), Created: now,
		Scopes: slices.Clone(n.Scopes), Campaigns: slices.Clone(n.Campaigns),
	}
	lifetime := cmp.Or(n.Lifetime, b.o.TokenLifetime)
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
		return nil, problem.New(problem.Invalid, "a token is valid for at most %d days", int(longestToken.Hours()/24))
	}
	if len(t.Scopes) == 0 {
		return nil, problem.New(problem.Invalid, "a token needs to say what it may: some of %s", joined(Permissions()))
	}
	owner := Identity{Account: a.Name, Grants: a.Grants}
	for _, p := range t.Scopes {
		if !slices.Contains(Permissions(), p) {
			return nil, problem.New(
				problem.Invalid,
				"there is no permission %q; there are %s",
				p,
				joined(Permissions()),
			)
		}
		if !owner.MaySomewhere(p) {
			return nil, problem.New(problem.Conflict, "%s may not %s, and neither may a token of theirs", a.Name, p.words()).
				About(a.Name)
		}
		if p.ForLab() && len(t.Campaigns) > 0 {
			return nil, problem.New(
				problem.Conflict,
				"to %s is a matter of the whole lab: a token for single campaigns may not",
				p.words(),
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
	b.mu.RLock()
	defer b.mu.RUnlock()
	own := 0
	for _, other := range b.tokens {
		if other.Account == a.Name && other.valid(now) {
			own++
		}
	}
	if own >= mostTokens {
		return nil, problem.New(problem.Conflict, "%s has %d tokens, and more are not kept: revoke those that nobody needs", a.Name, own).
			About(a.Name)
	}
	return t, nil
}

// newSecret is a token: 256 bits in letters and digits, so that it is one word.
func newSecret() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	text := new(big.Int).SetBytes(secret).Text(62)
	return TokenPrefix + strings.Repeat("0", secretLength-len(text)) + text
}

// secretLength is the length of 256 bits to the base 62.
const secretLength = 43

// AuthenticateToken returns whose API token it is, with what the token may. The address is
// that of [WithAddress]. The error has the code [problem.Unauthenticated].
func (b *Book) AuthenticateToken(ctx context.Context, bearer string) (Identity, error) {
	from := addressOf(ctx)
	if !strings.HasPrefix(bearer, TokenPrefix) || len(bearer) != len(TokenPrefix)+secretLength {
		return Identity{}, problem.New(problem.Unauthenticated, "that is no API token of campaignd: one begins with %s", TokenPrefix).
			With(problem.Remedy{Text: "make a token, or log in", Action: problem.LogIn})
	}
	at, t, a, why := b.token(bearer)
	if why != "" {
		e := Entry{Kind: KindRefused, Method: ByToken, From: from, Reason: why}
		if t != nil {
			e.Account, e.Credential = t.Account, t.ID
		}
		b.refuse(e)
		return Identity{}, noToken(why)
	}
	if b.now().Sub(t.Used) >= usedEvery {
		b.used(at, b.now(), from)
	}
	return t.identity(a, from), nil
}

// token returns the token that a bearer shows and its account, and why it proves nothing.
func (b *Book) token(bearer string) (at key, t *Token, a *account, why string) {
	at = keyOf(bearer)
	b.mu.RLock()
	t = b.tokens[at]
	if t != nil {
		a = b.accounts[t.Account]
	}
	b.mu.RUnlock()
	switch {
	case t == nil:
		why = "nobody knows this API token"
	case !t.Revoked.IsZero():
		why = "this API token was revoked"
	case !t.valid(b.now()):
		why = "this API token has expired"
	case a == nil || a.Disabled:
		why = "the account of this API token is disabled"
	}
	return at, t, a, why
}

func noToken(why string) error {
	return problem.New(problem.Unauthenticated, "%s", why).
		With(problem.Remedy{Text: "log in, and make a new one", Action: problem.LogIn})
}

// identity is that of a request with the token.
func (t *Token) identity(a *account, from string) Identity {
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

// used notes that a token was used, if it can.
func (b *Book) used(at key, now time.Time, from string) {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.RLock()
	t := b.tokens[at]
	b.mu.RUnlock()
	if t == nil || now.Sub(t.Used) < usedEvery {
		return
	}
	seen := *t
	seen.Used, seen.From = now, from
	_ = b.commit(change{tokens: map[key]*Token{at: &seen}, lazily: true})
}

// Tokens returns the tokens of an account, the newest first, also those that are not valid any
// more, for some months.
func (b *Book) Tokens(name string) []Token {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var own []Token
	for _, t := range b.tokens {
		if t.Account == canonicalName(name) {
			own = append(own, *t)
		}
	}
	slices.SortFunc(own, func(x, y Token) int {
		return cmp.Or(y.Created.Compare(x.Created), strings.Compare(x.ID, y.ID))
	})
	return own
}

// RevokeToken ends a token by its ID: one's own, or anybody's for those who may [Administer].
func (b *Book) RevokeToken(ctx context.Context, by Identity, id string) (Token, error) {
	b.mu.RLock()
	owner := ""
	for _, t := range b.tokens {
		if t.ID == id {
			owner = t.Account
		}
	}
	b.mu.RUnlock()
	// Whoever may not revoke a token does not learn either whether there is one.
	if err := b.ownOrAdmin(by, owner); err != nil {
		return Token{}, err
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	now := b.now()
	b.mu.RLock()
	var at key
	var revoked Token
	for k, t := range b.tokens {
		if t.ID == id {
			at, revoked = k, *t
		}
	}
	b.mu.RUnlock()
	switch {
	case at == "":
		return Token{}, problem.New(problem.NotFound, "there is no token %q", shown(id))
	case !revoked.Revoked.IsZero():
		return Token{}, problem.New(problem.Conflict, "the token %s was revoked before", id).About(id)
	}
	revoked.Revoked = now
	e := by.entry(ctx, KindTokenRevoked, revoked.Account)
	e.Credential = id
	if err := b.commit(change{tokens: map[key]*Token{at: &revoked}, entries: []Entry{e}}); err != nil {
		return Token{}, err
	}
	return revoked, nil
}
