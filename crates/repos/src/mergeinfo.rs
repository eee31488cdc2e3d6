//! Mergeinfo of paths: explicit, inherited, and of everything below.

pub(crate) mod changes;

use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::props::names::MERGEINFO;
use sapwood_core::{CancelToken, ErrorCode, Revnum, SvnError, SvnResult, path};
use sapwood_fsfs::Root;

use crate::authorizer::PathAuthorizer;
use crate::error::Result;
use crate::repository::Repository;

/// Where mergeinfo may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inherit {
    /// From the path itself only.
    Explicit,
    /// From the path itself, or else the nearest parent that has any.
    Inherited,
    /// From the nearest parent that has any, not from the path itself.
    NearestAncestor,
}

impl Inherit {
    /// The word on the wire.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Explicit => "explicit",
            Self::Inherited => "inherited",
            Self::NearestAncestor => "nearest-ancestor",
        }
    }

    /// The inverse of [`Inherit::word`].
    #[must_use]
    pub fn from_word(word: &[u8]) -> Option<Self> {
        match word {
            b"explicit" => Some(Self::Explicit),
            b"inherited" => Some(Self::Inherited),
            b"nearest-ancestor" => Some(Self::NearestAncestor),
            _ => None,
        }
    }
}

/// Whose mergeinfo is asked for.
#[derive(Clone, Copy, Debug)]
pub struct MergeinfoRequest<'a> {
    /// Fspaths.
    pub paths: &'a [&'a str],
    /// The revision that they are in; `None`: youngest.
    pub revision: Option<Revnum>,
    /// Where it may come from.
    pub inherit: Inherit,
    /// Whether to tell that of what is below the paths, too.
    pub include_descendants: bool,
}

/// Tells `receiver` the mergeinfo of each of the paths, and of what is below them if asked. Paths without mergeinfo, with malformed
/// mergeinfo, or that may not be read, are not told.
///
/// # Errors
/// E160013 for paths that do not exist; what the receiver returns; corruption and system errors.
pub fn mergeinfo_catalog(
    repository: &Repository,
    request: &MergeinfoRequest<'_>,
    authorizer: &dyn PathAuthorizer,
    cancel: &CancelToken,
    receiver: &mut dyn FnMut(&str, &Mergeinfo) -> SvnResult<()>,
) -> Result<()> {
    let fs = repository.fs();
    let MergeinfoRequest { paths, revision, inherit, include_descendants } = *request;
    let revision = match revision {
        Some(revision) => revision,
        None => fs.youngest()?,
    };
    let root = fs.revision_root(revision)?;
    for path in paths {
        cancel.check()?;
        if !authorizer.readable(path)? {
            continue;
        }
        if let Some(info) = for_path(&root, path, inherit, true)? {
            receiver(path, &info)?;
        }
        if include_descendants {
            root.mergeinfo_below(path, cancel, &mut |place, value| {
                // `path` itself was told, or not, above.
                if place == *path {
                    return Ok(());
                }
                match Mergeinfo::parse(value) {
                    Ok(info) => Ok(receiver(place, &info)?),
                    // Malformed mergeinfo counts as none.
                    Err(_) => Ok(()),
                }
            })?;
        }
    }
    Ok(())
}

/// The first filesystem format that keeps track of where mergeinfo is.
pub(crate) const MIN_MERGEINFO_FORMAT: u32 = 3;

/// The mergeinfo of `path`; malformed mergeinfo counts as none. With `adjust`, inherited mergeinfo
/// is what `path` gets of it: inheritable ranges only, sources one path further down.
pub(crate) fn for_path(
    root: &Root,
    path: &str,
    inherit: Inherit,
    adjust: bool,
) -> Result<Option<Mergeinfo>> {
    let format = root.fs().format().number;
    if format < MIN_MERGEINFO_FORMAT {
        return Err(SvnError::new(
            ErrorCode::UNSUPPORTED_FEATURE,
            format!(
                "Querying mergeinfo requires version {MIN_MERGEINFO_FORMAT} of the FSFS \
                 filesystem schema; filesystem '{}' uses only version {format}",
                root.fs().path().display()
            ),
        )
        .into());
    }
    // The path has to exist whatever it inherits.
    let mut node = root.node(path)?;
    let mut place = path;
    if inherit == Inherit::NearestAncestor {
        if path == "/" {
            return Ok(None);
        }
        place = path::dirname(path);
        node = root.node(place)?;
    }
    while !node.has_mergeinfo() {
        if inherit == Inherit::Explicit || place == "/" {
            return Ok(None);
        }
        place = path::dirname(place);
        node = root.node(place)?;
    }
    let props = node.props()?;
    let Some(value) = props.get(MERGEINFO) else {
        let revision = root.base_revision();
        return Err(SvnError::new(
            ErrorCode::FS_CORRUPT,
            format!("Node-revision '{place}@{revision}' claims to have mergeinfo but doesn't"),
        )
        .into());
    };
    let Ok(info) = Mergeinfo::parse(value) else { return Ok(None) };
    if !adjust || place == path {
        return Ok(Some(info));
    }
    let below = path::skip_ancestor(place, path).unwrap_or_default();
    Ok(Some(info.only(true).with_suffix(below)))
}
