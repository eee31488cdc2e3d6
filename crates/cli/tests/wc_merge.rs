//! Merges without what was merged before, by ours and by the reference.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure is a failed test"
)]

#[path = "common/sides.rs"]
mod sides;

use sides::compare;

/// A trunk in revision 2, a branch of it in revision 3, and in revision 4 of the trunk: texts and
/// properties changed, nodes gone, new and of another kind. `wc` is at the branch.
const START: &str = r"
mkdir -p t/A/B/E t/A/C t/A/D; for f in t/f t/A/f t/A/B/g t/A/B/E/h t/A/B/E/i t/A/C/j t/A/C/k t/A/D/l; do printf 'a\nb\nc\nd\ne\n' > $f; done
svn add -q t
svn ps -q p v t/A/B/E t/A/f t/A/D
svn ps -q svn:eol-style native t/A/D/l
svn ps -q svn:keywords Id t/A/C/j
svn ci -q -m one
svn cp -q -m branch URL/t URL/b
sed -i 's/^a$/A/' t/f t/A/f t/A/B/g t/A/B/E/h t/A/C/j t/A/D/l
svn ps -q p w t/A/B/E t/A/f
svn pd -q p t/A/D
svn ps -q q new t/A/B/g
svn rm -q t/A/B/E/i t/A/C/k
mkdir t/A/C/k t/A/N t/A/N/O; echo n > t/A/N/O/n; printf 'x\r\ny\r\n' > t/A/N/crlf; echo in > t/A/C/k/in
svn add -q t/A/C/k t/A/N
svn ps -q r s t/A/N/O t/A/N/O/n
svn ps -q svn:executable 1 t/A/N/crlf
svn ci -q -m two
svn sw -q --ignore-ancestry URL/b .
";

fn run(steps: &str) {
    compare(&format!("{START}{steps}"));
}

