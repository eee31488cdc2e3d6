//! `svnadmin create`.

use std::path::Path;

use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_fs::admin::{CreateOptions, NewFilesystem};
use sapwood_repos::create::create_of;

use crate::command::{
    COMPATIBLE_VERSION, Invocation, Options, Runner, Subcommand, name, usage_error,
};
use crate::{report, signals, store};

/// The newest version that a repository can be made for: [`COMPATIBLE_VERSION`].
const NEWEST: (u32, u32, u32) = (1, 14, 5);

/// The variable of the environment that names a store in which new repositories are made, each below its address, in place of a folder.
const CREATE_STORE: &str = "SAPWOOD_CREATE_STORE";

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "create",
    aliases: &[],
    help: "usage: svnadmin create REPOS_PATH\n\nMake a new, empty repository.\n",
    options: &[
        name::BDB_TXN_NOSYNC,
        name::BDB_LOG_KEEP,
        name::CONFIG_DIR,
        name::FS_TYPE,
        name::COMPATIBLE_VERSION,
        name::PRE_1_4_COMPATIBLE,
        name::PRE_1_5_COMPATIBLE,
        name::PRE_1_6_COMPATIBLE,
    ],
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let (kind, minor) = wanted(&invocation.options)?;
    invocation.take_args(0, 0)?;
    let path = crate::repo::local_style(&invocation.repository);
    match store_address()? {
        Some(address) => {
            store::create(&address, Path::new(path), &kind, minor, &signals::cancel_token())
        }
        None => Ok(create_of(Path::new(path), &kind, minor)?),
    }
}

/// Where new repositories are made, if that is a store: a new address below the one that the environment names.
fn store_address() -> SvnResult<Option<String>> {
    let Some(base) = std::env::var_os(CREATE_STORE) else { return Ok(None) };
    let base = base.into_string().map_err(|base| {
        let message = format!("{CREATE_STORE} is no address of a store: '{}'", base.display());
        SvnError::new(ErrorCode::BAD_CONFIG_VALUE, message)
    })?;
    let name = sapwood_objects::Token::new()?;
    Ok(Some(format!("{}/{name}", base.trim_end_matches('/'))))
}

/// The filesystem that options ask for, and [`compatible_minor`].
pub(crate) fn wanted(options: &Options) -> SvnResult<(NewFilesystem, Option<u32>)> {
    let minor = compatible_minor(options)?;
    let kind = match options.value(name::FS_TYPE)?.as_deref() {
        None | Some("fsfs") => NewFilesystem::Fsfs(fsfs_options(minor)?),
        Some("fsx") if minor.is_some_and(|minor| minor < 9) => {
            return Err(usage_error(
                "Repositories compatible with 1.8.x or earlier cannot use --fs-type=fsx",
            ));
        }
        Some("fsx") => NewFilesystem::fsx(),
        Some("bdb") => {
            report::stderr(
                "svnadmin: warning: The \"bdb\" repository back-end is deprecated, consider \
                 using \"fsfs\" instead.\n",
            );
            return Err(SvnError::new(
                ErrorCode::FS_UNKNOWN_FS_TYPE,
                "Failed to load module for FS type 'bdb'",
            ));
        }
        Some(other) => {
            return Err(SvnError::new(
                ErrorCode::FS_UNKNOWN_FS_TYPE,
                format!("Unknown FS type '{other}'"),
            ));
        }
    };
    Ok((kind, minor))
}

/// An FSFS filesystem that a version can use.
fn fsfs_options(minor: Option<u32>) -> SvnResult<CreateOptions> {
    let mut fs = CreateOptions::default();
    if let Some(minor) = minor {
        fs.format = CreateOptions::format_for(minor).ok_or_else(|| {
            usage_error("Repositories compatible with 1.0.x must use --fs-type=bdb")
        })?;
    }
    Ok(fs)
}

/// The minor version that must be able to use the repository, if that was said; options that were
/// given later count.
pub(crate) fn compatible_minor(options: &Options) -> SvnResult<Option<u32>> {
    let old = [name::PRE_1_4_COMPATIBLE, name::PRE_1_5_COMPATIBLE, name::PRE_1_6_COMPATIBLE];
    for (option, minor) in old.into_iter().zip(3..) {
        if options.has(option) {
            return Ok(Some(minor));
        }
    }
    let Some(text) = options.value(name::COMPATIBLE_VERSION)? else { return Ok(None) };
    let (major, minor, patch) = parse_version(&text)?;
    let refused = |message: String| Err(SvnError::new(ErrorCode::UNSUPPORTED_FEATURE, message));
    if (major, minor) < (1, 0) {
        return refused("Cannot create pre-1.0-compatible repositories".into());
    }
    if (major, minor, patch) > NEWEST {
        return refused(format!(
            "Cannot guarantee compatibility beyond the current running version \
             ({COMPATIBLE_VERSION})"
        ));
    }
    Ok(Some(minor))
}

/// A version: `1.6`, `1.6.17`, `1.7.0-rc1`.
fn parse_version(text: &str) -> SvnResult<(u32, u32, u32)> {
    let bad = || {
        SvnError::new(
            ErrorCode::MALFORMED_VERSION_STRING,
            format!("Failed to parse version number string '{text}'"),
        )
    };
    let (numbers, _) = text.split_once('-').unwrap_or((text, ""));
    let mut parts = numbers.split('.').map(|part| part.parse::<u32>().map_err(|_| bad()));
    let major = parts.next().ok_or_else(bad)??;
    let minor = parts.next().ok_or_else(bad)??;
    let patch = parts.next().transpose()?.unwrap_or(0);
    if parts.next().is_some() { Err(bad()) } else { Ok((major, minor, patch)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_the_one_we_claim() {
        assert_eq!(parse_version(COMPATIBLE_VERSION).unwrap(), NEWEST);
    }

    #[test]
    fn versions() {
        assert_eq!(parse_version("1.6").unwrap(), (1, 6, 0));
        assert_eq!(parse_version("1.6.17").unwrap(), (1, 6, 17));
        assert_eq!(parse_version("1.7.0-rc1").unwrap(), (1, 7, 0));
        for bad in ["", "1", "1.x", "1.2.3.4", "1..2"] {
            assert!(parse_version(bad).is_err(), "{bad}");
        }
    }
}
