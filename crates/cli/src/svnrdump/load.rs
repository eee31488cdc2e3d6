//! `svnrdump load`.

use std::collections::HashSet;
use std::io::{BufReader, Read};

use sapwood_client::oplock::LockNotice;
use sapwood_client::rdump::{Load, LoadEvent};
use sapwood_core::SvnResult;

use super::open;
use crate::command::{Invocation, Runner, Subcommand, name, usage_error};
use crate::remote;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "load",
    aliases: &[],
    help: "usage: svnrdump load URL\n\n\
         Commit the revisions of a dump stream on stdin to the repository at URL, which\n\
         must allow changes of revision properties.\n",
    options: &[name::QUIET, name::SKIP_REVPROP, name::FILE],
    overrides: &[(name::FILE, "read from file ARG instead of stdin")],
    run: Runner::Arguments(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let options = &invocation.options;
    if options.has(name::PASSWORD_FROM_STDIN) && !options.has(name::FILE) {
        return Err(usage_error("load subcommand with --password-from-stdin requires -F"));
    }
    // Standard input is the dump stream and no terminal, yet the user may be asked for a name.
    let named = options.has(name::USERNAME) && options.has(name::PASSWORD);
    let (session, settings) = open(invocation, named)?;
    let session = session.as_ref();
    let other = sapwood_ra::open(&session.url(), &settings)?;
    let options = &invocation.options;
    let skip: HashSet<String> = options.values(name::SKIP_REVPROP)?.into_iter().collect();
    let quiet = options.has(name::QUIET);
    let input: Box<dyn Read> = match options.value(name::FILE)? {
        Some(path) => Box::new(crate::input::open_named(&path)?),
        None => Box::new(std::io::stdin()),
    };
    let mut input = BufReader::with_capacity(64 << 10, input);
    let out = &mut invocation.out;
    let load = Load {
        session,
        other: other.as_ref(),
        skip,
        locking: remote::locking::locking(false)?,
        cancel: &crate::signals::cancel_token(),
        notify: &mut |event| match event {
            LoadEvent::Lock(LockNotice::HeldBy(holder) | LockNotice::StolenFrom(holder)) => {
                out.text(&format!(
                    "Failed to get lock on destination repos, currently held by '{holder}'\n"
                ))?;
                out.flush()
            }
            LoadEvent::Loaded(_) if quiet => Ok(()),
            LoadEvent::Loaded(revision) => {
                out.text(&format!("* Loaded revision {revision}.\n"))?;
                out.flush()
            }
        },
    };
    load.run(&mut input)
}
