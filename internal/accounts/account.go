package accounts

import (
	"context"
	"crypto/rand"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/campaignd/campaignd/internal/problem"
)

// Account is somebody who can log in. It is a copy: changing it changes nothing.
type Account struct {
	// Name is what they log in with and are recorded under, as "person:ada". It is theirs for
	// ever: an account is disabled, never removed, so that a name in a log always means the
	// same person.
	Name        string `json:"name"`
	DisplayName string `json:"display_name,omitempty"`
	Email       string `json:"email,omitempty"`
	Disabled    bool   `json:"disabled,omitempty"`
	// AnswersAs are the experts of campaigns who are this person under another name.
	AnswersAs []string  `json:"answers_as,omitempty"`
	Grants    []Grant   `json:"grants"`
	Created   time.Time `json:"created"`
	// PasswordSet is when the password was set, zero where there is none.
	PasswordSet time.Time `json:"password_set,omitzero"`
	Passkeys    []Passkey `json:"passkeys,omitempty"`
	Links       []Link    `json:"links,omitempty"`
}

// Link ties an account to somebody at an OpenID Connect issuer.
type Link struct {
	Issuer  string    `json:"issuer"`
	Subject string    `json:"subject"`
	Since   time.Time `json:"since"`
}

// account is an account as it is stored. It is never changed once others can see it.
type account struct {
	Name        string    `json:"name"`
	DisplayName string    `json:"display_name,omitempty"`
	Email       string    `json:"email,omitempty"`
	Disabled    bool      `json:"disabled,omitempty"`
	AnswersAs   []string  `json:"answers_as,omitempty"`
	Grants      []Grant   `json:"grants,omitempty"`
	Created     time.Time `json:"created"`

	Password    hash      `json:"password,omitempty"`
	PasswordSet time.Time `json:"password_set,omitzero"`
	// Handle is what authenticators know the account as: random, and no name.
	Handle   []byte    `json:"handle"`
	Passkeys []passkey `json:"passkeys,omitempty"`
	Links    []Link    `json:"links,omitempty"`
	// Addresses are those of which it is known that the person logs in from them, the newest
	// last.
	Addresses []string `json:"addresses,omitempty"`
}

// public is what others are told.
func (a *account) public() Account {
	p := Account{
		Name: a.Name, DisplayName: a.DisplayName, Email: a.Email, Disabled: a.Disabled,
		AnswersAs: slices.Clone(a.AnswersAs), Grants: append([]Grant{}, a.Grants...), Created: a.Created,
		PasswordSet: a.PasswordSet, Links: slices.Clone(a.Links),
	}
	for _, k := range a.Passkeys {
		p.Passkeys = append(p.Passkeys, k.public())
	}
	return p
}

// copy returns a copy that may be changed. Slices are only ever replaced.
func (a *account) copy() *account {
	c := *a
	return &c
}

// isAdmin reports whether the account is one that can look after the others.
func (a *account) isAdmin() bool {
	return !a.Disabled && slices.ContainsFunc(a.Grants, func(g Grant) bool { return g.gives(Administer, "") })
}

// NewAccount is what an account begins with.
type NewAccount struct {
	Name        string   `json:"name"`
	DisplayName string   `json:"display_name,omitempty"`
	Email       string   `json:"email,omitempty"`
	AnswersAs   []string `json:"answers_as,omitempty"`
	Grants      []Grant  `json:"grants,omitempty"`
	// Password may be empty for somebody who logs in with OpenID Connect.
	Password Secret `json:"-"`
}

const (
	longestDisplayName = 200
	longestEmail       = 254
	mostAnswersAs      = 50
	longestExpert      = 200
)

// accountName is how names are written: what needs no quoting in a log or a command, and of
// which no two look the same.
var accountName = regexp.MustCompile(`^[a-z0-9][a-z0-9._@+-]{0,63}$`)

