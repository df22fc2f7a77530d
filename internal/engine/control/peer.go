//go:build linux || darwin || freebsd

package control

import "net"

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
	var failed error
	err = raw.Control(func(fd uintptr) { uid, failed = peerOfSocket(int(fd)) })
	return uid, err == nil && failed == nil
}
