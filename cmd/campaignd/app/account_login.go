package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/campaignd/campaignd/internal/accounts"
)

// accountPassword is `campaignd account password`. The password is never an
// argument: other users of the machine can read those. Whether a server has the
// accounts open is not known here: ask finds out.
func (a *app) accountPassword(ask asker) *cobra.Command {
	var stdin bool
	cmd := &cobra.Command{
		Use:     "password " + who,
		Short:   "Set a person's password; their sessions end",
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

// accountToken is `campaignd account token`, which has commands of its own.
// Alone it shows its help.
func (a *app) accountToken(ask asker) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "token",
		Short:   "API tokens: make, list, revoke",
		Example: `  campaignd account token create ada --name notebook --scope see --scope run`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.tokenCreate(ask), a.tokenList(ask), a.tokenRevoke(ask))
	return cmd
}

// tokenCreate is `campaignd account token create`. The secret is the answer and
// goes to standard output alone, so that it can be piped into a file; what it is
// good for is a remark. Whether the account may give these scopes is checked
// where the accounts are held, not here.
func (a *app) tokenCreate(ask asker) *cobra.Command {
	var n accounts.NewToken
	var scopes []string
	var days int
	cmd := &cobra.Command{
		Use:   "create " + who,
		Short: "Make an API token, and print it: it is shown this once",
		Long: `Make an API token of an account. It may do what its scopes say, and never more than the
account itself. With --campaign it is for that campaign alone.`,
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
			// Only here does a secret leave its type, which prints and marshals
			// as nothing.
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
	flags := cmd.Flags()
	flags.StringVar(&n.Name, "name", "", "what it is for, in `words`")
	flags.StringArrayVar(
		&scopes,
		"scope",
		nil,
		"what it may: a `PERMISSION` as in `campaignd account --help`; may be given several times",
	)
	flags.IntVar(&days, "days", 0, "how many `days` it is valid (default 90, at most 366)")
	return cmd
}

// tokenList is `campaignd account token list`. Secrets are not in it: only
// their hashes are kept. Tokens that were revoked are listed too: a name in the
// audit log can then still be looked up.
func (a *app) tokenList(ask asker) *cobra.Command {
	return &cobra.Command{
		Use:     "list " + who,
		Short:   "List an account's API tokens",
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
}

// tokenRevoke is `campaignd account token revoke`. It takes the identifier,
// which is not secret. A leaked token can so be ended by who has only the list
// of them.
func (a *app) tokenRevoke(ask asker) *cobra.Command {
	return &cobra.Command{
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
}

// bounds says what a token may do, and in which campaigns. The account may do
// less than that by now; a token never does more than its account.
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

// accountSessions is `campaignd account sessions` with its commands list and
// revoke. Sessions end all together: an admin knows whom to log out, and not
// which of their browsers.
func (a *app) accountSessions(ask asker) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "sessions",
		Short:   "Where a person is logged in: list, end",
		Example: `  campaignd account sessions list bob`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{
		Use:     "list " + who,
		Short:   "List an account's sessions",
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
		Short:   "End all sessions of an account",
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

// accountPasskey is `campaignd account passkey`. Passkeys are made in the
// browser alone, which holds the other half. Their identifiers are in `account
// list --json`.
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

// newPassword asks for a password twice, without showing it, or reads it from
// standard input: the text before the first end of a line. Rules for passwords
// are those of the accounts; only an empty one is refused here.
func (a *app) newPassword(ctx context.Context, stdin bool) (accounts.Secret, error) {
	if stdin {
		// Longer than any password, short enough not to read a file that was
		// given by mistake.
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

// hidden reads a line of a terminal without showing it. An interrupt restores
// the terminal, which would show nothing that is typed from then on.
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
	// With room for one: after an interrupt no one receives, and the goroutine
	// must still be able to end once the read does.
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
