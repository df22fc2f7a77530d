#!/bin/sh
# Runs once, in the new primary before it listens: the roles, the lab's database, and who may follow.
set -eu
secrets=${SECRETS:-/secrets}
psql --set=ON_ERROR_STOP=1 --quiet --username="${POSTGRES_USER:-postgres}" --dbname=postgres \
	--set=replication="$(cat "$secrets/postgres/replication")" --set=campaignd="$(cat "$secrets/postgres/campaignd")" \
	--set=certificate="$secrets/database.crt" --set=key="$secrets/postgres/database.key" <<'SQL'
create role replicator login replication password :'replication';
-- No superuser: it owns its database and nothing else. pg_monitor lets `campaignd doctor` see the standbys. Never give it
-- pg_signal_backend.
create role campaignd login password :'campaignd';
grant pg_monitor to campaignd;
create database lab owner campaignd encoding 'UTF8' template template0;
revoke connect on database lab from public;

-- From the next start on: while this runs there is no standby that a commit could wait for. One is acknowledged once one
-- of the two has it, whichever is quicker.
alter system set synchronous_standby_names = 'ANY 1 (standby1, standby2)';
alter system set synchronous_commit = 'on';
alter system set max_connections = 200;
-- How far a standby may be behind and still catch up by itself.
alter system set wal_keep_size = '1GB';
alter system set ssl = on;
alter system set ssl_cert_file = :'certificate';
alter system set ssl_key_file = :'key';
SQL
echo 'hostssl replication replicator all scram-sha-256' >>"$PGDATA/pg_hba.conf"