// canonicalName is the name of an account as it is stored.
func canonicalName(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

func checkName(name string) error {
	if !accountName.MatchString(name) {
		return problem.New(
			problem.Invalid,
			"%q is no name for an account: it has up to 64 of the letters a to z, digits and . _ @ + -, and begins with a letter or a digit",
			name,
		)
	}
	if name == "engine" || name == "unknown" {
		return problem.New(problem.Invalid, "%q is what campaignd calls a part of itself", name)
	}
	return nil
}

// checkDetails refuses what cannot be kept of a person.
func (a *account) checkDetails() error {
	if err := fits("the display name", a.DisplayName, longestDisplayName); err != nil {
		return err
	}
	if a.Email != "" {
		if parsed, err := mail.ParseAddress(a.Email); err != nil || parsed.Address != a.Email {
			return problem.New(problem.Invalid, "%q is no e-mail address", a.Email)
		}
	}
	if err := fits("the e-mail address", a.Email, longestEmail); err != nil {
		return err
	}
	if len(a.AnswersAs) > mostAnswersAs {
		return problem.New(problem.Invalid, "an account answers as at most %d experts", mostAnswersAs)
	}
	for _, expert := range a.AnswersAs {
		if strings.TrimSpace(expert) == "" {
			return problem.New(problem.Invalid, "the name of an expert is empty")
		}
		if err := fits("the name of an expert", expert, longestExpert); err != nil {
			return err
		}
	}
	return nil
}

// checkExperts refuses an account under whose names somebody else answers.
func (b *Book) checkExperts(a *account) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, expert := range a.AnswersAs {
		if other := b.accounts[expert]; other != nil && expert != a.Name {
			return problem.New(problem.Conflict, "%s is an account of its own: %s cannot answer as %s", expert, a.Name, expert).
				About(expert)
		}
	}
	for _, other := range b.accounts {
		if other.Name != a.Name && slices.Contains(other.AnswersAs, a.Name) {
			return problem.New(problem.Conflict, "%s answers as %s, and so would the account %s", other.Name, a.Name, a.Name).
				About(other.Name).
				With(problem.Remedy{Text: "change who answers under that name", Action: problem.ChangeAccount, Subject: other.Name})
		}
	}
	return nil
}

// mayGive says why somebody may not give access to anybody: who may must have shown [JustNow] who
// they are. To take it away is always in time.
func (b *Book) mayGive(by Identity) error {
	if err := b.mayOrRefuse(by, Administer, ""); err != nil {
		return err
	}
	return by.Recent(b.now(), JustNow)
}

