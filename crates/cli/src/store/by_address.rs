//! Programs that are given a store's address where a repository's folder is usual: `svnadmin verify s3://BUCKET/PREFIX`.
//!
//! What a program needs of a folder is made in the user's cache folder, one for each address, and used again; it may be deleted at any
//! moment. Invariants: a URL that is no repository in a store is left to what the reference says of it; what works on files of a
//! folder, or on what only one server has, is refused with a sentence.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_fs::admin;
use sapwood_objects::addresses;
use sapwood_objects_s3::Scheme;
use sapwood_repo_log::repository_at;

use super::addresses::POSTGRES;
use crate::command::{Options, name};
use crate::user_folders;

/// Where the folders are, in the user's cache.
const FOLDERS: &str = "folders";
/// Subcommands of `svnadmin` that work without the files of a folder.
const OF_SVNADMIN: [&str; 17] = [
    "delrevprop",
    "dump",
    "dump-revprops",
    "hotcopy",
    "info",
    "load",
    "load-revprops",
    "lock",
    "lslocks",
    "pack",
    "rev-size",
    "rmlocks",
    "setlog",
    "setrevprop",
    "setuuid",
    "unlock",
    "verify",
];

/// Whether a text says where a store is that is no folder.
fn is_bucket(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme == Some(POSTGRES) || Scheme::ALL.iter().any(|known| scheme == Some(known.name()))
}

/// Whether an argument is the address of a repository in a store. A `file:` URL is one if such a repository is there.
fn is_address(text: &str) -> SvnResult<bool> {
    if !text.starts_with("file:///") {
        return Ok(is_bucket(text));
    }
    Ok(repository_at(&*addresses::open(text)?)?.is_some())
}

/// Whether an argument is an address that a repository may be brought to: as before, or with nothing there.
pub(crate) fn is_place(text: &str) -> SvnResult<bool> {
    if is_bucket(text) || is_address(text)? {
        return Ok(true);
    }
    let Some(path) = text.strip_prefix("file://").filter(|path| path.starts_with('/')) else {
        return Ok(false);
    };
    let names = std::fs::read_dir(path);
    Ok(names.map_or(true, |mut names| names.next().is_none()))
}

/// The folder that a program works on for a URL, if that is an address.
///
/// # Errors
/// E200007 for what cannot be done without a folder; those of the store and the system.
pub(crate) fn folder_for(
    program: &str,
    subcommand: &str,
    options: &Options,
    address: &str,
) -> SvnResult<Option<String>> {
    if !is_address(address)? {
        return Ok(None);
    }
    refuse(program, subcommand, options, address)?;
    let folder = kept(address)?;
    let text = folder.into_os_string().into_string().map_err(|folder| {
        let message = format!("'{}' is not UTF-8", folder.display());
        SvnError::new(ErrorCode::BAD_FILENAME, message)
    })?;
    Ok(Some(text))
}

/// Refuses what needs more than a store.
fn refuse(program: &str, subcommand: &str, options: &Options, address: &str) -> SvnResult<()> {
    let why = match (program, subcommand) {
        ("svnadmin", "create") => {
            "makes a folder: 'sapwood store create ADDRESS FOLDER' makes one for a new repository in a store"
        }
        ("svnadmin", known) if OF_SVNADMIN.contains(&known) => return Ok(()),
        ("svnadmin", "lstxns" | "rmtxns") => {
            "works on transactions, which are in the folders of the servers that drive them"
        }
        ("svnlook", _) if !options.has(name::TRANSACTION) => return Ok(()),
        ("svnlook", _) => {
            "can't look at transactions, which are in the folders of the servers that drive them"
        }
        _ => "works on the files of a folder: 'sapwood store export ADDRESS FOLDER' makes one",
    };
    let message = format!("'{program} {subcommand}' {why}; '{address}' is a repository in a store");
    Err(SvnError::new(ErrorCode::UNSUPPORTED_FEATURE, message))
}

/// The folder of an address in the user's cache.
fn kept(address: &str) -> SvnResult<PathBuf> {
    let folders = user_folders::caches().join(FOLDERS);
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folders);
    made.map_err(|e| {
        SvnError::io(&e, format_args!("Can't create directory '{}'", folders.display()))
    })?;
    Ok(admin::attach_in(&folders, address)?)
}
