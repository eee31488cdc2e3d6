//! What clients of http must not do, and what slow ones must not cost.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use sapwood_testkit::Programs;

use crate::common::places;
use places::{ADA, BOB, Served, status};

const PLACES: &str = r#"autoversioning-wait = 0
cache-megabytes = 16
[[location]]
url = "/dav"
folder = "."
users = "users"
login = "optional"
anonymous = "read"
password-delay = 0
autoversioning = true
[[location]]
url = "/rules"
folder = "."
users = "users"
login = "optional"
password-delay = 0
authz = "rules"
"#;

impl Served {
    /// Every path of the youngest revision.
    fn listing(&self) -> String {
        let url = format!("file://{}", self.repo.path().display());
        Programs::reference().run("svn", ["ls", "-R", &url]).expect_success("svn").stdout_text()
    }
}

/// CVE-2024-46901 in the other ways to write: resources of DeltaV, and what other programs do at plain URLs.
#[test]
fn control_characters_in_every_write() {
    let served = Served::start(PLACES);
    let listing = served.listing();
    for bad in ["a%01b", "a%0ab", "a%7fb", "a%1b%5b2Jb"] {
        let plain = format!("/dav/repo/{bad}");
        let activity = format!("/dav/repo/!svn/act/{}", bad.replace('%', ""));
        assert_eq!(served.ada("MKACTIVITY", &activity, "", ""), 201);
        let body = format!(
            "<D:checkout xmlns:D='DAV:'><D:activity-set><D:href>{activity}</D:href></D:activity-set>\
             </D:checkout>"
        );
        let baseline = format!("/dav/repo/!svn/bln/{}", served.youngest());
        assert_eq!(served.ada("CHECKOUT", &baseline, "", &body), 201);
        let working = format!("{}/{bad}", activity.replace("/act/", "/wrk/"));
        for place in [&plain, &working] {
            for method in ["PUT", "MKCOL", "LOCK"] {
                let body = if method == "PUT" { "text" } else { "" };
                let answer = served.request(method, place, ADA, body);
                assert!((400..500).contains(&status(&answer)), "{method} {place}: {answer}");
            }
            let to = format!("Destination: http://h:1{place}\r\n");
            for (method, source) in [
                ("COPY", "/dav/repo/trunk"),
                ("MOVE", "/dav/repo/trunk"),
                ("COPY", "/dav/repo/!svn/ver/1/"),
            ] {
                let told = served.ada(method, source, &to, "");
                assert!((400..500).contains(&told), "{method} {place}: {told}");
            }
            let props = "<propertyupdate xmlns='DAV:'><set><prop><a xmlns='u:'>1</a></prop></set>\
                         </propertyupdate>";
            let told = served.ada("PROPPATCH", place, "", props);
            assert!((400..500).contains(&told), "PROPPATCH {place}: {told}");
        }
        let merge = format!(
            "<D:merge xmlns:D='DAV:'><D:source><D:href>{activity}</D:href></D:source></D:merge>"
        );
        // A commit of nothing: a revision without changes, or a refusal; no such name in any case.
        let _ = served.ada("MERGE", "/dav/repo", "", &merge);
        assert_eq!(served.ada("DELETE", &activity, "", ""), 204);
    }
    assert_eq!(served.listing(), listing);
    let check = Programs::reference()
        .run("svnadmin", ["verify", "-q", served.repo.path().to_str().unwrap()]);
    check.expect_success("svnadmin verify");
}

