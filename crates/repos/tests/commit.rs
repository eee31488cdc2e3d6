//! Random histories written by our own transactions, by every engine and in every format: read back by ourselves,
//! compared with a plain model, and verified by the reference's `svnadmin`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use sapwood_core::{NodeKind, Revnum};
use sapwood_fs::admin::CreateOptions;
use sapwood_fs::txn::{Txn, WriteOptions, Writer};
use sapwood_fs::{Caches, Filesystem, OpenOptions};
use sapwood_repos::create::{RepositoryOptions, create};
use sapwood_testkit::fspath;

use crate::common::Place;

/// A file's text, or `None` for a directory, and properties.
type ModelNode = (Option<Vec<u8>>, BTreeMap<String, Vec<u8>>);

/// A tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    nodes: BTreeMap<String, ModelNode>,
}

/// A small generator of numbers (xorshift), so that a failure can be had again.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % n
    }

    fn pick<'a>(&mut self, from: &'a [String]) -> Option<&'a String> {
        if from.is_empty() { None } else { Some(&from[self.below(from.len())]) }
    }
}

fn text(random: &mut Random) -> Vec<u8> {
    let lines = match random.below(10) {
        0 => 0,
        1 => 4000,
        _ => random.below(60),
    };
    (0..lines).flat_map(|_| format!("line {}\n", random.below(50)).into_bytes()).collect()
}

impl Model {
    fn paths(&self, kind: NodeKind) -> Vec<String> {
        let is = |text: &Option<Vec<u8>>| text.is_some() == (kind == NodeKind::File);
        self.nodes.iter().filter(|(_, (text, _))| is(text)).map(|(p, _)| p.clone()).collect()
    }

    fn remove(&mut self, path: &str) {
        let below = format!("{path}/");
        self.nodes.retain(|p, _| p != path && !p.starts_with(&below));
    }
}

fn join(dir: &str, name: &str) -> String {
    if dir == "/" { format!("/{name}") } else { format!("{dir}/{name}") }
}

/// Does one random thing to both.
fn change(random: &mut Random, fs: &Filesystem, txn: &mut Txn, model: &mut Model, old: &[Model]) {
    let dirs = model.paths(NodeKind::Dir);
    let files = model.paths(NodeKind::File);
    let dir = random.pick(&dirs).unwrap().clone();
    let name = format!("n{}", random.below(40));
    let path = join(&dir, &name);
    let exists = model.nodes.contains_key(&path);
    match random.below(12) {
        0 | 1 if !exists => {
            txn.make_dir(fspath(&path)).unwrap();
            model.nodes.insert(path, (None, BTreeMap::new()));
        }
        2..=4 if !exists => {
            let text = text(random);
            txn.make_file(fspath(&path)).unwrap();
            txn.set_text(fspath(&path), &mut text.as_slice(), None).unwrap();
            model.nodes.insert(path, (Some(text), BTreeMap::new()));
        }
        5..=7 => {
            let Some(file) = random.pick(&files) else { return };
            let mut text = model.nodes[file].0.clone().unwrap();
            text.extend_from_slice(format!("more {}\n", random.below(1000)).as_bytes());
            let md5 = sapwood_core::Md5::of(&text);
            txn.set_text(fspath(file), &mut text.as_slice(), Some(md5)).unwrap();
            model.nodes.get_mut(file).unwrap().0 = Some(text);
        }
        8 => {
            let all: Vec<_> = model.nodes.keys().cloned().collect();
            let node = random.pick(&all).unwrap();
            let name = ["svn:mergeinfo", "p", "q"][random.below(3)];
            let value = (random.below(4) > 0).then(|| format!("/x:{}", 1 + random.below(9)));
            txn.change_prop(fspath(node), name, value.as_deref().map(str::as_bytes)).unwrap();
            let props = &mut model.nodes.get_mut(node).unwrap().1;
            match value {
                Some(value) => drop(props.insert(name.into(), value.into_bytes())),
                None => drop(props.remove(name)),
            }
        }
        9 => {
            let all: Vec<_> = model.nodes.keys().filter(|p| *p != "/").cloned().collect();
            let Some(node) = random.pick(&all) else { return };
            txn.delete(fspath(node)).unwrap();
            model.remove(node);
        }
        10 | 11 if model.nodes.len() < 300 => {
            let revision = random.below(old.len());
            let sources: Vec<_> =
                old[revision].nodes.keys().filter(|p| *p != "/").cloned().collect();
            let Some(source) = random.pick(&sources) else { return };
            let number = u64::try_from(revision).unwrap();
            let root = fs.revision_root(Revnum(number)).unwrap();
            let before = format!("{source}/");
            txn.copy(&root, fspath(source), fspath(&path), true).unwrap();
            model.remove(&path);
            for (p, node) in &old[revision].nodes {
                if p == source {
                    model.nodes.insert(path.clone(), node.clone());
                } else if let Some(rest) = p.strip_prefix(&before) {
                    model.nodes.insert(join(&path, rest), node.clone());
                }
            }
        }
        _ => {}
    }
}

