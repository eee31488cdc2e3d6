//! Shelves on disk: local changes that were put aside, in `.svn/experimental/shelves`. Two store formats are
//! supported, `v2` and `v3`; `docs/formats/shelves.md` describes both.
//!
//! This module has what they share: a shelf has a name, numbered versions, and properties like those of a
//! revision. [`mod@v2`] reads and writes the contents of a version; a version of `v3` is a working copy. A
//! version is visible to other programs while its number is at most that in `NAME.current`: it is complete
//! before that file is written, and removed afterwards.
//!
//! Nothing here follows a symbolic link: the contents of these directories may come from an
//! untrusted source.

mod name;
pub mod v2;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sapwood_core::exact::{Exact as _, len64};
use sapwood_core::{ErrorCode, PropList, hashdump};

use crate::error::{Error, Result};
use crate::files::{move_into_place, remove_tree};
use crate::layout;
use crate::root::{Disk, WorkingCopy, disk_kind};

/// What ends a list of revision properties.
const END: &str = "PROPS-END";
/// The suffix of the file with the number of the newest version.
const CURRENT: &str = ".current";
/// At most so many bytes are read of a number or a line of states.
const LINE_LIMIT: u64 = 80;
/// At most so many bytes are read of a list of properties.
const PROPS_LIMIT: u64 = 1 << 30;

/// Where and how changes are put aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Of each changed node the old and the new text and properties.
    V2,
    /// Working copies with the changes in them.
    V3,
}

impl Store {
    /// The name of its folder.
    #[must_use]
    pub const fn folder(self) -> &'static str {
        match self {
            Self::V2 => "v2",
            Self::V3 => "v3",
        }
    }

    /// How the names of its versions end.
    const fn suffix(self) -> &'static str {
        match self {
            Self::V2 => ".d",
            Self::V3 => ".wc",
        }
    }
}

/// A shelf.
#[derive(Clone, Debug)]
pub struct Shelf {
    wc: WorkingCopy,
    store: Store,
    name: String,
    code: String,
    dir: PathBuf,
    revprops: PropList,
    newest: u32,
}

/// A version of a shelf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Its number, from 1 on.
    pub number: u32,
    /// Its folder.
    pub path: PathBuf,
    /// When it was made.
    pub made: SystemTime,
}

/// A shelf of a working copy, as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShelfEntry {
    /// Its name.
    pub name: String,
    /// When a version was last made or thrown away.
    pub changed: SystemTime,
}

/// The directory of a store; `None` when there is none. Symbolic links are refused in all parts of
/// the path.
fn folder(disk: &Disk, store: Store) -> Result<Option<PathBuf>> {
    let mut dir = layout::adm(disk.root());
    for name in [layout::EXPERIMENTAL, "shelves", store.folder()] {
        dir.push(name);
        match disk_kind(&dir)? {
            None => return Ok(None),
            Some(kind) if kind.is_dir() => {}
            Some(_) => return Err(no_directory(&dir)),
        }
    }
    Ok(Some(dir))
}

fn no_directory(path: &Path) -> Error {
    Error::new(ErrorCode::WC_OBSTRUCTED_UPDATE, format!("'{}' is not a directory", path.display()))
}

/// A file that is read up to a limit; a link is no file. `None` when it is not there.
fn read(path: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
    match disk_kind(path)? {
        None => return Ok(None),
        Some(kind) if kind.is_file() => {}
        Some(_) => {
            let message = format!("'{}' is not a file", path.display());
            return Err(Error::new(ErrorCode::WC_OBSTRUCTED_UPDATE, message));
        }
    }
    read_file(path, limit)
}

/// The same of what was seen to be a plain file.
fn read_file(path: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
    let failed = |e| Error::io(e, "Can't read file", path);
    let file = match fs::File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|e| Error::io(e, "Can't open file", path))?,
    };
    let mut bytes = Vec::new();
    file.take(limit.plus(1)).read_to_end(&mut bytes).map_err(failed)?;
    if len64(bytes.len()) > limit {
        let message = format!("'{}' is too long", path.display());
        return Err(Error::new(ErrorCode::MALFORMED_FILE, message));
    }
    Ok(Some(bytes))
}

