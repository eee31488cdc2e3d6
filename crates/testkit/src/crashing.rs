//! A local storage on a machine that will crash.
//!
//! It lets the first N operations through and fails all later ones, as a killed process or a full
//! disk does; the last write is torn. Then [`CrashingStorage::crash`] brings the files to what such a crash
//! of the machine may leave: contents that were not synced are lost, and so are names.
//!
//! For each name that was made, replaced or removed, all that it stood for since it was last durable
//! is remembered, and a crash leaves it as any of these: whatever it does to other names, or, as a
//! journal does it, all as they were at one moment. What makes names durable is what does so on the
//! file systems of Linux:
//!
//! - syncing a folder: all names in it, and its own, if that is new;
//! - syncing a file: its own name, if that is new, and those of new folders above it (ext4, XFS and
//!   Btrfs do so, and the reference relies on it), but not that it was renamed since;
//! - syncing everything.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use sapwood_store::{HeldLock, LocalStorage, NewFile, Stamp, Storage, StoredFile, WriteStorage};

/// A new folder, in memory where the system has a place for that: syncs are simulated here, real
/// ones would only wait for the disk.
#[must_use]
pub fn memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// What a crash does to what was not synced.
#[derive(Clone, Copy, Debug)]
pub enum Loss {
    /// Nothing: only the process was killed.
    Nothing,
    /// Contents are lost, but no names.
    Contents,
    /// Contents and names are lost.
    Everything,
    /// Contents are lost, and all names are as they were at a moment that the number chooses.
    Since(u64),
    /// Each name is left as one of those things that it stood for; for odd numbers, contents become
    /// zeros instead of being cut off.
    Some(u64),
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Nothing,
    /// A number of [`Machine::files`].
    File(usize),
    Folder,
    /// A symbolic link: a number of [`Machine::links`].
    Link(usize),
}

/// What a machine that will crash knows.
#[derive(Debug)]
struct Machine {
    /// Operations that still work.
    left: u64,
    stopped: bool,
    /// Keeps each file that was touched, under its number, whatever becomes of its names.
    kept: tempfile::TempDir,
    /// How many bytes of each such file are safe.
    files: Vec<u64>,
    /// Those of them that something was appended to.
    written: BTreeSet<usize>,
    /// Where links lead to.
    links: Vec<PathBuf>,
    /// Whether the file system knows no symbolic links.
    no_links: bool,
    /// Names that are not durable: what each stood for when it was, and everything since.
    names: BTreeMap<PathBuf, Vec<(u64, Entry)>>,
    /// Names that files were moved to.
    moves: Vec<PathBuf>,
    /// Operations so far: what counts as time here.
    time: u64,
}

impl Machine {
    fn kept(&self, number: usize) -> PathBuf {
        self.kept.path().join(number.to_string())
    }

    fn len(&self, number: usize) -> u64 {
        fs::metadata(self.kept(number)).unwrap().len()
    }

    /// Keeps the file at `path`, of which `safe` bytes are durable.
    fn keep(&mut self, path: &Path, safe: u64) -> Entry {
        let number = self.files.len();
        fs::hard_link(path, self.kept(number)).unwrap();
        self.files.push(safe);
        Entry::File(number)
    }

    fn link(&mut self, target: PathBuf) -> Entry {
        self.links.push(target);
        Entry::Link(self.links.len() - 1)
    }

    /// What a name stands for at present.
    fn at(&mut self, path: &Path) -> Entry {
        if let Some(history) = self.names.get(path) {
            return history.last().unwrap().1;
        }
        match fs::symlink_metadata(path) {
            Err(_) => Entry::Nothing,
            Ok(meta) if meta.is_dir() => Entry::Folder,
            Ok(meta) if meta.is_symlink() => self.link(fs::read_link(path).unwrap()),
            Ok(meta) => self.keep(path, meta.len()),
        }
    }

    fn set(&mut self, path: &Path, before: Entry, now: Entry) {
        let history = self.names.entry(path.to_owned()).or_insert_with(|| vec![(0, before)]);
        history.push((self.time, now));
    }

    /// Whether a name that is not durable stands for this at present.
    fn is_new(&self, path: &Path, what: Entry) -> bool {
        self.names.get(path).is_some_and(|history| history.last().unwrap().1 == what)
    }

    /// New folders above `path` stay.
    fn settle_above(&mut self, path: &Path) {
        for folder in path.ancestors().skip(1) {
            if self.is_new(folder, Entry::Folder) {
                self.names.remove(folder);
            }
        }
    }

    fn settle_folder(&mut self, folder: &Path) {
        self.names.retain(|path, _| path.parent() != Some(folder));
        self.settle_above(&folder.join("any"));
    }

