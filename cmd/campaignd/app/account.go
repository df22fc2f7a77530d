package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/campaignd/campaignd/internal/accounts"
	"github.com/campaignd/campaignd/internal/control"
	"github.com/campaignd/campaignd/internal/problem"
)

// accountCommand is `campaignd account`. Each of its commands is one request, which is made of
// the process that holds the accounts, or of the files where nobody does.
func (a *app) accountCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "account",
		Short: "Who may do what in a folder that is served: accounts, roles, tokens, the audit trail",
		Long: `Accounts belong to a folder, the one that campaignd serve opens, and are kept in its .campaignd/accounts. Whoever
may write there may do all of this. While a server runs, these commands go through it, and count at once.

Roles, each for the whole lab or with --campaign for one campaign:
` + rolesHelp(),
		Example: `  campaignd account add ada --role admin
  campaignd account add bob --role expert --campaign lfp --email bob@lab.example.org
  campaignd account list`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return badInput("there is no command %q; see campaignd account --help", args[0])
			}
			return cmd.Help()
		},
	}
	var folder string
	cmd.PersistentFlags().StringVar(&folder, "folder", ".", "the `directory` that is served")
	ask := func(cmd *cobra.Command, r accounts.Request) (accounts.Reply, error) {
		return a.askAccounts(cmd.Context(), accounts.Dir(folder), r)
	}
	cmd.AddCommand(
		a.accountAdd(ask), a.accountList(ask), a.accountChange(ask),
		a.accountGrant(ask), a.accountRevoke(ask),
		a.accountPassword(ask), a.accountDisable(ask), a.accountRemove(), a.accountEnable(ask), a.accountUnlock(ask),
		a.accountToken(ask), a.accountSessions(ask), a.accountPasskey(ask), a.accountTrail(ask),
	)
	for _, sub := range cmd.Commands() {
		for _, deeper := range sub.Commands() {
			deeper.Args = inputArgs(deeper.Args)
		}
	}
	return cmd
}

// rolesHelp lists what each role may.
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

// asker makes a request about the accounts of the folder that the command line names.
type asker func(cmd *cobra.Command, r accounts.Request) (accounts.Reply, error)

// askAccounts makes a request of whoever holds the accounts, or of the files themselves.
func (a *app) askAccounts(ctx context.Context, dir string, r accounts.Request) (accounts.Reply, error) {
	if !accounts.Exists(dir) && r.Add == nil {
		return accounts.Reply{}, problem.New(problem.NotFound, "there are no accounts in %s yet", dir).
			With(problem.Remedy{Text: "make the first one, an admin's,", Action: problem.AddAccount})
	}
	// The holder may end between our look at the files and our question, or begin.
	for began := time.Now(); ; {
		book, err := accounts.Open(dir, accounts.Options{})
		if err == nil {
			reply, err := book.Fulfill(ctx, accounts.SystemIdentity(control.OwnAccount()), r)
			return reply, errors.Join(err, book.Close())
		}
		if !errors.Is(err, accounts.ErrInUse) {
			return accounts.Reply{}, err
		}
		client, err := control.Connect(dir)
		if err == nil {
			reply, err := accounts.Ask(ctx, client, r)
			if err == nil || !errors.Is(err, problem.Unavailable) {
				return reply, err
			}
		} else if !errors.Is(err, control.ErrNobody) {
			return accounts.Reply{}, err
		}
		if time.Since(began) > accountsPatience {
			return accounts.Reply{}, badStore("the accounts in %s are held by another process, which does not answer; "+
				"wait for it to finish, or end it, and try again", dir)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return accounts.Reply{}, context.Cause(ctx)
		}
	}
}

// accountsPatience is how long a command waits for a process that holds the accounts and does
// not answer: one that begins or ends.
const accountsPatience = 2 * time.Second

// serveAccounts lets the account commands of other processes reach a book that this process
// holds, until close.
func serveAccounts(dir string, book *accounts.Book) (close func(), err error) {
	s, err := control.ServeHandler(dir, book.Handler(control.Peer))
	if err != nil {
		return nil, err
	}
	return s.Close, nil
}

// who names the account that a command is about.
const who = "NAME"

