package pglog

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/campaignd/campaignd/events"
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
