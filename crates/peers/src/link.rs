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
use crate::servers::{ServerList, Servers};
use crate::stream::PeerStream;
use crate::tls;

/// How long a server may take to accept a connection, and again to say its first line.
const CONNECT: Duration = Duration::from_secs(1);
/// How long it may take to answer: it looks for the repository, and may have to open it.
const ANSWER: Duration = Duration::from_secs(5);

/// How a connection ends that the other side closes.
const ENDS: [io::ErrorKind; 2] = [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset];

fn unreachable(name: &Name, why: impl std::fmt::Display) -> Error {
    Error::Unreachable { name: name.to_string(), why: why.to_string() }
}

fn refused(name: &Name, why: &str) -> Error {
    Error::Refused { name: name.to_string(), why: why.to_owned() }
}

fn failed(name: &Name, error: &io::Error) -> Error {
    tls::why(error).map_or_else(|| unreachable(name, error), |why| refused(name, &why))
}

async fn in_time<T>(
    name: &Name,
    limit: Duration,
    work: impl Future<Output = io::Result<T>>,
) -> Result<T> {
    match tokio::time::timeout(limit, work).await {
        Ok(done) => done.map_err(|error| failed(name, &error)),
        Err(late) => Err(unreachable(name, late)),
    }
}

/// Connects to a server, and checks its certificate where there is TLS.
async fn connect(servers: &Servers, name: &Name) -> Result<PeerStream> {
    let connecting = TcpStream::connect((name.host(), name.port()));
    let stream = in_time(name, CONNECT, connecting).await?;
    // Requests are small, and each waits for its reply.
    stream.set_nodelay(true).map_err(|error| unreachable(name, error))?;
    let Some(tls) = servers.tls() else { return Ok(PeerStream::Plain(stream)) };
    in_time(name, CONNECT, tls.connect(servers.settings().host_of(name), stream)).await
}

/// Opens a connection to the server `hello.to`, and proves to each of both that the other is one of them. `first` is what follows the
/// line of this server at once: nothing of it may be secret.
///
/// # Errors
/// When it cannot be reached in time, is none of the servers, or does not have the repository.
pub async fn open(servers: &Servers, hello: &Hello, first: &[u8]) -> Result<PeerStream> {
    let (name, secret) = (&hello.to, &servers.settings().secret);
    let own = nonce().ok_or_else(|| unreachable(name, "there are no random bytes"))?;
    let mut stream = connect(servers, name).await?;
    let mut line = [0; CHALLENGE_BYTES];
    in_time(name, CONNECT, stream.read_exact(&mut line)).await?;
    let theirs = read_challenge(&line)
        .ok_or_else(|| refused(name, "what listens there is no such server"))?;
    let said = hello.line(secret, &own, theirs);
    let said = said.ok_or_else(|| refused(name, "the secret cannot be used"))?;
    let sending = async {
        stream.write_all(&[said.as_bytes(), first].concat()).await?;
        stream.flush().await
    };
    in_time(name, CONNECT, sending).await?;
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
/// A sentence why it is not believed, without anything that it sent but what its certificate is for.
pub async fn accept(stream: TcpStream, servers: &Servers) -> Result<(PeerStream, Caller), String> {
    let ServerList { own: own_name, secret, .. } = servers.settings();
    let own = nonce().ok_or("there are no random bytes")?;
    let greeting = async {
        let mut stream = shake(stream, servers).await?;
        let line = ask(&mut stream, &own).await.ok_or("it does not say a line")?;
        Ok::<_, String>((stream, line))
    };
    let greeted = tokio::time::timeout(ANSWER, greeting).await;
    let (stream, line) = greeted.map_err(|_| "it says nothing")??;
    let read = Hello::read(&line, secret, &own);
    let (hello, theirs) = read.ok_or("it does not prove that it knows the secret")?;
    if servers.tls().is_some() {
        tls::shows(&stream, servers.settings().host_of(&hello.from))?;
    }
    if hello.to != *own_name {
        return Err("it means a server of another name".to_owned());
    }
    Ok((stream, Caller { hello, own, theirs, secret: secret.clone() }))
}

/// Begins with TLS where the configuration says so: what comes without it is refused.
async fn shake(stream: TcpStream, servers: &Servers) -> Result<PeerStream, String> {
    let Some(tls) = servers.tls() else { return Ok(PeerStream::Plain(stream)) };
    let accepted = tls.accept(stream).await;
    let ends = || "it ends before TLS has begun".to_owned();
    accepted.map_err(|error| tls::why(&error).unwrap_or_else(ends))
}

/// Says the first line, and reads the other side's.
async fn ask(stream: &mut PeerStream, own: &str) -> Option<Vec<u8>> {
    stream.write_all(challenge(own).as_bytes()).await.ok()?;
    stream.flush().await.ok()?;
    read_line(stream).await
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
async fn read_line(stream: &mut PeerStream) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    loop {
        match stream.read_u8().await.ok()? {
            b'\n' => return Some(line),
            byte if line.len() < LONGEST_HELLO => line.push(byte),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests;
