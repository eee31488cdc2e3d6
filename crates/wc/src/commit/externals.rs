//! Externals that a commit of a directory takes along when it is asked to.

use sapwood_core::Depth;
use sapwood_core::paths::RelPath;

use crate::db::Kind;
use crate::error::Result;
use crate::root::WorkingCopy;

/// An external that can be committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committable {
    /// Where it is on disk.
    pub abspath: std::path::PathBuf,
    /// A file, or a directory, which is a working copy of its own.
    pub kind: Kind,
}

/// As [`WorkingCopy::committable_externals`].
pub(crate) fn committable_externals(
    wc: &WorkingCopy,
    relpath: &RelPath,
    depth: Depth,
) -> Result<Vec<Committable>> {
    let root = wc.db().base(RelPath::ROOT)?.and_then(|row| row.repos_id);
    let mut found = Vec::new();
    for row in wc.db().externals(relpath)? {
        let immediate = row.relpath.parent() == relpath;
        let deep_enough = match depth {
            Depth::Files => immediate && row.kind == Kind::File,
            Depth::Immediates => immediate,
            _ => true,
        };
        if row.relpath == relpath || row.def_revision.is_some() || !deep_enough {
            continue;
        }
        if Some(row.repos_id) != root {
            continue;
        }
        let abspath = wc.abspath(&row.relpath);
        if row.kind == Kind::Dir {
            if !abspath.is_dir() {
                continue;
            }
            found.push(Committable { abspath: abspath.clone(), kind: row.kind });
            if matches!(depth, Depth::Infinity | Depth::Unknown)
                && let Ok((inner, at)) = WorkingCopy::find(&abspath, wc.options().clone())
                && at.is_empty()
            {
                found.extend(inner.committable_externals(RelPath::ROOT, depth)?);
            }
        } else {
            found.push(Committable { abspath, kind: row.kind });
        }
    }
    Ok(found)
}
