//! Archives over http, unpacked by Python: the same files as `svn` lists, whatever they are called; and what the server does
//! for clients that do not read.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use crate::common::places;
use places::{ADA, BOB, Served, status, svn_as_ada};
use sapwood_testkit::Programs;
use sapwood_testkit::patience::wait;

const PLACES: &str = r#"[[location]]
url = "/svn"
folder = "."
users = "users"
login = "required"
authz = "rules"
[[location]]
url = "/open"
folder = "."
users = "users"
login = "optional"
authz = "rules"
"#;
/// Bob may not read the trunk.
const RULES: &str = "[/]\n* = r\nada = rw\n[/trunk]\n* =\nada = rw\n";

/// Prints the entries of an archive: name, kind, permissions, seconds, text or target in hexadecimal digits.
const READER: &str = r#"
import sys, tarfile, zipfile, calendar
entries = []
if sys.argv[1].endswith('.zip'):
    archive = zipfile.ZipFile(sys.argv[1])
    assert archive.testzip() is None
    for one in archive.infolist():
        mode = one.external_attr >> 16
        kind = {0o04: 'dir', 0o10: 'file', 0o12: 'link'}[mode >> 12]
        extra, seconds = one.extra, None
        assert extra[:5] == b'UT\x05\x00\x01'
        seconds = int.from_bytes(extra[5:9], 'little')
        # The old form begins in 1980.
        old = calendar.timegm(one.date_time + (0, 0, 0))
        assert abs(old - max(seconds, 315532800)) < 2, (old, seconds)
        entries.append((one.filename, kind, mode & 0o777, seconds, archive.read(one)))
else:
    archive = tarfile.open(sys.argv[1], 'r:gz')
    for one in archive:
        if one.isdir():
            entries.append((one.name + '/', 'dir', one.mode, one.mtime, b''))
        elif one.issym():
            entries.append((one.name, 'link', one.mode, one.mtime, one.linkname.encode()))
        else:
            entries.append((one.name, 'file', one.mode, one.mtime, archive.extractfile(one).read()))
for name, kind, mode, seconds, text in entries:
    print(repr(name), kind, oct(mode), int(seconds), text.hex() or '-', sep='\t')
"#;

/// The entries of an archive, as the reader prints them.
fn entries(served: &Served, path: &str, user: &str) -> Vec<Vec<String>> {
    let answer = served.raw(&served.bytes("GET", path, user, b""));
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    assert_eq!(status(&head), 200, "{path}: {head}");
    let body = unchunked(&head, &answer[end..]);
    let kind = if path.contains("/zip/") { "a.zip" } else { "a.tar.gz" };
    let file = served.repo.parent().join(kind);
    fs::write(&file, body).unwrap();
    let read = Command::new("python3").args(["-c", READER]).arg(&file).output().unwrap();
    assert!(read.status.success(), "{path}: {}", String::from_utf8_lossy(&read.stderr));
    let lines = String::from_utf8(read.stdout).unwrap();
    let mut entries: Vec<Vec<String>> =
        lines.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect();
    entries.sort();
    entries
}

/// A body without the lengths of its chunks.
fn unchunked(head: &str, mut body: &[u8]) -> Vec<u8> {
    if !head.contains("transfer-encoding: chunked") {
        return body.to_vec();
    }
    let mut whole = Vec::new();
    loop {
        let end = body.windows(2).position(|two| two == b"\r\n").unwrap();
        let length = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap(), 16).unwrap();
        if length == 0 {
            return whole;
        }
        whole.extend_from_slice(&body[end + 2..end + 2 + length]);
        body = &body[end + 4 + length..];
    }
}

fn text(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    if digits.is_empty() { "-".to_owned() } else { digits }
}

/// Bytes that do not become fewer.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..length).map(|_| next()).collect()
}

/// The names in both forms are those that `svn ls` shows to the same user.
#[test]
fn archives_have_what_svn_shows() {
    let served = Served::start(PLACES);
    fs::write(served.repo.parent().join("rules"), RULES).unwrap();
    let youngest = served.youngest();
    let url = format!("http://127.0.0.1:{}/svn/repo", served.port);
    for (user, name, password) in [(ADA, "ada", "a"), (BOB, "bob", "b")] {
        let login = ["--username", name, "--password", password, "--no-auth-cache"];
        let args = [&["ls", "-R", "--non-interactive", &url][..], &login].concat();
        let listed = Programs::reference().run("svn", args).expect_success("ls").stdout_text();
        let top = format!("repo-r{youngest}/");
        let mut expected: Vec<String> = listed.lines().map(|path| format!("{top}{path}")).collect();
        // What looks like an encoded byte is encoded, so that names stay different.
        expected.iter_mut().for_each(|path| *path = path.replace("a%20b", "a%2520b"));
        expected.push(top);
        expected.sort();
        let names = |form: &str| {
            let all = entries(&served, &format!("/svn/repo/-/{form}/"), user);
            let mut names: Vec<String> =
                all.iter().map(|entry| entry[0].trim_matches(['\'', '"']).to_owned()).collect();
            names.sort();
            (names, all)
        };
        let ((tar, of_tar), (zip, of_zip)) = (names("tar.gz"), names("zip"));
        assert_eq!(of_tar, of_zip, "{name}");
        assert_eq!(tar, expected, "{name}");
        assert_eq!(zip, expected, "{name}");
        assert!(tar.len() > 5);
        assert_eq!(tar.iter().any(|path| path.contains("trunk")), name == "ada");
    }
    for (path, user, expected) in [
        ("/svn/repo/-/zip/trunk", BOB, 404),
        ("/svn/repo/-/zip/none", BOB, 404),
        ("/svn/repo/-/tar.gz/trunk", ADA, 200),
        ("/svn/repo/-/tar.gz/", "", 401),
        ("/open/repo/-/zip/trunk", "", 401),
    ] {
        assert_eq!(status(&served.get(path, user)), expected, "{path}");
        let head = served.request("HEAD", path, user, "");
        assert_eq!(status(&head), expected, "{path}");
    }
}