/// Reads a revision into a model.
fn read(fs: &Filesystem, revision: Revnum) -> Model {
    let root = fs.revision_root(revision).unwrap();
    let mut model = Model::default();
    let mut todo = vec![root.node(fspath("/")).unwrap()];
    while let Some(node) = todo.pop() {
        let props = node.props().unwrap();
        let props = props.iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
        let text = if node.kind() == NodeKind::File {
            let mut text = Vec::new();
            std::io::Read::read_to_end(&mut node.contents().unwrap(), &mut text).unwrap();
            Some(text)
        } else {
            for entry in node.entries().unwrap().iter() {
                todo.push(node.child(entry.name).unwrap().unwrap());
            }
            None
        };
        model.nodes.insert(node.path().to_string(), (text, props));
    }
    model
}

fn writer(path: &Path, flush: bool) -> (Filesystem, Arc<Writer>) {
    let fs = Filesystem::open(&path.join("db"), &Caches::new(16 << 20), &OpenOptions::default());
    let fs = fs.unwrap();
    let options = WriteOptions { flush_to_disk: flush, ..WriteOptions::default() };
    let writer = Writer::new(&fs, options).unwrap();
    (fs, writer)
}

fn verify(path: &Path) {
    let done = Command::new("svnadmin").args(["verify", "-q"]).arg(path).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn random_history(seed: u64, revisions: usize, fs_options: CreateOptions, config: &str) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("repo");
    create(&path, &RepositoryOptions { fs: fs_options, compatible_minor: None }).unwrap();
    if !config.is_empty() {
        std::fs::write(path.join("db/fsfs.conf"), config).unwrap();
    }
    let (fs, writer) = writer(&path, false);
    // Read with other caches, so that files are what is looked at.
    let fresh = Filesystem::open(&path.join("db"), &Caches::new(1 << 20), &OpenOptions::default());
    random_revisions(seed, revisions, &writer, &[fs, fresh.unwrap()]);
    verify(&path);
}

/// Makes revisions, and reads all of them by each of several openings, the first of which is the writer's.
fn random_revisions(seed: u64, revisions: usize, writer: &Arc<Writer>, read_by: &[Filesystem]) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let empty = Model { nodes: BTreeMap::from([("/".to_owned(), (None, BTreeMap::new()))]) };
    let mut models = vec![empty];
    for number in 1..=revisions {
        let base = Revnum(u64::try_from(number - 1).unwrap());
        let mut txn = writer.begin(base).unwrap();
        txn.props_mut().set("svn:log", format!("revision {number}"));
        let mut model = models.last().unwrap().clone();
        for _ in 0..=random.below(8) {
            change(&mut random, writer.fs(), &mut txn, &mut model, &models);
        }
        assert_eq!(txn.commit().unwrap(), base.next());
        models.push(model);
    }
    for (number, model) in models.iter().enumerate() {
        let revision = Revnum(u64::try_from(number).unwrap());
        for (at, fs) in read_by.iter().enumerate() {
            assert!(read(fs, revision) == *model, "r{number} by opening {at}");
        }
    }
}

#[test]
fn every_engine() {
    for place in Place::each() {
        random_revisions(21, 40, &place.writer(), &[place.fs().clone(), place.fresh()]);
        place.verify();
    }
}

#[test]
fn every_format() {
    for format in [1, 2, 3, 4, 6, 7, 8] {
        let options = CreateOptions {
            format,
            shard_size: 7,
            flush_to_disk: false,
            ..CreateOptions::default()
        };
        random_history(u64::from(format), 40, options, "");
    }
}

