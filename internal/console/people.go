package console

import (
	"context"
	"net/http"
	"strings"

	"github.com/campaignd/campaignd/internal/accounts"
	"github.com/campaignd/campaignd/internal/notify"
	"github.com/campaignd/campaignd/internal/server/gate"
)

// peopleRoutes are those of an admin: [Console.AccountRoutes] asks for the
// permission to administer the lab. What an admin may do to an account, and how
// lately they must have shown who they are for it, the directory of accounts
// judges.
func (c *Console) peopleRoutes() []Route {
	all := []Route{{"GET /people", c.people}, {"POST /people", c.ofPeople(c.addAccount)}}
	directory := c.gate.Accounts()
	// What is done to the account that the path names.
	for verb, do := range map[string]func(context.Context, accounts.Identity, string, *http.Request) error{
		"grant": func(ctx context.Context, who accounts.Identity, name string, r *http.Request) error {
			_, err := directory.Grant(ctx, who, name, grantIn(r))
			return err
		},
		"revoke": func(ctx context.Context, who accounts.Identity, name string, r *http.Request) error {
			_, err := directory.Revoke(ctx, who, name, grantIn(r))
			return err
		},
		"password": func(ctx context.Context, who accounts.Identity, name string, r *http.Request) error {
			_, err := directory.SetPassword(ctx, who, name, r.PostFormValue("password"))
			return err
		},
		"disable": func(ctx context.Context, who accounts.Identity, name string, _ *http.Request) error {
			_, err := directory.Disable(ctx, who, name)
			return err
		},
		"enable": func(ctx context.Context, who accounts.Identity, name string, _ *http.Request) error {
			_, err := directory.Enable(ctx, who, name)
			return err
		},
		"unlock": func(ctx context.Context, who accounts.Identity, name string, _ *http.Request) error {
			return directory.Unlock(ctx, who, name)
		},
	} {
		all = append(all, Route{"POST /people/{name}/" + verb, c.ofPeople(
			func(ctx context.Context, who accounts.Identity, r *http.Request) error {
				return do(ctx, who, r.PathValue("name"), r)
			})})
	}
	return all
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

// peoplePage is the page on which an admin looks after everyone's account: who
// there is, with which roles, and how messages reach them.
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
func (c *Console) showPeople(w http.ResponseWriter, r *http.Request, failure error) {
	who := gate.IdentityOf(r.Context())
	s, status := c.after(w, r, "People", failure, "/people")
	page := peoplePage{
		shell: s, Accounts: c.gate.Accounts().Accounts(), Roles: accounts.Roles(),
		Confirmed: c.gate.Accounts().Recent(who, accounts.JustNow) == nil,
		Campaigns: c.campaignNames(r.Context()),
	}
	if first, ok := c.gate.Accounts().First(); ok {
		page.First = first.Origin()
	}
	if c.options.Reached != nil {
		page.Reached = c.options.Reached()
	}
	c.write(w, status, drawPeople(page))
}

func (c *Console) people(w http.ResponseWriter, r *http.Request) { c.showPeople(w, r, nil) }

// ofPeople answers a form about other people's accounts, in the way of
// [Console.ofAccount].
func (c *Console) ofPeople(do func(context.Context, accounts.Identity, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := do(r.Context(), gate.IdentityOf(r.Context()), r); err != nil {
			c.showPeople(w, r, err)
			return
		}
		http.Redirect(w, r, "/people", http.StatusSeeOther)
	}
}

// addAccount adds a person with a role and, where one was typed, a first
// password that the admin hands over. NewSecret keeps it from being printed.
func (c *Console) addAccount(ctx context.Context, who accounts.Identity, r *http.Request) error {
	_, err := c.gate.Accounts().Add(ctx, who, accounts.NewAccount{
		Name:        strings.TrimSpace(r.PostFormValue("name")),
		DisplayName: strings.TrimSpace(r.PostFormValue("display_name")),
		Email:       strings.TrimSpace(r.PostFormValue("email")),
		AnswersAs:   listIn(r.PostFormValue("answers_as")),
		Grants:      []accounts.Grant{grantIn(r)},
		Password:    accounts.NewSecret(r.PostFormValue("password")),
	})
	return err
}
