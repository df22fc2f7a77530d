#!/bin/sh
# Whether this standby follows its primary: it is healthy then.
set -eu
[ "$(psql --username="${POSTGRES_USER:-postgres}" --dbname=postgres --no-align --tuples-only \
	--command="select count(*) from pg_stat_wal_receiver where status = 'streaming'")" = 1 ]
