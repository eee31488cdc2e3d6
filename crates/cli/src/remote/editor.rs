//! Text typed in the user's own editor: log messages, values of properties. What the user typed is
//! never removed before the caller has it: an editor that saves and then fails leaves the file.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use sapwood_core::config::Config;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

/// The command of the user's editor.
fn command(given: Option<&OsStr>, config: &Config) -> SvnResult<OsString> {
    // One that is empty counts as not set.
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let command = given
        .map(OsStr::to_owned)
        .or_else(|| variable("SVN_EDITOR"))
        .or_else(|| config.get("helpers", "editor-cmd").map(|cmd| cmd.into_owned().into()))
        .or_else(|| variable("VISUAL"))
        .or_else(|| variable("EDITOR"))
        .ok_or_else(|| {
            SvnError::new(
                ErrorCode::CL_NO_EXTERNAL_EDITOR,
                "None of the environment variables SVN_EDITOR, VISUAL or EDITOR are set, and no \
                 'editor-cmd' run-time configuration option was found",
            )
        })?;
    if command.as_encoded_bytes().trim_ascii().is_empty() {
        return Err(SvnError::new(
            ErrorCode::CL_NO_EXTERNAL_EDITOR,
            "The EDITOR, SVN_EDITOR or VISUAL environment variable or 'editor-cmd' run-time \
             configuration option is empty or consists solely of whitespace. Expected a shell \
             command.",
        ));
    }
    Ok(command)
}

/// The kind of content in the file, for messages.
pub(crate) const MESSAGE: &str = "commit message";

/// The number of file names that are tried.
const NAMES: u32 = 99_999;
/// How much older than now the file is made, so that its time stamp shows a change at once.
const AGE: Duration = Duration::from_secs(2000);

/// Where and with what to edit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edit<'a> {
    /// The command that was given, before those of the environment and the configuration.
    pub(crate) command: Option<&'a OsStr>,
    pub(crate) config: &'a Config,
    /// The prefix of the file name.
    pub(crate) prefix: &'a str,
    /// The directory for the file; the current one without a value.
    pub(crate) base_dir: Option<&'a str>,
}

