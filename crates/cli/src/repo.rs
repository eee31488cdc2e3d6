//! Opening repositories by local path.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood_core::paths::FsPathBuf;
use sapwood_core::{SvnError, SvnResult};
use sapwood_fs::{Caches, OpenOptions};
use sapwood_repos::Repository;

use crate::option::{Options, name};
use crate::pegs::{Of, Part};
use crate::usage::{parse_number, usage_error};

/// Bytes of cache when `-M` does not say.
const DEFAULT_CACHE: usize = 32 << 20;
/// The same for work on every revision, which finds more and more of what it needs in the cache
/// up to about this size.
const LARGE_CACHE: usize = 256 << 20;

/// Whether `text` is a URL.
pub(crate) fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    })
}

/// A repository argument as a canonical local path.
pub(crate) fn local_path(arg: &str) -> SvnResult<String> {
    if is_url(arg) {
        return Err(usage_error(format!("'{arg}' is a URL when it should be a local path")));
    }
    Ok(canonical_path(&Of::all("svnadmin", Part::Repository).whole(arg)?))
}

/// A path in a repository, as `svnadmin` takes it.
pub(crate) fn fs_path(arg: &str) -> SvnResult<FsPathBuf> {
    let path = Of::all("svnadmin", Part::Target).whole(arg)?;
    Ok(FsPathBuf::canonicalize(&canonical_path(&path)))
}

/// A local path without doubled or trailing slashes and without `.` components; empty for the
/// current folder.
pub(crate) fn canonical_path(arg: &str) -> String {
    let parts: Vec<&str> = arg.split('/').filter(|p| !matches!(*p, "" | ".")).collect();
    let joined = parts.join("/");
    if arg.starts_with('/') { format!("/{joined}") } else { joined }
}

/// A canonical local path as it is shown.
pub(crate) fn local_style(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

/// Caches of the size that `-M` says, and how to open filesystems.
pub(crate) fn caches(options: &Options) -> SvnResult<(Arc<Caches>, OpenOptions)> {
    sized_caches(options, DEFAULT_CACHE)
}

fn sized_caches(options: &Options, default: usize) -> SvnResult<(Arc<Caches>, OpenOptions)> {
    let cache = match options.value(name::MEMORY_CACHE_SIZE)? {
        Some(text) => {
            let bytes = parse_number(&text)?.saturating_mul(1 << 20);
            sapwood_core::exact::clamped(bytes)
        }
        None => default,
    };
    let caches = Caches::new(cache);
    leave_to_the_system(&caches);
    Ok((caches, OpenOptions::default()))
}

/// Keeps caches to the end: the process ends soon after its work, and to take them apart first would
/// only cost time.
pub(crate) fn leave_to_the_system<T>(caches: &Arc<T>) {
    std::mem::forget(Arc::clone(caches));
}

/// Opens the repository at a canonical local path.
pub(crate) fn open(path: &str, options: &Options) -> SvnResult<Repository> {
    let (caches, open_options) = caches(options)?;
    Ok(Repository::open(Path::new(path), &caches, &open_options)?)
}

/// The same for work on every revision.
pub(crate) fn open_for_all(path: &str, options: &Options) -> SvnResult<Repository> {
    let (caches, open_options) = sized_caches(options, LARGE_CACHE)?;
    Ok(Repository::open(Path::new(path), &caches, &open_options)?)
}

/// The repositories in a folder, by name.
///
/// # Errors
/// Those of reading the folder.
pub(crate) fn repositories_in(folder: &Path) -> SvnResult<Vec<PathBuf>> {
    let failed = |e| SvnError::io(&e, format_args!("Can't read directory '{}'", folder.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if Repository::is_root(&path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        assert_eq!(local_path("./a//b/").unwrap(), "a/b");
        assert_eq!(local_path("/").unwrap(), "/");
        assert_eq!(local_path(".").unwrap(), "");
        assert_eq!(
            local_path("file:///x").unwrap_err().message(),
            "'file:///x' is a URL when it should be a local path"
        );
    }
}
