//! The outcome of requests is that of one at a time, whatever the server does with connections.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::*;
use crate::http::test_client::client;
use crate::http::transport::Payload;

/// What a server does after a request of its script.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Replies with a status, once it has heard so many requests in all.
    Reply(u16, usize),
    /// Replies, and closes the connection with a word or without one.
    ReplyAndClose(u16),
    /// Closes the connection without a reply.
    Close,
}

/// A server with a list of acts, the next one for each request that is answered, whatever its connection. It notes
/// which requests it has heard, by connection.
struct Server {
    port: u16,
    heard: Arc<Mutex<Vec<(usize, String)>>>,
}

/// The next request; none at the end. Its body is dropped.
fn hear(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.extend(byte);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).ok()?;
    Some(head.split(' ').nth(1).unwrap().to_owned())
}

fn server(acts: &[Act]) -> Server {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let acts = Arc::new(Mutex::new(VecDeque::from_iter(acts.iter().copied())));
    let note = Arc::clone(&heard);
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let (acts, note) = (Arc::clone(&acts), Arc::clone(&note));
            std::thread::spawn(move || {
                let say = |path| note.lock().unwrap().push((number, path));
                // The first connection has a request before these.
                let more = usize::from(number == 0);
                serve(&mut stream.unwrap(), more, &|| acts.lock().unwrap().pop_front(), &say);
            });
        }
    });
    Server { port, heard }
}

/// Answers on one connection.
fn serve(
    stream: &mut TcpStream,
    more: usize,
    next: &dyn Fn() -> Option<Act>,
    say: &dyn Fn(String),
) {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let (mut heard, mut answered) = (0, 0);
    loop {
        let mut hear_one = || hear(stream).map(say).is_some();
        if heard == answered {
            if !hear_one() {
                return;
            }
            heard += 1;
        }
        let Some(act) = next() else { return };
        while matches!(act, Act::Reply(_, at_least) if at_least > 0 && heard < at_least + more)
            && hear_one()
        {
            heard += 1;
        }
        let (status, close) = match act {
            Act::Reply(status, _) => (status, ""),
            Act::ReplyAndClose(status) => (status, "Connection: close\r\n"),
            Act::Close => return,
        };
        let login = if status == 401 { "WWW-Authenticate: Basic realm=\"x\"\r\n" } else { "" };
        let body = if status == 204 { "" } else { "ok" };
        let length = body.len();
        let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n{close}{login}\r\n");
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        answered += 1;
        if matches!(act, Act::ReplyAndClose(_)) {
            // Let the reply be read before what was not heard resets the connection.
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            while hear(stream).is_some() {}
            return;
        }
    }
}

/// What came of requests for `/1`, `/2`, ...: those that were passed on, with their statuses, and the error.
struct Outcome {
    replies: Vec<(usize, u16)>,
    error: Option<SvnError>,
    heard: Vec<(usize, String)>,
}

/// Queues requests on a client that has seen the server answer well.
fn run(acts: &[Act], order: Order, count: usize, bytes: usize) -> Outcome {
    let server = server(&[&[Act::Reply(200, 0)], acts].concat());
    let client = client(server.port);
    client.call(&Call::new("OPTIONS", "/0")).unwrap().finish().unwrap();
    assert!(client.may_pipeline());
    let mut queue = RequestQueue::new(order);
    let mut replies = Vec::new();
    let mut take = |tag, _: &Call<'static>, reply: Reply| {
        replies.push((tag, reply.status()));
        if reply.status() >= 500 {
            return Err(SvnError::new(ErrorCode::RA_DAV_REQUEST_FAILED, "refused"));
        }
        reply.finish()
    };
    let mut queue_all = || {
        for number in 1..=count {
            let body = Payload::Bytes(vec![b'x'; bytes].into());
            let call =
                Call::new("PUT", &format!("/{number}")).carrying("text/x", body).into_owned();
            queue.push(&client, call, number, &mut take)?;
        }
        queue.finish(&client, &mut take)
    };
    let error = queue_all().err();
    if error.is_some() {
        queue.drain(&client);
    }
    let heard = server.heard.lock().unwrap().iter().skip(1).cloned().collect();
    Outcome { replies, error, heard }
}

fn paths(connection: usize, numbers: std::ops::RangeInclusive<usize>) -> Vec<(usize, String)> {
    numbers.map(|number| (connection, format!("/{number}"))).collect()
}

fn all(numbers: std::ops::RangeInclusive<usize>, status: u16) -> Vec<(usize, u16)> {
    numbers.map(|number| (number, status)).collect()
}

#[test]
fn requests_do_not_wait_for_replies() {
    let acts = [Act::Reply(201, 5); 5];
    let outcome = run(&acts, Order::Strict, 5, 10);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(outcome.replies, all(1..=5, 201));
    assert_eq!(outcome.heard, paths(0, 1..=5));
}

#[test]
fn one_request_goes_the_usual_way() {
    let outcome = run(&[Act::Reply(201, 0)], Order::Strict, 1, 10);
    assert_eq!((outcome.replies, outcome.heard), (all(1..=1, 201), paths(0, 1..=1)));
}

