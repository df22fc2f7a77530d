package lock

import (
	"os"
	"path/filepath"
	"strings"
)

// Dirs are the folders in which a device of this machine is locked, each in its own right: a device
// must be had in all of them. They are the first of the system's folders that can be made, and
// every other existing one: a program that could not make the first, or is of an earlier version,
// has its locks there.
func Dirs() []string {
	if dir := os.Getenv(Variable); dir != "" {
		return []string{dir}
	}
	for _, dir := range systemDirs() {
		if shared(dir) == nil {
			return there() // also one that another program has made meanwhile
		}
	}
	return systemDirs()[:1] // the error of its use says why
}

// there returns the existing folders of locks of the system.
func there() (found []string) {
	for _, dir := range systemDirs() {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			found = append(found, dir)
		}
	}
	return found
}

// Look returns the folder in which devices of this machine are locked, without making it, and the
// reason why other programs of the machine may not see it; empty if they do, as far as this process
// can know.
func Look() (dir, hidden string) {
	dir = os.Getenv(Variable)
	named := dir != ""
	if !named {
		dir = systemDirs()[0]
		if found := there(); len(found) > 0 {
			dir = found[0]
		} else if _, err := os.Stat(filepath.Dir(dir)); os.IsNotExist(err) {
			dir = systemDirs()[len(systemDirs())-1]
		}
	}
	return dir, look().hidden(dir, named)
}

// sight is a process's view of the machine. Its zero value is that of a system on which all
// processes see the same.
type sight struct {
	// pid and mount are the namespaces of the process, init is the first process's mount namespace;
	// empty if unknown.
	pid, mount, init string
	// same reports whether the first process sees the same folder, nil if unknown.
	same func(dir string) *bool
	// mounts are those of the process, in their order.
	mounts []mounted
	// marked is the mark of a container, empty without one.
	marked string
}

// mounted is a mount: a folder of a file system, at a point.
type mounted struct{ root, point, kind string }

// The namespaces that a machine starts with: the kernel gives them these numbers
// (include/uapi/linux/nsfs.h), that of mounts since 6.18.
const (
	firstPID   = "pid:[4026531836]"
	firstMount = "mnt:[4026531832]"
)

// hidden says why other programs of the machine may not see a folder, empty if they do. named is
// set if a person has named the folder: a container then has it mounted.
func (s sight) hidden(dir string, named bool) string {
	machine := s.pid == firstPID
	if s.mount == firstMount || machine && s.mount != "" && s.mount == s.init {
		return "" // it sees what the first process sees
	}
	if machine && s.same != nil {
		if same := s.same(dir); same != nil && !*same {
			return "the machine's first process sees another folder there"
		} else if same != nil {
			return ""
		}
	}
	at := s.covering(dir)
	if strings.Contains(at.root, "/systemd-private-") {
		return "systemd gives this service temporary folders of its own (PrivateTmp)"
	}
	root := s.covering("/")
	container := s.pid != "" && !machine ||
		s.marked != "" && (root.kind == "overlay" || root.kind == "fuse.fuse-overlayfs" || root.root != "/")
	switch {
	case !container, named, dir == systemDirs()[0] && at.point == dir && at.root != "/":
		return ""
	}
	return "this program runs in a container, which has a folder of locks of its own"
}

// covering returns the mount of a folder: the last of the deepest.
func (s sight) covering(dir string) (deepest mounted) {
	for _, m := range s.mounts {
		rel, err := filepath.Rel(m.point, dir)
		if err == nil && filepath.IsLocal(rel) && len(m.point) >= len(deepest.point) {
			deepest = m
		}
	}
	return deepest
}

// Remedy says how to make a hidden folder visible.
func Remedy() string {
	dir := systemDirs()[0]
	return "let it see the machine's folder, " + dir + ": mount it into the container at the same place, or name it in " +
		"ReadWritePaths= of the unit; or set " + Variable + " to a folder that all programs of the machine see"
}
