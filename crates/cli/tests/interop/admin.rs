//! `svnadmin`'s readers: dumps are byte-identical and load again, verify agrees.

use crate::interop::repositories;
use sapwood_testkit::repository::{create, load};
use sapwood_testkit::{Findings, Output, Programs, Repository, Shape};

/// The reference's dump of what a dump stream loads to.
fn loaded_and_dumped(dump: &[u8]) -> Output {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("loaded");
    create(&Shape::new("1.10"), &path);
    load(&path, dump);
    Programs::reference().run("svnadmin", ["dump", "-q", path.to_str().unwrap()])
}

#[test]
fn dumps_are_byte_identical() {
    for repo in repositories() {
        let mut f = Findings::new(repo.name());
        let path = repo.arg();
        f.program("svnadmin", &["dump", &path]);
        let half = format!("{}:HEAD", repo.history.youngest() / 2);
        f.program("svnadmin", &["dump", "-q", "-r", &half, &path]);
        f.program("svnadmin", &["dump", "-q", "--incremental", "-r", &half, &path]);
        f.program("svnadmin", &["dump", "-q", "-r", "3", &path]);
        f.finish();
    }
}

#[test]
fn delta_dumps_load_to_the_same() {
    for repo in repositories() {
        let mut f = Findings::new(repo.name());
        let path = repo.arg();
        // A change that changes nothing is in a plain dump and not in one with deltas: so what the
        // reference's own dump loads to is what is wanted.
        for args in [["dump", "-q", "--deltas", &path], ["dump", "-q", "-M64", &path]] {
            let reference = Programs::reference().run("svnadmin", args).expect_success("dump");
            let ours = Programs::ours().run("svnadmin", args).expect_success("dump");
            f.outputs(
                &format!("{args:?}, loaded and dumped"),
                &loaded_and_dumped(&reference.stdout),
                &loaded_and_dumped(&ours.stdout),
            );
        }
        f.finish();
    }
}

#[test]
fn filtered_dumps_are_byte_identical() {
    let repo = Repository::scripted(&Shape::new("1.10").shard(7));
    let mut f = Findings::new(repo.name());
    let path = repo.arg();
    f.program("svnadmin", &["dump", &path, "--exclude", "/branches"]);
    f.program("svnadmin", &["dump", &path, "--include", "/trunk"]);
    f.program("svnadmin", &["dump", &path, "--include", "/trunk", "--exclude", "/trunk/src"]);
    f.program("svnadmin", &["dump", &path, "--pattern", "--exclude", "*.c"]);
    f.program("svnadmin", &["dump", &path, "--pattern", "--include", "/trunk/*"]);
    f.program("svnadmin", &["dump-revprops", &path]);
    f.program("svnadmin", &["dump-revprops", "-q", "-r", "2:5", &path]);
    f.finish();
}

#[test]
fn verify_agrees() {
    for repo in repositories() {
        let mut f = Findings::new(repo.name());
        let path = repo.arg();
        for options in
            [&[][..], &["-q"], &["-r", "2:5"], &["--metadata-only"], &["--check-normalization"]]
        {
            f.program("svnadmin", &[&["verify", &path], options].concat());
        }
        f.program("svnadmin", &["verify", "--keep-going", &path]);
        f.finish();
    }
}

#[test]
fn small_readers_agree() {
    for repo in repositories() {
        let path = repo.arg();
        let reference = Programs::reference();
        let file = format!("{}/trunk/README", repo.url());
        // Random histories have no such file: then there is no lock to list.
        let _ = reference.run("svn", ["lock", "--username", "locker", "-m", "mine", &file]);
        let mut f = Findings::new(repo.name());
        f.program("svnadmin", &["info", &path]);
        f.program("svnadmin", &["lslocks", &path]);
        f.program("svnadmin", &["lslocks", &path, "/trunk/src"]);
        f.program("svnadmin", &["lstxns", &path]);
        for revision in 0..=repo.history.youngest() {
            f.program("svnadmin", &["rev-size", "-r", &revision.to_string(), &path]);
        }
        f.finish();
    }
}

#[test]
fn svnfsfs_agrees() {
    for repo in repositories() {
        let mut f = Findings::new(repo.name());
        let path = repo.arg();
        stats(&mut f, &path);
        for revision in 0..=repo.history.youngest() {
            f.program("svnfsfs", &["dump-index", "-r", &revision.to_string(), &path]);
        }
        f.finish();
    }
}

/// Compares the sums of `svnfsfs stats`. Its tables list ties in the order of a hash table, and of
/// some repositories the reference's ends in a failed assertion.
fn stats(f: &mut Findings, path: &str) {
    let sums = |programs: Programs| {
        let mut out = programs.run("svnfsfs", ["stats", path]);
        let text = out.stdout_text();
        let end = text.find("Largest representations:").unwrap_or(text.len());
        out.stdout = text.as_bytes()[..end].to_vec();
        out
    };
    let reference = sums(Programs::reference());
    if reference.code == 0 {
        f.outputs("svnfsfs stats", &reference, &sums(Programs::ours()));
    }
}
