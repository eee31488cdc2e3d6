//! The comparison at the end of a conversion: interrupted anywhere it goes on, and compares again no more than what is not noted
//! yet; what it has noted of another source, or of revisions that are not there any more, counts for nothing.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sapwood_core::{CancelToken, ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_fs::admin::{CreateOptions, NewFilesystem};
use sapwood_fs::txn::{WriteOptions, Writer};
use sapwood_fs::{Caches, Filesystem, OpenOptions};
use sapwood_repos::convert::{Event, TargetOptions, convert};
use sapwood_testkit::{History, fsx, random, repository};

use crate::convert::{run, same};

/// The largest batch that one thread compares, and how many of them it may be ahead.
const AHEAD: u64 = 16 * 3;

/// To FSFS by one thread; `at` sees each event.
fn one_by_one(
    (from, to): (&Path, &Path),
    at_once: u64,
    cancel: &CancelToken,
    at: &mut dyn FnMut(Event) -> SvnResult<()>,
) -> SvnResult<Revnum> {
    let fs = NewFilesystem::Fsfs(CreateOptions { format: 8, ..CreateOptions::default() });
    let options =
        TargetOptions { fs, compatible_minor: None, threads: 1, compared_at_once: at_once };
    convert(from, to, &options, &Caches::new(16 << 20), cancel, at)
}

fn killed() -> SvnError {
    SvnError::new(ErrorCode::CANCELLED, "killed")
}

/// A token that counts looks, and never ends anything.
fn counting() -> (CancelToken, Arc<AtomicU32>) {
    let looks = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&looks);
    let cancel = CancelToken::at_look(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        false
    });
    (cancel, looks)
}

fn set_late(db: &Path, caches: &Arc<Caches>, revision: Revnum) -> SvnResult<()> {
    let source = Filesystem::open(db, caches, &OpenOptions::default())?;
    let writer = Writer::new(&source, WriteOptions::default())?;
    writer.change_revision_props(revision, &mut |props| {
        let mut props = props.clone();
        props.set("late", "yes");
        Ok(Some(props))
    })?;
    Ok(())
}

#[test]
fn revisions_that_were_compared_are_not_compared_again() {
    let folder = tempfile::tempdir().unwrap();
    const AT_ONCE: u64 = 8;
    for size in [40, 160] {
        let [from, to] = ["from", "to"].map(|name| folder.path().join(format!("{name}-{size}")));
        fsx::make(&from, &random::history(41, size), 8, true);
        let (mut verified, mut runs, mut last) = (0, 0, None);
        // Killed at another event each time, also where nothing is noted yet.
        loop {
            runs += 1;
            let (mut left, mut next, mut before) = (7 + runs % 5 * 9, None, None);
            let (cancel, looks) = counting();
            let done = one_by_one((&from, &to), AT_ONCE, &cancel, &mut |event| {
                match event {
                    Event::VerifiedBefore(revision) => before = Some(revision),
                    Event::Verified(revision) => {
                        assert_eq!(next.unwrap_or(revision), revision);
                        next = Some(revision.next());
                        last = last.max(next);
                        verified += 1;
                        left -= 1;
                    }
                    _ => {}
                }
                if left == 0 { Err(killed()) } else { Ok(()) }
            });
            if runs > 1 && done.is_err() {
                // No more was done than was reported and what comes next.
                let compared = next.map_or(0, |next| next.0 - before.map_or(0, |rev| rev.0 + 1));
                let looks = u64::from(looks.load(Ordering::Relaxed));
                assert!(looks <= compared + AHEAD, "{looks} looks for {compared} revisions");
            }
            match done {
                Ok(youngest) => {
                    assert_eq!(last, Some(youngest.next()));
                    let most = youngest.0 + 1 + (runs - 1) * (AT_ONCE + AHEAD / 3);
                    assert!(verified <= most, "{verified} of {youngest} in {runs} runs");
                    break;
                }
                Err(error) => assert_eq!(error.message(), "killed"),
            }
        }
        assert!(runs > 2, "{runs}");
        same(&from, &to);
    }
}