#[test]
fn revisions_come_and_go_back() {
    run(r"
= merge --ignore-ancestry --dry-run -c4 ^/t
= merge --ignore-ancestry -c4 ^/t
svn st
= merge --ignore-ancestry -c4 ^/t
= merge --ignore-ancestry -c-4 ^/t --accept postpone
svn st
");
}

#[test]
fn two_urls_and_depths() {
    run(r"
= merge --ignore-ancestry --depth files ^/t@3 ^/t@4
= merge --ignore-ancestry --depth immediates ^/t@3 ^/t@4
= merge --ignore-ancestry --depth empty ^/t/A@3 ^/t/A@4 A
svn revert -qR .
= merge --ignore-ancestry -r 3:HEAD ^/t -q
svn st
svn ci -q -m merged
svn log -qv -r5 ^/
");
}

#[test]
fn local_changes_meet_incoming_ones() {
    run(r"
sed -i 's/^a$/X/' A/f; sed -i 's/^e$/E/' f A/C/j; printf 'A\nb\nc\nd\ne\n' > A/D/l; echo more >> A/B/E/i
svn ps -q p mine A/B/E A/f
svn ps -q q mine A/B/g
echo x >> A/C/k
= merge --ignore-ancestry --dry-run -c4 ^/t
= merge --ignore-ancestry -c4 ^/t --accept postpone
svn st
cat A/f A/C/j A/B/E/dir_conflicts.prej A/f.prej
= merge --ignore-ancestry -c4 ^/t --accept postpone
= resolve -R --accept working .
svn st
");
}

#[test]
fn trees_meet() {
    run(r"
svn rm -q A/f A/B/E
svn mv -q f moved
svn mv -q A/C/j A/jj
svn up -q --set-depth exclude A/D
rm A/B/g
mkdir A/N; echo u > A/N/crlf
= merge --ignore-ancestry --dry-run -c4 ^/t
= merge --ignore-ancestry -c4 ^/t --accept postpone
svn st
= info A/f
= merge --ignore-ancestry --force -c4 ^/t --accept postpone
svn st
");
}

#[test]
fn things_in_the_way() {
    run(r"
rm A/f; mkdir A/f
rm -r A/B/E; echo file > A/B/E
echo n > A/N
svn add -q A/N
svn rm -q A/C/j
svn up -q --set-depth empty A/D
= merge --ignore-ancestry -c4 ^/t --accept postpone
svn st
svn revert -qR A/C
svn rm -q --force A/N
= merge --ignore-ancestry --force -c4 ^/t --accept postpone
svn st
");
}

#[test]
fn files_alone() {
    run(r"
= merge --ignore-ancestry -c4 ^/t/A/f A/f
= merge --ignore-ancestry -c4 ^/t/A/C/j A/C/j
= merge --ignore-ancestry ^/t/A/f@3 ^/t/A/B/g@4 A/B/E/h --accept postpone
= merge --ignore-ancestry ^/t/A/f@4 ^/t/A/B/g@4 A/f --accept postpone
svn st
svn revert -qR .
= merge --ignore-ancestry -c4 ^/t/f
= merge --ignore-ancestry -c4 ^/t/f nothing
= merge --ignore-ancestry -c4 ^/t/nothing f
= merge --ignore-ancestry -r 2:1 ^/t/f f --accept postpone
");
}

#[test]
fn another_repository() {
    run(r"
cd ../foreign && svn export -q ../wc/A A && mkdir A/D/new && echo 1 > A/D/new/1 && svn add -q A && svn ci -q -m f1 && svn ps -q fp fv A/D/new && svn ps -q svn:mergeinfo /x:1 A/D/new && svn rm -q A/C/k && sed -i s/b/BB/ A/f && echo e > A/e && svn add -q A/e && svn ps -q x y A/e && svn ci -q -m f2 && svn up -q
= merge --ignore-ancestry -c2 OTHER/A A --accept postpone
= merge -c2 OTHER/A A --accept postpone
= merge OTHER OTHER A
= merge OTHER/A@1 OTHER/A@2 A --accept postpone
svn revert -qR .
= merge OTHER/A@2 OTHER/A@1 A --accept postpone
= merge OTHER@0 OTHER@2 . --accept postpone
= merge --record-only -c2 OTHER/A A
= merge OTHER/A A
svn st
");
}

#[test]
fn choices_at_once() {
    run(r"
sed -i 's/^a$/X/' A/f A/B/g
svn ps -q p mine A/B/E
= merge --ignore-ancestry -c4 ^/t --accept theirs-full
svn st
svn revert -qR .
sed -i 's/^a$/X/' A/f A/B/g
= merge --ignore-ancestry -c4 ^/t --accept mine-conflict
svn st
");
}

#[test]
fn replacements() {
    run(r"
cd ../wc2 && svn up -q && svn rm -q t/f t/A/f t/A/D && svn ci -q -m gone && mkdir t/f && echo 1 > t/f/1 && echo 2 > t/A/f && echo D > t/A/D && svn add -q t/f t/A/f t/A/D && svn ci -q -m again
svn up -q
echo more >> f
svn rm -q A/f
echo y > A/D/new
= merge --ignore-ancestry -r4:HEAD ^/t --dry-run
= merge --ignore-ancestry -r4:HEAD ^/t --accept postpone
svn st
svn revert -qR .
svn rm -q A/f
rm -rf A/D/new A/B
svn co -q URL/t/A/B@3 A/B
= merge --ignore-ancestry -r3:HEAD ^/t --accept postpone
svn st
");
}

#[test]
fn what_is_refused() {
    run(r"
= merge
= merge ^/t ^/t . .
= merge -r4 ^/t
= merge -c4 ^/t ^/b
= merge . A
= merge ^/t@3 A@3 .
= merge --reintegrate -c4 ^/t
= merge --reintegrate --record-only ^/t
= merge --reintegrate ^/t ^/b .
= merge --reintegrate --depth files ^/t
= merge --ignore-ancestry ^/t
= merge --record-only ^/t@3 OTHER .
= merge --ignore-ancestry ^/t@3 OTHER .
= merge --ignore-ancestry -c4 ^/t A/nothing
svn up -q -r3 A/f
svn ci -q -m x A
svn ps -q x y A/D
svn ci -q -m x A/D
= merge --ignore-ancestry -c4 ^/t
= merge --ignore-ancestry --allow-mixed-revisions -c4 ^/t
");
}
