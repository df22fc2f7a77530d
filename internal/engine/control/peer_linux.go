package control

import "golang.org/x/sys/unix"

// peerOfSocket asks the system for the user at the other end of a socket.
func peerOfSocket(fd int) (uid uint32, err error) {
	credentials, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return credentials.Uid, nil
}
