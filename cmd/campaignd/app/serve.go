package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/internal/control"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/labfile"
	"github.com/campaignd/campaignd/internal/notify"
	"github.com/campaignd/campaignd/internal/server"
	"github.com/campaignd/campaignd/internal/telemetry"
)

// defaultAddress is where the server listens: on this machine alone.
const defaultAddress = "127.0.0.1:7070"

func (a *app) serveCommand() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "serve [FOLDER]",
		Short: "Serve the campaigns of a folder to browsers and programs",
		Long: `Serve the stores of FOLDER (default: this folder), or those of --store, and run any
number of their campaigns at once.

Campaigns that were started here go on, now and after every restart, until they
have ended; others are shown, and run once somebody starts them. A store that
` + "`campaignd run`" + ` holds is shown too. Ctrl-C ends the server: what is under way at
an instrument goes on, and is asked about at the next start.

Without accounts the server listens on this machine alone, and everybody who
reaches it may do everything.`,
		Example: `  campaignd serve
  campaignd serve lab --listen 127.0.0.1:8080
  curl http://127.0.0.1:7070/api/v1/campaigns`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder := "."
			if len(args) > 0 {
				folder = args[0]
			}
			return a.serve(cmd.Context(), folder, address)
		},
	}
	cmd.Flags().StringVar(&address, "listen", defaultAddress, "the `address` to listen on")
	return cmd
}

// serve serves a folder until it is interrupted.
func (a *app) serve(ctx context.Context, folder, address string) error {
	if err := onLoopback(address); err != nil {
		return err
	}
	flush, err := telemetry.Setup(ctx, version())
	if err != nil {
		return badInput("%w", err)
	}
	defer func() {
		if err := flush(context.WithoutCancel(ctx)); err != nil {
			a.remark("%v", err)
		}
	}()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return badInput("nobody can be served: %w; choose another address with --listen", err)
	}
	defer listener.Close()
	remark := func(format string, args ...any) {
		a.remark("%s %s", time.Now().Format(time.DateTime), fmt.Sprintf(format, args...))
	}
	named, err := labfile.ReadFolder(a.registry, folder)
	if err != nil {
		return inputError{err}
	}
	notifier, err := notify.New(notify.Options{
		Lab: named,
		Dir: filepath.Join(folder, lab.Private, "notify"),
		Log: func(line string) { remark("%s", line) },
	})
	if err != nil {
		return err
	}
	var stores []string
	if a.store != "" {
		stores = []string{a.store}
	}
	l, err := lab.Open(ctx, lab.Options{
		Folder:   folder,
		Stores:   stores,
		Registry: a.registry,
		Build:    thisBuild().Build,
		Account:  control.OwnAccount(),
		Heard:    notifier.Observe,
		Log:      remark,
	})
	if err != nil {
		return err
	}
	defer l.Close()
	telling := make(chan struct{})
	ctx, stop := context.WithCancel(ctx)
	defer func() { stop(); <-telling }() // before the lab: what it heard of last is remembered
	go func() {
		defer close(telling)
		if err := notifier.Run(ctx); err != nil {
			remark("who was told what is not saved: %v", err)
		}
	}()
	s := server.New(server.Options{Lab: l, Version: version(), Log: remark})
	a.printf("Serving %s on http://%s\n", l.Folder(), listener.Addr())
	a.printf("There are no accounts: everybody on this machine may do everything here.\n")
	err = s.Serve(ctx, listener)
	if errors.Is(context.Cause(ctx), errInterrupted) {
		a.remark("Interrupted. Everything so far is in the stores; the same command goes on.")
		return nil
	}
	return err
}

// onLoopback refuses to listen where others than this machine's users could do everything.
func onLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return badInput("--listen %s is not an address such as %s: %w", address, defaultAddress, err)
	}
	ip := net.ParseIP(host)
	if host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return badInput("--listen %s: without accounts the server listens on this machine alone; use %s", address, defaultAddress)
}
