package app

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/accounts"
	"github.com/campaignd/campaignd/internal/lablog"
	"github.com/campaignd/campaignd/internal/problem"
)

// accountCommand is `campaignd account`. Each of its commands is one
// accounts.Request. It is sent to the process that holds the accounts, usually
// a server, or carried out on the files where no process does.
//
// It exists so that a lab can be set up, and a lost password mended, without a
// browser: who can write the files may do all of it, so no login is asked for.
func (a *app) accountCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "account",
		Short: "Who may do what in a folder that is served: accounts, roles, tokens, the audit log",
		Long: `Accounts belong to a folder, the one that campaignd serve opens, and are kept in its
lab's log, .campaignd/lab. Everyone who may write there may do all of this. While a
server runs, these commands go through it, and take effect at once.

Those of a lab in a database, postgres://USER@HOST/DATABASE, are in its log there:
name it with --folder or --store. What is changed holds at all of its servers within
a second.

Roles, each for the whole lab or with --campaign for one campaign:
` + rolesHelp(),
		Example: `  campaignd account add ada --role admin
  campaignd account add bob --role expert --campaign lfp --email bob@lab.example.org
  campaignd account list
  campaignd account list --folder postgres://campaignd@db.example.org/lab`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return badInput("there is no command %q; see campaignd account --help", args[0])
			}
			return cmd.Help()
		},
	}
	var folder string
	cmd.PersistentFlags().StringVar(&folder, "folder", ".", "the `directory`, or the database, that is served")
	// The folder is known only once the flags are parsed, so the commands are
	// given a function.
	ask := func(cmd *cobra.Command, r accounts.Request) (accounts.Reply, error) {
		place := folder
		if !cmd.Flags().Changed("folder") && store.InDatabase(a.store) {
			place = a.store
		}
		if store.InDatabase(place) { // which may be named by a store in it
			database, _, err := store.Split(place)
			if err != nil {
				return accounts.Reply{}, inputError{err}
			}
			place = database
		}
		return a.askAccounts(cmd.Context(), lablog.Address(place), r)
	}
	cmd.AddCommand(
		a.accountAdd(ask), a.accountList(ask), a.accountChange(ask),
		a.accountGrant(ask), a.accountRevoke(ask),
		a.accountPassword(ask), a.accountDisable(ask), a.accountRemove(), a.accountEnable(ask),
		a.accountUnlock(ask),
		a.accountToken(ask), a.accountSessions(ask), a.accountPasskey(ask), a.accountTrail(ask),
	)
	// newRoot does this for two levels of commands; `account token create` is on
	// the third.
	for _, sub := range cmd.Commands() {
		for _, deeper := range sub.Commands() {
			deeper.Args = inputArgs(deeper.Args)
		}
	}
	return cmd
}

// rolesHelp lists the permissions of each role. It is made from the table of
// roles, so that the help cannot contradict what is enforced.
func rolesHelp() string {
	var text strings.Builder
	for _, r := range accounts.Roles() {
		words := make([]string, 0)
		for _, p := range r.Permissions() {
			words = append(words, string(p))
		}
		fmt.Fprintf(&text, "  %-11s %s\n", r, strings.Join(words, ", "))
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// who is the placeholder of an account's name in usages.
const who = "NAME"

// accountAdd is `campaignd account add`. The account and its grants are one
// request: an account that exists and has no role yet is never seen.
func (a *app) accountAdd(ask asker) *cobra.Command {
	var n accounts.NewAccount
	var roles []string
	var stdin, none bool
	cmd := &cobra.Command{
		Use:   "add " + who,
		Short: "Make an account; the first one must be an admin's",
		Long: `Make an account. The name is what the person logs in with and is recorded under for
ever, as person:NAME. The password is asked for twice, or read from standard input;
without one they log in with OpenID Connect.`,
		Example: `  campaignd account add ada --role admin
  campaignd account add bob --role expert --role viewer --email bob@lab.example.org --no-password
  pwgen 20 1 | campaignd account add eve --role scientist --campaign lfp --password-stdin`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			n.Name = args[0]
			for _, role := range roles {
				n.Grants = append(n.Grants, accounts.Grant{Role: accounts.Role(role), Campaign: a.campaign})
			}
			// An account without a role could do nothing.
			if len(roles) == 0 {
				return badInput("--role is required: one of %s", roleNames())
			}
			// The password is asked for last, so that a slip in the flags costs
			// no typing of it.
			if !none {
				password, err := a.newPassword(cmd.Context(), stdin)
				if err != nil {
					return err
				}
				n.Password = password
			}
			reply, err := ask(cmd, accounts.Request{Add: &n})
			// reply.First is set where this was the first account of the
			// folder: someone else may have made it a moment ago, so its origin
			// is printed.
			if err := a.aboutAccount(reply, err); err != nil || a.json || reply.First == nil {
				return err
			}
			a.printf("the first admin here is %s\n", reply.First.Origin())
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&roles, "role", nil, "what they are: a `ROLE`; may be given several times")
	flags.StringVar(&n.DisplayName, "display-name", "", "how they are called, in `words`")
	flags.StringVar(&n.Email, "email", "", "their `address`")
	flags.StringArrayVar(
		&n.AnswersAs,
		"answers-as",
		nil,
		"an `expert` of campaigns who is this person under another name; may be given several times",
	)
	flags.BoolVar(&stdin, "password-stdin", false, "read the password from standard input")
	flags.BoolVar(&none, "no-password", false, "no password: they log in with OpenID Connect")
	cmd.MarkFlagsMutuallyExclusive("password-stdin", "no-password")
	return cmd
}

// roleNames lists the roles for messages. They come from the table of roles, as
// the help does.
func roleNames() string {
	var names []string
	for _, r := range accounts.Roles() {
		names = append(names, string(r))
	}
	return strings.Join(names, ", ")
}

// aboutAccount prints an account after a change. It takes the results of an
// asker, so that it can be wrapped around one.
func (a *app) aboutAccount(r accounts.Reply, err error) error {
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(r.Account)
	}
	a.printf("%s: %s\n", r.Account.Name, accountInWords(*r.Account))
	return nil
}

// accountInWords is an account's grants, the experts it answers as, and whether
// it is disabled, in a line. An account without a role is said to have none: it
// can log in, and nothing more.
func accountInWords(x accounts.Account) string {
	words := make([]string, 0, len(x.Grants)+3)
	for _, g := range x.Grants {
		words = append(words, g.String())
	}
	if len(words) == 0 {
		words = append(words, "no role")
	}
	if len(x.AnswersAs) > 0 {
		words = append(words, "answers as "+strings.Join(x.AnswersAs, ", "))
	}
	if x.Disabled {
		words = append(words, "disabled")
	}
	return strings.Join(words, ", ")
}

// accountList is `campaignd account list`: names, roles, and how each can log
// in.
func (a *app) accountList(ask asker) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the accounts",
		Example: `  campaignd account list --json`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := ask(cmd, accounts.Request{Accounts: true})
			if err != nil {
				return err
			}
			if a.json {
				// The copy is not nil: an empty list is [] in JSON, not null.
				return a.printJSON(map[string]any{"accounts": append([]accounts.Account{}, r.Accounts...)})
			}
			w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			for _, x := range r.Accounts {
				means := []string{}
				if !x.PasswordSet.IsZero() {
					means = append(means, "password")
				}
				if len(x.Passkeys) > 0 {
					means = append(means, "passkey")
				}
				if len(x.Links) > 0 {
					means = append(means, "OpenID Connect")
				}
				if len(means) == 0 {
					means = append(means, "cannot log in yet")
				}
				tabulate(w, "%s\t%s\t%s\t%s\n", x.Name, x.DisplayName, accountInWords(x),
					strings.Join(means, ", "))
			}
			return w.Flush()
		},
	}
}

