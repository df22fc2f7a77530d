package pglog

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/filestore"
)

// partSize is the most bytes of a file that a row has, a statement carries and memory holds.
const partSize = 256 << 10

// Files are the files of a store in the database. Each part of a file that is being put is a commit
// of its own; the digest comes last, and makes the file visible.
type Files struct {
	db    *Database
	store string
	// step, where set, is called between the steps of a Put: tests stop there.
	step func(string)
}

var _ filestore.Files = (*Files)(nil)

// Files returns the files of a store. They are those of the store that has the
// name when they are used, which need not be open.
func (d *Database) Files(store string) *Files {
	return &Files{db: d, store: store, step: func(string) {}}
}

// Close implements [filestore.Files]. The database stays open.
func (f *Files) Close() error { return nil }

// Put implements [filestore.Files].
func (f *Files) Put(ctx context.Context, r io.Reader) (filestore.Kept, error) {
	id := newID()
	store, err := f.begin(ctx, id)
	if err != nil {
		return filestore.Kept{}, roomOr(err)
	}
	f.step("begun")
	parts := &partWriter{ctx: ctx, db: f.db, id: id}
	buffered := bufio.NewWriterSize(parts, partSize)
	kept, err := filestore.Copy(ctx, buffered, r)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		f.step("written")
		err = f.place(ctx, store, id, kept, parts.n)
	}
	if err != nil {
		f.discard(ctx, id)
		return filestore.Kept{}, roomOr(err)
	}
	f.step("placed")
	return kept, nil
}

// begin makes the row of a file that is being put, and returns its store.
func (f *Files) begin(ctx context.Context, id []byte) (store int64, err error) {
	store, err = attempts(ctx, f.db, func(ctx context.Context, c *conn) (store int64, err error) {
		err = c.query(ctx, `select store from cd_head where name = $1`, f.store).one(&store)
		if errors.Is(err, errNoRow) {
			return 0, nil
		}
		if err == nil {
			_, err = c.exec(ctx, `insert into cd_file (put, store) values ($1, $2) on conflict do nothing`, id, store)
		}
		return store, err
	})
	if err == nil && store == 0 {
		err = fmt.Errorf("there is no store %q in the database: %w", f.store, fs.ErrNotExist)
	}
	return store, err
}

// partWriter writes the parts of a file.
type partWriter struct {
	ctx context.Context
	db  *Database
	id  []byte
	n   int // how many there are
}

// Write implements [io.Writer]. The bytes are copied: where the context ends, the
// statement goes on.
func (w *partWriter) Write(p []byte) (int, error) {
	part := slices.Clone(p)
	_, err := attempts(w.ctx, w.db, func(ctx context.Context, c *conn) (int64, error) {
		return c.exec(ctx, `insert into cd_file_part (put, part, bytes) values ($1, $2, $3)
			on conflict do nothing`, w.id, w.n, part)
	})
	if err != nil {
		return 0, err
	}
	w.n++
	return len(p), nil
}

// fileRow is a file that has a digest.
type fileRow struct {
	id   []byte
	size int64
}

// find returns the file of a digest. The error wraps [filestore.ErrMissing] where it is missing.
func (f *Files) find(ctx context.Context, digest string) (fileRow, error) {
	missing := fmt.Errorf("%w: %s", filestore.ErrMissing, digest)
	if events.HashIn(digest) == "" {
		return fileRow{}, missing // no file has such a digest
	}
	row, err := attempts(ctx, f.db, func(ctx context.Context, c *conn) (row fileRow, err error) {
		err = c.query(ctx, `select f.put, f.size from cd_file f join cd_head h using (store)
			where h.name = $1 and f.digest = $2`, f.store, digest).one(&row.id, &row.size)
		if errors.Is(err, errNoRow) {
			return fileRow{}, nil
		}
		return row, err
	})
	if err == nil && row.id == nil {
		err = missing
	}
	return row, err
}

// place gives the bytes of a put their digest, unless the same bytes have it already. A file that
// was altered goes in the same transaction.
func (f *Files) place(ctx context.Context, store int64, id []byte, kept filestore.Kept, parts int) error {
	for {
		was, err := f.find(ctx, kept.Digest)
		if err == nil {
			var state filestore.State
			if state, err = f.State(ctx, kept.Digest, kept.Size); state == filestore.Sound {
				// This commit, too, waits for a standby, which then has that file as well.
				return f.delete(ctx, id)
			}
		}
		if err != nil && !errors.Is(err, filestore.ErrMissing) {
			return err
		}
		f.step("compared")
		placed, err := attempts(ctx, f.db, func(ctx context.Context, c *conn) (bool, error) {
			rows, err := c.execTogether(ctx,
				c.query(ctx, `begin`),
				c.query(ctx, `delete from cd_file where put = $1`, was.id),
				c.query(ctx, `update cd_file set digest = $3, size = $4 where put = $1 and store = $2
					and (select count(*) from cd_file_part where put = $1) = $5`,
					id, store, kept.Digest, kept.Size, parts),
				c.query(ctx, `commit`))
			return err == nil && rows[2] == 1, err
		})
		switch {
		case violates(err, uniqueViolation):
			continue // another put of the same bytes was quicker
		case err == nil && !placed:
			return errors.New("what was written of it has been removed meanwhile; send it again")
		}
		return err
	}
}

const (
	uniqueViolation = "23505"
	diskFull        = "53100"
)

// violates reports whether an error is the server's of a code.
func violates(err error, code string) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.Code == code
}

