package accounts

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/campaignd/campaignd/internal/ground/input"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// OIDC is the OpenID Connect issuer of a lab: campaignd admits the people it knows, within bounds.
// At least Domains or Roles must be given, since many issuers know everyone.
type OIDC struct {
	// Name is the issuer's name for people, such as "University login"; its host by default.
	Name string `yaml:"name" json:"name,omitempty"`
	// Issuer is its address, as in its discovery document.
	Issuer   string `yaml:"issuer" json:"issuer"`
	ClientID string `yaml:"client_id" json:"client_id"`
	// The client's secret is in a file or in an environment variable; at most one of the two is
	// given, neither for a client without a secret.
	ClientSecretFile string `yaml:"client_secret_file" json:"client_secret_file,omitempty"`
	ClientSecretEnv  string `yaml:"client_secret_env" json:"client_secret_env,omitempty"`
	// RedirectURL is the address, registered at the issuer, that people are sent back to.
	RedirectURL string `yaml:"redirect_url" json:"redirect_url"`
	// Scopes are requested in addition to openid; profile and email by default.
	Scopes []string `yaml:"scopes" json:"scopes,omitempty"`
	// Domains are the domains of the admitted e-mail addresses; empty admits all. The issuer must
	// say that it has verified the address. An existing account with such an address becomes the
	// person's.
	Domains []string `yaml:"domains" json:"domains,omitempty"`
	// RoleClaim is the claim that holds groups or roles, such as "groups" or "realm_access.roles";
	// Roles maps its values to roles.
	RoleClaim string          `yaml:"role_claim" json:"role_claim,omitempty"`
	Roles     map[string]Role `yaml:"roles" json:"roles,omitempty"`
	// NewAccounts makes an account for an admitted person without one, with the DefaultRole if the
	// claim gives none. Its name is the preferred_username, or else the verified e-mail address; of
	// an address in one of the Domains, the part before the "@".
	NewAccounts bool `yaml:"new_accounts" json:"new_accounts,omitempty"`
	DefaultRole Role `yaml:"default_role" json:"default_role,omitempty"`
}

// Validate returns all faults of the settings at once.
func (o *OIDC) Validate() error {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for _, x := range []struct{ name, value string }{{"issuer", o.Issuer}, {"redirect_url", o.RedirectURL}} {
		u, err := url.Parse(x.value)
		switch {
		case err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http"):
			fault("%s: %q is not an address", x.name, x.value)
		case u.Scheme == "http" && !isLoopback(u.Hostname()):
			fault("%s: %q is not https", x.name, x.value)
		}
	}
	if o.ClientID == "" {
		fault("client_id is missing")
	}
	if o.ClientSecretFile != "" && o.ClientSecretEnv != "" {
		fault("there are both a client_secret_file and a client_secret_env")
	}
	if len(o.Domains) == 0 && len(o.Roles) == 0 {
		fault("there are neither domains nor roles: everybody whom the issuer knows would be let in")
	}
	if len(o.Roles) > 0 && o.RoleClaim == "" {
		fault("there are roles, and no role_claim to read them from")
	}
	for value, role := range o.Roles {
		if role.Permissions() == nil {
			fault("roles: %s: there is no role %q; the roles are %s", value, role, joined(Roles()))
		}
	}
	if o.DefaultRole != "" && o.DefaultRole.Permissions() == nil {
		fault("default_role: there is no role %q; the roles are %s", o.DefaultRole, joined(Roles()))
	}
	if o.DefaultRole == Admin {
		fault("default_role: not everybody can be an admin")
	}
	for _, d := range o.Domains {
		if d == "" || strings.ContainsAny(d, "@* ") {
			fault("domains: %q is not a domain", d)
		}
	}
	if len(faults) > 0 {
		slices.Sort(faults)
		return problem.New(problem.Invalid, "%s", strings.Join(faults, "; "))
	}
	return nil
}

// longestSecret bounds the file of a client's secret, in bytes.
const longestSecret = 64 << 10

// isLoopback allows an issuer on the machine itself without TLS, for tests and first steps.
func isLoopback(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }

// issuer is an issuer ready for logins. Discovery is lazy: an unreachable issuer does not prevent
// start-up.
type issuer struct {
	config OIDC
	secret string
	now    func() time.Time
	client *http.Client

	mu       sync.Mutex
	provider *oidc.Provider
}

