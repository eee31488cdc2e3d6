//! How much there is of everything, and the repositories that have so much of it.
//!
//! All kinds of things grow together: what is more than linear in one of them is more than linear in
//! the whole. With `SAPWOOD_LONG=1` each kind grows by itself, too, which also says where the fault is.

use std::fmt::Write as _;

use sapwood_testkit::counted::{Cost, Order, within};

use crate::growth::made::{Made, Stream};

/// So many of each kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Files in the directory `d`.
    pub(crate) entries: u64,
    /// Properties of revision 1, of the directory `p` and of the file `p/f`.
    pub(crate) properties: u64,
    /// Lines of mergeinfo of the directory `m`.
    pub(crate) sources: u64,
    /// Revisions that change the file `e/f`.
    pub(crate) revisions: u64,
}

impl Size {
    pub(crate) const NONE: Self = Self { entries: 1, properties: 0, sources: 0, revisions: 0 };

    /// Few: more in long runs.
    fn few() -> Self {
        let scale = if sapwood_testkit::long() { 6 } else { 1 };
        Self {
            entries: 30 * scale,
            properties: 30 * scale,
            sources: 30 * scale,
            revisions: 20 * scale.min(3),
        }
    }

    /// What is compared with [`Self::few`]: four times as much of everything; in long runs also of each
    /// kind by itself.
    fn more() -> Vec<(&'static str, Self)> {
        let few = Self::few();
        let [entries, properties, sources, revisions] =
            [few.entries, few.properties, few.sources, few.revisions].map(|n| n * 4);
        let mut all = vec![("", Self { entries, properties, sources, revisions })];
        if sapwood_testkit::long() {
            all.push((", entries", Self { entries, ..few }));
            all.push((", properties", Self { properties, ..few }));
            all.push((", sources", Self { sources, ..few }));
            all.push((", revisions", Self { revisions, ..few }));
        }
        all
    }
}

/// The stream of a repository with so much of everything. Nothing but `d` has many entries, and
/// nothing but `e/f` many revisions: so nothing has a reason to cost entries times revisions.
///
/// Revision 1 adds all, 2 sets properties, the next change `e/f`; the last but one copies `e` to `c`,
/// the last deletes `e`.
pub(crate) fn everything(size: Size) -> Stream {
    let names: Vec<String> = (0..size.properties).map(|n| format!("name{n:06}")).collect();
    let properties = || names.iter().map(|name| (name.as_str(), "value"));
    let mut stream = Stream::new();
    stream.revision(properties());
    for dir in ["d", "e", "m", "p"] {
        stream.add_dir(dir);
    }
    for number in 0..size.entries {
        stream.add_file(&format!("d/file{number:06}"), &format!("text {number}\n"));
    }
    stream.add_file("e/f", "begin\n");
    stream.add_file("p/f", "text\n");
    stream.revision([]);
    stream.set_props("p", "dir", properties());
    stream.set_props("p/f", "file", properties());
    let mut info = String::new();
    for number in 0..size.sources {
        writeln!(info, "/d{number}:1").unwrap();
    }
    stream.set_props("m", "dir", [("svn:mergeinfo", info.as_str())]);
    for number in 0..size.revisions {
        stream.revision([]);
        stream.change_file("e/f", &format!("text {number}\n"));
    }
    stream.revision([]);
    stream.copy_dir("e", size.revisions + 2, "c");
    stream.revision([]);
    stream.delete("e");
    stream
}

/// A directory `d` with `n` files.
pub(crate) fn flat(n: u64) -> Made {
    let mut stream = Stream::new();
    stream.revision([]);
    stream.add_dir("d");
    for number in 0..n {
        stream.add_file(&format!("d/file{number:06}"), &format!("text {number}\n"));
    }
    stream.load()
}

/// Both at once: with little (`false`), and with four times as much.
pub(crate) fn both<T: Send>(work: impl Fn(bool) -> T + Sync) -> (T, T) {
    std::thread::scope(|scope| {
        let many = scope.spawn(|| work(true));
        (work(false), many.join().unwrap())
    })
}

/// Counts what is done with little and with four times as much of everything; `base` is what comes
/// with every run.
pub(crate) fn by_size(what: &str, order: Order, base: Cost, cost: impl Fn(Size) -> Cost + Sync) {
    for (kind, more) in Size::more() {
        let (few, many) = both(|four| cost(if four { more } else { Size::few() }).less(base));
        println!("{what}{kind}: {few:?}, four times as many: {many:?}, without {base:?}");
        within(&format!("{what}{kind}"), order, few, many);
    }
}
