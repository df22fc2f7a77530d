package accounts

import (
	"slices"
	"time"

	"github.com/campaignd/campaignd/internal/problem"
)

// Method is how a caller has shown who they are.
type Method string

const (
	// ByPassword, ByPasskey and ByOIDC are those of a session.
	ByPassword Method = "password"
	ByPasskey  Method = "passkey"
	ByOIDC     Method = "openid"
	// ByToken is a program's API token.
	ByToken Method = "token"
	// ByLoopback shows nothing: a lab without accounts, asked from the machine
	// itself.
	ByLoopback Method = "loopback"
	// BySystem is the user of the system to whom the folder belongs, on the
	// command line.
	BySystem Method = "system"
)

// Identity is who makes a request, and what they may. The zero Identity is
// no one's: it may nothing. It is a value as of the request: what is granted or
// taken later counts from the next [Directory.Authenticate] on.
type Identity struct {
	// Account is the name people are recorded under, without "person:".
	Account string `json:"account"`
	// DisplayName is how they are called, for people.
	DisplayName string `json:"display_name,omitempty"`
	Method      Method `json:"method"`
	// Grants are those of the account.
	Grants []Grant `json:"grants"`
	// ExpertNames are the further experts as whom they answer.
	ExpertNames []string `json:"answers_as,omitempty"`
	// Scopes and Campaigns are the bounds of a token; nil: no bounds.
	Scopes    []Permission `json:"scopes,omitempty"`
	Campaigns []string     `json:"campaigns,omitempty"`
	// Credential identifies the session or the token in the audit log. It is
	// no secret.
	Credential string `json:"credential,omitempty"`
	// Since is when the session began; zero for a token.
	Since time.Time `json:"since,omitzero"`
	// Confirmed is when they last showed who they are: at login, or again
	// since.
	Confirmed time.Time `json:"confirmed,omitzero"`
	// From is the address of the request, where it is known.
	From string `json:"from,omitempty"`

	everything bool // no one else could have made the request
}

// OpenIdentity is that of a request to a lab without accounts, over the
// loopback interface: it may do everything, recorded under the name of the
// system's user. The caller makes sure that the directory is [Directory.Empty]
// at the time of the request.
func OpenIdentity(user string) Identity {
	return Identity{Account: user, Method: ByLoopback, everything: true}
}

// SystemIdentity is that of the system's user who works in the folder itself,
// such as "ada (uid 1000)": who may write the files may do everything.
func SystemIdentity(user string) Identity {
	return Identity{Account: user, Method: BySystem, everything: true}
}

// Actor is the identity as events record it: "person:ada".
func (i Identity) Actor() string { return "person:" + i.Account }

// Known reports whether it is known whose it is. It says nothing about what
// they may.
func (i Identity) Known() bool { return i.everything || i.Account != "" }

// May returns nil where the identity may do something in a campaign, otherwise
// a problem.Error that says what is missing: [problem.Unauthenticated] for
// no one, [problem.Forbidden] for everyone else. The empty campaign stands for
// the lab: only a grant for all campaigns gives anything there, and only such a
// one gives [Permission]s of the lab, whatever the campaign.
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

// MaySomewhere reports whether there can be a campaign in which May would say
// yes: what is in it is worth a place in a menu.
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

// AnswersAs returns nil where the identity may answer as an expert of a
// campaign: with [Answer], where the expert has their account's name or is one
// of those the account lists, or with [ActForOthers]. [Identity.OnBehalf] tells
// the two apart.
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

// OnBehalf reports whether an answer as this expert is one in the place of
// another person, so that both are recorded. Who may do everything because
// there are no accounts answers as the one they say.
func (i Identity) OnBehalf(expert string) bool {
	return !i.everything && expert != i.Account && !slices.Contains(i.ExpertNames, expert)
}

// JustNow is how recently a person must have authenticated to add a
// passkey, to make a token, or to give anybody access: a role, a password, an
// account. By each of them a session that was found open would become access
// that outlasts it.
const JustNow = 10 * time.Minute

// apart is how far the clocks of a lab's servers may be apart. What was shown
// further ahead was shown before the clock was set back, by who knows how long.
const apart = time.Minute

// Recent returns nil if the caller has authenticated within the given
// time before now, for what a lab does not leave to a session that was found
// open. A token never has.
func (i Identity) Recent(now time.Time, within time.Duration) error {
	switch {
	case i.everything:
		return nil
	case i.Account == "":
		return nobody()
	case i.Method == ByToken:
		return problem.New(problem.Forbidden,
			"this needs a person who has just shown who they are, and a token is none").
			About(i.Account)
	case now.Sub(i.Confirmed) <= within && i.Confirmed.Sub(now) <= apart:
		return nil
	}
	return problem.New(problem.Unauthenticated, "this needs %s to show again who they are",
		i.Account).About(i.Account).
		With(problem.Remedy{Text: "show it again, then repeat the request", Action: problem.Confirm})
}

// forbidden names the roles that would be enough. Which roles those are is no
// secret, and spares a question to the admin.
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

// inCampaign is empty for the lab. It is the end of a sentence.
func inCampaign(campaign string) string {
	if campaign == "" {
		return ""
	}
	return " in " + campaign
}

// nobody is the answer to a request without an identity.
func nobody() error {
	return problem.New(problem.Unauthenticated, "it is not known who asks").
		With(problem.Remedy{Text: "log in, or send an API token", Action: problem.LogIn})
}
