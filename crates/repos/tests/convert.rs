//! FSX and FSFS repositories are converted to FSX, and to FSFS of several versions: the reference dumps source and target to the same
//! bytes, interrupted conversions go on, and repositories that do not belong together are refused.

use std::path::Path;
use std::process::Command;

use sapwood_core::{CancelToken, ErrorCode, Revnum, SvnResult};
use sapwood_fs::admin::{CreateOptions, FsxOptions, NewFilesystem};
use sapwood_fs::{Caches, OpenOptions};
use sapwood_repos as repos;
use sapwood_repos::convert::{Event, TargetOptions, convert};
use sapwood_repos::dump::DumpOptions;
use sapwood_testkit::{Output, Programs, Repository, Shape, fsx, random, repository};

fn reference(program: &str, args: &[&str], path: &Path) -> Vec<u8> {
    let mut command: Command = Programs::reference().command(program);
    Output::of(command.args(args).arg(path)).expect_success(program).stdout.clone()
}

pub(crate) fn run(
    from: &Path,
    to: &Path,
    minor: u32,
    cancel: &CancelToken,
) -> SvnResult<Vec<Event>> {
    let format = CreateOptions::format_for(minor).unwrap();
    let fs = CreateOptions { format, ..CreateOptions::default() };
    run_to(from, to, (NewFilesystem::Fsfs(fs), minor), cancel)
}

/// To FSX with small shards.
fn run_to_fsx(from: &Path, to: &Path, cancel: &CancelToken) -> SvnResult<Vec<Event>> {
    let NewFilesystem::Fsx(options) = NewFilesystem::fsx() else { unreachable!() };
    let fs = NewFilesystem::Fsx(FsxOptions { shard_size: 8, ..options });
    run_to(from, to, (fs, 14), cancel)
}

pub(crate) fn run_to(
    from: &Path,
    to: &Path,
    (fs, minor): (NewFilesystem, u32),
    cancel: &CancelToken,
) -> SvnResult<Vec<Event>> {
    let options =
        TargetOptions { fs, compatible_minor: Some(minor), threads: 2, compared_at_once: 8 };
    let mut events = Vec::new();
    let caches = Caches::new(16 << 20);
    convert(from, to, &options, &caches, cancel, &mut |event| {
        events.push(event);
        Ok(())
    })?;
    Ok(events)
}

/// What both systems dump of a repository.
fn dump(path: &Path) -> Vec<u8> {
    let options = DumpOptions {
        start: None,
        end: None,
        incremental: false,
        deltas: false,
        changes: true,
        notices: false,
        filter: None,
        cancel: &CancelToken::new(),
        threads: 1,
    };
    let repository = repos::Repository::open(path, &Caches::new(16 << 20), &OpenOptions::default());
    let mut ours = Vec::new();
    repos::dump::dump(&repository.unwrap(), &options, &mut ours, &mut |_| {}).unwrap();
    let theirs = reference("svnadmin", &["dump", "-q"], path);
    let difference = sapwood_testkit::compare::first_difference(&theirs, &ours);
    assert_eq!(difference, None, "dumps of {} by both systems", path.display());
    ours
}

/// Both are the same repository to both systems.
pub(crate) fn same(from: &Path, to: &Path) {
    // Old formats record no SHA-1.
    let dump = |path: &Path| -> Vec<u8> {
        let dump = dump(path);
        let lines = dump.split_inclusive(|byte| *byte == b'\n');
        lines
            .filter(|line| !line.starts_with(b"Text-c") || !line.windows(6).any(|w| w == b"-sha1:"))
            .flatten()
            .copied()
            .collect()
    };
    let difference = sapwood_testkit::compare::first_difference(&dump(from), &dump(to));
    assert_eq!(difference, None, "dumps of {} and {}", from.display(), to.display());
    reference("svnadmin", &["verify", "-q"], to);
    assert_eq!(reference("svnadmin", &["lslocks"], from), reference("svnadmin", &["lslocks"], to));
}

