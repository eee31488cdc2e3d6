//! The base texts of an old working copy, brought into a store of today.
//!
//! A text is never changed in its file, only replaced, so the store gets a second name of the file
//! instead of a copy where that is possible: only the checksums are to be made.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use sapwood_core::checksum::{Md5Hasher, Sha1Hasher};
use sapwood_core::exact::{Cut, Exact};

use super::layers::{Text, TextsByName};
use crate::db::Db;
use crate::error::{Error, Result};
use crate::layout;
use crate::pristine::place_file;

/// Bytes that are read at a time.
const CHUNK: usize = 64 << 10;

/// Brings the texts of a directory into the store at `workshop`; what they are, by the name of their
/// file.
///
/// # Errors
/// That a file cannot be read or a folder not be made; SQLite's.
pub(super) fn bring(db: &Db, dir: &Path, workshop: &Path) -> Result<TextsByName> {
    let folder = layout::adm(dir).join("text-base");
    let mut texts = TextsByName::new();
    let mut chunk = vec![0; CHUNK];
    for (name, is_link) in files_in(&folder)? {
        let text = bring_one(db, &folder.join(&name), is_link, workshop, &mut chunk)?;
        if let Some(node) = name.strip_suffix(".svn-revert").filter(|node| !node.is_empty()) {
            texts.entry(node.to_owned()).or_default().revert = Some(text);
        } else if let Some(node) = name.strip_suffix(".svn-base").filter(|node| !node.is_empty()) {
            texts.entry(node.to_owned()).or_default().normal = Some(text);
        }
    }
    Ok(texts)
}

/// The files in a folder, by name, and whether each is a link to one. Names that are not UTF-8 belong to
/// no node.
fn files_in(folder: &Path) -> Result<Vec<(String, bool)>> {
    let failed = |error| Error::io(error, "Can't open directory", folder);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        let is_file = kind.is_file() || (kind.is_symlink() && entry.path().is_file());
        if let Ok(name) = entry.file_name().into_string()
            && is_file
        {
            found.push((name, kind.is_symlink()));
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn bring_one(
    db: &Db,
    path: &Path,
    is_link: bool,
    workshop: &Path,
    chunk: &mut [u8],
) -> Result<Text> {
    let (mut sha1, mut md5, mut size) = (Sha1Hasher::new(), Md5Hasher::new(), 0u64);
    let failed = |error| Error::io(error, "Can't read file", path);
    let mut file = File::open(path).map_err(|e| Error::io(e, "Can't open file", path))?;
    loop {
        let count = file.read(chunk).map_err(failed)?;
        let read = chunk.head(count);
        if read.is_empty() {
            break;
        }
        sha1.update(read);
        md5.update(read);
        size = size.plus(u64::try_from(count).unwrap_or(u64::MAX));
    }
    let text = (sha1.finish(), md5.finish());
    if db.add_pristine(&text.0, &text.1, size)? {
        place(path, is_link, &layout::pristine(workshop, &text.0), workshop)?;
    }
    Ok(text)
}

/// Gives a text its place: a second name of the file or, where there is none to be had, a copy.
fn place(from: &Path, is_link: bool, to: &Path, workshop: &Path) -> Result<()> {
    if !is_link {
        match fs::hard_link(from, to) {
            Ok(()) => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                if let Some(dir) = to.parent() {
                    fs::create_dir_all(dir)
                        .map_err(|e| Error::io(e, "Can't create directory", dir))?;
                }
                if fs::hard_link(from, to).is_ok() {
                    return Ok(());
                }
            }
            Err(_) => {}
        }
    }
    let temporary = workshop.join("text");
    let _none = fs::remove_file(&temporary);
    fs::copy(from, &temporary).map_err(|e| Error::io(e, "Can't copy file", from))?;
    place_file(&temporary, to)
}
