//! Repositories for measurements, made from a profile and a seed.
//!
//! They are written by our own filesystem, one transaction a revision, and nothing is flushed to
//! the disk while that goes on. Invariant: profile, seed and scale decide about every byte that
//! can be seen through Subversion (the UUID and the dates too), so the dumps of two such
//! repositories are equal, in whatever format they are stored.

mod build;
mod deep;
mod office;
mod profile;
mod source;

use std::path::Path;

use sapwood_core::exact::{Cut, clamped};
use sapwood_core::{CancelToken, SvnError, SvnResult};
use sapwood_fs::admin::CreateOptions;
use sapwood_fs::admin::create::DEFAULT_SHARD_SIZE;
use sapwood_fs::admin::pack::PackOptions;
use sapwood_fs::{Caches, OpenOptions};
use sapwood_repos::Repository;
use sapwood_repos::create::{RepositoryOptions, create};

use build::Build;
pub use profile::{PROFILES, Profile, Targets};

/// The cache size for making a repository, in bytes: old texts are read back, and
/// most are of recent revisions.
const CACHE: usize = 256 << 20;

/// The repository to make.
#[derive(Clone, Copy, Debug)]
pub struct MakeOptions {
    /// The kind of history.
    pub profile: &'static Profile,
    /// The other parameters.
    pub seed: u64,
    /// How long it is and how large its tree is, 1 being the profile's own size.
    pub scale: f64,
    /// The filesystem's format, 3 to 8.
    pub format: u32,
    /// Whether complete shards are packed.
    pub pack: bool,
}

impl MakeOptions {
    /// A whole repository of the newest format.
    #[must_use]
    pub fn new(profile: &'static Profile) -> Self {
        let format = CreateOptions::default().format;
        Self { profile, seed: 1, scale: 1.0, format, pack: false }
    }

    /// The number of revisions in the end.
    #[must_use]
    pub fn revisions(&self) -> usize {
        scaled(self.profile.revisions, self.scale).max(profile::FEWEST_REVISIONS)
    }

    /// The repository's UUID, which says what it was made of.
    #[must_use]
    pub fn uuid(&self) -> String {
        let text = format!("{} {} {}", self.profile.name, self.seed, self.scale);
        let hex = sapwood_core::Md5::of(text.as_bytes()).to_hex();
        let part = |range: std::ops::Range<usize>| hex.piece(range);
        let parts = [part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)];
        parts.join("-")
    }
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The number of finished revisions, and of all revisions.
    Revision(usize, usize),
    /// The shards are being packed.
    Packing,
}

/// Receives the progress.
pub type Notify<'a> = dyn FnMut(Progress) -> SvnResult<()> + 'a;

/// Makes a repository in the folder `path`, which must not exist or be empty.
///
/// # Errors
/// What creating a repository and writing to it meet; E200015 when cancelled. What was written
/// until then stays.
pub fn make(
    path: &Path,
    options: &MakeOptions,
    notify: &mut Notify<'_>,
    cancel: &CancelToken,
) -> SvnResult<()> {
    let fs = CreateOptions { format: options.format, flush_to_disk: false, ..Default::default() };
    create(path, &RepositoryOptions { fs, compatible_minor: None }).map_err(SvnError::from)?;
    let repository = Repository::open(path, &Caches::new(CACHE), &OpenOptions::default())
        .map_err(SvnError::from)?;
    let mut build = Build::new(&repository, options, notify, cancel)?;
    match options.profile.kind {
        profile::Kind::Source(shape) => source::write(&mut build, shape, options.scale)?,
        profile::Kind::Office => office::write(&mut build)?,
        profile::Kind::Deep => deep::write(&mut build)?,
    }
    let fs = build.filesystem();
    drop(build);
    let shard = clamped(DEFAULT_SHARD_SIZE);
    if options.pack && options.revisions() >= shard {
        notify(Progress::Packing)?;
        let quiet = PackOptions { flush_to_disk: false, ..Default::default() };
        fs.pack(&quiet, cancel, &mut |_| Ok(()))?;
    }
    Ok(())
}

