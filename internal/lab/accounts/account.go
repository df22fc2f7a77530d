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

	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Account is a person who can log in. It is a copy: changing it does not change the directory.
type Account struct {
	// Name is the name the person logs in with and is recorded under, as "person:ada". It is never
	// reused: an account is disabled, never removed, so that a name in a log always means the same
	// person.
	Name        string `json:"name"`
	DisplayName string `json:"display_name,omitempty"`
	Email       string `json:"email,omitempty"`
	Disabled    bool   `json:"disabled,omitempty"`
	// AnswersAs lists the experts of campaigns that this person is, under other names.
	AnswersAs []string  `json:"answers_as,omitempty"`
	Grants    []Grant   `json:"grants"`
	Created   time.Time `json:"created"`
	// PasswordSet is when the password was set; zero without a password.
	PasswordSet time.Time `json:"password_set,omitzero"`
	Passkeys    []Passkey `json:"passkeys,omitempty"`
	Links       []Link    `json:"links,omitempty"`
}

// Link ties an account to a person at an OpenID Connect issuer.
type Link struct {
	Issuer  string    `json:"issuer"`
	Subject string    `json:"subject"`
	Since   time.Time `json:"since"`
}

// public returns the visible part of an account. Fields that depend on a stored value are filled
// where the value still exists.
func (a *account) public(v *values) Account {
	p := Account{
		Name:        a.Name,
		DisplayName: a.DisplayName,
		Email:       a.Email,
		Disabled:    a.Disabled,
		AnswersAs:   slices.Clone(a.AnswersAs),
		Grants:      append([]Grant{}, a.Grants...),
		Created:     a.Created,
		Links:       slices.Clone(a.Links),
	}
	if v.passwords[a.Password] != "" {
		p.PasswordSet = a.PasswordSet
	}
	for _, k := range a.Passkeys {
		p.Passkeys = append(p.Passkeys, k.public(v))
	}
	return p
}

// public returns the visible part of an account.
func (r *roster) public(a *account) Account {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return a.public(r.values)
}

// isAdmin reports whether the account can administer the others. A disabled account cannot, and
// does not count as the last admin.
func (a *account) isAdmin() bool {
	return !a.Disabled && slices.ContainsFunc(a.Grants, func(g Grant) bool { return g.gives(Administer, "") })
}

// NewAccount holds the settings of a new account.
type NewAccount struct {
	Name        string   `json:"name"`
	DisplayName string   `json:"display_name,omitempty"`
	Email       string   `json:"email,omitempty"`
	AnswersAs   []string `json:"answers_as,omitempty"`
	Grants      []Grant  `json:"grants,omitempty"`
	// Password may be empty for a person who logs in with OpenID Connect.
	Password Secret `json:"-"`
}

const (
	longestDisplayName = 200
	longestEmail       = 254
	mostAnswersAs      = 50
	longestExpert      = 200
)

// accountName is the form of names: no quoting needed in a log or a command, and no two names that
// look alike.
var accountName = regexp.MustCompile(`^[a-z0-9][a-z0-9._@+-]{0,63}$`)