/// CVE-2022-24070: mod_dav_svn looked up rules for paths in the memory of an earlier request of the connection.
/// Here: many requests on each of several connections, by users with other rights, while the rules
/// are written anew all the time; each is answered as if it were the only one.
#[test]
fn cve_2022_24070_rules_of_earlier_requests() {
    let served = Served::start(PLACES);
    let base = served.repo.parent().to_owned();
    let rules = fs::read_to_string(base.join("rules")).unwrap();
    let log = "<S:log-report xmlns:S='svn:'><S:start-revision>9</S:start-revision><S:end-revision>0\
               </S:end-revision><S:discover-changed-paths/><S:path></S:path></S:log-report>";
    let asks = [
        ("GET", "/rules/repo/trunk/", ADA, "", 200),
        ("GET", "/rules/repo/trunk/", BOB, "", 403),
        ("GET", "/rules/repo/trunk/", "", "", 401),
        ("PROPFIND", "/rules/repo/", BOB, "", 207),
        ("PROPFIND", "/rules/repo/!svn/rvr/3/trunk", BOB, "", 403),
        ("REPORT", "/rules/repo/!svn/rvr/9/", BOB, log, 200),
        ("REPORT", "/rules/repo/!svn/rvr/9/trunk", ADA, log, 200),
        ("COPY", "/rules/repo/!svn/rvr/9/trunk", BOB, "", 403),
    ];
    let count = 40;
    let talk = || {
        let mut bytes = Vec::new();
        for number in 0..count * asks.len() {
            let (method, path, who, body, _) = asks[number % asks.len()];
            let close = if number + 1 == count * asks.len() { "Connection: close\r\n" } else { "" };
            let length = body.len();
            write!(
                bytes,
                "{method} {path} HTTP/1.1\r\nHost: h\r\nDepth: 1\r\n{close}{who}Content-Length: {length}\r\n\
                 \r\n{body}"
            )
            .unwrap();
        }
        let mut socket = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut sender = socket.try_clone().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || sender.write_all(&bytes).unwrap());
            let mut answer = Vec::new();
            socket.read_to_end(&mut answer).unwrap();
            String::from_utf8_lossy(&answer).into_owned()
        })
    };
    std::thread::scope(|scope| {
        let talks: Vec<_> = (0..4).map(|_| scope.spawn(talk)).collect();
        for number in 0..200 {
            // Put in its place whole: half a file would be other rules.
            let more = format!("{rules}[/no/such/{number}]\n* =\n");
            fs::write(base.join("rules.new"), more).unwrap();
            fs::rename(base.join("rules.new"), base.join("rules")).unwrap();
        }
        for talk in talks {
            let answer = talk.join().unwrap();
            // Replies to PROPFIND have statuses within.
            let answer = answer.replace("<D:status>HTTP/1.1 ", "");
            let told: Vec<u16> =
                answer.split("HTTP/1.1 ").skip(1).map(|a| a[..3].parse().unwrap()).collect();
            assert_eq!(told.len(), count * asks.len());
            for (number, told) in told.iter().enumerate() {
                let (method, path, who, _, expected) = asks[number % asks.len()];
                assert_eq!(*told, expected, "{number}: {method} {path} {who}");
            }
        }
    });
}

#[test]
fn several_ranges_and_odd_ones() {
    let served = Served::start(PLACES);
    assert_eq!(served.ada("PUT", "/dav/repo/page", "", "0123456789"), 201);
    let get = |range: &str| served.get("/dav/repo/page", &format!("Range: {range}\r\n"));
    // Several at once are passed over, as http allows: the client gets the whole.
    let many = (0..1300).map(|n| format!("{n}-")).collect::<Vec<_>>().join(",");
    let all = [
        "bytes=0-1,4-5",
        "bytes=5-2",
        "bytes=-",
        "bytes=a-b",
        "lines=1-2",
        "bytes 0-1",
        &format!("bytes={many}"),
    ];
    for range in all {
        let answer = get(range);
        assert!(
            answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\n0123456789"),
            "{range}: {answer}"
        );
    }
    for (range, part) in
        [("bytes=0-0", "0"), ("bytes=-1", "9"), ("bytes=8-99999999999999999999", "0123456789")]
    {
        let answer = get(range);
        assert!(answer.ends_with(&format!("\r\n\r\n{part}")), "{range}: {answer}");
    }
    for range in ["bytes=10-", "bytes=-0", "bytes=99-100"] {
        let answer = get(range);
        assert!(answer.starts_with("HTTP/1.1 416 "), "{range}: {answer}");
        assert!(answer.contains("content-range: bytes */10\r\n"), "{range}: {answer}");
    }
    // Two on one connection, the first of which is not read to its end.
    let two = [
        served.bytes("GET", "/dav/repo/page", "Range: bytes=2-3\r\n", b""),
        served.bytes("GET", "/dav/repo/page", "Range: bytes=7-\r\n", b""),
    ];
    let two = String::from_utf8(two.concat()).unwrap().replacen("Connection: close\r\n", "", 1);
    let answer = String::from_utf8_lossy(&served.raw(two.as_bytes())).into_owned();
    assert!(
        answer.contains("\r\n\r\n23HTTP/1.1 206") && answer.ends_with("\r\n\r\n789"),
        "{answer}"
    );
}

