//! Seeded random histories: small trees through which every kind of change runs, in an order that
//! no author of tests would write down.
//!
//! Invariant: a history depends on its seed and length only.

use crate::history::{History, Txn};
use crate::rng::Rng;

/// Names that get in the way of careless code.
const NAMES: [&str; 16] = [
    "a",
    "b",
    "file.txt",
    "Makefile",
    "with space",
    "100%",
    "%41",
    "\u{e4}\u{f6}\u{fc}",
    "x+y",
    "#",
    "a&b",
    "very-long-name-that-goes-on-and-on-and-on-and-on",
    "\u{65e5}",
    "quote'",
    "at@",
    "~",
];

/// The history for a seed, of `revisions` revisions beyond the first two.
#[must_use]
pub fn history(seed: u64, revisions: usize) -> History {
    with(format!("random-{seed}-{revisions}"), seed, revisions, change)
}

/// The same with many changes that write again what is there: texts, properties, both, also of copies. In FSFS they are
/// changes, in FSX they are not.
#[must_use]
pub fn repeating(seed: u64, revisions: usize) -> History {
    with(format!("repeating-{seed}-{revisions}"), seed, revisions, |t, rng| match rng.below(2) {
        0 => change(t, rng),
        _ => write_again(t, rng),
    })
}

/// A history made of what `change` does.
fn with(
    name: String,
    seed: u64,
    revisions: usize,
    change: impl Fn(&mut Txn<'_>, &mut Rng),
) -> History {
    let mut h = History::new(name);
    let mut rng = Rng::new(seed);
    let mut t = h.begin("root", "layout");
    t.mkdir("trunk").mkdir("branches").mkdir("tags");
    t.commit();
    let mut t = h.begin("root", "first files");
    for n in 0..6 {
        let count = rng.below(40) + 1;
        t.add(&format!("trunk/f{n}"), rng.lines(count));
    }
    t.commit();
    for _ in 0..revisions {
        let author = *rng.pick(&["alice", "bob", "carol", "d\u{e4}ve"]);
        let log = String::from_utf8_lossy(&rng.lines(1)).into_owned();
        let mut t = h.begin(author, log.trim_end());
        for _ in 0..[0, 1, 1, 1, 2, 3, 5][rng.below(7)] {
            change(&mut t, &mut rng);
        }
        if rng.chance(10) {
            let len = rng.below(60);
            t.revprop("noise", rng.bytes(len));
        }
        t.commit();
    }
    h
}

/// One random change. Paths touched in a revision may be touched again in it.
fn change(t: &mut Txn<'_>, rng: &mut Rng) {
    let files = t.root().files();
    let dirs: Vec<String> = t.root().dirs().into_iter().filter(|d| !d.is_empty()).collect();
    let (file, dir) = (rng.pick(&files).clone(), rng.pick(&dirs).clone());
    let fresh = |t: &Txn<'_>, rng: &mut Rng| {
        let name = *rng.pick(&NAMES);
        let path = format!("{dir}/{name}");
        let taken = t.root().get(&path).is_some();
        if taken { format!("{path}.{}", t.number()) } else { path }
    };
    match rng.below(100) {
        0..40 => {
            t.edit_with(&file, |old| rng.change_lines(old));
        }
        40..52 => {
            let path = fresh(t, rng);
            if t.root().get(&path).is_none() {
                let count = rng.below(50);
                let text = if rng.chance(20) { rng.bytes(count * 40) } else { rng.lines(count) };
                t.add(&path, text);
            }
        }
        52..57 => {
            let path = fresh(t, rng);
            if t.root().get(&path).is_none() {
                t.mkdir(&path);
            }
        }
        57..67 => {
            let name = *rng.pick(&["p", "q", "svn:keywords", "svn:eol-style", "longer-name"]);
            let target = if rng.chance(60) { &file } else { &dir };
            let value = match name {
                "svn:eol-style" => b"native".to_vec(),
                "svn:keywords" => b"Id".to_vec(),
                _ => rng.lines(1),
            };
            let target = if name.starts_with("svn:") { &file } else { target };
            let remove = rng.chance(25);
            if remove && t.root().get(target).is_none_or(|n| !n.props.contains_key(name)) {
                return;
            }
            t.propset(target, name, (!remove).then_some(&value));
        }
        67..75 if files.len() > 6 => {
            t.delete(&file);
        }
        75..78 if dirs.len() > 6 && dir.contains('/') && keeps_files(t, &dir) => {
            t.delete(&dir);
        }
        78..86 => copy_something(t, rng, &dir),
        86..90 => {
            let path = fresh(t, rng);
            let known = t.history().head().get(&file).is_some();
            if known && t.root().get(&path).is_none() {
                t.rename(&file, &path);
            }
        }
        90..93 => {
            let branch = format!("branches/r{}", t.number());
            let youngest = t.number() - 1;
            let source = youngest - rng.below(youngest.min(3));
            let root = t.history().revision(source).root.clone();
            let possible = t.root().get(&branch).is_none()
                && t.root().get("branches").is_some()
                && root.get("trunk").is_some()
                && root.walk().len() < 150;
            if possible {
                t.copy("trunk", source, &branch);
                if rng.chance(50) {
                    let value = format!("/trunk:{}", range(source.min(2), source));
                    t.propset(&branch, "svn:mergeinfo", Some(value.as_bytes()));
                }
            }
        }
        93..96 => {
            t.delete(&file).add(&file, rng.lines(5));
        }
        _ => {
            let (count, at) = (rng.below(9), rng.below(t.number()));
            let value = format!("/branches/x:{}", range(at + 1, at + 1 + count));
            t.propset("trunk", "svn:mergeinfo", Some(value.as_bytes()));
        }
    }
}

