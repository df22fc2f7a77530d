package accounts

import (
	"slices"
	"time"

	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Method is how a caller authenticated.
type Method string

const (
	// ByPassword, ByPasskey and ByOIDC are the methods of a session.
	ByPassword Method = "password"
	ByPasskey  Method = "passkey"
	ByOIDC     Method = "openid"
	// ByToken is a program's API token.
	ByToken Method = "token"
	// ByLoopback proves nothing: a request from the machine itself to a lab without accounts.
	ByLoopback Method = "loopback"
	// BySystem is the system user who owns the folder, on the command line.
	BySystem Method = "system"
)

// Identity is the caller of a request, with its permissions. The zero Identity is anonymous and may
// do nothing. It is a snapshot as of the request: later grants and revocations take effect with the
// next [Directory.Authenticate].
type Identity struct {
	// Account is the name people are recorded under, without "person:".
	Account string `json:"account"`
	// DisplayName is the person's name for readers.
	DisplayName string `json:"display_name,omitempty"`
	Method      Method `json:"method"`
	// Grants are the account's roles.
	Grants []Grant `json:"grants"`
	// ExpertNames are the further experts the person answers as.
	ExpertNames []string `json:"answers_as,omitempty"`
	// Scopes and Campaigns are the bounds of a token; nil means unbounded.
	Scopes    []Permission `json:"scopes,omitempty"`
	Campaigns []string     `json:"campaigns,omitempty"`
	// Credential identifies the session or the token in the audit log. It is not secret.
	Credential string `json:"credential,omitempty"`
	// Since is when the session began; zero for a token.
	Since time.Time `json:"since,omitzero"`
	// Confirmed is when the person last authenticated: at login, or again since.
	Confirmed time.Time `json:"confirmed,omitzero"`
	// From is the address of the request, if known.
	From string `json:"from,omitempty"`

	everything bool // no one else could have made the request
}

// OpenIdentity is the identity of a request to a lab without accounts, over the loopback interface:
// it may do everything, recorded under the name of the system's user. The caller makes sure that
// the directory is [Directory.Empty] at the time of the request.
func OpenIdentity(user string) Identity {
	return Identity{Account: user, Method: ByLoopback, everything: true}
}

// SystemIdentity is the identity of the system's user who works in the folder itself, such as "ada
// (uid 1000)": write access to the files allows everything.
func SystemIdentity(user string) Identity {
	return Identity{Account: user, Method: BySystem, everything: true}
}

// Actor returns the identity as events record it: "person:ada".
func (i Identity) Actor() string { return "person:" + i.Account }

// Known reports whether the caller is known. It says nothing about permissions.
func (i Identity) Known() bool { return i.everything || i.Account != "" }

// May returns nil if the identity has a permission in a campaign, otherwise a problem.Error that
// names the obstacle: [problem.Unauthenticated] for anonymous callers, [problem.Forbidden] for
// all others. The empty campaign stands for the lab: only a grant for all campaigns counts there,
// and only such a grant gives the [Permission]s of the lab, whatever the campaign.
func (i Identity) May(p Permission, campaign string) error {
	if i.everything {
		return nil
	}
	if i.Account == "" {
		return nobody()
	}
	if !slices.ContainsFunc(i.Grants, func(g Grant) bool { return g.gives(p, campaign) }) {
		return i.forbidden(p, campaign)
	}
	if (i.Scopes != nil && !slices.Contains(i.Scopes, p)) ||
		(i.Campaigns != nil && (campaign == "" || p.ForLab() || !slices.Contains(i.Campaigns, campaign))) {
		return problem.New(problem.Forbidden, "the API token of %s that was used may not %s%s",
			i.Account, p.Words(), inCampaign(campaign)).
			About(i.Account)
	}
	return nil
}

// MaySomewhere reports whether May can succeed for some campaign, so that a menu should show the
// entry.
func (i Identity) MaySomewhere(p Permission) bool {
	if i.May(p, "") == nil {
		return true
	}
	named := i.Campaigns
	for _, g := range i.Grants {
		if g.Campaign != "" {
			named = append(slices.Clip(named), g.Campaign)
		}
	}
	return slices.ContainsFunc(named, func(campaign string) bool { return i.May(p, campaign) == nil })
}

// AnswersAs returns nil if the identity may answer as an expert of a campaign: with [Answer], if
// the expert has the account's name or one of the account's expert names, or with [ActForOthers].
// [Identity.OnBehalf] tells the two apart.
func (i Identity) AnswersAs(expert, campaign string) error {
	if err := i.May(Answer, campaign); err != nil {
		return err
	}
	if !i.OnBehalf(expert) || i.May(ActForOthers, campaign) == nil {
		return nil
	}
	return problem.New(problem.Forbidden, "%s may not answer in the place of %s", i.Account,
		expert).About(expert).
		With(problem.Remedy{Text: "let a scientist enter it", Action: problem.Answer},
			problem.Remedy{
				Text:    "if that is the same person, have an admin say so",
				Action:  problem.ChangeAccount,
				Subject: i.Account,
			})
}

// OnBehalf reports whether an answer as this expert is given for another person, so that both are
// recorded. In a lab without accounts, callers answer as the person they claim to be.
func (i Identity) OnBehalf(expert string) bool {
	return !i.everything && expert != i.Account && !slices.Contains(i.ExpertNames, expert)
}

// JustNow is how recently a person must have authenticated to add a passkey, to make a token, or to
// give another person access: a role, a password, an account. Each of these could turn a session
// left open into access that outlasts it.
const JustNow = 10 * time.Minute

// apart is the tolerated difference between the clocks of a lab's servers. An authentication
// further in the future predates a clock that was set back, by an unknown time.
const apart = time.Minute

// Recent returns nil if the caller has authenticated within the given time before now, for acts
// that must not be possible from a session left open. A token never has.
func (i Identity) Recent(now time.Time, within time.Duration) error {
	switch {
	case i.everything:
		return nil
	case i.Account == "":
		return nobody()
	case i.Method == ByToken:
		return problem.New(problem.Forbidden,
			"this needs a person who has just authenticated; a token is not enough").
			About(i.Account)
	case now.Sub(i.Confirmed) <= within && i.Confirmed.Sub(now) <= apart:
		return nil
	}
	return problem.New(problem.Unauthenticated, "this needs %s to show again who they are",
		i.Account).About(i.Account).
		With(problem.Remedy{Text: "show it again, then repeat the request", Action: problem.Confirm})
}

// forbidden names the roles that would be sufficient. Roles are not secret, and this saves a
// question to the admin.
func (i Identity) forbidden(p Permission, campaign string) error {
	var able []string
	for _, r := range roles {
		if slices.Contains(r.may, p) {
			able = append(able, string(r.role))
		}
	}
	return problem.New(problem.Forbidden, "%s may not %s%s", i.Account, p.Words(), inCampaign(campaign)).
		About(i.Account).
		With(problem.Remedy{Text: "ask an admin for a role that may", Action: problem.Grant,
			Subject: i.Account, Ways: able})
}

// inCampaign is the end of a sentence, empty for the lab.
func inCampaign(campaign string) string {
	if campaign == "" {
		return ""
	}
	return " in " + campaign
}

// nobody is the error for a request without an identity.
func nobody() error {
	return problem.New(problem.Unauthenticated, "it is not known who asks").
		With(problem.Remedy{Text: "log in, or send an API token", Action: problem.LogIn})
}
