#!/bin/bash
# postgres.sh FOLDER PORT COMMAND...: runs a command beside a PostgreSQL, which is made in FOLDER for it and ended after it: user svn, database
# sapwood, without passwords and TLS (PGSSLMODE is disable for the command), on this machine only, or on the address
# SAPWOOD_PG_LISTEN. A server that is killed comes back; the number of its process is in FOLDER/postgres.pid.
#
# Debian: postgresql util-linux. PostgreSQL does not run as root: then the user postgres has it. Nothing of it is for more than tests.
set -eu
folder=$1 port=$2
shift 2
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
programs=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
[ -x "$programs/initdb" ] || { echo "$0: PostgreSQL is missing: see the packages at the head of this file" >&2; exit 1; }
mkdir "$folder/data" "$folder/socket"
as=()
if [ "$(id -u)" = 0 ]; then
    chown postgres "$folder/data" "$folder/socket"
    as=(setpriv --reuid=postgres --regid=postgres --init-groups)
fi
# It may not look into the folder that this was begun in.
cd /
"${as[@]}" "$programs/initdb" --auth=trust --username=svn --no-sync --encoding=UTF8 -D "$folder/data" >"$folder/output" 2>&1
echo 'host all all all trust' | "${as[@]}" tee -a "$folder/data/pg_hba.conf" >/dev/null

# Runs the server, again and again.
keep() {
    while :; do
        "${as[@]}" "$programs/postgres" -D "$folder/data" -k "$folder/socket" -p "$port" -c "listen_addresses=${SAPWOOD_PG_LISTEN:-127.0.0.1}" >>"$folder/output" 2>&1 &
        echo $! >"$folder/postgres.pid"
        wait $! 2>/dev/null || true
        # Those that it left have to end before the next one takes its memory.
        sleep 0.2
    done
}
keep &
keeper=$!
trap 'kill -KILL "$keeper" 2>/dev/null || true; kill -QUIT "$(cat "$folder/postgres.pid")" 2>/dev/null || true' EXIT
for _ in $(seq 240); do
    if "$programs/psql" -h "$folder/socket" -p "$port" -U svn -c 'SELECT 1' postgres >/dev/null 2>&1; then break; fi
    sleep 0.25
done
"$programs/createdb" -h "$folder/socket" -p "$port" -U svn sapwood
cd "$OLDPWD"
export PGSSLMODE=disable
"$@"