    fn settle_all(&mut self) {
        self.names.clear();
        for number in 0..self.files.len() {
            self.files[number] = self.len(number);
        }
    }

    fn settle_file(&mut self, number: usize, created_as: &Path) {
        self.files[number] = self.len(number);
        if self.is_new(created_as, Entry::File(number)) {
            self.names.remove(created_as);
            self.settle_above(created_as);
        }
    }
}

/// A local storage that stops working.
#[derive(Clone, Debug)]
pub struct CrashingStorage(Arc<Mutex<Machine>>);

impl CrashingStorage {
    /// One that lets `left` operations through.
    #[must_use]
    pub fn after(left: u64) -> Self {
        Self(Arc::new(Mutex::new(Machine {
            left,
            stopped: false,
            kept: memory(),
            files: Vec::new(),
            written: BTreeSet::new(),
            links: Vec::new(),
            no_links: false,
            names: BTreeMap::new(),
            moves: Vec::new(),
            time: 0,
        })))
    }

    /// One that never stops, without symbolic links.
    #[must_use]
    pub fn without_links() -> Self {
        let storage = Self::after(u64::MAX);
        storage.0.lock().unwrap().no_links = true;
        storage
    }

    /// How often a file was moved over one called `name`.
    #[must_use]
    pub fn moves_of(&self, name: &str) -> usize {
        self.0.lock().unwrap().moves.iter().filter(|to| to.ends_with(name)).count()
    }

    fn step(&self) -> io::Result<MutexGuard<'_, Machine>> {
        let mut machine = self.0.lock().unwrap();
        machine.time += 1;
        match machine.left.checked_sub(1) {
            Some(left) => machine.left = left,
            None => {
                machine.stopped = true;
                return Err(io::Error::other("stopped"));
            }
        }
        Ok(machine)
    }

    fn fragile(&self, path: &Path, number: Entry, inner: Box<dyn NewFile>) -> Box<dyn NewFile> {
        let Entry::File(number) = number else { panic!("{} is no file", path.display()) };
        Box::new(Fragile { inner, path: path.to_owned(), number, storage: self.clone() })
    }

    /// The machine crashes: what was not synced is lost, if it stopped or not. Whether it had.
    pub fn crash(&self, loss: Loss) -> bool {
        let machine = &mut *self.0.lock().unwrap();
        let zeros = matches!(loss, Loss::Some(seed) if seed % 2 == 1);
        for number in 0..machine.files.len() {
            let (safe, len) = (machine.files[number], machine.len(number));
            if safe < len && !matches!(loss, Loss::Nothing) {
                // SQLite writes `rep-cache.db` past this storage, and never syncs it, as with the
                // reference: it is empty then, and so as good as new.
                let zeros = zeros && machine.written.contains(&number);
                cut(&machine.kept(number), safe, zeros.then_some(len));
            }
        }
        let (mut seed, moment) = match loss {
            Loss::Some(seed) => (seed, 0),
            Loss::Since(seed) => (0, seed % (machine.time + 1)),
            _ => (0, 0),
        };
        let mut left_as = Vec::new();
        for (path, history) in std::mem::take(&mut machine.names) {
            let present = history.last().unwrap().1;
            let left = match loss {
                Loss::Nothing | Loss::Contents => present,
                Loss::Everything => history[0].1,
                Loss::Since(_) => history.iter().rfind(|(time, _)| *time <= moment).unwrap().1,
                Loss::Some(_) => {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
                    history[usize::try_from(seed >> 33).unwrap() % history.len()].1
                }
            };
            if left != present {
                left_as.push((path, present, left));
            }
        }
        // What is gone, from the leaves on, and then what is there again.
        for (path, present, _) in left_as.iter().rev() {
            match present {
                Entry::Nothing => {}
                Entry::File(_) | Entry::Link(_) => fs::remove_file(path).unwrap(),
                Entry::Folder => fs::remove_dir_all(path).unwrap(),
            }
        }
        for (path, _, left) in left_as {
            if !path.parent().unwrap().is_dir() {
                continue;
            }
            match left {
                Entry::Nothing => {}
                Entry::File(number) => fs::hard_link(machine.kept(number), path).unwrap(),
                Entry::Folder => fs::create_dir(path).unwrap(),
                Entry::Link(number) => symlink(&machine.links[number], path).unwrap(),
            }
        }
        machine.stopped
    }
}

/// Cuts a file off, or makes it `zeros` long with zeros.
fn cut(path: &Path, safe: u64, zeros: Option<u64>) {
    let permissions = fs::metadata(path).unwrap().permissions();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_len(safe).unwrap();
    if let Some(len) = zeros {
        file.set_len(len).unwrap();
    }
    fs::set_permissions(path, permissions).unwrap();
}

