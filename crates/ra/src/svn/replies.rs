//! Parts of replies that several requests have in common.

use sapwood_core::ascii;
use sapwood_core::date::Timestamp;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{Lock, NodeKind, Revnum, SvnError, SvnResult};
use sapwood_wire_svn::data::{self, DirentFields};
use sapwood_wire_svn::{Encode as _, List, Tuple};

use crate::session::Dirent;

/// Reads `kind size has-props created-rev [ date ] [ author ]`, the tail of directory entries.
pub(super) fn read_dirent(mut tuple: Tuple<'_>) -> SvnResult<Dirent> {
    let kind = NodeKind::from_word(tuple.word()?.as_bytes());
    let size = tuple.number()?;
    let has_props = tuple.bool()?;
    let created_rev = tuple.rev()?;
    let time = tuple.bracketed_bytes()?.map(Timestamp::parse).transpose()?;
    let last_author = tuple.bracketed_bytes()?.map(lossy);
    let size = (kind != Some(NodeKind::Dir)).then_some(size);
    Ok(Dirent { kind, size, has_props, created_rev, time, last_author })
}

/// Reads one entry of a listing: its path, kind, and the fields that were asked for.
pub(super) fn read_listed(mut tuple: Tuple<'_>) -> SvnResult<(FsPathBuf, Dirent)> {
    let path = tuple.fspath()?.into_owned();
    let kind = NodeKind::from_word(tuple.word()?.as_bytes());
    let mut dirent = Dirent {
        kind,
        size: None,
        has_props: false,
        created_rev: Revnum::ZERO,
        time: None,
        last_author: None,
    };
    if let Some(size) = tuple.opt_list()? {
        let size = size.tuple().opt_number()?;
        dirent.size = size.filter(|_| kind != Some(NodeKind::Dir));
        dirent.has_props = tuple.tuple()?.opt_bool()?.unwrap_or(false);
        dirent.created_rev = tuple.bracketed_rev()?.unwrap_or(Revnum::ZERO);
        dirent.time = tuple.bracketed_bytes()?.map(Timestamp::parse).transpose()?;
        dirent.last_author = tuple.bracketed_bytes()?.map(lossy);
    }
    Ok((path, dirent))
}

/// Text that should be UTF-8, and is only shown.
fn lossy(bytes: &[u8]) -> String {
    ascii::readable(bytes).into_owned()
}

/// Reads a lock.
pub(super) fn read_lock(list: List<'_>) -> SvnResult<Lock> {
    let lock = data::read_lock(list)?;
    let date = |text: &str| Timestamp::parse(text.as_bytes()).map(|time| time.0);
    Ok(Lock {
        path: FsPathBuf::canonicalize(lock.path),
        token: lock.token.to_owned(),
        owner: lock.owner.to_owned(),
        comment: lock.comment.map(str::to_owned),
        is_dav_comment: false,
        created: date(lock.created).map_err(SvnError::from)?,
        expires: lock.expires.map(date).transpose().map_err(SvnError::from)?,
    })
}

/// Appends the list of fields that are wanted.
pub(super) fn write_fields(out: &mut Vec<u8>, fields: DirentFields) {
    out.open();
    for (on, word) in [
        (fields.kind, "kind"),
        (fields.size, "size"),
        (fields.has_props, "has-props"),
        (fields.created_rev, "created-rev"),
        (fields.time, "time"),
        (fields.last_author, "last-author"),
    ] {
        if on {
            out.word(word);
        }
    }
    out.close();
}
