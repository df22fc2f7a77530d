package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/web/server"
)

// workCommand is `campaignd work`.
var workCommand = command{
	name: "work",
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
