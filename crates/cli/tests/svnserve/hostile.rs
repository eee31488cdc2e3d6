//! Clients that mean harm: random items, deep nesting, giant lengths, slow bytes, disconnects at
//! every point. None of it may disturb another client's checkout, cost memory, or end the server.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sapwood_testkit::{Output, Programs, Repository, Rng, Server, Shape, Trees};

const GREETING: &[u8] =
    b"( 2 ( edit-pipeline svndiff1 absent-entries depth mergeinfo log-revprops ) \
    26:svn://localhost/repo/trunk 3:bad ( ) ) ( ANONYMOUS ( 0: ) ) ";

#[test]
fn the_greeting_is_accepted() {
    // Else every other test here would be turned away at the door.
    let repo = Repository::scripted(&Shape::few()[0]);
    let server = Server::start(&Programs::ours(), repo.parent(), &[]);
    let reply = send(&server, &[GREETING, b"( get-latest-rev ( ) ) "].concat());
    assert!(reply.ends_with(b"( success ( 43 ) ) "), "{}", reply.escape_ascii());
}

/// Sends bytes, and reads what comes back until the server is done or quiet for a moment.
fn send(server: &Server, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut writer = stream.try_clone().unwrap();
    let bytes = bytes.to_vec();
    let sender = std::thread::spawn(move || {
        // The server may hang up in the middle: that is its right.
        let _ = writer.write_all(&bytes);
        let _ = writer.shutdown(Shutdown::Write);
    });
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply);
    sender.join().unwrap();
    reply
}

/// Says that the attack is over when it is dropped.
struct Finish<'d>(&'d AtomicBool);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Runs `attack` while another client checks out again and again, and looks whether that is well.
fn while_others_work(shape: usize, attack: impl FnOnce(&Server, &Repository)) {
    let repo = Repository::scripted(&Shape::few()[shape]);
    let server = Server::start(&Programs::ours(), repo.parent(), &[]);
    let done = AtomicBool::new(false);
    let expected = Trees::read(&checkout(&server, &repo, 0));
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut count = 0;
            while count < 2 || !done.load(Ordering::SeqCst) {
                count += 1;
                let tree = Trees::read(&checkout(&server, &repo, count));
                assert_eq!(expected.difference(&tree), None, "a checkout beside hostile clients");
            }
        });
        // Also when the attack's own test fails, the other client has to come to an end.
        let finish = Finish(&done);
        attack(&server, &repo);
        drop(finish);
        other.join().unwrap();
    });
    let (_, peak) = server.memory();
    assert!(peak < 400 << 20, "the server took {} MiB", peak >> 20);
}

fn checkout(server: &Server, repo: &Repository, number: u32) -> std::path::PathBuf {
    let folder = repo.parent().join(format!("wc{number}"));
    let args =
        ["checkout", "-q", "--non-interactive", &server.url("repo"), folder.to_str().unwrap()];
    Output::of(Programs::reference().command("svn").args(args)).expect_success("checkout");
    folder
}

#[test]
fn bytes_that_make_no_sense() {
    while_others_work(0, |server, _| {
        let mut rng = Rng::new(1);
        let words: [&[u8]; 16] = [
            b"( ",
            b") ",
            b"() ",
            b"2 ",
            b"edit-pipeline ",
            b"3:abc ",
            b"0: ",
            b"99999999999999999999 ",
            b"log ",
            b"update ",
            b"set-path ",
            b"true ",
            b"-1 ",
            b"\0",
            b"12:trunk/README ",
            b"\xff\xfe",
        ];
        for round in 0..150 {
            let mut bytes = if round % 3 == 0 { Vec::new() } else { GREETING.to_vec() };
            for _ in 0..rng.below(60) {
                bytes.extend_from_slice(rng.pick::<&[u8]>(&words));
            }
            send(server, &bytes);
        }
    });
}