/// The shelves of a store, the most recently changed one first.
///
/// # Errors
/// That the folder cannot be read.
pub fn list(wc: &WorkingCopy, store: Store) -> Result<Vec<ShelfEntry>> {
    let Some(dir) = folder(wc.disk(), store)? else { return Ok(Vec::new()) };
    let failed = |e| Error::io(e, "Can't read directory", &dir);
    let mut found = Vec::new();
    for entry in fs::read_dir(&dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let file = entry.file_name();
        let code = file.to_str().and_then(|name| name.strip_suffix(CURRENT));
        let Some(name) = code.and_then(name::decode) else { continue };
        let metadata = entry.metadata().map_err(failed)?;
        if metadata.is_file() {
            found.push(ShelfEntry { name, changed: metadata.modified().map_err(failed)? });
        }
    }
    found.sort_by(|a, b| a.changed.cmp(&b.changed).then_with(|| a.name.cmp(&b.name)));
    Ok(found)
}

impl Shelf {
    /// Opens a shelf.
    ///
    /// # Errors
    /// E200009 when there is no such shelf; E125014 for the empty name.
    pub fn open(wc: &WorkingCopy, store: Store, name: &str) -> Result<Self> {
        Self::find(wc, store, name)?.ok_or_else(|| {
            Error::new(ErrorCode::ILLEGAL_TARGET, format!("Shelf '{name}' not found"))
        })
    }

    /// Opens a shelf; `None` when there is none of this name.
    ///
    /// # Errors
    /// E125014 for the empty name; that files cannot be read.
    pub fn find(wc: &WorkingCopy, store: Store, name: &str) -> Result<Option<Self>> {
        let mut shelf = Self::new(wc, store, name)?;
        if folder(wc.disk(), store)?.is_none() {
            return Ok(None);
        }
        if let Some(bytes) = read(&shelf.file(".log"), PROPS_LIMIT)? {
            shelf.revprops = parse_props(&bytes, Some(END))?;
        }
        // A file without a number counts as missing, as with the reference.
        let line = read(&shelf.file(CURRENT), LINE_LIMIT).ok().flatten();
        let number = line.and_then(|line| {
            let text = String::from_utf8(line).ok()?;
            text.strip_suffix('\n')?.parse::<u32>().ok().filter(|n| i32::try_from(*n).is_ok())
        });
        let Some(number) = number else { return Ok(None) };
        shelf.newest = number;
        Ok(Some(shelf))
    }

    /// Opens a shelf, and makes one without versions if there is none of this name. A dry run makes nothing.
    ///
    /// # Errors
    /// As [`Shelf::find`]; that files cannot be made.
    pub fn open_or_create(
        wc: &WorkingCopy,
        store: Store,
        name: &str,
        dry_run: bool,
    ) -> Result<Self> {
        if let Some(shelf) = Self::find(wc, store, name)? {
            return Ok(shelf);
        }
        let shelf = Self::new(wc, store, name)?;
        if !dry_run {
            fs::create_dir_all(&shelf.dir)
                .map_err(|e| Error::io(e, "Can't create directory", &shelf.dir))?;
            // What a shelf of this name left when it went, or when its first version was cut short.
            shelf.remove_versions(0)?;
            shelf.write_current()?;
        }
        Ok(shelf)
    }

    fn new(wc: &WorkingCopy, store: Store, name: &str) -> Result<Self> {
        let dir = layout::adm(wc.root()).join(layout::EXPERIMENTAL).join("shelves");
        Ok(Self {
            wc: wc.clone(),
            store,
            name: name.to_owned(),
            code: name::encode(name)?,
            dir: dir.join(store.folder()),
            revprops: PropList::new(),
            newest: 0,
        })
    }

    /// Its working copy.
    #[must_use]
    pub const fn wc(&self) -> &WorkingCopy {
        &self.wc
    }

