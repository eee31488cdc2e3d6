//! Damaged files: whatever byte is wrong, readers give an error or some answer; they never panic,
//! hang, or take memory without bound.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "tests"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sapwood_core::checksum::Md5Hasher;
use sapwood_core::{CancelToken, Md5, NodeKind, Revnum};
use sapwood_fsfs::{Caches, Filesystem, Node, OpenOptions};
use sapwood_fsfs_format::Footer;
use sapwood_testkit::{Packing, Repository, Shape, fspath};

/// Reads a tree as far as it can be read; counts what was right.
fn read_node(node: &Node, depth: usize, right: &mut usize) {
    let _ = node.props().map(|props| *right += props.len());
    if node.kind() == NodeKind::File {
        let Ok(mut contents) = node.contents() else { return };
        while let Ok(Some(_)) = contents.next_piece() {
            *right += 1;
        }
        let mut delta = match node.delta_from(node.predecessor().ok().flatten().as_ref()) {
            Ok(delta) => delta,
            Err(_) => return,
        };
        while let Ok(Some(_)) = sapwood_delta::TextDelta::next_window(&mut delta) {
            *right += 1;
        }
        return;
    }
    let Ok(entries) = node.entries() else { return };
    // A directory may have become its own child.
    for entry in entries.iter().filter(|_| depth < 20) {
        if let Ok(Some(child)) = node.child(entry.name) {
            *right += 1;
            read_node(&child, depth + 1, right);
        }
    }
}

fn read_everything(db: &Path) -> usize {
    let mut right = 0;
    let caches = Caches::new(8 << 20);
    let Ok(fs) = Filesystem::open(db, &caches, &OpenOptions::default()) else { return 0 };
    let Ok(youngest) = fs.youngest() else { return 0 };
    for number in 0..=youngest.0.min(20) {
        let _ = fs.revprops(Revnum(number)).map(|props| right += props.len());
        let _ = fs.changed_paths(Revnum(number)).map(|list| {
            right += list.iter().filter(|change| change.path.starts_with('/')).count();
        });
        let Ok(root) = fs.revision_root(Revnum(number)) else { continue };
        let Ok(node) = root.node(fspath("/")) else { continue };
        read_node(&node, 0, &mut right);
        if number == youngest.0 {
            let _ = root.mergeinfo_below(fspath("/"), &CancelToken::new(), &mut |_, _| Ok(()));
            for change in fs.changed_paths(Revnum(number)).iter().flat_map(|list| list.iter()) {
                let _ = root.closest_copy(change.path);
                let _ = root.node_origin_rev(change.path);
                let Ok(mut history) = root.history(change.path) else { continue };
                let mut steps = 0;
                while let Ok(Some(_)) = history.step(true) {
                    steps += 1;
                    assert!(steps < 10_000, "history goes round");
                }
                right += steps;
            }
        }
    }
    right
}

/// All that a repository holds, as one checksum; or that something is wrong with it. Everything is
/// verified first, the rep-cache too.
fn answer(db: &Path) -> Result<Md5, String> {
    let caches = Caches::new(8 << 20);
    let cancel = CancelToken::new();
    let told = |error: sapwood_fsfs::Error| error.to_string();
    let fs = Filesystem::open(db, &caches, &OpenOptions::default()).map_err(told)?;
    let youngest = fs.youngest().map_err(told)?;
    fs.verify_metadata(None, None, 1, &cancel, &mut |_| {}).map_err(told)?;
    let mut all = Md5Hasher::new();
    for number in 0..=youngest.0.min(20) {
        fs.verify_revision(Revnum(number), &cancel).map_err(told)?;
        for (name, value) in fs.revprops(Revnum(number)).map_err(told)?.iter() {
            all.update(name.as_bytes());
            all.update(value);
        }
        for change in fs.changed_paths(Revnum(number)).map_err(told)?.iter() {
            all.update(format!("{change:?}").as_bytes());
        }
        let root = fs.revision_root(Revnum(number)).map_err(told)?;
        let mut open = vec![(root.node(fspath("/")).map_err(told)?, 0)];
        while let Some((node, depth)) = open.pop() {
            all.update(
                format!("{}{:?}{:?}", node.path(), node.id(), node.copied_from()).as_bytes(),
            );
            for (name, value) in node.props().map_err(told)?.iter() {
                all.update(name.as_bytes());
                all.update(value);
            }
            if node.kind() == NodeKind::File {
                let mut contents = node.contents().map_err(told)?;
                while let Some(piece) = contents.next_piece().map_err(|e| e.to_string())? {
                    all.update(piece);
                }
                continue;
            }
            assert!(depth < 50, "a directory goes round");
            for entry in node.entries().map_err(told)?.iter() {
                let child = node.child(entry.name).map_err(told)?;
                open.extend(child.map(|child| (child, depth + 1)));
            }
        }
    }
    Ok(all.finish())
}

