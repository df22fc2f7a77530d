//go:build darwin || freebsd

package control

import "golang.org/x/sys/unix"

// peerOfSocket asks the system for the user at the other end of a socket.
func peerOfSocket(fd int) (uid uint32, err error) {
	const local = 0 // SOL_LOCAL
	credentials, err := unix.GetsockoptXucred(fd, local, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return credentials.Uid, nil
}