    /// Where it is kept.
    #[must_use]
    pub const fn store(&self) -> Store {
        self.store
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of its newest version; 0 when it has none.
    #[must_use]
    pub const fn newest(&self) -> u32 {
        self.newest
    }

    /// Its properties: the log message, and what else was set.
    #[must_use]
    pub const fn revprops(&self) -> &PropList {
        &self.revprops
    }

    fn file(&self, end: &str) -> PathBuf {
        self.dir.join(format!("{}{end}", self.code))
    }

    fn version_path(&self, number: u32) -> PathBuf {
        self.file(&format!("-{number:03}{}", self.store.suffix()))
    }

    /// A version.
    ///
    /// # Errors
    /// E200009 when it is not there.
    pub fn version(&self, number: u32) -> Result<Version> {
        let path = self.version_path(number);
        // What lies there beyond the newest was never completed.
        let found = if number > self.newest { None } else { disk_kind(&path)? };
        match found {
            None => Err(self.no_version(&number.to_string())),
            Some(kind) if !kind.is_dir() => Err(no_directory(&path)),
            Some(_) => {
                let failed = |e| Error::io(e, "Can't stat", &path);
                let made = fs::symlink_metadata(&path).and_then(|m| m.modified());
                Ok(Version { number, made: made.map_err(failed)?, path })
            }
        }
    }

    /// E200009: there is no version of this number.
    #[must_use]
    pub fn no_version(&self, number: &str) -> Error {
        let message = format!("Shelf '{}' version {number} not found", self.name);
        Error::new(ErrorCode::ILLEGAL_TARGET, message)
    }

    /// The newest version, if there is one.
    ///
    /// # Errors
    /// E200009 when the one that should be there is not.
    pub fn newest_version(&self) -> Result<Option<Version>> {
        if self.newest == 0 { Ok(None) } else { self.version(self.newest).map(Some) }
    }

    /// Takes a complete directory as a new version, and records that it is the newest.
    ///
    /// # Errors
    /// That files cannot be moved.
    pub(crate) fn add_version(&mut self, folder: &Path) -> Result<Version> {
        let number = self.next()?;
        let path = self.version_path(number);
        move_into_place(folder, &path)?;
        self.publish(number)
    }

    /// The number of the next version. What was left there by a program that was stopped is removed.
    ///
    /// # Errors
    /// E200009 when there is no such number; that files cannot be removed.
    fn next(&self) -> Result<u32> {
        let next = self.following()?;
        self.remove_versions(self.newest)?;
        Ok(next)
    }

    fn following(&self) -> Result<u32> {
        let next = self.newest.checked_add(1).filter(|n| i32::try_from(*n).is_ok());
        next.ok_or_else(|| self.no_version("2147483648"))
    }

    fn publish(&mut self, number: u32) -> Result<Version> {
        let before = self.newest;
        self.newest = number;
        if let Err(error) = self.write_current() {
            self.newest = before;
            return Err(error);
        }
        self.version(number)
    }

    /// The path of the next version, for stores that make it in place.
    ///
    /// # Errors
    /// As [`Shelf::add_version`].
    pub fn next_place(&self) -> Result<PathBuf> {
        Ok(self.version_path(self.next()?))
    }

    /// Records that the version at [`Shelf::next_place`] is complete.
    ///
    /// # Errors
    /// That files cannot be written.
    pub fn complete(&mut self) -> Result<Version> {
        let number = self.following()?;
        self.publish(number)
    }

    /// Removes the versions after one; 0 for all.
    ///
    /// # Errors
    /// That files cannot be written or removed.
    pub fn keep_up_to(&mut self, number: u32) -> Result<()> {
        self.newest = number;
        self.write_current()?;
        self.remove_versions(number)
    }

    /// Throws the shelf away.
    ///
    /// # Errors
    /// That files cannot be removed.
    pub fn delete(self) -> Result<()> {
        for end in [CURRENT, ".log"] {
            let file = self.file(end);
            match fs::remove_file(&file) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::io(e, "Can't remove file", &file));
                }
                _ => {}
            }
        }
        self.remove_versions(0)
    }

    /// Removes directories of versions after one, even if the shelf does not list them.
    fn remove_versions(&self, number: u32) -> Result<()> {
        let failed = |e| Error::io(e, "Can't read directory", &self.dir);
        for entry in fs::read_dir(&self.dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let file = entry.file_name();
            let rest = file.to_str().and_then(|name| name.strip_prefix(&self.code));
            let digits = rest
                .and_then(|rest| rest.strip_prefix('-')?.strip_suffix(self.store.suffix()))
                .and_then(|digits| digits.parse::<u32>().ok());
            if digits.is_none_or(|found| found <= number) {
                continue;
            }
            let path = entry.path();
            match entry.file_type().map_err(failed)?.is_dir() {
                true => remove_tree(&path)?,
                false => {
                    fs::remove_file(&path).map_err(|e| Error::io(e, "Can't remove file", &path))?
                }
            }
        }
        Ok(())
    }

    fn write_current(&self) -> Result<()> {
        self.write_file(CURRENT, format!("{}\n", self.newest).as_bytes(), true)
    }

    /// Sets all properties.
    ///
    /// # Errors
    /// That the file cannot be written.
    pub fn set_revprops(&mut self, revprops: PropList) -> Result<()> {
        let mut bytes = Vec::new();
        hashdump::write(&mut bytes, &revprops, Some(END));
        self.write_file(".log", &bytes, false)?;
        self.revprops = revprops;
        Ok(())
    }

    fn write_file(&self, end: &str, bytes: &[u8], read_only: bool) -> Result<()> {
        let path = self.file(end);
        let temporary = self.wc.temporary();
        let failed = |e| Error::io(e, "Can't write to file", &temporary);
        fs::write(&temporary, bytes).map_err(failed)?;
        if read_only {
            let mode = fs::metadata(&temporary).map_err(failed)?.permissions().mode();
            let mode = fs::Permissions::from_mode(mode & 0o7555);
            fs::set_permissions(&temporary, mode).map_err(failed)?;
        }
        move_into_place(&temporary, &path).inspect_err(|_| {
            // What stays here is for cleanup.
            let _removed = fs::remove_file(&temporary);
        })
    }
}

