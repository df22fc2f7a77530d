package control

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/user"
	"strconv"
	"strings"
	"unicode"
)

// The actor in a request is not checked; the system identifies the user at the other end of the
// socket.

type peerKey struct{}

// withPeer stores the account at the other end of a connection.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	if uid, ok := peer(c); ok {
		return context.WithValue(ctx, peerKey{}, accountOf(uid))
	}
	return ctx
}

// peerOf returns the account stored by [withPeer], or "".
func peerOf(ctx context.Context) string {
	account, _ := ctx.Value(peerKey{}).(string)
	return account
}

// Peer returns the system user at the other end of the socket that a request came over, in the form
// of [OwnAccount]; "" if the system does not tell.
func Peer(r *http.Request) string { return peerOf(r.Context()) }

// OwnAccount returns the system user of this process, in the recorded form of [events.Event].
func OwnAccount() string {
	if uid := os.Geteuid(); uid >= 0 {
		return accountOf(uint32(uid))
	}
	if u, err := user.Current(); err == nil { // a system without numbers
		return printable(u.Username)
	}
	return ""
}

// accountOf writes a user as "root (uid 0)".
func accountOf(uid uint32) string {
	number := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(number); err == nil && printable(u.Username) != "" {
		return fmt.Sprintf("%s (uid %s)", printable(u.Username), number)
	}
	return "uid " + number
}

// printable removes characters that an event's envelope cannot hold.
func printable(name string) string {
	const longest = 200
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	return strings.ToValidUTF8(name[:min(len(name), longest)], "")
}
