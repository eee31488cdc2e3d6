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
use serde_json::{Map, Value, json};

use super::json_line;
pub use super::operation::Operation;
use super::request_number::RequestNumber;

/// Longest line, in bytes; a longer message is truncated.
const MAX_LINE: usize = 8192;

/// Where the lines go.
#[derive(Debug)]
pub struct OpLog {
    path: Option<PathBuf>,
    form: LogForm,
    out: Mutex<Out>,
}

/// How lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogForm {
    /// As svnserve writes them.
    #[default]
    Text,
    /// An object of JSON in each line.
    Json,
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
    /// The request's number, which only lines of JSON have.
    pub request: Option<RequestNumber>,
}

impl OpLog {
    /// A log that is appended to the file at `path`.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn file(path: &Path) -> SvnResult<Self> {
        let out = Mutex::new(Out::File(open(path)?));
        Ok(Self { path: Some(path.to_owned()), form: LogForm::Text, out })
    }

    /// A log on standard error.
    #[must_use]
    pub fn stderr() -> Self {
        Self { path: None, form: LogForm::Text, out: Mutex::new(Out::Stderr) }
    }

    /// The same log with lines of another form.
    #[must_use]
    pub fn in_form(self, form: LogForm) -> Self {
        Self { form, ..self }
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
        let line = match self.form {
            LogForm::Text => format!("{}{operation}\n", head(subject)),
            LogForm::Json => {
                let mut object = members(subject);
                object.insert("operation".to_owned(), json_line::text(&operation.to_string()));
                if let Operation::WrongPassword { failures, .. } = operation {
                    object.insert("failed_login".to_owned(), json!(failures));
                }
                json_line::line(&Value::Object(object))
            }
        };
        self.write(line.as_bytes());
    }

    /// Writes the lines of an error or a warning.
    pub fn error(&self, subject: Subject<'_>, error: &SvnError, warning: bool) {
        if self.form == LogForm::Json {
            return self.write(error_line(subject, error, warning).as_bytes());
        }
        let word = if warning { "WARN" } else { "ERR" };
        let mut lines = String::new();
        for (at, link) in error.chain().enumerate() {
            let mut line = head(subject);
            let message = message(link);
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

/// The message of one link of an error.
fn message(link: &SvnError) -> &str {
    match link.message() {
        "" => link.code().generic_message(),
        message => message,
    }
}

/// What each line of JSON begins with.
fn members(subject: Subject<'_>) -> Map<String, Value> {
    let members = [
        ("time", json!(Timestamp::now().to_string())),
        ("pid", json!(std::process::id())),
        ("request", json!(subject.request.map(|number| number.to_string()))),
        ("client", json!(subject.host)),
        ("user", json!(subject.user.map(json_line::text))),
        ("repository", json!(subject.repository.map(json_line::text))),
    ];
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// An error with all its causes in one line.
fn error_line(subject: Subject<'_>, error: &SvnError, warning: bool) -> String {
    /// Causes that are shown.
    const MOST: usize = 8;
    let mut object = members(subject);
    let level = if warning { "warning" } else { "error" };
    let mut add = |name: &str, value: Value| object.insert(name.to_owned(), value);
    add("level", json!(level));
    add("code", json!(error.code().0));
    add("message", json_line::text(message(error)));
    let causes: Vec<Value> = error
        .chain()
        .skip(1)
        .take(MOST)
        .map(|link| json!({ "code": link.code().0, "message": json_line::text(message(link)) }))
        .collect();
    if !causes.is_empty() {
        add("causes", Value::Array(causes));
    }
    json_line::line(&Value::Object(object))
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
