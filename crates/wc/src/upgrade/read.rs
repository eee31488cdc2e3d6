//! Reading the files of a directory of an old working copy: which format it has, its entries, and
//! its properties.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use sapwood_core::exact::{Cut, Exact};
use sapwood_core::hashdump::{self, END};
use sapwood_core::{PropList, SvnError, len64};

use super::entry::{Entries, Entry, corrupt};
use super::{lines, xml};
use crate::error::{Error, Result};
use crate::layout;

/// Longest file of entries or properties that is read.
const LIMIT: u64 = 1 << 30;

/// The last format with a file of properties of the DAV server for each node.
const LAST_WITH_MANY_WCPROPS: i64 = 7;
/// The last format that does not keep the properties from before a replacement.
pub(super) const LAST_WITHOUT_REVERT: i64 = 4;

/// The entries of a file. `shown` is the directory, for messages.
///
/// # Errors
/// E155016 and others for what the format does not allow, with the number of the entry; E130003 for
/// XML that is none; E150000, E150003 and E150004 when the directory's own entry says too little.
pub fn parse_entries(bytes: &[u8], shown: &str) -> Result<Entries> {
    let is_lines = bytes.first().is_none_or(u8::is_ascii_digit);
    let found: Vec<Entry> =
        if is_lines { lines::parse(bytes, shown)? } else { xml::parse(bytes, shown)? };
    Entries::of(found)
}

/// A whole file.
pub(super) fn whole(path: &Path) -> Result<Vec<u8>> {
    let failed = |error| Error::io(error, "Can't open file", path);
    let file = File::open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(failed(io::ErrorKind::NotFound.into()));
    }
    let mut bytes = Vec::new();
    file.take(LIMIT.plus(1))
        .read_to_end(&mut bytes)
        .map_err(|error| Error::io(error, "Can't read file", path))?;
    if len64(bytes.len()) > LIMIT {
        return Err(corrupt(format!("File '{}' is too large", path.display())));
    }
    Ok(bytes)
}

/// Whether an error says that there is no such file.
pub(super) fn is_missing(error: &Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error, Error::Io { error, .. } if matches!(error.kind(), NotFound | NotADirectory))
}

/// The entries of a directory.
///
/// # Errors
/// That its file cannot be read, and those of [`parse_entries`].
pub(super) fn entries(dir: &Path) -> Result<Entries> {
    let bytes = whole(&layout::adm(dir).join("entries"))?;
    parse_entries(&bytes, &dir.display().to_string())
}

/// The properties of a node, as three files keep them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Props {
    /// The pristine ones (of what was copied, where something was).
    pub(super) base: Option<PropList>,
    /// Those from before a replacement.
    pub(super) revert: Option<PropList>,
    /// The local ones.
    pub(super) working: Option<PropList>,
}

fn malformed(error: hashdump::Error) -> Error {
    Error::Svn(SvnError::from(error))
}

/// A file of properties; none when it is not there, and an empty list when it is empty.
fn props_file(path: &Path) -> Result<Option<PropList>> {
    let bytes = match whole(path) {
        Err(error) if is_missing(&error) => return Ok(None),
        other => other?,
    };
    if bytes.is_empty() {
        return Ok(Some(PropList::new()));
    }
    hashdump::parse(&bytes, Some(END)).map(Some).map_err(malformed)
}

/// The properties of the directory itself.
pub(super) fn props_of_dir(dir: &Path) -> Result<Props> {
    let adm = layout::adm(dir);
    Ok(Props {
        base: props_file(&adm.join("dir-prop-base"))?,
        revert: props_file(&adm.join("dir-prop-revert"))?,
        working: props_file(&adm.join("dir-props"))?,
    })
}

/// The properties of the files of a directory, by name. A node without a file has no entry.
pub(super) fn props_of_files(dir: &Path) -> Result<HashMap<String, Props>> {
    let adm = layout::adm(dir);
    let mut found: HashMap<String, Props> = HashMap::new();
    for (folder, suffix) in
        [("prop-base", ".svn-base"), ("prop-base", ".svn-revert"), ("props", ".svn-work")]
    {
        let folder = adm.join(folder);
        for name in names(&folder)?.into_iter().flatten() {
            let Some(node) = name.strip_suffix(suffix).filter(|node| !node.is_empty()) else {
                continue;
            };
            let props = props_file(&folder.join(&name))?;
            let of_node = found.entry(node.to_owned()).or_default();
            match suffix {
                ".svn-base" => of_node.base = props,
                ".svn-revert" => of_node.revert = props,
                _ => of_node.working = props,
            }
        }
    }
    Ok(found)
}

/// The names in a folder, sorted, those that are not UTF-8 left out; none when it is not there.
pub(super) fn names(folder: &Path) -> Result<Option<Vec<String>>> {
    let failed = |error| Error::io(error, "Can't open directory", folder);
    let listing = match fs::read_dir(folder) {
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        other => other.map_err(failed)?,
    };
    let mut found = Vec::new();
    for entry in listing {
        found.extend(entry.map_err(failed)?.file_name().into_string());
    }
    found.sort_unstable();
    Ok(Some(found))
}

/// What a DAV server said of nodes, by name; the directory's own without one.
pub(super) fn wcprops(dir: &Path, format: i64) -> Result<Vec<(String, PropList)>> {
    if format <= LAST_WITH_MANY_WCPROPS {
        // The files' own have names that no program ever read again.
        let own = props_file(&layout::adm(dir).join("dir-wcprops"))?;
        return Ok(own.map(|props| (String::new(), props)).into_iter().collect());
    }
    let bytes = match whole(&layout::adm(dir).join("all-wcprops")) {
        Err(error) if is_missing(&error) => return Ok(Vec::new()),
        other => other?,
    };
    let mut found = Vec::new();
    let (mut name, mut rest) = (String::new(), bytes.as_slice());
    loop {
        let mut reader = hashdump::Reader::new(rest, Some(END));
        let mut props = PropList::new();
        while let Some(entry) = reader.next_entry().map_err(malformed)? {
            let hashdump::Entry::Set { name, value } = entry else { continue };
            let name =
                std::str::from_utf8(name).map_err(|_| malformed(hashdump::Error::NotUtf8))?;
            props.set(name, value);
        }
        found.push((name, props));
        rest = reader.rest();
        if rest.is_empty() {
            return Ok(found);
        }
        let end = memchr::memchr(b'\n', rest).and_then(|at| rest.split_at_checked(at));
        let (line, after) = end.ok_or_else(|| {
            corrupt(format!("Missing end of line in wcprops file for '{}'", dir.display()))
        })?;
        name = super::entry::utf8(line)?.to_owned();
        rest = after.tail(1);
    }
}
