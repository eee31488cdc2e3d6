//! The operational log: one line a request, in the reference's form, and one a link of each error.
//!
//! A line has process, time, client address, user and repository, then the request. Each line is
//! written whole with one call, so that several servers may append to one file.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use sapwood_core::date::Timestamp;
use sapwood_core::{SvnError, SvnResult};

pub use super::operation::Operation;

/// Longest line, in bytes; a longer message is truncated.
const MAX_LINE: usize = 8192;

/// Where the lines go.
#[derive(Debug)]
pub struct OpLog {
    path: Option<PathBuf>,
    out: Mutex<Out>,
}

#[derive(Debug)]
enum Out {
    File(File),
    Stderr,
}

/// The client, user and repository that a line is about; missing parts are written as `-`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Subject<'a> {
    /// The client's address.
    pub host: Option<&'a str>,
    /// The authenticated user.
    pub user: Option<&'a str>,
    /// The repository's name, percent-encoded.
    pub repository: Option<&'a str>,
}

impl OpLog {
    /// A log that is appended to the file at `path`.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn file(path: &Path) -> SvnResult<Self> {
        let out = Mutex::new(Out::File(open(path)?));
        Ok(Self { path: Some(path.to_owned()), out })
    }

    /// A log on standard error.
    #[must_use]
    pub fn stderr() -> Self {
        Self { path: None, out: Mutex::new(Out::Stderr) }
    }

    /// Opens the file anew, for log rotation. When that fails the old one stays.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn reopen(&self) -> SvnResult<()> {
        if let Some(path) = &self.path {
            *self.out.lock() = Out::File(open(path)?);
        }
        Ok(())
    }

    /// Writes the line of a request.
    pub fn command(&self, subject: Subject<'_>, operation: &Operation<'_>) {
        let mut line = head(subject);
        let _ = writeln!(line, "{operation}");
        self.write(line.as_bytes());
    }

    /// Writes the lines of an error or a warning.
    pub fn error(&self, subject: Subject<'_>, error: &SvnError, warning: bool) {
        let word = if warning { "WARN" } else { "ERR" };
        let mut lines = String::new();
        for (at, link) in error.chain().enumerate() {
            let mut line = head(subject);
            let message = match link.message() {
                "" => link.code().generic_message(),
                message => message,
            };
            let mark = if at > 0 { "-" } else { "" };
            // The two fields after the word are the reference's source file and line.
            let _ = write!(line, "{word}{mark} - 0 {} ", link.code().0);
            escape(&mut line, message.as_bytes());
            if line.len() >= MAX_LINE {
                let cut = line.floor_char_boundary(MAX_LINE - 1);
                line.truncate(cut);
            }
            line.push('\n');
            lines.push_str(&line);
        }
        self.write(lines.as_bytes());
    }

    fn write(&self, bytes: &[u8]) {
        // A log that cannot be written must not stop the service.
        let _ = match &mut *self.out.lock() {
            Out::File(file) => file.write_all(bytes),
            Out::Stderr => std::io::stderr().write_all(bytes),
        };
    }
}

fn open(path: &Path) -> SvnResult<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .map_err(|e| SvnError::io(&e, format_args!("Can't open file '{}'", path.display())))
}

fn head(subject: Subject<'_>) -> String {
    format!(
        "{} {} {} {} {} ",
        std::process::id(),
        Timestamp::now(),
        subject.host.unwrap_or("-"),
        subject.user.unwrap_or("-"),
        subject.repository.unwrap_or("-"),
    )
}

/// Appends a message with everything that is not printable ASCII escaped, so that no client can forge
/// lines.
fn escape(line: &mut String, message: &[u8]) {
    for byte in message {
        match byte {
            0x08 => line.push_str("\\b"),
            b'\n' => line.push_str("\\n"),
            b'\r' => line.push_str("\\r"),
            b'\t' => line.push_str("\\t"),
            0x0b => line.push_str("\\v"),
            b'\\' => line.push_str("\\\\"),
            0x20..=0x7e => line.push(char::from(*byte)),
            _ => {
                let _ = write!(line, "\\x{byte:02x}");
            }
        }
    }
}
