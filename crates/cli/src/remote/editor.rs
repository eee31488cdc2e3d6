//! A log message typed in the user's own editor.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::time::{Duration, SystemTime};

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

/// How many names are tried for the file.
const NAMES: u32 = 99_999;
/// How much older than now the file is made, so that its time stamp shows a change at once.
const AGE: Duration = Duration::from_secs(2000);

/// An empty file in the present folder that nobody else has; removed when this is dropped.
struct Scratch {
    name: String,
}

impl Scratch {
    fn new(prefix: &str) -> io::Result<(Self, File)> {
        for number in 1..=NAMES {
            let name = match number {
                1 => format!("{prefix}.tmp"),
                _ => format!("{prefix}.{number}.tmp"),
            };
            match File::create_new(&name) {
                Ok(file) => return Ok((Self { name }, file)),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Time and length, by which a change is noticed.
    fn state(&self) -> io::Result<(SystemTime, u64)> {
        let meta = std::fs::metadata(&self.name)?;
        Ok((meta.modified()?, meta.len()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.name);
    }
}

/// Lets the user write a message; `None` when they leave the file as it is.
pub(crate) fn log_message(prefix: &str, config: &Config) -> SvnResult<Option<Vec<u8>>> {
    let mut line = command(config)?;
    let fail = |e: &io::Error| SvnError::io(e, "Can't edit the log message");
    let (scratch, file) = Scratch::new(prefix).map_err(|e| fail(&e))?;
    let before = SystemTime::now().checked_sub(AGE).unwrap_or(SystemTime::UNIX_EPOCH);
    file.set_modified(before).map_err(|e| fail(&e))?;
    drop(file);
    let untouched = scratch.state().map_err(|e| fail(&e))?;
    line.push(format!(" \"{}\"", scratch.name));
    // The command may have arguments: the shell takes it apart, as for the reference.
    let status = Command::new("sh").arg("-c").arg(&line).status().map_err(|e| fail(&e))?;
    if !status.success() {
        return Err(SvnError::new(
            ErrorCode::EXTERNAL_PROGRAM,
            format!("system('{}') returned {}", line.display(), status.into_raw()),
        ));
    }
    if scratch.state().map_err(|e| fail(&e))? == untouched {
        return Ok(None);
    }
    let text = std::fs::read(&scratch.name).map_err(|e| fail(&e))?;
    super::revprops::normalized(&text, "Error normalizing edited contents to internal format")
        .map(Some)
}
