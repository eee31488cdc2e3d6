//! A log message typed in the user's own editor.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::Command;

use sapwood_core::config::Config;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

/// The command of the user's editor.
fn command(config: &Config) -> SvnResult<OsString> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    variable("SVN_EDITOR")
        .or_else(|| config.get("helpers", "editor-cmd").map(|cmd| cmd.into_owned().into()))
        .or_else(|| variable("VISUAL"))
        .or_else(|| variable("EDITOR"))
        .ok_or_else(|| {
            SvnError::new(
                ErrorCode::CL_NO_EXTERNAL_EDITOR,
                "None of the environment variables SVN_EDITOR, VISUAL or EDITOR are set, and no \
                 'editor-cmd' run-time configuration option was found",
            )
        })
}

/// Lets the user write a message; `None` when they leave it empty.
pub(crate) fn log_message(prefix: &str, config: &Config) -> SvnResult<Option<Vec<u8>>> {
    let command = command(config)?;
    let fail = |e: &std::io::Error| SvnError::io(e, "Can't edit the log message");
    let mut file =
        tempfile::Builder::new().prefix(prefix).suffix(".tmp").tempfile().map_err(|e| fail(&e))?;
    file.flush().map_err(|e| fail(&e))?;
    let mut line = command.clone();
    line.push(" \"$1\"");
    // The command may have arguments: the shell takes it apart, as for the reference.
    let status = Command::new("sh")
        .arg("-c")
        .arg(&line)
        .arg("sh")
        .arg(file.path())
        .status()
        .map_err(|e| fail(&e))?;
    if !status.success() {
        return Err(SvnError::new(
            ErrorCode::EXTERNAL_PROGRAM,
            format!(
                "system('{} {}') returned {}",
                command.display(),
                file.path().display(),
                status.code().unwrap_or(-1)
            ),
        ));
    }
    let text = std::fs::read(file.path()).map_err(|e| fail(&e))?;
    if text.trim_ascii().is_empty() {
        return Ok(None);
    }
    super::revprops::normalized(&text, "Error normalizing edited contents to internal format")
        .map(Some)
}
