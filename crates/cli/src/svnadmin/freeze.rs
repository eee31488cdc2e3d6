//! `svnadmin freeze`: runs a program while nothing can be committed.

use std::collections::HashSet;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::command::{Invocation, Runner, Subcommand, name, usage_error};
use crate::repo;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "freeze",
    aliases: &[],
    help: "usage: 1. svnadmin freeze REPOS_PATH -- PROGRAM [ARG...]\n               \
     2. svnadmin freeze -F FILE -- PROGRAM [ARG...]\n\n\
     Run a program while nothing can be committed to the repository, or to those\n\
     that FILE lists one a line.\n",
    options: &[name::FILE],
    overrides: &[],
    run: Runner::Arguments(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let mut args = invocation.take_args(0, usize::MAX)?.into_iter();
    let options = &invocation.options;
    let paths = match options.value(name::FILE)? {
        None => {
            let path = args.next().ok_or_else(|| usage_error("Repository argument required"))?;
            vec![repo::local_path(&path)?]
        }
        Some(file) => {
            let text = crate::locale::decode(crate::input::contents(&file)?)?;
            let lines = text.split(['\r', '\n']).filter(|line| !line.is_empty());
            lines.map(repo::local_path).collect::<SvnResult<_>>()?
        }
    };
    let Some(program) = args.next() else {
        return Err(usage_error("No program provided"));
    };
    let mut frozen = Vec::new();
    let mut seen = HashSet::new();
    for path in paths {
        let repository = repo::open(&path, options)?;
        // A repository that is named twice would wait for itself.
        let real = std::fs::canonicalize(repo::local_style(&path));
        if seen.insert(real.unwrap_or_else(|_| path.clone().into())) {
            frozen.push(repository.fs().freeze()?);
        }
    }
    invocation.out.flush()?;
    let status = match Command::new(&program).args(args).status() {
        Ok(status) => status,
        Err(e) => {
            crate::report::exec_failed(&program, &e);
            std::process::exit(255);
        }
    };
    drop(frozen);
    match status.code() {
        Some(0) => Ok(()),
        // The caller wants the program's own exit code.
        Some(code) => std::process::exit(code),
        None => {
            let signal = status.signal().unwrap_or(0);
            let core = if status.core_dumped() { ", core dumped" } else { "" };
            Err(SvnError::new(
                ErrorCode::EXTERNAL_PROGRAM,
                format!("Process '{program}' failed (signal {signal}{core})"),
            ))
        }
    }
}
