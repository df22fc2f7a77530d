// Package app is the program campaignd as a function, for programs of your own
// that know more instruments, channels to experts or methods:
//
//	func main() {
//		registry := app.Builtin()
//		registry.Instruments = append(registry.Instruments, stirrer.Driver)
//		app.Main(registry)
//	}
//
// A whole one is examples/plugin.
//
// Each command is a file of this package: flags and printing. What a command
// shows of a campaign comes from internal/view, what runs campaigns is
// internal/lab.
package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/campaignd/campaignd/internal/builtin"
	"github.com/campaignd/campaignd/internal/plaintext"
	"github.com/campaignd/campaignd/internal/registry"
)

// Registry is the table of what campaign files can name: Instruments, Experts
// (the channels to them) and Methods (the families of policies). The order of
// rows is that of lists and messages.
type Registry = registry.Registry

// Builtin returns the table of what campaignd itself brings along, for others
// to append to.
func Builtin() Registry { return builtin.Registry() }

// Main is the program with a table: it never returns.
func Main(registry Registry) {
	os.Exit(Run(context.Background(), registry, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Run is the program with the given arguments. It returns the exit code. A
// second interrupt ends the process at once.
func Run(
	ctx context.Context,
	registry Registry,
	args []string,
	stdin io.Reader,
	stdout, stderr io.Writer,
) (code int) {
	// Whatever a command prints passes here; only what draws a terminal writes
	// below.
	stdout, stderr = plaintext.NewWriter(stdout, false), plaintext.NewWriter(stderr, false)
	defer func() {
		if fault := recover(); fault != nil {
			code = crashed(stderr, fault)
		}
	}()
	ctx, interrupt, stop := interruptible(ctx)
	defer stop()
	a := &app{registry: withModules(registry, buildInfo()), stdin: stdin, stdout: stdout,
		stderr: stderr, interrupt: interrupt}
	root := newRoot(a)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		return a.fail(err)
	}
	return exitOK
}

// interruptible returns a context that ends with errInterrupted at the first
// SIGINT or SIGTERM, or call of interrupt. The second one ends the program at
// once: what was recorded is safe.
func interruptible(ctx context.Context) (_ context.Context, interrupt, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	interrupt = func() {
		if ctx.Err() != nil {
			os.Exit(exitInterrupted)
		}
		cancel(errInterrupted)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for range signals {
			interrupt()
		}
	}()
	return ctx, interrupt, func() { signal.Stop(signals); close(signals); cancel(nil) }
}

// crashed reports a programmer's mistake in a line. The stack goes to a file,
// for the bug report.
func crashed(stderr io.Writer, fault any) int {
	where := ""
	if f, err := os.CreateTemp("", "campaignd-crash-*.txt"); err == nil {
		fmt.Fprintf(f, "campaignd %s\n%v\n\n%s", thisBuild(), fault, debug.Stack())
		if f.Close() == nil {
			where = " with the file " + f.Name()
		}
	}
	fmt.Fprintf(
		stderr,
		"campaignd: internal error: %v. What is in the store is safe. Please report this%s to whoever looks after campaignd where you are\n",
		fault,
		where,
	)
	return exitFailed
}
