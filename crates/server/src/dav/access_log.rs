//! The access log: a line for each request, in the common or the combined form that programs know
//! which make sense of httpd's logs.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use sapwood_core::date::Timestamp;
use sapwood_core::exact::Cut;
use sapwood_core::{SvnError, SvnResult};

use serde_json::{Value, json};

use super::head::Head;
use crate::common::json_line;

/// Longest text that a client may have in a line, in bytes.
const MAX_TEXT: usize = 4096;

/// The log of a server.
#[derive(Debug)]
pub struct AccessLog {
    path: PathBuf,
    form: AccessForm,
    file: Mutex<File>,
}

/// How lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessForm {
    /// httpd's `common`.
    Common,
    /// httpd's `combined`.
    #[default]
    Combined,
    /// An object of JSON in each line.
    Json,
}

/// The result of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome<'a> {
    pub(super) user: Option<&'a str>,
    pub(super) status: u16,
    pub(super) bytes: u64,
    pub(super) time: Duration,
}

fn open(path: &Path) -> SvnResult<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .map_err(|e| SvnError::io(&e, format_args!("Can't open file '{}'", path.display())))
}

impl AccessLog {
    /// A log that is appended to the file at `path`.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn new(path: &Path, form: AccessForm) -> SvnResult<Self> {
        Ok(Self { path: path.to_owned(), form, file: Mutex::new(open(path)?) })
    }

    /// Opens the file anew, for log rotation. When that fails the old one stays.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn reopen(&self) -> SvnResult<()> {
        *self.file.lock() = open(&self.path)?;
        Ok(())
    }

    /// Writes the line of a request.
    pub(super) fn write(&self, head: &Head, outcome: Outcome<'_>) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        let line = match self.form {
            AccessForm::Json => json_line::line(&object(head, outcome)),
            form => line(head, outcome, now, form == AccessForm::Combined),
        };
        // A log that cannot be written must not stop the service.
        let _ = self.file.lock().write_all(line.as_bytes());
    }
}

/// A request as JSON.
fn object(head: &Head, outcome: Outcome<'_>) -> Value {
    let header = |name: &str| head.header(name).map(json_line::text);
    json!({
        "time": Timestamp::now().to_string(),
        "pid": std::process::id(),
        "request": head.request.map(|number| number.to_string()),
        "client": head.client.to_string(),
        "user": outcome.user.map(json_line::text),
        "method": json_line::text(head.method.as_str()),
        "path": json_line::text(&head.path),
        "query": head.query.as_deref().map(json_line::text),
        "status": outcome.status,
        "bytes": outcome.bytes,
        "seconds": outcome.time.as_secs_f64(),
        "referer": header("referer"),
        "agent": header("user-agent"),
    })
}

fn line(head: &Head, outcome: Outcome<'_>, now: u64, combined: bool) -> String {
    let mut line = format!("{} - ", head.client);
    escape(&mut line, outcome.user.unwrap_or("-"));
    let _ = write!(line, " [{}] \"", date(now));
    escape(&mut line, head.method.as_str());
    line.push(' ');
    escape(&mut line, &head.path);
    if let Some(query) = &head.query {
        line.push('?');
        escape(&mut line, query);
    }
    let _ = write!(line, " HTTP/1.1\" {} ", outcome.status);
    match outcome.bytes {
        0 => line.push('-'),
        bytes => {
            let _ = write!(line, "{bytes}");
        }
    }
    if combined {
        for name in ["referer", "user-agent"] {
            line.push_str(" \"");
            escape(&mut line, head.header(name).unwrap_or("-"));
            line.push('"');
        }
    }
    line.push('\n');
    line
}

/// Seconds since 1970 as `23/Nov/2026:02:31:26 +0000`.
fn date(seconds: u64) -> String {
    let micros = i64::try_from(seconds).unwrap_or(0).saturating_mul(1_000_000);
    // 2026-11-21T20:26:00.000000Z
    let text = Timestamp(micros).to_string();
    let part = |from: usize, to: usize| text.piece(from..to);
    let month = super::entity::month_name(part(5, 7));
    format!("{}/{month}/{}:{} +0000", part(8, 10), part(0, 4), part(11, 19))
}

/// Appends what a client said, so that it can forge no line and no field.
fn escape(line: &mut String, text: &str) {
    for byte in text.bytes().take(MAX_TEXT) {
        match byte {
            b'"' | b'\\' => {
                line.push('\\');
                line.push(char::from(byte));
            }
            b' '..=b'~' => line.push(char::from(byte)),
            _ => {
                let _ = write!(line, "\\x{byte:02x}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let request = hyper::Request::builder()
            .method("GET")
            .uri("/a%20b?p=1")
            .header("user-agent", "x\"y")
            .body(())
            .unwrap();
        let head = Head::new(request.into_parts().0, "192.0.2.1:5".parse().unwrap(), false, &[]);
        let time = Duration::ZERO;
        let outcome = Outcome { user: Some("ada l"), status: 200, bytes: 12, time };
        assert_eq!(
            line(&head, outcome, 0, true),
            "192.0.2.1 - ada l [01/Jan/1970:00:00:00 +0000] \"GET /a%20b?p=1 HTTP/1.1\" 200 12 \
             \"-\" \"x\\\"y\"\n"
        );
        let anonymous = Outcome { user: None, status: 304, bytes: 0, time };
        assert!(line(&head, anonymous, 0, false).ends_with("HTTP/1.1\" 304 -\n"));
    }
}