// Add makes an account, for those who may [Administer] and have shown [JustNow] who they are. The
// first one must be an admin's.
func (b *Book) Add(ctx context.Context, by Identity, n NewAccount) (Account, error) {
	if err := b.mayGive(by); err != nil {
		return Account{}, err
	}
	hashed := hash("")
	if password := n.Password.Reveal(); password != "" {
		var err error
		if hashed, err = b.newPassword(ctx, canonicalName(n.Name), password); err != nil {
			return Account{}, err
		}
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	a, entries, err := b.newAccount(ctx, by, n)
	if err != nil {
		return Account{}, err
	}
	if len(b.accounts) == 0 && !a.isAdmin() {
		return Account{}, problem.New(problem.NotNow, "the first account must be an admin's, who looks after the others").
			With(problem.Remedy{Text: "make one first", Action: problem.AddAccount})
	}
	if hashed != "" {
		a.Password, a.PasswordSet = hashed, a.Created
		entries = append(entries, by.entry(ctx, KindPasswordSet, a.Name))
	}
	if err := b.commit(change{accounts: map[string]*account{a.Name: a}, entries: entries}); err != nil {
		return Account{}, err
	}
	return a.public(), nil
}

// newAccount checks and makes an account without a password. The caller holds writing.
func (b *Book) newAccount(ctx context.Context, by Identity, n NewAccount) (*account, []Entry, error) {
	a := &account{
		Name: canonicalName(n.Name), DisplayName: strings.TrimSpace(n.DisplayName), Email: strings.TrimSpace(n.Email),
		AnswersAs: slices.Clone(n.AnswersAs), Created: b.now(), Handle: make([]byte, 32),
	}
	_, _ = rand.Read(a.Handle) // never fails
	if err := checkName(a.Name); err != nil {
		return nil, nil, err
	}
	if err := a.checkDetails(); err != nil {
		return nil, nil, err
	}
	if there := b.account(a.Name); there != nil {
		err := problem.New(problem.Conflict, "there is an account %s already, and a name is never given to somebody else", a.Name).
			About(a.Name)
		if there.Disabled {
			err = err.With(
				problem.Remedy{Text: "if it is the same person, enable it", Action: problem.Enable, Subject: a.Name},
			)
		}
		return nil, nil, err
	}
	if err := b.checkExperts(a); err != nil {
		return nil, nil, err
	}
	entries := []Entry{by.entry(ctx, KindAdded, a.Name)}
	for _, g := range n.Grants {
		if err := g.check(); err != nil {
			return nil, nil, err
		}
		if slices.Contains(a.Grants, g) {
			continue
		}
		a.Grants = append(a.Grants, g)
		entries = append(entries, granted(by.entry(ctx, KindGranted, a.Name), g))
	}
	return a, entries, nil
}

func granted(e Entry, g Grant) Entry {
	e.Role, e.Campaign = g.Role, g.Campaign
	if g.Issuer != "" {
		e.Reason = "as " + g.Issuer + " says"
	}
	return e
}

// Accounts returns every account, in the order of their names. It is for whoever has asked
// whether the one who asks may see them.
func (b *Book) Accounts() []Account {
	b.mu.RLock()
	defer b.mu.RUnlock()
	all := make([]Account, 0, len(b.accounts))
	for _, a := range b.accounts {
		all = append(all, a.public())
	}
	return sorted(all, func(a Account) string { return a.Name })
}

// Account returns an account, or an error of code [problem.NotFound].
func (b *Book) Account(name string) (Account, error) {
	a := b.account(canonicalName(name))
	if a == nil {
		return Account{}, noAccount(name)
	}
	return a.public(), nil
}

func noAccount(name string) error {
	return problem.New(problem.NotFound, "there is no account %q", shown(name)).About(shown(name)).
		With(problem.Remedy{Text: "make one", Action: problem.AddAccount})
}

// update changes an account, for those who may [Administer]. edit gets a copy, and returns the
// entries about it; without any, nothing is written.
func (b *Book) update(
	ctx context.Context,
	by Identity,
	name string,
	edit func(a *account, c *change) ([]Entry, error),
) (Account, error) {
	if err := b.mayOrRefuse(by, Administer, ""); err != nil {
		return Account{}, err
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	return b.edit(canonicalName(name), edit)
}

// edit is update for a caller that holds writing and has checked who asks.
func (b *Book) edit(name string, edit func(a *account, c *change) ([]Entry, error)) (Account, error) {
	before := b.account(name)
	if before == nil {
		return Account{}, noAccount(name)
	}
	after := before.copy()
	c := change{accounts: map[string]*account{name: after}}
	entries, err := edit(after, &c)
	if err != nil || len(entries) == 0 {
		return before.public(), err
	}
	if before.isAdmin() && !after.isAdmin() && !b.otherAdmin(name) {
		return Account{}, problem.New(problem.NotNow, "%s is the last admin: without one, nobody could look after the accounts", name).
			About(name).
			With(problem.Remedy{Text: "make somebody else an admin first", Action: problem.Grant, Ways: []string{string(Admin)}})
	}
	c.entries = entries
	if err := b.commit(c); err != nil {
		return Account{}, err
	}
	return after.public(), nil
}

// otherAdmin reports whether there is an admin besides an account.
func (b *Book) otherAdmin(name string) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, a := range b.accounts {
		if a.Name != name && a.isAdmin() {
			return true
		}
	}
	return false
}

// Changes are what is to be different about an account; what is nil stays.
type Changes struct {
	DisplayName *string   `json:"display_name,omitempty"`
	Email       *string   `json:"email,omitempty"`
	AnswersAs   *[]string `json:"answers_as,omitempty"`
}

// Change changes what is said of an account.
func (b *Book) Change(ctx context.Context, by Identity, name string, changes Changes) (Account, error) {
	if err := b.mayGive(by); err != nil {
		return Account{}, err
	}
	return b.update(ctx, by, name, func(a *account, _ *change) ([]Entry, error) {
		var what []string
		if d := changes.DisplayName; d != nil && strings.TrimSpace(*d) != a.DisplayName {
			a.DisplayName = strings.TrimSpace(*d)
			what = append(what, "the display name")
		}
		if m := changes.Email; m != nil && strings.TrimSpace(*m) != a.Email {
			a.Email = strings.TrimSpace(*m)
			what = append(what, "the e-mail address")
		}
		if as := changes.AnswersAs; as != nil && !slices.Equal(*as, a.AnswersAs) {
			a.AnswersAs = slices.Clone(*as)
			what = append(what, "the experts they answer as: "+strings.Join(a.AnswersAs, ", "))
		}
		if len(what) == 0 {
			return nil, nil
		}
		if err := a.checkDetails(); err != nil {
			return nil, err
		}
		if err := b.checkExperts(a); err != nil {
			return nil, err
		}
		e := by.entry(ctx, KindChanged, a.Name)
		e.Reason = strings.Join(what, "; ")
		return []Entry{e}, nil
	})
}

// Grant gives an account a role. It says so where the account has it already.
func (b *Book) Grant(ctx context.Context, by Identity, name string, g Grant) (Account, error) {
	if err := b.mayGive(by); err != nil {
		return Account{}, err
	}
	g.Issuer = "" // of an administrator, whoever else said so before
	return b.update(ctx, by, name, func(a *account, _ *change) ([]Entry, error) {
		if err := g.check(); err != nil {
			return nil, err
		}
		if slices.Contains(a.Grants, g) {
			return nil, problem.New(problem.Conflict, "%s is %s already", a.Name, g).About(a.Name)
		}
		a.Grants = append(slices.Clone(a.Grants), g)
		return []Entry{granted(by.entry(ctx, KindGranted, a.Name), g)}, nil
	})
}

// Revoke takes a role from an account. What it means holds from the next request on.
func (b *Book) Revoke(ctx context.Context, by Identity, name string, g Grant) (Account, error) {
	same := func(has Grant) bool { return has.Role == g.Role && has.Campaign == g.Campaign }
	return b.update(ctx, by, name, func(a *account, _ *change) ([]Entry, error) {
		if err := g.check(); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(a.Grants, same) {
			return nil, problem.New(problem.Conflict, "%s is not %s", a.Name, g).About(a.Name)
		}
		a.Grants = slices.DeleteFunc(slices.Clone(a.Grants), same)
		return []Entry{granted(by.entry(ctx, KindRevoked, a.Name), g)}, nil
	})
}

// Disable ends an account: its sessions and tokens end at once, and it cannot log in. This is
// also how somebody is removed who has left: a name that stands in logs is never given to
// somebody else.
func (b *Book) Disable(ctx context.Context, by Identity, name string) (Account, error) {
	return b.update(ctx, by, name, func(a *account, c *change) ([]Entry, error) {
		if a.Disabled {
			return nil, problem.New(problem.Conflict, "the account %s is disabled already", a.Name).About(a.Name)
		}
		a.Disabled = true
		b.endSessions(a.Name, c)
		c.tokens = make(map[key]*Token)
		entries := []Entry{by.entry(ctx, KindDisabled, a.Name)}
		b.mu.RLock()
		defer b.mu.RUnlock()
		now := b.now()
		for at, t := range b.tokens {
			if t.Account == a.Name && t.valid(now) {
				revoked := *t
				revoked.Revoked = now
				c.tokens[at] = &revoked
				e := by.entry(ctx, KindTokenRevoked, a.Name)
				e.Credential = t.ID
				entries = append(entries, e)
			}
		}
		slices.SortFunc(entries[1:], func(x, y Entry) int { return strings.Compare(x.Credential, y.Credential) })
		return entries, nil
	})
}

// Enable lets a disabled account log in again. Its tokens stay revoked.
func (b *Book) Enable(ctx context.Context, by Identity, name string) (Account, error) {
	if err := b.mayGive(by); err != nil {
		return Account{}, err
	}
	return b.update(ctx, by, name, func(a *account, _ *change) ([]Entry, error) {
		if !a.Disabled {
			return nil, problem.New(problem.Conflict, "the account %s is not disabled", a.Name).About(a.Name)
		}
		a.Disabled = false
		return []Entry{by.entry(ctx, KindEnabled, a.Name)}, nil
	})
}

// SetPassword gives an account a new password, for those who may [Administer] and have shown
// [JustNow] who they are; people change their own with [Book.ChangePassword]. All sessions of the
// account end; its tokens stay.
func (b *Book) SetPassword(ctx context.Context, by Identity, name, password string) (Account, error) {
	if err := b.mayGive(by); err != nil {
		return Account{}, err
	}
	name = canonicalName(name)
	if b.account(name) == nil {
		return Account{}, noAccount(name)
	}
	hashed, err := b.newPassword(ctx, name, password)
	if err != nil {
		return Account{}, err
	}
	return b.update(ctx, by, name, func(a *account, c *change) ([]Entry, error) {
		a.Password, a.PasswordSet = hashed, b.now()
		b.endSessions(name, c)
		b.limits.forget(name)
		return []Entry{by.entry(ctx, KindPasswordSet, name)}, nil
	})
}

// Unlock forgets the failed attempts to log in: those of an account, or all of them where the
// name is empty.
func (b *Book) Unlock(ctx context.Context, by Identity, name string) error {
	if err := b.mayOrRefuse(by, Administer, ""); err != nil {
		return err
	}
	name = canonicalName(name)
	if name != "" && b.account(name) == nil {
		return noAccount(name)
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	b.limits.forget(name)
	return b.commit(change{entries: []Entry{by.entry(ctx, KindUnlocked, name)}})
}

// shown is a text as it can be shown and recorded.
func shown(text string) string {
	const longest = 500
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return strings.ToValidUTF8(text[:min(len(text), longest)], "")
}
