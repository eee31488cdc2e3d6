//! Questions at the terminal: name, password (not shown), yes or no.

use std::fs::File;
use std::io::{BufRead as _, Read, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_ra::auth::{Certificate, Decision, Failures, Prompter, Simple};

/// Asks at the process's terminal, or, without one, on standard error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terminal;

/// No answer is as long as this, in bytes.
const MAX_ANSWER: usize = 64 << 10;

fn end_of_file() -> SvnError {
    SvnError::new(ErrorCode(70014), "End of file while reading from terminal")
}

/// The terminal that does not show what is typed, and how it was before.
static HIDDEN: Mutex<Option<(File, Termios)>> = Mutex::new(None);

/// Makes the terminal show again what is typed.
pub(crate) fn show_typing_again() {
    if let Some((terminal, before)) = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let _ = tcsetattr(terminal, OptionalActions::Flush, &before);
    }
}

/// Makes a terminal show what is typed again, whatever happens meanwhile.
struct EchoOff;

impl EchoOff {
    fn begin(terminal: &File) -> Option<Self> {
        let before = tcgetattr(terminal).ok()?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        quiet.local_modes.insert(LocalModes::ECHONL);
        let kept = terminal.try_clone().ok()?;
        *HIDDEN.lock().unwrap_or_else(PoisonError::into_inner) = Some((kept, before));
        let hidden = Self;
        tcsetattr(terminal, OptionalActions::Flush, &quiet).ok()?;
        Some(hidden)
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        show_typing_again();
    }
}

/// A terminal that is waited for in short turns, so that a signal ends the waiting.
struct Patient<'t>(&'t File);

impl Read for Patient<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let turn = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        loop {
            crate::signals::check().map_err(std::io::Error::other)?;
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

pub(crate) fn terminal() -> std::io::Result<File> {
    File::options().read(true).write(true).open("/dev/tty")
}

/// Writes text that belongs to a question, to the same terminal.
fn write_to_terminal(text: &str) {
    let _held = crate::svn::hold_terminal();
    match terminal() {
        Ok(mut terminal) => {
            let _ = terminal.write_all(&crate::locale::encode(text));
        }
        Err(_) => write_prompt(text),
    }
}

fn ask(question: &str, hide: bool) -> SvnResult<String> {
    let _held = crate::svn::hold_terminal();
    let Ok(mut terminal) = terminal() else {
        let mut errors = std::io::stderr();
        let _ = errors.write_all(&crate::locale::encode(question));
        return read_line(&mut std::io::stdin().lock(), false);
    };
    let _ = terminal.write_all(&crate::locale::encode(question));
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

fn write_prompt(text: &str) {
    crate::report::stderr(text);
}

impl Prompter for Terminal {
    fn simple(&self, realm: &str, username: Option<&str>, may_save: bool) -> SvnResult<Simple> {
        if !realm.is_empty() {
            write_to_terminal(&format!("Authentication realm: {realm}\n"));
        }
        let username = match username {
            Some(name) => name.to_owned(),
            None => ask("Username: ", false)?,
        };
        let password = ask(&format!("Password for '{username}': "), true)?;
        Ok(Simple { username, password, may_save })
    }

    fn server_trust(
        &self,
        realm: &str,
        failures: Failures,
        certificate: &Certificate,
        may_save: bool,
    ) -> SvnResult<Decision> {
        let answer = ask(&trust_question(realm, failures, certificate, may_save), false)?;
        Ok(match answer.chars().next() {
            Some('t' | 'T') => Decision::Temporarily,
            Some('p' | 'P') if may_save => Decision::Permanently,
            _ => Decision::Reject,
        })
    }

    fn store_plaintext(&self, realm: &str, file: &Path) -> SvnResult<bool> {
        write_prompt(&format!(
            "\nThe password for the realm\n\n   {realm}\n\ncan only be kept unencrypted. To be \
             asked no more, set the option\n'store-plaintext-passwords' to 'yes' or 'no' in\n\
             '{}'.\n",
            file.display()
        ));
        yes_or_no("Store password unencrypted (yes/no)? ")
    }

    fn client_certificate(&self, realm: &str) -> SvnResult<String> {
        write_to_terminal(&format!("Authentication realm: {realm}\n"));
        let file = ask("Client certificate filename: ", false)?;
        let whole = std::path::absolute(&file);
        Ok(whole.map_or(file, |whole| whole.to_string_lossy().into_owned()))
    }

    fn passphrase(&self, certificate: &str) -> SvnResult<String> {
        ask(&format!("Passphrase for '{certificate}': "), true)
    }

    fn store_plaintext_passphrase(&self, certificate: &str, file: &Path) -> SvnResult<bool> {
        write_to_terminal(&format!(
            "\nThe passphrase of the client certificate\n\n   {certificate}\n\ncan only be kept \
             unencrypted. To be asked no more, set the option\n\
             'store-ssl-client-cert-pp-plaintext' to 'yes' or 'no' in\n'{}'.\n",
            file.display()
        ));
        yes_or_no("Store passphrase unencrypted (yes/no)? ")
    }
}

/// Asks until it is one or the other.
fn yes_or_no(mut question: &str) -> SvnResult<bool> {
    loop {
        match ask(question, false)?.as_str() {
            "yes" => return Ok(true),
            "no" => return Ok(false),
            _ => question = "Please type 'yes' or 'no': ",
        }
    }
}

/// The question about a server's certificate, in the reference's sentences.
fn trust_question(realm: &str, failures: Failures, it: &Certificate, may_save: bool) -> String {
    let mut text = format!("Error validating server certificate for '{realm}':\n");
    for (failure, sentence) in [
        (
            Failures::UNKNOWN_CA,
            " - The certificate is not issued by a trusted authority. Use the\n   fingerprint to \
             validate the certificate manually!\n",
        ),
        (Failures::NAME, " - The certificate hostname does not match.\n"),
        (Failures::NOT_YET_VALID, " - The certificate is not yet valid.\n"),
        (Failures::EXPIRED, " - The certificate has expired.\n"),
        (Failures::OTHER, " - The certificate has an unknown error.\n"),
    ] {
        if failures.has(failure) {
            text.push_str(sentence);
        }
    }
    text.push_str(&format!(
        "Certificate information:\n - Hostname: {}\n - Valid: from {} until {}\n - Issuer: {}\n \
         - Fingerprint: {}\n",
        it.hostname, it.valid_from, it.valid_until, it.issuer, it.fingerprint
    ));
    text.push_str(if may_save {
        "(R)eject, accept (t)emporarily or accept (p)ermanently? "
    } else {
        "(R)eject or accept (t)emporarily? "
    });
    text
}

/// The first line of standard input, for `--password-from-stdin`.
pub(crate) fn stdin_line() -> SvnResult<String> {
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|e| SvnError::io(&e, "Can't read stdin"))?;
    let len = line.trim_end_matches(['\n', '\r']).len();
    line.truncate(len);
    Ok(line)
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
