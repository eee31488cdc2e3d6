#!/bin/bash
# ceph.sh FOLDER PORT COMMAND...: runs a command beside an object store, Ceph's gateway, which is made in FOLDER for it and ended
# after it. The command finds in its environment where the store is: SAPWOOD_S3_ENDPOINT (http://127.0.0.1:PORT) and
# SAPWOOD_S3_BUCKET; the keys are AK and SK, and programs for S3 find them there too (AWS_...). A gateway or disk (osd) that is killed
# comes back; the numbers of their processes are in FOLDER/gateway.pid, which SAPWOOD_S3_GATEWAY names too, and FOLDER/osd.pid. The gateway
# listens on this machine only, or on the address SAPWOOD_S3_LISTEN.
#
# One node, four daemons, half a minute until they are up. Debian: ceph-common ceph-mgr ceph-mon ceph-osd curl radosgw uuid-runtime.
# The monitor listens on PORT + 1, by the older protocol: the newer one wants keys. Nothing of it is for more than tests.
set -eu
for program in ceph ceph-mgr ceph-mon ceph-osd radosgw radosgw-admin curl uuidgen; do
    command -v "$program" >/dev/null || { echo "$0: $program is missing: see the packages at the head of this file" >&2; exit 1; }
done
mkdir -p "$1"
folder=$(cd "$1" && pwd) port=$2
shift 2
uuid=$(uuidgen) disk=$(uuidgen)
mkdir "$folder"/{mon,mgr,osd,rgw}
export CEPH_CONF=$folder/ceph.conf
cat >"$CEPH_CONF" <<CONF
[global]
fsid = $uuid
mon host = v1:127.0.0.1:$((port + 1))
public network = 127.0.0.0/8
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd crush chooseleaf type = 0
osd memory target = 939524096
bluestore block size = 4294967296
mon allow pool size one = true
mon data avail crit = 0
mon data avail warn = 0
mon data = $folder/mon
mgr data = $folder/mgr
osd data = $folder/osd
run dir = $folder
log file = $folder/\$name.log
admin socket = $folder/\$name.asok
[client.rgw.a]
# Without tcp_nodelay each answer with a body takes 40 ms more.
rgw frontends = beast endpoint=${SAPWOOD_S3_LISTEN:-127.0.0.1}:$port tcp_nodelay=1
rgw data = $folder/rgw
CONF

daemons=()
trap 'for daemon in "${daemons[@]}" $(cat "$folder"/*.pid 2>/dev/null); do kill -KILL "$daemon" 2>/dev/null || true; done' EXIT
start() { "$@" >>"$folder/output" 2>&1 & daemons=("$!" "${daemons[@]}"); }
# Runs a daemon, again and again: its number is in NAME.pid.
keep() {
    while :; do
        "${@:2}" &
        echo $! >"$folder/$1.pid"
        wait $! || true
    done
}
# Waits until a command succeeds, as long as a busy machine may need.
until_done() {
    for _ in $(seq 240); do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.5
    done
    echo "$0: the store does not start: '$*' fails; see $folder" >&2
    exit 1
}

monmaptool --create --addv a "[v1:127.0.0.1:$((port + 1))]" --fsid "$uuid" "$folder/monmap" >/dev/null
ceph-mon --mkfs -i a --monmap "$folder/monmap"
start ceph-mon -f -i a
until_done timeout 5 ceph health
start ceph-mgr -f -i a
ceph osd new "$disk" 0 >/dev/null
ceph-osd -i 0 --mkfs --osd-uuid "$disk" >>"$folder/output" 2>&1
start keep osd ceph-osd -f -i 0
until_done sh -c "timeout 5 ceph osd stat | grep -q '1 up'"
start keep gateway radosgw -f -n client.rgw.a
until_done curl -sf "http://127.0.0.1:$port/"
radosgw-admin user create --uid=sapwood --display-name=sapwood --access-key=AK --secret-key=SK >>"$folder/output" 2>&1

export SAPWOOD_S3_ENDPOINT=http://127.0.0.1:$port SAPWOOD_S3_BUCKET=sapwood SAPWOOD_S3_GATEWAY=$folder/gateway.pid
export AWS_ENDPOINT_URL=$SAPWOOD_S3_ENDPOINT AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=AK AWS_SECRET_ACCESS_KEY=SK
empty=$(printf '' | sha256sum | cut -d' ' -f1)
curl -sf --aws-sigv4 aws:amz:us-east-1:s3 --user AK:SK -H "x-amz-content-sha256: $empty" -X PUT "$SAPWOOD_S3_ENDPOINT/$SAPWOOD_S3_BUCKET"
"$@"
