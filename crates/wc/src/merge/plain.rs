//! Merging a change of a text into a plain file that has exactly the old text: it gets the new one.
//!
//! The database does not change, so no work item is needed: the file has one text or the other at every
//! moment.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use sapwood_core::exact::Exact;
use sapwood_core::{Md5, PropList};

use super::NodeOnDisk;
use crate::conflict::TextOutcome;
use crate::db::{Db, Kind};
use crate::error::{Error, Result};
use crate::files::{self, Form};
use crate::layout;
use crate::props::rules::sets_flags;
use crate::root::Disk;
use crate::translate::Translation;
use crate::view::{Status, View};

/// A text of the store.
#[derive(Clone, Debug)]
pub struct Pristine {
    /// Its file.
    pub path: PathBuf,
    /// All of it, if it is short.
    pub text: Option<Vec<u8>>,
}

/// All of a file that should have so many bytes; `None` when it has another number.
fn read_exactly(path: &Path, size: u64) -> io::Result<Option<Vec<u8>>> {
    let Ok(size) = usize::try_from(size) else { return Ok(None) };
    // One more byte shows the end of the file without another call.
    let mut text = vec![0; size.plus(1)];
    let mut file = File::open(path)?;
    let mut have = 0;
    loop {
        let Some(rest) = text.get_mut(have..).filter(|rest| !rest.is_empty()) else {
            return Ok(None);
        };
        let room = rest.len();
        match file.read(rest) {
            Ok(0) => break,
            Ok(count) => {
                have = have.plus(count);
                if count < room && have == size {
                    break;
                }
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    text.truncate(have);
    Ok((have == size).then_some(text))
}

/// Whether a working file is its text as it is, with the flags that files have.
fn is_as_it_is(props: &PropList) -> bool {
    let how = Translation::of(props, None);
    !how.special && !how.is_needed() && !sets_flags(props)
}

/// As [`WorkingCopy::pristine_like`](crate::WorkingCopy::pristine_like).
pub(crate) fn pristine_like(
    db: &Db,
    disk: &Disk,
    view: &View,
    sum: &Md5,
    limit: u64,
) -> Result<Option<Pristine>> {
    let Some(sha1) = view.pristine_row().and_then(|row| row.checksum) else {
        return Ok(None);
    };
    let row = db.pristine(&sha1)?.filter(|row| row.md5 == *sum && row.hydrated);
    let Some(row) = row else { return Ok(None) };
    let path = layout::pristine(disk.root(), &sha1);
    if row.size > limit {
        return Ok(path.exists().then_some(Pristine { path, text: None }));
    }
    match read_exactly(&path, row.size) {
        Ok(text) => Ok(Some(Pristine { path, text })),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io(e, "Can't read file", &path)),
    }
}

/// As [`WorkingCopy::merge_plain`](crate::WorkingCopy::merge_plain).
pub(crate) fn merge_plain(
    disk: &Disk,
    seen: &NodeOnDisk,
    old: &[u8],
    new: &[u8],
    dry_run: bool,
) -> Result<Option<TextOutcome>> {
    let view = &seen.view;
    let there = matches!(view.status(), Status::Normal | Status::Added);
    if !seen.plain || !there || view.top().kind != Kind::File || view.conflict_data().is_some() {
        return Ok(None);
    }
    let simple = is_as_it_is(&view.pristine_props()?)
        && (!view.props_modified() || is_as_it_is(&view.props()?));
    if !simple {
        return Ok(None);
    }
    let path = disk.abspath(view.relpath());
    let Ok(size) = u64::try_from(old.len()) else { return Ok(None) };
    // If the file cannot be read, the full merge reports the error.
    let Ok(Some(mine)) = read_exactly(&path, size) else { return Ok(None) };
    if mine != old {
        return Ok(None);
    }
    if old == new {
        return Ok(Some(TextOutcome::Unchanged));
    }
    if !dry_run {
        files::replace_whole(&path, &disk.temporary(), new, &Form::default())?;
    }
    Ok(Some(TextOutcome::Merged))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::fs;

    use sapwood_core::paths::RelPath;

    use super::*;
    use crate::Options;
    use crate::WorkingCopy;
    use crate::db::{NodeRow, Presence};

    #[test]
    fn a_file_is_read_if_it_has_the_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        for text in [&b""[..], b"x", b"text"] {
            fs::write(&path, text).unwrap();
            for size in 0..7 {
                let want = (usize::try_from(size).unwrap() == text.len()).then(|| text.to_vec());
                assert_eq!(read_exactly(&path, size).unwrap(), want, "{size}");
            }
        }
    }

    #[test]
    fn only_a_file_with_the_old_text_gets_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let wc = WorkingCopy::create(folder.path(), Options::default()).unwrap();
        let repos = wc.db().repository_id("file:///r", "uuid").unwrap();
        let put = |path: &str, kind, props: &[u8]| {
            let mut row = NodeRow::new(RelPath::trusted(path), 0, Presence::Normal, kind);
            row.repos_id = Some(repos);
            row.repos_path = Some(RelPath::trusted(path).to_owned());
            row.properties = Some(props.to_vec());
            wc.db().put_node(&row).unwrap();
        };
        put("", Kind::Dir, b"()");
        let file = folder.path().join("f");
        let merged = |props: &[u8], mine: &str, dry_run| {
            put("f", Kind::File, props);
            fs::write(&file, mine).unwrap();
            let (_, seen) = wc.obstruction(RelPath::trusted("f"), false).unwrap();
            let found = wc.merge_plain(&seen.unwrap(), b"old", b"new", dry_run).unwrap();
            (found, fs::read_to_string(&file).unwrap())
        };
        let some = |text: &str| (Some(TextOutcome::Merged), text.to_owned());
        let none = |text: &str| (None, text.to_owned());
        assert_eq!(merged(b"()", "old", false), some("new"));
        assert_eq!(merged(b"()", "old", true), some("old"));
        assert_eq!(merged(b"()", "ours", false), none("ours"));
        assert_eq!(merged(b"()", "our", false), none("our"));
        for name in ["svn:keywords", "svn:eol-style", "svn:executable", "svn:needs-lock"] {
            let props = format!("({} {name} 2 Id)", name.len());
            assert_eq!(merged(props.as_bytes(), "old", false), none("old"), "{name}");
        }
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("g", &file).unwrap();
        fs::write(folder.path().join("g"), "old").unwrap();
        let (_, seen) = wc.obstruction(RelPath::trusted("f"), false).unwrap();
        assert_eq!(wc.merge_plain(&seen.unwrap(), b"old", b"new", false).unwrap(), None);
    }
}
