//! `svnadmin pack`.

use sapwood_core::SvnResult;
use sapwood_fs::admin::pack::{DEFAULT_MEMORY, PackNotice, PackOptions};

use crate::command::{Invocation, Runner, Subcommand, name, parse_number};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "pack",
    aliases: &[],
    help: "usage: svnadmin pack REPOS_PATH\n\n\
         Gather the revisions of each complete shard in one file.\n",
    options: &[name::QUIET, name::MEMORY_CACHE_SIZE],
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    invocation.take_args(0, 0)?;
    let options = &invocation.options;
    let mut pack_options = PackOptions::default();
    if let Some(text) = options.value(name::MEMORY_CACHE_SIZE)? {
        let bytes = parse_number(&text)?.saturating_mul(1 << 20);
        pack_options.memory = sapwood_core::exact::clamped(bytes).max(DEFAULT_MEMORY);
    }
    let repository = crate::repo::open(&invocation.repository, options)?;
    let quiet = options.has(name::QUIET);
    let out = &mut invocation.out;
    repository.fs().pack(&pack_options, &crate::signals::cancel_token(), &mut |notice| {
        if quiet {
            return Ok(());
        }
        match notice {
            PackNotice::NotSharded => out.text(
                "svnadmin: Warning - this repository is not sharded. Packing has no effect.\n",
            )?,
            PackNotice::Start(shard) => {
                out.text(&format!("Packing revisions in shard {shard}..."))?;
            }
            PackNotice::End(_) => out.text("done.\n")?,
        }
        // The administrator sees how far it is.
        Ok(out.flush()?)
    })?;
    Ok(())
}
