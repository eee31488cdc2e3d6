//! An entry of one node in an `entries` file of the formats before 1.7.

use sapwood_core::date::Timestamp;
use sapwood_core::exact::Cut;
use sapwood_core::{Depth, ErrorCode, Revnum, path, uri};

use crate::db::Kind;
use crate::error::{Error, Result};

/// What the next commit does to a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Nothing of its own, or the same as the parent.
    #[default]
    Normal,
    /// It adds it.
    Add,
    /// It deletes it.
    Delete,
    /// It deletes it and adds another one in its place.
    Replace,
}

impl Schedule {
    /// The schedule of a word.
    #[must_use]
    pub fn from_word(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"" => Self::Normal,
            b"add" => Self::Add,
            b"delete" => Self::Delete,
            b"replace" => Self::Replace,
            _ => return None,
        })
    }
}

/// One entry. Of a subdirectory the file in the parent says little: name, kind and whether it is
/// there; the rest is in the entry without a name of the directory's own file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name; empty for the directory itself.
    pub name: String,
    /// File or directory.
    pub kind: Kind,
    /// The revision of BASE.
    pub revision: Option<Revnum>,
    /// Where it is, canonical.
    pub url: Option<String>,
    /// The repository's root, canonical.
    pub repos: Option<String>,
    /// The repository's UUID.
    pub uuid: Option<String>,
    /// What the next commit does.
    pub schedule: Schedule,
    /// The time of the working file when it was last known to be unmodified; 0 for none.
    pub text_time: Timestamp,
    /// Its size then.
    pub working_size: Option<i64>,
    /// The MD5 of the base text, in digits.
    pub checksum: Option<String>,
    /// The revision of the last change.
    pub changed_revision: Option<Revnum>,
    /// Its date; 0 for none.
    pub changed_date: Timestamp,
    /// Its author.
    pub changed_author: Option<String>,
    /// The `.prej` file of a property conflict.
    pub prop_reject: Option<String>,
    /// The files of a text conflict: the old text.
    pub conflict_old: Option<String>,
    /// The incoming text.
    pub conflict_new: Option<String>,
    /// The local text.
    pub conflict_working: Option<String>,
    /// Whether it comes from a copy.
    pub copied: bool,
    /// Where from, canonical; none within a copied directory.
    pub copyfrom_url: Option<String>,
    /// In which revision.
    pub copyfrom_revision: Option<Revnum>,
    /// Whether the parent's revision has it, and the working copy does not.
    pub deleted: bool,
    /// Whether the server does not show it.
    pub absent: bool,
    /// Whether not all of its entries are there.
    pub incomplete: bool,
    /// The token of a lock on it.
    pub lock_token: Option<String>,
    /// The user that made the lock.
    pub lock_owner: Option<String>,
    /// Why.
    pub lock_comment: Option<String>,
    /// When; 0 for none.
    pub lock_date: Timestamp,
    /// The changelist.
    pub changelist: Option<String>,
    /// Whether the files stay when the deletion is committed.
    pub keep_local: bool,
    /// How deep the directory is; of a subdirectory only whether it is excluded.
    pub depth: Depth,
    /// The tree conflicts among the children, a list of skels.
    pub tree_conflicts: Option<String>,
    /// Whether this is a file external.
    pub file_external: bool,
}

impl Default for Entry {
    fn default() -> Self {
        Self {
            name: String::new(),
            kind: Kind::Unknown,
            revision: None,
            url: None,
            repos: None,
            uuid: None,
            schedule: Schedule::Normal,
            text_time: Timestamp(0),
            working_size: None,
            checksum: None,
            changed_revision: None,
            changed_date: Timestamp(0),
            changed_author: None,
            prop_reject: None,
            conflict_old: None,
            conflict_new: None,
            conflict_working: None,
            copied: false,
            copyfrom_url: None,
            copyfrom_revision: None,
            deleted: false,
            absent: false,
            incomplete: false,
            lock_token: None,
            lock_owner: None,
            lock_comment: None,
            lock_date: Timestamp(0),
            changelist: None,
            keep_local: false,
            depth: Depth::Infinity,
            tree_conflicts: None,
            file_external: false,
        }
    }
}

impl Entry {
    /// Whether nothing is there: not in this revision, not shown or not wanted, and nothing added
    /// in its place.
    ///
    /// # Errors
    /// E155016 when it is deleted as well, which no program could have done.
    pub fn is_hidden(&self) -> Result<bool> {
        if !self.deleted && !self.absent && self.depth != Depth::Exclude {
            return Ok(false);
        }
        match self.schedule {
            Schedule::Add => Ok(false),
            Schedule::Normal => Ok(true),
            Schedule::Delete | Schedule::Replace => {
                Err(corrupt(format!("Entry '{}' is not there and yet scheduled", self.name)))
            }
        }
    }

    /// Whether the repository's root leads to the URL.
    pub(super) fn check_root(&self) -> Result<()> {
        let (Some(url), Some(root)) = (&self.url, &self.repos) else { return Ok(()) };
        if uri::skip_ancestor(root, url).is_some() {
            return Ok(());
        }
        Err(corrupt(format!("Entry for '{}' has invalid repository root", self.name)))
    }

