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

// A request names who asks, and that name is not checked; the system says which
// of its users is at the other end of the socket.

type peerKey struct{}

// withPeer notes the account at the other end of a connection.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	if uid, ok := peer(c); ok {
		return context.WithValue(ctx, peerKey{}, accountOf(uid))
	}
	return ctx
}

// peerOf returns the account that [withPeer] has noted, "" where there is none.
func peerOf(ctx context.Context) string {
	account, _ := ctx.Value(peerKey{}).(string)
	return account
}

// Peer is the system's user at the other end of the socket that a request came
// over, as [OwnAccount] writes it; "" where the system does not say.
func Peer(r *http.Request) string { return peerOf(r.Context()) }

// OwnAccount is the system's user that this process belongs to, as it is
// recorded in [events.Event].
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

// printable leaves out what an event's envelope cannot hold.
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
