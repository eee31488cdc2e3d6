//! From the path of a request to a repository and what lies below its URL.

use std::path::{Path, PathBuf};

use sapwood_core::{ErrorCode, SvnError, SvnResult, uri};
use sapwood_repos::Repository;

use crate::common::lookup::{Found, describe};
use crate::common::shared::Shared;

/// Most names of a path that are looked at for a repository.
const MAX_LEVELS: usize = 32;

/// What a path leads to.
#[derive(Debug)]
pub(super) enum Place {
    /// A repository.
    Repository(Box<InRepository>),
    /// A folder above repositories.
    Folder(PathBuf),
}

/// A repository and a place below its URL.
#[derive(Debug)]
pub(super) struct InRepository {
    /// The repository.
    pub(super) found: Found,
    /// The percent-encoded path of its URL, without a slash at its end.
    pub(super) root: String,
    /// The rest of the path, percent-encoded.
    pub(super) below: String,
}

fn bad(why: &'static str) -> SvnError {
    SvnError::new(ErrorCode::APMOD_MALFORMED_URI, why)
}

/// The name that a part of a path stands for; none for a dot.
fn name_of(part: &str) -> SvnResult<Option<String>> {
    let name = uri::decode_utf8(part).ok_or_else(|| bad("The URI is not UTF-8"))?;
    if name.contains(['\0', '/']) || name == ".." {
        return Err(bad("The URI has a '..' or a NUL byte in its path"));
    }
    Ok(Some(name).filter(|name| name != "."))
}

/// The first part of a path and what follows it.
fn first_part(path: &str) -> Option<(&str, &str)> {
    let inner = path.trim_start_matches('/');
    let (first, rest) = match inner.find('/') {
        Some(at) => inner.split_at_checked(at).unwrap_or((inner, "")),
        None => (inner, ""),
    };
    (!first.is_empty()).then_some((first, rest))
}

/// The folder that is served at the beginning of a path: its path, decoded, and what follows that.
fn location<'p>(shared: &Shared, path: &'p str) -> SvnResult<(PathBuf, String, &'p str)> {
    let settings = &shared.settings;
    let mut found = (settings.root.clone(), String::new(), path);
    let (mut decoded, mut rest) = (String::new(), path);
    let locations = &settings.http.locations;
    for _ in 0..if locations.is_empty() { 0 } else { MAX_LEVELS } {
        let Some((first, after)) = first_part(rest) else { break };
        rest = after;
        let Some(name) = name_of(first)? else { continue };
        push(&mut decoded, &name);
        if let Some(location) = locations.iter().find(|l| l.prefix == decoded) {
            found = (location.root.clone(), decoded.clone(), rest);
        }
    }
    Ok(found)
}

fn push(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('/');
    }
    path.push_str(name);
}

/// Finds what the percent-encoded `path` leads to. `warn` is told what is odd in authz files.
pub(super) fn find(
    shared: &Shared,
    path: &str,
    warn: &mut dyn FnMut(SvnError),
) -> SvnResult<Option<Place>> {
    let settings = &shared.settings;
    let is_top = |folder: &Path| {
        settings.only.as_ref().is_none_or(|only| only == folder)
            && Repository::find_root(folder).is_some_and(|top| top == folder)
    };
    let (start, mut decoded, mut rest) = location(shared, path)?;
    let mut folder = start.clone();
    for _ in 0..MAX_LEVELS {
        if is_top(&folder) {
            let found = describe(shared, &start, &folder, warn)?;
            let root = format!("{}{}", prefix(&decoded), uri::encode(&decoded));
            let below = rest.to_owned();
            return Ok(Some(Place::Repository(Box::new(InRepository { found, root, below }))));
        }
        let Some((first, after)) = first_part(rest) else {
            return Ok(folder.is_dir().then_some(Place::Folder(folder)));
        };
        rest = after;
        if let Some(name) = name_of(first)? {
            folder.push(&name);
            push(&mut decoded, &name);
        }
    }
    Ok(None)
}

const fn prefix(decoded: &str) -> &'static str {
    if decoded.is_empty() { "" } else { "/" }
}