func (a *app) accountAdd(ask asker) *cobra.Command {
	var n accounts.NewAccount
	var roles []string
	var stdin, none bool
	cmd := &cobra.Command{
		Use:   "add " + who,
		Short: "Make an account; the first one must be an admin's",
		Long: `Make an account. The name is what the person logs in with and is recorded under for ever, as person:NAME. The
password is asked for twice, or read from standard input; without one they log in with OpenID Connect.`,
		Example: `  campaignd account add ada --role admin
  campaignd account add bob --role expert --role viewer --email bob@lab.example.org --no-password
  pwgen 20 1 | campaignd account add eve --role scientist --campaign lfp --password-stdin`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			n.Name = args[0]
			for _, role := range roles {
				n.Grants = append(n.Grants, accounts.Grant{Role: accounts.Role(role), Campaign: a.campaign})
			}
			if len(roles) == 0 {
				return badInput("say what they are with --role: %s", roleNames())
			}
			if !none {
				password, err := a.newPassword(cmd.Context(), stdin)
				if err != nil {
					return err
				}
				n.Password = password
			}
			reply, err := ask(cmd, accounts.Request{Add: &n})
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

func roleNames() string {
	var names []string
	for _, r := range accounts.Roles() {
		names = append(names, string(r))
	}
	return strings.Join(names, ", ")
}

// aboutAccount prints an account after something about it was changed.
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

// accountInWords says what an account is, in a line.
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
				tabulate(w, "%s\t%s\t%s\t%s\n", x.Name, x.DisplayName, accountInWords(x), strings.Join(means, ", "))
			}
			return w.Flush()
		},
	}
}

func (a *app) accountChange(ask asker) *cobra.Command {
	var display, email string
	var answersAs []string
	cmd := &cobra.Command{
		Use:     "change " + who,
		Short:   "Change the display name, the e-mail address or the experts somebody answers as",
		Example: `  campaignd account change bob --answers-as robert --email bob@lab.example.org`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := accounts.ChangeRequest{Name: args[0]}
			flags := cmd.Flags()
			if flags.Changed("display-name") {
				r.Changes.DisplayName = &display
			}
			if flags.Changed("email") {
				r.Changes.Email = &email
			}
			if flags.Changed("answers-as") {
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

func (a *app) accountGrant(ask asker) *cobra.Command {
	return &cobra.Command{
		Use:   "grant " + who + " ROLE",
		Short: "Give somebody a role in the whole lab, or in one campaign",
		Example: `  campaignd account grant bob scientist --campaign lfp
  campaignd account grant eve auditor`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.aboutAccount(ask(cmd, accounts.Request{Grant: a.grantRequest(args)}))
		},
	}
}

func (a *app) grantRequest(args []string) *accounts.GrantRequest {
	return &accounts.GrantRequest{
		Name:  args[0],
		Grant: accounts.Grant{Role: accounts.Role(args[1]), Campaign: a.campaign},
	}
}

func (a *app) accountRevoke(ask asker) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke " + who + " ROLE",
		Short:   "Take a role from somebody, at once",
		Example: `  campaignd account revoke bob scientist --campaign lfp`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.aboutAccount(ask(cmd, accounts.Request{Revoke: a.grantRequest(args)}))
		},
	}
}

func (a *app) accountPassword(ask asker) *cobra.Command {
	var stdin bool
	cmd := &cobra.Command{
		Use:     "password " + who,
		Short:   "Set somebody's password; their sessions end",
		Example: `  campaignd account password bob`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			password, err := a.newPassword(cmd.Context(), stdin)
			if err != nil {
				return err
			}
			return a.aboutAccount(ask(cmd, accounts.Request{
				SetPassword: &accounts.PasswordRequest{Name: args[0], Password: password},
			}))
		},
	}
	cmd.Flags().BoolVar(&stdin, "password-stdin", false, "read the password from standard input")
	return cmd
}

func (a *app) accountDisable(ask asker) *cobra.Command {
	return &cobra.Command{
		Use:   "disable " + who,
		Short: "Keep somebody out: their sessions and tokens end, and they cannot log in",
		Long: `Keep somebody out. Accounts are disabled, never removed: a name that stands in logs must not be given to
somebody else.`,
		Example: `  campaignd account disable bob`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.aboutAccount(ask(cmd, accounts.Request{Disable: args[0]}))
		},
	}
}

// accountRemove only says what is done instead.
func (a *app) accountRemove() *cobra.Command {
	return &cobra.Command{
		Use:     "remove " + who,
		Short:   "Accounts are disabled, never removed (says what to do instead)",
		Example: `  campaignd account disable bob`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return problem.New(problem.NotPossible, "accounts are never removed: %s stands in logs, and must not be given to somebody else", args[0]).
				With(problem.Remedy{Text: "keep them out", Action: problem.Disable, Subject: args[0]})
		},
	}
}

func (a *app) accountEnable(ask asker) *cobra.Command {
	return &cobra.Command{
		Use:     "enable " + who,
		Short:   "Let somebody in again who was disabled; tokens stay revoked",
		Example: `  campaignd account enable bob`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.aboutAccount(ask(cmd, accounts.Request{Enable: args[0]}))
		},
	}
}

