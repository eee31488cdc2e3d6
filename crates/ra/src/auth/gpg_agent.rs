//! gpg-agent as a store of passwords: it asks the user itself, with its own dialogue, and caches the
//! answer for as long as it likes. The file in the `auth` folder only says that the agent has the password.
//!
//! Its protocol is lines: a greeting, options about the terminal, `GET_PASSPHRASE` with the MD5 of the
//! realm as the name of the password, `CLEAR_PASSPHRASE` for one that was wrong.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use sapwood_core::Md5;
use sapwood_core::exact::Cut;

/// Longest line that is read from an agent, in bytes.
const MAX_LINE: u64 = 10 * 1024;

/// Where an agent may listen, and the options about the terminal that it is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpgAgent {
    /// Sockets, the first one that is there counts.
    pub sockets: Vec<PathBuf>,
    /// `ttyname`, `ttytype`, `lc-ctype`, `display`, where they are known.
    pub terminal: Vec<(&'static str, String)>,
}

/// A conversation with an agent.
struct Agent {
    stream: BufReader<UnixStream>,
}

impl Agent {
    fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        (&mut self.stream).take(MAX_LINE).read_until(b'\n', &mut line).ok()?;
        let line = line.strip_suffix(b"\n")?;
        Some(String::from_utf8_lossy(line).into_owned())
    }

    fn say(&mut self, line: &str) -> Option<String> {
        self.stream.get_mut().write_all(format!("{line}\n").as_bytes()).ok()?;
        self.line()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // A client that hangs up without a word leaves a warning in the agent's log.
        let _ = self.stream.get_mut().write_all(b"BYE\n");
    }
}

fn name_of(realm: &str) -> String {
    Md5::of(realm.as_bytes()).to_hex()
}

/// Text as one word of the protocol.
fn escaped(text: &str) -> String {
    text.replace(' ', "+")
}

/// What `%XX` stands for.
fn unescaped(text: &str) -> String {
    let mut made = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|d| std::str::from_utf8(d).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(value) if *byte == b'%' => {
                made.push(value);
                rest = after.tail(2);
            }
            _ => {
                made.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&made).into_owned()
}

impl GpgAgent {
    /// An agent that listens, and is the one that is meant.
    fn find(&self) -> Option<Agent> {
        let is_socket = |path: &&PathBuf| {
            std::fs::metadata(path).is_ok_and(|found| found.file_type().is_socket())
        };
        let socket = self.sockets.iter().find(is_socket)?;
        let mut agent = Agent { stream: BufReader::new(UnixStream::connect(socket).ok()?) };
        if !agent.line()?.starts_with("OK") {
            return None;
        }
        let own = agent.say("GETINFO socket_name")?;
        if own.strip_prefix("D ")? != socket.to_str()? || !agent.line()?.starts_with("OK") {
            return None;
        }
        Some(agent)
    }

    /// Whether there is one.
    pub(super) fn is_there(&self) -> bool {
        self.find().is_some()
    }

    /// The password of a user. The agent asks the user for it, if the user `can_be_asked`.
    pub(super) fn password(
        &self,
        realm: &str,
        user: &str,
        again: bool,
        can_be_asked: bool,
    ) -> Option<String> {
        let mut agent = self.find()?;
        for (name, value) in &self.terminal {
            if !agent.say(&format!("OPTION {name}={value}"))?.starts_with("OK") {
                return None;
            }
        }
        let ask = if can_be_asked { "" } else { "--no-ask " };
        let error = if again { "Authentication failed" } else { "X" };
        let answer = agent.say(&format!(
            "GET_PASSPHRASE --data {ask}{} {} {} {}",
            name_of(realm),
            escaped(error),
            escaped(&format!("Password for '{user}': ")),
            escaped(&format!("Enter your Subversion password for {realm}")),
        ))?;
        answer.strip_prefix("D ").map(unescaped)
    }

    /// Has a password forgotten that was wrong.
    pub(super) fn forget(&self, realm: &str) {
        if let Some(mut agent) = self.find() {
            let _ = agent.say(&format!("CLEAR_PASSPHRASE {}", name_of(realm)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_password_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("S.gpg-agent");
        let listener = UnixListener::bind(&socket).unwrap();
        let shown = socket.to_str().unwrap().to_owned();
        let heard = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream);
            reader.get_mut().write_all(b"OK Pleased to meet you\n").unwrap();
            let mut heard = Vec::new();
            let mut line = String::new();
            // The client may be gone before it reads the answer to its BYE: the reader then sees
            // a reset connection, which is an end too.
            while reader.read_line(&mut line).is_ok_and(|length| length > 0) {
                let reply = match line.split(' ').next().unwrap().trim() {
                    "GETINFO" => format!("D {shown}\nOK\n"),
                    "GET_PASSPHRASE" => "D se%63ret%25\nOK\n".to_owned(),
                    _ => "OK\n".to_owned(),
                };
                heard.push(std::mem::take(&mut line));
                let _ = reader.get_mut().write_all(reply.as_bytes());
            }
            heard
        });
        let terminal = vec![("ttyname", "/dev/tty9".to_owned())];
        let agent = GpgAgent { sockets: vec!["/nowhere".into(), socket], terminal };
        let password = agent.password("<svn://h:3690> Realm", "jo", false, true);
        assert_eq!(password.as_deref(), Some("secret%"));
        let heard = heard.join().unwrap().concat();
        assert!(heard.contains("OPTION ttyname=/dev/tty9\n"), "{heard}");
        assert!(heard.contains(" X Password+for+'jo':+ Enter+your+"), "{heard}");
        assert!(heard.ends_with("BYE\n"), "{heard}");
        assert!(!GpgAgent::default().is_there());
    }
}
