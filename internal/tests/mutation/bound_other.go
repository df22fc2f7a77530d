//go:build !unix

package main

import (
	"context"
	"os/exec"
)

// bound is a command that is killed when the context ends. Its memory is not
// bounded here.
func bound(ctx context.Context, name string, args []string) *exec.Cmd {
	return exec.CommandContext(ctx, name, args...)
}
