package app

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/user"
	"reflect"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
)

// app is the common part of all commands: the streams they read and write, and the global flags.
// One is made for each call of Run, and used by one goroutine.
type app struct {
	registry Registry

	stdin          io.Reader
	stdout, stderr io.Writer
	// interrupt acts as Ctrl-C. The live display calls it, because a terminal in raw mode sends no
	// signal for that key. A second call ends the program at once.
	interrupt func()

	as    string // --as: who acts, without the prefix "person:"
	json  bool   // --json: one JSON document on stdout, all else on stderr
	store string // --store: the store's address; empty: found from the target
	// storeGiven is set where the command line names the store, not the
	// environment.
	storeGiven bool
	campaign   string // --campaign: which one, where a store holds several
	server     string // --server: a server's URL; empty for stores of this machine
	// serverGiven is set where the command line names the server, not the
	// environment: then the commands that a message suggests repeat the flag.
	serverGiven bool

	// about writes the commands that messages suggest, so that they name the
	// same store and campaign as this one. The zero value names none.
	about commands
}

// table are the commands, in the groups of the help: by a person's aims.
var table = []struct {
	id, title string
	commands  []command
}{
	{"drive", "Run a campaign:", []command{
		runCommand, serveCommand, workCommand, statusCommand, pauseCommand, resumeCommand, stopCommand,
		cancelCommand, abortCommand, resolveCommand, amendCommand,
	}},
	{"hand", "By hand:", []command{
		suggestCommand, sheetCommand, tellCommand, correctCommand, anchorCommand, excludeCommand, allowCommand,
		noteCommand, stockCommand, serviceCommand, attachCommand, withdrawCommand, importCommand,
	}},
	{"look", "Look into it:", []command{
		eventsCommand, replayCommand, predictCommand, diagnoseCommand, explainCommand, whatIfCommand, filesCommand,
		auditCommand, checkpointCommand, verifyCommand, exportCommand, reportCommand,
	}},
	{"prepare", "Prepare:", []command{
		newCommand, docsCommand, simulateCommand, validateCommand, rehearseCommand, methodsCommand, schemaCommand,
		instrumentCommand, methodCommand, accountCommand, doctorCommand, versionCommand,
	}},
}

// newRoot returns the command tree. What it prints and which errors it returns
// is decided here for all commands: cobra prints neither errors nor usage by
// itself, so that each failure is reported once, by app.fail.
func newRoot(a *app) *cobra.Command {
	said := helps["campaignd"]
	root := &cobra.Command{
		Use:     "campaignd",
		Short:   said.short,
		Long:    said.long,
		Example: said.example,
		Args:    cobra.ArbitraryArgs,
		RunE:    unknownCommand,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.serverGiven = cmd.Flags().Changed("server")
			a.storeGiven = cmd.Flags().Changed("store")
			return a.checkServer(cmd)
		},
		SilenceErrors:              true,
		SuggestionsMinimumDistance: 2,
		SilenceUsage:               true,
		CompletionOptions:          cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return badInput("%w (%s --help shows the flags)", err, cmd.CommandPath())
	})
	flags := root.PersistentFlags()
	flags.StringVar(&a.as, "as", systemUser(), "who acts: the `name` that is recorded")
	flags.BoolVar(&a.json, "json", false, "print one JSON document on standard output")
	flags.StringVar(&a.store, "store", storeOfEnvironment(),
		"the store's `address`: a folder, or postgres://USER@HOST/DATABASE/STORE (default: "+storeVariable+
			" of the environment, else NAME.campaign next to the file)")
	flags.StringVar(
		&a.server,
		"server",
		os.Getenv(serverVariable),
		"the `address` of a campaignd serve whose campaigns are meant (default: "+serverVariable+
			" of the environment; "+
			tokenVariable+" says who you are there)",
	)
	flags.StringVar(&a.campaign, "campaign", "", "the campaign's `name`, where a store holds several")

	for _, g := range table {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, row := range g.commands {
			cmd := row.of(a, "")
			cmd.GroupID = g.id
			root.AddCommand(cmd)
		}
	}
	root.SetHelpCommandGroupID("prepare")
	root.SetCompletionCommandGroupID("prepare")
	return root
}

// storeVariable names the store where the command line does not.
const storeVariable = "CAMPAIGND_STORE"

// storeOfEnvironment is the store that the environment names. A password in it, as in the addresses
// that orchestrators give out, moves to PGPASSWORD, which is neither shown nor kept.
func storeOfEnvironment() string {
	address, password := store.Unlocked(os.Getenv(storeVariable))
	if password != "" {
		_ = os.Setenv("PGPASSWORD", password) // fails for no such name and value
	}
	return address
}