// canonicalName returns the stored form of an account name. People type capitals and spaces; a log
// has one spelling for a person.
func canonicalName(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// checkName refuses a name that would need quoting, or that events use for a component of
// campaignd.
func checkName(name string) error {
	if !accountName.MatchString(name) {
		return problem.New(
			problem.Invalid,
			"%q is not a valid account name: use up to 64 of the letters a to z, digits and "+
				". _ @ + -, beginning with a letter or a digit",
			name,
		)
	}
	if name == "engine" || name == "unknown" {
		return problem.New(problem.Invalid, "campaignd uses %q for a part of itself", name)
	}
	return nil
}

// checkDetails refuses details that cannot be stored. The bounds are generous; without them one
// request could make a record of the log of any length.
func (a *account) checkDetails() error {
	if err := fits("the display name", a.DisplayName, longestDisplayName); err != nil {
		return err
	}
	if a.Email != "" {
		if parsed, err := mail.ParseAddress(a.Email); err != nil || parsed.Address != a.Email {
			return problem.New(problem.Invalid, "%q is not an e-mail address", a.Email)
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

// checkExperts refuses an expert name that belongs to another person. It checks both directions:
// the account's expert names against other accounts, and its own name against the expert names of
// others.
func (r *roster) checkExperts(a *account) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, expert := range a.AnswersAs {
		if other := r.state.accounts[expert]; other != nil && expert != a.Name {
			return problem.New(problem.Conflict,
				"%s is an account of its own: %s cannot answer as %s", expert, a.Name, expert).
				About(expert)
		}
	}
	for _, other := range r.state.accounts {
		if other.Name != a.Name && slices.Contains(other.AnswersAs, a.Name) {
			return problem.New(problem.Conflict, "%s answers as %s, and so would the account %s",
				other.Name, a.Name, a.Name).
				About(other.Name).
				With(problem.Remedy{Text: "change who answers under that name",
					Action: problem.ChangeAccount, Subject: other.Name})
		}
	}
	return nil
}

// mayGive says why a caller may not give access to others. Callers must have authenticated
// [JustNow]: otherwise a session left open could be turned into access that outlasts it. Taking
// access away is always allowed.
func (d *Directory) mayGive(by Identity) error {
	if err := d.mayOrRefuse(by, Administer, ""); err != nil {
		return err
	}
	return by.Recent(d.now(), JustNow)
}

// Add makes an account, for callers who may [Administer] and have authenticated [JustNow]. The
// first account must be an admin's.
//
// The password is hashed before writing is locked: hashing takes tens of milliseconds and would
// block every other change.
func (d *Directory) Add(ctx context.Context, by Identity, n NewAccount) (Account, error) {
	if err := d.mayGive(by); err != nil {
		return Account{}, err
	}
	hashed := hash("")
	if password := n.Password.Reveal(); password != "" {
		var err error
		if hashed, err = d.passwords.hashed(ctx, canonicalName(n.Name), password); err != nil {
			return Account{}, err
		}
	}
	if err := d.ledger.decide(func() error {
		a, entries, err := d.newAccount(ctx, by, n)
		if err != nil {
			return err
		}
		if d.roster.none() && !a.isAdmin() {
			return problem.New(problem.NotNow,
				"the first account must be an admin's, who looks after the others").
				With(problem.Remedy{Text: "make one first", Action: problem.AddAccount})
		}
		c := change{entries: entries}
		if hashed != "" {
			c.setPassword(by.entry(ctx, KindPasswordSet, a.Name), hashed)
		}
		return d.ledger.commit(c)
	}); err != nil {
		return Account{}, err
	}
	return d.roster.known(n.Name)
}

// setPassword stores the hash of a new password and adds the entry that refers to it. The reference
// is new each time, so that the earlier hash stays valid until the entry is in the log.
func (c *change) setPassword(e Entry, hashed hash) {
	e.facts = &Facts{Secret: randomID()}
	c.values = append(c.values, value(passwordKey+e.facts.Secret, hashed))
	c.entries = append(c.entries, e)
}

// newAccount validates an account without a password, and returns it as the entries will make it.
// The caller holds writing.
func (d *Directory) newAccount(ctx context.Context, by Identity, n NewAccount) (*account, []Entry, error) {
	details := &Details{
		DisplayName: strings.TrimSpace(n.DisplayName),
		Email:       strings.TrimSpace(n.Email),
		AnswersAs:   slices.Clone(n.AnswersAs),
		Handle:      make([]byte, 32),
	}
	_, _ = rand.Read(details.Handle) // never fails
	a := &account{Name: canonicalName(n.Name)}
	a.describe(details)
	if err := checkName(a.Name); err != nil {
		return nil, nil, err
	}
	if err := a.checkDetails(); err != nil {
		return nil, nil, err
	}
	if there := d.roster.account(a.Name); there != nil {
		err := problem.New(problem.Conflict,
			"there is an account %s already, and a name is never given to somebody else", a.Name).
			About(a.Name)
		if there.Disabled {
			err = err.With(
				problem.Remedy{Text: "if it is the same person, enable it", Action: problem.Enable,
					Subject: a.Name},
			)
		}
		return nil, nil, err
	}
	if err := d.roster.checkExperts(a); err != nil {
		return nil, nil, err
	}
	added := by.entry(ctx, KindAdded, a.Name)
	added.facts = &Facts{Details: details}
	entries := []Entry{added}
	for i, g := range n.Grants {
		if err := g.check(); err != nil {
			return nil, nil, err
		}
		if !slices.Contains(n.Grants[:i], g) {
			entries = append(entries, granted(by.entry(ctx, KindGranted, a.Name), g))
		}
	}
	return a.after(entries), entries, nil
}

// granted completes an entry about a granted or revoked role. The issuer is in the words for the
// audit log and in the facts for the state, which must not parse words.
func granted(e Entry, g Grant) Entry {
	e.Role, e.Campaign = g.Role, g.Campaign
	if g.Issuer != "" {
		e.Reason = "as " + g.Issuer + " says"
		e.facts = &Facts{Issuer: g.Issuer}
	}
	return e
}

// Accounts returns every account, ordered by name. The caller has checked that they may be shown.
func (d *Directory) Accounts() []Account {
	d.ledger.catchUp()
	d.roster.mu.RLock()
	defer d.roster.mu.RUnlock()
	all := make([]Account, 0, len(d.roster.state.accounts))
	for _, a := range d.roster.state.accounts {
		all = append(all, a.public(d.roster.values))
	}
	return sorted(all, func(a Account) string { return a.Name })
}

// Account returns an account, or an error of code [problem.NotFound].
func (d *Directory) Account(name string) (Account, error) {
	d.ledger.catchUp()
	return d.roster.known(name)
}

// known returns an account from the present state, without catching up first.
func (r *roster) known(name string) (Account, error) {
	a := r.account(canonicalName(name))
	if a == nil {
		return Account{}, noAccount(name)
	}
	return r.public(a), nil
}

// noAccount is the error for an unknown name, for callers who may know the names. A login must not
// return it: it would tell a stranger which names exist.
func noAccount(name string) error {
	return problem.New(problem.NotFound, "there is no account %q", shown(name)).About(shown(name)).
		With(problem.Remedy{Text: "make one", Action: problem.AddAccount})
}

// update changes an account, for callers who may [Administer]. edit returns the entries about it
// and adds the values they refer to; without entries nothing is written.
func (d *Directory) update(
	by Identity,
	name string,
	edit func(a *account, c *change) ([]Entry, error),
) (after Account, err error) {
	if err := d.mayOrRefuse(by, Administer, ""); err != nil {
		return Account{}, err
	}
	err = d.ledger.decide(func() error {
		after, err = d.edit(canonicalName(name), edit)
		return err
	})
	return after, err
}

// edit is update for a caller that holds writing and has checked the permission. The last admin is
// protected here, by folding the entries before they are recorded, so that no way of changing an
// account can forget it.
func (d *Directory) edit(name string, edit func(a *account, c *change) ([]Entry, error)) (Account, error) {
	before := d.roster.account(name)
	if before == nil {
		return Account{}, noAccount(name)
	}
	var c change
	entries, err := edit(before, &c)
	if err != nil {
		return d.roster.public(before), err
	}
	if c.entries = append(c.entries, entries...); len(c.entries) == 0 {
		return d.roster.public(before), nil
	}
	if before.isAdmin() && !before.after(c.entries).isAdmin() && !d.roster.otherAdmin(name) {
		return Account{}, problem.New(
			problem.NotNow,
			"%s is the last admin: without one, nobody could look after the accounts",
			name,
		).
			About(name).
			With(problem.Remedy{
				Text:   "make somebody else an admin first",
				Action: problem.Grant,
				Ways:   []string{string(Admin)},
			})
	}
	if err := d.ledger.commit(c); err != nil {
		return Account{}, err
	}
	return d.roster.known(name)
}

// otherAdmin reports whether another account is an admin too. The caller holds writing, so that two
// admins cannot remove each other at once.
func (r *roster) otherAdmin(name string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, a := range r.state.accounts {
		if a.Name != name && a.isAdmin() {
			return true
		}
	}
	return false
}

// Changes are the new details of an account; nil fields stay.
type Changes struct {
	DisplayName *string   `json:"display_name,omitempty"`
	Email       *string   `json:"email,omitempty"`
	AnswersAs   *[]string `json:"answers_as,omitempty"`
}

// Change changes the details of an account. It needs [JustNow] as granting access does: with OpenID
// Connect the e-mail address decides whose account it is, and AnswersAs decides as whom they
// answer.
func (d *Directory) Change(ctx context.Context, by Identity, name string, changes Changes) (Account, error) {
	if err := d.mayGive(by); err != nil {
		return Account{}, err
	}
	return d.update(by, name, func(a *account, _ *change) ([]Entry, error) {
		after, what := changes.of(a)
		if len(what) == 0 {
			return nil, nil
		}
		if err := after.checkDetails(); err != nil {
			return nil, err
		}
		if err := d.roster.checkExperts(after); err != nil {
			return nil, err
		}
		e := by.entry(ctx, KindChanged, a.Name)
		e.Reason = strings.Join(what, "; ")
		e.facts = &Facts{Details: &Details{
			DisplayName: after.DisplayName, Email: after.Email, AnswersAs: after.AnswersAs,
		}}
		return []Entry{e}, nil
	})
}

// of returns the changed account and the names of the changed fields, which are the reason in the
// audit log; for the experts it lists the new ones.
func (c Changes) of(a *account) (after *account, what []string) {
	changed := *a
	if name := c.DisplayName; name != nil && strings.TrimSpace(*name) != a.DisplayName {
		changed.DisplayName = strings.TrimSpace(*name)
		what = append(what, "the display name")
	}
	if mail := c.Email; mail != nil && strings.TrimSpace(*mail) != a.Email {
		changed.Email = strings.TrimSpace(*mail)
		what = append(what, "the e-mail address")
	}
	if as := c.AnswersAs; as != nil && !slices.Equal(*as, a.AnswersAs) {
		changed.AnswersAs = slices.Clone(*as)
		what = append(what, "the experts they answer as: "+strings.Join(changed.AnswersAs, ", "))
	}
	return &changed, what
}

// Grant gives an account a role. A role that the account already has is a conflict.
func (d *Directory) Grant(ctx context.Context, by Identity, name string, g Grant) (Account, error) {
	if err := d.mayGive(by); err != nil {
		return Account{}, err
	}
	g.Issuer = "" // of an administrator, even if an issuer said so before
	return d.update(by, name, func(a *account, _ *change) ([]Entry, error) {
		if err := g.check(); err != nil {
			return nil, err
		}
		if slices.Contains(a.Grants, g) {
			return nil, problem.New(problem.Conflict, "%s is %s already", a.Name, g).About(a.Name)
		}
		return []Entry{granted(by.entry(ctx, KindGranted, a.Name), g)}, nil
	})
}

// Revoke takes a role from an account. It takes effect with the next request.
func (d *Directory) Revoke(ctx context.Context, by Identity, name string, g Grant) (Account, error) {
	same := func(has Grant) bool { return has.Role == g.Role && has.Campaign == g.Campaign }
	return d.update(by, name, func(a *account, _ *change) ([]Entry, error) {
		if err := g.check(); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(a.Grants, same) {
			return nil, problem.New(problem.Conflict, "%s is not %s", a.Name, g).About(a.Name)
		}
		g.Issuer = "" // no matter who gave it
		return []Entry{granted(by.entry(ctx, KindRevoked, a.Name), g)}, nil
	})
}

// Disable ends an account: its sessions and tokens end at once, and it cannot log in. People who
// leave are removed this way too: a name in a log is never given to another person.
func (d *Directory) Disable(ctx context.Context, by Identity, name string) (Account, error) {
	return d.update(by, name, func(a *account, _ *change) ([]Entry, error) {
		if a.Disabled {
			return nil, problem.New(problem.Conflict, "the account %s is disabled already",
				a.Name).About(a.Name)
		}
		entries := []Entry{by.entry(ctx, KindDisabled, a.Name)}
		d.roster.mu.RLock()
		defer d.roster.mu.RUnlock()
		now := d.now()
		for _, t := range d.roster.state.tokens {
			if t.Account == a.Name && d.roster.valid(t, now) {
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
func (d *Directory) Enable(ctx context.Context, by Identity, name string) (Account, error) {
	if err := d.mayGive(by); err != nil {
		return Account{}, err
	}
	return d.update(by, name, func(a *account, _ *change) ([]Entry, error) {
		if !a.Disabled {
			return nil, problem.New(problem.Conflict, "the account %s is not disabled", a.Name).About(a.Name)
		}
		return []Entry{by.entry(ctx, KindEnabled, a.Name)}, nil
	})
}

// SetPassword gives an account a new password, for callers who may [Administer] and have
// authenticated [JustNow]; people change their own with [Directory.ChangePassword]. All sessions of
// the account end; its tokens stay. The failed attempts are forgotten as well, since a person who
// needs a new password has usually used them up.
func (d *Directory) SetPassword(ctx context.Context, by Identity, name, password string) (Account, error) {
	if err := d.mayGive(by); err != nil {
		return Account{}, err
	}
	name = canonicalName(name)
	if d.roster.account(name) == nil {
		return Account{}, noAccount(name)
	}
	hashed, err := d.passwords.hashed(ctx, name, password)
	if err != nil {
		return Account{}, err
	}
	return d.update(by, name, func(a *account, c *change) ([]Entry, error) {
		d.ledger.limits.forget(name)
		c.setPassword(by.entry(ctx, KindPasswordSet, name), hashed)
		return nil, nil
	})
}

// Unlock forgets the failed login attempts of an account, or of all accounts with an empty name. It
// is recorded, since it gives a stranger further attempts too, and since the counts are rebuilt
// from the log at the next start.
func (d *Directory) Unlock(ctx context.Context, by Identity, name string) error {
	if err := d.mayOrRefuse(by, Administer, ""); err != nil {
		return err
	}
	name = canonicalName(name)
	if name != "" && d.roster.account(name) == nil {
		return noAccount(name)
	}
	return d.ledger.decide(func() error {
		d.ledger.limits.forget(name)
		return d.ledger.commit(change{entries: []Entry{by.entry(ctx, KindUnlocked, name)}})
	})
}

// shown returns a text in a form that can be displayed and recorded. The bound is in bytes; a
// character that the bound would split is dropped.
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
