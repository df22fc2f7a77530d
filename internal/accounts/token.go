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
	"github.com/campaignd/campaignd/internal/problem"
)

// TokenPrefix begins every API token, so that people and scanners of
// repositories know one when they see it.
const TokenPrefix = "campaignd_"

const (
	longestToken     = 366 * 24 * time.Hour
	longestTokenName = 100
	mostTokens       = 200 // that are valid, of an account
	usedEvery        = time.Minute
	// listedFor is how long a token is listed that is not valid any more.
	listedFor = 90 * 24 * time.Hour
)

// Token is an API token of an account, for a program. It does not hold the
// secret itself, which is shown once.
type Token struct {
	// ID identifies it in the audit log and in lists. It is no secret.
	ID      string `json:"id"`
	Account string `json:"account"`
	// Name says what it is for, in words.
	Name string `json:"name"`
	// Scopes are what it may at most: whatever its account may not, it may not
	// either.
	Scopes []Permission `json:"scopes"`
	// Campaigns are those it is for; empty: those of its account.
	Campaigns []string  `json:"campaigns,omitempty"`
	Created   time.Time `json:"created"`
	Expires   time.Time `json:"expires"`
	// Used is the last request, to within a minute, and From where it came
	// from; Used is zero for one that was never used.
	Used time.Time `json:"used,omitzero"`
	From string    `json:"from,omitempty"`
	// Revoked is when it was revoked; zero where it was not.
	Revoked time.Time `json:"revoked,omitzero"`
}

// public is what others see of a token.
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

// valid reports whether a token proves anything at a time. A disabled account
// is looked at elsewhere. One that was made while the clock was ahead lasts as
// long as it was to, from when that is seen.
func (d *Directory) valid(t *token, now time.Time) bool {
	created := d.since.Past(t.ID, t.Created, now)
	return t.Revoked.IsZero() && now.Before(t.Expires.Add(created.Sub(t.Created)))
}

// NewToken is what is wanted of a token.
type NewToken struct {
	Name      string       `json:"name"`
	Scopes    []Permission `json:"scopes"`
	Campaigns []string     `json:"campaigns,omitempty"`
	// Lifetime is how long it is valid, in nanoseconds as JSON; zero: as
	// [Options].TokenLifetime says.
	Lifetime time.Duration `json:"lifetime,omitempty"`
}

// CreateToken makes an API token of an account. People make their own, where
// they have shown [JustNow] who they are, and no token makes another; who
// works in the folder itself may make anybody's. The secret is returned once
// and kept nowhere.
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
	if err := d.decide(func() error {
		a := d.account(name)
		if a == nil {
			return noAccount(name)
		}
		t, err := d.newTerms(a, n)
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
		for _, id := range d.bygone(name) {
			c.values = append(c.values, removed(tokenKey+id))
		}
		c.values = append(c.values, value(tokenKey+e.Credential, tokenValue{Hash: keyOf(secret)}))
		if err := d.commit(c); err != nil {
			return err
		}
		made, err = d.madeToken(e.Credential)
		return err
	}); err != nil {
		return "", Token{}, err
	}
	return secret, made, nil
}

// madeToken returns a token that was just changed. Over a shared log it can be
// gone by now.
func (d *Directory) madeToken(id string) (Token, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	t := d.state.tokens[id]
	if t == nil {
		return Token{}, problem.New(problem.NotFound, "there is no token %q any more", shown(id))
	}
	return t.public(d.values), nil
}

