//! Connections between two servers, from the first byte to the point where a client's own begin.
//!
//! Invariant: each step has a time limit, and a line of the other side a longest length.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::error::{Error, Result};
use crate::hello::{
    ANSWER_BYTES, Answer, CHALLENGE_BYTES, Hello, LONGEST_HELLO, challenge, nonce, read_challenge,
};
use crate::name::Name;
use crate::secret::Secret;

/// How long a server may take to accept a connection, and again to say its first line.
const CONNECT: Duration = Duration::from_secs(1);
/// How long it may take to answer: it looks for the repository, and may have to open it.
const ANSWER: Duration = Duration::from_secs(5);

/// How a connection ends that the other side closes.
const ENDS: [io::ErrorKind; 2] = [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset];

fn unreachable(name: &Name, why: impl std::fmt::Display) -> Error {
    Error::Unreachable { name: name.to_string(), why: why.to_string() }
}

fn refused(name: &Name, why: &'static str) -> Error {
    Error::Refused { name: name.to_string(), why }
}

async fn in_time<T>(
    name: &Name,
    limit: Duration,
    work: impl Future<Output = io::Result<T>>,
) -> Result<T> {
    match tokio::time::timeout(limit, work).await {
        Ok(done) => done.map_err(|error| unreachable(name, error)),
        Err(late) => Err(unreachable(name, late)),
    }
}

/// Opens a connection to the server `hello.to`, and proves to each of both that the other is one of them. `first` is what follows the
/// line of this server at once: nothing of it may be secret.
///
/// # Errors
/// When it cannot be reached in time, is none of the servers, or does not have the repository.
pub async fn open(hello: &Hello, secret: &Secret, first: &[u8]) -> Result<TcpStream> {
    let name = &hello.to;
    let own = nonce().ok_or_else(|| unreachable(name, "there are no random bytes"))?;
    let connecting = TcpStream::connect((name.host(), name.port()));
    let mut stream = in_time(name, CONNECT, connecting).await?;
    // Requests are small, and each waits for its reply.
    stream.set_nodelay(true).map_err(|error| unreachable(name, error))?;
    let mut line = [0; CHALLENGE_BYTES];
    in_time(name, CONNECT, stream.read_exact(&mut line)).await?;
    let theirs = read_challenge(&line)
        .ok_or_else(|| refused(name, "what listens there is no such server"))?;
    let said = hello.line(secret, &own, theirs);
    let said = said.ok_or_else(|| refused(name, "the secret cannot be used"))?;
    in_time(name, CONNECT, stream.write_all(&[said.as_bytes(), first].concat())).await?;
    let mut answer = [0; ANSWER_BYTES];
    let answering = async {
        match stream.read_exact(&mut answer).await {
            // It closes the connection when it does not believe what it read.
            Err(error) if ENDS.contains(&error.kind()) => Ok(false),
            other => other.map(|_| true),
        }
    };
    if !in_time(name, ANSWER, answering).await? {
        return Err(refused(name, "it has another secret, or another name of its own"));
    }
    match Answer::read(&answer, secret, &own, theirs) {
        Some(Answer::Here) => Ok(stream),
        Some(Answer::Elsewhere) => Err(Error::Elsewhere { name: name.to_string() }),
        None => Err(refused(name, "it does not prove that it knows the secret")),
    }
}

/// A connection of another server that has proved that it is one.
#[derive(Debug)]
pub struct Caller {
    /// What it says.
    pub hello: Hello,
    own: String,
    theirs: String,
    secret: Secret,
}

/// Takes a connection of another server. It has to be answered after that: [`Caller::answer`].
///
/// # Errors
/// A sentence why it is not believed, without anything that it sent.
pub async fn accept(
    stream: &mut TcpStream,
    own_name: &Name,
    secret: &Secret,
) -> Result<Caller, &'static str> {
    let own = nonce().ok_or("there are no random bytes")?;
    let greeting = async {
        stream.write_all(challenge(&own).as_bytes()).await.ok()?;
        read_line(stream).await
    };
    let line = tokio::time::timeout(ANSWER, greeting).await.map_err(|_| "it says nothing")?;
    let line = line.ok_or("it does not say a line")?;
    let read = Hello::read(&line, secret, &own);
    let (hello, theirs) = read.ok_or("it does not prove that it knows the secret")?;
    if hello.to != *own_name {
        return Err("it means a server of another name");
    }
    Ok(Caller { hello, own, theirs, secret: secret.clone() })
}

impl Caller {
    /// The line to answer with.
    #[must_use]
    pub fn answer(&self, is_here: bool) -> Option<String> {
        let answer = if is_here { Answer::Here } else { Answer::Elsewhere };
        answer.line(&self.secret, &self.own, &self.theirs)
    }
}

/// A line without its end; what follows it stays unread.
async fn read_line(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    loop {
        match stream.read_u8().await.ok()? {
            b'\n' => return Some(line),
            byte if line.len() < LONGEST_HELLO => line.push(byte),
            _ => return None,
        }
    }
}