/// Links, permissions, times, texts of all lengths and names that are more than names elsewhere.
#[test]
fn archives_keep_what_files_are() {
    let served = Served::start(PLACES);
    fs::write(served.repo.parent().join("rules"), RULES).unwrap();
    let wc = served.repo.parent().join("wc");
    let url = format!("http://127.0.0.1:{}/svn/repo", served.port);
    let made = format!("{url}/made");
    svn_as_ada(&["mkdir", "-q", "-m", "m", &made]).expect_success("mkdir");
    svn_as_ada(&["co", "-q", &made, wc.to_str().unwrap()]).expect_success("co");
    let large = noise(300_000);
    let long = "n".repeat(150);
    fs::create_dir(wc.join("ünï")).unwrap();
    for (name, bytes) in [
        ("ünï/large", &large[..]),
        (&*long, b"x"),
        ("empty", b""),
        ("run", b"#!/bin/sh\n"),
        ("a\\b", b"y"),
    ] {
        fs::write(wc.join(name), bytes).unwrap();
    }
    for (target, name) in [("../empty", "ünï/inside"), ("../../outside", "ünï/outside")] {
        std::os::unix::fs::symlink(target, wc.join(name)).unwrap();
    }
    let path = |name: &str| wc.join(name).to_str().unwrap().to_owned();
    svn_as_ada(&["add", "-q", "--force", wc.to_str().unwrap()]).expect_success("add");
    svn_as_ada(&["ps", "-q", "svn:executable", "*", &path("run")]).expect_success("ps");
    svn_as_ada(&["ci", "-q", "-m", "m", wc.to_str().unwrap()]).expect_success("ci");
    let youngest = served.youngest();
    let (tar, zip) = (
        entries(&served, "/svn/repo/-/tar.gz/made", ADA),
        entries(&served, "/svn/repo/-/zip/made", ADA),
    );
    assert_eq!(tar, zip);
    let of = |name: &str| {
        let name = format!("'made-r{youngest}/{name}'");
        let found = tar.iter().find(|entry| entry[0] == name);
        found.unwrap_or_else(|| panic!("{name}: {tar:?}")).clone()
    };
    let is = |name: &str, kind: &str, mode: &str, bytes: &[u8]| {
        let entry = of(name);
        assert_eq!((&*entry[1], &*entry[2], &*entry[4]), (kind, mode, &*text(bytes)), "{name}");
        let seconds: u64 = entry[3].parse().unwrap();
        assert!(seconds > 1_500_000_000, "{name}: {seconds}");
    };
    is("ünï/", "dir", "0o755", b"");
    is("ünï/large", "file", "0o644", &large);
    is(&long, "file", "0o644", b"x");
    is("empty", "file", "0o644", b"");
    is("run", "file", "0o755", b"#!/bin/sh\n");
    is("a%5Cb", "file", "0o644", b"y");
    is("ünï/inside", "link", "0o777", b"../empty");
    // A link that leads out of the archive is none in it.
    is("ünï/outside", "file", "0o644", b"link ../../outside");
}

/// Readers who have not logged in get archives until their share is used, also by clients that do not read; it comes back
/// when these go.
#[test]
fn archives_for_anybody_are_a_share() {
    let served = Served::start(PLACES);
    fs::write(served.repo.parent().join("rules"), RULES).unwrap();
    let file = served.repo.parent().join("large");
    fs::write(&file, noise(24_000_000)).unwrap();
    let url = format!("http://127.0.0.1:{}/svn/repo/shared/large", served.port);
    svn_as_ada(&["import", "-q", "-m", "m", file.to_str().unwrap(), &url]).expect_success("import");
    let begin = || {
        let mut socket = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
        let request = served.bytes("GET", "/open/repo/-/zip/shared", "", b"");
        socket.write_all(&request).unwrap();
        let mut head = [0; 12];
        socket.read_exact(&mut head).unwrap();
        (String::from_utf8_lossy(&head[9..]).parse::<u16>().unwrap(), socket)
    };
    let held: Vec<(u16, TcpStream)> = (0..10).map(|_| begin()).collect();
    let statuses: Vec<u16> = held.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses[0], 200, "{statuses:?}");
    assert_eq!(statuses[9], 429, "{statuses:?}");
    // All else goes on, for them and for users with a name.
    assert_eq!(status(&served.get("/open/repo/-/tree/shared", "")), 200);
    assert_eq!(status(&served.get("/svn/repo/-/zip/branches", ADA)), 200);
    drop(held);
    assert!(wait(60, || begin().0 == 200), "the share comes back");
}
