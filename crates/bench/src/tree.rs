//! Example trees for measurements of working copies: directories and files made from a seed.
//!
//! The default is the size of the working copy in the published measurement of `svn status`:
//! 40,908 files in 5,334 directories, 250 MB. Invariant: seed, counts and size decide every name
//! and every byte, so that the same tree can be made again anywhere.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use sapwood_core::exact::{Exact, clamped, len64};
use sapwood_core::rng::Rng;
use sapwood_core::{CancelToken, ErrorCode, SvnError, SvnResult};

/// Bytes of text that the files' contents are cut out of.
const POOL: usize = 1 << 20;
/// The percentage of large files.
const LARGE_PERCENT: usize = 10;
/// The ratio of a large file's size to the mean.
const LARGE_FACTOR: u64 = 5;
/// The percentage of files that do not compress.
const BINARY_PERCENT: usize = 5;

/// Which tree to make.
#[derive(Clone, Debug)]
pub struct TreeOptions {
    /// Another tree for each number.
    pub seed: u64,
    /// The number of files.
    pub files: usize,
    /// The number of directories below the tree's own directory.
    pub directories: usize,
    /// Bytes of all files together, about.
    pub bytes: u64,
}

impl Default for TreeOptions {
    fn default() -> Self {
        Self { seed: 1, files: 40_908, directories: 5_334, bytes: 250_000_000 }
    }
}

/// Makes the tree in `folder`, which must not exist yet. `notify` is called with the number of
/// files written so far.
///
/// # Errors
/// E200015 when cancelled; system errors, an existing `folder` among them.
pub fn make_tree(
    folder: &Path,
    options: &TreeOptions,
    notify: &mut dyn FnMut(usize),
    cancel: &CancelToken,
) -> SvnResult<()> {
    let mut rng = Rng::new(options.seed);
    let directories = make_directories(folder, options.directories, &mut rng)?;
    let mut pool = Vec::with_capacity(POOL);
    while pool.len() < POOL {
        pool.extend_from_slice(rng.line().as_bytes());
    }
    let mut content = Vec::new();
    for number in 0..options.files {
        if cancel.is_cancelled() {
            return Err(SvnError::new(ErrorCode::CANCELLED, "Caught signal"));
        }
        // Every directory gets a file before any gets a second.
        let directory = directories.get(number).or_else(|| rng.choose(&directories));
        let name = format!("f{number}.{}", if rng.chance(BINARY_PERCENT) { "bin" } else { "txt" });
        fill(&mut content, &name, size_of(options, &mut rng), &pool, &mut rng);
        let path = directory.map_or_else(|| folder.join(&name), |d| d.join(&name));
        let written = File::create_new(&path).and_then(|mut file| file.write_all(&content));
        written.map_err(|e| SvnError::io(&e, format_args!("Can't write '{}'", path.display())))?;
        notify(number.plus(1));
    }
    Ok(())
}

/// The directories, each below one that was made before; early ones have more below them.
fn make_directories(folder: &Path, count: usize, rng: &mut Rng) -> SvnResult<Vec<PathBuf>> {
    let make = |path: &Path| {
        fs::create_dir(path)
            .map_err(|e| SvnError::io(&e, format_args!("Can't create '{}'", path.display())))
    };
    make(folder)?;
    let mut made = Vec::with_capacity(count);
    for number in 0..count {
        let parent = made.get(rng.skewed(number.plus(1)));
        let path = parent.map_or(folder, PathBuf::as_path).join(format!("d{number}"));
        make(&path)?;
        made.push(path);
    }
    Ok(made)
}

/// The size of one file: few are large, and all together have about the requested size.
fn size_of(options: &TreeOptions, rng: &mut Rng) -> usize {
    let files = len64(options.files.max(1));
    let mean = options.bytes / files;
    let scaled = if rng.chance(LARGE_PERCENT) {
        mean.saturating_mul(LARGE_FACTOR)
    } else {
        mean.saturating_mul(5) / 9
    };
    let scaled = clamped(scaled);
    rng.between(scaled / 2, scaled.saturating_add(scaled / 2))
}

/// The content of a file: a line of its own, so that no two files are alike, and a piece of the pool.
fn fill(content: &mut Vec<u8>, name: &str, size: usize, pool: &[u8], rng: &mut Rng) {
    content.clear();
    content.extend_from_slice(format!("{name} {:x}\n", rng.draw()).as_bytes());
    let rest = size.saturating_sub(content.len());
    if name.ends_with(".bin") {
        content.extend_from_slice(&rng.bytes(rest));
        return;
    }
    let start = rng.below(pool.len());
    content.extend(pool.iter().cycle().skip(start).take(rest));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(folder: &Path) -> (usize, usize, u64) {
        let mut sum = (0, 0, 0);
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                let below = count(&entry.path());
                sum = (sum.0 + below.0, sum.1 + below.1 + 1, sum.2 + below.2);
            } else {
                sum = (sum.0 + 1, sum.1, sum.2 + entry.metadata().unwrap().len());
            }
        }
        sum
    }

    #[test]
    fn a_tree_has_what_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let options = TreeOptions { seed: 3, files: 400, directories: 37, bytes: 800_000 };
        let mut told = 0;
        let cancel = CancelToken::new();
        make_tree(&folder.path().join("a"), &options, &mut |n| told = n, &cancel).unwrap();
        let (files, directories, bytes) = count(&folder.path().join("a"));
        assert_eq!((files, directories, told), (400, 37, 400));
        assert!((600_000..1_000_000).contains(&bytes), "{bytes} bytes");

        make_tree(&folder.path().join("b"), &options, &mut |_| {}, &cancel).unwrap();
        let differ = std::process::Command::new("diff")
            .args(["-r", "a", "b"])
            .current_dir(&folder)
            .status()
            .unwrap();
        assert!(differ.success(), "the same options make the same tree");
        let error =
            make_tree(&folder.path().join("b"), &options, &mut |_| {}, &cancel).unwrap_err();
        assert!(error.message().starts_with("Can't create"), "{error:?}");
    }
}