#[test]
fn limits() {
    while_others_work(0, |server, _| {
        for _ in 0..3 {
            for attack in [
                "( ".repeat(1 << 20).into_bytes(),
                "(".repeat(1 << 20).into_bytes(),
                b"18446744073709551615:x".to_vec(),
                b"9999999999:".to_vec(),
                vec![b'1'; 1 << 20],
                vec![b'a'; 1 << 20],
                [b"16777216:".as_slice(), &vec![b'x'; 17 << 20]].concat(),
                [b"( ".as_slice(), &b"1 ".repeat(3 << 20)].concat(),
                vec![b' '; 20 << 20],
            ] {
                // What comes back ends after the greeting: nothing of this is answered.
                let reply = send(server, &attack);
                assert!(reply.starts_with(b"( success ( 2 2 ") && reply.len() < 1000);
                let reply = send(server, &[GREETING, &attack].concat());
                assert!(reply.len() < 1000);
            }
        }
    });
}

#[test]
fn requests_that_ask_too_much() {
    while_others_work(0, |server, _| {
        let many = "( ".to_owned() + &"12:trunk/README ".repeat(50_000) + ") ";
        for request in [
            "( get-file ( 12:trunk/README ( 18446744073709551615 ) true true ) ) ".to_owned(),
            "( log ( ( ) ( 18446744073709551615 ) ( 0 ) true false ) ) ".to_owned(),
            "( replay-range ( 0 9223372036854775807 0 true ) ) ".to_owned(),
            "( get-locations ( 0: 9223372036854775807 ( 1 2 9223372036854775807 ) ) ) ".to_owned(),
            "( reparent ( 30:svn://localhost/repo/../../etc ) ) ( get-dir ( 0: ( ) true true ) ) ".to_owned(),
            "( get-file ( 26:../../../../../etc/passwd ( ) true true ) ) ".to_owned(),
            "( get-file ( 3:a\0b ( ) true true ) ) ".to_owned(),
            "( get-file ( 2:\u{e9} ( ) true true ) ) ".to_owned(),
            "( list ( 0: ( ) infinity ( ) ( 30:*?*?*?*?*?*?*?*?*?*?*?*?*?*?*? ) ) ) ".to_owned(),
            format!("( log ( {many}( ) ( 0 ) false false ) ) "),
            format!("( get-mergeinfo ( {many}( ) inherited true ) ) "),
            format!(
                "( update ( ( ) 0: true ) ) {}( finish-report ( ) ) ",
                "( set-path ( 1:a 1 false ) ) ".repeat(20_000)
            ),
            "( update ( ( ) 0: true ) ) ( finish-report ( ) ) ".to_owned(),
            "( update ( ( ) 0: true ) ) ( set-path ( 0: 99999999 false ) ) ( finish-report ( ) ) ".to_owned(),
            "( update ( ( ) 0: true ) ) ( link-path ( 0: 9:svn://x/y 1 false ) ) ( finish-report ( ) ) ".to_owned(),
        ] {
            let reply = send(server, &[GREETING, request.as_bytes()].concat());
            let text = String::from_utf8_lossy(&reply);
            assert!(!text.contains("root:x:0:0"), "the password file got out");
        }
    });
}

/// Each path of a request begins with that of the session: a few bytes stand for a megabyte.
#[test]
fn short_paths_below_a_long_one() {
    while_others_work(0, |server, _| {
        let url = "svn://localhost/repo".to_owned() + &"/x".repeat(500_000);
        let reparent = format!("( reparent ( {}:{url} ) ) ", url.len());
        let many = "( ".to_owned() + &"1:a ".repeat(60_000) + ") ";
        for request in [
            format!("( log ( {many}( ) ( 0 ) false false ) ) "),
            format!("( get-mergeinfo ( {many}( ) inherited true ) ) "),
        ] {
            let reply = send(server, &[GREETING, reparent.as_bytes(), request.as_bytes()].concat());
            let text = String::from_utf8_lossy(&reply);
            assert!(text.contains("request size exceeds"), "{}", text.escape_debug());
        }
    });
}