    /// Fills in the fields that a file leaves out because its directory has them.
    fn take_from(&mut self, dir: &Self) {
        self.revision = self.revision.or(dir.revision);
        if self.url.is_none() {
            self.url = dir.url.as_ref().map(|url| uri::join(url, &self.name));
        }
        if self.repos.is_none() {
            self.repos.clone_from(&dir.repos);
        }
        let fresh = matches!(self.schedule, Schedule::Add | Schedule::Replace);
        if self.uuid.is_none() && !fresh {
            self.uuid.clone_from(&dir.uuid);
        }
    }
}

/// The entries of one directory, by name: its own, without a name, is the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entries {
    /// The directory's own entry.
    pub this: Entry,
    /// Those of its children, by name, each once.
    pub children: Vec<Entry>,
}

impl Entries {
    /// Makes a directory of entries in any order; of those with one name the last one counts.
    ///
    /// # Errors
    /// E150000, E150003 and E150004 when the directory's own entry is not there, or says too little.
    pub(super) fn of(mut found: Vec<Entry>) -> Result<Self> {
        // A stable sort: the last one stays the last one.
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found.reverse();
        found.dedup_by(|later, kept| later.name == kept.name);
        found.reverse();
        let missing = |code, text: &str| Err(Error::new(code, text));
        let mut found = found.into_iter().peekable();
        let Some(this) = found.next_if(|entry| entry.name.is_empty()) else {
            return missing(ErrorCode::ENTRY_NOT_FOUND, "Missing default entry");
        };
        if this.revision.is_none() {
            let text = "Default entry has no revision number";
            return missing(ErrorCode::ENTRY_MISSING_REVISION, text);
        }
        if this.url.is_none() {
            return missing(ErrorCode::ENTRY_MISSING_URL, "Default entry is missing URL");
        }
        let mut children: Vec<Entry> = found.collect();
        for file in children.iter_mut().filter(|entry| entry.kind == Kind::File) {
            file.take_from(&this);
        }
        Ok(Self { this, children })
    }

    /// The entry of a child.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<&Entry> {
        let at = self.children.binary_search_by(|entry| entry.name.as_str().cmp(name)).ok()?;
        self.children.get(at)
    }
}

/// A working copy that is broken.
pub(super) fn corrupt(text: impl Into<String>) -> Error {
    Error::new(ErrorCode::WC_CORRUPT, text)
}

/// Text out of a file; E155016 when it is not UTF-8.
pub(super) fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| corrupt("Entry contains text that is not UTF-8"))
}

/// A name of something in the directory: one component that leads nowhere else.
pub(super) fn checked_name(name: &str) -> Result<String> {
    let wrong = name.contains(['/', '\0']) || matches!(name, "" | "." | "..");
    if wrong {
        return Err(corrupt(format!("Entry contains non-canonical path '{name}'")));
    }
    Ok(name.to_owned())
}

/// A path below the directory, as those of conflict files.
pub(super) fn checked_path(text: &str) -> Result<String> {
    let canonical = path::canonical_relpath(text) == text;
    let inside = text.split('/').all(|name| !matches!(name, "." | ".."));
    if text.is_empty() || !canonical || !inside || text.contains('\0') {
        return Err(corrupt(format!("Entry contains non-canonical path '{text}'")));
    }
    Ok(text.to_owned())
}

/// A URL, made canonical: old programs were not as strict.
pub(super) fn checked_url(text: &str) -> Result<String> {
    uri::canonicalize(text).map_err(|_| corrupt(format!("Entry contains a wrong URL '{text}'")))
}

/// A date.
pub(super) fn date(text: &[u8]) -> Result<Timestamp> {
    Timestamp::parse(text).map_err(|error| Error::Svn(error.into()))
}

/// A number as C's `atol` reads it: other text is 0.
pub(super) fn number(text: &[u8]) -> i64 {
    let text = text.trim_ascii_start();
    let (is_below, digits) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    let value = match std::str::from_utf8(digits.head(end)) {
        Ok("") | Err(_) => 0,
        Ok(digits) => digits.parse().unwrap_or(i64::MAX),
    };
    if is_below { -value } else { value }
}

/// A revision; below 0 is none.
pub(super) fn revision(text: &[u8]) -> Option<Revnum> {
    u64::try_from(number(text)).ok().map(Revnum)
}

/// A size; -1 is none.
pub(super) fn size(text: &[u8]) -> Option<i64> {
    Some(number(text)).filter(|size| *size != -1)
}

/// A kind; nothing is no kind.
pub(super) fn kind(word: &[u8], name: &str) -> Result<Kind> {
    Ok(match word {
        b"file" => Kind::File,
        b"dir" => Kind::Dir,
        _ => {
            let text = format!("Entry '{name}' has invalid node kind");
            return Err(Error::new(ErrorCode::NODE_UNKNOWN_KIND, text));
        }
    })
}

/// The error for an attribute with a value that it cannot have.
pub(super) fn invalid(name: &str, attribute: &str) -> Error {
    let text = format!("Entry '{name}' has invalid '{attribute}' value");
    Error::new(ErrorCode::ENTRY_ATTRIBUTE_INVALID, text)
}
