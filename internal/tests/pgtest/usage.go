//go:build unix

package pgtest

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Usage is the resource usage of processes so far, as Linux counts it.
type Usage struct {
	// Processor is the time on processors, of user and system, in steps of 10 ms a
	// process (/proc/PID/stat).
	Processor time.Duration
	// Memory is the memory in bytes, where processes that share a page have a part each (Pss of
	// /proc/PID/smaps_rollup).
	Memory int64
}

// Usage returns the usage of the server's processes, including ended ones.
func (s *Server) Usage(t testing.TB) Usage {
	t.Helper()
	pids, err := s.processes()
	must(t, err)
	first := pids[len(pids)-1]
	u := UsageOf(t, first)
	u.Processor += ticks(first, userOfEnded) + ticks(first, systemOfEnded)
	for _, pid := range pids[:len(pids)-1] {
		if _, err := os.Stat(fmt.Sprint("/proc/", pid)); err == nil { // else it has just ended
			child := UsageOf(t, pid)
			u.Processor += child.Processor
			u.Memory += child.Memory
		}
	}
	return u
}

// UsageOf returns the usage of a process, without its children; zero for an ended one.
func UsageOf(t testing.TB, pid int) (u Usage) {
	t.Helper()
	u.Processor = ticks(pid, userTime) + ticks(pid, systemTime)
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return u
	}
	for line := range strings.Lines(string(content)) {
		if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
			kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			must(t, err)
			u.Memory = kilobytes << 10
		}
	}
	return u
}

// Statements returns how often each statement was executed on the server while a
// function ran, by its own log.
func (s *Server) Statements(t testing.TB, during func()) map[string]int {
	t.Helper()
	s.Set(t, "log_statement", "all")
	s.eventuallyLogs(t, "all")
	before, err := os.Stat(s.data + ".log")
	must(t, err)
	during()
	s.Set(t, "log_statement", "none")
	content, err := os.ReadFile(s.data + ".log")
	must(t, err)
	counts := make(map[string]int)
	var statement strings.Builder
	end := func() {
		if text := strings.Join(strings.Fields(statement.String()), " "); text != "" {
			counts[text]++
		}
		statement.Reset()
	}
	for line := range strings.Lines(string(content[before.Size():])) {
		if rest, ok := strings.CutPrefix(line, "\t"); ok { // a statement of several lines goes on
			if statement.Len() > 0 {
				statement.WriteString(" " + rest)
			}
			continue
		}
		end()
		if m := logged.FindStringSubmatch(line); m != nil {
			statement.WriteString(m[1])
		}
	}
	end()
	return counts
}

// logged is a line of a log in which a statement begins.
var logged = regexp.MustCompile(`LOG:  (?:statement|execute [^:]*): (.*)`)

// eventuallyLogs waits until the server has read the setting.
func (s *Server) eventuallyLogs(t testing.TB, what string) {
	s.Eventually(t, "the setting is read", `show log_statement`, what)
}

// Fields of /proc/PID/stat after the name of the program: see proc(5), where they
// are counted from 1, and these are 14 to 17.
const (
	userTime = iota + 11
	systemTime
	userOfEnded // of children that were waited for
	systemOfEnded
)

// tick is the unit of those fields (USER_HZ).
const tick = 10 * time.Millisecond

// ticks is a time among the fields of a process, 0 where it has ended.
func ticks(pid, field int) time.Duration {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:])
	n, err := strconv.ParseInt(string(fields[field]), 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(n) * tick
}