// bygone returns the tokens of an account that are not listed any more; the
// audit log knows them. The caller holds writing, and removes what proves them:
// with that they are gone.
func (d *Directory) bygone(name string) (gone []string) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	now := d.now()
	for id, t := range d.state.tokens {
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

// newTerms checks what is wanted of a token. A scope that the account has
// nowhere is refused: it would look like a right and be none.
func (d *Directory) newTerms(a *account, n NewToken) (*Terms, error) {
	now := d.now()
	t := &Terms{
		Name:      strings.TrimSpace(n.Name),
		Scopes:    slices.Clone(n.Scopes),
		Campaigns: slices.Clone(n.Campaigns),
	}
	lifetime := cmp.Or(n.Lifetime, d.o.TokenLifetime)
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
				"there is no permission %q; there are %s",
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
	d.mu.RLock()
	defer d.mu.RUnlock()
	own := 0
	for _, other := range d.state.tokens {
		if other.Account == a.Name && d.valid(other, now) {
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

// newSecret is a token: 256 bits in letters and digits, so that it is one word.
// It is filled up with zeros to one length, so that one of another length is
// refused without a look at the accounts.
func newSecret() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	text := new(big.Int).SetBytes(secret).Text(62)
	return TokenPrefix + strings.Repeat("0", secretLength-len(text)) + text
}

// secretLength is the length of 256 bits to the base 62.
const secretLength = 43

// AuthenticateToken returns whose API token it is, with what the token may. The
// address is that of [WithAddress]. The error has the code
// [problem.Unauthenticated].
func (d *Directory) AuthenticateToken(ctx context.Context, bearer string) (Identity, error) {
	from := addressOf(ctx)
	if !strings.HasPrefix(bearer, TokenPrefix) || len(bearer) != len(TokenPrefix)+secretLength {
		return Identity{}, problem.New(problem.Unauthenticated,
			"that is no API token of campaignd: one begins with %s", TokenPrefix).
			With(problem.Remedy{Text: "make a token, or log in", Action: problem.LogIn})
	}
	t, a, why, err := d.sureToken(bearer)
	if err != nil {
		return Identity{}, err
	}
	if why != "" {
		e := Entry{Kind: KindRefused, Method: ByToken, From: from, Reason: why}
		if t != nil {
			e.Account, e.Credential = t.Account, t.ID
		}
		d.refuse(e)
		return Identity{}, noToken(why)
	}
	d.used(t.ID, from)
	return t.identity(a, from), nil
}

// token returns the token that a bearer shows and its account, and why it
// proves nothing. The reason is for the audit log and for who holds the token.
func (d *Directory) token(bearer string) (t *token, a *account, why string) {
	d.mu.RLock()
	t = d.state.tokens[d.values.tokenOf[keyOf(bearer)]]
	if t != nil {
		a = d.state.accounts[t.Account]
	}
	d.mu.RUnlock()
	switch {
	case t == nil:
		why = "nobody knows this API token"
	case !t.Revoked.IsZero():
		why = "this API token was revoked"
	case !d.valid(t, d.now()):
		why = "this API token has expired"
	case a == nil || a.Disabled:
		why = "the account of this API token is disabled"
	}
	return t, a, why
}

// noToken says why: what was guessed is still only an unknown token.
func noToken(why string) error {
	return problem.New(problem.Unauthenticated, "%s", why).
		With(problem.Remedy{Text: "log in, and make a new one", Action: problem.LogIn})
}

// identity is that of a request with the token.
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

// used notes that a token was used, if it can. It is written lazily and at most
// once a minute: a program asks often, and a lost note of that is no harm.
func (d *Directory) used(id, from string) {
	if d.lateUsed(id) == nil {
		return
	}
	d.writing.Lock()
	defer d.writing.Unlock()
	before := d.lateUsed(id)
	if before == nil {
		return
	}
	after := *before
	after.Used, after.From = d.now(), from
	_ = d.commit(change{values: []events.KeyValue{value(tokenKey+id, after)}, lazily: true})
}

// lateUsed returns what proves a token of which it is to be noted that it was
// used.
func (d *Directory) lateUsed(id string) *tokenValue {
	d.mu.RLock()
	defer d.mu.RUnlock()
	used := d.values.tokens[id]
	if used == nil || d.now().Sub(used.Used).Abs() < usedEvery {
		return nil
	}
	return used
}

// Tokens returns the tokens of an account, the newest first, also those that
// are not valid any more, for some months.
func (d *Directory) Tokens(name string) []Token {
	d.catchUp()
	d.mu.RLock()
	defer d.mu.RUnlock()
	var own []Token
	for _, t := range d.state.tokens {
		if t.Account == canonicalName(name) {
			own = append(own, t.public(d.values))
		}
	}
	slices.SortFunc(own, func(x, y Token) int {
		return cmp.Or(y.Created.Compare(x.Created), strings.Compare(x.ID, y.ID))
	})
	return own
}

// RevokeToken ends a token by its ID: one's own, or anybody's for those who may
// [Administer].
func (d *Directory) RevokeToken(ctx context.Context, by Identity, id string) (after Token, err error) {
	d.mu.RLock()
	owner := ""
	if t := d.state.tokens[id]; t != nil {
		owner = t.Account
	}
	d.mu.RUnlock()
	// Who may not revoke a token does not learn either whether there is
	// one.
	if err := d.ownOrAdmin(by, owner); err != nil {
		return Token{}, err
	}
	err = d.decide(func() (err error) {
		d.mu.RLock()
		t := d.state.tokens[id]
		d.mu.RUnlock()
		switch {
		case t == nil:
			return problem.New(problem.NotFound, "there is no token %q", shown(id))
		case !t.Revoked.IsZero():
			return problem.New(problem.Conflict, "the token %s was revoked before", id).About(id)
		}
		e := by.entry(ctx, KindTokenRevoked, t.Account)
		e.Credential = id
		if err := d.commit(change{entries: []Entry{e}}); err != nil {
			return err
		}
		after, err = d.madeToken(id)
		return err
	})
	return after, err
}
