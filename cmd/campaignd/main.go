// Command campaignd drives closed-loop lab campaigns together with human
// experts, and can prove afterwards why it did everything it did.
//
// Each subcommand is a file of this package. The instruments, experts and methods
// that it knows are the rows of internal/builtin.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/campaignd/campaignd/internal/plaintext"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the program: it returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	// Whatever a command prints passes here; only what draws a terminal writes below.
	stdout, stderr = plaintext.NewWriter(stdout, false), plaintext.NewWriter(stderr, false)
	defer func() {
		if fault := recover(); fault != nil {
			code = crashed(stderr, fault)
		}
	}()
	ctx, interrupt, stop := interruptible(ctx)
	defer stop()
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, interrupt: interrupt}
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

// crashed reports a programmer's mistake in a line. The stack, which helps only
// who looks for the mistake, goes to a file.
func crashed(stderr io.Writer, fault any) int {
	where := ""
	if f, err := os.CreateTemp("", "campaignd-crash-*.txt"); err == nil {
		fmt.Fprintf(f, "campaignd %s\n%v\n\n%s", thisBuild(), fault, debug.Stack())
		if f.Close() == nil {
			where = " with the file " + f.Name()
		}
	}
	fmt.Fprintf(stderr, "campaignd: internal error: %v. What is in the store is safe. Please report this%s to whoever looks after campaignd where you are\n", fault, where)
	return exitFailed
}
