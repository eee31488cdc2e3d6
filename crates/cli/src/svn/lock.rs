//! `svn lock`.

use std::cell::Cell;
use std::os::unix::ffi::OsStrExt as _;
use std::rc::Rc;

use sapwood_client::lock;
use sapwood_core::notify::Action;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::options::Opt;
use super::targets::check_one_kind;
use super::{Command, Invocation};
use crate::pegs::Part;
use crate::remote::revprops::translated;

pub(super) const COMMAND: Command = Command {
    name: "lock",
    help: "Lock working copy paths or URLs in the repository, so that\n\
        no other user can commit changes to them.\n\
        usage: lock TARGET...\n\
        \n  \
        Keep each TARGET, a local path or a URL of a file, for yourself: until you unlock it, others cannot\n  \
        commit changes of it. A lock of somebody else is taken over with --force.\n",
    options: &[
        Opt::Targets,
        Opt::Message,
        Opt::File,
        Opt::ForceLog,
        Opt::Encoding,
        Opt::Force,
        Opt::Quiet,
    ],
    overrides: &[
        (Opt::Message, "the lock's comment is ARG"),
        (Opt::File, "the lock's comment is in the file ARG"),
        (Opt::ForceLog, "take the comment, whatever it looks like"),
        (Opt::Force, "take locks away from others"),
    ],
    run,
    ..Command::DEFAULT
};

fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let targets = files(invocation)?;
    let comment = comment(invocation)?;
    let failed = watch(invocation, Action::FailedLock);
    let steal = invocation.has(Opt::Force);
    lock::lock(&invocation.ctx, &targets, comment.as_deref(), steal)?;
    if failed.get() {
        return Err(SvnError::new(
            ErrorCode::ILLEGAL_TARGET,
            "One or more locks could not be obtained",
        ));
    }
    Ok(())
}

/// The targets, of which there must be one, and all of one kind.
pub(super) fn files(invocation: &mut Invocation) -> SvnResult<Vec<String>> {
    let targets = invocation.targets()?;
    if targets.is_empty() {
        return Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, ""));
    }
    let names = invocation.names(Part::Target, &targets)?;
    check_one_kind(&targets)?;
    Ok(names)
}

/// Records whether an action is reported.
pub(super) fn watch(invocation: &mut Invocation, action: Action) -> Rc<Cell<bool>> {
    let seen = Rc::new(Cell::new(false));
    let noted = Rc::clone(&seen);
    let inner = invocation.ctx.notify.take();
    invocation.ctx.notify = Some(Rc::new(move |value| {
        if value.action == action {
            noted.set(true);
        }
        if let Some(inner) = &inner {
            inner(value);
        }
    }));
    seen
}

fn comment(invocation: &Invocation) -> SvnResult<Option<String>> {
    let opt = &invocation.opt;
    let given = match (&opt.file_data, &opt.message) {
        (Some(data), _) if data.contains(&0) => {
            return Err(SvnError::new(
                ErrorCode::CL_BAD_LOG_MESSAGE,
                "Lock comment contains a zero byte",
            ));
        }
        (Some(data), _) => data.as_slice(),
        (None, Some(message)) => message.as_bytes(),
        (None, None) => return Ok(None),
    };
    let text = translated(given, opt.encoding.as_deref(), "")?;
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}