// newIssuer returns nil without settings.
func newIssuer(o *OIDC, now func() time.Time) (*issuer, error) {
	if o == nil {
		return nil, nil
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	i := &issuer{config: *o, now: now, client: &http.Client{Timeout: 15 * time.Second}}
	switch {
	case o.ClientSecretFile != "":
		text, err := input.ReadText(o.ClientSecretFile, longestSecret)
		if err != nil {
			return nil, problem.New(problem.Invalid,
				"the client's secret cannot be read: %w", err)
		}
		i.secret = strings.TrimSpace(string(text))
	case o.ClientSecretEnv != "":
		i.secret = os.Getenv(o.ClientSecretEnv)
	default:
		return i, nil
	}
	if i.secret == "" {
		return nil, problem.New(problem.Invalid, "the client's secret is empty: %s holds nothing",
			cmp.Or(o.ClientSecretFile, "the variable "+o.ClientSecretEnv))
	}
	return i, nil
}

// CheckOIDC says why no one can log in with these settings, such as a missing client secret; nil if
// they work as far as this machine knows, or are absent.
func CheckOIDC(o *OIDC) error {
	_, err := newIssuer(o, nil)
	return err
}

// Greet runs discovery at the issuer, so that the lab learns of an unreachable issuer before its
// people do; nil on success, or without an issuer. The next login asks again.
func (d *Directory) Greet(ctx context.Context) error {
	if d.issuer == nil {
		return nil
	}
	_, err := d.issuer.discover(ctx)
	return err
}

// String shows no secret.
func (i *issuer) String() string { return "the issuer " + i.config.Issuer }

// GoString is String.
func (i *issuer) GoString() string { return i.String() }

// discover returns the issuer's discovery document, which is kept once it was received.
func (i *issuer) discover(ctx context.Context) (*oidc.Provider, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.provider != nil {
		return i.provider, nil
	}
	// The provider keeps this context's client, but not its cancellation.
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, i.client), i.config.Issuer)
	if err != nil {
		return nil, i.unreachable(err)
	}
	i.provider = found
	return found, nil
}

// unreachable is not a verdict about the person: the issuer, or the network to it, failed. The
// account loses nothing.
func (i *issuer) unreachable(err error) error {
	return problem.New(problem.Unavailable, "%s does not answer as it should: %w", i.name(), err).
		With(problem.Remedy{Text: "try again, or log in with a password", Action: problem.LogIn})
}

// name returns the issuer's name for people.
func (i *issuer) name() string {
	if i.config.Name != "" {
		return i.config.Name
	}
	if u, err := url.Parse(i.config.Issuer); err == nil {
		return u.Host
	}
	return i.config.Issuer
}

// oauth requests the scope openid once, whatever the settings list.
func (i *issuer) oauth(p *oidc.Provider) *oauth2.Config {
	scopes := i.config.Scopes
	if scopes == nil {
		scopes = []string{"profile", "email"}
	}
	return &oauth2.Config{
		ClientID: i.config.ClientID, ClientSecret: i.secret, Endpoint: p.Endpoint(),
		RedirectURL: i.config.RedirectURL,
		Scopes: append(
			[]string{oidc.ScopeOpenID},
			slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return s == oidc.ScopeOpenID })...),
	}
}

// OIDCName returns the issuer's name, "" without one.
func (d *Directory) OIDCName() string {
	if d.issuer == nil {
		return ""
	}
	return d.issuer.name()
}

// BeginOIDC begins a login with OpenID Connect: the browser is sent to the address, and keeps the
// ceremony in a cookie until it comes back, within ten minutes. confirm, the name of the account a
// person is logged in with here, makes the issuer authenticate the person anew, no matter who is
// logged in there, and requires that the same account comes back.
func (d *Directory) BeginOIDC(ctx context.Context, confirm string) (address, ceremonyName string, err error) {
	if d.issuer == nil {
		return "", "", problem.New(problem.NotPossible, "OpenID Connect is not set up here").
			With(problem.Remedy{Text: "log in with a password", Action: problem.LogIn})
	}
	p, err := d.issuer.discover(ctx)
	if err != nil {
		return "", "", err
	}
	c := &ceremony{
		What: toReturn, From: networkOf(addressOf(ctx)), Account: confirm,
		State: random(), Nonce: random(), Verifier: oauth2.GenerateVerifier(),
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(c.Nonce), oauth2.S256ChallengeOption(c.Verifier)}
	if confirm != "" {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"),
			oauth2.SetAuthURLParam("max_age", "0"))
	}
	name, err := d.ceremonies.start(c)
	return d.issuer.oauth(p).AuthCodeURL(c.State, options...), name, err
}

