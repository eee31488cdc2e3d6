//! `svnadmin hotcopy`.

use std::path::Path;

use sapwood_core::{Revnum, SvnResult};
use sapwood_fs::admin::hotcopy::HotcopyOptions;
use sapwood_objects::addresses;
use sapwood_repo_transfer::export_saying;
use sapwood_repos::hotcopy::hotcopy;

use crate::command::{Invocation, Runner, Subcommand, name};
use crate::{repo, store};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "hotcopy",
    aliases: &[],
    help: "usage: svnadmin hotcopy REPOS_PATH NEW_REPOS_PATH\n\n\
     Copy a repository that may be in use.  With --incremental, only what the copy\n\
     does not have yet.\n",
    options: &[name::CLEAN_LOGS, name::INCREMENTAL, name::QUIET],
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let args = invocation.take_args(1, 1)?;
    let to = args.first().map_or("", String::as_str);
    let to_store = repo::is_url(to) && store::is_place(to)?;
    let to = if to_store { to.to_owned() } else { repo::local_path(to)? };
    let options = &invocation.options;
    // The reference names the source by its absolute path in every error.
    let from = sapwood_core::paths::absolute(Path::new(repo::local_style(&invocation.repository)))
        .ok()
        .and_then(|path| path.into_os_string().into_string().ok());
    let source = repo::open(from.as_ref().unwrap_or(&invocation.repository), options)?;
    let hotcopy_options =
        HotcopyOptions { incremental: options.has(name::INCREMENTAL), ..HotcopyOptions::default() };
    let cancel = crate::signals::cancel_token();
    if to_store {
        let path = Path::new(repo::local_style(&invocation.repository));
        let from = source.fs().store_address();
        return store::copy_to(&to, path, from, hotcopy_options.incremental, &cancel);
    }
    let to = Path::new(repo::local_style(&to));
    let quiet = options.has(name::QUIET);
    let out = &mut invocation.out;
    let mut copied = |first: Revnum, last: Revnum| -> SvnResult<()> {
        if quiet {
            return Ok(());
        }
        let text = if first == last {
            format!("* Copied revision {first}.\n")
        } else {
            format!("* Copied revisions from {first} to {last}.\n")
        };
        out.text(&text)
    };
    if let Some(address) = source.fs().store_address().filter(|_| !hotcopy_options.incremental) {
        // A copy of what is in a store is a folder that needs none.
        export_saying(addresses::open(address)?, to, &cancel, &mut copied)?;
        return Ok(());
    }
    let mut copied = |first, last| Ok(copied(first, last)?);
    Ok(hotcopy(&source, to, &hotcopy_options, &cancel, &mut copied)?)
}
