package lock

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// systemDirs are the folders of locks, the most visible first. systemd may give a service its own
// /tmp, but not its own /run/lock; where a user may not make a folder in that, and the system has
// made none, programs meet in /tmp, as in earlier versions.
var systemDirs = func() []string { return []string{"/run/lock/campaignd", "/tmp/campaignd-locks"} }

// look determines this process's view of the machine. Unreadable parts stay unknown: only the
// superuser may ask for the first process's view.
func look() (s sight) {
	s.pid, _ = os.Readlink("/proc/self/ns/pid")
	s.mount, _ = os.Readlink("/proc/self/ns/mnt")
	s.init, _ = os.Readlink("/proc/1/ns/mnt")
	s.same = seenByFirst
	if text, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		s.mounts = mountsOf(string(text))
	}
	for _, file := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Lstat(file); err == nil {
			s.marked = file
		}
	}
	for _, name := range []string{"container", "KUBERNETES_SERVICE_HOST"} { // podman and systemd set the first
		if os.Getenv(name) != "" {
			s.marked = name
		}
	}
	return s
}

// seenByFirst compares a folder with the one that the machine's first process sees under its name.
func seenByFirst(dir string) *bool {
	if _, err := os.Stat("/proc/1/root/"); err != nil {
		return nil
	}
	own, err := os.Stat(dir)
	if err != nil {
		return nil
	}
	theirs, err := os.Stat(filepath.Join("/proc/1/root", dir))
	return new(err == nil && os.SameFile(own, theirs))
}

// mountsOf reads the text of mountinfo (proc_pid_mountinfo(5)).
func mountsOf(text string) (all []mounted) {
	for line := range strings.Lines(text) {
		before, after, _ := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if len(fields) < 5 || len(kind) == 0 {
			continue
		}
		all = append(all, mounted{root: unescaped(fields[3]), point: unescaped(fields[4]), kind: kind[0]})
	}
	return all
}

// unescaped replaces the escapes of a space, a tab, a line end and a backslash.
func unescaped(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if c, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
