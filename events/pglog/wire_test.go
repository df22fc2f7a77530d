package pglog

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/google/go-cmp/cmp"
)

// session returns a connection to a database of its own.
func session(t *testing.T) (context.Context, *conn) {
	t.Helper()
	d := mustConnect(t, freshDatabase(t))
	c := must.Get(d.connect(t.Context()))(t)
	t.Cleanup(func() { d.cut(c) })
	return t.Context(), c
}

// Law: the server takes an argument for what it is. What it took it for, it says as text.
func TestArguments(t *testing.T) {
	ctx, c := session(t)
	for _, test := range []struct {
		typ  string
		arg  any
		want string
	}{
		{"bool", true, "true"},
		{"bool", false, "false"},
		{"bigint", 0, "0"},
		{"bigint", int64(math.MinInt64), "-9223372036854775808"},
		{"bigint", int64(math.MaxInt64), "9223372036854775807"},
		{"text", "", ""},
		{"text", `a'b"c\ {ü} NULL`, `a'b"c\ {ü} NULL`},
		{"bytea", []byte{}, `\x`},
		{"bytea", []byte{0, 255, '\\'}, `\x00ff5c`},
		{"interval", 26*time.Hour + 5*time.Second + 7*time.Microsecond, "26:00:05.000007"},
		{"interval", -time.Minute, "-00:01:00"},
		{"bigint[]", []int64{}, "{}"},
		{"bigint[]", []int64{-1, math.MaxInt64}, "{-1,9223372036854775807}"},
		{"text[]", []string{"a", "", `"`, "NULL", "b,c"}, `{a,"","\"","NULL","b,c"}`},
		{"bytea[]", [][]byte{{1}, {}}, `{"\\x01","\\x"}`},
		{"bytea", []byte(nil), "(null)"},
		{"bytea[]", [][]byte(nil), "(null)"},
		{"text[]", []string(nil), "(null)"},
	} {
		var got string
		statement := `select coalesce(($1::` + test.typ + `)::text, '(null)')`
		if err := c.query(ctx, statement, test.arg).one(&got); err != nil || got != test.want {
			t.Errorf("%T %v is %q for the server, not %q (%v)", test.arg, test.arg, got, test.want, err)
		}
	}
	if _, err := c.exec(ctx, `select $1`, uint8(1)); err == nil || !strings.Contains(err.Error(), "$1") {
		t.Errorf("an argument of a type that cannot be sent: %v", err)
	}
}

// column reads the one column of a statement.
func column[T any](ctx context.Context, c *conn, statement string) (value T, err error) {
	err = c.query(ctx, statement).one(&value)
	return value, err
}

// reads fails unless a column is read as a value.
func reads[T any](ctx context.Context, t *testing.T, c *conn, statement string, want T) {
	t.Helper()
	got, err := column[T](ctx, c, statement)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%s: %v (-want +got):\n%s", statement, err, diff)
	}
}

// Law: a column is read as what it says.
func TestColumns(t *testing.T) {
	ctx, c := session(t)
	text := `a'b"c\ {ü}`
	reads(ctx, t, c, `select true`, true)
	reads(ctx, t, c, `select 1 > 2`, false)
	reads(ctx, t, c, `select -2147483648`, -2147483648)
	reads(ctx, t, c, `select -9223372036854775808`, int64(math.MinInt64))
	reads(ctx, t, c, `select ''`, "")
	reads(ctx, t, c, `select 'a''b"c\ {ü}'`, text)
	reads(ctx, t, c, `select 'a'::name`, "a")
	reads(ctx, t, c, `select '\x'::bytea`, []byte{})
	reads(ctx, t, c, `select '\x00ff5c'::bytea`, []byte{0, 255, '\\'})
	reads(ctx, t, c, `select null::bytea`, []byte(nil))
	reads(ctx, t, c, `select '1999-12-31 23:59:59.999999+00'::timestamptz`,
		time.Date(1999, 12, 31, 23, 59, 59, 999999000, time.UTC).Local())
	reads(ctx, t, c, `select '2026-02-03 04:05:06.789+02'::timestamptz`,
		time.Date(2026, 2, 3, 2, 5, 6, 789000000, time.UTC).Local())
	reads(ctx, t, c, `select '{}'::bigint[]`, []int64{})
	reads(ctx, t, c, `select '{-1,9223372036854775807}'::bigint[]`, []int64{-1, math.MaxInt64})
	reads(ctx, t, c, `select '{"",b,"NULL"}'::text[]`, []string{"", "b", "NULL"})
	reads(ctx, t, c, `select 'a''b"c\ {ü}'`, &text)
	reads(ctx, t, c, `select null::text`, (*string)(nil))
	reads(ctx, t, c, `select null::bigint`, (*int64)(nil))
}

// Law: what is not there, or of another type, is not taken for a value.
func TestColumnsThatAreRefused(t *testing.T) {
	ctx, c := session(t)
	refuses := func(statement string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "cannot be read into") {
			t.Errorf("%s was read: %v", statement, err)
		}
	}
	for _, statement := range []string{`select null::bigint`, `select 1.5`, `select 1::float8`, `select 1::real`, `select '1'`} {
		_, err := column[int64](ctx, c, statement)
		refuses(statement, err)
	}
	for _, statement := range []string{`select null::text`, `select '\x61'::bytea`, `select 1`} {
		_, err := column[string](ctx, c, statement)
		refuses(statement, err)
	}
	for _, statement := range []string{
		`select 'infinity'::timestamptz`, `select '-infinity'::timestamptz`, `select now()::timestamp`,
	} {
		_, err := column[time.Time](ctx, c, statement)
		refuses(statement, err)
	}
	for _, statement := range []string{
		`select '{1,null}'::bigint[]`, `select '{{1}}'::bigint[]`, `select '{1}'::int[]`, `select null::bigint[]`,
	} {
		_, err := column[[]int64](ctx, c, statement)
		refuses(statement, err)
	}
	_, err := column[[]byte](ctx, c, `select 'a'`)
	refuses(`select 'a'`, err)
	if _, err := column[int64](ctx, c, `select 1, 2`); err == nil || !strings.Contains(err.Error(), "2 columns") {
		t.Errorf("of two columns one was read: %v", err)
	}
	if got, err := column[int64](ctx, c, `select 7::bigint`); err != nil || got != 7 {
		t.Errorf("after all these answers the connection is no more use: %d, %v", got, err)
	}
}
