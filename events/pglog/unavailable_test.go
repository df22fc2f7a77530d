package pglog

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: a server that is out of disk, memory or connections, that is ended, or whose files fail,
// is unavailable; one that refuses a statement for what it says is not. What is known of the
// statement stays so. The codes are those of PostgreSQL's documentation, appendix A.
func TestUnavailable(t *testing.T) {
	for code, want := range map[string]bool{
		"53000": true,  // insufficient_resources
		"53100": true,  // disk_full
		"53200": true,  // out_of_memory
		"53300": true,  // too_many_connections
		"57P01": true,  // admin_shutdown
		"57P02": true,  // crash_shutdown
		"57P03": true,  // cannot_connect_now
		"58000": true,  // system_error
		"58030": true,  // io_error
		"57014": false, // query_canceled
		"23505": false, // unique_violation
		"25006": false, // read_only_sql_transaction
		"40001": false, // serialization_failure
		"42501": false, // insufficient_privilege
	} {
		answer := fmt.Errorf("insert: %w", &pgconn.PgError{SeverityUnlocalized: "ERROR", Code: code, Message: "no"})
		err := unavailable(answer)
		if errors.Is(err, events.ErrUnavailable) != want {
			t.Errorf("%s: %v", code, err)
		}
		if unknown(err) != unknown(answer) || passing(err) != passing(answer) {
			t.Errorf("%s: what became of the statement is another matter now", code)
		}
	}
}

// Law: a statement is sent again where another attempt may succeed, and nowhere else: not where the
// server has refused it for what it says, nor where what was found is the fault. An error that is
// no answer, or ends the session, says nothing of the statement.
func TestPassing(t *testing.T) {
	answer := func(severity, code string) error {
		return fmt.Errorf("insert: %w", &pgconn.PgError{SeverityUnlocalized: severity, Code: code})
	}
	for code, want := range map[string]bool{
		"25006": true,  // read_only_sql_transaction
		"57014": true,  // query_canceled
		"40001": true,  // serialization_failure
		"40P01": true,  // deadlock_detected
		"55P03": true,  // lock_not_available
		"0A000": true,  // feature_not_supported: cached plan must not change result type
		"53300": true,  // too_many_connections
		"23505": false, // unique_violation
		"42501": false, // insufficient_privilege
		"42P01": false, // undefined_table
		"53100": false, // disk_full
	} {
		if passing(answer("ERROR", code)) != want {
			t.Errorf("%s: passing is %t", code, !want)
		}
		if !passing(answer("FATAL", code)) {
			t.Errorf("%s: a session that ends is final", code)
		}
	}
	if !passing(errors.New("broken pipe")) {
		t.Error("a connection that breaks is final")
	}
	for _, err := range []error{events.ErrDamaged, ErrFenced, events.ErrMoved} {
		if passing(fmt.Errorf("read: %w", err)) {
			t.Errorf("%v: it is read again", err)
		}
	}
}

// Law: what is to be stored while the database does not answer is tried again, however often, until
// the log is closed; then it is said that nothing of it is stored.
func TestAppendsAreTriedUntilTheLogIsClosed(t *testing.T) {
	d := must.Get(configure("host=127.0.0.1 port=1 user=ada sslmode=disable"))(t)
	d.life, d.patience = t.Context(), time.Minute
	l := &Log{db: d}
	l.committer = committer{log: l, giveUp: make(chan struct{})}
	tries := 0
	d.config.DialFunc = func(context.Context, string, string) (net.Conn, error) {
		if tries++; tries == 4 {
			close(l.committer.giveUp)
		}
		return nil, errors.New("connection refused")
	}
	p, err := l.committer.write(nil)
	if p != nil || tries != 4 || !errors.Is(err, events.ErrClosed) || errors.Is(err, events.ErrUncertain) ||
		!strings.Contains(err.Error(), "connection refused") {
		t.Errorf("after %d attempts: %v, %v", tries, p, err)
	}
}
