//! Merges without what was merged before, by ours and by the reference.

use crate::common::sides;

use sapwood_testkit::Programs;
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

/// Texts and changes that are kept in memory, and such that are not; more files than are merged at once.
#[test]
fn many_files_and_long_texts() {
    compare(
        r"
mkdir -p t/d; seq 100000 > t/a; seq 90000 > t/b; echo c > t/c; seq 9 > t/k; for f in $(seq 150); do seq $f > t/d/$f; done
svn add -q t; svn ps -q svn:keywords Id t/k; svn ps -q svn:executable x t/d/7; svn ps -q svn:eol-style native t/d/8
svn ps -q svn:needs-lock x t/d/9; svn ps -q svn:mime-type application/x t/d/10; ln -s c t/l; svn add -q t/l; svn ci -q -m one
svn cp -q -m two URL/t URL/b
sed -i 's/^500$/x/' t/a; seq 100000 190000 > t/b; echo d > t/c; echo k >> t/k; ln -sf d t/l; seq 60000 > t/n; svn add -q t/n
chmod u+w t/d/9; for f in $(seq 150); do echo $f >> t/d/$f; done; svn ps -q p v t/d/11; svn rm -q t/d/12; svn ci -q -m three
svn sw -q --ignore-ancestry URL/b .
= merge --dry-run -c3 URL/t
= merge -c3 URL/t
= status
svn revert -qR .; rm -f n
echo mine >> d/20; sed -i 's/^3$/three/' d/21; echo 22 >> d/22; chmod u-w d/23; touch d/24; rm d/25; rm d/26; mkdir d/26
= merge --ignore-ancestry -c3 URL/t --accept postpone
= status
",
    );
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

/// A trunk that was moved, with two branches and a copy of one file; a server for working copies of four places.
const MOVED: &str = r"
svnadmin create repo; svn co -q file://$PWD/repo m; cd m; mkdir -p T/d br other/sub
seq 9 > T/d/f; echo g > T/g; echo s > other/sub/s; svn add -q *; svn ci -qm 1; svn up -q
svn cp -q T br/b1; svn cp -q T/g br/gcopy; svn ci -qm 2; svn up -q
echo 3 >> T/d/f; svn ci -qm 3; svn up -q; echo 4 >> T/g; svn ci -qm 4; svn up -q
svn mv -q T T2; svn ci -qm 5; svn up -q; echo 6 >> T2/d/f; svn ci -qm 6; svn up -q
mkdir T2/new; echo n > T2/new/n; svn add -q T2/new; svn rm -q T2/g; svn ci -qm 7; svn up -q
svn ps -q p v T2/d/f; svn ps -q q v T2/d; svn ci -qm 8; svn up -q; svn cp -q T2 br/b2; svn ci -qm 9; svn up -q
echo x >> br/b2/d/f; svn ci -qm 10; cd ..; printf 'exec svnserve -t\n' > tunnel; export SVN_SSH=sh\ $PWD/tunnel
for place in br/b1 br/b2 br .; do svn co -q svn+ssh://x$PWD/repo/$place w-$(basename $place); done
";

/// Merges over a connection on which each move of the session is a request: working copy and words.
const OVER: [(&str, &str); 44] = [
    ("b1", "-c3 R/T@4"),
    ("b1", "-c3 R/T"),
    ("b1", "-c3 R/T2"),
    ("b1", "-c3,4 R/T2"),
    ("b1", "-c4,6,7,8 R/T2"),
    ("b1", "-r2:8 R/T2"),
    ("b1", "-c99 R/T2"),
    ("b1", "-c3 R/T2@99"),
    ("b1", "-c3 R/nix"),
    ("b1", "-c6 R/T@6"),
    ("b1", "-c3 R"),
    ("b1", "-c3 R/T2/d d"),
    ("b1", "-c3 R/T2/d/f d/f"),
    ("b1", "-c4 R/T@4/g g"),
    ("b1", "-c4 R/T2/g g"),
    ("b1", "-c3 R/T2/d/f ."),
    ("b1", "-c4 --record-only R/T2"),
    ("b1", "-c-2 R/br/b1"),
    ("b1", "-c10 R/br/b2"),
    ("br", "-c3 R/T2 b1"),
    ("br", "-c3 R/T@4/g gcopy"),
    ("br", "-c10 R/br/b2 b1"),
    ("br", "-c6 R/br b1"),
    (".", "-c3 R/T2/d br/b1/d"),
    (".", "-c5 R/T2 br/b1"),
    (".", "-c5 R br/b1"),
    ("b1", "-c3 --dry-run R/T2"),
    ("b1", "-c3 --depth files R/T2"),
    ("b1", "-c7 --depth empty R/T2"),
    ("b1", "-rHEAD:2 R/T2"),
    ("b1", "-r2:HEAD R/T2"),
    ("b1", "-c7 --ignore-ancestry R/T2"),
    ("b1", "-r{2000-01-01}:3 R/T2"),
    ("b2", "-c-6 R/br/b2"),
    ("b2", "-c3 R/br/b2"),
    ("b2", "-r10:1 R/br/b2"),
    // A file below the directory that the session is at, into a directory.
    ("b1", "-c4 R/br/gcopy ."),
    (".", "-c6 R/T2/d/f T2/d"),
    (".", "-c-6 R/T2/d/f T2/d"),
    ("br", "-c-10 R/br/b2/d/f b2/d"),
    (".", "-r8:5 R/T2 T2"),
    // Two directories below the one that the session is at.
    (".", "-c10 R/br/b2 T2"),
    (".", "-r2:10 R/br/b2 T2"),
    (".", "-c10 R/br/b2/d/f T2/d"),
];

/// The same where the directory above both sides may not be read.
const NOT_ABOVE: [(&str, &str); 4] =
    [("b1", "-c3 R/T2"), ("b1", "-c3,6,7 R/T2"), ("br", "-c10 R/br/b2 b1"), ("b1", "R/T2")];

#[test]
fn one_session_asks_for_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let shell = |script: &str, programs: &str| {
        let mut command = std::process::Command::new("sh");
        command.env("SVN_I_LOVE_CORRUPTED_WORKING_COPIES_SO_DISABLE_SLEEP_FOR_TIMESTAMPS", "yes");
        command.env("SVN", programs).args(["-c", script]).current_dir(at).output().unwrap()
    };
    assert!(shell(&format!("set -e;{MOVED}"), "").status.success());
    let closed = r"
printf '[general]\nauthz-db = authz\nauth-access = write\nanon-access = none\n' > repo/conf/svnserve.conf
printf '[/]\n* =\n[/T2]\n* = rw\n[/T]\n* = rw\n[/br]\n* = rw\n' > repo/conf/authz";
    for (at_turn, (wc, words)) in OVER.iter().chain(&NOT_ABOVE).enumerate() {
        if at_turn == OVER.len() {
            assert!(shell(closed, "").status.success());
        }
        let words = words.replace('R', &format!("svn+ssh://x{}/repo", at.display()));
        let script = format!(
            "rm -rf t; cp -a w-{wc} t; cd t; export SVN_SSH='sh {}/tunnel'; $SVN merge --non-interactive {words} 2>&1; \
             echo $?; svn st; svn pl -vR .; svn diff",
            at.display()
        );
        let [one, other] = [Programs::ours(), Programs::reference()].map(|programs| {
            let svn = programs.command("svn").get_program().to_string_lossy().into_owned();
            String::from_utf8(shell(&script, &svn).stdout).unwrap()
        });
        assert_eq!(one, other, "{wc} {words}");
    }
}

/// Texts that are too long to be merged, and blamed, in memory.
#[test]
fn long_files_are_merged_line_by_line() {
    compare(
        r"
seq -f '%06g is the number of a line that is some words long, so that the file is' 40000 > f
svn add -q f
svn ci -q -m one
sed -i -e 's/^000700 .*/seven hundred/' -e '/^020000 /d' f
svn ci -q -m two
svn up -q -r2
sed -i -e 's/^030000 .*/mine/' -e '/^010000 /d' f
= up
= ci -m three
svn up -q -r3
sed -i -e 's/^seven hundred/eight hundred/' -e 's/^030000 .*/not mine/' -e '/^039990 /d' f
= up --accept postpone
= resolve --accept theirs-conflict f
= diff
= blame f
",
    );
}
