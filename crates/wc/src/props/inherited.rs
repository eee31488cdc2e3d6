//! Properties that nodes inherit from directories above them, in the working copy and, as far as
//! they are cached, above its root.

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, ErrorCode, PropList};

use crate::db::{Db, Presence, parent_of, read_inherited};
use crate::error::{Error, Result};
use crate::node::require_view;
use crate::root::{Disk, WorkingCopy};

/// Where inherited properties are set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A directory of the working copy.
    Node(RelPathBuf),
    /// A directory of the repository, above the working copy's root or a switched node.
    Repository(String),
}

/// Properties that a node inherits, and from where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InheritedProps {
    /// From where.
    pub source: Source,
    /// Which.
    pub props: PropList,
}

fn only(props: PropList, name: Option<&str>) -> PropList {
    match name {
        None => props,
        Some(name) => props.get(name).map(|value| (name, value.to_vec())).into_iter().collect(),
    }
}

/// As [`WorkingCopy::with_inherited_props`].
pub(crate) fn with_inherited_props(
    wc: &WorkingCopy,
    relpath: &RelPath,
    depth: Depth,
) -> Result<Vec<RelPathBuf>> {
    let everything = relpath.is_empty() && matches!(depth, Depth::Infinity | Depth::Unknown);
    let Some(even) = everything.then(|| wc.even()).flatten() else {
        return wc.db().with_inherited_props(relpath, depth);
    };
    let mut found = Vec::new();
    for path in std::iter::once(RelPath::ROOT).chain(even.odd.iter().map(RelPathBuf::as_path)) {
        if wc.db().base(path)?.is_some_and(|row| row.inherited_props.is_some()) {
            found.push(path.to_owned());
        }
    }
    Ok(found)
}

/// As [`WorkingCopy::inherited_props`].
pub(crate) fn inherited_props(
    db: &Db,
    disk: &Disk,
    relpath: &RelPath,
    name: Option<&str>,
) -> Result<Vec<InheritedProps>> {
    db.read(|db| {
        let mut found = Vec::new();
        let mut expected: Option<RelPathBuf> = None;
        let mut at = Some(relpath);
        while let Some(dir) = at {
            let view = require_view(db, disk, dir)?;
            let top = view.top();
            if !matches!(top.presence, Presence::Normal | Presence::Incomplete) {
                let shown = disk.abspath(dir);
                return Err(Error::new(
                    ErrorCode::WC_PATH_UNEXPECTED_STATUS,
                    format!("The node '{}' has a status that has no properties.", shown.display()),
                ));
            }
            at = parent_of(dir);
            if top.op_depth == 0 {
                let own = top.base_path()?.to_owned();
                if expected.as_ref().is_some_and(|expected| *expected != own) {
                    // The child is switched: it inherits nothing from here.
                    break;
                }
                expected = Some(own.parent().to_owned());
            }
            if dir != relpath {
                let props = only(view.props()?, name);
                if !props.is_empty() {
                    found.push(InheritedProps { source: Source::Node(dir.to_owned()), props });
                }
            }
            let cached = top.inherited_props.as_deref().filter(|_| top.op_depth == 0);
            if let Some(cached) = cached {
                for (above, props) in read_inherited(cached)?.into_iter().rev() {
                    let props = only(props, name);
                    if !props.is_empty() {
                        found.push(InheritedProps {
                            source: Source::Repository(above.into_string()),
                            props,
                        });
                    }
                }
                break;
            }
        }
        let _ = db;
        found.reverse();
        Ok(found)
    })
}
