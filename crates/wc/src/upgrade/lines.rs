//! `entries` files of formats 7 to 10: a line a field, a form feed after each entry.
//!
//! ```text
//! 10                 the format
//!                    the name: none, so this is the directory itself
//! dir                the kind
//! 7                  the revision, and so on: see [`FIELDS`]
//! ^L                 fields at the end that say nothing are left out
//! iota
//! file
//! ^L
//! ```
//!
//! In fields of text a line feed, and whatever else does not fit, is `\xHH`.

use sapwood_core::exact::{Cut, Exact};
use sapwood_core::{Depth, ErrorCode, SvnError};

use super::entry::{
    Entry, Schedule, checked_name, checked_path, checked_url, corrupt, date, invalid, kind,
    revision, size, utf8,
};
use crate::error::{Error, Result};

/// Reads one field into an entry. Fields that are empty do not come here.
type Field = fn(&mut Entry, &[u8]) -> Result<()>;

/// The fields in their order. Those that are left out at the end say nothing.
const FIELDS: [Field; 36] = [
    |entry, field| set(&mut entry.name, checked_name(&text(field)?)?),
    |entry, field| set(&mut entry.kind, kind(field, &entry.name)?),
    |entry, field| set(&mut entry.revision, revision(field)),
    |entry, field| some(&mut entry.url, checked_url(&text(field)?)?),
    |entry, field| {
        some(&mut entry.repos, checked_url(&text(field)?)?)?;
        entry.check_root()
    },
    |entry, field| {
        let schedule = Schedule::from_word(field).ok_or_else(|| invalid(&entry.name, "schedule"));
        set(&mut entry.schedule, schedule?)
    },
    |entry, field| set(&mut entry.text_time, date(field)?),
    |entry, field| some(&mut entry.checksum, text(field)?),
    |entry, field| set(&mut entry.changed_date, date(field)?),
    |entry, field| set(&mut entry.changed_revision, revision(field)),
    |entry, field| some(&mut entry.changed_author, text(field)?),
    // Whether there are properties, which are cached: no program asks any more.
    |_, _| Ok(()),
    |_, _| Ok(()),
    |_, _| Ok(()),
    |_, _| Ok(()),
    |entry, field| some(&mut entry.prop_reject, checked_path(&text(field)?)?),
    |entry, field| some(&mut entry.conflict_old, checked_path(&text(field)?)?),
    |entry, field| some(&mut entry.conflict_new, checked_path(&text(field)?)?),
    |entry, field| some(&mut entry.conflict_working, checked_path(&text(field)?)?),
    |entry, field| flag(&mut entry.copied, field, "copied"),
    |entry, field| some(&mut entry.copyfrom_url, checked_url(&text(field)?)?),
    |entry, field| set(&mut entry.copyfrom_revision, revision(field)),
    |entry, field| flag(&mut entry.deleted, field, "deleted"),
    |entry, field| flag(&mut entry.absent, field, "absent"),
    |entry, field| flag(&mut entry.incomplete, field, "incomplete"),
    |entry, field| some(&mut entry.uuid, text(field)?),
    |entry, field| some(&mut entry.lock_token, text(field)?),
    |entry, field| some(&mut entry.lock_owner, text(field)?),
    |entry, field| some(&mut entry.lock_comment, text(field)?),
    |entry, field| set(&mut entry.lock_date, date(field)?),
    |entry, field| some(&mut entry.changelist, text(field)?),
    |entry, field| flag(&mut entry.keep_local, field, "keep-local"),
    |entry, field| set(&mut entry.working_size, size(field)),
    depth,
    |entry, field| some(&mut entry.tree_conflicts, text(field)?),
    file_external,
];

fn set<T>(to: &mut T, value: T) -> Result<()> {
    *to = value;
    Ok(())
}

fn some<T>(to: &mut Option<T>, value: T) -> Result<()> {
    set(to, Some(value))
}

fn flag(to: &mut bool, field: &[u8], word: &str) -> Result<()> {
    if field != word.as_bytes() {
        return Err(corrupt(format!("Invalid value for field '{word}'")));
    }
    set(to, true)
}

