package pglog

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/campaignd/campaignd/events"
)

// final reports whether an error is about the store's content rather than about reaching it.
func final(err error) bool {
	for _, e := range []error{
		events.ErrDamaged, events.ErrNewerFormat, events.ErrEarlierFormat, events.ErrInvalidEvent, ErrFenced,
		events.ErrMoved, events.ErrUnfinished,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// unknown reports whether an error leaves open what became of a statement that
// was sent. An answer of the server that the statement failed does not: it has
// rolled it back. A session that the server ends (FATAL) does, since it can end
// a commit's wait for a standby.
func unknown(err error) bool {
	var unsent *errNotConnected
	var answer *pgconn.PgError
	switch {
	case errors.As(err, &unsent), final(err):
		return false
	case errors.As(err, &answer):
		return answer.SeverityUnlocalized != "ERROR"
	}
	return true
}

// passing reports whether a statement that failed may succeed when it is sent
// again, on a new connection: the server was busy with others, is another's
// standby now, or the statement was cancelled.
func passing(err error) bool {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) || answer.SeverityUnlocalized != "ERROR" {
		return !final(err)
	}
	switch answer.Code {
	case "25006", // the server only reads
		"57014",          // it was cancelled
		"40001", "40P01", // it was in the way of others
		"55P03",
		"0A000", // the tables have changed since the statement was prepared
		"53300": // too many connections
		return true
	}
	return false
}

// unavailable marks an answer of a server that can do nothing for anyone now: it is
// out of disk, memory or connections (class 53), it is ended or begins (57P), its
// files fail (58). See PostgreSQL's documentation, appendix A.
func unavailable(err error) error {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) || errors.Is(err, events.ErrUnavailable) {
		return err
	}
	for _, class := range []string{"53", "57P", "58"} {
		if strings.HasPrefix(answer.Code, class) {
			return fmt.Errorf("%w: %w", events.ErrUnavailable, err)
		}
	}
	return err
}

// attempts calls f until it returns no error, or one that does not pass, or the
// patience of the database is over, or the context is done; not at all where that is
// done before. The first attempt takes any connection, the others a new one.
func attempts[T any](
	ctx context.Context, d *Database, f func(context.Context, *conn) (T, error),
) (none T, err error) {
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	began := time.Now()
	for n := 0; ; n++ {
		value, err := ask(ctx, d, use{fresh: n > 0}, f)
		if err == nil || ctx.Err() != nil || errors.Is(err, events.ErrClosed) || !passing(err) {
			return value, err
		}
		if time.Since(began) > d.patience {
			return value, fmt.Errorf("the database does not answer: %w", plainly(err))
		}
		if err := pause(ctx, backoff(n)); err != nil {
			return value, context.Cause(ctx)
		}
	}
}

// backoff is how long to wait after the n'th attempt, from 0.
func backoff(n int) time.Duration {
	return min(time.Second, 20*time.Millisecond<<min(n, 10))
}

// unreachable is why none of the servers of an address is used.
type unreachable struct {
	several bool // the address names more than one
	says    []string
	causes  []error
}

func (u *unreachable) add(e endpoint, err error) {
	server := net.JoinHostPort(e[0].Host, strconv.Itoa(int(e[0].Port)))
	says := reason(err)
	if u.several && errors.Is(err, errStandby) {
		says = "a standby" // as all but one should be: there is nothing to do about it
	}
	u.says, u.causes = append(u.says, server+": "+says), append(u.causes, err)
}

func (u *unreachable) Error() string   { return strings.Join(u.says, "; ") }
func (u *unreachable) Unwrap() []error { return u.causes }

// reason extracts the cause from an error of pgx, without the words around it and with a remedy,
// where one is known.
func reason(err error) string {
	var answer *pgconn.PgError
	var network *net.OpError
	var names *net.DNSError
	var another x509.HostnameError
	switch {
	case errors.As(err, new(*refusal)):
		return plainly(err).Error()
	case errors.As(err, &answer):
		remedies := map[string]string{
			"28P01": "write the password into the file ~/.pgpass or the variable PGPASSWORD",
			"28000": "see which roles there are, the server's pg_hba.conf, and whether it wants TLS (sslmode=verify-full)",
			"3D000": "see which databases there are, or create it",
			"08P01": "a pooler of connections may stand before the server, whose answer this is: name the server itself",
		}
		if remedy := remedies[answer.Code]; remedy != "" {
			return answer.Message + ": " + remedy
		}
		return answer.Message
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "its certificate is signed by an unknown authority: name the file of that one with sslrootcert"
	case errors.As(err, &another):
		return another.Error() + ": write the host as its certificate does"
	case errors.As(err, &names):
		return names.Err
	case errors.As(err, &network):
		return network.Err.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	text := err.Error() // each way to connect has a line, which begins with the server
	if at := strings.LastIndex(text, "): "); at >= 0 {
		text = text[at+3:]
	}
	return text
}