#[test]
fn fsx_becomes_fsfs() {
    let folder = tempfile::tempdir().unwrap();
    let history = random::history(21, 40);
    for (pack, minor) in [(false, 14), (true, 6)] {
        let from = folder.path().join(format!("from-{pack}"));
        fsx::make(&from, &history, 8, pack);
        std::fs::write(from.join("hooks/pre-commit"), "#!/bin/sh\nexit 0\n").unwrap();
        std::fs::write(from.join("conf/authz"), "[/]\n* = r\n").unwrap();
        let to = folder.path().join(format!("to-{pack}"));
        run(&from, &to, minor, &CancelToken::new()).unwrap();
        same(&from, &to);
        assert_eq!(std::fs::read(to.join("conf/authz")).unwrap(), b"[/]\n* = r\n");
        assert!(to.join("hooks/pre-commit").exists());
        let uuid = |path: &Path| reference("svnlook", &["uuid"], path);
        assert_eq!(uuid(&from), uuid(&to));
    }
}

#[test]
fn fsfs_becomes_fsx_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    for (at, shape) in Shape::few().iter().enumerate() {
        let from = Repository::random(shape, 26, 40);
        let to = folder.path().join(format!("{at}-fsx"));
        // All is compared, also where the source is the result of a conversion.
        let youngest = Revnum(from.history.youngest().try_into().unwrap());
        let all: Vec<_> = (0..=youngest.0).map(|rev| Event::Verified(Revnum(rev))).collect();
        let events = run_to_fsx(&from.path(), &to, &CancelToken::new()).unwrap();
        assert!(events.ends_with(&all));
        same(&from.path(), &to);
        let back = folder.path().join(format!("{at}-fsfs"));
        let events = run(&to, &back, 14, &CancelToken::new()).unwrap();
        assert!(events.ends_with(&all));
        same(&to, &back);
    }
}

/// The number of records with properties, and with texts.
fn sections(dump: &[u8]) -> [usize; 2] {
    let count = |name: &[u8]| dump.windows(name.len()).filter(|window| *window == name).count();
    [count(b"\nProp-content-length: "), count(b"\nText-content-length: ")]
}

#[test]
fn what_was_written_again_stays_a_change_of_fsfs() {
    let folder = tempfile::tempdir().unwrap();
    let history = random::repeating(28, 60);
    for (at, shape) in Shape::few().iter().enumerate() {
        let from = folder.path().join(at.to_string());
        repository::make(shape, &history, &from);
        // A list of properties that is empty differs from none.
        let url = format!("file://{}", from.display());
        for _ in 0..2 {
            let mut svnmucc = Programs::reference().command("svnmucc");
            svnmucc.args(["-m", "", "-U", &url, "propdel", "none", "tags"]);
            Output::of(&mut svnmucc).expect_success("svnmucc");
        }
        for minor in [3, 5, 8, 14] {
            let to = folder.path().join(format!("{at}-{minor}"));
            run(&from, &to, minor, &CancelToken::new()).unwrap();
            same(&from, &to);
        }
        // FSX compares contents, so that nothing is left of it there: not by dump and load with the reference, and not here.
        let [fsx, back, loaded] =
            ["fsx", "back", "loaded"].map(|name| folder.path().join(format!("{at}-{name}")));
        run_to_fsx(&from, &fsx, &CancelToken::new()).unwrap();
        fsx::create(&loaded, 8);
        // It is no matter of shared representations.
        let config = "[rep-sharing]\nenable-rep-sharing = false\n";
        std::fs::write(loaded.join("db/fsx.conf"), config).unwrap();
        repository::load(&loaded, &dump(&from));
        same(&loaded, &fsx);
        let (before, after) = (sections(&dump(&from)), sections(&dump(&fsx)));
        assert!(before[0] > after[0] && before[1] > after[1], "{before:?} {after:?}");
        run(&fsx, &back, 14, &CancelToken::new()).unwrap();
        same(&fsx, &back);
    }
}