/// What came of damage to the files of one kind.
#[derive(Debug, Default)]
struct Count {
    told: usize,
    harmless: usize,
    unnoticed: usize,
}

/// Each byte of every file in turn (of large files a sample) is changed, cut off from, or removed.
fn every_byte(shape: &Shape, seed: u64) -> BTreeMap<String, Count> {
    let repo = Repository::random(shape, seed, 12);
    let db = repo.path().join("db");
    let sound = answer(&db).unwrap();
    let mut all = Vec::new();
    files(&db, &mut all);
    all.push(db.join("rep-cache.db"));
    all.retain(|path| path.exists());
    all.sort();
    let mut rng = sapwood_testkit::Rng::new(seed);
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    for path in all {
        let relative = path.strip_prefix(&db).unwrap();
        let kind = relative.iter().next().unwrap().to_string_lossy().into_owned();
        let count = counts.entry(kind).or_default();
        let bytes = std::fs::read(&path).unwrap();
        let step = bytes.len().div_ceil(250).max(1);
        for at in (0..bytes.len()).step_by(step) {
            let at = (at + rng.below(step)).min(bytes.len() - 1);
            for damage in 0..3 {
                let mut bad = bytes.clone();
                match damage {
                    0 => bad[at] ^= 1 << rng.below(8),
                    1 => bad.truncate(at),
                    _ => drop(bad.remove(at)),
                }
                write(&path, &bad);
                match answer(&db) {
                    Err(_) => count.told += 1,
                    Ok(same) if same == sound => count.harmless += 1,
                    Ok(_) => count.unnoticed += 1,
                }
            }
        }
        write(&path, &bytes);
    }
    assert_eq!(answer(&db).unwrap(), sound);
    println!("{}: {counts:#?}", shape.name());
    counts
}

#[test]
#[ignore = "takes minutes"]
fn every_byte_of_a_few_shapes() {
    let newest = every_byte(&Shape::new("1.10").shard(4).pack(Packing::Half), 5);
    // In the newest formats everything that is immutable has a checksum.
    assert_eq!(newest["revs"].unnoticed, 0);
    every_byte(&Shape::new("1.8").shard(4).pack(Packing::Half), 6);
    every_byte(&Shape::new("1.1"), 7);
}

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, out);
        } else if path.metadata().unwrap().len() > 0 && !path.ends_with("rep-cache.db") {
            out.push(path);
        }
    }
}

fn write(path: &Path, bytes: &[u8]) {
    let _ = std::fs::remove_file(path);
    std::fs::write(path, bytes).unwrap();
}

/// Spoils every file at a sample of places in turn.
fn spoil(shape: &Shape, seed: u64, places: usize) {
    let repo = Repository::random(shape, seed, 12);
    let db = repo.path().join("db");
    let sound = read_everything(&db);
    assert!(sound > 50);
    let mut all = Vec::new();
    files(&db, &mut all);
    all.sort();
    let mut rng = sapwood_testkit::Rng::new(seed);
    for path in all {
        let bytes = std::fs::read(&path).unwrap();
        for _ in 0..places.min(bytes.len()) {
            let at = rng.below(bytes.len());
            let mut bad = bytes.clone();
            match rng.below(6) {
                0 => bad.truncate(at),
                1 => drop(bad.remove(at)),
                2 => bad[at] = bad[at].wrapping_add(1),
                3 => bad[at] = b'9',
                4 => bad[at] = rng.below(256) as u8,
                _ => bad[at] ^= 1 << rng.below(8),
            }
            write(&path, &bad);
            read_everything(&db);
        }
        write(&path, &bytes);
    }
    assert_eq!(read_everything(&db), sound);
}