/// A file that no other program has.
fn unique_file(dir: &Path, prefix: &str) -> io::Result<(String, File)> {
    for number in 1..=NAMES {
        let name = match number {
            1 => format!("{prefix}.tmp"),
            _ => format!("{prefix}.{number}.tmp"),
        };
        match File::create_new(dir.join(&name)) {
            Ok(file) => return Ok((name, file)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Time and length, by which a change is noticed.
fn state(path: &Path) -> io::Result<(SystemTime, u64)> {
    let meta = std::fs::metadata(path)?;
    Ok((meta.modified()?, meta.len()))
}

/// Why a text could not be edited.
#[derive(Debug)]
pub(crate) struct EditFailure {
    pub(crate) error: SvnError,
    /// The file, when the editor was started: it may have what the user typed.
    pub(crate) left: Option<PathBuf>,
}

impl From<SvnError> for EditFailure {
    fn from(error: SvnError) -> Self {
        Self { error, left: None }
    }
}

impl EditFailure {
    /// The error, which says where the file is if there is more in it than `contents`; else the file
    /// is removed. `what` is in it.
    pub(crate) fn keep(self, contents: &[u8], what: &str) -> SvnError {
        let Some(path) = self.left else { return self.error };
        match std::fs::read(&path) {
            Ok(typed) if typed != contents => left_in(self.error, what, &path),
            _ => {
                let _ = std::fs::remove_file(&path);
                self.error
            }
        }
    }
}

/// An error that also says in which file what the user typed is.
pub(crate) fn left_in(error: SvnError, what: &str, path: &Path) -> SvnError {
    let code = error.code();
    let place = SvnError::new(code, format!("   '{}'", path.display()))
        .wrap(code, format!("Your {what} was left in a temporary file:"));
    error.with_cause(place)
}

/// Lets the user edit `contents`. Returns the new text (`None`: it was not changed) and the
/// file, which the caller removes.
///
/// # Errors
/// With the file, from the moment that the editor is started: E200012 (`EXTERNAL_PROGRAM`) when the
/// editor ends with an error or is killed; system errors.
pub(crate) fn edit(
    edit: &Edit<'_>,
    contents: &[u8],
) -> Result<(Option<Vec<u8>>, PathBuf), EditFailure> {
    let mut line = command(edit.command, edit.config)?;
    let fail = |e: &io::Error| SvnError::io(e, "Can't edit the text");
    let mut dir = PathBuf::from(edit.base_dir.filter(|dir| !dir.is_empty()).unwrap_or("."));
    let made = match unique_file(&dir, edit.prefix) {
        Err(e) if matches!(e.raw_os_error(), Some(13 | 30)) => {
            dir = std::env::temp_dir();
            unique_file(&dir, edit.prefix)
        }
        other => other,
    };
    let (name, mut file) = made.map_err(|e| fail(&e))?;
    let path = if dir == Path::new(".") { PathBuf::from(&name) } else { dir.join(&name) };
    let prepare = || -> io::Result<(SystemTime, u64)> {
        file.write_all(contents)?;
        let before = SystemTime::now().checked_sub(AGE).unwrap_or(SystemTime::UNIX_EPOCH);
        file.set_modified(before)?;
        drop(file);
        state(&path)
    };
    let untouched = prepare().map_err(|e| {
        let _ = std::fs::remove_file(&path);
        fail(&e)
    })?;
    let mut work = || -> SvnResult<Option<Vec<u8>>> {
        line.push(format!(" \"{name}\""));
        // The command may have arguments: the shell takes it apart, as for the reference. It runs
        // in the file's folder, so that the name needs no quotes.
        let status = crate::signals::while_child_has_terminal(|| {
            Command::new("sh").arg("-c").arg(&line).current_dir(&dir).status()
        });
        let status = status.map_err(|e| fail(&e))?;
        if !status.success() {
            return Err(SvnError::new(
                ErrorCode::EXTERNAL_PROGRAM,
                format!("system('{}') returned {}", line.display(), status.into_raw()),
            ));
        }
        if state(&path).map_err(|e| fail(&e))? == untouched {
            return Ok(None);
        }
        std::fs::read(&path).map(Some).map_err(|e| fail(&e))
    };
    match work() {
        Ok(edited) => Ok((edited, path)),
        Err(error) => Err(EditFailure { error, left: Some(path) }),
    }
}

/// A name as one word of the shell.
fn word(name: &str) -> String {
    const SPECIAL: &str = "&;`'\"|*?~<>^()[]{}$\\\n\r%";
    if !name.contains(|c| SPECIAL.contains(c)) {
        return format!("\"{name}\"");
    }
    let mut word = String::new();
    for c in name.chars() {
        if SPECIAL.contains(c) || c == ' ' || c == '\t' {
            word.push('\\');
        }
        word.push(c);
    }
    word
}

/// Lets the user edit a file of the working copy, in its folder.
pub(crate) fn edit_file(given: Option<&OsStr>, config: &Config, file: &Path) -> SvnResult<()> {
    let mut line = command(given, config)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    line.push(format!(" {}", word(&name)));
    let dir = file.parent().unwrap_or(Path::new("/"));
    let status = crate::signals::while_child_has_terminal(|| {
        Command::new("sh").arg("-c").arg(&line).current_dir(dir).status()
    });
    let status = status.map_err(|e| {
        SvnError::io(&e, format_args!("Can't change working directory to '{}'", dir.display()))
    })?;
    if !status.success() {
        return Err(SvnError::new(
            ErrorCode::EXTERNAL_PROGRAM,
            format!("system('{}') returned {}", line.display(), status.into_raw()),
        ));
    }
    Ok(())
}

/// Lets the user write a message; `None` when they leave the file as it is. The caller
/// removes the file once the message is committed.
pub(crate) fn log_message(prefix: &str, config: &Config) -> SvnResult<(Option<Vec<u8>>, PathBuf)> {
    let place = Edit { command: None, config, prefix, base_dir: None };
    let (edited, path) = edit(&place, b"").map_err(|failed| failed.keep(b"", MESSAGE))?;
    let otherwise = "Error normalizing edited contents to internal format";
    let text = edited.map(|text| super::revprops::normalized(&text, otherwise)).transpose();
    match text {
        Ok(text) => Ok((text, path)),
        Err(error) => Err(left_in(error, MESSAGE, &path)),
    }
}