#[test]
fn odd_if_headers() {
    let served = Served::start(PLACES);
    assert_eq!(served.ada("PUT", "/dav/repo/page", "", "text"), 201);
    let before = served.youngest();
    let deep = "(".repeat(20_000);
    let many = "(<opaquelocktoken:x>)".repeat(2000);
    let odd = [
        "(",
        ")",
        "()",
        "(<",
        "(<a",
        "(<a>",
        "([",
        "([\"a\"",
        "([\"a\"]",
        "(Not",
        "(Not)",
        "(Not Not <a>)",
        "<",
        "</x>",
        "</x> <y>",
        "</dav/repo/page> (",
        "<http://[> (<a>)",
        "<%> (<a>)",
        "<../../..> (<a>)",
        "(<a>) trailing",
        "<\u{e9}> (<a>)",
        "(<DAV:no-lock>)",
        "([W/\"1/page\"])",
        "(<opaquelocktoken:00000000-0000-0000-0000-000000000000>)",
        &deep,
        &many,
    ];
    for value in odd {
        let shown: String = value.chars().take(40).collect();
        for method in ["PUT", "DELETE", "PROPPATCH", "MOVE", "LOCK"] {
            let headers = format!("If: {value}\r\nDestination: /dav/repo/other\r\n");
            let told = served.ada(
                method,
                "/dav/repo/page",
                &headers,
                if method == "PUT" { "other" } else { "" },
            );
            assert!((400..500).contains(&told), "{method} If: {shown}: {told}");
        }
        // Transactions take the tokens only, and what is none is none.
        let told =
            served.ada("PUT", "/dav/repo/!svn/txr/9-9/page", &format!("If: {value}\r\n"), "x");
        assert!((400..500).contains(&told), "If: {shown}: {told}");
    }
    assert_eq!(served.youngest(), before);
    // One that holds.
    let tag = served.get("/dav/repo/page", "");
    let tag = tag.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    assert_eq!(
        served.ada("PUT", "/dav/repo/page", &format!("If: (<a>) ([{tag}] Not <a>)\r\n"), "new"),
        204
    );
}

/// KiB of memory that the server holds.
fn resident(served: &Served) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/status", served.pid())).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

/// KiB of memory of the server's own, with nothing that is mapped from files.
fn own(served: &Served) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/status", served.pid())).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

/// Clients that keep their connections, and ask for nothing for now, cost little memory, and are served as
/// before when they ask again.
#[test]
fn clients_that_are_idle() {
    let served = Served::start(PLACES);
    let ask = |socket: &mut TcpStream| {
        let request = "OPTIONS /dav/repo/ HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n";
        socket.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            socket.read_exact(&mut byte).unwrap();
            answer.push(byte[0]);
        }
        let answer = String::from_utf8(answer).unwrap().to_ascii_lowercase();
        assert!(
            answer.starts_with("http/1.1 200") && answer.contains("content-length: 0"),
            "{answer}"
        );
    };
    let connect = || {
        let socket = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        socket
    };
    let mut first: Vec<_> = (0..50).map(|_| connect()).collect();
    first.iter_mut().for_each(ask);
    let before = own(&served);
    let mut idle: Vec<_> = (0..400).map(|_| connect()).collect();
    idle.iter_mut().for_each(ask);
    // With hyper's buffers they would hold 16 KiB each.
    let limit = before + 400 * 8;
    assert!(
        sapwood_testkit::patience::wait(20, || own(&served) < limit),
        "{} KiB, {before} before",
        own(&served)
    );
    idle.iter_mut().for_each(ask);
}

/// A reply does not wait for the end of a request that it has understood, but the connection does, a moment: it can be
/// used again.
#[test]
fn requests_whose_end_comes_late() {
    let served = Served::start(PLACES);
    let body = "<S:log-report xmlns:S='svn:'><S:start-revision>1</S:start-revision>\
                <S:end-revision>1</S:end-revision><S:path></S:path></S:log-report>";
    for method in ["REPORT", "PROPFIND"] {
        let body =
            if method == "REPORT" { body } else { "<propfind xmlns='DAV:'><allprop/></propfind>" };
        let begin = format!(
            "{method} /dav/repo/ HTTP/1.1\r\nHost: h\r\nDepth: 0\r\n\
             Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n",
            body.len()
        );
        let is_kept = || {
            let mut socket = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            socket.set_nodelay(true).unwrap();
            socket.write_all(begin.as_bytes()).unwrap();
            std::thread::sleep(Duration::from_millis(50));
            let next = "GET /dav/repo/ HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
            let _ = socket.write_all(format!("0\r\n\r\n{next}").as_bytes());
            let mut answers = Vec::new();
            let _ = socket.read_to_end(&mut answers);
            let answers = String::from_utf8_lossy(&answers).into_owned();
            assert!(answers.starts_with("HTTP/1.1 20"), "{answers}");
            answers.matches("\r\ndate: ").count() == 2
        };
        // A machine that is busy may be late for once.
        assert!((0..20).any(|_| is_kept()), "{method}");
    }
}

