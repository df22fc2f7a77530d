package pglog

import (
	"context"
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/merkle"
)

// migrations make the tables, each from what those before it made. The version
// of the tables is their number. One that was released is never changed: a
// change is a further one.
//
// Names are compared as bytes (collate "C"), whatever the database's locale: an
// index that is sorted by a locale is broken by an update of the system's
// library. Heads are changed with each append, and a row that is half empty
// leaves room for that in its page. Consumers and keys of values are bytes, as
// they are for every other store.
var migrations = []string{
	`create table cd_head (
		store  bigint generated always as identity primary key,
		name   text collate "C" not null unique,
		size   bigint not null default 0,
		root   bytea not null,
		edge   bytea not null default '',
		epoch  bigint not null default 0,
		holder text not null default ''
	) with (fillfactor = 50);
	create table cd_event (
		store    bigint not null references cd_head,
		position bigint not null,
		campaign text collate "C" not null,
		sequence bigint not null,
		append   bytea not null,
		record   bytea not null,
		hashes   bytea not null,
		primary key (store, position)
	);
	create unique index cd_event_sequence on cd_event (store, campaign, sequence);
	create index cd_event_first on cd_event (store, position) where sequence = 1;
	create table cd_offset (
		store    bigint not null references cd_head,
		consumer bytea not null,
		position bigint not null,
		primary key (store, consumer)
	);
	create table cd_value (
		store bigint not null references cd_head,
		key   bytea not null,
		value bytea not null,
		primary key (store, key)
	);`,
	// A heartbeat is a change of a row of few. Letters are worth nothing once
	// their reader or the server has ended, so that they need no WAL, and their
	// commits wait for no standby.
	`create table cd_worker (
		worker text collate "C" primary key,
		since  timestamptz not null default clock_timestamp(),
		until  timestamptz not null,
		said   bytea not null
	) with (fillfactor = 20);
	create unlogged table cd_letter (
		letter  bytea primary key,
		worker  text collate "C" not null,
		written timestamptz not null default clock_timestamp(),
		request bytea not null,
		taken   boolean not null default false,
		answer  bytea
	);
	create index cd_letter_worker on cd_letter (worker) where answer is null;
	create index cd_head_holder on cd_head (holder) where holder <> '';`,
	// A file is bytes in parts of a bounded size. It has its digest once it is whole; until then
	// the row belongs to an unfinished put.
	`create table cd_file (
		put    bytea primary key,
		store  bigint not null references cd_head,
		digest text collate "C",
		size   bigint
	);
	create unique index cd_file_digest on cd_file (store, digest);
	create table cd_file_part (
		put   bytea not null references cd_file on delete cascade,
		part  int not null,
		bytes bytea not null,
		primary key (put, part)
	);`,
	// The address that a store has been moved to, and the source that it is an unfinished copy of:
	// null where it is neither.
	`alter table cd_head add column moved text, add column unfinished text`,
}

// migrationLock is the advisory lock of migrations, an arbitrary number: two
// programs that start together make the tables once.
const migrationLock = 0x63616d706169676e

// migrate brings the tables up to date. A database that is up to date is only
// looked at, so that a program without the right to make tables can use it.
func migrate(ctx context.Context, c *conn) error {
	version, err := schemaVersion(ctx, c)
	if err != nil || version == len(migrations) {
		return err
	}
	// A connection on which anything of this fails is cut, and nothing was changed.
	if err := execAll(ctx, c, `begin`); err != nil {
		return err
	}
	if _, err := c.exec(ctx, `select pg_advisory_xact_lock($1)`, migrationLock); err != nil {
		return err
	}
	version, err = schemaVersion(ctx, c) // another program may have made them meanwhile
	if err != nil {
		return err
	}
	if version == 0 {
		const create = `create table cd_schema (version int not null); insert into cd_schema values (0)`
		if err := execAll(ctx, c, create); err != nil {
			return err
		}
	}
	for _, migration := range migrations[min(version, len(migrations)):] {
		if err := execAll(ctx, c, migration); err != nil {
			return err
		}
	}
	if _, err := c.exec(ctx, `update cd_schema set version = $1`, len(migrations)); err != nil {
		return err
	}
	_, err = c.exec(ctx, `commit`)
	return err
}

// schemaVersion returns the version of the tables, 0 where they do not exist, and
// [events.ErrNewerFormat] where this program does not know them.
func schemaVersion(ctx context.Context, c *conn) (version int, err error) {
	var there bool
	// Not to_regclass: it may answer from the session's cache, which is older than its wait for
	// another program's migration.
	err = c.query(ctx, `select exists (select from pg_class
		where relname = 'cd_schema' and pg_table_is_visible(oid))`).one(&there)
	if err != nil || !there {
		return 0, err
	}
	if err := c.query(ctx, `select version from cd_schema`).one(&version); err != nil {
		return 0, err
	}
	if version > len(migrations) {
		return 0, fmt.Errorf("%w: its tables have version %d and this campaignd knows %d; use the "+
			"campaignd that made them, or a newer one", events.ErrNewerFormat, version, len(migrations))
	}
	return version, nil
}

// execAll executes statements that have no arguments, one after the other.
func execAll(ctx context.Context, c *conn, statements string) error {
	_, err := c.pg.Exec(ctx, statements).ReadAll()
	return err
}

// emptyRoot is the root hash of a store without events.
func emptyRoot() []byte {
	hash := new(merkle.Edge).Head().Hash
	return hash[:]
}