/// A size of a profile at a scale, at least 1.
#[allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a float times a small whole number: what it is cut to does not matter, and `as` \
              saturates"
)]
fn scaled(size: usize, scale: f64) -> usize {
    ((size as f64 * scale).round() as usize).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::FsPath;
    use sapwood_repos::dump::{DumpOptions, dump};

    fn fixture(options: &MakeOptions) -> (tempfile::TempDir, Repository) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r");
        let mut last = 0;
        let mut notify = |progress| {
            if let Progress::Revision(at, of) = progress {
                assert_eq!(at, last + 1);
                assert_eq!(of, options.revisions());
                last = at;
            }
            Ok(())
        };
        make(&path, options, &mut notify, &CancelToken::default()).unwrap();
        assert_eq!(last, options.revisions());
        let repository =
            Repository::open(&path, &Caches::new(16 << 20), &OpenOptions::default()).unwrap();
        assert_eq!(repository.fs().youngest().unwrap().0, u64::try_from(last).unwrap());
        (folder, repository)
    }

    fn dumped(repository: &Repository) -> Vec<u8> {
        let mut out = Vec::new();
        let cancel = CancelToken::new();
        let options = DumpOptions {
            start: None,
            end: None,
            incremental: false,
            deltas: false,
            changes: false,
            notices: false,
            filter: None,
            cancel: &cancel,
            threads: 1,
        };
        dump(repository, &options, &mut out, &mut |_| ()).unwrap();
        out
    }

    #[test]
    fn a_seed_is_a_history_in_every_format() {
        let mut uuids = std::collections::BTreeSet::new();
        for profile in PROFILES {
            let small = MakeOptions { scale: profile.smallest(), ..MakeOptions::new(profile) };
            let (_a, first) = fixture(&small);
            let (_b, again) = fixture(&MakeOptions { format: 6, ..small });
            let dump = dumped(&first);
            assert_eq!(again.fs().format().number, 6);
            assert!(dump == dumped(&again), "{}: the seed does not decide", profile.name);
            assert!(uuids.insert(first.fs().uuid().unwrap()));
            // The paths for the requests exist.
            let root = first.fs().revision_root(first.fs().youngest().unwrap()).unwrap();
            let targets = profile.targets;
            assert_eq!(
                root.kind(FsPath::new(targets.tree).unwrap()).unwrap(),
                Some(sapwood_core::NodeKind::Dir)
            );
            assert_eq!(
                root.kind(FsPath::new(targets.file).unwrap()).unwrap(),
                Some(sapwood_core::NodeKind::File)
            );
        }
    }

    #[test]
    fn another_seed_is_another_history() {
        let ruby = Profile::find("ruby").unwrap();
        let small = MakeOptions { scale: 0.0, ..MakeOptions::new(ruby) };
        let (_a, first) = fixture(&small);
        let (_b, other) = fixture(&MakeOptions { seed: 2, ..small });
        let without_head = |dump: Vec<u8>| dump.get(120..).unwrap().to_vec();
        assert!(without_head(dumped(&first)) != without_head(dumped(&other)));
    }

    #[test]
    fn complete_shards_are_packed() {
        let ruby = Profile::find("ruby").unwrap();
        let options =
            MakeOptions { scale: 1_005.0 / 46_000.0, pack: true, ..MakeOptions::new(ruby) };
        let (_folder, repository) = fixture(&options);
        assert_eq!(repository.fs().min_unpacked_rev().unwrap().0, 1_000);
        assert_eq!(repository.fs().uuid().unwrap(), options.uuid());
    }

    #[test]
    fn scales() {
        assert_eq!(scaled(100, 0.25), 25);
        assert_eq!(scaled(100, 0.0), 1);
        assert_eq!(scaled(100, 2.0), 200);
    }
}