// OIDCAnswer holds the query parameters with which the issuer sends the browser back.
type OIDCAnswer struct {
	State, Code        string
	Error, Description string // instead of a code
}

// claims are the claims read from an ID token. all is the whole token, in which a lab may name any
// claim as that of its roles.
type claims struct {
	Email         string  `json:"email"`
	EmailVerified anyBool `json:"email_verified"`
	Name          string  `json:"name"`
	Preferred     string  `json:"preferred_username"`
	AuthTime      int64   `json:"auth_time"`
	all           map[string]any
}

// anyBool is a boolean that some issuers write as a string.
type anyBool bool

// UnmarshalJSON implements json.Unmarshaler. Anything but true is false, since the trust in an
// e-mail address depends on it.
func (b *anyBool) UnmarshalJSON(text []byte) error {
	*b = string(text) == "true" || string(text) == `"true"`
	return nil
}

// FinishOIDC begins a session of the account of the person the issuer has identified, as
// [Directory.Login] does. At the first login the person is linked to the account with their
// verified e-mail address in one of the Domains, or gets a new one if NewAccounts says so. A person
// no longer admitted loses the roles that the issuer gave, and their sessions.
func (d *Directory) FinishOIDC(
	ctx context.Context,
	ceremonyName string,
	answer OIDCAnswer,
	from string,
) (token string, _ Identity, err error) {
	from = shown(from)
	refuse := func(name, why string) {
		d.ledger.refuse(Entry{Kind: KindLoginFailed, Method: ByOIDC, From: from, Account: name, Reason: shown(why)})
	}
	fail := func(name string, err error) (string, Identity, error) {
		refuse(name, err.Error())
		return "", Identity{}, err
	}
	begun, err := d.ceremonies.take(ceremonyName, toReturn)
	if err != nil {
		return "", Identity{}, err
	}
	if d.issuer == nil || begun == nil {
		return "", Identity{}, tooLate() // no login is under way that could have failed
	}
	if subtle.ConstantTimeCompare([]byte(begun.State), []byte(answer.State)) != 1 {
		return fail("", tooLate())
	}
	if answer.Error != "" {
		// The browser supplied the words: its person may read them, and the audit log does not keep
		// them.
		refuse("", d.issuer.name()+" sent them back without having said who they are")
		return "", Identity{}, problem.New(problem.Unauthenticated, "%s says: %s", d.issuer.name(),
			shown(cmp.Or(answer.Description, answer.Error))).
			With(problem.Remedy{Text: "try again", Action: problem.LogIn})
	}
	if err := d.ceremonies.once(ceremonyName); err != nil {
		return fail("", err)
	}
	subject, said, err := d.issuer.redeem(ctx, begun, answer.Code)
	if err != nil {
		return fail("", err)
	}
	given, err := d.issuer.admits(said)
	if err != nil {
		name, failed := d.issuer.revoke(ctx, d, subject)
		return fail(name, cmp.Or(failed, err))
	}
	confirmed := time.Time{} // the issuer may have known them for days
	if said.AuthTime > 0 {
		confirmed = time.Unix(said.AuthTime, 0).UTC()
	}
	if now := d.now(); confirmed.After(now) {
		confirmed = now
	}
	if begun.Account != "" && d.now().Sub(confirmed) > ceremonyTime {
		return fail("", problem.New(problem.Unauthenticated, "%s did not ask again who this is",
			d.issuer.name()).
			With(problem.Remedy{Text: "give the password", Action: problem.Confirm}))
	}
	var (
		who     Identity
		name    string // of the refused account
		refused bool
	)
	err = d.ledger.decide(func() error {
		a, entries, closed, err := d.issuer.linked(ctx, d, subject, said, given)
		if err == nil && begun.Account != "" && a.Name != begun.Account {
			err = problem.New(problem.Unauthenticated,
				"%s says that this is %s, and %s was to show it again", d.issuer.name(), a.Name, begun.Account).
				With(problem.Remedy{Text: "log in there as " + begun.Account, Action: problem.Confirm})
		}
		if err != nil {
			name, refused = closed, true
			return err
		}
		token, who, err = d.begin(a.Name, ByOIDC, from, confirmed, change{entries: entries})
		return err
	})
	if refused {
		return fail(name, err)
	}
	return token, who, err
}

