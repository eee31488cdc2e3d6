//! The lines with which a connection between two servers begins. `docs/formats/servers.md` describes them.
//!
//! Invariant: a [`Hello`] has been proved; one that was not proved does not exist.

use std::net::IpAddr;

use crate::hex::{self, is_hex};
use crate::name::Name;
use crate::secret::Secret;

/// What the server that was called says first, before a number by chance.
const CHALLENGE: &str = "sapwood 1 ";
/// Bytes of a number by chance, in hexadecimal digits.
const NONCE: usize = 32;
/// Bytes of the line of the server that was called, with its end.
pub(crate) const CHALLENGE_BYTES: usize = CHALLENGE.len() + NONCE + 1;
/// Bytes of its answer, with its end.
pub(crate) const ANSWER_BYTES: usize = 4 + 1 + 64 + 1;
/// Bytes of the longest line of the server that calls, with its end.
pub(crate) const LONGEST_HELLO: usize = 1024;

/// What the rest of a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// One connection of svn://, from the client's greeting on.
    Svn,
    /// Requests of http.
    Http,
    /// Nothing: the server is only asked whether it is there.
    Look,
}

impl Door {
    const ALL: [(&'static str, Self); 3] =
        [("svn", Self::Svn), ("http", Self::Http), ("look", Self::Look)];

    const fn word(self) -> &'static str {
        match self {
            Self::Svn => "svn",
            Self::Http => "http",
            Self::Look => "look",
        }
    }
}

/// What a server says about a connection that it opens to another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// What the rest of the connection is.
    pub door: Door,
    /// The server that opens it.
    pub from: Name,
    /// The server that is meant.
    pub to: Name,
    /// The address of its client, for svn://.
    pub client: Option<IpAddr>,
    /// The repository that its client asks for, for svn://.
    pub repository: Option<String>,
}

/// A number by chance.
pub(crate) fn nonce() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(hex::of(&bytes))
}

fn is_nonce(text: &str) -> bool {
    text.len() == NONCE && is_hex(text)
}

/// The first line, of the server that was called.
pub(crate) fn challenge(nonce: &str) -> String {
    format!("{CHALLENGE}{nonce}\n")
}

/// The number in it.
pub(crate) fn read_challenge(line: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    line.strip_prefix(CHALLENGE).filter(|nonce| is_nonce(nonce))
}

impl Hello {
    fn words(&self) -> String {
        let Self { door, from, to, client, repository } = self;
        let client = client.map_or_else(|| "-".to_owned(), |client| client.to_string());
        let repository = repository.as_deref().unwrap_or("-");
        format!("{} {from} {to} {client} {repository}", door.word())
    }

    /// The line of the server that calls: `own` is its number by chance, `theirs` that of the other.
    pub(crate) fn line(&self, secret: &Secret, own: &str, theirs: &str) -> Option<String> {
        let said = format!("{own} {}", self.words());
        let code = secret.code("calls", &format!("{theirs} {said}"))?;
        Some(format!("{said} {code}\n"))
    }

    /// Reads such a line, without its end: what it says, and its number by chance. `own` is the number that was sent before it.
    #[must_use]
    pub fn read(line: &[u8], secret: &Secret, own: &str) -> Option<(Self, String)> {
        let line = std::str::from_utf8(line).ok()?;
        let (said, code) = line.rsplit_once(' ')?;
        if !secret.proves("calls", &format!("{own} {said}"), code) {
            return None;
        }
        let mut words = said.split(' ');
        let nonce = words.next().filter(|nonce| is_nonce(nonce))?.to_owned();
        let word = words.next()?;
        let (_, door) = Door::ALL.into_iter().find(|(known, _)| *known == word)?;
        let mut name = || Name::parse(words.next()?).ok();
        let (from, to) = (name()?, name()?);
        let client = match words.next()? {
            "-" => None,
            address => Some(address.parse().ok()?),
        };
        let repository = words.next()?;
        let is_one = repository.len() <= 64 && is_hex(repository);
        let repository = match repository {
            "-" => None,
            text if is_one => Some(text.to_owned()),
            _ => return None,
        };
        let hello = Self { door, from, to, client, repository };
        words.next().is_none().then_some((hello, nonce))
    }
}

