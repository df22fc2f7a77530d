package app

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// command is a row of the program's table: what the help says of a command, and what carries it
// out. Rows are never changed: whatever belongs to one call is made by new.
type command struct {
	use, short, long, example string
	// args refuses a wrong number of arguments, as bad input.
	args cobra.PositionalArgs
	// valid are arguments that the shell completes.
	valid []string
	// new declares the flags and returns what carries out a call; of a command without flags
	// that is run. persistent declares flags of the commands below, too.
	new        func(flags *pflag.FlagSet) runner
	run        runner
	persistent func(flags *pflag.FlagSet)
	// oneOf are flags of which one at most is given, together those that go with each other.
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

// of makes the command of a row for the parser of command lines.
func (c command) of(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: c.use, Short: c.short, Long: c.long, Example: c.example, Args: inputArgs(c.args),
		ValidArgs: c.valid}
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
		cmd.AddCommand(sub.of(a))
	}
	return cmd
}

// help is the runner of a command that has commands of its own, and says which.
func help(c *call, _ []string) error { return c.cmd.Help() }