// redeem exchanges a code for the issuer's claims about a person.
//
// A code is valid for one exchange, so nothing here is retried. The words of the issuer are shown;
// the token itself is removed from any message, since it would authenticate the person elsewhere.
func (i *issuer) redeem(
	ctx context.Context, begun *ceremony, code string,
) (subject string, _ claims, err error) {
	p, err := i.discover(ctx)
	if err != nil {
		return "", claims{}, err
	}
	refused := func(why string) (string, claims, error) {
		return "", claims{}, problem.New(problem.Unauthenticated,
			"%s has not shown who this is: %s", i.name(), why).
			With(problem.Remedy{Text: "try again", Action: problem.LogIn})
	}
	ctx = oidc.ClientContext(ctx, i.client)
	token, err := i.oauth(p).Exchange(ctx, code, oauth2.VerifierOption(begun.Verifier))
	var answered *oauth2.RetrieveError
	switch {
	case errors.As(err, &answered):
		return refused(shown(cmp.Or(answered.ErrorDescription, answered.ErrorCode, "it did not take the code")))
	case err != nil:
		return "", claims{}, i.unreachable(err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return refused("its answer lacks an ID token")
	}
	id, err := p.VerifierContext(ctx, &oidc.Config{ClientID: i.config.ClientID, Now: i.now}).Verify(ctx, raw)
	if err != nil {
		return refused(shown(strings.ReplaceAll(err.Error(), raw, "…")))
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(begun.Nonce)) != 1 {
		return refused("its ID token is not an answer to this login")
	}
	var said claims
	if err := errors.Join(id.Claims(&said), id.Claims(&said.all)); err != nil {
		return refused("its claims cannot be read")
	}
	if p.UserInfoEndpoint() != "" && (i.unsaid(said) != "" || i.config.NewAccounts && i.accountName(said) == "") {
		info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil {
			return "", claims{}, i.unreachable(err)
		}
		var more map[string]any
		if info.Subject != id.Subject || info.Claims(&more) != nil || said.add(more) != nil {
			return refused("what its UserInfo says is not about this person, or cannot be read")
		}
	}
	if missing := i.unsaid(said); missing != "" {
		return "", claims{}, i.silent(missing, said)
	}
	return id.Subject, said, nil
}

// ofToken are the claims about an ID token itself and how it was issued. UserInfo, which is not
// signed, does not override them (OpenID Connect Core 1.0, 5.3.2).
var ofToken = []string{"iss", "sub", "aud", "exp", "iat", "nbf", "nonce", "auth_time", "acr", "amr", "azp"}

// add takes claims from UserInfo that the ID token lacks.
func (c *claims) add(more map[string]any) error {
	all := maps.Clone(c.all)
	for name, value := range more {
		if all[name] == nil && !slices.Contains(ofToken, name) {
			all[name] = value
		}
	}
	text, err := json.Marshal(all)
	if err == nil {
		err = json.Unmarshal(text, c)
	}
	c.all = all
	return err
}

// unsaid returns the first claim that decides admission and is missing altogether, not merely
// empty; "" if none is missing.
func (i *issuer) unsaid(said claims) string {
	if claim := i.config.RoleClaim; len(i.config.Roles) > 0 && valueOf(said.all, claim) == nil {
		return claim
	}
	if len(i.config.Domains) > 0 && said.all["email"] == nil {
		return "email"
	}
	return ""
}

// silent is not a verdict about the person either: the issuer has left out the claims that decide
// admission. Entra gives the groups of a person who has more than 200 of them only at an address of
// its own, and signals that by _claim_names and hasgroups.
func (i *issuer) silent(claim string, said claims) error {
	why := "neither its ID token nor UserInfo has that claim"
	remedy := "have it say so: a further word in scopes of oidc in lab.yaml, or a setting at the issuer"
	top, _, _ := strings.Cut(claim, ".")
	named, _ := said.all["_claim_names"].(map[string]any)
	if has, _ := said.all["hasgroups"].(bool); has || named[claim] != nil || named[top] != nil {
		why = "the person has too many for a token, which it says in their place"
		remedy = "have it say only those that matter here, such as the groups that are assigned to this application"
	}
	return problem.New(problem.Forbidden, "%s does not say what %s is for this person: %s; their account stays as it is",
		i.name(), claim, why).
		With(problem.Remedy{Text: remedy}, problem.Remedy{Text: "log in with a password", Action: problem.LogIn})
}

// admits returns the roles that the issuer gives an admitted person.
//
// Domains and roles each are a bound: with both, a person needs the address, and gets the roles of
// the claim. With domains alone no role is required, since an account may have roles from an admin.
// The roles are sorted and unique, so that the same claim always makes the same entries.
func (i *issuer) admits(said claims) ([]Grant, error) {
	refused := func(format string, args ...any) error {
		return problem.New(problem.Forbidden,
			"%s knows this person, and this lab lets them in no further: %s", i.name(),
			fmt.Sprintf(format, args...)).
			With(problem.Remedy{Text: "ask an admin for an account", Action: problem.AddAccount})
	}
	if len(i.config.Domains) > 0 && !i.vouches(said) {
		return nil, refused("their e-mail address is not a verified one of %s",
			strings.Join(i.config.Domains, ", "))
	}
	var given []Grant
	for _, value := range claimed(said.all, i.config.RoleClaim) {
		if role, ok := i.config.Roles[value]; ok {
			given = append(given, Grant{Role: role, Issuer: i.config.Issuer})
		}
	}
	if given == nil && i.config.DefaultRole != "" {
		given = append(given, Grant{Role: i.config.DefaultRole, Issuer: i.config.Issuer})
	}
	if given == nil && len(i.config.Domains) == 0 {
		return nil, refused("nothing in the claim %s stands for a role", i.config.RoleClaim)
	}
	slices.SortFunc(given, func(x, y Grant) int { return strings.Compare(string(x.Role), string(y.Role)) })
	return slices.Compact(given), nil
}

// accountName returns the name of a person's new account, "" if the issuer gives none. The part of
// an address before the "@" stands for the person only within the Domains, where it is unique;
// elsewhere the whole address is the name, so that bo@other.example is not taken for bo.
func (i *issuer) accountName(said claims) string {
	name := strings.TrimSpace(said.Preferred)
	if name == "" && bool(said.EmailVerified) {
		name = said.Email
	}
	if at := strings.LastIndexByte(name, '@'); at > 0 && i.own(name[at+1:]) {
		return name[:at]
	}
	return name
}

// own reports whether a domain is one of the configured ones. Subdomains are not: anyone who runs one
// could make addresses in it.
func (i *issuer) own(domain string) bool {
	return slices.ContainsFunc(i.config.Domains, func(d string) bool { return strings.EqualFold(d, domain) })
}

// vouches reports whether the issuer has verified an e-mail address of the person in a configured
// domain.
func (i *issuer) vouches(said claims) bool {
	at := strings.LastIndexByte(said.Email, '@')
	return at > 0 && bool(said.EmailVerified) && i.own(said.Email[at+1:])
}

// valueOf returns the value of a claim, inside an object if the name has dots in it; nil if
// missing. A claim of exactly that name goes first, since some issuers use addresses, with dots in
// them, as names.
func valueOf(all map[string]any, name string) any {
	if value, ok := all[name]; ok {
		return value
	}
	value := any(all)
	for part := range strings.SplitSeq(name, ".") {
		inside, _ := value.(map[string]any)
		value = inside[part]
	}
	return value
}

// claimed returns the words of a claim, which may be a string or a list of strings. Other values
// give none.
func claimed(all map[string]any, name string) []string {
	switch value := valueOf(all, name).(type) {
	case string:
		return []string{value}
	case []any:
		var words []string
		for _, v := range value {
			if word, ok := v.(string); ok {
				words = append(words, word)
			}
		}
		return words
	}
	return nil
}

// revoke revokes the roles and sessions that the issuer granted to an account, once it no
// longer admits the person. It returns the account's name, "" without an account. The account is
// found by its subject alone: an e-mail address that the issuer no longer vouches for decides
// nothing.
func (i *issuer) revoke(ctx context.Context, d *Directory, subject string) (name string, err error) {
	err = d.ledger.decide(func() error {
		own, _ := d.roster.atIssuer(i, subject, claims{})
		if len(own) == 0 {
			return nil
		}
		a := own[0]
		name = a.Name
		by := Identity{Method: ByOIDC}
		c := change{entries: i.sync(ctx, by, a, nil, d.roster.otherAdmin(a.Name))}
		if len(d.roster.sessionsOf(a.Name)) > 0 {
			e := by.entry(ctx, KindSessionsEnded, a.Name)
			e.Reason = "as " + i.config.Issuer + " says"
			c.entries = append(c.entries, e)
		}
		if len(c.entries) == 0 {
			return nil
		}
		return d.ledger.commit(c)
	})
	return name, err
}

// atIssuer returns the accounts linked to a person at the issuer, and the unlinked accounts with
// that e-mail address.
func (r *roster) atIssuer(i *issuer, subject string, said claims) (own, same []*account) {
	issuer := i.config.Issuer
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, a := range r.state.accounts {
		if slices.ContainsFunc(a.Links, func(l Link) bool {
			return l.Issuer == issuer && l.Subject == subject
		}) {
			own = append(own, a)
		} else if a.Email != "" && strings.EqualFold(a.Email, said.Email) && i.vouches(said) &&
			!slices.ContainsFunc(a.Links, func(l Link) bool { return l.Issuer == issuer }) {
			same = append(same, a)
		}
	}
	return own, same
}

// linked returns the account for a person at the issuer, with the entries that change it. name is
// the account's name if the login is refused. The caller holds writing.
//
// The first account is never made here, whatever NewAccounts says: it must be an admin's, and the
// issuer decides about roles only within a lab that has one. An account once linked stays that
// person's when its e-mail address changes.
func (i *issuer) linked(
	ctx context.Context, d *Directory, subject string, said claims, given []Grant,
) (_ *account, entries []Entry, name string, err error) {
	config := i.config
	by := Identity{Method: ByOIDC}
	own, same := d.roster.atIssuer(i, subject, said)
	empty := d.roster.none()

	var a *account
	switch {
	case len(own) > 0:
		a = own[0]
	case len(same) > 1:
		return nil, nil, "", problem.New(problem.Conflict,
			"several accounts have the e-mail address %s", said.Email).
			With(problem.Remedy{Text: "have an admin give each its own", Action: problem.ChangeAccount})
	case len(same) == 1:
		a = same[0]
	case !config.NewAccounts || empty:
		return nil, nil, "", problem.New(problem.Forbidden, "this person has no account yet").
			With(problem.Remedy{Text: "ask an admin for one with this e-mail address",
				Action: problem.AddAccount})
	default:
		wanted := i.accountName(said)
		if wanted == "" {
			return nil, nil, "", problem.New(problem.Forbidden,
				"%s gives no name for a new account: neither a preferred_username nor a verified e-mail address", i.name()).
				With(problem.Remedy{Text: "ask an admin for an account with this e-mail address",
					Action: problem.AddAccount})
		}
		n := NewAccount{Name: wanted, DisplayName: shown(said.Name)}
		if said.EmailVerified {
			n.Email = said.Email
		}
		if a, entries, err = d.newAccount(ctx, by, n); err != nil {
			return nil, nil, "", err
		}
	}
	if a.Disabled {
		return nil, nil, a.Name, disabled(a.Name)
	}
	if len(own) == 0 {
		e := by.entry(ctx, KindLinked, a.Name)
		e.Reason = shown(subject) + " at " + config.Issuer
		e.facts = &Facts{Link: &Link{Issuer: config.Issuer, Subject: subject, Since: d.now()}}
		entries = append(entries, e)
	}
	return a, append(entries, i.sync(ctx, by, a, given, d.roster.otherAdmin(a.Name))...), "", nil
}

// sync makes the issuer's roles of an account those it gives now. The last admin stays one. Roles
// granted by an administrator are not touched.
func (i *issuer) sync(
	ctx context.Context, by Identity, a *account, given []Grant, otherAdmin bool,
) (entries []Entry) {
	var kept []Grant
	wasAdmin := a.isAdmin()
	for _, g := range a.Grants {
		if g.Issuer != i.config.Issuer || slices.Contains(given, g) {
			kept = append(kept, g)
			continue
		}
		e := granted(by.entry(ctx, KindRevoked, a.Name), g)
		after := &account{Grants: slices.DeleteFunc(slices.Clone(a.Grants),
			func(x Grant) bool { return x == g })}
		if wasAdmin && g.Role == Admin && !after.isAdmin() && !otherAdmin {
			kept = append(kept, g)
			continue
		}
		entries = append(entries, e)
	}
	for _, g := range given {
		if !slices.Contains(kept, g) { // given has each once
			entries = append(entries, granted(by.entry(ctx, KindGranted, a.Name), g))
		}
	}
	return entries
}

var _ json.Unmarshaler = (*anyBool)(nil)
