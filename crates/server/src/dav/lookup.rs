//! From the path of a request to a repository and what lies below its URL.

use std::path::{Path, PathBuf};

use sapwood_core::Exact as _;
use sapwood_core::{ErrorCode, SvnError, SvnResult, uri};
use sapwood_repos::Repository;

use super::settings::Location;
use super::state::HttpState;
use crate::common::lookup::{FoundRepository, describe};

/// The limit of names of a path that are checked for a repository.
const MAX_LEVELS: usize = 32;

/// Bytes of the longest name that file systems have.
const MAX_NAME: usize = 255;

/// The result of a lookup.
#[derive(Debug)]
pub(super) enum LookupResult<'s> {
    /// A repository.
    Repository(Box<LocatedRepository<'s>>),
    /// A folder above repositories.
    Folder(InFolder<'s>),
    /// Nothing, at a location of the configuration.
    Nothing(InNothing<'s>),
}

/// A path at a location of the configuration where there is no repository.
#[derive(Clone, Debug)]
pub(super) struct InNothing<'s> {
    /// The place.
    pub(super) location: &'s Location,
    /// What follows its path, percent-encoded.
    pub(super) below: String,
}

/// The name that a repository would have, and the path in it, percent-encoded.
///
/// # Errors
/// E175013 for a malformed name.
pub(super) fn name_and_rest(below: &str) -> SvnResult<(String, &str)> {
    let Some((first, rest)) = first_part(below) else { return Ok((String::new(), "")) };
    let name = name_of(first)?;
    Ok((name.unwrap_or_else(String::new), rest))
}

/// Where a repository is, which was not opened.
#[derive(Debug)]
pub(super) struct LocatedRepository<'s> {
    /// Its folder.
    pub(super) folder: PathBuf,
    /// The position at which the names of repositories begin.
    start: &'s Path,
    /// The decoded path of its URL.
    decoded: String,
    /// The percent-encoded path of its URL, without a slash at its end.
    pub(super) root: String,
    /// The rest of the path, percent-encoded.
    pub(super) below: String,
    /// The location of the configuration, if it is at one.
    pub(super) location: Option<&'s Location>,
}

/// A folder above repositories.
#[derive(Clone, Debug)]
pub(super) struct InFolder<'s> {
    /// The folder.
    pub(super) folder: PathBuf,
    /// The position at which the names of its repositories begin.
    pub(super) start: &'s Path,
    /// The location of the configuration, if it is at one.
    pub(super) location: Option<&'s Location>,
    /// What follows of the path there, percent-encoded.
    pub(super) below: String,
}

/// A repository and a place below its URL.
#[derive(Debug)]
pub(super) struct InRepository<'s> {
    /// The repository.
    pub(super) found: FoundRepository,
    /// The percent-encoded path of its URL, without a slash at its end.
    pub(super) root: String,
    /// The rest of the path, percent-encoded.
    pub(super) below: String,
    /// The location of the configuration, if it is at one.
    pub(super) location: Option<&'s Location>,
}

fn bad(why: &'static str) -> SvnError {
    SvnError::new(ErrorCode::APMOD_MALFORMED_URI, why)
}

/// The name for a part of a path; none for a dot.
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

/// The start of a search.
struct Start<'s, 'p> {
    root: &'s Path,
    location: Option<&'s Location>,
    /// The path until there, decoded.
    decoded: String,
    /// What follows.
    rest: &'p str,
}

/// What is served at the beginning of a path.
fn start<'s, 'p>(shared: &'s HttpState, path: &'p str) -> SvnResult<Option<Start<'s, 'p>>> {
    let settings = &shared.settings;
    let locations = &settings.locations;
    let mut found = (!settings.locations_only).then(|| Start {
        root: &shared.server.settings.root,
        location: None,
        decoded: String::new(),
        rest: path,
    });
    let (mut decoded, mut rest) = (String::new(), path);
    for _ in 0..if locations.is_empty() { 0 } else { MAX_LEVELS } {
        if let Some(location) = locations.iter().find(|l| l.prefix == decoded) {
            let (root, decoded) = (&*location.root, decoded.clone());
            found = Some(Start { root, location: Some(location), decoded, rest });
        }
        let Some((first, after)) = first_part(rest) else { break };
        rest = after;
        if let Some(name) = name_of(first)? {
            push(&mut decoded, &name);
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

/// Finds what the percent-encoded `path` leads to, without opening it.
pub(super) fn find<'s>(shared: &'s HttpState, path: &str) -> SvnResult<Option<LookupResult<'s>>> {
    let settings = &shared.server.settings;
    let Some(Start { root: start, location, mut decoded, mut rest }) = start(shared, path)? else {
        return Ok(None);
    };
    let below = rest.to_owned();
    let levels = location.and_then(|location| location.levels);
    let is_top = |folder: &Path, depth: usize| {
        let only = settings.only.as_ref().filter(|_| location.is_none());
        levels.is_none_or(|levels| levels == depth)
            && only.is_none_or(|only| only == folder)
            && Repository::is_root(folder)
    };
    let (mut folder, mut depth) = (start.to_owned(), 0usize);
    for _ in 0..MAX_LEVELS {
        if is_top(&folder, depth) {
            let root = format!("{}{}", prefix(&decoded), uri::encode(&decoded));
            let below = rest.to_owned();
            let place = LocatedRepository { folder, start, decoded, root, below, location };
            return Ok(Some(LookupResult::Repository(Box::new(place))));
        }
        let Some((first, after)) = first_part(rest) else {
            if folder.is_dir() && (depth == 0 || levels.is_none_or(|levels| depth < levels)) {
                return Ok(Some(LookupResult::Folder(InFolder { folder, start, location, below })));
            }
            break;
        };
        rest = after;
        if let Some(name) = name_of(first)? {
            // File systems have no names like this, and their error is not for clients.
            if name.len() > MAX_NAME {
                break;
            }
            folder.push(&name);
            depth = depth.plus(1);
            push(&mut decoded, &name);
        }
    }
    Ok(location.map(|location| LookupResult::Nothing(InNothing { location, below })))
}

impl<'s> LocatedRepository<'s> {
    /// Opens the repository, and reads how it may be used. `warn` is called with warnings about authz files.
    ///
    /// # Errors
    /// As of [`describe`].
    pub(super) fn open(
        self,
        shared: &HttpState,
        warn: &mut dyn FnMut(SvnError),
    ) -> SvnResult<InRepository<'s>> {
        let Self { folder, start, decoded, root, below, location } = self;
        let access = location.and_then(|location| location.access.as_deref());
        let mut found = describe(&shared.server, start, &folder, access, warn)?;
        // A repository with a location of its own has that location's name, as with
        // mod_authz_svn.
        let own = decoded.rsplit('/').next().filter(|name| !name.is_empty());
        if let Some(name) = own.filter(|_| access.is_some() && folder == start) {
            name.clone_into(&mut found.authz_name);
        }
        Ok(InRepository { found, root, below, location })
    }
}

const fn prefix(decoded: &str) -> &'static str {
    if decoded.is_empty() { "" } else { "/" }
}
