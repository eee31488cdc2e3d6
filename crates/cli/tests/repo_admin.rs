//! `sapwood repo`: what it makes is used by programs of 1.14; what it deletes is found by no program, and comes back whole.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use sapwood_testkit::Programs;
use sapwood_testkit::server::Server;

/// Exit code and output of `sapwood repo`.
fn repo(args: &[&str]) -> (i32, String) {
    let output = Programs::ours().run("sapwood", ["repo"].iter().chain(args));
    (output.code, output.stdout_text() + &output.stderr_text())
}

fn succeeds(args: &[&str]) -> String {
    let (code, said) = repo(args);
    assert_eq!(code, 0, "{args:?}: {said}");
    said
}

fn fails(args: &[&str], words: &[&str]) {
    let (code, said) = repo(args);
    assert_eq!(code, 1, "{args:?}: {said}");
    words.iter().for_each(|word| assert!(said.contains(word), "{word}: {said}"));
}

/// Exit code and output of a program of 1.14.
fn reference(program: &str, args: &[&str]) -> (i32, String) {
    let output = Programs::reference().run(program, args);
    (output.code, output.stdout_text() + &output.stderr_text())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A template that lets everyone write.
fn template(folder: &Path) -> PathBuf {
    let template = folder.join("template");
    for name in ["conf", "hooks"] {
        fs::create_dir_all(template.join(name)).unwrap();
    }
    fs::write(template.join("conf/svnserve.conf"), "[general]\nanon-access = write\n").unwrap();
    fs::write(template.join("layout"), "# ours\ndocs/manual\ntrunk\n").unwrap();
    // The revision that the layout makes is not refused by the template's own hook.
    let hook = template.join("hooks/pre-commit");
    fs::write(&hook, "#!/bin/sh\necho run >> \"$1/ran\"\ntest ! -e \"$1/closed\"\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    template
}

#[test]
fn made_from_a_template_deleted_and_restored() {
    let folder = tempfile::tempdir().unwrap();
    let repos = folder.path().join("repos");
    fs::create_dir(&repos).unwrap();
    if rustix::process::geteuid().is_root() {
        chown(&repos, Some(12_345), Some(12_346)).unwrap();
    }
    let game = repos.join("game");
    let template = template(folder.path());
    succeeds(&["create", text(&game), "--layout", "--template", text(&template)]);
    let owner = fs::metadata(&repos).unwrap().uid();
    for name in ["", "db", "hooks/pre-commit", "conf/svnserve.conf", "format"] {
        assert_eq!(fs::metadata(game.join(name)).unwrap().uid(), owner, "{name}");
    }
    assert!(!game.join("ran").exists(), "no hook ran for the layout");

    let server = Server::start(&Programs::ours(), &repos, &[]);
    let url = server.url("game");
    let (code, said) = reference("svn", &["ls", "-R", &url]);
    assert_eq!((code, said.as_str()), (0, "branches/\ndocs/\ndocs/manual/\ntags/\ntrunk/\n"));
    let (code, said) = reference("svn", &["mkdir", "-m", "m", &format!("{url}/trunk/src")]);
    assert_eq!(code, 0, "{said}");
    assert!(game.join("ran").exists(), "the hook of the template ran");
    let listed = succeeds(&["list", text(&repos)]);
    assert!(listed.starts_with("game ") && listed.contains("FSFS 8   r2       20"), "{listed}");

    let said = succeeds(&["delete", text(&game)]);
    let kept = PathBuf::from(said.trim().strip_prefix("Moved to ").unwrap());
    assert!(kept.starts_with(fs::canonicalize(repos.join(".bin")).unwrap()), "{said}");
    for gone in [&game, &kept] {
        let (code, said) = reference("svnadmin", &["info", text(gone)]);
        assert_eq!(code, 1, "{said}");
    }
    let within = format!(".bin/{}", kept.file_name().unwrap().to_str().unwrap());
    for gone in [url.clone(), server.url(&within)] {
        let (code, said) = reference("svn", &["info", &gone]);
        assert!(code == 1 && said.contains("E210005"), "{said}");
    }
    let listed = succeeds(&["list", text(&repos)]);
    assert!(listed.starts_with("game ") && listed.contains("deleted, .bin/game-"), "{listed}");

    succeeds(&["create", text(&game)]);
    fails(&["restore", text(&repos), "game"], &["E165002", "exists"]);
    fs::remove_dir_all(&game).unwrap();
    succeeds(&["restore", text(&repos), "game"]);
    let (code, said) = reference("svnadmin", &["verify", text(&game)]);
    assert!(code == 0 && said.contains("Verified revision 2"), "{said}");
    let (code, said) = reference("svn", &["mkdir", "-m", "m", &format!("{url}/trunk/lib")]);
    assert_eq!(code, 0, "{said}");
    fails(&["restore", text(&repos), "other"], &["E165002", "There is no 'other'"]);
}

#[test]
fn the_bin_is_emptied_and_the_archive_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let path = at.join("one");
    for action in ["delete", "delete", "archive"] {
        succeeds(&["create", text(&path), "--fs-type", "fsx"]);
        succeeds(&[action, text(&path)]);
    }
    let count = |bin: &str| fs::read_dir(at.join(bin)).unwrap().count();
    assert_eq!((count(".bin"), count(".archive")), (2, 1), "both in one second have a name");
    fs::create_dir(at.join(".bin/notes-20200101T000000Z")).unwrap();
    let first = fs::read_dir(at.join(".bin")).unwrap().map(|entry| entry.unwrap().path());
    let first = first.filter(|path| path.join("format.deleted").exists()).min().unwrap();
    let old = at.join(".bin/one-20200101T000000Z");
    fs::rename(first, &old).unwrap();
    let said = succeeds(&["empty-bin", text(at), "--days", "30"]);
    assert_eq!(said, format!("Removed {}\n", old.display()));
    assert!(!old.exists() && count(".bin") == 2, "what is no repository of ours stays");
    assert_eq!(count(".archive"), 1);
    fails(&["empty-bin", text(at)], &["--days"]);
}

#[test]
fn what_is_in_use_or_wrong_is_refused_and_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let path = at.join("one");
    succeeds(&["create", text(&path), "--compatible-version", "1.6"]);
    // A commit that was never finished.
    let txn = path.join("db/transactions/0-1.txn");
    fs::create_dir(&txn).unwrap();
    fails(&["delete", text(&path)], &["E165000", "0-1", "--force"]);
    let (code, said) = reference("svnadmin", &["info", text(&path)]);
    assert!(code == 0 && said.contains("Filesystem Format: 4"), "{said}");
    // A command that was killed before the move is given again.
    fs::rename(path.join("format"), path.join("format.deleted")).unwrap();
    succeeds(&["delete", text(&path)]);
    succeeds(&["restore", text(at), "one"]);
    succeeds(&["archive", "--force", text(&path)]);
    assert!(!path.exists());

    fails(&["delete", text(at)], &["E165002", "is no repository"]);
    let empty = at.join("empty");
    fs::create_dir(&empty).unwrap();
    let two = at.join("two");
    fails(&["create", text(&two), "--template", text(&empty)], &["is no template"]);
    fs::write(empty.join("layout"), "a/../b\n").unwrap();
    fails(&["create", text(&two), "--template", text(&empty)], &["no path of a folder"]);
    fails(&["restore", text(at), "../x"], &["no name of a repository"]);
    fails(&["frobnicate"], &["frobnicate"]);
    assert!(!two.exists());
    std::os::unix::fs::symlink(&path, at.join("link")).unwrap();
    fails(&["delete", text(&at.join("link"))], &["is a link"]);
}