#[test]
fn disconnects_at_every_point() {
    while_others_work(1, |server, _| {
        let session = [
            GREETING,
            b"( get-latest-rev ( ) ) ( get-dir ( 0: ( ) true true ) ) ( log ( ( ) ( ) ( 0 ) true false ) ) \
              ( update ( ( ) 0: true ) ) ( set-path ( 0: 1 true ) ) ( finish-report ( ) ) ( success ( ) ) ",
        ]
        .concat();
        for cut in 0..session.len() {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
            let _ = stream.write_all(&session[..cut]);
            if cut % 2 == 0 {
                // Hang up at once, with replies on their way ...
                continue;
            }
            // ... or after some of them.
            stream.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
            let _ = stream.read(&mut [0; 700]);
        }
    });
}

#[test]
fn slow_clients_and_deaf_ones() {
    while_others_work(0, |server, _| {
        let connect = || TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        let mut slow: Vec<TcpStream> = (0..50).map(|_| connect()).collect();
        // These ask for much and read nothing of it.
        let deaf: Vec<TcpStream> = (0..20)
            .map(|_| {
                let mut stream = connect();
                let requests = b"( log ( ( ) ( ) ( 0 ) true false ) ) ".repeat(200);
                stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
                let _ = stream.write_all(&[GREETING, &requests].concat());
                stream
            })
            .collect();
        for byte in GREETING {
            for stream in &mut slow {
                stream.write_all(&[*byte]).unwrap();
            }
            std::thread::sleep(Duration::from_millis(3));
        }
        // Slow as they were, they are served.
        for stream in &mut slow {
            stream.write_all(b"( get-latest-rev ( ) ) ").unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let mut reply = Vec::new();
            stream.read_to_end(&mut reply).unwrap();
            assert!(reply.ends_with(b"( success ( 43 ) ) "), "{}", reply.escape_ascii());
        }
        drop(deaf);
    });
}

#[test]
fn replies_have_a_limit_when_asked_for() {
    let repo = Repository::scripted(&Shape::few()[0]);
    let server = Server::start(&Programs::ours(), repo.parent(), &["--max-response-size", "1"]);
    let request = b"( replay-range ( 1 43 0 true ) ) ";
    let reply = send(&server, &[GREETING, request].concat());
    assert!(reply.len() <= (1 << 20) + 1000, "{}", reply.len());
    let server = Server::start(&Programs::ours(), repo.parent(), &["--max-request-size", "1"]);
    let big = format!("( check-path ( {}:{} ( ) ) ) ", 1 << 21, "x".repeat(1 << 21));
    let reply = send(&server, &[GREETING, big.as_bytes()].concat());
    assert!(reply.len() < 1000);
}

/// Waits until something is so, for a minute at most.
fn comes_true(what: &str, mut is_so: impl FnMut() -> bool) {
    assert!(sapwood_testkit::patience::wait(60, &mut is_so), "not within a minute: {what}");
}

