//! Property lists, log entries, directory entries and locks on the wire.
//!
//! Writers take borrowed values and append; none of them allocates.

use std::borrow::Cow;

use sapwood_core::FsPath;
pub use sapwood_core::{ChangedPath, DirentFields};
use sapwood_core::{NodeKind, PropList, Revnum};

use crate::decode::List;
use crate::encode::Encode;
use crate::error::{Error, Result};

/// Appends properties as `( name value ) ...`, without the list around them.
pub fn write_props<'p>(out: &mut Vec<u8>, props: impl Iterator<Item = (&'p str, &'p [u8])>) {
    for (name, value) in props {
        out.open();
        out.text(name);
        out.string(value);
        out.close();
    }
}

/// Reads a list of `( name value )`.
///
/// # Errors
/// When the item is malformed.
pub fn read_props(list: List<'_>) -> Result<PropList> {
    list.map(|item| {
        let Ok(entry) = item.list() else {
            return Err(Error::Part("Proplist element not a list"));
        };
        let mut entry = entry.tuple();
        Ok((entry.text()?, entry.bytes()?))
    })
    .collect()
}

/// Appends property changes as `( name [ value ] ) ...`, without the list around them.
pub fn write_prop_changes(out: &mut Vec<u8>, changes: &[(String, Option<Vec<u8>>)]) {
    for (name, value) in changes {
        out.open();
        out.text(name);
        out.bracketed(value.as_deref());
        out.close();
    }
}

/// Reads a list of `( name [ value ] )`.
///
/// # Errors
/// When the item is malformed.
pub fn read_prop_changes(list: List<'_>) -> Result<Vec<(String, Option<Vec<u8>>)>> {
    list.map(|item| {
        let mut entry = item.list()?.tuple();
        let name = entry.text()?.to_owned();
        Ok((name, entry.bracketed_bytes()?.map(<[u8]>::to_vec)))
    })
    .collect()
}

/// Appends one changed path.
pub fn write_changed_path(out: &mut Vec<u8>, change: &ChangedPath<'_>) {
    out.open();
    out.text(change.path);
    out.raw(&[change.action, b' ', b'(', b' ']);
    if let Some((path, rev)) = change.copy_from {
        out.text(path);
        out.rev(rev);
    }
    out.raw(match change.kind {
        Some(NodeKind::File) => b") ( 4:file ",
        Some(NodeKind::Dir) => b") ( 3:dir ",
        None => b") ( 7:unknown ",
    });
    out.bool(change.text_mod);
    out.bool(change.prop_mod);
    out.raw(b") ) ");
}

/// A changed path as it came: paths that are not canonical have text of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedPathWords<'a> {
    /// The path.
    pub path: Cow<'a, FsPath>,
    /// `A`, `D`, `R` or `M`.
    pub action: u8,
    /// Where it was copied from.
    pub copy_from: Option<(Cow<'a, FsPath>, Revnum)>,
    /// File or directory, `None` when it is not known.
    pub kind: Option<NodeKind>,
    /// Whether the text changed.
    pub text_mod: bool,
    /// Whether properties changed.
    pub prop_mod: bool,
}

impl ChangedPathWords<'_> {
    /// The same, borrowed.
    #[must_use]
    pub fn as_change(&self) -> ChangedPath<'_> {
        ChangedPath {
            path: &self.path,
            action: self.action,
            copy_from: self.copy_from.as_ref().map(|(from, at)| (from.as_ref(), *at)),
            kind: self.kind,
            text_mod: self.text_mod,
            prop_mod: self.prop_mod,
        }
    }
}

