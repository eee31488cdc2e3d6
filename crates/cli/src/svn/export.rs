//! `svn export`.

use sapwood_client::export::{Export, export};
use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult, path, uri};
use sapwood_wc::translate::Eol;

use super::notify::Manner;
use super::options::Opt;
use super::targets::check_local_names;
use super::{Command, Invocation};
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "export",
    help: "Create an unversioned copy of a tree.\n\
        usage: 1. export [-r REV] URL[@PEGREV] [PATH]\n       \
        2. export [-r REV] PATH1[@PEGREV] [PATH2]\n\
        \n  \
        Write a tree without administrative files.\n\
        \n  \
        1. From the repository: URL as of REV, into PATH.\n\
        \n  \
        2. From a working copy: PATH1 as it is, with local changes; as of REV without them. Files that are\n     \
        not versioned stay behind.\n\
        \n  \
        Without PATH or PATH2, into a folder or file named like the last part of the source.\n",
    options: &[
        Opt::Revision,
        Opt::Quiet,
        Opt::NonRecursive,
        Opt::Depth,
        Opt::Force,
        Opt::NativeEol,
        Opt::IgnoreExternals,
        Opt::IgnoreKeywords,
    ],
    overrides: &[(Opt::NonRecursive, "old form of --depth=files")],
    shows_progress: true,
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let targets = inv.targets()?;
    let (from, to) = match targets.as_slice() {
        [] => return Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, "")),
        [from] => {
            let from = inv.target(Part::Source, from)?;
            let name = match from.is_url() {
                true => uri::split(&from.text).map_or(String::new(), |(_, name)| name),
                false => path::basename(&from.text).to_owned(),
            };
            (from, name)
        }
        [from, to] => {
            let from = inv.target(Part::Source, from)?;
            let folder = inv.name(Part::Folder, to)?;
            check_local_names(std::slice::from_ref(&folder))?;
            (from, folder)
        }
        _ => return Err(SvnError::new(ErrorCode::CL_ARG_PARSING_ERROR, "")),
    };
    let native_eol = match inv.opt.native_eol.as_deref() {
        None => None,
        Some("LF") => Some(Eol::Lf),
        Some("CR") => Some(Eol::Cr),
        Some("CRLF") => Some(Eol::CrLf),
        Some(other) => {
            let message = format!("'{other}' is not a valid EOL value");
            return Err(SvnError::new(ErrorCode::IO_UNKNOWN_EOL, message));
        }
    };
    if !inv.has(Opt::Quiet) {
        inv.notifier.set_manner(Manner::Export);
    }
    let how = Export {
        revision: inv.opt.revision(),
        depth: inv.opt.depth.unwrap_or(Depth::Infinity),
        overwrite: inv.has(Opt::Force),
        ignore_externals: inv.has(Opt::IgnoreExternals),
        ignore_keywords: inv.has(Opt::IgnoreKeywords),
        native_eol,
    };
    export(&inv.ctx, &from, &to, &how).map_err(|error| {
        if error.code() == ErrorCode::WC_OBSTRUCTED_UPDATE && !how.overwrite {
            return error.context(
                "Destination directory exists; please remove the directory or use --force to \
                 overwrite",
            );
        }
        error
    })?;
    inv.check_externals()
}
