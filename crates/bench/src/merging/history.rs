//! The branches, as a dump of version 2: a trunk `T` of files in directories of twenty, and its branch `B`.
//! Revisions change the files one after the other, in turns of equal size. For a catch-up and a cherry pick the
//! trunk goes on; at the end some nodes of the branch get what the trunk has of them, with mergeinfo. To be
//! merged back, the branch goes on instead, after it was brought up to date once.

use std::io::{self, Write};

use sapwood_core::Exact as _;

/// How large the branches are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Files of the trunk.
    pub files: u64,
    /// Revisions that change them; each file is changed at least once.
    pub revisions: u64,
}

impl Size {
    /// Tree conflicts to resolve.
    pub(super) const fn conflicts(self) -> u64 {
        if self.files < 20 { 1 } else { self.files / 20 }
    }

    /// Files that a patch changes.
    pub(super) fn patched(self) -> u64 {
        self.files.times(5) / 2
    }

    /// Nodes of a working copy to upgrade.
    pub(super) fn upgraded(self) -> u64 {
        self.files.times(20)
    }
}

/// Files of a directory.
pub(super) const IN_DIRECTORY: u64 = 20;
/// Lines of a file.
const LINES: u64 = 40;

/// A file's path within its branch.
pub(super) fn path(file: u64) -> String {
    format!("d{}/f{file}", file / IN_DIRECTORY)
}

/// The text of a file that was changed by a revision (or by none).
pub(super) fn text(file: u64, changed: Option<u64>) -> String {
    let mut text = String::new();
    let place = file.checked_rem(LINES).unwrap_or(0);
    for line in 0..LINES {
        text.push_str(&format!("file {file}, line {line}"));
        if let Some(revision) = changed.filter(|_| line == place) {
            text.push_str(&format!(", changed in r{revision}"));
        }
        text.push('\n');
    }
    text
}

/// A dump under way.
struct Dump<'d> {
    out: &'d mut dyn Write,
    next: u64,
}

fn props(list: &[(&str, &str)]) -> String {
    let mut all = String::new();
    for (name, value) in list {
        all.push_str(&format!("K {}\n{name}\nV {}\n{value}\n", name.len(), value.len()));
    }
    all + "PROPS-END\n"
}

impl Dump<'_> {
    fn begin(&mut self) -> io::Result<u64> {
        let revision = self.next;
        self.next = self.next.plus(1);
        let props = props(&[
            ("svn:log", "bench"),
            ("svn:author", "bench"),
            ("svn:date", "2026-01-01T00:00:00.000000Z"),
        ]);
        let len = props.len();
        write!(
            self.out,
            "Revision-number: {revision}\nProp-content-length: {len}\nContent-length: {len}\n\n{props}\n"
        )?;
        Ok(revision)
    }

    fn directory(&mut self, path: &str) -> io::Result<()> {
        writeln!(self.out, "Node-path: {path}\nNode-kind: dir\nNode-action: add\n\n")
    }

    fn copy(&mut self, from: &str, revision: u64, to: &str) -> io::Result<()> {
        writeln!(
            self.out,
            "Node-path: {to}\nNode-kind: dir\nNode-action: add\nNode-copyfrom-rev: {revision}\n\
             Node-copyfrom-path: {from}\n\n"
        )
    }

    fn file(
        &mut self,
        path: &str,
        action: &str,
        text: &str,
        mergeinfo: Option<&str>,
    ) -> io::Result<()> {
        let props = mergeinfo.map_or_else(String::new, |value| props(&[("svn:mergeinfo", value)]));
        let (with, all) = (props.len(), props.len().plus(text.len()));
        write!(self.out, "Node-path: {path}\nNode-kind: file\nNode-action: {action}\n")?;
        if mergeinfo.is_some() {
            writeln!(self.out, "Prop-content-length: {with}")?;
        }
        write!(
            self.out,
            "Text-content-length: {}\nContent-length: {all}\n\n{props}{text}\n\n",
            text.len()
        )
    }

    fn directory_mergeinfo(&mut self, path: &str, value: &str) -> io::Result<()> {
        let props = props(&[("svn:mergeinfo", value)]);
        let len = props.len();
        write!(
            self.out,
            "Node-path: {path}\nNode-kind: dir\nNode-action: change\nProp-content-length: {len}\n\
             Content-length: {len}\n\n{props}\n\n"
        )
    }

    /// The branch brought up to date once, with a change that both have.
    fn up_to_date(&mut self, chosen: impl Iterator<Item = u64>) -> io::Result<()> {
        self.begin()?;
        self.file("T/new", "add", "new\n", None)?;
        self.begin()?;
        self.file("B/new", "add", "new\n", None)?;
        self.directory_mergeinfo("B", "/T:2-3")?;
        for file in chosen {
            let path = path(file);
            let value = format!("/T/{path}:2-3");
            self.file(&format!("B/{path}"), "change", &text(file, None), Some(&value))?;
        }
        Ok(())
    }
}