/// Reads one changed path. Old servers leave out everything after the copy source.
///
/// # Errors
/// When the item is malformed.
pub fn read_changed_path(list: List<'_>) -> Result<ChangedPathWords<'_>> {
    let mut tuple = list.tuple();
    let path = tuple.fspath()?;
    let action = match tuple.word_bytes()? {
        [action @ (b'A' | b'D' | b'R' | b'M')] => *action,
        _ => return Err(Error::Malformed),
    };
    let mut copy = tuple.tuple()?;
    let copy_from = if copy.is_empty() { None } else { Some((copy.fspath()?, copy.rev()?)) };
    let (mut kind, mut text_mod, mut prop_mod) = (None, false, false);
    if let Some(flags) = tuple.opt_list()? {
        let mut flags = flags.tuple();
        kind = flags.opt_bytes()?.and_then(NodeKind::from_word);
        text_mod = flags.opt_bool()?.unwrap_or(false);
        prop_mod = flags.opt_bool()?.unwrap_or(false);
    }
    Ok(ChangedPathWords { path, action, copy_from, kind, text_mod, prop_mod })
}

/// What a log entry holds beside changed paths and further properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogHead<'a> {
    /// The revision.
    pub revision: Revnum,
    /// `svn:author`, if requested.
    pub author: Option<&'a [u8]>,
    /// `svn:date`, if requested.
    pub date: Option<&'a [u8]>,
    /// `svn:log`, if requested.
    pub message: Option<&'a [u8]>,
    /// Whether merged revisions follow.
    pub has_children: bool,
    /// Whether this entry only ends the merged revisions of another.
    pub invalid_revision: bool,
}

/// Appends revision, author, date, message and flags: what comes after the changed paths.
pub fn write_log_head(out: &mut Vec<u8>, head: &LogHead<'_>) {
    out.rev(head.revision);
    out.bracketed(head.author);
    out.bracketed(head.date);
    out.bracketed(head.message);
    out.bool(head.has_children);
    out.bool(head.invalid_revision);
}

/// A log entry as it came: its parts are borrowed and the changed paths not yet read, so that a client makes of them
/// only the requested fields.
#[derive(Clone, Copy, Debug)]
pub struct LogEntryWords<'a> {
    /// A list of changed paths, for [`read_changed_path`].
    pub changes: List<'a>,
    /// Revision, author, date, message and flags.
    pub head: LogHead<'a>,
    /// The other properties, for [`read_props`]; `None` from old servers.
    pub revprops: Option<List<'a>>,
    /// Whether this revision was merged by being taken away.
    pub subtractive_merge: bool,
}

/// Reads one log entry.
///
/// # Errors
/// When the item is malformed.
pub fn read_log_entry(list: List<'_>) -> Result<LogEntryWords<'_>> {
    let mut tuple = list.tuple();
    let changes = tuple.list()?;
    let revision = tuple.rev()?;
    let author = tuple.bracketed_bytes()?;
    let date = tuple.bracketed_bytes()?;
    let message = tuple.bracketed_bytes()?;
    let has_children = tuple.opt_bool()?.unwrap_or(false);
    let invalid_revision = tuple.opt_bool()?.unwrap_or(false);
    let _count = tuple.opt_number()?;
    let revprops = tuple.opt_list()?;
    let subtractive_merge = tuple.opt_bool()?.unwrap_or(false);
    let head = LogHead { revision, author, date, message, has_children, invalid_revision };
    Ok(LogEntryWords { changes, head, revprops, subtractive_merge })
}

/// Reads a list of field words; unknown ones are left out, no list means all.
///
/// # Errors
/// When something in the list is no word.
pub fn read_dirent_fields(list: Option<List<'_>>) -> Result<DirentFields> {
    let Some(list) = list else { return Ok(DirentFields::ALL) };
    let mut fields = DirentFields::default();
    for item in list {
        match item {
            crate::Item::Word("kind") => fields.kind = true,
            crate::Item::Word("size") => fields.size = true,
            crate::Item::Word("has-props") => fields.has_props = true,
            crate::Item::Word("created-rev") => fields.created_rev = true,
            crate::Item::Word("time") => fields.time = true,
            crate::Item::Word("last-author") => fields.last_author = true,
            crate::Item::Word(_) => {}
            _ => return Err(Error::Part("Dirent field not a word")),
        }
    }
    Ok(fields)
}

/// One directory entry as the protocol says it: the date as stored, which need not be one, and the author's bytes,
/// which need not be text. Servers write thousands of them from what the caches hold, without a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirentWords<'a> {
    /// File or directory; `None` is written as `none`.
    pub kind: Option<NodeKind>,
    /// Length of a file, 0 when not requested. The reference sends -1 as a 64-bit number for
    /// directories in [`write_dirent`] and [`write_list_entry`], 0 in [`write_dir_entry`].
    pub size: u64,
    /// Whether there are properties.
    pub has_props: bool,
    /// Revision of the last change, 0 when not requested.
    pub created_rev: Revnum,
    /// Date of the last change.
    pub date: Option<&'a str>,
    /// Author of the last change.
    pub author: Option<&'a [u8]>,
}