#[test]
fn large_requests_that_stop_halfway_hold_little() {
    let repo = Repository::scripted(&Shape::new("1.10"));
    let server = Server::start(&Programs::ours(), repo.parent(), &[]);
    let (before, _) = server.memory();
    let half = vec![b'x'; 14 << 20];
    // Sixty clients send most of 15 MB, as far as the server takes it, and then nothing more.
    let stuck: Vec<TcpStream> = std::thread::scope(|scope| {
        let start = |_| {
            scope.spawn(|| {
                let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
                stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
                let _ = stream.write_all(&[GREETING, b"( log ( ( 15728640:"].concat());
                let _ = stream.write_all(&half);
                stream
            })
        };
        let all: Vec<_> = (0..60).map(start).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let (_, peak) = server.memory();
    // The budget, one request on top, and what the allocator has not given back of growing
    // buffers: they would be 840 MiB in all.
    let most = before + (64 << 20) * 2 + (32 << 20);
    assert!(peak < most, "{} MiB for requests that stand still", (peak - before) >> 20);
    // Ordinary requests do not even notice.
    let reply = send(&server, &[GREETING, b"( get-latest-rev ( ) ) "].concat());
    assert!(reply.ends_with(b"( success ( 43 ) ) "), "{}", reply.escape_ascii());
    // A large one comes through once those who are stuck have gone or have been ended.
    drop(stuck);
    let name = vec![b'n'; 1 << 20];
    let request =
        [b"( get-dated-rev ( 1048576:".as_slice(), &name, b" ) ) ( get-latest-rev ( ) ) "];
    let reply = send(&server, &[GREETING, &request.concat()].concat());
    assert!(reply.ends_with(b"( success ( 43 ) ) "), "{}", reply.escape_ascii());
}

#[test]
fn a_request_ends_when_its_client_goes() {
    let repo = Repository::scripted(&Shape::new("1.10"));
    let server = Server::start(&Programs::ours(), repo.parent(), &[]);
    let threads = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap();
        tasks.count()
    };
    // The connection that saw whether the server listens may be there still.
    let settle = |_| {
        std::thread::sleep(Duration::from_millis(50));
        threads()
    };
    let idle = (0..20).map(settle).min().unwrap();
    // Minutes of matching for each connection.
    let pattern = "*a*b*c*d*e*f*g*h*i*j*k*l*m*n*o*p*q*r*s*t*u*v*w*x*y*z";
    let mut patterns = String::new();
    for number in 0..100_000 {
        let pattern = format!("{pattern}{number}");
        patterns.push_str(&format!("{}:{pattern} ", pattern.len()));
    }
    let request = format!("( list ( 0: ( ) infinity ( kind ) ( {patterns}) ) ) ");
    for way in 0..3 {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        stream.write_all(GREETING).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        comes_true("the request is worked on", || threads() > idle);
        match way {
            // Gone, with what the server has said unread: a reset.
            0 => drop(stream),
            // Gone after everything was read.
            1 => {
                stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
                let mut block = [0; 4096];
                while stream.read(&mut block).is_ok_and(|got| got > 0) {}
                drop(stream);
            }
            _ => {
                stream.shutdown(Shutdown::Both).unwrap();
                drop(stream);
            }
        }
        comes_true("the request is given up", || threads() <= idle);
    }
}

/// A connection that comes from another address of this machine.
fn connect_from(address: [u8; 4], port: u16) -> TcpStream {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    use std::net::{Ipv4Addr, SocketAddrV4};
    let made = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&made, &SocketAddrV4::new(address.into(), 0)).unwrap();
    connect(&made, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).unwrap();
    made.into()
}

#[test]
fn one_address_does_not_hold_up_another() {
    let repo = Repository::scripted(&Shape::new("1.10"));
    let server = Server::start(&Programs::ours(), repo.parent(), &[]);
    let half = vec![b'x'; 14 << 20];
    // Forty clients at one address send most of a large request, as far as the server takes it.
    let stuck: Vec<TcpStream> = std::thread::scope(|scope| {
        let start = |_| {
            scope.spawn(|| {
                let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
                stream.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
                let _ = stream.write_all(&[GREETING, b"( log ( ( 15728640:"].concat());
                let _ = stream.write_all(&half);
                stream
            })
        };
        let all: Vec<_> = (0..40).map(start).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    // Another address does not have to wait until all of them have had their turn and been ended.
    let name = vec![b'n'; 1 << 20];
    let request =
        [b"( get-dated-rev ( 1048576:".as_slice(), &name, b" ) ) ( get-latest-rev ( ) ) "];
    let mut other = connect_from([127, 0, 0, 2], server.port());
    other.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    other.write_all(&[GREETING, &request.concat()].concat()).unwrap();
    other.shutdown(Shutdown::Write).unwrap();
    let mut reply = Vec::new();
    let _ = other.read_to_end(&mut reply);
    assert!(reply.ends_with(b"( success ( 43 ) ) "), "{}", reply.escape_ascii());
    let is_open = |stream: &&TcpStream| {
        stream.set_nonblocking(true).unwrap();
        let mut block = [0; 4096];
        loop {
            match (&**stream).read(&mut block) {
                Ok(0) => return false,
                Ok(_) => {}
                Err(e) => return e.kind() == std::io::ErrorKind::WouldBlock,
            }
        }
    };
    let open = stuck.iter().filter(is_open).count();
    assert!(open >= 15, "{open} of 40 were not ended before the other was answered");
}
