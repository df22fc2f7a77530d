package console

import (
	"net/http"
	"strings"

	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/lab/notify"
)

// peopleRoutes are those of an admin: [Console.AccountRoutes] asks for the
// permission to administer the lab. What an admin may do to an account, and how
// lately they must have shown who they are for it, the directory of accounts
// judges.
var peopleRoutes = []accountRoute{
	{"GET /people", showPeople},
	{"POST /people", ofPeople(addAccount)},
	{"POST /people/{name}/grant", ofPeople(func(v *visit) error {
		_, err := v.accounts().Grant(v.r.Context(), v.identity(), v.r.PathValue("name"), grantIn(v.r))
		return err
	})},
	{"POST /people/{name}/revoke", ofPeople(func(v *visit) error {
		_, err := v.accounts().Revoke(v.r.Context(), v.identity(), v.r.PathValue("name"), grantIn(v.r))
		return err
	})},
	{"POST /people/{name}/password", ofPeople(func(v *visit) error {
		_, err := v.accounts().SetPassword(v.r.Context(), v.identity(), v.r.PathValue("name"), v.r.PostFormValue("password"))
		return err
	})},
	{"POST /people/{name}/disable", ofPeople(func(v *visit) error {
		_, err := v.accounts().Disable(v.r.Context(), v.identity(), v.r.PathValue("name"))
		return err
	})},
	{"POST /people/{name}/enable", ofPeople(func(v *visit) error {
		_, err := v.accounts().Enable(v.r.Context(), v.identity(), v.r.PathValue("name"))
		return err
	})},
	{"POST /people/{name}/unlock", ofPeople(func(v *visit) error {
		return v.accounts().Unlock(v.r.Context(), v.identity(), v.r.PathValue("name"))
	})},
}

// listIn reads names with commas between them; empty ones are typing.
func listIn(text string) (names []string) {
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// grantIn reads a role and where it holds: in a campaign, or in all for an
// empty name.
func grantIn(r *http.Request) accounts.Grant {
	return accounts.Grant{
		Role:     accounts.Role(r.PostFormValue("role")),
		Campaign: strings.TrimSpace(r.PostFormValue("campaign")),
	}
}

// peoplePage is the page on which an admin looks after everyone's account: the accounts, with their
// roles, and how messages reach people.
type peoplePage struct {
	*shell
	Accounts []accounts.Account
	// First says how the first account came about; empty where that is not
	// known.
	First string
	// Campaigns are those that a role can be given in.
	Campaigns []string
	Roles     []accounts.Role
	Reached   []notify.Status
	// Confirmed says that the visitor has authenticated just now.
	Confirmed bool
}

// showPeople shows the page, and why a form on it was refused.
func showPeople(v *visit) error {
	who := v.identity()
	page := peoplePage{
		shell: v.after("People", "/people"), Accounts: v.accounts().Accounts(), Roles: accounts.Roles(),
		Confirmed: v.accounts().Recent(who, accounts.JustNow) == nil,
		Campaigns: v.campaignNames(),
	}
	if first, ok := v.accounts().First(); ok {
		page.First = first.Origin()
	}
	if v.options.Reached != nil {
		page.Reached = v.options.Reached()
	}
	return v.write(drawPeople(page))
}

// ofPeople answers a form about other people's accounts, in the way of
// [ofAccount].
func ofPeople(do func(*visit) error) func(*visit) error {
	return func(v *visit) error {
		if v.refusal = do(v); v.refusal != nil {
			return showPeople(v)
		}
		return v.redirect("/people", "")
	}
}

// addAccount adds a person with a role and, where one was typed, a first
// password that the admin hands over. NewSecret keeps it from being printed.
func addAccount(v *visit) error {
	r := v.r
	_, err := v.accounts().Add(r.Context(), v.identity(), accounts.NewAccount{
		Name:        strings.TrimSpace(r.PostFormValue("name")),
		DisplayName: strings.TrimSpace(r.PostFormValue("display_name")),
		Email:       strings.TrimSpace(r.PostFormValue("email")),
		AnswersAs:   listIn(r.PostFormValue("answers_as")),
		Grants:      []accounts.Grant{grantIn(r)},
		Password:    accounts.NewSecret(r.PostFormValue("password")),
	})
	return err
}