/// A file that is being written.
#[derive(Debug)]
struct Fragile {
    inner: Box<dyn NewFile>,
    path: PathBuf,
    number: usize,
    storage: CrashingStorage,
}

impl NewFile for Fragile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.storage.step() {
            Ok(mut machine) => {
                machine.written.insert(self.number);
                self.inner.append(bytes)
            }
            Err(error) => {
                // The last write is torn: half of it arrives.
                self.inner.append(&bytes[..bytes.len() / 2])?;
                Err(error)
            }
        }
    }
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        let mut machine = self.storage.step()?;
        let safe = &mut machine.files[self.number];
        *safe = len.min(*safe);
        self.inner.truncate(len)
    }
    fn set_mode(&mut self, mode: u32) -> io::Result<()> {
        let _machine = self.storage.step()?;
        self.inner.set_mode(mode)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.storage.step()?.settle_file(self.number, &self.path);
        Ok(())
    }
    fn sync_file_system(&mut self) -> io::Result<bool> {
        self.storage.step()?.settle_all();
        Ok(true)
    }
}

impl Storage for CrashingStorage {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
        LocalStorage.open(path)
    }
    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        LocalStorage.read(path, limit)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        LocalStorage.list(path)
    }
    fn stamp(&self, path: &Path) -> io::Result<Stamp> {
        LocalStorage.stamp(path)
    }
}

impl WriteStorage for CrashingStorage {
    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        let mut machine = self.step()?;
        let before = machine.at(path);
        let file = LocalStorage.create(path)?;
        let number = machine.keep(path, 0);
        machine.set(path, before, number);
        Ok(self.fragile(path, number, file))
    }
    fn create_over(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        let mut machine = self.step()?;
        let before = machine.at(path);
        let file = LocalStorage.create_over(path)?;
        let same = |number: &usize| {
            fs::metadata(machine.kept(*number)).unwrap().ino() == fs::metadata(path).unwrap().ino()
        };
        let number = match before {
            Entry::File(number) if same(&number) => {
                machine.files[number] = 0;
                before
            }
            _ => {
                let number = machine.keep(path, 0);
                machine.set(path, before, number);
                number
            }
        };
        Ok(self.fragile(path, number, file))
    }
    fn reopen(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        let mut machine = self.step()?;
        let file = LocalStorage.reopen(path)?;
        let number = machine.at(path);
        Ok(self.fragile(path, number, file))
    }
    fn rename(&self, from: &Path, to: &Path, sync: bool) -> io::Result<()> {
        {
            let mut machine = self.step()?;
            let (moved, over) = (machine.at(from), machine.at(to));
            assert_ne!(moved, Entry::Folder, "folders are not renamed: {}", from.display());
            LocalStorage.rename(from, to, false)?;
            machine.moves.push(to.to_owned());
            machine.set(from, moved, Entry::Nothing);
            machine.set(to, over, moved);
        }
        // Making the name durable is an operation of its own.
        if sync { self.sync_dir(to.parent().unwrap()) } else { Ok(()) }
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut machine = self.step()?;
        let before = machine.at(path);
        LocalStorage.remove_file(path)?;
        machine.set(path, before, Entry::Nothing);
        Ok(())
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let mut machine = self.step()?;
        let before = machine.at(path);
        LocalStorage.remove_dir(path)?;
        machine.set(path, before, Entry::Nothing);
        Ok(())
    }
    fn create_dir(&self, path: &Path, inherit_group: bool) -> io::Result<()> {
        let mut machine = self.step()?;
        let before = machine.at(path);
        LocalStorage.create_dir(path, inherit_group)?;
        machine.set(path, before, Entry::Folder);
        Ok(())
    }
    fn symlink(&self, target: &Path, path: &Path) -> io::Result<()> {
        let mut machine = self.step()?;
        if machine.no_links {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let before = machine.at(path);
        LocalStorage.symlink(target, path)?;
        let link = machine.link(target.to_owned());
        machine.set(path, before, link);
        Ok(())
    }
    fn mode(&self, path: &Path) -> io::Result<u32> {
        LocalStorage.mode(path)
    }
    fn copy_permissions(&self, from: &Path, to: &Path) -> io::Result<()> {
        let _machine = self.step()?;
        LocalStorage.copy_permissions(from, to)
    }
    fn set_read_only(&self, path: &Path) -> io::Result<()> {
        let _machine = self.step()?;
        LocalStorage.set_read_only(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.step()?.settle_folder(path);
        Ok(())
    }
    fn sync_all(&self, _: &Path) -> io::Result<()> {
        self.step()?.settle_all();
        Ok(())
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn HeldLock>> {
        LocalStorage.lock(path)
    }
    fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn HeldLock>>> {
        LocalStorage.try_lock(path)
    }
}
