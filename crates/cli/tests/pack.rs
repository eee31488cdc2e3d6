//! `svnadmin pack`, ours and the reference's, on the same repositories: the same words, the same
//! files, byte for byte.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::Both;
use sapwood_core::Revnum;
use sapwood_testkit::compare::assert_same;
use sapwood_testkit::{Repository, Shape, library};

/// All files below `db`, with their permissions; compressed revision properties expanded, because
/// no two zlibs compress alike.
fn files(repository: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut all = BTreeMap::new();
    let mut todo = vec![repository.join("db")];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let mode = std::fs::symlink_metadata(&path).unwrap().permissions().mode();
            let name = path.strip_prefix(repository).unwrap().to_str().unwrap().to_owned();
            let is_revprops = name.contains(".pack/") && name.starts_with("db/revprops");
            let bytes = if path.is_dir() {
                todo.push(path);
                Vec::new()
            } else if is_revprops && !name.ends_with("/manifest") {
                let pack = std::fs::read(&path).unwrap();
                let pack = sapwood_fsfs_format::revprops::RevpropPack::parse(&pack).unwrap();
                let first = pack.first_revision().0;
                let count = u64::try_from(pack.len()).unwrap();
                let dumps = (first..first + count).map(|r| pack.get(Revnum(r)).unwrap());
                format!("{pack:?} {:?}", dumps.collect::<Vec<_>>()).into_bytes()
            } else {
                std::fs::read(&path).unwrap()
            };
            if name != "db/pack-lock" {
                all.insert(name, (mode, bytes));
            }
        }
    }
    all
}

fn same(both: &Both, shape: &Shape, history: &Repository, config: Option<&str>) {
    let dir = tempfile::tempdir().unwrap();
    let what = format!("{} {config:?}", shape.name());
    let outputs = ["reference", "ours"].map(|side| {
        let path = dir.path().join(side).join("repository");
        std::fs::create_dir(dir.path().join(side)).unwrap();
        library::copy_tree(&history.path(), &path);
        if let Some(config) = config {
            std::fs::write(path.join("db/fsfs.conf"), config).unwrap();
        }
        let programs = if side == "ours" { &both.ours } else { &both.reference };
        let arg = path.to_str().unwrap().to_owned();
        (programs.run("svnadmin", ["pack", &arg]), path)
    });
    let [(told, reference), (told_ours, ours)] = outputs;
    assert_same(&what, &told, &told_ours);
    let (reference, in_ours) = (files(&reference), files(&ours));
    for (name, file) in &reference {
        assert!(in_ours.get(name) == Some(file), "{what}: {name}");
    }
    assert_eq!(in_ours.len(), reference.len(), "{what}");
    let ours = ours.to_str().unwrap();
    both.reference.run("svnadmin", ["verify", "-q", ours]).expect_success(&what);
    // A second time there is nothing to do.
    let again = both.ours.run("svnadmin", ["pack", ours]);
    let expected = if shape.name().contains("linear") { told.stdout } else { Vec::new() };
    assert_eq!((again.code, again.stdout), (told.code, expected), "{what}");
}

#[test]
fn same_files_as_the_reference() {
    let both = Both::new();
    let all = Shape::all();
    let wanted = |name: &str| match std::env::var_os("SAPWOOD_LONG") {
        Some(_) => true,
        None => matches!(
            name,
            "v1.4"
                | "v1.6-linear"
                | "v1.6-s7"
                | "v1.8-s7"
                | "v1.8-up-s3-half"
                | "v1.10-s7"
                | "v1.9-s7-half-deltify"
        ),
    };
    let mut count = 0;
    for shape in all.iter().filter(|shape| wanted(&shape.name())) {
        same(&both, shape, &Repository::scripted(shape), None);
        count += 1;
    }
    assert!(count >= 7, "{count}");
}

#[test]
fn options_of_the_configuration() {
    let both = Both::new();
    let all = Shape::all();
    let shape = all.iter().find(|shape| shape.name() == "v1.10-s7").unwrap();
    let history = Repository::scripted(shape);
    for config in [
        "[io]\nblock-size = 1\nl2p-page-size = 8\np2l-page-size = 2\n",
        "[io]\nblock-size = 64\n[packed-revprops]\nrevprop-pack-size = 1\n",
        "[packed-revprops]\nrevprop-pack-size = 2\ncompress-packed-revprops = true\n",
        "[deltification]\nmax-linear-deltification = 2\n",
    ] {
        same(&both, shape, &history, Some(config));
    }
}

/// Texts that were replaced in their transaction are left in the revision with nothing that
/// refers to them. The reference's packs are corrupt then (its own verify says so); ours are not.
#[test]
fn what_nothing_refers_to_is_kept() {
    let both = Both::new();
    let all = Shape::all();
    let shape = all.iter().find(|shape| shape.name() == "v1.10-s7").unwrap();
    let history = Repository::random(shape, 1, 60);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("repository");
    library::copy_tree(&history.path(), &path);
    let path = path.to_str().unwrap();
    let dump = |path: &str| both.reference.run("svnadmin", ["dump", "-q", path]).stdout;
    let before = dump(path);
    let packed = both.ours.run("svnadmin", ["pack", "-q", "-M", "1", path]);
    assert_eq!((packed.code, packed.stdout_text()), (0, String::new()));
    for programs in [&both.reference, &both.ours] {
        programs.run("svnadmin", ["verify", "-q", path]).expect_success("verify");
    }
    assert!(dump(path) == before);
}
