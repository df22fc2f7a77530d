package app

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/internal/files/guess"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// newColumn is a column in the document of `new --json`.
type newColumn struct {
	Heading string     `json:"heading"`
	Role    guess.Role `json:"role"`
	Name    string     `json:"name,omitempty"`
	Unit    string     `json:"unit,omitempty"`
	Found   string     `json:"found"`
	Why     string     `json:"why"`
}

// newCommand is `campaignd new`: the campaign file that the pages would guess of a table.
// The file goes to standard output and the reasons to standard error, so that the one can
// be kept and the others read.
var newCommand = command{
	name: "new",
	args: cobra.NoArgs,
	new: func(flags *pflag.FlagSet) runner {
		var from, name string
		var roles []string
		flags.StringVar(&from, "from", "", "the `table`: a CSV file, or - for standard input")
		flags.StringVar(&name, "name", "", "the campaign's `name` (default: the table's)")
		flags.StringArrayVar(&roles, "role", nil,
			"what a column is, where the guess is wrong: `HEADING=ROLE`; the roles are "+columnRoles())
		return func(c *call, args []string) error {
			if from == "" {
				return badInput("name a table, as in campaignd new --from rows.csv")
			}
			path, in, err := c.openTable(from)
			if err != nil {
				return err
			}
			defer in.Close()
			text, err := io.ReadAll(in)
			if err != nil {
				return err
			}
			g, _, err := guess.Of(path, string(text))
			if err != nil {
				return inputError{err}
			}
			g.Origin = filepath.Base(path)
			if name != "" {
				g.Name = name
			}
			if err := g.Say(roles); err != nil {
				return badInput("--role: %w", err)
			}
			if faults := g.Faults(); faults != nil {
				return badInput("%s cannot become a campaign as it is: %s, as in --role %q", path, faults[0].Text, "HEADING=maximize")
			}
			if c.json {
				columns := make([]newColumn, len(g.Columns))
				for i, c := range g.Columns {
					columns[i] = newColumn{Heading: c.Heading, Role: c.Role, Found: c.Found, Why: c.Why}
					if c.Role.Varied() || c.Role.Measured() {
						columns[i].Name, columns[i].Unit = c.Name, c.Unit
					}
				}
				return c.printJSON(struct {
					Source  string      `json:"source"`
					Columns []newColumn `json:"columns"`
				}{g.Source(), columns})
			}
			c.print(g.Source())
			for _, remark := range g.Remarks {
				c.remark("%s", remark)
			}
			for _, column := range g.Columns {
				c.remark("%s: %s. %s", column.Heading, column.Role, column.Why)
			}
			if open := g.Open(); len(open) > 0 {
				c.remark("Not measured yet: %s.", format.RowsAt(open))
			}
			if torn := g.Torn(); len(torn) > 0 {
				c.remark("Without a value that can be read in a column that is varied: %s. Mend or remove them in %s first.",
					format.RowsAt(torn), path)
			}
			c.remark("Keep the file as my.yaml, and take the %s along with\n  %s",
				format.Count(len(g.Taken()), "measurement"), importing(g, path))
			return nil
		}
	},
}

// columnRoles are the roles that a column may have.
func columnRoles() string {
	names := make([]string, len(guess.Roles))
	for i, role := range guess.Roles {
		names[i] = string(role)
	}
	return format.List(names...)
}

// importing is the command that takes the rows of a table into a campaign of the guessed
// file.
func importing(g *guess.Guess, path string) string {
	columns, notes, ignore := g.Uses()
	command := "campaignd import my.yaml " + path
	for _, c := range g.Columns {
		if name, ok := columns[c.Heading]; ok && name != c.Heading {
			command += fmt.Sprintf(" --column '%s'", quoted(c.Heading+"="+name))
		}
	}
	if len(notes) > 0 {
		command += fmt.Sprintf(" --note '%s'", quoted(strings.Join(notes, ",")))
	}
	if len(ignore) > 0 {
		command += fmt.Sprintf(" --ignore '%s'", quoted(strings.Join(ignore, ",")))
	}
	if g.SumHolds() && g.Sum.Off > 0 {
		command += " --anyway"
	}
	return command
}

// quoted is a text between the single quotes of a shell.
func quoted(text string) string { return strings.ReplaceAll(text, "'", `'\''`) }
