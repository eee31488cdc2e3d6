#!/bin/bash
# Makes repository.pack, the demonstration repository that the program carries inside, with the
# reference's svnadmin, svn and svnmucc. Needed again only when the demonstration is to change.
#
# The container: for each folder or file one line "PATH LENGTH" ("PATH/ 0" for a folder) and the
# file's bytes; all of it compressed with gzip.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
repo=$work/repository
svnadmin create --compatible-version 1.10 "$repo"
sed -i 's/^# compression = lz4/compression = zlib-9/' "$repo/db/fsfs.conf"
printf '#!/bin/sh\nexit 0\n' > "$repo/hooks/pre-revprop-change"
chmod +x "$repo/hooks/pre-revprop-change"
url=file://$repo
svn propset -q --revprop -r 0 svn:date 2024-03-01T09:00:00.000000Z "$url"
day=0
# say AUTHOR MESSAGE: gives the youngest revision its author, message and date.
say() {
  rev=$(svnlook youngest "$repo")
  day=$((day + 3))
  when=$(date -u -d "2024-03-01T09:15:00Z + $day days + $((rev * 37)) minutes" +%Y-%m-%dT%H:%M:%S.000000Z)
  svn propset -q --revprop -r "$rev" svn:author "$1" "$url"
  svn propset -q --revprop -r "$rev" svn:date "$when" "$url"
  svn propset -q --revprop -r "$rev" svn:log "$2" "$url"
}
svn mkdir -q -m change "$url/trunk" "$url/branches" "$url/tags"; say ada "Lay out the repository."
svn checkout -q "$url" wc; cd wc
cat > trunk/README <<'TEXT'
Orchard
=======
A small catalogue of apple trees, for trying things out.

  svn log -v     shows what happened to it,
  svn blame      who wrote which line,
  svn diff -c 5  one change.
TEXT
mkdir trunk/catalogue
printf 'name;planted;row\nBoskoop;2011;1\nGravenstein;2012;1\n' > trunk/catalogue/trees.csv
svn add -q trunk/README trunk/catalogue
svn commit -q -m change; svn update -q; say ada "Begin the catalogue with two trees."
printf 'Cox Orange;2014;2\nJonagold;2016;2\n' >> trunk/catalogue/trees.csv
svn commit -q -m change; svn update -q; say grace "Plant the second row."
cat > trunk/count.sh <<'TEXT'
#!/bin/sh
# Counts the trees of each row.
cut -d';' -f3 "$(dirname "$0")/catalogue/trees.csv" | grep -v row | sort | uniq -c
TEXT
chmod +x trunk/count.sh
svn add -q trunk/count.sh
svn propset -q svn:eol-style native trunk/README trunk/catalogue/trees.csv
svn commit -q -m change; svn update -q; say grace "A script that counts; line endings as they should be."
sed -i 's/Gravenstein;2012/Gravensteiner;2012/' trunk/catalogue/trees.csv
svn commit -q -m change; svn update -q; say ada "Correct the name of a tree."
svn copy -q "$url/trunk" "$url/branches/harvest" -m change; svn update -q; say linus "A branch to note the harvest on."
printf 'year;name;kg\n2023;Boskoop;41\n2023;Jonagold;28\n' > branches/harvest/catalogue/harvest.csv
svn add -q branches/harvest/catalogue/harvest.csv
svn commit -q -m change; svn update -q; say linus "The harvest of 2023."
printf 'Elstar;2018;3\n' >> trunk/catalogue/trees.csv
svn commit -q -m change; svn update -q; say grace "An Elstar in the third row."
svn copy -q "$url/trunk" "$url/tags/spring-2024" -m change; svn update -q; say ada "Tag the catalogue of spring 2024."
svn merge -q "$url/branches/harvest" trunk
svn commit -q -m change; svn update -q; say linus "Bring the harvest to trunk."
svn move -q trunk/count.sh trunk/catalogue/count-trees.sh
sed -i 's#$(dirname "$0")/catalogue/#$(dirname "$0")/#' trunk/catalogue/count-trees.sh
svn commit -q -m change; svn update -q; say ada "The script belongs to the catalogue."
printf '2024;Boskoop;37\n2024;Jonagold;33\n2024;Elstar;9\n' >> trunk/catalogue/harvest.csv
svn propset -q svn:ignore '*.tmp' trunk
svn commit -q -m change; svn update -q; say grace "The harvest of 2024."
cd "$work"
svnadmin pack -q "$repo"
# What can be done without.
rm -rf "$repo"/hooks/* "$repo"/db/rep-cache.db* "$repo"/db/transactions/* "$repo"/db/txn-protorevs/* \
  "$repo"/db/node-origins "$repo"/README.txt
printf '[general]\nanon-access = read\nauth-access = write\npassword-db = passwd\nrealm = Orchard\n' > "$repo/conf/svnserve.conf"
printf '[users]\ndemo = demo\n' > "$repo/conf/passwd"
rm -f "$repo"/conf/authz "$repo"/conf/hooks-env.tmpl
# The explanations in fsfs.conf are longer than the history.
grep -v '^#' "$repo/db/fsfs.conf" | grep -v '^$' > fsfs.conf; cp fsfs.conf "$repo/db/fsfs.conf"
svnadmin verify -q "$repo"
rm -rf "$repo"/db/transactions/* "$repo"/db/rep-cache.db*
cd "$repo"
find . -mindepth 1 | sort | sed 's#^\./##' | while read -r path; do
  if [ -d "$path" ]; then printf '%s/ 0\n' "$path"; else
    printf '%s %d\n' "$path" "$(stat -c %s "$path")"; cat "$path"; fi
done | gzip -9n > "$here/repository.pack"
ls -l "$here/repository.pack"
