#!/bin/bash
# azurite.sh FOLDER PORT COMMAND...: runs a command beside the emulator of Azure's storage, npm's azurite, which is fetched into FOLDER
# (180 MB) and ended after it. It listens on this machine, on PORT. The command finds in its environment where it is:
# SAPWOOD_AZURE_ENDPOINT; the account is azurite's own, the container is 'sapwood'. Debian: curl nodejs npm openssl.
#
# Nothing like it could be had for Google's storage: the library speaks its XML interface, whose writes fake-gcs-server (PyPI, 0.1.1) refuses.
set -eu
version=3.35.0
for program in curl node npm openssl; do
    command -v "$program" >/dev/null || { echo "$0: $program is missing" >&2; exit 1; }
done
mkdir -p "$1"
folder=$(cd "$1" && pwd) port=$2
shift 2
[ -x "$folder/node_modules/.bin/azurite-blob" ] || npm install --prefix "$folder" --no-audit --no-fund "azurite@$version" >"$folder/output" 2>&1

# In memory: nothing is left, and nothing of an earlier time is there.
node "$folder/node_modules/.bin/azurite-blob" --inMemoryPersistence --skipApiVersionCheck --silent --blobPort "$port" >>"$folder/output" 2>&1 &
trap "kill -KILL $! 2>/dev/null || true" EXIT
until_done() {
    for _ in $(seq 120); do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.5
    done
    echo "$0: azurite does not start: '$*' fails; see $folder/output" >&2
    exit 1
}
export SAPWOOD_AZURE_ENDPOINT=http://127.0.0.1:$port/devstoreaccount1
until_done curl -s "$SAPWOOD_AZURE_ENDPOINT"
# A container, by a request that is signed with azurite's own key.
date=$(LC_ALL=C date -u '+%a, %d %b %Y %H:%M:%S GMT') account=devstoreaccount1
key=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==
signed=$(printf 'PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:%s\nx-ms-version:2021-12-02\n/%s/%s/sapwood\nrestype:container' "$date" "$account" "$account" |
    openssl dgst -sha256 -mac HMAC -macopt "hexkey:$(echo "$key" | base64 -d | od -An -v -tx1 | tr -d ' \n')" -binary | base64)
curl -sf -X PUT -H 'content-length: 0' -H "x-ms-date: $date" -H 'x-ms-version: 2021-12-02' -H "authorization: SharedKey $account:$signed" \
    "$SAPWOOD_AZURE_ENDPOINT/sapwood?restype=container"
"$@"
