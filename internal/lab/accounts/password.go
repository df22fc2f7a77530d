package accounts

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
	"golang.org/x/text/secure/precis"

	"github.com/campaignd/campaignd/internal/ground/problem"
)

// hash is an argon2id hash of a password. It prints as a placeholder.
type hash string

// Format implements fmt.Formatter.
func (hash) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[hash]")) }

// Secret is a password or a token in transit. It prints and marshals as a placeholder. It is not a
// string type: for a verb that does not fit, package fmt prints a string's content whatever methods
// it has.
type Secret struct{ text *string }

// NewSecret hides a text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text, which is empty for the zero Secret.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Format implements fmt.Formatter.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[secret]")) }

// owasp are the parameters of argon2id that OWASP recommends (Password Storage
// Cheat Sheet, 2024): 19 MiB, two passes, one lane.
var owasp = argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

const (
	// longestPassword is far longer than anyone types, in bytes.
	longestPassword = 1024
	// mostWaiting is the number of logins that may wait to be hashed.
	mostWaiting = 64
)

// passwords hashes passwords, a few at a time: each takes memory and tens of milliseconds. Without
// the bound on waiting, a crowd of logins would pile up memory and goroutines; the surplus is told
// to come again.
type passwords struct {
	params  argon2id.Params
	least   int
	hashing chan struct{} // one slot for each being hashed
	waiting chan struct{} // one slot for each that waits or is being hashed
	// dummyHash is the hash of no account's password. It is checked for unknown names, so that they
	// take as long as known ones.
	dummyHash Secret
}

// newPasswords hashes once, for dummyHash.
func newPasswords(o Options) (*passwords, error) {
	p := &passwords{
		params: owasp, least: o.MinPassword,
		hashing: make(chan struct{}, o.Hashing), waiting: make(chan struct{}, o.Hashing+mostWaiting),
	}
	if o.params != nil {
		p.params = *o.params
	}
	text, err := argon2id.CreateHash(random(), &p.params)
	p.dummyHash = NewSecret(text)
	return p, err
}

// in runs work in its turn. A caller who stops waiting has used nothing; work that has begun is
// finished, since argon2id cannot be stopped.
func (p *passwords) in(ctx context.Context, work func() error) error {
	select {
	case p.waiting <- struct{}{}:
	default:
		return problem.New(problem.TooMany, "very many people are logging in: try again in a few seconds").
			With(problem.Remedy{Text: "try again", Action: problem.LogIn})
	}
	defer func() { <-p.waiting }()
	select {
	case p.hashing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-p.hashing }()
	return work()
}

// prepared returns a password in the form that is hashed: the same however a keyboard composes its
// letters (OpaqueString of RFC 8265). The length bound comes first: it also bounds the cost of
// normalizing.
func prepared(password string) (string, error) {
	if len(password) > longestPassword {
		return "", problem.New(problem.Invalid, "the password has more than %d bytes", longestPassword)
	}
	text, err := precis.OpaqueString.String(password)
	if err != nil { // the library's words quote it
		return "", problem.New(problem.Invalid,
			"the password is empty, or contains an invalid character")
	}
	return text, nil
}

// hashed refuses a password that is too easily guessed, and hashes it.
//
// The rules are few and name the remedy. No classes of characters are required, which makes
// passwords worse (NIST SP 800-63B); five different ones and a ban on the account's name keep out
// the worst.
func (p *passwords) hashed(ctx context.Context, name, password string) (hash, error) {
	text, err := prepared(password)
	if err != nil {
		return "", err
	}
	distinct := make(map[rune]bool)
	for _, r := range text {
		distinct[r] = true
	}
	switch n := utf8.RuneCountInString(text); {
	case n < p.least:
		err = problem.New(
			problem.Invalid,
			"the password has %d characters, and needs at least %d: a few words that belong together for you alone are good",
			n,
			p.least,
		)
	case len(distinct) < 5:
		err = problem.New(
			problem.Invalid,
			"the password consists of %d different characters, and needs at least 5",
			len(distinct),
		)
	case len(name) >= 4 && strings.Contains(strings.ToLower(text), name):
		err = problem.New(problem.Invalid, "the password contains the name of the account")
	}
	if err != nil {
		return "", err
	}
	var hashed string
	err = p.in(ctx, func() (err error) {
		hashed, err = argon2id.CreateHash(text, &p.params)
		return err
	})
	return hash(hashed), err
}

// matches reports whether a password is the one stored as a hash; without a hash it takes as long
// and returns false. again is a new hash, if the stored one has other parameters than today's. A
// password that cannot be prepared is checked like any other, so that refusing it takes no less
// time.
func (p *passwords) matches(
	ctx context.Context, stored hash, password string,
) (ok bool, again hash, err error) {
	text, unfit := prepared(password)
	against := string(stored)
	if stored == "" {
		against = p.dummyHash.Reveal()
	}
	err = p.in(ctx, func() error {
		match, params, err := argon2id.CheckHash(text, against)
		if err != nil {
			return err
		}
		ok = match && stored != "" && unfit == nil
		if ok && *params != p.params {
			text, err := argon2id.CreateHash(text, &p.params)
			if err != nil {
				return err
			}
			again = hash(text)
		}
		return nil
	})
	return ok, again, err
}
