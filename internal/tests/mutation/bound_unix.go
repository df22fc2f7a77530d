//go:build unix

package main

import (
	"context"
	"os/exec"
	"strconv"
	"syscall"
)

// bound is a command with bounded memory, which is killed with all its children
// when the context ends. A test may have started programs of its own: the group
// is killed, not the process alone.
func bound(ctx context.Context, name string, args []string) *exec.Cmd {
	// A system that cannot bound the memory goes on without.
	script := "ulimit -v " + strconv.Itoa(mostMemory) + ` 2>/dev/null; exec "$0" "$@"`
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", script, name}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}
