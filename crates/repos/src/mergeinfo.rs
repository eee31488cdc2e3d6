//! Mergeinfo of paths: explicit, inherited, and of everything below.

pub(crate) mod changes;

use sapwood_core::FsPath;
use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::props::names::MERGEINFO;
use sapwood_core::{CancelToken, ErrorCode, Inherit, SvnError, SvnResult, path};
use sapwood_fs::{Node, Root};

use crate::authorizer::PathAuthorizer;
use crate::error::Result;
use crate::repository::Repository;

/// The request for the mergeinfo of paths.
pub type MergeinfoRequest<'a> = sapwood_core::MergeinfoRequest<'a, FsPath>;

/// Sends `receiver` the mergeinfo of each of the paths, and of what is below them if asked. Paths without mergeinfo,
/// with malformed mergeinfo, or that may not be read, are left out.
///
/// # Errors
/// E160013 for paths that do not exist; what the receiver returns; corruption and system errors.
pub fn mergeinfo_catalog(
    repository: &Repository,
    request: &MergeinfoRequest<'_>,
    authorizer: &dyn PathAuthorizer,
    cancel: &CancelToken,
    receiver: &mut dyn FnMut(&FsPath, &Mergeinfo) -> SvnResult<()>,
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
                // `path` itself was handled above.
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

/// The mergeinfo of `path`; malformed mergeinfo counts as none. With `adjust`, inherited mergeinfo
/// is reduced to what `path` inherits: inheritable ranges only, sources one path further down.
pub(crate) fn for_path(
    root: &Root,
    path: &FsPath,
    inherit: Inherit,
    adjust: bool,
) -> Result<Option<Mergeinfo>> {
    root.fs().require_mergeinfo()?;
    // The path has to exist whatever it inherits. Its parents are read in one walk.
    let node = match inherit {
        Inherit::Explicit => Some(root.node(path)?).filter(Node::has_mergeinfo),
        Inherit::Inherited => root.nearest_mergeinfo(path, false)?,
        Inherit::NearestAncestor => root.nearest_mergeinfo(path, true)?,
    };
    let Some(node) = node else { return Ok(None) };
    let place = node.path();
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
    let below = path::rest_below(place, path)?;
    Ok(Some(info.only(true).with_suffix(below)))
}