// unknownCommand runs where the first argument does not name a command: it shows the help, or the
// commands with a similar name. It is bad input, with its exit code, so that a script with a
// misspelled command does not go on.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return root.Help()
	}
	if like := root.SuggestionsFor(args[0]); len(like) > 0 {
		return badInput("there is no command %q; did you mean %s?", args[0], strings.Join(like, " or "))
	}
	return badInput("there is no command %q; see campaignd --help", args[0])
}

// inputArgs makes a wrong number of arguments a mistake in the input (exit code 2) and shows the
// usage.
func inputArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	if check == nil {
		return nil
	}
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return badInput("%w; usage: %s", err, cmd.UseLine())
		}
		return nil
	}
}

// systemUser is the default of --as. It is recorded as the actor, so it must be
// a name that people recognize.
func systemUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username[strings.LastIndexByte(u.Username, '\\')+1:] // without a Windows domain
	}
	return "unknown"
}

// actor is the acting person, as events record them: "person:NAME". The name is the person's own
// statement; the account of the system's user is recorded with it by the process that receives the
// request.
func (a *app) actor() (string, error) {
	actor := "person:" + strings.TrimSpace(a.as)
	if err := engine.CheckActor(actor); err != nil {
		return "", badInput("--as %q: %w", a.as, err)
	}
	return actor, nil
}

// printJSON writes the one JSON document of a command. HTML characters are left
// as they are: the document is for programs, not for a page. A command calls it
// once at most.
func (a *app) printJSON(value any) error {
	encoder := json.NewEncoder(a.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// present prints the document of a command, or without --json its content in words.
func (a *app) present(document any, say func()) error {
	if a.json {
		return a.printJSON(document)
	}
	say()
	return nil
}

// printf writes an answer for people. Each text among args is kept within its
// line, so that a name or note that another person wrote cannot pass for a line
// of the program.
func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.stdout, format, inLine(args)...) }

// print writes a text of several lines, which the program itself has composed.
// What others wrote in it must have been made safe before.
func (a *app) print(text string) { fmt.Fprintln(a.stdout, text) }

// remark writes text outside the answer to stderr: warnings, and the next step. With --json a
// program reads standard output; a remark never gets in its way.
func (a *app) remark(format string, args ...any) {
	fmt.Fprintf(a.stderr, format+"\n", inLine(args)...)
}

// tabulate writes cells of a table as printf does lines.
func tabulate(w io.Writer, format string, args ...any) { fmt.Fprintf(w, format, inLine(args)...) }

// inLine makes the texts among args (strings of any type, errors and Stringers)
// fit into a line. Numbers and times are left as they are for their verbs.
func inLine(args []any) []any {
	fitting := make([]any, len(args))
	for i, arg := range args {
		switch value := reflect.ValueOf(arg); {
		case arg == nil:
		case value.Kind() == reflect.String:
			arg = plaintext.Line(value.String())
		default:
			switch x := arg.(type) {
			case error:
				arg = plaintext.Line(x.Error())
			case fmt.Stringer:
				arg = plaintext.Line(x.String())
			}
		}
		fitting[i] = arg
	}
	return fitting
}

// beneath returns the stream below the writer that makes texts safe: the terminal itself, if there
// is one. Code that draws on it directly makes its own texts safe.
func beneath(stream any) any {
	if w, ok := stream.(interface{ Unwrap() io.Writer }); ok {
		return w.Unwrap()
	}
	return stream
}

// sizeOf returns a function that reports the size of a terminal in characters, also of one that
// cannot be drawn on; nil for any other stream. A terminal that does not know its size counts as 80
// by 24.
func sizeOf(stream any) func() (width, height int) {
	f, ok := beneath(stream).(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return func() (int, int) {
		width, height, err := term.GetSize(int(f.Fd()))
		if err != nil || width <= 0 || height <= 0 {
			return 80, 24
		}
		return width, height
	}
}

// isTerminal reports whether a stream is a terminal that can be drawn on.
func isTerminal(stream any) bool {
	f, ok := beneath(stream).(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// unseparate has a flag that is a number refuse underscores between its digits: the
// library reads `--seed 1_0` as 10.
func unseparate(f *pflag.Flag) {
	switch f.Value.Type() {
	case "int", "uint64", "float64":
		f.Value = unseparated{f.Value}
	}
}

type unseparated struct{ pflag.Value }

// Set implements pflag.Value.
func (v unseparated) Set(text string) error {
	if strings.Contains(text, "_") {
		return fmt.Errorf("%q is not a number; write it without an underscore", text)
	}
	return v.Value.Set(text)
}
