//! Replies that are packed, connections that are used again, bodies in both forms.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use bytes::Bytes;
use flate2::write::GzEncoder;
use sapwood_core::config::{Case, Config};

use super::*;

/// A server of one connection that gives these answers, one a request, and then what it heard.
fn server(answers: Vec<Vec<u8>>) -> (u16, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut heard = Vec::new();
        for answer in answers {
            let before = heard.len();
            while !heard[before..].ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                heard.extend(byte);
            }
            stream.write_all(&answer).unwrap();
        }
        String::from_utf8(heard).unwrap()
    });
    (port, served)
}

fn transport(port: u16) -> Rc<Transport> {
    let options = Options::of(&Config::new(Case::INSENSITIVE), "localhost").unwrap();
    let peer = Origin { host: "127.0.0.1".to_owned(), port };
    Transport::new(peer, None, None, &options, CancelToken::default()).unwrap()
}

fn get(transport: &Rc<Transport>, payload: &Payload, chunked: bool) -> Reply {
    let request = || {
        let body = payload.body(chunked)?;
        Ok(Request::builder().method("REPORT").uri("/x").body(body).unwrap())
    };
    transport.send(true, request).unwrap()
}

#[test]
fn packed_replies_are_unpacked_and_the_connection_used_again() {
    let text = "many words ".repeat(10_000);
    let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n";
    let plain = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain".to_vec();
    let sized = format!("{head}Content-Length: {}\r\n\r\n", packed.len());
    let sized = [sized.as_bytes(), &packed].concat();
    let (one, two) = packed.split_at(packed.len() / 2);
    let chunk =
        |piece: &[u8]| [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n");
    let chunked = [chunked.as_bytes(), &chunk(one), &chunk(two), &chunk(b"")].concat();
    let (port, served) = server(vec![sized, plain.clone(), chunked, plain]);
    let transport = transport(port);
    for want in [text.as_str(), "plain", text.as_str(), "plain"] {
        let mut found = String::new();
        get(&transport, &Payload::None, false).read_to_string(&mut found).unwrap();
        assert!(found == want, "{} bytes instead of {}", found.len(), want.len());
    }
    assert_eq!(served.join().unwrap().matches("REPORT /x").count(), 4);
}

#[test]
fn bodies_go_with_their_length_or_in_chunks() {
    let answer = b"HTTP/1.1 204 No\r\n\r\n".to_vec();
    let payload = Payload::Bytes(Bytes::from_static(b"said\r\n\r\n"));
    for (chunked, want) in [(false, "\r\n\r\nsaid\r\n\r\n"), (true, "\r\n\r\n8\r\nsaid\r\n\r\n")] {
        let (port, served) = server(vec![Vec::new(), answer.clone()]);
        assert_eq!(get(&transport(port), &payload, chunked).status(), 204);
        let heard = served.join().unwrap();
        assert!(heard.ends_with(want), "{heard}");
        let header = if chunked { "transfer-encoding: chunked" } else { "content-length: 8" };
        assert!(heard.contains(header), "{heard}");
    }
}
