//go:build !unix

package program

import (
	"errors"
	"os/exec"
)

// Without process groups the program alone can be ended, not the helpers it started; and only by
// force, because no signal asks it to end.

func ownGroup(*exec.Cmd) {}

func terminate(*exec.Cmd) {}

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func hold(*exec.Cmd) (release func(), err error) { return nil, errors.ErrUnsupported }