#[test]
fn damage_to_logical_addressing() {
    spoil(&Shape::new("1.10").shard(4).pack(Packing::Half), 5, 12);
}

#[test]
fn damage_to_physical_addressing() {
    spoil(&Shape::new("1.8").shard(4).pack(Packing::Half), 6, 12);
}

#[test]
fn damage_to_the_oldest_format() {
    spoil(&Shape::new("1.1"), 7, 6);
}

/// What fills the last page of an index up says that it is an item, with good checksums.
#[test]
fn an_item_behind_all_items() {
    let repo = Repository::random(&Shape::new("1.10").shard(4), 5, 3);
    let db = repo.path().join("db");
    let path = db.join("revs/0/2");
    let mut bytes = std::fs::read(&path).unwrap();
    let mut footer = Footer::parse(&bytes, bytes.len() as u64, Revnum(2)).unwrap();
    let (p2l, end) = (footer.p2l_offset as usize, footer.footer_offset as usize);
    // Its type and number are the difference to those of the last item.
    bytes[end - 3] = 0;
    footer.p2l_md5 = Md5::of(&bytes[p2l..end]);
    bytes.truncate(end);
    footer.write(&mut bytes);
    write(&path, &bytes);
    let error = answer(&db).unwrap_err();
    assert!(error.contains("does not match p2l index value LOG r2:i"), "{error}");
    assert!(error.ends_with(&format!(" for PHYS {}", footer.l2p_offset)), "{error}");
}

/// Indexes that end too early.
#[test]
fn indexes_that_do_not_fit() {
    let repo = Repository::random(&Shape::new("1.10").shard(4), 5, 3);
    let db = repo.path().join("db");
    let path = db.join("revs/0/2");
    let bytes = std::fs::read(&path).unwrap();
    let footer = Footer::parse(&bytes, bytes.len() as u64, Revnum(2)).unwrap();
    let (p2l, end) = (footer.p2l_offset as usize, footer.footer_offset as usize);
    let spoiled = |change: &dyn Fn(&mut [u8])| {
        let (mut bad, mut footer) = (bytes[..end].to_vec(), footer);
        change(&mut bad);
        footer.l2p_md5 = Md5::of(&bad[footer.l2p_offset as usize..p2l]);
        footer.p2l_md5 = Md5::of(&bad[p2l..]);
        footer.write(&mut bad);
        write(&path, &bad);
        answer(&db).unwrap_err()
    };
    // All that is left of the stream is the beginning of a number.
    let error = spoiled(&|bad| bad[end - 4..].fill(0x80));
    assert!(error.starts_with("E160004: Unexpected end of index file "), "{error}");
    assert!(error.ends_with(&format!("/db/revs/0/2 at offset 0x{end:x}")), "{error}");
    let error = spoiled(&|bad| bad[p2l - 1] = 0x80);
    assert!(error.ends_with(": L2P actual page size does not match page table value."), "{error}");
}

#[test]
#[ignore = "takes minutes"]
fn much_damage_to_every_shape() {
    for (at, shape) in Shape::few().iter().enumerate() {
        spoil(shape, 100 + at as u64, 100);
    }
}

/// Everything that one revision is asked for, each through caches of its own.
fn ask(db: &Path, revision: Revnum) -> Vec<(&'static str, Option<sapwood_core::SvnError>)> {
    let open = || Filesystem::open(db, &Caches::new(8 << 20), &OpenOptions::default()).unwrap();
    let failed = |result: sapwood_fsfs::Result<()>| result.err().map(sapwood_core::SvnError::from);
    let cancel = CancelToken::new();
    vec![
        ("its root", failed(open().revision_root(revision).map(|_| ()))),
        ("its changed paths", failed(open().changed_paths(revision).map(|_| ()))),
        ("verify", failed(open().verify_revision(revision, &cancel))),
        (
            "its changed paths after a log read ahead",
            failed((|| {
                let fs = open();
                let wanted = sapwood_fsfs::read_ahead::LogNeeds { changes: true, revprops: false };
                let mut ahead = fs.prefetch_revisions(Revnum(1), revision, wanted, None);
                for n in 1..=revision.0 {
                    ahead.at(n - 1);
                    fs.changed_paths(Revnum(n))?;
                }
                fs.changed_paths(revision).map(|_| ())
            })()),
        ),
    ]
}