func (a *app) accountUnlock(ask asker) *cobra.Command {
	return &cobra.Command{
		Use:     "unlock [" + who + "]",
		Short:   "Forget the failed attempts to log in, of somebody or of everybody",
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

func (a *app) accountToken(ask asker) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "token",
		Short:   "API tokens: make, list, revoke",
		Example: `  campaignd account token create ada --name notebook --scope see --scope run`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var n accounts.NewToken
	var scopes []string
	var days int
	create := &cobra.Command{
		Use:   "create " + who,
		Short: "Make an API token, and print it: it is shown this once",
		Long: `Make an API token of an account. It may at most what its scopes say, and never more than the account itself. With
--campaign it is for that campaign alone.`,
		Example: `  campaignd account token create ada --name "notebook of ada" --scope see --scope run --campaign lfp --days 30`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, s := range scopes {
				n.Scopes = append(n.Scopes, accounts.Permission(s))
			}
			if a.campaign != "" {
				n.Campaigns = []string{a.campaign}
			}
			if days < 0 {
				return badInput("--days %d: a number of days is above 0", days)
			}
			n.Lifetime = time.Duration(days) * 24 * time.Hour
			r, err := ask(cmd, accounts.Request{CreateToken: &accounts.TokenRequest{Name: args[0], Token: n}})
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(struct {
					*accounts.Token
					Secret string `json:"secret"`
				}{r.Token, r.Secret.Reveal()})
			}
			a.printf("%s\n", r.Secret.Reveal())
			a.remark(
				"This is token %s of %s, until %s. It is not shown again.",
				r.Token.ID,
				r.Token.Account,
				r.Token.Expires.Local().Format(time.DateTime),
			)
			return nil
		},
	}
	flags := create.Flags()
	flags.StringVar(&n.Name, "name", "", "what it is for, in `words`")
	flags.StringArrayVar(
		&scopes,
		"scope",
		nil,
		"what it may: a `PERMISSION` as in `campaignd account --help`; may be given several times",
	)
	flags.IntVar(&days, "days", 0, "how many `days` it is valid (default 90, at most 366)")
	list := &cobra.Command{
		Use:     "list " + who,
		Short:   "List somebody's API tokens",
		Example: `  campaignd account token list ada`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := ask(cmd, accounts.Request{Tokens: args[0]})
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"tokens": append([]accounts.Token{}, r.Tokens...)})
			}
			w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			for _, t := range r.Tokens {
				until := "until " + t.Expires.Local().Format(time.DateTime)
				if !t.Revoked.IsZero() {
					until = "revoked " + t.Revoked.Local().Format(time.DateTime)
				}
				used := "never used"
				if !t.Used.IsZero() {
					used = "used " + t.Used.Local().Format(time.DateTime)
				}
				tabulate(w, "%s\t%s\t%s\t%s\t%s\n", t.ID, t.Name, bounds(t), until, used)
			}
			return w.Flush()
		},
	}
	revoke := &cobra.Command{
		Use:     "revoke ID",
		Short:   "End an API token",
		Example: `  campaignd account token revoke 3f2a9c01d4e5b677`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := ask(cmd, accounts.Request{RevokeToken: args[0]})
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(r.Token)
			}
			a.printf("Token %s of %s, %q, is revoked.\n", r.Token.ID, r.Token.Account, r.Token.Name)
			return nil
		},
	}
	cmd.AddCommand(create, list, revoke)
	return cmd
}

// bounds says what a token may.
func bounds(t accounts.Token) string {
	words := make([]string, len(t.Scopes))
	for i, s := range t.Scopes {
		words[i] = string(s)
	}
	text := strings.Join(words, ", ")
	if len(t.Campaigns) > 0 {
		text += " in " + strings.Join(t.Campaigns, ", ")
	}
	return text
}

