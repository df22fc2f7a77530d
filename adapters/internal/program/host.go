// Package program is how programs of the user's are run that speak JSON Lines
// on their standard input and output: instruments, methods and experts. It
// starts one in a process group of its own, with an environment that holds no
// secrets, reads its lines within bounds, and ends it. What the lines mean is
// for its callers to say; [Client] is one that asks a question at a time.
package program

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/input"
)

// Host is how a program is run. Its fields are not changed once it runs.
type Host struct {
	Argv []string // Argv[0] is absolute, or was found in PATH
	Dir  string
	Env  []string
	// ReplyWithin is how long the program may take to answer, and to read its input.
	ReplyWithin time.Duration
	// Logf gets troubles that are not the error of a call, and the program's standard error, line
	// by line, from several goroutines.
	Logf func(format string, args ...any)
	Pauses
}

// Pauses are the waiting times for a program. Tests shorten them. Unlike reply_within they are not
// settings: they bound the patience with a broken program, and no campaign depends on that.
type Pauses struct {
	First, Longest time.Duration // between an exit and the next start
	Healthy        time.Duration // a run longer than this was no failure to start
	Drain          time.Duration // for the rest of an ended program's output
	Grace          time.Duration // between the end of input, SIGTERM and SIGKILL
}

// defaultPauses are the usual ones.
var defaultPauses = Pauses{
	First:   200 * time.Millisecond,
	Longest: 30 * time.Second,
	Healthy: time.Minute,
	Drain:   2 * time.Second,
	Grace:   5 * time.Second,
}

// NewHost says how a program is run. A relative path with a slash and a relative folder are taken
// from baseDir, the folder of the campaign file. The program is looked up now and not started. logf
// must not block; nil drops the messages.
func NewHost(
	of definition.Program, baseDir string, replyWithin time.Duration,
	logf func(format string, args ...any),
) (Host, error) {
	if len(of.Command) == 0 || of.Command[0] == "" {
		return Host{}, errors.New("command is empty: name the program and its arguments")
	}
	baseDir, err := filepath.Abs(baseDir)
	if err != nil {
		return Host{}, err
	}
	dir := baseDir
	if of.Dir != "" {
		dir = input.Path(baseDir, of.Dir)
	}
	if info, err := os.Stat(dir); err != nil {
		return Host{}, fmt.Errorf("working directory: %w", err)
	} else if !info.IsDir() {
		return Host{}, fmt.Errorf("working directory %s is not a directory", dir)
	}
	program := of.Command[0]
	if strings.ContainsRune(program, '/') || strings.ContainsRune(program, filepath.Separator) {
		program = input.Path(baseDir, program)
	}
	if program, err = exec.LookPath(program); err != nil {
		return Host{}, fmt.Errorf(
			"program %q cannot be run (a path is taken from %s, a bare name from PATH): %w",
			of.Command[0], baseDir, err)
	}
	if of.ReplyWithin > 0 {
		replyWithin = time.Duration(of.ReplyWithin)
	}
	if logf == nil {
		logf = func(string, ...any) {}
	}
	env, missing := environment(os.Environ(), of)
	for _, name := range missing {
		logf("%s gets no %s, which the campaign file names under environment: it is not set here",
			filepath.Base(program), name)
	}
	return Host{
		Argv: append([]string{program}, of.Command[1:]...), Dir: dir, Env: env,
		ReplyWithin: replyWithin, Logf: logf, Pauses: defaultPauses,
	}, nil
}

// Name names the program in messages.
func (h *Host) Name() string { return filepath.Base(h.Argv[0]) }

// PauseAfter is how long to wait before the next start, after so many short runs in a row, with the
// time at which the last one ended: not at all at first, then twice as long after each, up to a
// limit. It keeps a program that ends at once from being started in a tight loop. The shift is
// bounded at 16, before it overflows. Time that has passed since the exit counts; a negative pause
// means no pause.
func (h *Host) PauseAfter(shortRuns int, lastExit time.Time) time.Duration {
	if shortRuns == 0 {
		return 0
	}
	d := h.Longest
	if shortRuns < 16 {
		d = min(d, h.First<<(shortRuns-1))
	}
	return d - time.Since(lastExit)
}

// scripts are endings of arguments that look like the program's own source: a
// missing one is worth a remark.
var scripts = []string{".py", ".sh", ".jl", ".js", ".rb", ".pl", ".R", ".lua", ".jar"}

// isScript reports whether an argument looks like the program's own source.
func isScript(arg string) bool {
	return slices.Contains(scripts, filepath.Ext(arg)) && !strings.HasPrefix(arg, "-")
}

// Remarks names the program and the scripts that are missing on this machine. They are remarks and
// not faults, because the file may be meant for another one. Only arguments with the ending of a
// script are looked for: any other one may be a name on a device. tries is the command that tries
// the program.
func Remarks(of definition.Program, folder string, here definition.Path, tries string) []string {
	if len(of.Command) == 0 {
		return nil
	}
	dir := input.Path(folder, of.Dir)
	missing := func(file string) bool {
		_, err := os.Stat(input.Path(dir, file))
		return err != nil
	}
	var remarks []string
	program, at := of.Command[0], here.To("command").String()
	absent := missing(program)
	if !strings.ContainsRune(program, '/') {
		_, err := exec.LookPath(program)
		absent = err != nil
	}
	if absent {
		remarks = append(remarks, fmt.Sprintf("%s: there is no program %s here", at, program))
	}
	for _, arg := range of.Command[1:] {
		if isScript(arg) && missing(arg) {
			remarks = append(remarks, fmt.Sprintf(
				"%s: there is no file %s in %s; `%s` tries the program", at, arg, dir, tries))
		}
	}
	return remarks
}