/// Statuses and headers that scripts look at, as httpd with mod_dav_svn has them.
#[test]
fn conditions_and_places() {
    let served = Served::start(PLACES);
    let put =
        |headers: &str| served.request("PUT", "/dav/repo/page", &[ADA, headers].concat(), "text");
    let made = put("");
    assert_eq!((status(&made), made.contains("/dav/repo/page\r\n")), (201, true), "{made}");
    let get = |headers: &str| served.request("GET", "/dav/repo/page", headers, "");
    let whole = get("");
    let date = whole.lines().find_map(|line| line.strip_prefix("last-modified: ")).unwrap();
    let old = "Thu, 02 Jan 2014 00:00:00 GMT";
    for (condition, date, expected) in [
        ("If-Modified-Since", date, 304),
        ("If-Modified-Since", old, 200),
        ("If-Modified-Since", "yesterday", 200),
        ("If-Unmodified-Since", date, 200),
        ("If-Unmodified-Since", old, 412),
    ] {
        assert_eq!(
            status(&get(&format!("{condition}: {date}\r\n"))),
            expected,
            "{condition}: {date}"
        );
    }
    assert_eq!(status(&put(&format!("If-Unmodified-Since: {old}\r\n"))), 412);
    // A place is never the name of a host.
    let moved = served.request("GET", "//dav/repo", "", "");
    assert!(status(&moved) == 301 && moved.contains("location: /dav/repo/\r\n"), "{moved}");
    let moved = served.request("GET", "/dav/repo/!svn/rvr/0", "", "");
    assert!(
        status(&moved) == 301 && moved.contains("location: /dav/repo/!svn/rvr/0/\r\n"),
        "{moved}"
    );
    let report = served.request("REPORT", "/dav/repo/", "", "<x/>");
    assert!(status(&report) == 501 && report.contains("errcode=\"200007\""), "{report}");
    assert_eq!(status(&served.request("GET", "/dav/repo/%zz", "", "")), 400);
    let bulk = "Content-Range: bytes 0-3/9\r\n";
    assert_eq!(served.ada("PUT", "/dav/repo/!svn/txr/9-9/page", bulk, "part"), 501);
}

/// What has arrived of a body that breaks off is never taken for the whole of it.
#[test]
fn bodies_that_break_off() {
    let served = Served::start(PLACES);
    let listing = served.listing();
    for body in ["5\r\nhello\r\nzz\r\n", "zz\r\n", "5\r\nhello", "5\r\nhelloXX0\r\n\r\n"] {
        let mut socket = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let request = format!(
            "PUT /dav/repo/broken HTTP/1.1\r\nHost: h\r\n{ADA}Transfer-Encoding: chunked\r\n\r\n{body}"
        );
        socket.write_all(request.as_bytes()).unwrap();
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        let _ = socket.read_to_string(&mut answer);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{body:?}: {answer}");
    }
    assert_eq!(served.listing(), listing);
}

/// Clients that ask for much and do not read it cost little memory, and hold up no other client.
#[test]
fn clients_that_do_not_read() {
    let served = Served::start(PLACES);
    // What does not pack.
    let mut seed = 1u64;
    let mut noise = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed.to_be_bytes()[2]
    };
    let text: Vec<u8> = (0..16 << 20).map(|_| noise()).collect();
    let put = served.raw(&served.bytes("PUT", "/dav/repo/large", ADA, &text));
    assert!(put.starts_with(b"HTTP/1.1 201"));
    let before = resident(&served);
    let update = "<S:update-report xmlns:S='svn:' send-all='true'><S:src-path>/dav/repo</S:src-path>\
                  <S:entry rev='0' start-empty='true'/></S:update-report>";
    let asks = [
        served.bytes("GET", "/dav/repo/large", ADA, b""),
        served.bytes("REPORT", "/dav/repo/!svn/me", ADA, update.as_bytes()),
    ];
    let waiting: Vec<_> = (0..20)
        .map(|number| {
            let mut socket = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
            socket.write_all(&asks[number % 2]).unwrap();
            // Its answer has begun.
            let mut first = [0; 1024];
            socket.read_exact(&mut first).unwrap();
            assert!(first.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&first));
            socket
        })
        .collect();
    // Others are served meanwhile.
    assert_eq!(status(&served.get("/dav/repo/trunk/", "")), 200);
    let grown = resident(&served).saturating_sub(before);
    // All of it would be 320 MiB; caches may hold 16.
    assert!(grown < 64 << 10, "{grown} KiB for {} clients", waiting.len());
    // One that reads after all gets everything.
    let mut last = waiting.into_iter().next().unwrap();
    last.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut rest = Vec::new();
    last.read_to_end(&mut rest).unwrap();
    assert!(rest.ends_with(&text[text.len() - 1000..]));
}