/// The answers of the server that was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It goes on.
    Here,
    /// It does not have the repository at this address.
    Elsewhere,
}

impl Answer {
    const fn word(self) -> &'static str {
        match self {
            Self::Here => "here",
            Self::Elsewhere => "else",
        }
    }

    /// Its line: `own` is the number by chance of the server that was called, `theirs` that of the other.
    pub(crate) fn line(self, secret: &Secret, own: &str, theirs: &str) -> Option<String> {
        let said = format!("{theirs} {own} {}", self.word());
        Some(format!("{} {}\n", self.word(), secret.code("answers", &said)?))
    }

    /// Reads the line in the server that called.
    pub(crate) fn read(line: &[u8], secret: &Secret, own: &str, theirs: &str) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
        let (word, code) = line.split_once(' ')?;
        let answer = [Self::Here, Self::Elsewhere].into_iter().find(|a| a.word() == word)?;
        let said = format!("{own} {theirs} {word}");
        secret.proves("answers", &said, code).then_some(answer)
    }
}

/// What fuzzing calls: reads a line without knowing the secret; whether it counts, which it must not.
#[must_use]
pub fn fuzz(line: &[u8]) -> bool {
    let Ok(secret) = Secret::new(b"a secret that the line does not know".to_vec()) else {
        return true;
    };
    let own = "00000000000000000000000000000000";
    Hello::read(line, &secret, own).is_some() || Answer::read(line, &secret, own, own).is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: &str = "0123456789abcdef0123456789abcdef";
    const B: &str = "fedcba9876543210fedcba9876543210";

    fn secret(text: &str) -> Secret {
        Secret::new(text.as_bytes().to_vec()).unwrap()
    }

    fn hello() -> impl Strategy<Value = Hello> {
        let name = "[a-z0-9.-]{1,20}:[1-9][0-9]{0,3}";
        let client = proptest::option::of(any::<IpAddr>());
        let repository = proptest::option::of("[0-9a-f]{1,64}");
        (0usize..3, name, name, client, repository).prop_map(
            |(at, from, to, client, repository)| {
                let name = |text: String| Name::parse(&text).unwrap();
                Hello { door: Door::ALL[at].1, from: name(from), to: name(to), client, repository }
            },
        )
    }

    proptest! {
        #[test]
        fn lines_that_were_written_are_read_and_changed_ones_are_not(
            hello in hello(), at in any::<prop::sample::Index>(), other in any::<u8>()
        ) {
            let key = secret("a secret of all servers");
            let line = hello.line(&key, A, B).unwrap();
            prop_assert!(line.len() <= LONGEST_HELLO);
            let said = line.trim_end().as_bytes();
            prop_assert_eq!(Hello::read(said, &key, B), Some((hello, A.to_owned())));
            // With another number, which a line that was overheard has, or another secret, or changed.
            prop_assert_eq!(Hello::read(said, &key, A), None);
            prop_assert_eq!(Hello::read(said, &secret("another secret of them"), B), None);
            let mut changed = said.to_vec();
            let at = at.index(changed.len());
            if changed[at] != other && !changed[at].eq_ignore_ascii_case(&other) {
                changed[at] = other;
                prop_assert_eq!(Hello::read(&changed, &key, B), None);
            }
        }

        #[test]
        fn no_bytes_are_a_proof(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(!fuzz(&bytes));
        }
    }

    #[test]
    fn the_other_lines() {
        let key = secret("a secret of all servers");
        let line = challenge(A);
        assert_eq!((line.len(), read_challenge(line.as_bytes())), (CHALLENGE_BYTES, Some(A)));
        assert_eq!(read_challenge(b"SSH-2.0-OpenSSH"), None);
        for answer in [Answer::Here, Answer::Elsewhere] {
            let line = answer.line(&key, A, B).unwrap();
            assert_eq!(line.len(), ANSWER_BYTES);
            assert_eq!(Answer::read(line.as_bytes(), &key, B, A), Some(answer));
            assert_eq!(Answer::read(line.as_bytes(), &key, A, B), None);
            let other = line.replace("here", "else").into_bytes();
            assert_eq!(Answer::read(&other, &key, B, A).is_some(), answer == Answer::Elsewhere);
        }
        assert_ne!(nonce(), nonce());
    }
}
