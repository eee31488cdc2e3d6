//! A server that does nothing but receive and send: it gives every request the same short reply.
//! What it costs is what no server can do without; `tools/ops.py --floor` measures it.
//!
//! Takes the arguments of `svnserve`; the last one must be the port.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

/// What is said before the first request, each to one message of the client.
const OPENING: [&[u8]; 3] = [
    b"( success ( 2 2 ( ) ( edit-pipeline depth log-revprops ) ) ) ",
    b"( success ( ( ANONYMOUS ) 5:floor ) ) ",
    b"( success ( ) ) ( success ( 36:00000000-0000-0000-0000-000000000000 9:svn://x/y ( ) ) ) ",
];
const REPLY: &[u8] = b"( success ( ( ) 0: ) ) ( success ( 50000 ) ) ";

fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut room = vec![0; 16 << 10];
    for words in OPENING.into_iter().chain(std::iter::repeat(REPLY)) {
        stream.write_all(words)?;
        if stream.read(&mut room)? == 0 {
            break;
        }
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let port = std::env::args().next_back().and_then(|port| port.parse().ok()).unwrap_or(3690);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    loop {
        let (stream, _) = listener.accept()?;
        std::thread::spawn(move || serve(stream));
    }
}
