package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"github.com/campaignd/campaignd/internal/control"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/server"
	"github.com/campaignd/campaignd/internal/telemetry"
)

// defaultAddress is where the server listens: on this machine alone.
const defaultAddress = "127.0.0.1:7070"

func (a *app) serveCommand() *cobra.Command {
	var address string
	var confined bool
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
reaches it may do everything, and a campaign file that they send may name programs
that are run here. With --confined it takes only campaign files that name no
program, no file and no address.`,
		Example: `  campaignd serve
  campaignd serve lab --listen 127.0.0.1:8080
  curl http://127.0.0.1:7070/api/v1/campaigns`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder := "."
			if len(args) > 0 {
				folder = args[0]
			}
			return a.serve(cmd.Context(), folder, address, confined)
		},
	}
	cmd.Flags().BoolVar(&confined, "confined", false,
		"refuse campaign files that name a program, a file or an address")
	cmd.Flags().StringVar(&address, "listen", defaultAddress, "the `address` to listen on")
	return cmd
}

// serve serves a folder until it is interrupted.
func (a *app) serve(ctx context.Context, folder, address string, confined bool) error {
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
		Log:      remark,
	})
	if err != nil {
		return err
	}
	defer l.Close()
	s := server.New(server.Options{
		Lab:      l,
		Version:  version(),
		Log:      remark,
		Confined: confined,
		Signer:   func() (note.Signer, error) { return signer("") },
	})
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
