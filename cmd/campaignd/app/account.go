package app

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/lab/lablog"
)

// Each command of accountCommand is one accounts.Request. It is sent to the process that holds the
// accounts, usually a server, or carried out on the files where no process does.
//
// They exist so that a lab can be set up, and a lost password mended, without a browser: a user
// with write access to the files may do it all anyway, so no login is asked for.
var accountCommand = command{
	name: "account",
	args: cobra.ArbitraryArgs,
	persistent: func(flags *pflag.FlagSet) {
		flags.String("folder", ".", "the `directory`, or the database, that is served")
	},
	run: func(c *call, args []string) error {
		if len(args) > 0 {
			return badInput("there is no command %q; see campaignd account --help", args[0])
		}
		return c.cmd.Help()
	},
	commands: []command{
		accountAdd, accountList, accountChange, accountGrant, accountRevoke, accountPassword,
		accountDisable, accountRemove, accountEnable, accountUnlock, accountToken, accountSessions,
		accountPasskey, accountTrail,
	},
}

// accounts makes a request about the accounts of the folder, or of the database,
// that the command line names.
func (c *call) accounts(r accounts.Request) (accounts.Reply, error) {
	folder := c.cmd.Flag("folder")
	place := folder.Value.String()
	if !folder.Changed && store.InDatabase(c.store) {
		place = c.store
	}
	if store.InDatabase(place) { // which may be named by a store in it
		database, _, err := store.Split(place)
		if err != nil {
			return accounts.Reply{}, inputError{err}
		}
		place = database
	}
	return askAccounts(c.ctx, lablog.Address(place), r)
}

// rolesHelp lists the permissions of each role. It is made from the table of roles, so that the
// help cannot contradict the enforced permissions.
func rolesHelp() string {
	var lines []string
	for _, r := range accounts.Roles() {
		lines = append(lines, fmt.Sprintf("  %-11s %s", r, joinedBy(r.Permissions())))
	}
	return strings.Join(lines, "\n")
}

// joinedBy writes words with commas between.
func joinedBy[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, ", ")
}

// changing carries out a command that changes an account, and prints the account.
func changing(request func(c *call, args []string) (accounts.Request, error)) runner {
	return func(c *call, args []string) error {
		r, err := request(c, args)
		if err != nil {
			return err
		}
		reply, err := c.accounts(r)
		if err != nil {
			return err
		}
		return c.present(reply.Account, func() {
			c.printf("%s: %s\n", reply.Account.Name, accountInWords(*reply.Account))
			// Set where this was the first account of the folder: someone else may
			// have made it a moment ago, so its origin is printed.
			if reply.First != nil {
				c.printf("the first admin here is %s\n", reply.First.Origin())
			}
		})
	}
}

// naming is changing for a request that says no more than the account's name.
func naming(request func(name string) accounts.Request) runner {
	return changing(func(_ *call, args []string) (accounts.Request, error) { return request(args[0]), nil })
}

// listing carries out a command that prints a table, under a key with --json.
func listing[T any](
	key string, request func(args []string) accounts.Request, of func(accounts.Reply) []T, row func(T) []string,
) runner {
	return func(c *call, args []string) error {
		r, err := c.accounts(request(args))
		if err != nil {
			return err
		}
		// The copy is not nil: an empty list is [] in JSON, not null.
		if c.json {
			return c.printJSON(map[string]any{key: append([]T{}, of(r)...)})
		}
		w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
		for _, x := range of(r) {
			cells := row(x)
			tabulate(w, strings.Repeat("%s\t", len(cells)-1)+"%s\n", texts(cells)...)
		}
		return w.Flush()
	}
}

// accountAdd makes the account and its grants in one request: an account that
// exists and has no role yet is never seen.
var accountAdd = command{
	name:  "add",
	args:  cobra.ExactArgs(1),
	oneOf: []string{"password-stdin", "no-password"},
	new: func(flags *pflag.FlagSet) runner {
		var n accounts.NewAccount
		var roles []string
		var stdin, none bool
		flags.StringArrayVar(&roles, "role", nil, "what they are: a `ROLE`; may be given several times")
		flags.StringVar(&n.DisplayName, "display-name", "", "how they are called, in `words`")
		flags.StringVar(&n.Email, "email", "", "their `address`")
		flags.StringArrayVar(&n.AnswersAs, "answers-as", nil,
			"an `expert` of campaigns who is this person under another name; may be given several times")
		flags.BoolVar(&stdin, "password-stdin", false, "read the password from standard input")
		flags.BoolVar(&none, "no-password", false, "no password: they log in with OpenID Connect")
		return changing(func(c *call, args []string) (_ accounts.Request, err error) {
			n.Name = args[0]
			for _, role := range roles {
				n.Grants = append(n.Grants, accounts.Grant{Role: accounts.Role(role), Campaign: c.campaign})
			}
			// An account without a role could do nothing.
			if len(roles) == 0 {
				return accounts.Request{}, badInput("--role is required: one of %s", joinedBy(accounts.Roles()))
			}
			// The password is asked for last, so that a slip in the flags does not cost typing it.
			if !none {
				n.Password, err = newPassword(c, stdin)
			}
			return accounts.Request{Add: &n}, err
		})
	},
}

