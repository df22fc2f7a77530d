package control

import (
	"net"

	"golang.org/x/sys/unix"
)

// peer returns the user at the other end of a connection.
func peer(c net.Conn) (uid uint32, ok bool) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return 0, false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, false
	}
	var credentials *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		credentials, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil || failed != nil {
		return 0, false
	}
	return credentials.Uid, true
}