// roomOr is an error as one of a full disk, where it is that.
func roomOr(err error) error {
	if violates(err, diskFull) {
		return fmt.Errorf("%w: %w", filestore.ErrNoRoom, err)
	}
	return err
}

// discardTime is how long a failed Put waits for the removal of its parts. After that they may
// stay, and are listed.
const discardTime = 2 * time.Second

// discard removes the parts of a failed Put.
func (f *Files) discard(ctx context.Context, id []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTime)
	defer cancel()
	_ = f.delete(ctx, id) // Unnamed lists what stays
}

// delete removes the bytes of a put.
func (f *Files) delete(ctx context.Context, id []byte) error {
	_, err := attempts(ctx, f.db, func(ctx context.Context, c *conn) (int64, error) {
		return c.exec(ctx, `delete from cd_file where put = $1`, id)
	})
	return err
}

// Open implements [filestore.Files]. No connection is held between two reads.
func (f *Files) Open(ctx context.Context, digest string, size int64) (io.ReadCloser, error) {
	row, err := f.find(ctx, digest)
	if err == nil && row.size != size {
		err = fmt.Errorf("%w: it has %d bytes and had %d", filestore.ErrAltered, row.size, size)
	}
	if err != nil {
		return nil, err
	}
	return filestore.Checked(ctx, &partReader{ctx: ctx, db: f.db, id: row.id}, digest, size), nil
}

// partReader reads the parts of a file.
type partReader struct {
	ctx  context.Context
	db   *Database
	id   []byte
	next int
	left []byte
}

// Read implements [io.Reader].
func (r *partReader) Read(p []byte) (int, error) {
	if len(r.left) == 0 {
		part, err := attempts(r.ctx, r.db, func(ctx context.Context, c *conn) (part []byte, err error) {
			err = c.query(ctx, `select bytes from cd_file_part where put = $1 and part = $2`, r.id, r.next).
				one(&part)
			if errors.Is(err, errNoRow) {
				return nil, nil
			}
			return part, err
		})
		if err != nil {
			return 0, err
		}
		if len(part) == 0 {
			return 0, io.EOF
		}
		r.left, r.next = part, r.next+1
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

// Close implements [io.Closer].
func (r *partReader) Close() error { return nil }

// State implements [filestore.Files].
func (f *Files) State(ctx context.Context, digest string, size int64) (filestore.State, error) {
	return filestore.StateOf(ctx, f, digest, size)
}

// Unnamed calls files by their hashes, as in a folder, and unfinished ones by the identifier of
// their put.
const (
	filesPath    = filestore.Folder + "/"
	incomingPath = filesPath + "incoming/"
)

// Unnamed implements [filestore.Files].
func (f *Files) Unnamed(ctx context.Context, named func(digest string) bool) ([]filestore.Unnamed, error) {
	found, err := attempts(ctx, f.db, func(ctx context.Context, c *conn) (found []filestore.Unnamed, err error) {
		var id []byte
		var digest string
		var size int64
		err = c.query(ctx, `select f.put, coalesce(f.digest, ''),
				(select coalesce(sum(octet_length(bytes)), 0)::bigint from cd_file_part p where p.put = f.put)
			from cd_file f join cd_head h using (store) where h.name = $1 order by f.digest, f.put`, f.store).each(func() error {
			switch hash := events.HashIn(digest); {
			case hash == "":
				found = append(found,
					filestore.Unnamed{Path: incomingPath + hex.EncodeToString(id), Size: size})
			case !named(digest):
				found = append(found, filestore.Unnamed{Path: filesPath + hash[:2] + "/" + hash, Size: size})
			}
			return nil
		}, &id, &digest, &size)
		return found, err
	})
	if err != nil {
		return nil, fmt.Errorf("store: list files: %w", err)
	}
	return found, nil
}

// Remove implements [filestore.Files]. It is refused, with an error that wraps
// [events.ErrInUse], unless this process holds the store at the moment when the
// files go ([Log.Hold]).
func (f *Files) Remove(ctx context.Context, found []filestore.Unnamed) error {
	var ids [][]byte
	var digests []string
	for _, u := range found {
		if name, ok := strings.CutPrefix(u.Path, incomingPath); ok {
			id, err := hex.DecodeString(name)
			if err != nil {
				return fmt.Errorf("store: remove files: %s: %w", u.Path, err)
			}
			ids = append(ids, id)
		} else {
			digests = append(digests, "sha256:"+u.Path[strings.LastIndexByte(u.Path, '/')+1:])
		}
	}
	if len(found) == 0 {
		return nil
	}
	f.db.mu.Lock()
	worker := f.db.worker
	f.db.mu.Unlock()
	held := false
	var err error
	if worker != nil {
		// Who takes hold of the store changes the row that is locked here.
		held, err = attempts(ctx, f.db, func(ctx context.Context, c *conn) (held bool, err error) {
			c.warning = nil
			err = c.query(ctx, `with held as (
					select store from cd_head where name = $1 and holder = $2 for share
				), gone as (
					delete from cd_file f using held
					where f.store = held.store and (f.put = any($3::bytea[]) and f.digest is null or f.digest = any($4::text[]))
				)
				select exists (select from held)`, f.store, worker.id, ids, digests).one(&held)
			return held, errors.Join(err, c.warned())
		})
	}
	if err == nil && !held {
		err = fmt.Errorf("this process does not hold the store: %w", events.ErrInUse)
	}
	if err != nil {
		return fmt.Errorf("store: remove files: %w", err)
	}
	return nil
}