#[test]
fn layouts_and_options() {
    let base = CreateOptions { flush_to_disk: false, ..CreateOptions::default() };
    random_history(11, 30, CreateOptions { shard_size: 0, ..base }, "");
    random_history(12, 30, CreateOptions { logical_addressing: false, ..base }, "");
    for (seed, config) in [
        (
            13,
            "[deltification]\nenable-dir-deltification = false\nenable-props-deltification = false\n",
        ),
        (14, "[deltification]\ncompression = none\nmax-linear-deltification = 1\n"),
        (15, "[deltification]\ncompression = zlib-9\nmax-deltification-walk = 3\n"),
        (
            16,
            "[rep-sharing]\nenable-rep-sharing = false\n[io]\nl2p-page-size = 4\np2l-page-size = 1\n",
        ),
    ] {
        random_history(seed, 30, base, config);
    }
}

/// Two transactions that began at one revision: how the second one ends.
fn pair(
    place: &Place,
    first: impl FnOnce(&mut Txn),
    second: impl FnOnce(&mut Txn),
) -> Result<Revnum, sapwood_core::SvnError> {
    let writer = place.writer();
    let mut txn = writer.begin(Revnum(0)).unwrap();
    txn.make_dir(fspath("/a")).unwrap();
    txn.make_dir(fspath("/a/b")).unwrap();
    txn.make_file(fspath("/a/f")).unwrap();
    txn.make_file(fspath("/a/b/g")).unwrap();
    assert_eq!(txn.commit().unwrap(), Revnum(1));
    let mut one = writer.begin(Revnum(1)).unwrap();
    let mut two = writer.begin(Revnum(1)).unwrap();
    first(&mut one);
    second(&mut two);
    assert_eq!(one.commit().unwrap(), Revnum(2));
    let done = two.commit().map_err(sapwood_core::SvnError::from);
    place.verify();
    done
}

#[test]
fn changes_of_different_things_are_merged() {
    for place in Place::each() {
        let done = pair(
            &place,
            |txn| {
                txn.set_text(fspath("/a/f"), &mut &b"one"[..], None).unwrap();
                txn.make_dir(fspath("/a/b/new")).unwrap();
                txn.change_prop(fspath("/a/b/new"), "svn:mergeinfo", Some(b"/x:1")).unwrap();
            },
            |txn| {
                txn.set_text(fspath("/a/b/g"), &mut &b"two"[..], None).unwrap();
                txn.delete(fspath("/a/b/g")).unwrap();
                txn.make_file(fspath("/z")).unwrap();
            },
        );
        assert_eq!(done.unwrap(), Revnum(3));
        let model = read(place.fs(), Revnum(3));
        let paths: Vec<_> = model.nodes.keys().map(String::as_str).collect();
        assert_eq!(paths, ["/", "/a", "/a/b", "/a/b/new", "/a/f", "/z"]);
        assert_eq!(model.nodes["/a/f"].0.as_deref(), Some(&b"one"[..]));
        let root = place.fs().revision_root(Revnum(3)).unwrap();
        assert_eq!(root.node(fspath("/a")).unwrap().mergeinfo_count(), 1);
    }
}

#[test]
fn changes_of_the_same_thing_conflict() {
    for (first, second, path) in [
        ("edit /a/f", "edit /a/f", "/a/f"),
        ("delete /a/f", "edit /a/f", "/a/f"),
        ("edit /a/b/g", "delete /a/b", "/a/b"),
        ("add /a/n", "add /a/n", "/a/n"),
        ("prop /a", "edit /a/f", "/a"),
        ("add /a/n", "prop /a", "/a"),
        ("delete /a/f", "delete /a/f", "/a/f"),
    ] {
        let act = |what: &str, txn: &mut Txn| {
            let (what, path) = what.split_once(' ').unwrap();
            match what {
                "edit" => txn.set_text(fspath(path), &mut what.as_bytes(), None).unwrap(),
                "delete" => txn.delete(fspath(path)).unwrap(),
                "add" => txn.make_file(fspath(path)).unwrap(),
                _ => txn.change_prop(fspath(path), "p", Some(b"v")).unwrap(),
            }
        };
        for place in Place::each() {
            let done = pair(&place, |txn| act(first, txn), |txn| act(second, txn));
            let error = done.unwrap_err();
            let name = place.fs().engine().name();
            assert_eq!(
                error.to_string(),
                format!("E160024: Conflict at '{path}'"),
                "{name}: {first} {second}"
            );
            assert_eq!(place.fs().youngest().unwrap(), Revnum(2));
        }
    }
}

