package accounts

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/internal/ground/problem"
)

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
