package app

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/internal/web/manual"
)

// docsFound is a section in the document of `docs WORD --json`.
type docsFound struct {
	Page    string `json:"page"`
	Heading string `json:"heading"`
	Anchor  string `json:"anchor"`
	Text    string `json:"text"`
}

// docsCommand is `campaignd docs`: the documentation that the pages show, in a terminal.
var docsCommand = command{
	name: "docs",
	args: cobra.ArbitraryArgs,
	run: func(c *call, args []string) error {
		if len(args) == 1 && manual.Find(args[0]) != nil && !c.json {
			c.print(strings.TrimRight(manual.Find(args[0]).Markdown, "\n"))
			return nil
		}
		query := strings.Join(args, " ")
		found := []docsFound{}
		for _, hit := range manual.Search(query) {
			text := strings.Join(strings.Fields(hit.Before+hit.Word+hit.After), " ")
			found = append(found, docsFound{hit.Page, hit.Heading, hit.Anchor, text})
		}
		switch {
		case len(args) == 0:
			for _, p := range manual.Listed() {
				c.printf("%-24s %s\n", p.Name, p.Title)
			}
			return nil
		case c.json:
			return c.printJSON(found)
		case len(found) == 0:
			return badInput("the documentation has no section with all of: %s", query)
		}
		for _, f := range found {
			c.printf("%s: %s\n    %s\n", f.Page, f.Heading, f.Text)
		}
		return nil
	},
}
