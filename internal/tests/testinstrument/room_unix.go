//go:build unix

package testinstrument

import (
	"os"
	"syscall"
)

// enter enters a room that holds one; the end of the process leaves it.
func enter(room string) (leave func(), err error) {
	f, err := os.OpenFile(room, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