/// A file of revisions in the place of another one is noticed, whatever is asked for.
#[test]
fn files_in_the_wrong_place() {
    let packed = |version| Shape { packing: Packing::All, ..Shape::new(version).shard(4) };
    let shapes = [
        Shape::new("1.3"),
        Shape::new("1.6").shard(7),
        Shape::new("1.8").shard(1000),
        packed("1.6"),
        packed("1.8"),
        Shape::new("1.10").shard(1000),
        packed("1.10"),
    ];
    for shape in shapes {
        let repo = Repository::random(&shape, 11, 40);
        let db = repo.path().join("db");
        let is_packed = matches!(shape.packing, Packing::All);
        let shard = |n: u64| match shape.layout {
            sapwood_testkit::repository::Layout::Sharded(size) => {
                format!("{}/", n / u64::from(size))
            }
            _ => String::new(),
        };
        let (from, to) = if is_packed {
            ("revs/0.pack/pack".to_owned(), "revs/2.pack/pack".to_owned())
        } else {
            (format!("revs/{}2", shard(2)), format!("revs/{}9", shard(9)))
        };
        let target = db.join(&to);
        let _ = std::fs::remove_file(&target);
        std::fs::copy(db.join(&from), &target).unwrap();
        if is_packed && db.join("revs/0.pack/manifest").exists() {
            std::fs::copy(db.join("revs/0.pack/manifest"), db.join("revs/2.pack/manifest"))
                .unwrap();
        }
        for (what, error) in ask(&db, Revnum(9)) {
            let error = error.unwrap_or_else(|| panic!("{}: {what} is believed", repo.name()));
            let codes: Vec<String> = error.chain().map(|e| e.code().to_string()).collect();
            let known = ["E160004", "E160053", "E160054"];
            assert!(
                codes.iter().any(|code| known.contains(&code.as_str())),
                "{}: {what}: {codes:?} {error}",
                repo.name()
            );
        }
    }
}

/// A list of changed paths that begins in the wrong place is not taken for an empty one.
#[test]
fn an_empty_list_only_where_the_last_line_says_so() {
    for version in ["1.3", "1.6", "1.8"] {
        let shape = Shape::new(version);
        let shape = if version == "1.3" { shape } else { shape.shard(1000) };
        let repo = Repository::random(&shape, 11, 40);
        let db = repo.path().join("db");
        let mut tried = 0;
        for number in 1..12 {
            let names = [format!("revs/0/{number}"), format!("revs/{number}")];
            let file = names.iter().map(|name| db.join(name)).find(|file| file.is_file()).unwrap();
            let bytes = std::fs::read(&file).unwrap();
            let body = &bytes[..bytes.len() - 1];
            let line = body.iter().rposition(|b| *b == b'\n').unwrap() + 1;
            let last = String::from_utf8(body[line..].to_vec()).unwrap();
            let (root, changes) = last.split_once(' ').unwrap();
            let right: usize = changes.parse().unwrap();
            let empty = |at: &usize| *at != right && bytes[at - 1] == b'\n' && bytes[*at] == b'\n';
            for at in (1..line).filter(empty) {
                let mut damaged = bytes[..line].to_vec();
                damaged.extend(format!("{root} {at}\n").bytes());
                write(&file, &damaged);
                for (what, error) in ask(&db, Revnum(number)) {
                    let failed = error.is_some() || what == "its root";
                    assert!(failed, "{version}, r{number} at {at}: {what} is believed");
                }
                tried += 1;
            }
            write(&file, &bytes);
        }
        assert!(tried > 10, "{version}: {tried} empty lines");
    }
}
