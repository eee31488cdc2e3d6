//! The base texts of an old working copy, brought into a store of today.
//!
//! A text is never changed in its file, only replaced, so the store gets a second name of the file
//! instead of a copy where that is possible: only the checksums are to be made.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sapwood_core::Sha1;
use sapwood_core::checksum::{Md5Hasher, Sha1Hasher};
use sapwood_core::exact::{Cut, Exact, len64};

use super::layers::{Text, TextsByName};
use crate::error::{Error, Result};
use crate::layout;
use crate::pristine::place_file;

/// Bytes that are read at a time.
const CHUNK: usize = 64 << 10;

/// The texts of a directory.
#[derive(Debug, Default)]
pub(super) struct DirTexts {
    /// What they are, by the name of the file that they are of.
    pub(super) by_name: TextsByName,
    /// Each, and how long it is.
    pub(super) all: Vec<(Text, u64)>,
}

/// Brings texts into the store of a workshop, as others do at the same time.
pub(super) struct Texts<'w> {
    workshop: &'w Path,
    /// Where copies are made.
    temporary: PathBuf,
    /// Those that this one brought.
    known: HashSet<Sha1>,
    chunk: Vec<u8>,
}

impl<'w> Texts<'w> {
    /// Into a store that was empty; each of those who bring texts has a number.
    pub(super) fn new(workshop: &'w Path, number: usize) -> Self {
        let temporary = workshop.join(format!("text{number}"));
        Self { workshop, temporary, known: HashSet::new(), chunk: vec![0; CHUNK] }
    }

    /// Brings the texts of a directory.
    ///
    /// # Errors
    /// That a file cannot be read or a folder not be made.
    pub(super) fn bring(&mut self, dir: &Path) -> Result<DirTexts> {
        let folder = layout::adm(dir).join("text-base");
        let mut brought = DirTexts::default();
        for (name, is_link) in files_in(&folder)? {
            let (text, size) = self.bring_one(&folder.join(&name), is_link)?;
            brought.all.push((text, size));
            let texts = &mut brought.by_name;
            if let Some(node) = name.strip_suffix(".svn-revert").filter(|node| !node.is_empty()) {
                texts.entry(node.to_owned()).or_default().revert = Some(text);
            } else if let Some(node) =
                name.strip_suffix(".svn-base").filter(|node| !node.is_empty())
            {
                texts.entry(node.to_owned()).or_default().normal = Some(text);
            }
        }
        Ok(brought)
    }

    fn bring_one(&mut self, path: &Path, is_link: bool) -> Result<(Text, u64)> {
        let (mut sha1, mut md5, mut size) = (Sha1Hasher::new(), Md5Hasher::new(), 0u64);
        let failed = |error| Error::io(error, "Can't read file", path);
        let mut file = File::open(path).map_err(|e| Error::io(e, "Can't open file", path))?;
        loop {
            let count = file.read(&mut self.chunk).map_err(failed)?;
            let read = self.chunk.head(count);
            if read.is_empty() {
                break;
            }
            sha1.update(read);
            md5.update(read);
            size = size.plus(len64(count));
        }
        let text = (sha1.finish(), md5.finish());
        if self.known.insert(text.0) {
            let to = layout::pristine(self.workshop, &text.0);
            place(path, is_link, &to, &self.temporary)?;
        }
        Ok((text, size))
    }
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

/// Puts a text into the store: a hard link to the file or, where that is not possible, a copy. An existing
/// file there is the same text, complete.
fn place(from: &Path, is_link: bool, to: &Path, temporary: &Path) -> Result<()> {
    if !is_link {
        let linked = match fs::hard_link(from, to) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                if let Some(dir) = to.parent() {
                    fs::create_dir_all(dir)
                        .map_err(|e| Error::io(e, "Can't create directory", dir))?;
                }
                fs::hard_link(from, to)
            }
            linked => linked,
        };
        match linked {
            Ok(()) => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            Err(_) => {}
        }
    }
    let _none = fs::remove_file(temporary);
    fs::copy(from, temporary).map_err(|e| Error::io(e, "Can't copy file", from))?;
    place_file(temporary, to)
}