#[test]
fn bodies_longer_than_all_buffers() {
    // The server reads one body after the other, and more bytes than may be unanswered.
    let outcome = run(&[Act::Reply(204, 1); 6], Order::Strict, 6, 3 << 20);
    assert_eq!((outcome.replies, outcome.heard), (all(1..=6, 204), paths(0, 1..=6)));
}

#[test]
fn a_long_body_is_sent_before_there_is_a_second_request() {
    let server = server(&[Act::Reply(200, 0), Act::Reply(201, 0)]);
    let client = client(server.port);
    client.call(&Call::new("OPTIONS", "/0")).unwrap().finish().unwrap();
    let mut queue = RequestQueue::new(Order::Strict);
    let body = Payload::Bytes(vec![b'x'; 2 << 20].into());
    let call = Call::new("PUT", "/1").carrying("text/x", body).into_owned();
    let mut statuses = Vec::new();
    let mut take = |(), _: &Call<'static>, reply: Reply| {
        statuses.push(reply.status());
        reply.finish()
    };
    queue.push(&client, call, (), &mut take).unwrap();
    assert!(queue.is_open());
    queue.finish(&client, &mut take).unwrap();
    queue.end(&client).unwrap();
    assert_eq!(statuses, [201]);
    assert_eq!(*server.heard.lock().unwrap(), paths(0, 0..=1));
}

#[test]
fn what_a_closing_server_did_not_process_is_sent_again() {
    let acts = [
        &[Act::Reply(201, 7), Act::Reply(201, 0), Act::ReplyAndClose(201)][..],
        // From here on no more is sent than is answered.
        &[Act::Reply(201, 3), Act::Reply(201, 0), Act::ReplyAndClose(201)],
        &[Act::Reply(201, 1)],
    ]
    .concat();
    let outcome = run(&acts, Order::Strict, 7, 10);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(outcome.replies, all(1..=7, 201));
    let expected = [paths(0, 1..=7), paths(1, 4..=6), paths(2, 7..=7)].concat();
    assert_eq!(outcome.heard, expected);
}

#[test]
fn a_server_that_closes_each_connection_gets_one_request_at_a_time() {
    let acts =
        [&[Act::Reply(201, 3)][..], &[Act::Reply(201, 0)], &[Act::ReplyAndClose(201)]].concat();
    let outcome = run(&[&acts[2..], &[Act::Reply(201, 0); 3]].concat(), Order::Strict, 4, 10);
    assert_eq!(outcome.replies, all(1..=4, 201));
}

#[test]
fn an_end_without_a_word_is_an_error() {
    for order in [Order::Strict, Order::Free] {
        let outcome = run(&[Act::Reply(201, 4), Act::Close], order, 4, 10);
        let error = outcome.error.unwrap();
        assert!(error.to_string().contains("unexpectedly closed"), "{error}");
        assert_eq!(outcome.replies, all(1..=1, 201));
        assert_eq!(outcome.heard, paths(0, 1..=4), "nothing is sent twice");
    }
}

#[test]
fn the_first_error_is_the_one_that_counts() {
    let acts = [Act::Reply(201, 4), Act::Reply(500, 0), Act::Reply(507, 0), Act::Reply(201, 0)];
    let outcome = run(&acts, Order::Strict, 4, 10);
    assert_eq!(outcome.error.unwrap().message(), "refused");
    assert_eq!(outcome.replies, [(1, 201), (2, 500)]);
}

#[test]
fn credentials_in_the_middle() {
    // None of those after it was processed: they are made one at a time.
    let refused = [Act::Reply(201, 3), Act::Reply(401, 0), Act::Reply(401, 0)];
    let again = [Act::Reply(201, 0), Act::Reply(201, 0)];
    for order in [Order::Strict, Order::Free] {
        let outcome = run(&[&refused[..], &again].concat(), order, 3, 10);
        assert_eq!(outcome.replies, all(1..=3, 201), "{order:?}");
        assert_eq!(outcome.heard.len(), 5);
    }
    // One after it was processed: what needs it cannot be made any more.
    let mixed = [Act::Reply(201, 3), Act::Reply(401, 0), Act::Reply(201, 0)];
    let outcome = run(&mixed, Order::Strict, 3, 10);
    assert_eq!(outcome.error.unwrap().code(), ErrorCode::AUTHN_FAILED);
    let outcome = run(&[&mixed[..], &again[..1]].concat(), Order::Free, 3, 10);
    assert_eq!(outcome.replies, all(1..=3, 201));
}

#[test]
fn the_session_gets_its_connection_back() {
    let server = server(&[Act::Reply(200, 0); 5]);
    let client = client(server.port);
    client.call(&Call::new("OPTIONS", "/0")).unwrap().finish().unwrap();
    let mut queue = RequestQueue::new(Order::Strict);
    let mut take = |(), _: &Call<'static>, reply: Reply| reply.finish();
    for number in 1..=3 {
        let call = Call::new("DELETE", &format!("/{number}")).into_owned();
        queue.push(&client, call, (), &mut take).unwrap();
    }
    queue.finish(&client, &mut take).unwrap();
    queue.end(&client).unwrap();
    client.call(&Call::new("OPTIONS", "/4")).unwrap().finish().unwrap();
    let heard = server.heard.lock().unwrap().clone();
    assert_eq!(heard, paths(0, 0..=4));
}
