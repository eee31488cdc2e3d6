//! The repositories of a matrix: the same history in every format, packed and not, in one folder
//! that a server can serve. Made once, and found again by the next run.
//!
//! Invariant: a repository counts only when the note beside it says that it was finished, and from
//! what.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use sapwood_core::exact::Exact;
use sapwood_core::{CancelToken, SvnError, SvnResult};

use crate::axes::{Axis as _, Format, Packing};
use crate::programs::{self, Programs};
use crate::repo::{self, MakeOptions};

/// Where the history comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// It is made from a profile; format and packing of the options do not matter.
    Made(MakeOptions),
    /// It is another repository's: all of it.
    Loaded(PathBuf),
}

impl Source {
    /// A description.
    #[must_use]
    pub fn about(&self) -> String {
        match self {
            Self::Made(made) => format!(
                "profile {}, seed {}, scale {}: {} revisions",
                made.profile.name,
                made.seed,
                made.scale,
                made.revisions()
            ),
            Self::Loaded(path) => format!("the history of {}", path.display()),
        }
    }
}

/// The folder of the repositories.
#[derive(Debug)]
pub(crate) struct Repositories<'a> {
    pub(crate) folder: PathBuf,
    pub(crate) source: &'a Source,
    pub(crate) sapwood: &'a Programs,
    pub(crate) cancel: &'a CancelToken,
}

/// How old repositories are when they are measured, at least.
const MIN_AGE: Duration = Duration::from_millis(2_500);

/// Receives a line about each step.
pub type Say<'a> = dyn FnMut(&str) + 'a;

impl Repositories<'_> {
    /// The name of a repository.
    pub(crate) fn name(format: Format, packing: Packing) -> String {
        format!("{}-{}", format.name(), packing.name())
    }

    /// The path of a repository.
    pub(crate) fn path(&self, format: Format, packing: Packing) -> PathBuf {
        self.folder.join(Self::name(format, packing))
    }

    /// Makes a repository unless it exists; its size in bytes.
    pub(crate) fn provide(
        &self,
        format: Format,
        packing: Packing,
        say: &mut Say<'_>,
    ) -> SvnResult<u64> {
        let path = self.path(format, packing);
        let note = path.with_extension("made");
        let about = self.source.about();
        if fs::read_to_string(&note).is_ok_and(|found| found == about) {
            return Ok(size_of(&path));
        }
        say(&format!("making {}: {about}", Self::name(format, packing)));
        let _ = fs::remove_file(&note);
        let _ = fs::remove_file(path.with_extension("conf"));
        if path.exists() {
            fs::remove_dir_all(&path).map_err(|e| cannot("remove", &path, &e))?;
        }
        match packing {
            Packing::Packed => {
                self.provide(format, Packing::Unpacked, say)?;
                let unpacked = self.path(format, Packing::Unpacked);
                copy_tree(&unpacked, &path).map_err(|e| cannot("copy", &unpacked, &e))?;
                let mut pack = self.sapwood.command("svnadmin");
                pack.args(["pack", "-q"]).arg(&path);
                programs::measure(&mut pack, &self.complaints())?;
            }
            Packing::Unpacked => self.write(format, &path)?,
        }
        fs::write(&note, about).map_err(|e| cannot("write", &note, &e))?;
        Ok(size_of(&path))
    }

    /// Waits until the repositories are no longer new: a server cannot trust what it keeps of files
    /// that changed a moment ago, because the clock of the disk could hide another change.
    pub(crate) fn wait_until_idle(&self) {
        let young = |entry: fs::DirEntry| {
            let made = entry.metadata().and_then(|found| found.modified()).ok()?;
            // A time ahead of the clock is as young as can be.
            MIN_AGE.checked_sub(made.elapsed().unwrap_or(Duration::ZERO))
        };
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let notes = entries.filter(|entry| entry.path().extension().is_some_and(|e| e == "made"));
        std::thread::sleep(notes.filter_map(young).max().unwrap_or(Duration::ZERO));
    }

    fn write(&self, format: Format, path: &Path) -> SvnResult<()> {
        let number = match format {
            Format::F6 => 6,
            Format::F7 => 7,
            Format::F8 => 8,
            Format::Fsx => return self.write_fsx(path),
        };
        match self.source {
            Source::Made(made) => {
                let options = MakeOptions { format: number, pack: false, ..*made };
                repo::make(path, &options, &mut |_| Ok(()), self.cancel)
            }
            Source::Loaded(from) => self.load(from, format, path),
        }
    }

    /// Loads the history in FSX. One that is made is loaded from format 8: the generator writes FSFS only.
    fn write_fsx(&self, path: &Path) -> SvnResult<()> {
        match self.source {
            Source::Made(_) => {
                self.provide(Format::F8, Packing::Unpacked, &mut |_| ())?;
                let from = self.path(Format::F8, Packing::Unpacked);
                self.load(&from, Format::Fsx, path)
            }
            Source::Loaded(from) => self.load(from, Format::Fsx, path),
        }
    }

    /// Loads what `from` has into a new repository.
    fn load(&self, from: &Path, format: Format, path: &Path) -> SvnResult<()> {
        let mut create = self.sapwood.command("svnadmin");
        create.arg("create").args(match format {
            Format::F6 => ["--compatible-version", "1.8"],
            Format::F7 => ["--compatible-version", "1.9"],
            Format::F8 => ["--compatible-version", "1.10"],
            Format::Fsx => ["--fs-type", "fsx"],
        });
        programs::measure(create.arg(path), &self.complaints())?;
        let mut dump = self.sapwood.command("svnadmin");
        dump.args(["dump", "-q"]).arg(from).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut dump = dump.stderr(Stdio::null()).spawn().map_err(|e| cannot("dump", from, &e))?;
        let stream = dump.stdout.take().map_or_else(Stdio::null, Stdio::from);
        let mut load = self.sapwood.command("svnadmin");
        load.args(["load", "-q", "--no-flush-to-disk", "--bypass-prop-validation"]).arg(path);
        let loaded = programs::run(load.stdin(stream).stdout(Stdio::null()), &self.complaints());
        let dumped = dump.wait().map_err(|e| cannot("dump", from, &e))?;
        loaded?;
        if dumped.success() {
            return Ok(());
        }
        let message = format!("'{}' cannot be dumped", from.display());
        Err(SvnError::new(sapwood_core::ErrorCode::EXTERNAL_PROGRAM, message))
    }

    fn complaints(&self) -> PathBuf {
        self.folder.join("complaints")
    }
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> SvnError {
    SvnError::io(error, format_args!("Can't {what} '{}'", path.display()))
}

/// Copies a folder with all it holds; there are no links in a repository.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// The bytes of all files below a folder.
fn size_of(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else { return 0 };
    entries.flatten().fold(0, |sum, entry| {
        let size = match entry.metadata() {
            Ok(found) if found.is_dir() => size_of(&entry.path()),
            Ok(found) => found.len(),
            Err(_) => 0,
        };
        size.plus(sum)
    })
}
