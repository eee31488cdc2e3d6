//! `svnsync info`.

use sapwood_client::mirror::{self, FROM_URL, FROM_UUID, LAST_MERGED};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::{open_mirror, url_argument};
use crate::command::{Invocation, Runner, Subcommand, name};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "info",
    aliases: &[],
    help: "usage: svnsync info DEST_URL\n\nSay what DEST_URL is a mirror of.\n",
    options: &[name::CONFIG_OPTION],
    overrides: &[],
    run: Runner::Arguments(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let args = invocation.take_args(0, usize::MAX)?;
    let [url] = args.as_slice() else {
        let code = if args.is_empty() {
            ErrorCode::CL_INSUFFICIENT_ARGS
        } else {
            ErrorCode::CL_ARG_PARSING_ERROR
        };
        return Err(SvnError::new(code, ""));
    };
    let url = url_argument(url)?;
    let mirror = open_mirror(invocation, &url)?;
    let props = mirror::info(mirror.as_ref())?;
    for (what, name) in [
        ("Source URL", FROM_URL),
        ("Source Repository UUID", FROM_UUID),
        ("Last Merged Revision", LAST_MERGED),
    ] {
        if let Some(value) = props.get(name) {
            invocation.out.text(&format!("{what}: {}\n", String::from_utf8_lossy(value)))?;
        }
    }
    Ok(())
}
