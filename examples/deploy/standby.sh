#!/bin/sh
# Starts a standby: a copy of the primary where there is none yet, then the server. It follows under the name $STANDBY,
# which is one of those that the primary waits for.
set -eu
secrets=${SECRETS:-/secrets}
if [ ! -e "$PGDATA" ]; then
	rm -rf "$PGDATA.new" # an attempt that broke off
	PGPASSWORD=$(cat "$secrets/postgres/replication")
	export PGPASSWORD
	source="host=$PRIMARY port=${PGPORT:-5432} user=replicator application_name=$STANDBY"
	pg_basebackup --dbname="$source sslmode=verify-full sslrootcert=$secrets/database.crt" \
		--pgdata="$PGDATA.new" --wal-method=stream --checkpoint=fast --write-recovery-conf
	mv "$PGDATA.new" "$PGDATA"
fi
exec docker-entrypoint.sh "$@"
