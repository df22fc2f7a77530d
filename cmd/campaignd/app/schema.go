package app

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/schemas"
)

// schemaCommand is `campaignd schema`.
//
// That of the campaign file depends on the registry: the settings of each
// instrument, channel and method are its owner's. The others are fixed files.
var schemaCommand = command{
	name:  "schema",
	args:  cobra.MaximumNArgs(1),
	valid: schemaNames(),
	new: func(flags *pflag.FlagSet) runner {
		var version int
		var list bool
		flags.IntVar(&version, "version", 0, "an older version of the kind's payload")
		flags.BoolVar(&list, "list", false, "list what there are schemas of")
		return func(c *call, args []string) error {
			if list {
				if c.json {
					return c.printJSON(schemaNames())
				}
				c.print(strings.Join(schemaNames(), "\n"))
				return nil
			}
			name := "campaign"
			if len(args) > 0 {
				name = args[0]
			}
			var schema []byte
			var err error
			switch name {
			case "campaign":
				schema, err = campaignfile.Schema(c.registry)
			case "lab":
				schema = schemas.Lab()
			case "event":
				schema = schemas.Envelope()
			case "view":
				schema = schemas.View()
			default:
				for _, info := range events.Kinds() {
					if name == string(info.Kind) {
						wanted := info.Version
						if c.cmd.Flags().Changed("version") {
							wanted = version
						}
						var ok bool
						if schema, ok = schemas.Event(info.Kind, wanted); !ok {
							return badInput("%s has no version %d; the newest is %d", name, wanted,
								info.Version)
						}
					}
				}
			}
			if schema == nil {
				return badInput("there is no schema of %q; `campaignd schema --list` lists them", name)
			}
			if err == nil {
				_, err = c.stdout.Write(schema)
			}
			return err
		}
	},
}

// schemaNames are the documents with a schema. The shell completes them too.
func schemaNames() []string {
	names := []string{"campaign", "lab", "event", "view"}
	for _, info := range events.Kinds() {
		names = append(names, string(info.Kind))
	}
	return names
}
