//! `svn import`.

use sapwood_client::import::{Request, import};
use sapwood_client::target::is_url;
use sapwood_core::paths::UrlBuf;
use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult};

use super::options::Opt;
use super::targets::{Arg, check_local};
use super::{Command, Invocation};
use crate::command::usage_error;
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "import",
    help: "Commit an unversioned file or tree into the repository.\n\
        usage: import [PATH] URL\n\
        \n  \
        Commit the local PATH (without one: the current folder), which need not be a working copy,\n  \
        and all below it. What is in a folder goes into URL, and folders above that are not there\n  \
        are made; a file becomes URL itself. PATH does not become a working copy by this.\n\
        \n  \
        Ignored names are left out, and properties set as configured for names.\n",
    options: &[
        Opt::Quiet,
        Opt::NonRecursive,
        Opt::Depth,
        Opt::AutoProps,
        Opt::Force,
        Opt::NoAutoProps,
        Opt::Message,
        Opt::File,
        Opt::ForceLog,
        Opt::EditorCmd,
        Opt::Encoding,
        Opt::WithRevprop,
        Opt::NoIgnore,
    ],
    overrides: &[(Opt::NonRecursive, "old form of --depth=files")],
    shows_progress: true,
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let targets = inv.targets()?;
    let here = Arg::here();
    let (path, url) = match targets.as_slice() {
        [] => {
            return Err(SvnError::new(
                ErrorCode::CL_INSUFFICIENT_ARGS,
                "Repository URL required when importing",
            ));
        }
        [url] => (&here, url),
        [path, url] => (path, url),
        _ => return Err(usage_error("Too many arguments to import command")),
    };
    check_local(path)?;
    let path = inv.name(Part::Source, path)?;
    let url = inv.name(Part::Destination, url)?;
    if !is_url(&url) {
        return Err(usage_error(format!("Invalid URL '{url}'")));
    }
    let url = UrlBuf::canonicalize(&url)?;
    inv.ask_for_message(None)?;
    inv.notify_commits();
    let revprops = inv.opt.revprops();
    let request = Request {
        path: &path,
        url: &url,
        depth: inv.opt.depth_or(Depth::Infinity),
        no_ignore: inv.has(Opt::NoIgnore),
        no_auto_props: inv.has(Opt::NoAutoProps),
        force: inv.has(Opt::Force),
        revprops: &revprops,
    };
    let done = import(&inv.ctx, &request);
    inv.end_of_commit(done)
}
