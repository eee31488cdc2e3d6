//! `svn mergeinfo` and merges that keep track of what was merged, by ours and by the reference.

use crate::common::merge_walk;
use crate::common::sides;

use merge_walk::{Server, Walk};
use sides::compare;

/// A trunk with changes on both sides of a branch, `B`, and a copy of that, `C`.
const START: &str = r"
mkdir -p A/D; echo a > A/a; echo b > A/D/b; echo c > A/c; svn add -q A
svn ci -q -m one
svn cp -q URL/A URL/B -m two
svn up -q
echo 3 >> A/a; svn ci -q -m three
echo 4 >> A/D/b; svn ci -q -m four
echo 5 >> A/a; echo 5 >> A/D/b; svn ci -q -m five
svn up -q
";

fn run(steps: &str) {
    compare(&format!("{START}{steps}"));
}

#[test]
fn revisions_merged_and_eligible() {
    run(r"
= mergeinfo URL/A B
= mergeinfo URL/A URL/B
= mergeinfo --show-revs eligible URL/A B
= mergeinfo --show-revs merged URL/A B
svn merge -q -c4 URL/A B
svn ci -q -m six
= mergeinfo --show-revs eligible URL/A B
= mergeinfo --show-revs merged URL/A B
svn up -q
= mergeinfo URL/A B
= mergeinfo URL/A B@5
= mergeinfo --show-revs eligible URL/A B
= mergeinfo --show-revs merged URL/A B
= mergeinfo --show-revs merged URL/A/D B/D
= mergeinfo --show-revs eligible URL/A/D B/D
= mergeinfo --show-revs eligible -r4:5 URL/A B
= mergeinfo --show-revs eligible -r5:3 URL/A B
= mergeinfo --show-revs eligible -r3 URL/A B
= mergeinfo --show-revs eligible --log -q URL/A B
svn merge -q -c5 URL/A/D B/D
svn ci -q -m seven
svn up -q
= mergeinfo --show-revs eligible URL/A B
= mergeinfo --show-revs eligible -R URL/A B
= mergeinfo --show-revs merged -R URL/A B
= mergeinfo --show-revs merged --depth files URL/A B
svn merge -q URL/A B
svn ci -q -m eight
svn up -q
= mergeinfo URL/A B
= mergeinfo URL/B A
= mergeinfo ^/B URL/A
= mergeinfo --show-revs eligible -R URL/B A
svn cp -q B C
svn ci -q -m nine
= mergeinfo URL/A C
= mergeinfo URL/C B
= mergeinfo C@9 B
= mergeinfo URL/C URL/A
svn merge -q URL/B A
= mergeinfo --show-revs merged URL/B A
svn ci -q -m ten
svn up -q
= mergeinfo --show-revs merged URL/B A
= mergeinfo URL/A B
= mergeinfo URL/B A
");
}

#[test]
fn parts_that_were_merged() {
    run(r"
svn ps -q svn:mergeinfo /A:3-4* B
svn ps -q svn:mergeinfo /A/D:5 B/D
svn ci -q -m six
svn up -q
= mergeinfo --show-revs merged URL/A B
= mergeinfo --show-revs merged -R URL/A B
= mergeinfo --show-revs eligible URL/A B
= mergeinfo --show-revs eligible -R URL/A B
= mergeinfo --show-revs merged URL/A/D B/D
= mergeinfo --show-revs eligible URL/A/D/b B/D/b
svn ps -q svn:mergeinfo /A:3-4*,5 B
= mergeinfo --show-revs merged URL/A B
svn pd -q svn:mergeinfo B
= mergeinfo --show-revs merged URL/A B
= mergeinfo --show-revs merged URL/A URL/B
svn ps -q --force svn:mergeinfo nonsense B/D/b
= mergeinfo --show-revs merged URL/A/D/b B/D/b
");
}

#[test]
fn wrong_mergeinfo_commands() {
    run(r"
= mergeinfo
= mergeinfo a b c
= mergeinfo -q URL/A B
= mergeinfo -v URL/A B
= mergeinfo --incremental URL/A B
= mergeinfo -r3 URL/A B
= mergeinfo -R URL/A B
= mergeinfo --log URL/A B
= mergeinfo URL/nope B
= mergeinfo URL/A nope
= mergeinfo OTHER B
= mergeinfo --show-revs eligible -rBASE URL/A B
= mergeinfo --show-revs eligible URL/A nope
= mergeinfo --show-revs eligible URL/nope B
mkdir N; svn add -q N
= mergeinfo URL/A N
= mergeinfo --show-revs eligible URL/A N
svn rm -q B/D
= mergeinfo URL/A/D B/D
svn mkdir -q URL/M -m M
= mergeinfo URL/M B
= mergeinfo URL/M URL/B
= mergeinfo --show-revs eligible URL/M URL/B
= mergeinfo --show-revs merged URL/M URL/B
");
}

#[test]
fn merges_that_keep_track() {
    run(r"
= merge -c4 URL/A B
= mergeinfo --show-revs merged URL/A B
= diff B
svn ci -q -m six
= merge URL/A B
svn up -q
= merge URL/A B
= st
svn ci -q -m seven
svn up -q
= merge URL/A B
= merge -c-4 URL/A B
svn ci -q -m eight
svn up -q
echo b >> B/c; svn ci -q -m nine
= merge URL/A B
svn ci -q -m ten
svn up -q
= merge --dry-run URL/B A
= merge URL/B A
= st
svn ci -q -m eleven
svn up -q
= merge --reintegrate URL/B A
= merge --record-only -c3 URL/A B
= merge --record-only URL/A B
");
}

#[test]
fn nodes_with_mergeinfo_of_their_own() {
    run(r"
= merge -c5 URL/A/D B/D
svn ci -q -m six
svn up -q
= merge URL/A B
svn ci -q -m seven
svn up -q
echo 8 >> A/D/b; echo 8 >> A/c; svn ci -q -m eight
= merge -c8 URL/A/D/b B/D/b
= merge URL/A B
svn revert -qR .
= merge -c8 --depth files URL/A B
svn ci -q -m nine
svn up -q
= merge URL/A B
= merge -c-8 URL/A B
");
}

#[test]
fn choices_that_do_not_resolve_a_tree_conflict() {
    run(r"
svn mv -q A/D A/E; echo file > A/D; svn add -q A/D; svn ci -q -m six
svn up -q
svn mv -q B/D B/F
= merge --accept theirs-full URL/A B
= st
= info B/D
");
}

#[test]
fn what_is_in_the_place_of_a_file_gets_no_mergeinfo() {
    run(r"
rm B/a; mkdir B/a
= merge URL/A B
= pl -vR B
= st
");
}

/// `SAPWOOD_LONG=1` makes many walks, `SAPWOOD_MERGES=SEED` the ones of that seed,
/// `SAPWOOD_MERGES=SEED:STEPS` such of another length, and `SAPWOOD_MERGES=SEED:STEPS:svn` the one over `svn:` alone.
#[test]
fn random_merges() {
    let only = std::env::var("SAPWOOD_MERGES").ok();
    let mut words = only.iter().flat_map(|text| text.split(':'));
    let wrong = "SAPWOOD_MERGES is SEED, SEED:STEPS or SEED:STEPS:svn";
    let seed: Option<u64> = words.next().map(|word| word.parse().expect(wrong));
    let steps = words.next().map_or(20, |word| word.parse().expect(wrong));
    let servers = match words.next() {
        None => &[Server::None, Server::Svnserve][..],
        Some("svn") => &[Server::Svnserve],
        Some(_) => panic!("{wrong}"),
    };
    let seeds = match seed {
        Some(seed) => seed..seed + 1,
        None if sapwood_testkit::long() => 0..200,
        None => 1..2,
    };
    for seed in seeds {
        for server in servers {
            let mut walk = Walk::new(seed, *server);
            for _ in 0..steps {
                walk.step();
            }
            println!("seed {seed}, {server:?}: {} merges", walk.merges);
        }
    }
}

/// A repository with a branch `B` of `T`, of which so many parts have mergeinfo of their own, and a working
/// copy `b` of the branch at a server that logs what it is asked.
fn branch_with_parts(parts: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let script = format!(
        "set -e; svnadmin create repo; svn co -q file://$PWD/repo m; cd m; all=$(seq {parts}); \
         for d in $all; do mkdir -p T/d$d; seq 9 > T/d$d/f; done; svn add -q T; svn ci -qm 1; svn up -q; \
         svn cp -q T B; svn ci -qm 2; svn up -q; \
         for d in $all; do echo $d >> T/d$d/f; svn ci -qm change; done; svn up -q; \
         for d in $all; do svn ps -q svn:mergeinfo /T/d$d:$((d + 2)) B/d$d; \
         echo $d >> B/d$d/f; done; svn ci -qm record; svn up -q; \
         echo last >> T/d1/f; svn ci -qm last; \
         cd ..; printf 'exec svnserve -t --log-file {0}/log\\n' > tunnel; \
         export SVN_SSH='sh {0}/tunnel'; svn co -q svn+ssh://x{0}/repo/B b; rm log",
        at.display()
    );
    let mut command = std::process::Command::new("sh");
    command.env("SVN_I_LOVE_CORRUPTED_WORKING_COPIES_SO_DISABLE_SLEEP_FOR_TIMESTAMPS", "yes");
    let done = command.args(["-c", &script]).current_dir(at).status();
    assert!(done.unwrap().success());
    folder
}

/// What a merge of `T` asks, without the names and times of the server's log.
fn requests(
    at: &std::path::Path,
    programs: &sapwood_testkit::Programs,
    words: &[&str],
) -> Vec<String> {
    let url = format!("svn+ssh://x{}/repo/T", at.display());
    let mut command = programs.command("svn");
    command.args(["merge", "-q"]).args(words).args([url.as_str(), "b"]);
    command.env("SVN_SSH", format!("sh {}/tunnel", at.display())).current_dir(at);
    let merged = command.output().unwrap();
    assert!(merged.status.success(), "{merged:?}");
    let log = std::fs::read_to_string(at.join("log")).unwrap();
    std::fs::remove_file(at.join("log")).unwrap();
    log.lines().map(|line| line.splitn(6, ' ').nth(5).unwrap_or(line).to_owned()).collect()
}

fn count(requests: &[String], word: &str) -> usize {
    requests.iter().filter(|line| line.starts_with(word)).count()
}

/// Where each subtree came from is asked once, though both the ranges and the record need it. The
/// server's log tells.
#[test]
fn lines_of_subtrees_are_asked_for_once() {
    let folder = branch_with_parts(2);
    let all = requests(folder.path(), &sapwood_testkit::Programs::ours(), &[]);
    assert_eq!(count(&all, "get-location-segments /T/d"), 2, "{all:#?}");
}

/// Many subtrees are no reason to ask more, as they are for 1.14.
#[test]
fn many_subtrees_cost_no_requests() {
    let ours = sapwood_testkit::Programs::ours();
    let [few, many] = [4, 9].map(|parts| {
        let folder = branch_with_parts(parts);
        let all = requests(folder.path(), &ours, &[]);
        let reference = branch_with_parts(parts);
        let theirs = requests(reference.path(), &sapwood_testkit::Programs::reference(), &[]);
        let [one, other] = [&folder, &reference].map(|folder| {
            let state = "svn st; svn pl -vR .; find . -name .svn -prune -o -type f -print | sort | xargs md5sum";
            let mut command = std::process::Command::new("sh");
            let output = command.args(["-c", state]).current_dir(folder.path().join("b")).output();
            let text = String::from_utf8_lossy(&output.unwrap().stdout).into_owned();
            text.replace(&folder.path().display().to_string(), "")
        });
        assert_eq!(one, other);
        assert!(all.len() * 2 <= theirs.len(), "{all:#?}\n{theirs:#?}");
        all
    });
    assert_eq!(few.len(), many.len(), "{few:#?}\n{many:#?}");
    assert_eq!(count(&many, "diff "), 1, "{many:#?}");
}

/// A merge asks what its dry run asked, and not more: nothing is kept from one command to the next.
#[test]
fn a_merge_asks_what_its_dry_run_asked() {
    let folder = branch_with_parts(4);
    let ours = sapwood_testkit::Programs::ours();
    let dry = requests(folder.path(), &ours, &["--dry-run"]);
    let real = requests(folder.path(), &ours, &[]);
    for word in ["log ", "get-location-segments ", "get-mergeinfo "] {
        assert!(count(&dry, word) > 0, "{word}: {dry:#?}");
        assert!(count(&real, word) <= count(&dry, word), "{word}: {real:#?}");
    }
    assert_eq!(count(&real, "diff "), 1, "{real:#?}");
}
