package pglog

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// errNoRow means that a statement has answered with no row.
var errNoRow = errors.New("the database answered with no row")

// inBinary has all arguments of a statement, and all columns of its rows, sent in
// their binary form.
var inBinary = []int16{1}

// query is a statement with its arguments. It is sent when its rows are read.
type query struct {
	ctx  context.Context
	c    *conn
	sql  string
	args []any
}

// query returns a statement that is to answer with rows. See [parameter] for the arguments, and
// [scan] for the variables that columns are read into.
func (c *conn) query(ctx context.Context, sql string, args ...any) query {
	return query{ctx, c, sql, args}
}

// prepare returns the statement as the server has parsed it, once for each connection
// (this package has few, whose texts do not change), and its arguments.
func (q query) prepare() (*pgconn.StatementDescription, [][]byte, error) {
	values, types, err := parameters(q.args)
	if err != nil {
		return nil, nil, err
	}
	s := q.c.prepared[q.sql]
	if s == nil {
		s, err = q.c.pg.Prepare(q.ctx, fmt.Sprint("statement_", len(q.c.prepared)), q.sql, types)
		if err != nil {
			return nil, nil, err
		}
		if q.c.prepared == nil {
			q.c.prepared = make(map[string]*pgconn.StatementDescription)
		}
		q.c.prepared[q.sql] = s
	}
	return s, values, nil
}

// each sends the statement, and calls f with each row that is read. Every row is read into the same
// variables.
func (q query) each(f func() error, into ...any) error {
	s, values, err := q.prepare()
	if err != nil {
		return err
	}
	result := q.c.pg.ExecStatement(q.ctx, s, values, inBinary, inBinary)
	for err == nil && result.NextRow() {
		row := result.Values()
		if len(row) != len(into) {
			err = fmt.Errorf("the database answered with %d columns, and %d are read", len(row), len(into))
		}
		for i := 0; i < len(into) && err == nil; i++ {
			err = scan(s.Fields[i], row[i], into[i])
		}
		if err == nil {
			err = f()
		}
	}
	_, failed := result.Close() // reads on to the end
	return errors.Join(failed, err)
}

// one sends the statement and reads its first row. The error is errNoRow for an empty result.
func (q query) one(into ...any) error {
	rows := 0
	err := q.each(func() error { rows++; return nil }, into...)
	if err == nil && rows == 0 {
		err = errNoRow
	}
	return err
}

// all sends a statement and returns its rows. Of a row, columns are the parts that the
// columns are read into.
func all[T any](q query, columns func(*T) []any) (rows []T, err error) {
	row := new(T)
	err = q.each(func() error { rows = append(rows, *row); return nil }, columns(row)...)
	return rows, err
}

// exec executes a statement that changes something, and returns the number of changed rows. An
// error that wraps errWarned belongs to a statement that the server believes to have succeeded.
func (c *conn) exec(ctx context.Context, sql string, args ...any) (int64, error) {
	c.warning = nil
	s, values, err := c.query(ctx, sql, args...).prepare()
	if err != nil {
		return 0, err
	}
	tag, err := c.pg.ExecStatement(ctx, s, values, inBinary, inBinary).Close()
	if err == nil {
		err = c.warned()
	}
	return tag.RowsAffected(), err
}

// execTogether is exec of several statements, which are sent at once.
func (c *conn) execTogether(ctx context.Context, statements ...query) ([]int64, error) {
	c.warning = nil
	batch := new(pgconn.Batch)
	for _, q := range statements {
		s, values, err := q.prepare()
		if err != nil {
			return nil, err
		}
		batch.ExecStatement(s, values, inBinary, inBinary)
	}
	results, err := c.pg.ExecBatch(ctx, batch).ReadAll()
	if err != nil {
		return nil, err
	}
	rows := make([]int64, len(results))
	for i, r := range results {
		rows[i] = r.CommandTag.RowsAffected()
	}
	return rows, c.warned()
}
