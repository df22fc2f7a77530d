package app

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/campaignfile"
	"github.com/campaignd/campaignd/schemas"
)

// schemaCommand is `campaignd schema`.
//
// That of the campaign file depends on the registry: the settings of each
// instrument, channel and method are its owner's. The others are fixed files.
func (a *app) schemaCommand() *cobra.Command {
	var version int
	var list bool
	cmd := &cobra.Command{
		Use:   "schema [campaign | lab | event | view | KIND]",
		Short: "Print the JSON Schema of the campaign file, of the lab file or of an event",
		Long: `Print the JSON Schema of the campaign file (campaign, the default), of the lab
file (lab), of the CloudEvents form of all events (event), of what programs are shown of
a campaign (view), or of the payload of a kind of event.`,
		Example: `  campaignd schema > campaign.schema.json
  campaignd schema experiment.measured
  campaignd schema --list`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: schemaNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				if a.json {
					return a.printJSON(schemaNames())
				}
				a.print(strings.Join(schemaNames(), "\n"))
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
				schema, err = campaignfile.Schema(a.registry)
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
						if cmd.Flags().Changed("version") {
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
				_, err = a.stdout.Write(schema)
			}
			return err
		},
	}
	cmd.Flags().IntVar(&version, "version", 0, "an older version of the kind's payload")
	cmd.Flags().BoolVar(&list, "list", false, "list what there are schemas of")
	return cmd
}

// schemaNames are the documents that there is a schema of. The shell completes
// them too.
func schemaNames() []string {
	names := []string{"campaign", "lab", "event", "view"}
	for _, info := range events.Kinds() {
		names = append(names, string(info.Kind))
	}
	return names
}