/// A tree with directories, and branches of all of it: 2 + (1 + 6 * `size`) * (1 + `tags`) nodes.
fn wide(size: u32, tags: u32) -> History {
    let mut history = History::new(format!("wide-{size}"));
    let mut txn = history.begin("a", "all");
    txn.mkdir("trunk").mkdir("tags");
    for dir in 0..size {
        txn.mkdir(&format!("trunk/{dir:03}"));
        for file in 0..5 {
            txn.add(&format!("trunk/{dir:03}/{file}"), format!("{dir} {file}"));
        }
    }
    let first = txn.commit();
    for tag in 0..tags {
        let mut txn = history.begin("a", "tag");
        txn.copy("trunk", first, &format!("tags/{tag}"));
        txn.commit();
    }
    history
}

#[test]
fn of_the_tree_the_rest_is_compared() {
    const AT_ONCE: u64 = 1;
    for (size, tags) in [(20, 0), (80, 0), (20, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| folder.path().join(name));
        repository::make(&sapwood_testkit::Shape::few()[0], &wide(size, tags), &from);
        let all = one_by_one((&from, &to), AT_ONCE, &CancelToken::new(), &mut |_| Ok(()));
        let note = to.join("converted-revision");
        let text = std::fs::read_to_string(&note).unwrap();
        let done_line = format!("tree {}\n", all.unwrap());
        assert!(text.contains(&done_line), "{text}");
        // Each run ends after some nodes; hooks and the rest are looked at before.
        let run = |most: u32| {
            let total = Arc::new(AtomicU32::new(0));
            let counted = Arc::clone(&total);
            let cancel =
                CancelToken::at_look(move |_| counted.fetch_add(1, Ordering::Relaxed) >= most);
            let done = one_by_one((&from, &to), AT_ONCE, &cancel, &mut |_| Ok(()));
            (done, total.load(Ordering::Relaxed))
        };
        std::fs::write(&note, &text).unwrap();
        let (done, before) = run(u32::MAX);
        // The properties of each revision are looked at last.
        let before = before - u32::try_from(done.unwrap().0 + 1).unwrap();
        std::fs::write(&note, text.replace(&done_line, "")).unwrap();
        // After an interruption what was compared at another path is compared at this one too.
        let nodes = 2 + (1 + 6 * size) * (1 + tags);
        let (mut looks, mut runs) = (0, 0);
        loop {
            runs += 1;
            let (done, seen) = run(before + 40);
            looks += seen - before;
            match done {
                Ok(_) => break,
                Err(error) => assert_eq!(error.code(), ErrorCode::CANCELLED),
            }
        }
        // A batch of 16 nodes, and those above it, again for each run.
        let most = nodes + runs * (16 + 4);
        assert!(looks <= most, "{looks} looks for {nodes} nodes in {runs} runs");
        assert!(looks >= 2 + (1 + 6 * size), "{looks} looks for {size} directories");
        assert!(runs > size / 10, "{runs}");
        assert_eq!(std::fs::read_to_string(&note).unwrap(), text);
        same(&from, &to);
    }
}

/// Two histories with one UUID, whose second revisions are equal.
fn two(text: &str) -> History {
    let mut history = History::new("two-of-one-uuid");
    let mut txn = history.begin("a", "first");
    txn.mkdir("d").add("d/f", text);
    txn.commit();
    let mut txn = history.begin("a", "second");
    txn.add("g", "g");
    txn.commit();
    history
}

