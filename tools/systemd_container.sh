#!/bin/bash
# An installation as administrators make it, in a Debian of its own with systemd as the first process: the package, one file of
# settings, https, a login by LDAP from Debian's svn, kill -9 and an upgrade under load. Tried by hand, as root, with Debian's
# systemd-container and debootstrap:
#
#     cargo xtask dist
#     tools/systemd_container.sh target/dist/sapwood_0.2.0_amd64.deb /var/tmp/container
#
# The last lines have to say that nothing that was acknowledged is missing, and that promtool finds nothing wrong.
set -eu
if [ "${1-}" != inside ]; then
    [ $# = 2 ] || { echo "usage: $0 PACKAGE FOLDER" >&2; exit 2; }
    root=$2/root shared=$2/shared
    mkdir -p "$shared"
    cp "$1" "$shared/sapwood.deb"
    cp "$0" "$shared/run"
    [ -d "$root/usr" ] || debootstrap --variant=minbase \
        --include=systemd,systemd-sysv,dbus,subversion,openssl,procps,curl,slapd bookworm "$root" >"$2/debootstrap.log"
    systemd-nspawn -q -D "$root" --boot --register=no --keep-unit --private-network --bind="$shared:/in" >"$2/boot.log" 2>&1 &
    nspawn=$!
    trap 'kill $nspawn' EXIT
    until first=$(pgrep -P $nspawn systemd) && grep -q 'login:' "$2/boot.log"; do
        kill -0 $nspawn
        sleep 0.2
    done
    nsenter -t "$first" -m -p -n -u -i -C --root="/proc/$first/root" bash /in/run inside
    promtool check metrics <"$shared/metrics" && echo "promtool: nothing is wrong"
    exit
fi

say() { echo "== $*"; }
export LC_ALL=C.UTF-8
say install
dpkg -i /in/sapwood.deb | tail -n 1
say "a directory with one user"
systemctl stop slapd
slapcat -n 1 | grep -q uid=ada || slapadd -n 1 <<L
dn: uid=ada,dc=nodomain
objectClass: account
objectClass: simpleSecurityObject
uid: ada
userPassword: secret of ada

dn: cn=devs,dc=nodomain
objectClass: groupOfNames
member: uid=ada,dc=nodomain
L
chown -R openldap:openldap /var/lib/ldap
# Without the unit, which is Debian's old script.
slapd -h ldap://127.0.0.1/ -u openldap -g openldap -F /etc/ldap/slapd.d
say "a certificate, a repository, rules"
cd /etc/sapwood
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out certificate.pem -days 90 \
    -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2>/dev/null
chgrp svn key.pem
chmod 640 key.pem
[ -d /srv/svn/game ] || sapwood repo create /srv/svn/game --layout
printf '[groups]\ndevs = group:devs\n[/]\n* =\n@devs = rw\n' >rules
say "the one file"
cat >sapwood.toml <<L
listen = "127.0.0.1"
https-port = 443
tls-certificate = "certificate.pem"
tls-key = "key.pem"
metrics-listen = "127.0.0.1:9117"
log-file = "/var/log/sapwood/operations.log"
[[location]]
url = "/svn"
folder = "/srv/svn"
directory = "company"
authz = "rules"
[[directory]]
name = "company"
servers = ["ldap://127.0.0.1"]
base = "dc=nodomain"
[status]
members = ["group:devs"]
directory = "company"
L
sapwood serve --check --config sapwood.toml
systemctl start sapwood-https.socket sapwood.service
url=https://127.0.0.1/svn/game
# 1.14 looks at no addresses in certificates.
by_ada() {
    svn --non-interactive --no-auth-cache --username ada --password 'secret of ada' \
        --trust-server-cert-failures=unknown-ca,cn-mismatch "$@"
}
say "a login from svn $(svn --version -q)"
by_ada ls "$url"
curl -skf -u 'ada:secret of ada' https://127.0.0.1/-/status | grep -o '<title>[^<]*'
say "load, kill -9, upgrade"
run=$(mktemp -d)
load() {
    n=0
    while [ ! -e "$run/stop" ]; do
        n=$((n + 1))
        name=$(basename "$run")-$1-$n
        if by_ada -q mkdir -m "load $name" "$url/trunk/$name" 2>>"$run/errors"; then echo "$name" >>"$run/said"; fi
    done
}
for one in a b c; do load $one & done
sleep 5
kill -9 "$(systemctl show sapwood -p MainPID --value)"
sleep 5
dpkg -i /in/sapwood.deb | tail -n 1
sleep 5
touch "$run/stop"
wait
systemctl is-active sapwood.service
systemctl show sapwood -p NRestarts
say result
sort "$run/said" >"$run/a"
by_ada ls "$url/trunk" | tr -d / | sort >"$run/b"
echo "$(wc -l <"$run/a") acknowledged, $(comm -23 "$run/a" "$run/b" | wc -l) of them missing," \
    "$(grep -c 'svn: E' "$run/errors" || true) lines of errors"
su svn -s /bin/sh -c 'sapwood svnadmin verify -q /srv/svn/game' && echo verified
sapwood doctor --config sapwood.toml
curl -sf http://127.0.0.1:9117/metrics >/in/metrics
