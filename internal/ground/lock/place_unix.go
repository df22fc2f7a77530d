//go:build unix && !linux

package lock

// systemDirs is the same for every user, which os.TempDir need not be.
var systemDirs = func() []string { return []string{"/tmp/campaignd-locks"} }