#[test]
fn a_target_that_differs_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let [source, other, target] =
        ["source", "other", "target"].map(|name| folder.path().join(name));
    fsx::make(&source, &two("1"), 8, false);
    fsx::make(&other, &two("2"), 8, false);
    run(&other, &target, 14, &CancelToken::new()).unwrap();
    let note = target.join("converted-revision");
    let compared = std::fs::read_to_string(&note).unwrap();
    let refused = |sentence: &str| {
        let error = run(&source, &target, 14, &CancelToken::new()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::FS_CORRUPT);
        assert!(error.to_string().contains(sentence), "{error}");
    };
    // What was compared with another source counts for nothing.
    refused("Revision 1 differs");
    std::fs::remove_file(&note).unwrap();
    refused("Revision 1 differs");
    // Revisions are not compared again; the tree is, but for what was.
    let line = |path: &Path| {
        let uuid = std::fs::read_to_string(path.join("db/uuid")).unwrap();
        uuid.trim_end().replace('\n', " ")
    };
    let of_source = compared.replace(&line(&other), &line(&source));
    assert_ne!(of_source, compared);
    let with_tree = |tree: &str| {
        std::fs::write(&note, of_source.replace("tree 2\n", tree)).unwrap();
    };
    for tree in ["", "tree 1\n", "tree 2 /\n", "tree 2 /g\n", "tree 2 /d\n", "tree 2 /d/f\n"] {
        with_tree(tree);
        refused("Revision 2 differs from that of the source: a node of its tree");
    }
    with_tree("tree 2 /d/a\n");
    run(&source, &target, 14, &CancelToken::new()).unwrap();
    // A revision whose properties changed is.
    with_tree("tree 2\n");
    set_late(&source.join("db"), &Caches::new(1 << 20), Revnum(1)).unwrap();
    refused("Revision 1 differs");
}

#[test]
fn revisions_that_the_target_lost_are_compared_again() {
    let folder = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| folder.path().join(name));
    let history = random::history(42, 20);
    let youngest = u64::try_from(history.youngest()).unwrap();
    fsx::make(&from, &history, 8, false);
    let verified = |at: &mut dyn FnMut(Event) -> SvnResult<()>| {
        let mut verified = Vec::new();
        let done = one_by_one((&from, &to), 8, &CancelToken::new(), &mut |event| {
            if let Event::Verified(revision) = event {
                verified.push(revision.0);
            }
            at(event)
        });
        done.map(|_| verified)
    };
    assert_eq!(verified(&mut |_| Ok(())).unwrap(), (0..=youngest).collect::<Vec<_>>());
    std::fs::write(to.join("db/current"), "9\n").unwrap();
    std::fs::remove_file(to.join("db/rep-cache.db")).unwrap();
    // Also when it is killed before anything is compared, but there are more revisions again than were.
    let error = verified(&mut |event| match event {
        Event::VerifiedBefore(_) => Err(killed()),
        _ => Ok(()),
    });
    assert_eq!(error.unwrap_err().message(), "killed");
    assert_eq!(verified(&mut |_| Ok(())).unwrap(), (10..=youngest).collect::<Vec<_>>());
    same(&from, &to);
}

#[test]
fn properties_that_change_during_the_comparison_are_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fsx::make(&from, &random::history(29, 60), 8, false);
    let caches = Caches::new(16 << 20);
    // Of a revision that comes yet, of one that was compared, and then of one that was before the comparison went on.
    for (at, revision) in [(0, 62), (16, 3), (40, 20)] {
        let done = one_by_one((&from, &to), 8, &CancelToken::new(), &mut |event| {
            if event == Event::Verified(Revnum(at)) {
                set_late(&from.join("db"), &caches, Revnum(revision))?;
                return Err(killed());
            }
            Ok(())
        });
        assert_eq!(done.unwrap_err().message(), "killed");
    }
    let done = one_by_one((&from, &to), 8, &CancelToken::new(), &mut |event| {
        // The last one is compared without this change, which the next run finds.
        if event == Event::Verified(Revnum(62)) {
            set_late(&from.join("db"), &caches, Revnum(61))?;
        }
        Ok(())
    });
    assert_eq!(done.unwrap(), Revnum(62));
    one_by_one((&from, &to), 8, &CancelToken::new(), &mut |_| Ok(())).unwrap();
    same(&from, &to);
    let late = |db: &Path| {
        let fs = Filesystem::open(db, &caches, &OpenOptions::default()).unwrap();
        (0..=62).filter(|at| fs.revprops(Revnum(*at)).unwrap().get("late").is_some()).count()
    };
    assert_eq!((late(&from.join("db")), late(&to.join("db"))), (4, 4));
}
