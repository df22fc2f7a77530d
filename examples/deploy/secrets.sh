#!/bin/sh
# Makes the passwords of the lab's database and its certificate, once, in the folder $1. What its servers read belongs to
# the user postgres of their image, what campaignd reads to the user of its image.
set -eu
umask 077
folder=$1
password() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
if [ -e "$folder/campaignd/pgpass" ]; then
	exit 0
fi
mkdir -p "$folder/postgres" "$folder/campaignd"
for name in superuser replication campaignd; do
	password >"$folder/postgres/$name"
done
names=DNS:primary,DNS:standby1,DNS:standby2,IP:127.0.0.1
openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=database -addext "subjectAltName=$names" \
	-keyout "$folder/postgres/database.key" -out "$folder/database.crt"
printf '*:*:*:campaignd:%s\n' "$(cat "$folder/postgres/campaignd")" >"$folder/campaignd/new"
chmod 644 "$folder/database.crt"
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$folder"
	chown -R postgres "$folder/postgres"
	chown -R 65532 "$folder/campaignd"
fi
# Last: what is there is whole.
mv "$folder/campaignd/new" "$folder/campaignd/pgpass"
