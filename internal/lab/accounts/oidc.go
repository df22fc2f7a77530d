package accounts

import (
	"cmp"
	"context"
	"fmt"
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
