//! `sapwood backup`: copies that programs of 1.14 take as they are, what is verified in them, and who sees that.

use std::fs;
use std::path::Path;

use sapwood_testkit::Programs;
use sapwood_testkit::server::free_port;

use crate::common::places::Served;
use crate::monitor::ask;

/// Exit code and output of a program of ours.
fn ours(args: &[&str]) -> (i32, String) {
    let output = Programs::ours().run("sapwood", args);
    (output.code, output.stdout_text() + &output.stderr_text())
}

/// What a program of 1.14 prints.
fn reference(program: &str, args: &[&str]) -> String {
    let output = Programs::reference().run(program, args);
    output.expect_success(program).stdout_text()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A repository of 1.14 with revision 1.
fn repository(path: &Path, more: &[&str]) {
    let args = ["create", text(path)].iter().chain(more).copied().collect::<Vec<_>>();
    reference("svnadmin", &args);
    commit(path, "a");
}

fn commit(path: &Path, name: &str) {
    let url = format!("file://{}/{name}", path.display());
    reference("svnmucc", &["-m", "", "put", "/etc/os-release", &url]);
}

#[test]
fn what_is_new_is_copied_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let (svn, backups) = (folder.path().join("svn"), folder.path().join("backups"));
    fs::create_dir(&svn).unwrap();
    let game = svn.join("game");
    repository(&game, &[]);
    repository(&svn.join("tools"), &["--fs-type", "fsx"]);
    let back_up = |more: &[&str]| {
        let args = [&["backup"], more, &[text(&svn), text(&backups)]].concat();
        ours(&args)
    };
    let both = "game: r1, copied from r0 on, 2 revisions verified\n\
                tools: r1, copied from r0 on, 2 revisions verified\n";
    assert_eq!(back_up(&[]), (0, both.to_owned()));
    commit(&game, "b");
    let (code, said) = back_up(&[]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("game: r2, copied from r2 on, 1 revisions verified\n"), "{said}");
    assert!(said.contains("tools: r1, nothing new, 0 revisions verified\n"), "{said}");
    assert_eq!(back_up(&["-q", "--verify", "none"]), (0, String::new()));
    for name in ["game", "tools"] {
        reference("svnadmin", &["verify", "-q", text(&backups.join(name))]);
        let dumps =
            [&svn, &backups].map(|at| reference("svnadmin", &["dump", "-q", text(&at.join(name))]));
        assert!(dumps[0] == dumps[1], "{name}");
    }
    assert_eq!(back_up(&["--verify", "some"]).0, 1);
    assert_eq!(ours(&["backup", text(&svn)]).0, 1, "where to?");
}

#[test]
fn what_was_packed_since_is_verified_again() {
    let folder = tempfile::tempdir().unwrap();
    let (game, backups) = (folder.path().join("game"), folder.path().join("backups"));
    repository(&game, &[]);
    // Shards of two revisions.
    let format = game.join("db/format");
    let shorter = fs::read_to_string(&format).unwrap().replace("sharded 1000", "sharded 2");
    fs::write(&format, shorter).unwrap();
    commit(&game, "b");
    let args = ["backup", text(&game), text(&backups)];
    assert!(ours(&args).1.contains("r2, copied from r0 on, 3 revisions verified"));
    commit(&game, "c");
    reference("svnadmin", &["pack", "-q", text(&game)]);
    let (code, said) = ours(&args);
    assert!(
        code == 0 && said.contains("r3, ") && said.contains(", 4 revisions verified"),
        "{said}"
    );
    assert!(ours(&args).1.contains("r3, nothing new, 0 revisions verified"));
}

#[test]
fn one_that_fails_keeps_no_other_from_its_backup() {
    let folder = tempfile::tempdir().unwrap();
    let (svn, backups) = (folder.path().join("svn"), folder.path().join("backups"));
    fs::create_dir(&svn).unwrap();
    for name in ["game", "tools"] {
        repository(&svn.join(name), &[]);
    }
    let back_up = |verify: &str| ours(&["backup", "--verify", verify, text(&svn), text(&backups)]);
    assert_eq!(back_up("new").0, 0);
    // A bit of the copy flips on its disk.
    let damaged = backups.join("game/db/revs/0/1");
    let mut bytes = fs::read(&damaged).unwrap();
    bytes[30] ^= 1;
    fs::remove_file(&damaged).unwrap();
    fs::write(&damaged, bytes).unwrap();
    commit(&svn.join("tools"), "b");
    let record = backups.join("game.backup.toml");
    let before = fs::read_to_string(&record).unwrap();
    let (code, said) = back_up("all");
    assert_eq!(code, 1, "{said}");
    for words in ["/svn/game: E205012: The copy '", "game' is damaged", "tools: r2, copied from r2"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    let verified = |text: &str| text.split_once("[verified]").map(|(_, rest)| rest.to_owned());
    let after = fs::read_to_string(&record).unwrap();
    assert_eq!(verified(&after), verified(&before), "what was not verified is not said to be");
    // Another repository of the same name.
    let other = folder.path().join("other/tools");
    fs::create_dir(folder.path().join("other")).unwrap();
    repository(&other, &[]);
    let (code, said) = ours(&["backup", text(&other), text(&backups)]);
    assert!(code == 1 && said.contains("E200004") && said.contains("is the copy of"), "{said}");
    fs::write(&record, "format = 9\n").unwrap();
    let (code, said) = ours(&["backup", text(&svn.join("game")), text(&backups)]);
    assert!(code == 1 && said.contains("game.backup.toml"), "{said}");
}

#[test]
fn the_server_and_the_doctor_see_backups() {
    let port = free_port();
    let served = Served::start(&format!(
        "metrics-listen = '127.0.0.1:{port}'\npath = '.'\nsvn-port = 0\nbackups = 'backups'\n"
    ));
    let base = served.repo.parent();
    let (config, backups) = (base.join("sapwood.toml"), base.join("backups"));
    let metrics = || ask(port, "/metrics", "").1;
    let series = |name: &str| {
        let series = format!("sapwood_backup_verified_{name}{{repository=\"repo\"}} ");
        let text = metrics();
        let found = text.lines().find_map(|line| line.strip_prefix(&series));
        found.unwrap_or_else(|| panic!("{name}: {text}")).parse::<u64>().unwrap()
    };
    assert_eq!(series("timestamp_seconds"), 0, "there is none yet");
    let doctor = || ours(&["doctor", "--config", text(&config)]).1;
    assert!(doctor().contains("it has no verified backup"), "{}", doctor());
    assert_eq!(ours(&["backup", "-q", text(&served.repo.path()), text(&backups)]).0, 0);
    assert!(series("timestamp_seconds") > 1_700_000_000);
    let youngest = reference("svnlook", &["youngest", text(&served.repo.path())]);
    assert_eq!(series("revision").to_string(), youngest.trim());
    assert!(doctor().contains("of its backup was verified 20"), "{}", doctor());
    let status = ours(&["status", "--address", &format!("127.0.0.1:{port}")]).1;
    assert!(status.contains(&format!("  r{}, 20", youngest.trim())), "{status}");
}