// accountInWords is an account's grants, the experts it answers as, and whether it is disabled, in
// a line. An account without a role is reported as such: it can log in, and nothing more.
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

var accountList = command{
	name: "list",
	args: cobra.NoArgs,
	run: listing("accounts", func([]string) accounts.Request { return accounts.Request{Accounts: true} },
		func(r accounts.Reply) []accounts.Account { return r.Accounts }, accountRow),
}

// accountRow is an account in the list, with how its person can log in.
func accountRow(x accounts.Account) []string {
	var means []string
	if !x.PasswordSet.IsZero() {
		means = append(means, "password")
	}
	if len(x.Passkeys) > 0 {
		means = append(means, "passkey")
	}
	if len(x.Links) > 0 {
		means = append(means, "OpenID Connect")
	}
	if means == nil {
		means = append(means, "cannot log in yet")
	}
	return []string{x.Name, x.DisplayName, accountInWords(x), strings.Join(means, ", ")}
}

// accountChange leaves the name as it is: it stands in logs.
var accountChange = command{
	name: "change",
	args: cobra.ExactArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		display := flags.String("display-name", "", "how they are called, in `words`")
		email := flags.String("email", "", "their `address`")
		answersAs := flags.StringArray("answers-as", nil,
			"all the `expert`s they answer as besides their own name; \"\" for none")
		return changing(func(_ *call, args []string) (accounts.Request, error) {
			r := accounts.ChangeRequest{Name: args[0]}
			// Pointers tell a text that is made empty from one that stays as it
			// is.
			if flags.Changed("display-name") {
				r.Changes.DisplayName = display
			}
			if flags.Changed("email") {
				r.Changes.Email = email
			}
			if flags.Changed("answers-as") {
				// --answers-as "" is how the list is emptied.
				experts := slices.DeleteFunc(*answersAs, func(x string) bool { return x == "" })
				r.Changes.AnswersAs = &experts
			}
			if r.Changes == (accounts.Changes{}) {
				return accounts.Request{}, badInput("name a change with --display-name, --email or --answers-as")
			}
			return accounts.Request{Change: &r}, nil
		})
	},
}

// granting is a role for an account, in the campaign of --campaign or in the whole lab. The
// accounts know the roles, and refuse others with a list.
func granting(request func(*accounts.GrantRequest) accounts.Request) runner {
	return changing(func(c *call, args []string) (accounts.Request, error) {
		grant := accounts.Grant{Role: accounts.Role(args[1]), Campaign: c.campaign}
		return request(&accounts.GrantRequest{Name: args[0], Grant: grant}), nil
	})
}

var accountGrant = command{
	name: "grant",
	args: cobra.ExactArgs(2),
	run:  granting(func(g *accounts.GrantRequest) accounts.Request { return accounts.Request{Grant: g} }),
}

// accountRevoke takes back exactly the grant that was given: one in a campaign
// leaves one in the whole lab.
var accountRevoke = command{
	name: "revoke",
	args: cobra.ExactArgs(2),
	run:  granting(func(g *accounts.GrantRequest) accounts.Request { return accounts.Request{Revoke: g} }),
}

// accountPassword takes no password as an argument: other users of the machine
// can read those.
var accountPassword = command{
	name: "password",
	args: cobra.ExactArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		stdin := flags.Bool("password-stdin", false, "read the password from standard input")
		return changing(func(c *call, args []string) (accounts.Request, error) {
			password, err := newPassword(c, *stdin)
			return accounts.Request{SetPassword: &accounts.PasswordRequest{Name: args[0], Password: password}}, err
		})
	},
}

var accountDisable = command{
	name: "disable",
	args: cobra.ExactArgs(1),
	run:  naming(func(name string) accounts.Request { return accounts.Request{Disable: name} }),
}

// accountRemove changes nothing: it says why, and names the alternative. It exists because people
// look for it.
var accountRemove = command{
	name: "remove",
	args: cobra.ExactArgs(1),
	run: func(_ *call, args []string) error {
		return problem.New(problem.NotPossible,
			"accounts are never removed: %s stands in logs, and must not be given to another person", args[0]).
			With(problem.Remedy{Text: "keep them out", Action: problem.Disable, Subject: args[0]})
	},
}

var accountEnable = command{
	name: "enable",
	args: cobra.ExactArgs(1),
	run:  naming(func(name string) accounts.Request { return accounts.Request{Enable: name} }),
}

// accountUnlock forgets the delays of further attempts, of an account and of an address; without a
// name all of them.
var accountUnlock = command{
	name: "unlock",
	args: cobra.MaximumNArgs(1),
	run: func(c *call, args []string) error {
		name := strings.Join(args, "")
		if _, err := c.accounts(accounts.Request{Unlock: &name}); err != nil {
			return err
		}
		return c.present(map[string]any{"unlocked": name}, func() { c.printf("The failed attempts are forgotten.\n") })
	},
}