#[test]
fn conversions_to_fsx_go_on_where_they_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fsx::make(&from, &random::repeating(27, 36), 8, true);
    for looks in [3, 20, 60] {
        let error = run_to_fsx(&from, &to, &CancelToken::at_look(move |look| look > looks));
        assert_eq!(error.unwrap_err().code(), ErrorCode::CANCELLED);
    }
    let events = run_to_fsx(&from, &to, &CancelToken::new()).unwrap();
    assert!(matches!(events.first(), Some(Event::Continued(_))), "{:?}", events.first());
    same(&from, &to);
    let at_once = folder.path().join("at-once");
    run_to_fsx(&from, &at_once, &CancelToken::new()).unwrap();
    assert!(dump(&at_once) == dump(&to));
}

#[test]
fn fsfs_of_one_version_becomes_another() {
    let folder = tempfile::tempdir().unwrap();
    for (at, shape) in Shape::few().iter().enumerate() {
        let from = Repository::random(shape, 22, 30);
        let to = folder.path().join(at.to_string());
        run(&from.path(), &to, 9, &CancelToken::new()).unwrap();
        same(&from.path(), &to);
    }
}

#[test]
fn conversions_go_on_where_they_stopped_and_follow_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let history = random::repeating(23, 36);
    let half = 30;
    fsx::create(&from, 8);
    repository::load(&from, &history.dump(0..=half));
    for looks in [3, 20, 60] {
        let error = run(&from, &to, 14, &CancelToken::at_look(move |look| look > looks));
        assert_eq!(error.unwrap_err().code(), ErrorCode::CANCELLED);
    }
    let events = run(&from, &to, 14, &CancelToken::new()).unwrap();
    assert!(matches!(events.first(), Some(Event::Continued(_))), "{:?}", events.first());
    same(&from, &to);
    let at_once = folder.path().join("at-once");
    run(&from, &at_once, 14, &CancelToken::new()).unwrap();
    assert!(dump(&at_once) == dump(&to));
    // The source goes on: more revisions, another log message.
    repository::load(&from, &history.dump(half + 1..=history.youngest()));
    let url = format!("file://{}", from.display());
    let mut propset = Programs::reference().command("svn");
    let args = ["propset", "-q", "--revprop", "-r3", "svn:log", "another", &url];
    std::fs::write(from.join("hooks/pre-revprop-change"), "#!/bin/sh\nexit 0\n").unwrap();
    Output::of(Command::new("chmod").arg("+x").arg(from.join("hooks/pre-revprop-change")))
        .expect_success("chmod");
    Output::of(propset.args(args)).expect_success("propset");
    let events = run(&from, &to, 14, &CancelToken::new()).unwrap();
    let before = Revnum(half.try_into().unwrap());
    assert_eq!(events.first(), Some(&Event::Continued(before)));
    same(&from, &to);
}

#[test]
fn targets_that_are_no_conversions_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fsx::make(&from, &random::history(24, 3), 8, false);
    let refused = |to: &Path| run(&from, to, 14, &CancelToken::new()).unwrap_err();
    assert_eq!(refused(&from).code(), ErrorCode::INCORRECT_PARAMS);
    std::fs::create_dir(&to).unwrap();
    std::fs::write(to.join("file"), "").unwrap();
    assert_eq!(refused(&to).code(), ErrorCode::DIR_NOT_EMPTY);
    let other = Repository::random(Shape::few().first().unwrap(), 25, 3);
    assert!(refused(&other.path()).to_string().contains("another UUID"));
    // A target that has a revision of its own.
    let target = folder.path().join("target");
    run(&from, &target, 14, &CancelToken::new()).unwrap();
    let url = format!("file://{}/own", target.display());
    let mut mkdir = Programs::reference().command("svn");
    Output::of(mkdir.args(["mkdir", "-q", "-m", "", &url])).expect_success("mkdir");
    assert!(refused(&target).to_string().contains("more revisions"));
}
