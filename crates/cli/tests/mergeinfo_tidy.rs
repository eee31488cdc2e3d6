//! `sapwood mergeinfo-tidy`: what it finds, what it removes, and that merges mean the same afterwards.

use std::path::Path;
use std::process::Command;

use sapwood_testkit::Programs;

fn shell(at: &Path, line: &str) -> String {
    let mut command = Command::new("sh");
    sapwood_testkit::programs::environment(&mut command);
    let output = command.args(["-c", line]).current_dir(at).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{line}\n{}", text(&output.stderr));
    text(&output.stdout)
}

/// A branch on which some nodes have mergeinfo that says nothing.
const SETUP: &str = r"set -e
svnadmin create repo; svn co -q file://$PWD/repo wc; cd wc
mkdir -p T/same T/less T/empty T/old; echo 1 > T/f; svn add -q T; svn ci -qm 1; svn up -q
svn cp -q T B; svn ci -qm 2; svn up -q
echo 3 >> T/f; svn ci -qm 3; svn cp -q ^/T ^/gone -m 4; svn rm -q ^/gone -m 5; svn up -q
svn ps -q svn:mergeinfo /T:3 B
svn ps -q svn:mergeinfo /T/same:3 B/same
svn ps -q svn:mergeinfo /T/less:2 B/less
svn ps -q svn:mergeinfo '' B/empty
svn ps -q svn:mergeinfo '/T/f:3
/nowhere/f:3' B/f
svn ps -q svn:mergeinfo '/T/old:3
/gone/old:4' B/old
svn ps -q svn:mergeinfo '' T
svn ps -q svn:mergeinfo '/never:3' T/less
svn ci -qm 6; svn up -q
";

fn tidy(at: &Path, args: &[&str]) -> String {
    let mut command = Programs::ours().command("sapwood");
    let output = command.arg("mergeinfo-tidy").args(args).current_dir(at).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

#[test]
fn what_says_nothing_is_told_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    shell(folder.path(), SETUP);
    let wc = folder.path().join("wc");
    let found = "B/f: no such source: /nowhere/f\nB/same: the same would be inherited\n\
                 T: empty, and nothing would be inherited\nT/less: no such source: /never\n";
    let dry = format!(
        "{found}4 of 8 nodes with mergeinfo need none (not removed: that takes --apply).\n"
    );
    assert_eq!(tidy(&wc, &[]), dry);
    assert_eq!(shell(&wc, "svn st"), "", "nothing is changed without --apply");
    let all = tidy(&wc, &["--deleted-branches"]);
    assert!(all.contains("B/old: no such source: /gone/old\nB/same: the same"), "{all}");
    assert!(all.contains("\n5 of 8 nodes"), "{all}");
    let part = "same: the same would be inherited\n\
                1 of 1 node with mergeinfo need none (not removed: that takes --apply).\n";
    assert_eq!(tidy(&wc.join("B"), &["same"]), part);
    let before = shell(&wc, "svn mergeinfo --show-revs merged -R ^/T B");
    assert_eq!(
        tidy(&wc, &["--apply"]),
        format!("{found}4 of 8 nodes with mergeinfo need none (removed).\n")
    );
    assert_eq!(shell(&wc, "svn st"), " M      B/f\n M      B/same\n M      T\n M      T/less\n");
    assert_eq!(shell(&wc, "svn mergeinfo --show-revs merged -R ^/T B"), before);
    let rest = "0 of 4 nodes with mergeinfo need none (nothing to remove).\n";
    assert_eq!(tidy(&wc, &["-q", "--apply"]), rest);
    // What follows from it is the same for a merge.
    let merged = shell(&wc, "svn ci -qm 7; svn up -q; svn merge ^/T B; svn pg svn:mergeinfo B");
    assert!(merged.contains("/T:2-7") && !merged.contains("U    B/f"), "{merged}");
}

#[test]
fn wrong_places_and_options_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let told = tidy(folder.path(), &[]);
    assert!(told.starts_with("sapwood mergeinfo-tidy: E155007: "), "{told}");
    let told = tidy(folder.path(), &["--nonsense"]);
    assert!(told.contains("invalid option: --nonsense"), "{told}");
    let help = tidy(folder.path(), &["--help"]);
    assert!(
        help.contains("--apply") && help.starts_with("usage: sapwood mergeinfo-tidy"),
        "{help}"
    );
}
