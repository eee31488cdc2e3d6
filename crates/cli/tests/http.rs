//! `sapwood serve` over http, with the reference's `svn` and with plain sockets.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use sapwood_testkit::server::free_port;
use sapwood_testkit::{Output, Programs, Repository, Shape, patience};

/// A running `sapwood serve`, and the repository that it serves.
struct Served {
    child: Child,
    svn: String,
    http: String,
    port: u16,
    repo: Repository,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    fn start(conf: &str, more: &[&str]) -> Self {
        let repo = Repository::scripted(&Shape::few()[0]);
        fs::write(repo.path().join("conf/svnserve.conf"), conf).unwrap();
        fs::write(repo.path().join("conf/passwd"), "[users]\nharry = secret\nsally = p w\n")
            .unwrap();
        let (svn, port) = (free_port(), free_port());
        let mut child = Programs::ours()
            .command("sapwood")
            .arg("serve")
            .arg(repo.path())
            .args(["--port", &svn.to_string(), "--http-port", &port.to_string()])
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let http = format!("http://127.0.0.1:{port}/repo");
        assert!(lines.any(|line| line.unwrap().trim() == http), "the address is printed");
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, svn: format!("svn://127.0.0.1:{svn}/repo"), http, port, repo }
    }

    /// A repository that anonymous users may read and its users may write.
    fn open() -> Self {
        Self::start("[general]\npassword-db = passwd\nrealm = The Realm\n", &[])
    }

    fn scratch(&self, name: &str) -> PathBuf {
        self.repo.parent().join(name)
    }

    /// Sends bytes and reads what comes back until the server closes, or is silent.
    fn raw(&self, bytes: &[u8]) -> String {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        // The server may close before it has read all.
        let _ = socket.write_all(bytes);
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        self.raw(
            format!(
                "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\
                 Content-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .as_bytes(),
        )
    }

    fn report(&self, place: &str, body: &str) -> String {
        let body = body.replace("xmlns", "xmlns:D=\"DAV:\" xmlns:S=\"svn:\" unused");
        self.request("REPORT", &format!("/repo{place}"), "Content-Type: text/xml\r\n", &body)
    }
}

const USER: [&str; 4] = ["--username", "harry", "--password", "secret"];

fn svn_of(programs: &Programs, args: &[&str]) -> Output {
    programs.run("svn", args.iter().chain(&["--non-interactive", "--no-auth-cache"]))
}

fn svn(args: &[&str]) -> Output {
    svn_of(&Programs::reference(), args)
}

fn ok(args: &[&str]) -> String {
    svn(args).expect_success("svn").stdout_text()
}