/// A directory has its depth, except for exclusion, which is in its parent's file.
fn depth(entry: &mut Entry, field: &[u8]) -> Result<()> {
    let depth = Depth::from_word(field);
    let is_this = entry.name.is_empty();
    if depth != Depth::Infinity && is_this == (depth == Depth::Exclude) {
        return Err(invalid(&entry.name, "depth"));
    }
    set(&mut entry.depth, depth)
}

/// `PEG:REVISION:PATH`, which only has to be well-formed: `svn:externals` says it again.
fn file_external(entry: &mut Entry, field: &[u8]) -> Result<()> {
    let field = text(field)?;
    let mut parts = field.splitn(3, ':');
    let good = |part: Option<&str>| {
        part.is_some_and(|p| {
            p == "HEAD" || (!p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()))
        })
    };
    if !good(parts.next()) || !good(parts.next()) || parts.next().is_none() {
        let text = format!("Found an unexpected \\0 in the file external '{field}'");
        return Err(Error::new(ErrorCode::INCORRECT_PARAMS, text));
    }
    set(&mut entry.file_external, true)
}

/// A field of text: `\xHH` is a byte.
fn text(field: &[u8]) -> Result<String> {
    if !field.contains(&b'\\') {
        return utf8(field).map(str::to_owned);
    }
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'\\' {
            out.push(*byte);
            continue;
        }
        let (escape, after) =
            rest.split_at_checked(3).ok_or_else(|| corrupt("Invalid escape sequence"))?;
        out.push(escaped(escape)?);
        rest = after;
    }
    utf8(&out).map(str::to_owned)
}

fn escaped(escape: &[u8]) -> Result<u8> {
    let digits = escape.strip_prefix(b"x").filter(|d| d.iter().all(u8::is_ascii_hexdigit));
    let value = digits
        .and_then(|d| std::str::from_utf8(d).ok())
        .and_then(|d| u8::from_str_radix(d, 16).ok())
        .ok_or_else(|| corrupt("Invalid escape sequence"))?;
    if value == 0 {
        return Err(corrupt("Invalid escaped character"));
    }
    Ok(value)
}

/// The next line without its line feed.
fn line<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let found = memchr::memchr(b'\n', rest).and_then(|at| rest.split_at_checked(at));
    let (line, after) = found.ok_or_else(|| corrupt("Unexpected end of entry"))?;
    *rest = after.tail(1);
    Ok(line)
}

/// How many fields no entry goes without.
const ALWAYS: usize = 2;

fn read_entry(rest: &mut &[u8]) -> Result<Entry> {
    let mut entry = Entry::default();
    for (at, field) in FIELDS.into_iter().enumerate() {
        if at >= ALWAYS && rest.first() == Some(&b'\x0c') {
            break;
        }
        let line = line(rest)?;
        if !line.is_empty() {
            field(&mut entry, line)?;
        }
    }
    // A later version may have more fields.
    let end = memchr::memchr(b'\x0c', rest).and_then(|at| rest.split_at_checked(at));
    let (_, after) = end.ok_or_else(|| corrupt("Missing entry terminator"))?;
    let after = after.strip_prefix(b"\x0c\n").ok_or_else(|| corrupt("Invalid entry terminator"));
    *rest = after?;
    Ok(entry)
}

/// The entries of a file, in its order. `shown` is the directory, for messages.
///
/// # Errors
/// Those of [`super::parse_entries`].
pub(super) fn parse(bytes: &[u8], shown: &str) -> Result<Vec<Entry>> {
    let mut rest = bytes;
    if line(&mut rest)?.is_empty() {
        return Err(corrupt(format!("Invalid version line in entries file of '{shown}'")));
    }
    let mut found = Vec::new();
    while !rest.is_empty() {
        let entry = read_entry(&mut rest).map_err(|error| {
            let error = SvnError::from(error);
            let number = found.len().plus(1);
            let text = format!("Error at entry {number} in entries file for '{shown}':");
            let code = error.code();
            Error::Svn(error.wrap(code, text))
        })?;
        found.push(entry);
    }
    Ok(found)
}