#[test]
fn many_threads_and_many_processes_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("repo");
    create(&path, &RepositoryOptions::default()).unwrap();
    let (fs, writer) = writer(&path, false);
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let writer = Arc::clone(&writer);
            std::thread::spawn(move || {
                for n in 0..10 {
                    let base = writer.fs().youngest().unwrap();
                    let mut txn = writer.begin(base).unwrap();
                    txn.make_file(fspath(&format!("/t{thread}-{n}"))).unwrap();
                    txn.commit().unwrap();
                }
            })
        })
        .collect();
    let url = format!("file://{}", path.display());
    for n in 0..10 {
        let done = Command::new("svnmucc")
            .args(["-m", "", "-U", &url, "mkdir", &format!("ref{n}")])
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    for thread in threads {
        thread.join().unwrap();
    }
    let youngest = fs.youngest().unwrap();
    assert_eq!(youngest, Revnum(50));
    assert_eq!(read(&fs, youngest).nodes.len(), 51);
    verify(&path);
}

#[test]
fn a_text_that_is_wrong_is_refused_and_leaves_no_trace() {
    for place in Place::each() {
        let mut txn = place.writer().begin(Revnum(0)).unwrap();
        txn.make_file(fspath("/f")).unwrap();
        let wrong = sapwood_core::Md5::of(b"else");
        let error = txn.set_text(fspath("/f"), &mut &b"this"[..], Some(wrong)).unwrap_err();
        let error = sapwood_core::SvnError::from(error);
        assert!(error.message().starts_with("Checksum mismatch for '/f':\n   expected:  "));
        drop(txn);
        assert_eq!(place.fs().youngest().unwrap(), Revnum(0));
        assert_eq!(place.fs().transactions().unwrap(), [""; 0]);
        let db = place.repository.path().join("db");
        for left in ["txn-protorevs", "transactions"].map(|name| db.join(name)) {
            assert!(
                std::fs::read_dir(left).is_ok_and(|mut left| left.next().is_none()) == db.exists()
            );
        }
    }
}

#[test]
fn a_text_can_be_changed_twice_by_deltas() {
    let texts: Vec<Vec<u8>> = (0u8..4)
        .map(|n| (0..30_000).flat_map(|line| format!("{} {n}\n", line * 7).into_bytes()).collect())
        .collect();
    for place in Place::each() {
        let writer = place.writer();
        let mut txn = writer.begin(Revnum(0)).unwrap();
        txn.make_file(fspath("/f")).unwrap();
        txn.set_text(fspath("/f"), &mut texts[0].as_slice(), None).unwrap();
        txn.commit().unwrap();
        let mut txn = writer.begin(Revnum(1)).unwrap();
        for pair in texts.windows(2) {
            let mut delta =
                sapwood_delta::ComputedDelta::new(pair[0].as_slice(), pair[1].as_slice());
            let md5 = sapwood_core::Md5::of;
            txn.apply_delta(fspath("/f"), Some(md5(&pair[0])), &mut delta, Some(md5(&pair[1])))
                .unwrap();
        }
        txn.commit().unwrap();
        assert!(read(place.fs(), Revnum(2)).nodes["/f"].0.as_ref() == Some(&texts[3]));
        place.verify();
    }
}