/// Writes the text or a property of a node again as it is, or of a copy of it.
fn write_again(t: &mut Txn<'_>, rng: &mut Rng) {
    let paths: Vec<String> = t.root().walk().into_iter().map(|(path, _)| path).collect();
    let mut path = rng.pick(&paths).clone();
    if rng.chance(30) && t.root().get(&path).is_some_and(|node| node.text().is_some()) {
        let copy = format!("trunk/again.{}", t.number());
        let source = t.number() - 1;
        let is_there = t.history().head().get(&path).is_some();
        if is_there && t.root().get("trunk").is_some() && t.root().get(&copy).is_none() {
            t.copy(&path, source, &copy);
            path = copy;
        }
    }
    let Some(node) = t.root().get(&path).cloned() else { return };
    let (edits, sets) = *rng.pick(&[(true, false), (false, true), (true, true)]);
    if edits && node.text().is_some() {
        t.edit_with(&path, <[u8]>::to_vec);
    }
    if sets {
        match node.props.first_key_value() {
            Some((name, value)) => t.propset(&path, name, Some(value)),
            None => t.propset(&path, "again", Some(b"1\n")),
        };
    }
}

/// A range in mergeinfo.
fn range(first: usize, last: usize) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

/// Whether enough is left when a folder goes.
fn keeps_files(t: &Txn<'_>, dir: &str) -> bool {
    let within = t.root().get(dir).map_or(0, |d| d.files().len());
    t.root().files().len() > within + 3 && within < 20
}

/// Copies a file or a small folder from any revision, sometimes over what is there.
fn copy_something(t: &mut Txn<'_>, rng: &mut Rng, dir: &str) {
    let source = rng.below(t.number() - 1) + 1;
    let root = t.history().revision(source).root.clone();
    let all = root.walk();
    let (path, node) = rng.pick(&all);
    if path.is_empty() || node.walk().len() > 20 {
        return;
    }
    let target = format!("{dir}/copy of {}", rng.pick(&NAMES));
    t.copy(path, source, &target);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_history() {
        let (one, two) = (history(7, 60), history(7, 60));
        assert_eq!(one.dump(0..=62), two.dump(0..=62));
        assert_ne!(one.dump(0..=62), history(8, 60).dump(0..=62));
        assert_eq!(one.youngest(), 62);
        let dump = one.dump(0..=62);
        for wanted in ["Node-copyfrom-rev", "Node-action: delete", "Node-action: change"] {
            assert!(String::from_utf8_lossy(&dump).contains(wanted), "no {wanted}");
        }
    }
}
