//go:build !unix

package process

import "os/exec"

// Without process groups only the program itself can be ended, not its helpers.

func ownGroup(*exec.Cmd) {}

func terminate(*exec.Cmd) {}

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
