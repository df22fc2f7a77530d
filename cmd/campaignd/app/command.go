package app

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/internal/attest/decisions"
)

// command is a row of the program's table: the code that carries out a command. Rows are never
// changed: all state of one call is made by new. The help of a command is in help.txt.
type command struct {
	name string
	// args refuses a wrong number of arguments, as bad input.
	args cobra.PositionalArgs
	// valid are arguments that the shell completes.
	valid []string
	// new declares the flags and returns the code that carries out a call; of a command without
	// flags that is run. persistent declares flags of the commands below, too.
	new        func(flags *pflag.FlagSet) runner
	run        runner
	persistent func(flags *pflag.FlagSet)
	// oneOf are flags that exclude each other, together those that go with each other.
	oneOf, together []string
	commands        []command
}

// runner carries out one call of a command.
type runner func(c *call, args []string) error

// call is one call of a command.
type call struct {
	*app
	ctx context.Context
	cmd *cobra.Command
}

// of makes the command of a row for the parser of command lines. within are the names of the
// commands that it belongs to.
func (c command) of(a *app, within string) *cobra.Command {
	path := strings.TrimPrefix(within+" "+c.name, " ")
	said := helps[path]
	cmd := &cobra.Command{
		Use: strings.TrimSuffix(c.name+" "+said.arguments, " "), Short: said.short, Long: said.long, Example: said.example,
		Args: inputArgs(c.args), ValidArgs: c.valid,
	}
	if c.persistent != nil {
		c.persistent(cmd.PersistentFlags())
	}
	run := c.run
	if c.new != nil {
		run = c.new(cmd.Flags())
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(&call{a, cmd.Context(), cmd}, args) }
	cmd.Flags().VisitAll(unseparate)
	if c.oneOf != nil {
		cmd.MarkFlagsMutuallyExclusive(c.oneOf...)
	}
	if c.together != nil {
		cmd.MarkFlagsRequiredTogether(c.together...)
	}
	for _, sub := range c.commands {
		cmd.AddCommand(sub.of(a, path))
	}
	return cmd
}

// help is the help of a command, apart from its flags.
type help struct{ arguments, short, long, example string }

//go:embed help.txt
var helpTexts string

// helps are those of all commands, by their names. A section of the file begins with the command
// and its arguments; the parts that follow from tables are filled in, so that they cannot
// contradict them.
var helps = func() map[string]help {
	all := make(map[string]help)
	filled := strings.NewReplacer("{roles}", rolesHelp(), "{safety}", safety,
		"{tolerance}", fmt.Sprintf("%g", decisions.Tolerance)).Replace(helpTexts)
	for _, section := range strings.Split("\n"+strings.TrimSuffix(filled, "\n"), "\n=== ")[1:] {
		head, text, _ := strings.Cut(section, "\n")
		name, arguments, _ := strings.Cut(head, ": ")
		text, example, _ := strings.Cut(strings.TrimSuffix(text, "\n"), "\n\nExamples:\n")
		short, long, _ := strings.Cut(text, "\n\n")
		all[name] = help{arguments, short, long, example}
	}
	return all
}()

// showHelp is the runner of a command that has commands of its own, and says which.
func showHelp(c *call, _ []string) error { return c.cmd.Help() }