/// Appends kind, size, has-props, created-rev, date and author: the tail of `get-dir` entries and
/// all of a `stat` reply, without the list around them.
pub fn write_dirent(out: &mut Vec<u8>, dirent: &DirentWords<'_>) {
    out.kind(dirent.kind);
    out.number(dirent.size);
    out.bool(dirent.has_props);
    out.rev(dirent.created_rev);
    out.bracketed_text(dirent.date);
    out.bracketed(dirent.author);
}

/// Appends one entry of a `get-dir` reply.
pub fn write_dir_entry(out: &mut Vec<u8>, name: &str, dirent: &DirentWords<'_>) {
    out.open();
    out.text(name);
    write_dirent(out, dirent);
    out.close();
}

/// Appends one entry of a `list` reply: only the requested fields.
pub fn write_list_entry(
    out: &mut Vec<u8>,
    path: &str,
    dirent: &DirentWords<'_>,
    fields: DirentFields,
) {
    out.open();
    out.text(path);
    if fields.kind {
        out.kind(dirent.kind);
    } else {
        out.word("unknown");
    }
    if !fields.kind_only() {
        out.open();
        if fields.size {
            out.number(dirent.size);
        }
        out.raw(b") ( ");
        if fields.has_props {
            out.bool(dirent.has_props);
        }
        out.raw(b") ( ");
        if fields.created_rev {
            out.rev(dirent.created_rev);
        }
        out.raw(b") ( ");
        if let Some(date) = dirent.date.filter(|_| fields.time) {
            out.text(date);
        }
        out.raw(b") ( ");
        if let Some(author) = dirent.author.filter(|_| fields.last_author) {
            out.string(author);
        }
        out.close();
    }
    out.close();
}

/// A path lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockDesc<'a> {
    /// The fspath.
    pub path: &'a str,
    /// The token.
    pub token: &'a str,
    /// The user that holds it.
    pub owner: &'a str,
    /// Why.
    pub comment: Option<&'a str>,
    /// When it was made, in the protocol's form of dates.
    pub created: &'a str,
    /// When it ends, if it ends by itself.
    pub expires: Option<&'a str>,
}

/// Appends a lock as a list.
pub fn write_lock(out: &mut Vec<u8>, lock: &LockDesc<'_>) {
    out.open();
    out.text(lock.path);
    out.text(lock.token);
    out.text(lock.owner);
    out.bracketed_text(lock.comment);
    out.text(lock.created);
    out.bracketed_text(lock.expires);
    out.close();
}

/// Reads a lock.
///
/// # Errors
/// When the item is malformed.
pub fn read_lock(list: List<'_>) -> Result<LockDesc<'_>> {
    let mut tuple = list.tuple();
    Ok(LockDesc {
        path: tuple.text()?,
        token: tuple.text()?,
        owner: tuple.text()?,
        comment: tuple.bracketed_text()?,
        created: tuple.text()?,
        expires: tuple.bracketed_text()?,
    })
}

#[cfg(test)]
mod tests;