#[test]
fn locks_are_respected() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("repo");
    create(&path, &RepositoryOptions::default()).unwrap();
    let (fs, writer) = writer(&path, false);
    let mut txn = writer.begin(Revnum(0)).unwrap();
    txn.make_dir(fspath("/d")).unwrap();
    txn.make_file(fspath("/d/f")).unwrap();
    txn.make_file(fspath("/d/g")).unwrap();
    txn.commit().unwrap();
    let url = format!("file://{}/d/f", path.display());
    let done = Command::new("svn").args(["lock", "-q", "--username", "harry", &url]).output();
    assert!(done.unwrap().status.success());
    let token = fs.lock(fspath("/d/f")).unwrap().unwrap().token;

    let attempt = |change: &dyn Fn(&mut Txn), access: Option<(&str, &str)>| {
        let mut txn = writer.begin(Revnum(1)).unwrap();
        change(&mut txn);
        if let Some((user, token)) = access {
            txn.set_access(user, vec![token.to_owned()]);
        }
        txn.commit().map_err(|e| sapwood_core::SvnError::from(e).to_string())
    };
    let edit = |txn: &mut Txn| txn.set_text(fspath("/d/f"), &mut &b"x"[..], None).unwrap();
    let delete = |txn: &mut Txn| txn.delete(fspath("/d")).unwrap();
    let beside = |txn: &mut Txn| txn.set_text(fspath("/d/g"), &mut &b"x"[..], None).unwrap();
    let no_user = "E160034: Cannot verify lock on path '/d/f'; no username available";
    assert_eq!(attempt(&edit, None).unwrap_err(), no_user);
    assert_eq!(attempt(&delete, None).unwrap_err(), no_user);
    assert_eq!(
        attempt(&edit, Some(("sally", &token))).unwrap_err(),
        "E160039: User 'sally' does not own lock on path '/d/f' (currently locked by 'harry')"
    );
    assert_eq!(
        attempt(&delete, Some(("harry", "other"))).unwrap_err(),
        "E160037: Cannot verify lock on path '/d/f'; no matching lock-token available"
    );
    assert_eq!(fs.youngest().unwrap(), Revnum(1));
    attempt(&beside, None).unwrap();
    attempt(&edit, Some(("harry", &token))).unwrap();
    verify(&path);
}

#[test]
fn read_back_before_it_is_there() {
    for (config, stopped) in [("[debug]\nverify-before-commit = true\n", true), ("", false)] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("repo");
        let fs_options =
            CreateOptions { format: 6, flush_to_disk: false, ..CreateOptions::default() };
        create(&path, &RepositoryOptions { fs: fs_options, compatible_minor: None }).unwrap();
        std::fs::write(path.join("db/fsfs.conf"), config).unwrap();
        let (fs, writer) = writer(&path, false);
        let commit = |base: u64| {
            let mut txn = writer.begin(Revnum(base)).unwrap();
            txn.make_dir(fspath(&format!("/d{base}"))).unwrap();
            txn.commit()
        };
        commit(0).unwrap();
        // The first revision is damaged on disk, but not in the caches of who commits.
        let file = path.join("db/revs/0/1");
        let good = std::fs::read(&file).unwrap();
        let at = good.windows(9).rposition(|part| part == b"count: 1\n").unwrap();
        let mut bad = good.clone();
        bad[at + 7] = b'7';
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, &bad).unwrap();
        let done = commit(1).map_err(sapwood_core::SvnError::from);
        std::fs::write(&file, &good).unwrap();
        if stopped {
            assert_eq!(done.unwrap_err().code(), sapwood_core::ErrorCode::FS_CORRUPT);
            assert_eq!(fs.youngest().unwrap(), Revnum(1));
            commit(1).unwrap();
        } else {
            done.unwrap();
        }
        assert_eq!(fs.youngest().unwrap(), Revnum(2));
        verify(&path);
    }
}

#[test]
fn packed_after_each_commit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("repo");
    let fs_options =
        CreateOptions { shard_size: 3, flush_to_disk: false, ..CreateOptions::default() };
    create(&path, &RepositoryOptions { fs: fs_options, compatible_minor: None }).unwrap();
    std::fs::write(path.join("db/fsfs.conf"), "[debug]\npack-after-commit = true\n").unwrap();
    let (_, writer) = writer(&path, false);
    for base in 0..6 {
        let mut txn = writer.begin(Revnum(base)).unwrap();
        txn.make_dir(fspath(&format!("/d{base}"))).unwrap();
        txn.commit().unwrap();
        assert!(writer.take_error_after_commit().is_none());
        let packed = std::fs::read_to_string(path.join("db/min-unpacked-rev")).unwrap();
        assert_eq!(packed, format!("{}\n", base.div_ceil(3) * 3));
    }
    verify(&path);
}
