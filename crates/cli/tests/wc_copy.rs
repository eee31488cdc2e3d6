//! Copies and moves between working copies and URLs, by ours and by the reference.

use crate::common::sides;

use sides::compare;

/// Two revisions of a tree in `repo`, one in `other`.
const START: &str = r"
mkdir -p A/B; echo '$Rev$ x' > A/f; echo l1 > A/B/g; echo h > A/B/h; ln -s f A/l; echo s > A/x.sh; chmod +x A/x.sh
svn add -q A
svn ps -q svn:keywords Rev A/f
svn ps -q svn:eol-style CRLF A/B/g
svn ps -q foo bar A
svn ci -q -m one
cp -r A ../foreign/A; svn add -q ../foreign/A
svn ps -q svn:executable x ../foreign/A/x.sh
svn ps -q svn:mergeinfo /B:1 ../foreign/A
svn ps -q foo bar ../foreign/A/f
svn ci -q -m one ../foreign
mkdir E; svn add -q E; printf '^/A dir\n-r1 ^/A@1 old\n' > v; svn ps -q -F v svn:externals E; rm v
printf 'm\r\n' >> A/B/g
svn ps -q svn:mergeinfo /B:1 A
svn ci -q -m two
svn up -q
";

fn run(steps: &str) {
    compare(&format!("{START}{steps}"));
}

#[test]
fn working_copies_to_urls() {
    run(r"
echo mod >> A/f; mkdir A/new; echo n > A/new/n; svn add -q A/new; echo unversioned > A/u
svn ps -q svn:mergeinfo /Q:3 A
svn rm -q A/B/h
svn up -q -r1 A/B/g
= cp A URL/C -m copied
= cp A URL/C -m into
= cp A A/f URL/C -m exists
= cp A/f A/B URL/E -m several
= cp A/f URL/P/Q/f --parents -m parents
= cp -q A/B/g URL/g --with-revprop p=v -m quiet
svn pg --revprop p -r HEAD
= cp nope URL/x -m missing
= cp A/u URL/x -m unversioned
= cp A OTHER/x -m elsewhere
= cp A/B/h URL/x -m deleted

");
}

#[test]
fn urls_to_working_copies() {
    run(r"
= cp URL/A X
= cp URL/A@1 Y
= cp -r1 URL/A Z
= cp URL/A/f URL/A/B N
= mkdir N
= cp URL/A/f URL/A/B N
= cp URL/A N
= cp URL/A/f p/q/f
= cp URL/A/f p/q/f --parents
= cp A/f@1 f1
= cp -r1 A A1
= cp -q A@BASE A2
= cp URL/nope n
= cp URL/A/f A/f
= cp URL/A/f n -m message
= cp -r99 URL/A n
svn st
svn ci -q -m all
svn up -q
");
}

#[test]
fn from_another_repository() {
    run(r"
= cp OTHER/A FA
= cp OTHER/A/f ff
= cp OTHER/A/x.sh FA
svn pl -vR FA ff
svn ci -q -m foreign
");
}

#[test]
fn between_working_copies() {
    run(r"
svn up -q ../wc2
echo mod >> A/f; svn rm -q A/B/h; svn cp -q A/B A/C; echo u > A/u; mkdir A/n; svn add -q A/n
= cp A ../wc2/Y
= mv A/B ../wc2/Z
= mv A/f ../wc2/A/moved
= mv A/x.sh A/l ../wc2/A
= cp A ../foreign/Y
= mv A/C ../foreign/Z
= mv . ../wc2/all
= cp . ../wc2/all
svn st ../wc2
svn ci -q -m other ../wc2
");
}

#[test]
fn externals_in_copies() {
    run(r"
= cp URL/E E1
= cp --ignore-externals URL/E E2
= cp --pin-externals URL/E E3
= cp --pin-externals E E4
= cp --pin-externals URL/E URL/E5 -m pinned
= cp --pin-externals E URL/E6 -m pinned
echo mod >> E/dir/f
= cp --pin-externals E E7
svn revert -q E/dir/f
svn up -q -r1 E/dir/B
= cp --pin-externals E E7
rm -rf E/dir
printf '^/A/f ext\n' > v; svn ps -q -F v svn:externals A/B; rm v
svn ci -q -m file A
svn up -q
= cp URL/A FE
= cp A FE2
= cp --pin-externals A/B B2
svn pg svn:externals -R E1 E3 E4 B2
svn st
");
}
