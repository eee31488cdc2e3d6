//! Texts come in the order in which they were asked for, whatever the server does with connections.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use flate2::write::GzEncoder;

use super::*;
use crate::http::test_client::client;

/// The next request's path; none at the end.
fn heard(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.extend(byte);
    }
    let head = String::from_utf8(head).unwrap();
    assert!(head.contains("\r\nhost: 127.0.0.1:"), "{head}");
    Some(head.strip_prefix("GET ").unwrap().split(' ').next().unwrap().to_owned())
}

/// What a path is answered with: with a length, in chunks, packed, or not at all.
fn reply(path: &str, more: &str) -> Vec<u8> {
    let text = path.repeat(500).into_bytes();
    let number: usize = path.trim_start_matches('/').parse().unwrap_or(0);
    let (text, packed) = if number % 4 == 1 {
        let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&text).unwrap();
        (packed.finish().unwrap(), "Content-Encoding: gzip\r\n")
    } else {
        (text, "")
    };
    let head = if path == "/none" { "HTTP/1.1 404 None\r\n" } else { "HTTP/1.1 200 OK\r\n" };
    let head = format!("{head}{more}{packed}");
    if !number.is_multiple_of(3) {
        return [format!("{head}Content-Length: {}\r\n\r\n", text.len()).as_bytes(), &text]
            .concat();
    }
    let mut out = format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    for piece in text.chunks(700) {
        out.extend(format!("{:x};x=y\r\n", piece.len()).bytes());
        out.extend(piece);
        out.extend(b"\r\n");
    }
    out.extend(b"0\r\nTrailer: x\r\n\r\n");
    out
}

/// A server whose connections end after `each` replies; it says so, or not. It answers nothing before
/// it has heard `at_once` requests.
fn server(each: usize, says: bool, at_once: usize) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            std::thread::spawn(move || {
                let mut waiting = VecDeque::new();
                for answered in 1..=each {
                    while waiting.len() < at_once && (answered == 1 || waiting.is_empty()) {
                        let Some(path) = heard(&mut stream) else { return };
                        waiting.push_back(path);
                    }
                    let path = waiting.pop_front().unwrap();
                    let more = if says && answered == each { "Connection: close\r\n" } else { "" };
                    stream.write_all(&reply(&path, more)).unwrap();
                }
                // Let what was sent be read before what was not heard resets the connection.
                stream.shutdown(std::net::Shutdown::Write).unwrap();
                while heard(&mut stream).is_some() {}
            });
        }
    });
    port
}

/// Asks for so many texts ahead as there is room for, and reads them.
fn fetch(client: &Client, connections: usize, count: usize) {
    let mut pipeline = Pipeline::new(connections);
    let mut asked = 0;
    for number in 0..count {
        while asked < count && pipeline.has_room() {
            pipeline.ask(client, &format!("/{asked}"), None);
            asked += 1;
        }
        let path = format!("/{number}");
        let mut found = String::new();
        let mut take = |text: &mut dyn Read, _: bool| {
            text.read_to_string(&mut found).map(drop).map_err(SvnError::from_stream)
        };
        assert!(pipeline.text(client, &path, &mut take).unwrap(), "{path} is left");
        assert!(found == path.repeat(500), "{path}: {}", found.len());
    }
}

#[test]
fn requests_go_before_replies_come() {
    fetch(&client(server(1000, true, DEPTH)), 2, 40);
    fetch(&client(server(1000, true, 5)), 4, 100);
}

#[test]
fn connections_that_end_are_made_anew() {
    fetch(&client(server(7, true, 1)), 2, 40);
    fetch(&client(server(7, false, 1)), 4, 100);
}

#[test]
fn what_is_unusual_is_left() {
    let client = client(server(1000, true, 1));
    let mut pipeline = Pipeline::new(2);
    for path in ["/1", "/none", "/2"] {
        pipeline.ask(&client, path, None);
    }
    let mut take = |text: &mut dyn Read, _: bool| {
        io::copy(text, &mut io::sink()).map(drop).map_err(SvnError::from_stream)
    };
    assert!(pipeline.text(&client, "/1", &mut take).unwrap());
    for path in ["/none", "/2"] {
        assert!(!pipeline.text(&client, path, &mut take).unwrap());
        assert!(!pipeline.has_room());
    }
    // A server that ends each connection without a word.
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let silent = super::tests::client(listener.local_addr().unwrap().port());
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let mut pipeline = Pipeline::new(2);
    pipeline.ask(&silent, "/1", None);
    assert!(!pipeline.text(&silent, "/1", &mut take).unwrap());
}