var accountToken = command{
	name:     "token",
	args:     cobra.NoArgs,
	run:      showHelp,
	commands: []command{tokenCreate, tokenList, tokenRevoke},
}

// tokenCreate prints the secret alone to standard output, so that it can be piped into a file; its
// scopes are a remark. The process that holds the accounts checks whether the account may give
// these scopes.
var tokenCreate = command{
	name: "create",
	args: cobra.ExactArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		var n accounts.NewToken
		flags.StringVar(&n.Name, "name", "", "what it is for, in `words`")
		scopes := flags.StringArray("scope", nil,
			"what it may: a `PERMISSION` as in `campaignd account --help`; may be given several times")
		days := flags.Int("days", 0, "how many `days` it is valid (default 90, at most 366)")
		return func(c *call, args []string) error {
			for _, s := range *scopes {
				n.Scopes = append(n.Scopes, accounts.Permission(s))
			}
			if c.campaign != "" {
				n.Campaigns = []string{c.campaign}
			}
			if *days < 0 {
				return badInput("--days %d: a number of days is above 0", *days)
			}
			n.Lifetime = time.Duration(*days) * 24 * time.Hour
			r, err := c.accounts(accounts.Request{CreateToken: &accounts.TokenRequest{Name: args[0], Token: n}})
			if err != nil {
				return err
			}
			// Only here does a secret leave its type, which prints and marshals
			// as nothing.
			return c.present(struct {
				*accounts.Token
				Secret string `json:"secret"`
			}{r.Token, r.Secret.Reveal()}, func() {
				c.printf("%s\n", r.Secret.Reveal())
				c.remark("This is token %s of %s, until %s. It is not shown again.",
					r.Token.ID, r.Token.Account, moment(r.Token.Expires))
			})
		}
	},
}

// moment is a time as people of the place write it.
func moment(t time.Time) string { return t.Local().Format(time.DateTime) }

// tokenList has no secrets: only their hashes are kept. Tokens that were revoked
// are listed too: a name in the audit log can then still be looked up.
var tokenList = command{
	name: "list",
	args: cobra.ExactArgs(1),
	run: listing("tokens", func(args []string) accounts.Request { return accounts.Request{Tokens: args[0]} },
		func(r accounts.Reply) []accounts.Token { return r.Tokens }, tokenRow),
}

// tokenRow is a token in the list. Its account may do less than the scopes by
// now; a token never does more than its account.
func tokenRow(t accounts.Token) []string {
	until, used := "until "+moment(t.Expires), "never used"
	if !t.Revoked.IsZero() {
		until = "revoked " + moment(t.Revoked)
	}
	if !t.Used.IsZero() {
		used = "used " + moment(t.Used)
	}
	may := joinedBy(t.Scopes)
	if len(t.Campaigns) > 0 {
		may += " in " + strings.Join(t.Campaigns, ", ")
	}
	return []string{t.ID, t.Name, may, until, used}
}

// tokenRevoke takes the identifier, which is not secret. So a person with the list alone can end a
// leaked token.
var tokenRevoke = command{
	name: "revoke",
	args: cobra.ExactArgs(1),
	run: func(c *call, args []string) error {
		r, err := c.accounts(accounts.Request{RevokeToken: args[0]})
		if err != nil {
			return err
		}
		return c.present(r.Token, func() {
			c.printf("Token %s of %s, %q, is revoked.\n", r.Token.ID, r.Token.Account, r.Token.Name)
		})
	},
}

// accountSessions ends sessions all together: an admin knows whom to log out,
// and not which of their browsers.
var accountSessions = command{
	name: "sessions",
	args: cobra.NoArgs,
	run:  showHelp,
	commands: []command{{
		name: "list",
		args: cobra.ExactArgs(1),
		run: listing("sessions", func(args []string) accounts.Request { return accounts.Request{Sessions: args[0]} },
			func(r accounts.Reply) []accounts.Session { return r.Sessions },
			func(s accounts.Session) []string {
				return []string{s.ID, "since " + moment(s.Created), "seen " + moment(s.Seen), string(s.Method), s.From}
			}),
	}, {
		name: "revoke",
		args: cobra.ExactArgs(1),
		run: func(c *call, args []string) error {
			r, err := c.accounts(accounts.Request{EndSessions: args[0]})
			if err != nil {
				return err
			}
			return c.present(map[string]any{"ended": r.Ended}, func() {
				c.printf("%d sessions of %s are ended.\n", r.Ended, args[0])
			})
		},
	}},
}

// accountPasskey only removes: passkeys are made in the browser, which holds the
// other half. Their identifiers are in `account list --json`.
var accountPasskey = command{
	name: "passkey",
	args: cobra.NoArgs,
	run:  showHelp,
	commands: []command{{
		name: "remove",
		args: cobra.ExactArgs(2),
		run: changing(func(_ *call, args []string) (accounts.Request, error) {
			return accounts.Request{RemovePasskey: &accounts.PasskeyRequest{Name: args[0], ID: args[1]}}, nil
		}),
	}},
}