/// A list of properties.
fn parse_props(bytes: &[u8], end: Option<&str>) -> Result<PropList> {
    hashdump::parse(bytes, end).map_err(|e| Error::Svn(e.into()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::Options;

    fn fixture() -> (tempfile::TempDir, WorkingCopy) {
        let folder = tempfile::tempdir().unwrap();
        let wc = WorkingCopy::create(folder.path(), Options::default()).unwrap();
        (folder, wc)
    }

    #[test]
    fn versions_come_and_go() {
        let (folder, wc) = fixture();
        assert!(list(&wc, Store::V2).unwrap().is_empty());
        let mut shelf = Shelf::open_or_create(&wc, Store::V2, "a", false).unwrap();
        for number in 1..=3 {
            let new = wc.temporary();
            fs::create_dir(&new).unwrap();
            assert_eq!(shelf.add_version(&new).unwrap().number, number);
        }
        let place = folder.path().join(".svn/experimental/shelves/v2");
        assert_eq!(fs::read(place.join("61.current")).unwrap(), b"3\n");
        // Left by a program that was killed before it recorded it: it is not treated as a version.
        fs::create_dir(place.join("61-004.d")).unwrap();
        fs::write(place.join("61-004.d/stale.meta"), b"").unwrap();
        let new = wc.temporary();
        fs::create_dir(&new).unwrap();
        let fourth = shelf.add_version(&new).unwrap();
        assert_eq!(fs::read_dir(&fourth.path).unwrap().count(), 0);
        shelf.keep_up_to(2).unwrap();
        assert!(shelf.version(3).is_err() && shelf.version(2).is_ok());
        let mut props = PropList::new();
        props.set("svn:log", "text");
        shelf.set_revprops(props.clone()).unwrap();
        let again = Shelf::open(&wc, Store::V2, "a").unwrap();
        assert_eq!((again.newest(), again.revprops()), (2, &props));
        assert_eq!(list(&wc, Store::V2).unwrap().first().unwrap().name, "a");
        again.delete().unwrap();
        assert!(Shelf::find(&wc, Store::V2, "a").unwrap().is_none());
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
    }

    #[test]
    fn a_dry_run_makes_nothing() {
        let (folder, wc) = fixture();
        Shelf::open_or_create(&wc, Store::V3, "a", true).unwrap();
        assert!(!folder.path().join(".svn/experimental").exists());
    }

    #[test]
    fn links_and_odd_numbers_are_no_shelves() {
        let (folder, wc) = fixture();
        let outside = tempfile::tempdir().unwrap();
        let shelves = folder.path().join(".svn/experimental/shelves");
        fs::create_dir_all(shelves.join("v2")).unwrap();
        for text in ["", "1", "x\n", "-1\n", "99999999999\n", "2147483648\n"] {
            fs::write(shelves.join("v2/61.current"), text).unwrap();
            assert!(Shelf::find(&wc, Store::V2, "a").unwrap().is_none(), "{text:?}");
        }
        fs::write(shelves.join("v2/61.current"), "2147483647\n").unwrap();
        std::os::unix::fs::symlink(outside.path(), shelves.join("v2/61-001.d")).unwrap();
        let mut shelf = Shelf::open(&wc, Store::V2, "a").unwrap();
        assert!(shelf.version(1).is_err());
        let new = wc.temporary();
        fs::create_dir(&new).unwrap();
        assert!(shelf.add_version(&new).is_err());
        fs::write(outside.path().join("kept"), "").unwrap();
        shelf.delete().unwrap();
        assert!(outside.path().join("kept").exists());
        // The folder itself leads elsewhere.
        fs::remove_dir_all(shelves.join("v2")).unwrap();
        std::os::unix::fs::symlink(outside.path(), shelves.join("v2")).unwrap();
        assert!(Shelf::find(&wc, Store::V2, "a").is_err());
        assert!(list(&wc, Store::V2).is_err());
    }
}
