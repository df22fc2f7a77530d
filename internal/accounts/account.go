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

// Account is a person who can log in. It is a copy: changing it changes
// nothing.
type Account struct {
	// Name is what they log in with and are recorded under, as "person:ada". It
	// is theirs for ever: an account is disabled, never removed, so that a name
	// in a log always means the same person.
	Name        string `json:"name"`
	DisplayName string `json:"display_name,omitempty"`
	Email       string `json:"email,omitempty"`
	Disabled    bool   `json:"disabled,omitempty"`
	// AnswersAs are the experts of campaigns who are this person under another
	// name.
	AnswersAs []string  `json:"answers_as,omitempty"`
	Grants    []Grant   `json:"grants"`
	Created   time.Time `json:"created"`
	// PasswordSet is when the password was set, zero where there is none.
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

// public is what others see. What of it depends on a value is shown where
// there is one.
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

// public returns what others see of an account.
func (d *Directory) public(a *account) Account {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return a.public(d.values)
}

// isAdmin reports whether the account is one that can look after the others. A
// disabled one cannot, and does not count as the last.
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
	// Password may be empty for a person who logs in with OpenID Connect.
	Password Secret `json:"-"`
}

const (
	longestDisplayName = 200
	longestEmail       = 254
	mostAnswersAs      = 50
	longestExpert      = 200
)

// accountName is how names are written: what needs no quoting in a log or a
// command, and of which no two look the same.
var accountName = regexp.MustCompile(`^[a-z0-9][a-z0-9._@+-]{0,63}$`)

