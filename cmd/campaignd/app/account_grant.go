package app

import (
	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/internal/accounts"
)

// accountGrant is `campaignd account grant`. Which roles there are the accounts
// know, and refuse others with a list.
func (a *app) accountGrant(ask asker) *cobra.Command {
	return &cobra.Command{
		Use:   "grant " + who + " ROLE",
		Short: "Give a person a role in the whole lab, or in one campaign",
		Example: `  campaignd account grant bob scientist --campaign lfp
  campaignd account grant eve auditor`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.aboutAccount(ask(cmd, accounts.Request{Grant: a.grantRequest(args)}))
		},
	}
}

// grantRequest is a role for an account, in the campaign of --campaign or in
// the whole lab.
func (a *app) grantRequest(args []string) *accounts.GrantRequest {
	return &accounts.GrantRequest{
		Name:  args[0],
		Grant: accounts.Grant{Role: accounts.Role(args[1]), Campaign: a.campaign},
	}
}

// accountRevoke is `campaignd account revoke`. It takes back exactly the grant
// that was given: one in a campaign leaves one in the whole lab.
func (a *app) accountRevoke(ask asker) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke " + who + " ROLE",
		Short:   "Take a role from a person, at once",
		Example: `  campaignd account revoke bob scientist --campaign lfp`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.aboutAccount(ask(cmd, accounts.Request{Revoke: a.grantRequest(args)}))
		},
	}
}
