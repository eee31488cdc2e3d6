//! The merge tool of the user, which merges the three texts of a conflict.

use std::process::{Command, Stdio};

use sapwood_core::paths::RelPath;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::conflict::TextConflict;

use super::Invocation;
use crate::signals;

/// Runs a merge tool on the three texts and the file; whether it left no conflict. `None` when not all of
/// them are there.
pub(super) fn run_merge_tool(
    inv: &Invocation,
    wc: &WorkingCopy,
    relpath: &RelPath,
    text: &TextConflict,
) -> SvnResult<Option<bool>> {
    let (Some(base), Some(theirs), Some(mine)) = (&text.old, &text.theirs, &text.mine) else {
        return Ok(None);
    };
    let tool = merge_tool(inv)?;
    let files = [base, theirs, mine].map(|file| wc.abspath(file));
    let merged = wc.abspath(relpath);
    // What the tool prints comes after what was said before it.
    inv.out.flush()?;
    let status = signals::while_child_has_terminal(|| {
        let mut process = Command::new(&tool);
        process.args(&files).arg(&merged).arg(&merged).stdin(Stdio::inherit()).status()
    });
    // A program that cannot be started counts as one that failed.
    match status.map_or(Some(255), |status| status.code()) {
        Some(code @ (0 | 1)) => Ok(Some(code == 0)),
        code => Err(SvnError::new(
            ErrorCode::EXTERNAL_PROGRAM,
            format!(
                "The external merge tool '{tool}' exited with exit code {}.",
                code.unwrap_or(-1)
            ),
        )),
    }
}

fn merge_tool(inv: &Invocation) -> SvnResult<String> {
    let config = inv.ctx.config();
    let variable = std::env::var_os("SVN_MERGE").map(|v| v.to_string_lossy().into_owned());
    let configured = || config.get("helpers", "merge-tool-cmd").map(|v| v.into_owned());
    let wrong = |text: &str| SvnError::new(ErrorCode::CL_NO_EXTERNAL_MERGE_TOOL, text);
    let Some(tool) = variable.or_else(configured) else {
        return Err(wrong(
            "The environment variable SVN_MERGE and the merge-tool-cmd run-time \
                 configuration option were not set.\n",
        ));
    };
    if tool.trim_ascii().is_empty() {
        return Err(wrong(
            "The SVN_MERGE environment variable is empty or consists solely of whitespace. \
                 Expected a shell command.\n",
        ));
    }
    Ok(tool)
}