/// Whether a file is among the `subtrees` files with mergeinfo of their own, spread over all files.
fn is_chosen(file: u64, files: u64, subtrees: u64) -> bool {
    match (file.times(subtrees).checked_div(files), file.checked_sub(1)) {
        (Some(place), Some(before)) => match before.times(subtrees).checked_div(files) {
            Some(other) => place != other,
            None => false,
        },
        (Some(_), None) => subtrees > 0,
        (None, _) => false,
    }
}

/// Writes the dump. With `back`, the branch is to be merged into the trunk, else the trunk into the branch.
///
/// # Errors
/// Those of `out`.
pub(super) fn dump(out: &mut dyn Write, size: Size, subtrees: u64, back: bool) -> io::Result<()> {
    let Size { files, revisions } = size;
    out.write_all(b"SVN-fs-dump-format-version: 2\n\n")?;
    let mut dump = Dump { out, next: 1 };
    dump.begin()?;
    dump.directory("T")?;
    for file in 0..files {
        if file.is_multiple_of(IN_DIRECTORY) {
            dump.directory(&format!("T/d{}", file / IN_DIRECTORY))?;
        }
        dump.file(&format!("T/{}", path(file)), "add", &text(file, None), None)?;
    }
    dump.begin()?;
    dump.copy("T", 1, "B")?;
    let chosen = |file: &u64| is_chosen(*file, files, subtrees);
    if back {
        dump.up_to_date((0..files).filter(chosen))?;
    }
    let branch = if back { "B" } else { "T" };
    let mut changed = vec![None; usize::try_from(files).unwrap_or(0)];
    let mut file = 0;
    for turn in 1..=revisions {
        let revision = dump.begin()?;
        let end = files.times(turn).checked_div(revisions).unwrap_or(files).max(file.min(files));
        let end = if end == file { file.plus(1) } else { end };
        while file < end {
            let one = file.checked_rem(files).unwrap_or(0);
            dump.file(
                &format!("{branch}/{}", path(one)),
                "change",
                &text(one, Some(revision)),
                None,
            )?;
            if let Some(place) = usize::try_from(one).ok().and_then(|at| changed.get_mut(at)) {
                *place = Some(revision);
            }
            file = file.plus(1);
        }
    }
    if !back && subtrees > 0 {
        dump.begin()?;
        for file in (0..files).filter(chosen) {
            let known = usize::try_from(file).ok().and_then(|at| changed.get(at)).copied();
            let Some(revision) = known.flatten() else { continue };
            let path = path(file);
            let value = format!("/T/{path}:{revision}");
            dump.file(&format!("B/{path}"), "change", &text(file, Some(revision)), Some(&value))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wanted_number_of_nodes_has_mergeinfo() {
        for (files, subtrees) in [(2000, 1), (2000, 100), (2000, 1000), (7, 3), (5, 5), (3, 0)] {
            let found = (0..files).filter(|file| is_chosen(*file, files, subtrees)).count();
            assert_eq!(u64::try_from(found).unwrap(), subtrees, "{files} {subtrees}");
        }
    }

    #[test]
    fn each_file_is_changed() {
        let mut out = Vec::new();
        dump(&mut out, Size { files: 50, revisions: 9 }, 4, false).unwrap();
        let text = String::from_utf8(out).unwrap();
        let count = |what: &str| text.matches(what).count();
        assert_eq!(count("Node-path: T/d"), 3 + 50 + 50);
        assert_eq!(count("Revision-number: "), 2 + 9 + 1);
        assert_eq!(count("svn:mergeinfo"), 4);
    }
}
