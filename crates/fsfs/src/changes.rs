//! Lists of changed paths as FSFS keeps them, read into the form that all engines have in common.

use sapwood_core::Cut as _;
use sapwood_fs_common::changes::{ChangeKind, ChangedPath, ChangedPaths};
use sapwood_fsfs_format::Trailer;
use sapwood_fsfs_format::changes::{ChangeRef, Changes, spell_names};
use sapwood_store::Kind;

use crate::cache_kinds::Number;

/// Changed paths: revision.
pub(crate) const CHANGES: Kind<ChangedPaths> =
    Number::Changes.kind(ChangedPaths::byte_len).of_neighbours().found_while_held();

/// The list at the start of `bytes`, which nothing follows when `is_end`.
pub(crate) fn parse(bytes: &[u8], is_end: bool) -> sapwood_fsfs_format::Result<ChangedPaths> {
    check_whole(bytes, is_end)?;
    parse_and(bytes, |list, _| {
        if list.is_terminated() || is_end {
            Ok(())
        } else {
            Err(sapwood_fsfs_format::Error::UnexpectedEnd("changed paths"))
        }
    })
}

/// The same with physical addressing, where nothing but the trailer follows: an offset that
/// points at an empty line elsewhere would give a list of nothing.
pub(crate) fn parse_last(
    bytes: &[u8],
    is_end: bool,
    trailer: &Trailer,
) -> sapwood_fsfs_format::Result<ChangedPaths> {
    check_whole(bytes, is_end)?;
    let mut last = Vec::new();
    trailer.write(&mut last);
    parse_and(bytes, |list, rest| {
        if list.is_terminated() && rest.starts_with(&last) {
            Ok(())
        } else if is_end || (list.is_terminated() && rest.len() >= last.len()) {
            let what = "The changed paths do not end where the revision's last line begins";
            Err(sapwood_fsfs_format::Error::corrupt(what))
        } else {
            Err(sapwood_fsfs_format::Error::UnexpectedEnd("changed paths"))
        }
    })
}

/// Asks for more of a list that is cut off, before any of it is parsed.
fn check_whole(bytes: &[u8], is_end: bool) -> sapwood_fsfs_format::Result<()> {
    if is_end || Changes::may_be_whole(bytes) {
        return Ok(());
    }
    Err(sapwood_fsfs_format::Error::UnexpectedEnd("changed paths"))
}

/// The list at the start of `bytes`. `check` sees how it ended, and what follows.
fn parse_and(
    bytes: &[u8],
    check: impl Fn(&Changes<'_>, &[u8]) -> sapwood_fsfs_format::Result<()>,
) -> sapwood_fsfs_format::Result<ChangedPaths> {
    let parse = |bytes: &[u8], mut list: Changes<'_>| {
        let built = collect(&mut list)?;
        check(&list, bytes.tail(list.consumed()))?;
        Ok(built)
    };
    parse(bytes, Changes::new(bytes)).or_else(|error| match spell_names(bytes) {
        Some(bytes) => parse(&bytes, Changes::spelt(&bytes)),
        None => Err(error),
    })
}

/// A list of entries; `Reset` is none.
pub(crate) fn collect<'a>(
    list: &mut dyn Iterator<Item = sapwood_fsfs_format::Result<ChangeRef<'a>>>,
) -> sapwood_fsfs_format::Result<ChangedPaths> {
    let mut failed = None;
    let changes = list.map_while(|change| change.map_err(|e| failed = Some(e)).ok());
    let built = ChangedPaths::build(changes.filter_map(|change| {
        // What names no node-revision is void.
        change.id?;
        Some(ChangedPath {
            path: change.path,
            kind: ChangeKind::of(change.kind)?,
            node_kind: change.node_kind,
            text_mod: change.text_mod,
            prop_mod: change.prop_mod,
            mergeinfo_mod: change.mergeinfo_mod,
            copy_from: change.copy_from,
        })
    }));
    match (failed, built) {
        (Some(error), _) => Err(error),
        (None, Some(built)) => Ok(built),
        (None, None) => Err(sapwood_fsfs_format::Error::TooLarge {
            what: "list of changed paths",
            size: u64::from(u32::MAX),
            limit: u64::from(u32::MAX),
        }),
    }
}
