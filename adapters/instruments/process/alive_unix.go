//go:build unix

package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// running reports whether there is a process with this number that began at the
// given time, and is not a zombie. Numbers are used again; the two together are
// not. EPERM says that there is such a process, which belongs to another user.
// Without a birth on either side (no /proc) two empty texts agree, and the
// number alone must do; a zombie has let go of its devices.
func running(pid int, birth string) bool {
	if pid <= 0 {
		return false
	}
	if err := syscall.Kill(pid, 0); err != nil && !errors.Is(err, syscall.EPERM) {
		return false
	}
	state, began := stat(pid)
	return state != "Z" && state != "X" && began == birth
}

// endProcess ends a process without warning, with the group that it leads.
func endProcess(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// birth is when a process began, in the kernel's ticks since boot. It is empty
// where the system does not say (only Linux does).
func birth(pid int) string {
	_, began := stat(pid)
	return began
}

// stopped reports whether all threads of a process stand still, where the system
// says so (only Linux does); elsewhere it believes the signal. A thread that the
// signal has not reached yet would answer another request.
func stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	return !slices.ContainsFunc(threads, func(path string) bool {
		thread, err := strconv.Atoi(filepath.Base(path))
		state, _ := stat(thread)
		return err == nil && state != "T" && state != ""
	})
}

// stat reads the state of a process and the time it began, from Linux's /proc; empty without such a
// process or without /proc. Field 3 is the state and field 22 the start time, which are 0 and 19
// after the name.
func stat(pid int) (state, began string) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", ""
	}
	// The name, in parentheses, may hold anything; from the state on fields are
	// separated by spaces, and the 22nd of all is the start time.
	text := string(data)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return "", ""
	}
	return fields[0], fields[19]
}