// accountChange is `campaignd account change`. The name cannot be changed: it
// stands in logs.
func (a *app) accountChange(ask asker) *cobra.Command {
	var display, email string
	var answersAs []string
	cmd := &cobra.Command{
		Use:     "change " + who,
		Short:   "Change the display name, the e-mail address or the experts whom a person answers as",
		Example: `  campaignd account change bob --answers-as robert --email bob@lab.example.org`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := accounts.ChangeRequest{Name: args[0]}
			flags := cmd.Flags()
			// Pointers tell a text that is made empty from one that stays as it
			// is.
			if flags.Changed("display-name") {
				r.Changes.DisplayName = &display
			}
			if flags.Changed("email") {
				r.Changes.Email = &email
			}
			if flags.Changed("answers-as") {
				// --answers-as "" is how the list is emptied.
				experts := slices.DeleteFunc(answersAs, func(x string) bool { return x == "" })
				r.Changes.AnswersAs = &experts
			}
			if r.Changes == (accounts.Changes{}) {
				return badInput("say what is different with --display-name, --email or --answers-as")
			}
			return a.aboutAccount(ask(cmd, accounts.Request{Change: &r}))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&display, "display-name", "", "how they are called, in `words`")
	flags.StringVar(&email, "email", "", "their `address`")
	flags.StringArrayVar(
		&answersAs,
		"answers-as",
		nil,
		"all the `expert`s they answer as besides their own name; \"\" for none",
	)
	return cmd
}

// accountDisable is `campaignd account disable`. Sessions and tokens end with
// it, so a person who is logged in is out with their next request.
func (a *app) accountDisable(ask asker) *cobra.Command {
	return &cobra.Command{
		Use:   "disable " + who,
		Short: "Keep a person out: their sessions and tokens end, and they cannot log in",
		Long: `Keep a person out. Accounts are disabled, never removed: a name that stands in logs must
not be given to another person.`,
		Example: `  campaignd account disable bob`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.aboutAccount(ask(cmd, accounts.Request{Disable: args[0]}))
		},
	}
}

// accountRemove makes no change: it says why, and what is done instead. It is
// there because people look for it.
func (a *app) accountRemove() *cobra.Command {
	return &cobra.Command{
		Use:     "remove " + who,
		Short:   "Accounts are disabled, never removed (says what to do instead)",
		Example: `  campaignd account disable bob`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return problem.New(problem.NotPossible,
				"accounts are never removed: %s stands in logs, and must not be given to another person", args[0]).
				With(problem.Remedy{Text: "keep them out", Action: problem.Disable, Subject: args[0]})
		},
	}
}

// accountEnable is `campaignd account enable`.
func (a *app) accountEnable(ask asker) *cobra.Command {
	return &cobra.Command{
		Use:     "enable " + who,
		Short:   "Let a disabled person in again; tokens stay revoked",
		Example: `  campaignd account enable bob`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.aboutAccount(ask(cmd, accounts.Request{Enable: args[0]}))
		},
	}
}

// accountUnlock is `campaignd account unlock`. Failed attempts slow down further
// ones, of an account and of an address; without a name all are forgotten.
func (a *app) accountUnlock(ask asker) *cobra.Command {
	return &cobra.Command{
		Use:     "unlock [" + who + "]",
		Short:   "Forget the failed attempts to log in, of one account or of all",
		Example: `  campaignd account unlock bob`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := strings.Join(args, "")
			if _, err := ask(cmd, accounts.Request{Unlock: &name}); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"unlocked": name})
			}
			a.printf("The failed attempts are forgotten.\n")
			return nil
		},
	}
}
