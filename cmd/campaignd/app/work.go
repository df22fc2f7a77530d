package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/labfile"
	"github.com/campaignd/campaignd/internal/server"
)

// workCommand is `campaignd work`.
var workCommand = command{
	use:   "work DATABASE",
	short: "Drive campaigns of a lab in a database, on any number of machines",
	long: `Drive campaigns of the lab in DATABASE, with any number of other workers and of
servers, which drive campaigns, too, unless they have --no-work.

A campaign that was started is driven by one process. Where that ends, or its machine
dies, another one goes on with it within ten seconds; what was under way at an
instrument is asked about first, as after every crash. Campaigns are shared out evenly.
With --instrument a worker is for the campaigns at instruments that its machine
reaches, and for those that need none: the names are those of lab.yaml, which each
machine has in its --folder.

Ctrl-C, or SIGTERM, hands the campaigns over and ends.`,
	example: `  campaignd work postgres://campaignd@db.example.org/lab
  campaignd work postgres://campaignd@db.example.org/lab --folder lab --instrument pump`,
	args: cobra.MaximumNArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		var drives driving
		var folder, health string
		drives.flags(flags, &folder)
		flags.StringVar(&health, "health", "",
			"the `address` at which /livez and /readyz say to all who ask how the worker is")
		return func(c *call, args []string) error {
			if err := drives.place(c.app, args, &folder); err != nil {
				return err
			}
			if drives.database == "" {
				return badInput("name the database of the lab: campaignd work postgres://USER@HOST/DATABASE; " +
					"a lab in a folder is driven by `campaignd serve`")
			}
			return work(c, folder, health, drives)
		}
	},
}

// work drives campaigns until it is interrupted, which is how a worker ends, and
// no failure.
func work(a *call, folder, health string, drives driving) error {
	named, err := labfile.ReadFolder(a.registry, folder)
	if err != nil {
		return inputError{err}
	}
	for _, name := range drives.instruments {
		if named == nil || named.Instruments[name].Driver.Name == "" {
			return badInput("there is no instrument %s in the lab.yaml of %s", name, shellArg(folder))
		}
	}
	defer a.telemetry(a.ctx, a.dated)()
	asked := net.Listener(nil)
	if health != "" {
		if asked, err = net.Listen("tcp", health); err != nil {
			return badInput("--health: %w", err)
		}
		defer asked.Close()
	}
	l, err := lab.Open(a.ctx, a.labOptions(folder, drives))
	if err != nil {
		return storeError{err}
	}
	if asked != nil {
		h := http.Server{Handler: server.Health(l), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
		go func() { _ = h.Serve(asked) }() // Close ends it
		defer h.Close()
	}
	a.printf("Working for %s\n", drives.database)
	a.sayLocks(true)
	<-a.ctx.Done()
	l.Close()
	if errors.Is(context.Cause(a.ctx), errInterrupted) {
		a.remark("Interrupted. Other processes of the lab go on with its campaigns.")
		return nil
	}
	return context.Cause(a.ctx)
}