/// All files below a folder with their contents, but for `.svn`.
fn tree(top: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(top).unwrap().to_string_lossy().into_owned();
            if path.is_symlink() {
                found.push((
                    name,
                    fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
                ));
            } else if path.is_dir() && !path.ends_with(".svn") {
                found.push((name, Vec::new()));
                folders.push(path);
            } else if path.is_file() {
                found.push((name, fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn reading_is_the_same_over_both_protocols() {
    reading_is_the_same(&Programs::reference());
}

#[test]
fn our_client_reads_the_same_over_both_protocols() {
    reading_is_the_same(&Programs::ours());
}

fn reading_is_the_same(programs: &Programs) {
    let svn = |args: &[&str]| svn_of(programs, args);
    let ok = |args: &[&str]| svn(args).expect_success("svn").stdout_text();
    let served = Served::open();
    let both = |args: &[&str]| {
        let run = |base: &str| {
            let args: Vec<String> = args.iter().map(|a| a.replace("URL", base)).collect();
            let out = svn(&args.iter().map(String::as_str).collect::<Vec<_>>());
            let text = out.stdout_text().replace(base, "URL");
            let mut words: Vec<String> = text.lines().map(str::to_owned).collect();
            // Attributes of one element, and paths of one revision, come in no particular order.
            if args.iter().any(|a| a == "--xml") {
                let parts = text.split(|c: char| c == '>' || c.is_whitespace());
                words = parts.filter(|part| !part.is_empty()).map(str::to_owned).collect();
                words.sort();
            }
            if ["info", "proplist", "diff"].contains(&args[0].as_str()) {
                // So do the nodes of a tree.
                words.sort();
            }
            (out.code, words)
        };
        let (a, b) = (run(&served.svn), run(&served.http));
        assert!(
            a == b,
            "{args:?} says {} over svn and {} over http",
            a.1.join("\n"),
            b.1.join("\n")
        );
    };
    both(&["log", "-v", "URL"]);
    both(&["log", "-g", "-v", "URL"]);
    both(&["log", "--xml", "--with-all-revprops", "-v", "URL"]);
    both(&["log", "-r", "{2001-01-01}:HEAD", "-l", "3", "URL"]);
    both(&["ls", "-R", "-v", "URL"]);
    both(&["ls", "--xml", "-R", "URL"]);
    both(&["info", "-R", "URL"]);
    both(&["proplist", "-v", "-R", "URL"]);
    both(&["proplist", "-v", "--revprop", "-r", "1", "URL"]);
    both(&["diff", "-r", "1:HEAD", "URL"]);
    both(&["diff", "--summarize", "-r", "2:HEAD", "URL"]);
    let youngest = ok(&["info", "--show-item", "revision", &served.http]);
    let youngest: u64 = youngest.trim().parse().unwrap();
    for bulk in ["yes", "no", "auto"] {
        let option = format!("servers:global:http-bulk-updates={bulk}");
        let (a, b) = (served.scratch("a"), served.scratch("b"));
        for (base, place) in [(&served.svn, &a), (&served.http, &b)] {
            let place = place.to_str().unwrap();
            ok(&["co", "-q", "-r", "1", base, place, "--config-option", &option]);
            for rev in [youngest / 3, youngest / 2, youngest / 4, youngest] {
                ok(&["up", "-q", "-r", &rev.to_string(), place, "--config-option", &option]);
            }
            assert_eq!(ok(&["status", place]), "");
            ok(&["status", "-u", "-v", place]);
        }
        assert_eq!(tree(&a), tree(&b), "{bulk}");
        fs::remove_dir_all(a).unwrap();
        fs::remove_dir_all(b).unwrap();
    }
    for file in ok(&["ls", "-R", &served.http]).lines().filter(|l| !l.ends_with('/')).take(20) {
        both(&["cat", &format!("URL/{file}@")]);
        both(&["blame", "--force", "-v", &format!("URL/{file}@")]);
    }
}

#[test]
fn commits_of_both_generations() {
    commits(&Programs::reference());
}

#[test]
fn commits_of_our_client_in_both_generations() {
    commits(&Programs::ours());
}

fn commits(programs: &Programs) {
    for (more, packed) in [(&[][..], "yes"), (&["--no-http-v2"], "no")] {
        // Bodies with their length and without, texts packed and not.
        let chunked = format!("servers:global:http-chunked-requests={packed}");
        let packed = format!("servers:global:http-compression={packed}");
        let said = ["--config-option", chunked.as_str(), "--config-option", packed.as_str()];
        let svn = |args: &[&str]| svn_of(programs, &[args, &said].concat());
        let ok = |args: &[&str]| svn(args).expect_success("svn").stdout_text();
        let served = Served::start("[general]\npassword-db = passwd\nrealm = The Realm\n", more);
        let wc = served.scratch("wc");
        let at = |name: &str| wc.join(name).to_string_lossy().into_owned();
        let user = |args: &[&str]| ok(&[args, &USER].concat());
        user(&["mkdir", "-q", "-m", "made", &format!("{}/made", served.http)]);
        ok(&["co", "-q", &format!("{}/made", served.http), wc.to_str().unwrap()]);
        fs::write(at("f"), "one\n").unwrap();
        fs::create_dir(at("sp ace#")).unwrap();
        fs::write(at("sp ace#/g"), vec![7; 300_000]).unwrap();
        ok(&["add", "-q", &at("f"), &at("sp ace#")]);
        ok(&["propset", "-q", "a:b", "v<&>\u{e9}", &at("sp ace#/g")]);
        user(&["ci", "-q", "-m", "added <&>", wc.to_str().unwrap()]);
        ok(&["up", "-q", wc.to_str().unwrap()]);
        fs::write(at("f"), "one\ntwo\n").unwrap();
        ok(&["propdel", "-q", "a:b", &at("sp ace#/g")]);
        ok(&["mv", "-q", &at("sp ace#"), &at("moved")]);
        user(&["ci", "-q", "-m", "changed", wc.to_str().unwrap()]);
        let file = format!("{}/made/f", served.http);
        assert_eq!(ok(&["cat", &file]), "one\ntwo\n");
        assert!(ok(&["log", "-l1", &served.http]).contains("| harry |"));
        // Locks keep others out, and end with the commit of who has them.
        user(&["lock", "-m", "why <&>", &at("f")]);
        assert!(ok(&["info", &file]).contains("why <&>"));
        let sally = ["--username", "sally", "--password", "p w"];
        let refused = svn(&[&["rm", "-m", "x", &file][..], &sally].concat());
        assert!(refused.stderr_text().contains("E160039"), "{}", refused.stderr_text());
        fs::write(at("f"), "three\n").unwrap();
        user(&["ci", "-q", "-m", "with the lock", wc.to_str().unwrap()]);
        assert!(!ok(&["info", &file]).contains("Lock Token"));
        // What is out of date is refused, and leaves no transaction.
        ok(&["up", "-q", "-r", "PREV", &at("f")]);
        fs::write(at("f"), "four\n").unwrap();
        let refused = svn(&[&["ci", "-m", "late", &at("f")][..], &USER].concat());
        assert!(refused.stderr_text().contains("out of date"), "{}", refused.stderr_text());
        // Nothing is made below what is not there.
        let refused =
            svn(&[&["mkdir", "-m", "x", &format!("{}/no/such", served.http)][..], &USER].concat());
        let told = refused.stderr_text();
        assert!(told.contains("Try 'svn mkdir --parents' instead"), "{told}");
        let path = served.repo.arg();
        let left = Programs::reference().run("svnadmin", ["lstxns", &path]);
        assert_eq!(left.stdout_text(), "");
        Programs::reference().run("svnadmin", ["verify", "-q", &path]).expect_success("verify");
    }
}

/// A file took the place of a folder: what was below it is nothing now, and found by older clients,
/// which begin at the youngest revision, where it was.
#[test]
fn paths_below_files_are_not_there() {
    for more in [&[][..], &["--no-http-v2"]] {
        let served = Served::start("[general]\nanon-access = write\n", more);
        let file = served.scratch("file");
        fs::write(&file, "text\n").unwrap();
        let file = file.to_str().unwrap();
        let change = |actions: &[&str]| {
            let args = [&["-U", served.http.as_str(), "-m", "x"], actions].concat();
            Programs::reference().run("svnmucc", &args).expect_success("svnmucc").stdout_text()
        };
        let made = change(&["mkdir", "was", "put", file, "was/g"]);
        let revision: u64 = made.split([' ', 'r']).find_map(|word| word.parse().ok()).unwrap();
        change(&["rm", "was", "put", file, "was"]);
        let old = format!("{}/was/g@{revision}", served.http);
        for programs in [Programs::reference(), Programs::ours()] {
            let told = svn_of(&programs, &["info", "--show-item", "kind", &old]);
            assert_eq!(told.expect_success("info").stdout_text(), "file\n");
            let gone = svn_of(&programs, &["cat", &format!("{}/was/g", served.http)]);
            assert!(gone.stderr_text().contains("W160013"), "{}", gone.stderr_text());
        }
        let youngest = format!("/repo/!svn/bc/{}/was/g", revision.saturating_add(1));
        for path in ["/repo/was/g", &youngest] {
            for method in ["GET", "HEAD", "PROPFIND"] {
                let answer = served.request(method, path, "Depth: 0\r\n", "");
                assert!(answer.starts_with("HTTP/1.1 404"), "{method} {path}: {answer}");
            }
        }
    }
}

#[test]
fn access_is_decided_first() {
    let conf = "[general]\nanon-access = read\npassword-db = passwd\nauthz-db = authz\n";
    let served = Served::start(conf, &[]);
    let rules = "[/]\n* = r\nharry = rw\n[/trunk]\n* =\nharry = rw\n[/branches]\n* =\n";
    fs::write(served.repo.path().join("conf/authz"), rules).unwrap();
    // The file that was there before is kept for a moment.
    let mut anonymous = String::new();
    patience::wait(20, || {
        anonymous = served.request("PROPFIND", "/repo/trunk", "Depth: 0\r\n", "");
        anonymous.starts_with("HTTP/1.1 401")
    });
    assert!(anonymous.starts_with("HTTP/1.1 401"), "{anonymous}");
    // With nothing after the realm: to the reference's client that would be part of it, and passwords are
    // stored by realm.
    let basic = anonymous.lines().find(|line| line.starts_with("www-authenticate: Basic realm=\""));
    assert!(
        basic.is_some_and(|line| line.matches('"').count() == 2 && line.ends_with('"')),
        "{anonymous}"
    );
    let wrong = "Authorization: Basic aGFycnk6bm8=\r\n";
    assert!(served.request("GET", "/repo/trunk/", wrong, "").starts_with("HTTP/1.1 401"));
    // harry:secret
    let harry = "Authorization: Basic aGFycnk6c2VjcmV0\r\n";
    assert!(served.request("GET", "/repo/trunk/", harry, "").starts_with("HTTP/1.1 200"));
    assert!(served.request("GET", "/repo/branches/", harry, "").starts_with("HTTP/1.1 403"));
    for place in ["/!svn/rvr/3/trunk", "/!svn/bc/3/trunk", "/!svn/ver/3/trunk"] {
        let path = format!("/repo{place}");
        for method in ["GET", "PROPFIND"] {
            let refused = served.request(method, &path, "Depth: 0\r\n", "");
            assert!(refused.starts_with("HTTP/1.1 401"), "{method} {path}: {refused}");
        }
    }
    // Not even a listing of the root tells of it, nor a log, nor an update.
    let root = served.request("PROPFIND", "/repo", "Depth: 1\r\n", "");
    assert!(root.starts_with("HTTP/1.1 207") && !root.contains("/repo/trunk/"), "{root}");
    let log = "<S:log-report xmlns=\"\"><S:path/><S:discover-changed-paths/></S:log-report>";
    let log = served.report("/!svn/rvr/3", log);
    assert!(log.contains("</S:log-report>") && !log.contains(">/trunk"), "{log}");
    let update = "<S:update-report xmlns=\"\" send-all=\"true\"><S:src-path>/repo</S:src-path>\
        <S:entry rev=\"0\" start-empty=\"true\"></S:entry></S:update-report>";
    let update = served.report("/!svn/me", update);
    assert!(update.contains("absent-directory name=\"trunk\""), "{update}");
    // A writer without a name is asked for it before the body is read.
    let mut socket = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    socket
        .write_all(
            b"POST /repo/!svn/me HTTP/1.1\r\nHost: x\r\nContent-Type: application/vnd.svn-skel\r\n\
              Content-Length: 14\r\nConnection: close\r\n\r\n( create-txn )",
        )
        .unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
}

#[test]
fn what_no_client_sends() {
    let served = Served::open();
    let harry = "Authorization: Basic aGFycnk6c2VjcmV0\r\n";
    let bomb = "<!DOCTYPE a [<!ENTITY b \"bbbbbbbb\"><!ENTITY c \"&b;&b;&b;\">]>\
        <D:propfind xmlns:D=\"DAV:\"><D:prop><D:x>&c;</D:x></D:prop></D:propfind>";
    assert!(served.request("PROPFIND", "/repo", "Depth: 0\r\n", bomb).starts_with("HTTP/1.1 400"));
    let deep = format!("{}{}", "<a>".repeat(1000), "</a>".repeat(1000));
    let status = served.request("PROPFIND", "/repo", "Depth: 0\r\n", &deep);
    assert!(status.starts_with("HTTP/1.1 413"), "{status}");
    for path in
        ["/repo/../x", "/repo/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd", "/repo/a%00b"]
    {
        let answer = served.request("GET", path, "", "");
        assert!(answer.starts_with("HTTP/1.1 400"), "{path}: {answer}");
    }
    for path in ["/repo/!svn/rev/99999", "/repo/!svn/rvr/99999/x", "/repo/!svn/txr/1-1/x"] {
        let answer = served.request("PROPFIND", path, "Depth: 0\r\n", "");
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
    assert!(
        served.request("PROPFIND", "/repo", "Depth: infinity\r\n", "").starts_with("HTTP/1.1 403")
    );
    assert!(served.request("BREW", "/repo", harry, "").starts_with("HTTP/1.1 405"));
    // The statuses are those of mod_dav_svn.
    for (method, path, headers, status) in [
        ("MKACTIVITY", "/repo", "", 409),
        ("MKACTIVITY", "/repo/nothing", "", 403),
        ("MKACTIVITY", "/repo/!svn/me", "", 409),
        ("VERSION-CONTROL", "/repo", "", 200),
        ("VERSION-CONTROL", "/repo/nothing", "", 409),
        ("VERSION-CONTROL", "/repo/!svn/me", "", 409),
        ("UNLOCK", "/repo/nothing", "", 400),
        ("UNLOCK", "/repo/nothing", "Lock-Token: <opaquelocktoken:x>\r\n", 400),
        ("UNLOCK", "/repo/nothing", "Lock-Token: x\r\n", 400),
    ] {
        let answer = served.request(method, path, &format!("{harry}{headers}"), "");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{method} {path}: {answer}");
    }
    // Names with control characters (CVE-2024-46901) in every write that could make one.
    let skel = "Content-Type: application/vnd.svn-skel\r\n";
    let made = served.request("POST", "/repo/!svn/me", &format!("{harry}{skel}"), "( create-txn )");
    assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    let name = made.lines().find_map(|l| l.strip_prefix("svn-txn-name: ")).unwrap().to_owned();
    let bad = format!("/repo/!svn/txr/{name}/a%01b");
    for method in ["PUT", "MKCOL"] {
        let answer = served.request(method, &bad, harry, "");
        assert!(answer.contains("errcode=\"160005\""), "{method}: {answer}");
    }
    let to = format!("{harry}Destination: http://x{bad}\r\n");
    let answer = served.request("COPY", "/repo/!svn/rvr/1/", &to, "");
    assert!(answer.contains("errcode=\"160005\""), "{answer}");
    // Another user's transaction is not theirs to change.
    let sally = "Authorization: Basic c2FsbHk6cCB3\r\n";
    let place = format!("/repo/!svn/txr/{name}/new");
    assert!(served.request("MKCOL", &place, sally, "").starts_with("HTTP/1.1 403"));
    assert!(served.request("MKCOL", &place, harry, "").starts_with("HTTP/1.1 201"));
    let txn = format!("/repo/!svn/txn/{name}");
    assert!(served.request("DELETE", &txn, harry, "").starts_with("HTTP/1.1 204"));
    assert!(served.request("MKCOL", &place, harry, "").starts_with("HTTP/1.1 404"));
    // Rubbish, and the beginnings of smuggling.
    for rubbish in [
        &b"\x16\x03\x01\x02\x00\x01"[..],
        b"GET /repo HTTP/9.9\r\n\r\n",
        b"GET /repo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"PUT /repo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    ] {
        let answer = served.raw(rubbish);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    let huge = format!("GET /repo HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    let answer = served.raw(huge.as_bytes());
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    // After all that it serves on.
    ok(&["info", &served.http]);
}

/// What RFC 9112 says of Host, and of a client that closes its sending side.
#[test]
fn hosts_and_half_closed_connections() {
    let served = Served::open();
    let get = |line: &str, host: &str| {
        served.raw(format!("GET {line}\r\n{host}Connection: close\r\n\r\n").as_bytes())
    };
    assert!(get("/repo/ HTTP/1.1", "Host: x\r\n").starts_with("HTTP/1.1 200"));
    assert!(get("/repo/ HTTP/1.1", "").starts_with("HTTP/1.1 400"));
    assert!(get("/repo/ HTTP/1.0", "").starts_with("HTTP/1.0 200"));
    // The sending side ends with the request; the reply comes all the same, of several requests too.
    let mut socket = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let request = "GET /repo/ HTTP/1.1\r\nHost: x\r\n\r\n";
    socket.write_all(request.repeat(2).as_bytes()).unwrap();
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 2, "{answer}");
}

/// A file as the difference to one that the client has, and whole where that one is not there.
#[test]
fn delta_bases() {
    let served = Served::open();
    let harry = "Authorization: Basic aGFycnk6c2VjcmV0\r\n";
    let file = format!("{}/delta-base", served.http);
    let text = std::env::current_dir().unwrap().join("Cargo.toml");
    let login = ["--username", "harry", "--password", "secret", "--no-auth-cache", "-qm", "m"];
    ok(&[&["import"][..], &login, &[text.to_str().unwrap(), &file]].concat());
    let head = ok(&["info", "--show-item", "revision", &served.http]);
    let head = head.trim();
    let get = |base: &str| {
        let headers = format!(
            "{harry}Accept-Encoding: svndiff1;q=0.9,svndiff;q=0.8\r\nX-SVN-VR-Base: {base}\r\n"
        );
        served.request("GET", &format!("/repo/!svn/rvr/{head}/delta-base"), &headers, "")
    };
    let delta = get(&format!("/repo/!svn/rvr/{head}/delta-base"));
    assert!(delta.contains("application/vnd.svn-svndiff"), "{delta}");
    for base in
        ["/repo/!svn/rvr/99999/delta-base", "/repo/!svn/rvr/1/not-there", "/repo/!svn/rvr/0/"]
    {
        let whole = get(base);
        assert!(whole.starts_with("HTTP/1.1 200"), "{base}: {whole}");
        assert!(whole.contains("[package]"), "{base}: {whole}");
        assert!(whole.contains("X-SVN-VR-Base"), "{base}: {whole}");
    }
}

/// Requests that a proxy before us could take for two, or for one where there are two: none of them is
/// answered, and what follows them neither.
#[test]
fn what_could_smuggle_requests() {
    let served = Served::open();
    let put = "PUT /repo/x HTTP/1.1\r\nHost: x\r\n";
    let next = "GET /repo/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    for headers in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding:\r\n chunked\r\n",
        "Content-Length: +0\r\n",
        "Content-Length: 0, 5\r\n",
        "Content-Length: 0\r\nHost: y\r\n",
    ] {
        let answer = served.raw(format!("{put}{headers}\r\n0\r\n\r\n{next}").as_bytes());
        assert!(!answer.contains("HTTP/1.1 2"), "{headers}: {answer}");
    }
    let chunk = format!("{put}Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n{next}");
    assert!(!served.raw(chunk.as_bytes()).contains("HTTP/1.1 2"));
    // One who hangs up in the middle of a body has sent nothing.
    let before = ok(&["info", "--show-item", "revision", &served.http]);
    let socket = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    let half = format!("{put}Content-Length: 10\r\n\r\nabc");
    (&socket).write_all(half.as_bytes()).unwrap();
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    let _ = (&socket).read_to_string(&mut answer);
    assert!(!answer.contains("HTTP/1.1 2"), "{answer}");
    assert_eq!(ok(&["info", "--show-item", "revision", &served.http]), before);
}

#[test]
fn locks_that_other_programs_make() {
    let served = Served::open();
    let (file, url) = (served.scratch("f"), format!("{}/f", served.http));
    fs::write(&file, "x").unwrap();
    ok(&[&["import", "-q", "-m", "f", file.to_str().unwrap(), &url][..], &USER].concat());
    let harry = "Authorization: Basic aGFycnk6c2VjcmV0\r\n";
    let body = "<D:lockinfo xmlns:D='DAV:'><D:lockscope><D:exclusive/></D:lockscope><D:locktype>\
                <D:write/></D:locktype><D:owner><D:href>me</D:href></D:owner></D:lockinfo>";
    let limited = format!("{harry}Timeout: Second-86400\r\n");
    let made = served.request("LOCK", "/repo/f", &limited, body);
    assert!(made.contains("<D:timeout>Second-86") && made.contains("<owner xmlns=\"DAV:\">"));
    let token = made.lines().find_map(|l| l.strip_prefix("lock-token: ")).unwrap().to_owned();
    assert!(ok(&["info", &url]).contains("Lock Expires: "));
    let longer = format!("{harry}Timeout: Infinite\r\nIf: ({token})\r\n");
    let same = served.request("LOCK", "/repo/f", &longer, "");
    assert!(same.contains("<D:timeout>Infinite") && same.contains(token.trim_matches(['<', '>'])));
    assert!(!ok(&["info", &url]).contains("Lock Expires: "));
    // A lock outlives its file, and can be found and ended.
    let wc = served.scratch("wc");
    let wc = wc.to_str().unwrap();
    let unlock = format!("{harry}Lock-Token: {token}\r\n");
    assert!(served.request("UNLOCK", "/repo/f", &unlock, "").starts_with("HTTP/1.1 204"));
    ok(&[&["checkout", "-q", "--depth=files", &served.http, wc][..], &USER].concat());
    let in_wc = format!("{wc}/f");
    ok(&[&["lock", "-m", "", &in_wc][..], &USER].concat());
    ok(&["rm", "-q", &in_wc]);
    ok(&[&["commit", "-q", "--no-unlock", "-m", "", &in_wc][..], &USER].concat());
    assert!(ok(&[&["unlock", &url][..], &USER].concat()).contains("unlocked"));
}

#[test]
fn for_other_programs() {
    let served = Served::open();
    let url = format!("{}/page.txt", served.http);
    let file = served.scratch("page.txt");
    fs::write(&file, "0123456789").unwrap();
    ok(&[&["import", "-q", "-m", "page", file.to_str().unwrap(), &url][..], &USER].concat());
    let whole = served.request("GET", "/repo/page.txt", "", "");
    assert!(whole.starts_with("HTTP/1.1 200") && whole.ends_with("\r\n\r\n0123456789"), "{whole}");
    let header = |text: &str, name: &str| {
        text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(": ")).map(str::to_owned)
    };
    let tag = header(&whole, "etag").unwrap();
    assert_eq!(header(&whole, "content-type").unwrap(), "text/plain; charset=utf-8");
    assert!(header(&whole, "last-modified").unwrap().ends_with(" GMT"));
    let same = served.request("GET", "/repo/page.txt", &format!("If-None-Match: {tag}\r\n"), "");
    assert!(same.starts_with("HTTP/1.1 304"), "{same}");
    let part = served.request("GET", "/repo/page.txt", "Range: bytes=2-4\r\n", "");
    assert!(part.starts_with("HTTP/1.1 206") && part.ends_with("\r\n\r\n234"), "{part}");
    assert_eq!(header(&part, "content-range").unwrap(), "bytes 2-4/10");
    let head = served.request("HEAD", "/repo/page.txt", "", "");
    assert_eq!(header(&head, "content-length").unwrap(), "10");
    assert!(head.ends_with("\r\n\r\n"), "{head}");
    assert!(served.request("GET", "/repo", "", "").starts_with("HTTP/1.1 301"));
    let page = served.request("GET", "/repo/", "", "");
    assert!(page.contains("<a href=\"./page.txt\">page.txt</a>"), "{page}");
    assert!(served.request("GET", "/", "", "").contains("<a href=\"repo/\">repo</a>"));
    assert!(served.request("GET", "/nowhere", "", "").starts_with("HTTP/1.1 404"));
}
