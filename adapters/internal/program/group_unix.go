//go:build unix

package program

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the program a process group of its own, so that a Ctrl-C meant
// for campaignd does not stop an experiment, and the program's helpers can be
// ended with it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate asks the program and its helpers to end.
func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// kill ends the program and its helpers at once.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// hold stops the program and its helpers until they are released.
func hold(cmd *exec.Cmd) (release func(), err error) {
	group := -cmd.Process.Pid
	return func() { _ = syscall.Kill(group, syscall.SIGCONT) }, syscall.Kill(group, syscall.SIGSTOP)
}