func (a *app) accountSessions(ask asker) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "sessions",
		Short:   "Where somebody is logged in: list, end",
		Example: `  campaignd account sessions list bob`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{
		Use:     "list " + who,
		Short:   "List somebody's sessions",
		Example: `  campaignd account sessions list bob --json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := ask(cmd, accounts.Request{Sessions: args[0]})
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"sessions": append([]accounts.Session{}, r.Sessions...)})
			}
			w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			for _, s := range r.Sessions {
				tabulate(w, "%s\tsince %s\tseen %s\t%s\t%s\n", s.ID, s.Created.Local().Format(time.DateTime),
					s.Seen.Local().Format(time.DateTime), string(s.Method), s.From)
			}
			return w.Flush()
		},
	}
	revoke := &cobra.Command{
		Use:     "revoke " + who,
		Short:   "End all of somebody's sessions",
		Example: `  campaignd account sessions revoke bob`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := ask(cmd, accounts.Request{EndSessions: args[0]})
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"ended": r.Ended})
			}
			a.printf("%d sessions of %s are ended.\n", r.Ended, args[0])
			return nil
		},
	}
	cmd.AddCommand(list, revoke)
	return cmd
}

func (a *app) accountPasskey(ask asker) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "passkey",
		Short:   "Passkeys, which people add in the browser: remove one that was lost",
		Example: `  campaignd account list --json`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:     "remove " + who + " ID",
		Short:   "Remove a passkey",
		Example: `  campaignd account passkey remove bob 9b1f00aa12cd34ef`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.aboutAccount(
				ask(cmd, accounts.Request{RemovePasskey: &accounts.PasskeyRequest{Name: args[0], ID: args[1]}}),
			)
		},
	})
	return cmd
}

func (a *app) accountTrail(ask asker) *cobra.Command {
	var last int
	var verify bool
	cmd := &cobra.Command{
		Use:   "trail",
		Short: "The audit trail: every login, failure, refusal, grant and change, and proof that none was altered",
		Long: `The audit trail. Each entry holds the hash of the one before it, so that --verify finds whatever was changed. It
prints the number and the hash of the last entry: kept elsewhere, they also show whether all of it was made anew.`,
		Example: `  campaignd account trail --last 20
  campaignd account trail --json > trail.json
  campaignd account trail --verify`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if last < 0 {
				return badInput("--last %d: a number of entries is above 0", last)
			}
			if verify {
				r, err := ask(cmd, accounts.Request{VerifyTrail: true})
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(r.Proof)
				}
				a.printf(
					"The audit trail is sound: %d entries, the last with the hash %s.\n",
					r.Proof.Entries,
					r.Proof.Head,
				)
				return nil
			}
			entries, err := a.trail(cmd, ask, last)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"entries": entries})
			}
			for _, e := range entries {
				a.printf("%6d  %s  %s\n", e.Number, e.Time.Local().Format(time.DateTime), e)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&last, "last", 0, "only the newest `entries`")
	cmd.Flags().BoolVar(&verify, "verify", false, "check all of it instead")
	return cmd
}

// trail reads the audit trail, the oldest entry first: all of it, or the last entries.
func (a *app) trail(cmd *cobra.Command, ask asker, last int) ([]accounts.Entry, error) {
	const page = 1000
	entries := []accounts.Entry{}
	for before := uint64(0); last == 0 || len(entries) < last; {
		limit := page
		if last > 0 {
			limit = min(page, last-len(entries))
		}
		r, err := ask(cmd, accounts.Request{Trail: &accounts.Page{Before: before, Limit: limit}})
		if err != nil {
			return nil, err
		}
		entries = append(entries, r.Entries...)
		if len(r.Entries) < limit {
			break
		}
		before = r.Entries[len(r.Entries)-1].Number
	}
	slices.Reverse(entries)
	return entries, nil
}

// newPassword asks for a password twice, without showing it, or reads it from standard input:
// what is before the first end of a line.
func (a *app) newPassword(ctx context.Context, stdin bool) (accounts.Secret, error) {
	if stdin {
		const most = 4096
		line, err := bufio.NewReader(io.LimitReader(a.stdin, most)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return accounts.Secret{}, err
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			return accounts.Secret{}, badInput("there is no password on standard input")
		}
		return accounts.NewSecret(line), nil
	}
	f, ok := beneath(a.stdin).(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return accounts.Secret{}, badInput(
			"there is no terminal to ask for a password in; give it on standard input with --password-stdin",
		)
	}
	first, err := a.hidden(ctx, f, "Password: ")
	if err != nil {
		return accounts.Secret{}, err
	}
	second, err := a.hidden(ctx, f, "Again: ")
	if err != nil {
		return accounts.Secret{}, err
	}
	if first != second {
		return accounts.Secret{}, badInput("the two passwords differ; nothing was changed")
	}
	return accounts.NewSecret(first), nil
}

// hidden reads a line of a terminal that does not show it. Interrupted, it leaves the terminal as
// it was.
func (a *app) hidden(ctx context.Context, f *os.File, prompt string) (string, error) {
	before, err := term.GetState(int(f.Fd()))
	if err != nil {
		return "", err
	}
	fmt.Fprint(a.stderr, prompt)
	type line struct {
		text []byte
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := term.ReadPassword(int(f.Fd()))
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		fmt.Fprintln(a.stderr)
		if errors.Is(l.err, io.EOF) {
			return "", badInput("there is no password; nothing was changed")
		}
		return string(l.text), l.err
	case <-ctx.Done():
		fmt.Fprintln(a.stderr)
		return "", errors.Join(context.Cause(ctx), term.Restore(int(f.Fd()), before))
	}
}