// canonicalName is the name of an account as it is stored. People type capitals
// and spaces; a log has one spelling for a person.
func canonicalName(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// checkName refuses a name that would need quoting, or that events use for a
// part of the program.
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

// checkDetails refuses what cannot be kept of a person. The bounds are
// generous; they are there so that no request can make a record of the log as
// long as it likes.
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

// checkExperts refuses an account under whose names another person answers. Both
// ways are looked at: the account's names against other accounts, and its own
// name against what others answer as.
func (d *Directory) checkExperts(a *account) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, expert := range a.AnswersAs {
		if other := d.state.accounts[expert]; other != nil && expert != a.Name {
			return problem.New(problem.Conflict,
				"%s is an account of its own: %s cannot answer as %s", expert, a.Name, expert).
				About(expert)
		}
	}
	for _, other := range d.state.accounts {
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

// mayGive says why a caller may not give access to others: those who may must
// have shown [JustNow] who they are, since a session that was found open would
// otherwise become access that outlasts it. Taking access away is always
// allowed.
func (d *Directory) mayGive(by Identity) error {
	if err := d.mayOrRefuse(by, Administer, ""); err != nil {
		return err
	}
	return by.Recent(d.now(), JustNow)
}

// Add makes an account, for those who may [Administer] and have shown [JustNow]
// who they are. The first one must be an admin's.
//
// The password is hashed before writing is taken, since that takes tens of
// milliseconds in which no other change could be made.
func (d *Directory) Add(ctx context.Context, by Identity, n NewAccount) (Account, error) {
	if err := d.mayGive(by); err != nil {
		return Account{}, err
	}
	hashed := hash("")
	if password := n.Password.Reveal(); password != "" {
		var err error
		if hashed, err = d.newPassword(ctx, canonicalName(n.Name), password); err != nil {
			return Account{}, err
		}
	}
	if err := d.decide(func() error {
		a, entries, err := d.newAccount(ctx, by, n)
		if err != nil {
			return err
		}
		if d.none() && !a.isAdmin() {
			return problem.New(problem.NotNow,
				"the first account must be an admin's, who looks after the others").
				With(problem.Remedy{Text: "make one first", Action: problem.AddAccount})
		}
		c := change{entries: entries}
		if hashed != "" {
			c.setPassword(by.entry(ctx, KindPasswordSet, a.Name), hashed)
		}
		return d.commit(c)
	}); err != nil {
		return Account{}, err
	}
	return d.known(n.Name)
}

// setPassword keeps the hash of a new password, and adds the entry that names
// it. The reference is new each time, so that the earlier hash stays good until
// the entry is in the log.
func (c *change) setPassword(e Entry, hashed hash) {
	e.facts = &Facts{Secret: randomID()}
	c.values = append(c.values, value(passwordKey+e.facts.Secret, hashed))
	c.entries = append(c.entries, e)
}

// newAccount checks an account without a password, and returns it as the
// entries make it. The caller holds writing.
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
	if there := d.account(a.Name); there != nil {
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
	if err := d.checkExperts(a); err != nil {
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

// granted completes an entry about a role that is given or taken. The issuer is
// in words for the audit log and as a fact for the state, which must not be
// read out of words.
func granted(e Entry, g Grant) Entry {
	e.Role, e.Campaign = g.Role, g.Campaign
	if g.Issuer != "" {
		e.Reason = "as " + g.Issuer + " says"
		e.facts = &Facts{Issuer: g.Issuer}
	}
	return e
}

// Accounts returns every account, in the order of their names. The caller has
// asked whether they may be seen.
func (d *Directory) Accounts() []Account {
	d.catchUp()
	d.mu.RLock()
	defer d.mu.RUnlock()
	all := make([]Account, 0, len(d.state.accounts))
	for _, a := range d.state.accounts {
		all = append(all, a.public(d.values))
	}
	return sorted(all, func(a Account) string { return a.Name })
}

// Account returns an account, or an error of code [problem.NotFound].
func (d *Directory) Account(name string) (Account, error) {
	d.catchUp()
	return d.known(name)
}

// known is Account as far as the state knows.
func (d *Directory) known(name string) (Account, error) {
	a := d.account(canonicalName(name))
	if a == nil {
		return Account{}, noAccount(name)
	}
	return d.public(a), nil
}

// noAccount is the answer to a name that no account has, for callers who may
// know which there are. A login must not give it: it would tell a stranger
// which names there are.
func noAccount(name string) error {
	return problem.New(problem.NotFound, "there is no account %q", shown(name)).About(shown(name)).
		With(problem.Remedy{Text: "make one", Action: problem.AddAccount})
}

// update changes an account, for those who may [Administer]. edit returns the
// entries about it, and adds to the change what they refer to; without any,
// nothing is written.
func (d *Directory) update(
	by Identity,
	name string,
	edit func(a *account, c *change) ([]Entry, error),
) (after Account, err error) {
	if err := d.mayOrRefuse(by, Administer, ""); err != nil {
		return Account{}, err
	}
	err = d.decide(func() error {
		after, err = d.edit(canonicalName(name), edit)
		return err
	})
	return after, err
}

// edit is update for a caller that holds writing and has checked who asks. The
// last admin is protected here, by a fold of what is to be recorded, so that no
// way of changing an account can forget it.
func (d *Directory) edit(name string, edit func(a *account, c *change) ([]Entry, error)) (Account, error) {
	before := d.account(name)
	if before == nil {
		return Account{}, noAccount(name)
	}
	var c change
	entries, err := edit(before, &c)
	if err != nil {
		return d.public(before), err
	}
	if c.entries = append(c.entries, entries...); len(c.entries) == 0 {
		return d.public(before), nil
	}
	if before.isAdmin() && !before.after(c.entries).isAdmin() && !d.otherAdmin(name) {
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
	if err := d.commit(c); err != nil {
		return Account{}, err
	}
	return d.known(name)
}

// otherAdmin reports whether there is an admin besides an account. The caller
// holds writing, so that two admins cannot remove each other at once.
func (d *Directory) otherAdmin(name string) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, a := range d.state.accounts {
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

// Change changes what is said of an account. It needs [JustNow] like giving
// access does: with OpenID Connect an e-mail address decides whose account it
// is, and AnswersAs as whom they answer.
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
		if err := d.checkExperts(after); err != nil {
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

// of returns an account with the changes, and what of it they change. what is
// the reason in the audit log: it names what changed, and of the experts who
// they are now.
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

// Grant gives an account a role. It says so where the account has it already.
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

// Revoke takes a role from an account. What it means holds from the next
// request on.
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

// Disable ends an account: its sessions and tokens end at once, and it cannot
// log in. This is also how a person is removed who has left: a name that stands
// in logs is never given to another person.
func (d *Directory) Disable(ctx context.Context, by Identity, name string) (Account, error) {
	return d.update(by, name, func(a *account, _ *change) ([]Entry, error) {
		if a.Disabled {
			return nil, problem.New(problem.Conflict, "the account %s is disabled already",
				a.Name).About(a.Name)
		}
		entries := []Entry{by.entry(ctx, KindDisabled, a.Name)}
		d.mu.RLock()
		defer d.mu.RUnlock()
		now := d.now()
		for _, t := range d.state.tokens {
			if t.Account == a.Name && d.valid(t, now) {
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

// SetPassword gives an account a new password, for those who may [Administer]
// and have shown [JustNow] who they are; people change their own with
// [Directory.ChangePassword]. All sessions of the account end; its tokens stay.
// The failed attempts are forgotten as well, since a person who gets a new
// password has mostly used them up.
func (d *Directory) SetPassword(ctx context.Context, by Identity, name, password string) (Account, error) {
	if err := d.mayGive(by); err != nil {
		return Account{}, err
	}
	name = canonicalName(name)
	if d.account(name) == nil {
		return Account{}, noAccount(name)
	}
	hashed, err := d.newPassword(ctx, name, password)
	if err != nil {
		return Account{}, err
	}
	return d.update(by, name, func(a *account, c *change) ([]Entry, error) {
		d.limits.forget(name)
		c.setPassword(by.entry(ctx, KindPasswordSet, name), hashed)
		return nil, nil
	})
}

// Unlock forgets the failed attempts to log in: those of an account, or all of
// them where the name is empty. It is recorded, since it gives a stranger
// further attempts too, and since the counts are made anew from the log at the
// next start.
func (d *Directory) Unlock(ctx context.Context, by Identity, name string) error {
	if err := d.mayOrRefuse(by, Administer, ""); err != nil {
		return err
	}
	name = canonicalName(name)
	if name != "" && d.account(name) == nil {
		return noAccount(name)
	}
	return d.decide(func() error {
		d.limits.forget(name)
		return d.commit(change{entries: []Entry{by.entry(ctx, KindUnlocked, name)}})
	})
}

// shown is a text as it can be shown and recorded. The bound is in bytes; a
// character that it would cut is left out.
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
