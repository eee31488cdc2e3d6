//! Where authz and groups files are read from: the local disk, or the youngest revision of a
//! repository (`file:///path/to/repository/path/in/it`).

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood_core::FsPath;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ErrorCode, NodeKind, SvnError, SvnResult};
use sapwood_fs::{Caches, OpenOptions};

use super::Authz;
use crate::repository::Repository;

/// The largest authz or groups file that is read, in bytes.
const MAX_FILE: u64 = 256 << 20;

/// How to read configuration files that may lie in repositories.
#[derive(Debug)]
pub struct ConfigSource<'a> {
    /// Shared with every repository that is opened.
    pub caches: &'a Arc<Caches>,
    /// How to open repositories.
    pub options: &'a OpenOptions,
    /// Whether a file that is not there is an error, or empty.
    pub must_exist: bool,
}

fn not_a_file(path: &str) -> SvnError {
    SvnError::new(ErrorCode::ILLEGAL_TARGET, format!("'{path}' is not a file"))
}

fn too_large(path: &str) -> SvnError {
    SvnError::new(ErrorCode::AUTHZ_INVALID_CONFIG, format!("'{path}' is too large"))
}

/// The local path of a `file://` URL.
fn local_path(url: &str) -> SvnResult<PathBuf> {
    let bad =
        |why: &str| SvnError::new(ErrorCode::RA_ILLEGAL_URL, format!("Local URL '{url}' {why}"));
    let rest =
        url.strip_prefix("file://").ok_or_else(|| bad("does not contain 'file://' prefix"))?;
    let path = rest.strip_prefix("localhost").filter(|p| p.starts_with('/')).unwrap_or(rest);
    if !path.starts_with('/') {
        let why = if path.is_empty() {
            "contains only a hostname, no path"
        } else {
            "contains unsupported hostname"
        };
        return Err(bad(why));
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first == b'%'
            && let Some((hex, after)) = rest.split_at_checked(2)
            && let Ok(hex) = std::str::from_utf8(hex)
            && let Ok(byte) = u8::from_str_radix(hex, 16)
        {
            bytes.push(byte);
            rest = after;
        } else {
            bytes.push(first);
        }
    }
    let path = String::from_utf8(bytes).map_err(|_| bad("is not UTF-8"))?;
    Ok(PathBuf::from(path))
}

/// Whether `target` is a URL: a scheme and `://`.
fn is_url(target: &str) -> bool {
    target.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    })
}

impl ConfigSource<'_> {
    /// The contents of the file at `target`, a local path or a `file://` URL into a repository.
    ///
    /// # Errors
    /// E200009 for a node that is no file, E170000 for other URLs, and errors of reading.
    pub fn load(&self, target: &str) -> SvnResult<Vec<u8>> {
        if is_url(target) { self.load_from_repository(target) } else { self.load_local(target) }
    }

    fn load_local(&self, target: &str) -> SvnResult<Vec<u8>> {
        let path = Path::new(target);
        let metadata = match std::fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return self.missing(target),
            Err(e) => return Err(SvnError::io(&e, format!("Can't check path '{target}'"))),
        };
        // Pipes and devices are read as files are.
        if metadata.is_dir() {
            return Err(not_a_file(target));
        }
        let file = sapwood_store::handles::with_room(|| std::fs::File::open(path))
            .map_err(|e| SvnError::io(&e, format!("Can't open file '{target}'")))?;
        read_limited(file, target)
    }

    fn missing(&self, target: &str) -> SvnResult<Vec<u8>> {
        if self.must_exist { Err(not_a_file(target)) } else { Ok(Vec::new()) }
    }

    fn load_from_repository(&self, url: &str) -> SvnResult<Vec<u8>> {
        let path = local_path(url)?;
        let Some(top) = Repository::find_root(&path) else { return self.missing(url) };
        let inner = path
            .strip_prefix(&top)
            .ok()
            .and_then(Path::to_str)
            .map_or_else(|| FsPath::ROOT.to_owned(), FsPathBuf::canonicalize);
        let repository = Repository::open(&top, self.caches, self.options)?;
        let fs = repository.fs();
        let root = fs
            .youngest()
            .and_then(|youngest| fs.revision_root(youngest))
            .map_err(SvnError::from)?;
        match root.find(&inner).map_err(SvnError::from)? {
            None => self.missing(url),
            Some(node) if node.kind() != NodeKind::File => Err(not_a_file(url)),
            Some(node) => read_limited(node.contents().map_err(SvnError::from)?, url),
        }
    }
}

fn read_limited(from: impl Read, what: &str) -> SvnResult<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_FILE.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| {
        match e.get_ref().and_then(|inner| inner.downcast_ref::<SvnError>()) {
            Some(inner) => inner.clone(),
            None => SvnError::io(&e, format!("Can't read file '{what}'")),
        }
    })?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > MAX_FILE) {
        return Err(too_large(what));
    }
    Ok(bytes)
}

impl Authz {
    /// Reads an authz file, and a global groups file when there is one, each a local path or a
    /// `file://` URL into a repository. `kind` is the word for the file in the sentence that
    /// tops errors of its contents: the reference's server says `config`, its tools `authz`.
    ///
    /// # Errors
    /// As [`Authz::parse`] and [`ConfigSource::load`].
    pub fn read(
        source: &ConfigSource<'_>,
        path: &str,
        groups_path: Option<&str>,
        kind: &str,
        warn: &mut dyn FnMut(SvnError),
    ) -> SvnResult<Self> {
        let rules = source.load(path)?;
        let groups = groups_path.map(|p| source.load(p)).transpose()?;
        Self::parse(&rules, groups.as_deref(), warn)
            .map_err(|e| e.context(format!("Error while parsing {kind} file: '{path}':")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_become_paths() {
        assert_eq!(local_path("file:///a%20b/c").unwrap(), PathBuf::from("/a b/c"));
        assert_eq!(local_path("file://localhost/x").unwrap(), PathBuf::from("/x"));
        assert_eq!(
            local_path("http://h/x").unwrap_err().to_string(),
            "E170000: Local URL 'http://h/x' does not contain 'file://' prefix"
        );
        assert!(is_url("file:///x") && !is_url("/a://b") && !is_url("x"));
    }
}
