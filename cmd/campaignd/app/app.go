// Package app is the program campaignd as a function, for programs of your own that know more
// instruments, channels to experts or methods:
//
//	func main() {
//		registry := app.Builtin()
//		registry.Instruments = append(registry.Instruments, stirrer.Driver)
//		app.Main(registry)
//	}
//
// A whole one is examples/plugin.
//
// A command is flags and printing: its views of a campaign come from internal/view, internal/lab
// runs campaigns, and internal/attest proves stores. Each command has a file of its own name, with
// its row of the table in root.go; its help is in help.txt. The other files are shared by commands:
//
//   - app.go, root.go, command.go: the program, its global flags and output; a row of the table,
//     and one call of a command
//   - target.go, session.go, remote.go: from an argument to an open store, of this process, of
//     another process of this machine, or of a server
//   - request.go, input.go: sending a request to a campaign, and reading the numbers, compositions
//     and identifiers that a person typed
//   - exit.go, remedies.go, commands.go: errors as messages and exit codes, and their remedies as
//     command lines
//   - run.go with progress.go (lines) and live*.go (a picture in the terminal): driving one
//     campaign here, and showing how it goes on
//   - serve*.go, account*.go: the server of a folder of stores, and who may use it
//   - audit.go, checkpoint*.go, verify.go, export.go, remote_attest.go: proofs
//   - simulate*.go: studies in memory
//   - build.go, modules.go: the program's identity, and the modules it is made of
//
// A command that writes is a request of the engine: asking and askingOf find the store, app.submit
// opens it and sends the request, and app.printRecorded prints the resulting events. A command that
// reads goes through call.reading. Errors return to Run, which alone prints them (app.fail) and
// chooses the exit code.
package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
)

// Registry is the table of names for campaign files: Instruments, Experts (the channels to them)
// and Methods (the families of policies). The order of rows is that of lists and messages.
type Registry = registry.Registry

// Builtin returns the table of campaignd's own rows, for others to append to.
func Builtin() Registry { return builtin.Registry() }

// Main is the program with a table: it never returns.
func Main(registry Registry) {
	os.Exit(Run(context.Background(), registry, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Run is the program with the given arguments, which do not include the
// program's name. It returns the exit code (exit.go) and writes
// nothing but to stdout and stderr, so tests run it in their own process. A
// second interrupt ends the process at once.
func Run(
	ctx context.Context, registry Registry, args []string, stdin io.Reader, stdout, stderr io.Writer,
) (code int) {
	// All output of a command passes through these two, which take out the characters that could
	// steer a terminal: names, notes and messages of devices come from elsewhere. Only the code
	// that draws a picture writes to the stream below (beneath).
	stdout, stderr = plaintext.NewWriter(stdout, false), plaintext.NewWriter(stderr, false)
	// A panic of this goroutine is a bug, and is reported as one. The store needs no rescue:
	// acknowledged events are on disk already.
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

// interruptible returns a context that ends with errInterrupted at the first SIGINT or SIGTERM, or
// call of interrupt. The second one ends the program at once: recorded events are safe.
//
// interrupt is also called by the live display, from its own goroutine. stop must be called once
// the command is over; it lets go of the signals.
func interruptible(ctx context.Context) (_ context.Context, interrupt, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	interrupt = func() {
		if ctx.Err() != nil {
			os.Exit(exitInterrupted)
		}
		cancel(errInterrupted)
	}
	// Room for two, so that a second signal is not lost while the first one is
	// being handled.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for range signals {
			interrupt()
		}
	}()
	return ctx, interrupt, func() { signal.Stop(signals); close(signals); cancel(nil) }
}

// crashed reports a panic in one line and returns the exit code. The stack goes
// to a temporary file for the bug report: a person at a terminal can do nothing
// with it, and the message must stay readable. A panic in another goroutine does
// not come here: packages that start goroutines with code of others hand panics
// on (see internal/engine/drive).
func crashed(stderr io.Writer, fault any) int {
	where := ""
	if f, err := os.CreateTemp("", "campaignd-crash-*.txt"); err == nil {
		fmt.Fprintf(f, "campaignd %s\n%v\n\n%s", thisBuild(), fault, debug.Stack())
		if f.Close() == nil {
			where = " with the file " + f.Name()
		}
	}
	fmt.Fprintf(stderr, "campaignd: internal error: %v. What is in the store is safe. "+
		"Please report this%s to the person who maintains campaignd for you\n", fault, where)
	return exitFailed
}
