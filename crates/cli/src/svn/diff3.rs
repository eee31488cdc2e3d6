//! `--diff3-cmd` and `diff3-cmd` of the configuration: texts merged by another program.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use sapwood_client::context::MergeCallback;
use sapwood_core::config::Config;
use sapwood_core::{ErrorCode, SvnError};
use sapwood_wc::Result;

/// The callback that merges with another program, if one is configured.
pub(super) fn program(config: &Config) -> Option<Box<MergeCallback>> {
    let command = config.get("helpers", "diff3-cmd").filter(|command| !command.is_empty())?;
    let command = command.into_owned();
    Some(Box::new(move |files, labels, to| run(&command, files, labels, to)))
}

/// Runs the program on the local, the old and the new text. Whether there are conflicts.
fn run(
    command: &str,
    [mine, old, new]: [&Path; 3],
    [mine_label, old_label, new_label]: [&str; 3],
    to: &mut File,
) -> Result<bool> {
    let failed =
        |e: &std::io::Error| SvnError::io(e, format_args!("Can't start process '{command}'"));
    let target = to.try_clone().map_err(|e| failed(&e))?;
    let ran = Command::new(command)
        .args(["-E", "-m", "-L", mine_label, "-L", old_label, "-L", new_label])
        .args([mine, old, new])
        .stdin(Stdio::inherit())
        .stdout(target)
        .status();
    // A program that cannot be started counts as one that failed.
    let code = ran.map_or(Some(255), |status| status.code());
    match code {
        Some(0) => Ok(false),
        Some(1) => Ok(true),
        code => {
            let [mine, old, new] = [mine, old, new].map(Path::display);
            let code = code.unwrap_or(-1);
            Err(SvnError::new(
                ErrorCode::EXTERNAL_PROGRAM,
                format!(
                    "Error running '{command}':  exitcode was {code}, args were:\n\
                     in directory '.', basenames:\n{mine}\n{old}\n{new}"
                ),
            )
            .into())
        }
    }
}
