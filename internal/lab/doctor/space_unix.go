//go:build unix

package doctor

import "golang.org/x/sys/unix"

// freeSpace returns the free space on the disk of a folder, in bytes.
func freeSpace(path string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil
}
