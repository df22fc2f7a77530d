//go:build unix

package doctor

import (
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// Law: a real server is seen as it is, and looking changes nothing: no table is made.
func TestLookAtARealServer(t *testing.T) {
	address := pgtest.URL(t)
	d := must.Get(LookAtDatabase(t.Context(), address, nil, Services{}))(t)
	verdicts := make(map[string]Verdict)
	for _, f := range d.Findings() {
		verdicts[f.Subject] = f.Verdict
	}
	for subject, want := range map[string]Verdict{
		"server": Safe, "disk": Safe, "commits": Safe, "rights": Unsafe, // the tests' role is a superuser
		"standbys that it waits for": Unsafe, "encryption": Safe, "tables": Safe, "archive": Unknown, "clocks": Safe,
	} {
		if verdicts[subject] != want {
			t.Errorf("%s is %q, want %q", subject, verdicts[subject], want)
		}
	}
	if n := pgtest.SQL(t, address, `select count(*) from pg_tables where tablename like 'cd%'`)[0]; n != "0" {
		t.Errorf("%s tables were made", n)
	}
}
