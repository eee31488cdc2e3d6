//! Questions at the terminal, or, without one, on standard error, with the answer from standard input.
//!
//! Invariant: what is typed is shown again after a secret, whatever ends the question.

use std::fs::File;
use std::io::{Read, Write as _};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::hidden_typing::EchoOff;
use crate::{locale, signals, terminal};

/// No answer is as long as this, in bytes.
const MAX_ANSWER: usize = 64 << 10;

fn end_of_file() -> SvnError {
    SvnError::new(ErrorCode(70014), "End of file while reading from terminal")
}

/// A terminal that is waited for in short turns, so that a signal ends the waiting.
struct Patient<'t>(&'t File);

impl Read for Patient<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let turn = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        loop {
            signals::check().map_err(std::io::Error::other)?;
            let mut fds = [PollFd::new(self.0, PollFlags::IN)];
            match poll(&mut fds, Some(&turn)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return self.0.read(buf),
                Err(e) => return Err(e.into()),
            }
        }
    }
}

/// Takes the last character away, as far as it is UTF-8.
fn erase(line: &mut Vec<u8>) {
    let is_inner = |byte: u8| byte & 0xc0 == 0x80;
    while line.pop().is_some_and(is_inner) {}
}

/// One line, byte by byte: what follows is for others to read. A terminal erases with one key, DEL or
/// ^H; with `erases` the other one, which it hands over, erases as well.
fn read_line(from: &mut dyn Read, erases: bool) -> SvnResult<String> {
    let mut line = Vec::new();
    loop {
        let mut byte = [0];
        let got = from.read(&mut byte).map_err(|e| match e.downcast::<SvnError>() {
            Ok(cancelled) => cancelled,
            Err(e) => SvnError::io(&e, "Can't read from terminal"),
        })?;
        match (got, byte) {
            (0, _) if line.is_empty() => return Err(end_of_file()),
            (0, _) | (_, [b'\n']) => break,
            (_, [0x08 | 0x7f]) if erases => erase(&mut line),
            _ if line.len() >= MAX_ANSWER => return Err(end_of_file()),
            (_, [byte]) => line.push(byte),
        }
    }
    if line.ends_with(b"\r") {
        line.pop();
    }
    String::from_utf8(line).map_err(|_| {
        SvnError::new(ErrorCode::EINVAL, "Can't convert string from native encoding to 'UTF-8'")
    })
}

/// Writes text that belongs to a question, to the same terminal.
pub(crate) fn write_beside_question(text: &str) {
    let _held = terminal::hold();
    match terminal::open() {
        Ok(mut terminal) => {
            let _ = terminal.write_all(&locale::encode(text));
        }
        Err(_) => {
            let _ = std::io::stderr().write_all(&locale::encode(text));
        }
    }
}

fn ask(question: &str, hide: bool) -> SvnResult<String> {
    let _held = terminal::hold();
    let Ok(mut terminal) = terminal::open() else {
        let mut errors = std::io::stderr();
        let _ = errors.write_all(&locale::encode(question));
        return read_line(&mut std::io::stdin().lock(), false);
    };
    let _ = terminal.write_all(&locale::encode(question));
    let _hidden = if hide { EchoOff::begin(&terminal) } else { None };
    read_line(&mut Patient(&terminal), true)
}

/// Asks something whose answer is shown.
pub(crate) fn ask_openly(question: &str) -> SvnResult<String> {
    ask(question, false)
}

/// Asks for a secret, which is not shown while it is typed.
pub(crate) fn ask_hidden(question: &str) -> SvnResult<String> {
    ask(question, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let mut input: &[u8] = b"one\r\ntwo\n\nthree";
        for want in ["one", "two", "", "three"] {
            assert_eq!(read_line(&mut input, false).unwrap(), want);
        }
        assert!(read_line(&mut input, false).is_err());
    }

    #[test]
    fn both_keys_erase_at_a_terminal() {
        for (typed, want) in [
            ("secrex\u{8}t\n", "secret"),
            ("secrex\u{7f}t\n", "secret"),
            ("a\u{8}\u{8}\u{8}b\n", "b"),
            ("aü\u{8}b\n", "ab"),
            ("€\u{7f}\n", ""),
        ] {
            assert_eq!(read_line(&mut typed.as_bytes(), true).unwrap(), want);
        }
        // Input that is not a terminal is read unchanged.
        assert_eq!(read_line(&mut &b"a\x08\n"[..], false).unwrap(), "a\u{8}");
    }
}
