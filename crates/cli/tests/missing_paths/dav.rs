//! The methods and reports of http, at addresses where nothing is.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use super::{PATHS, REVISIONS, Twins};

/// Reports, sent to the address of a path in a revision; `P` is the path, `R` the revision.
const AT_NODES: &[&str] = &[
    "<S:log-report><S:start-revision>R</S:start-revision><S:end-revision>0</S:end-revision><S:path></S:path></S:log-report>",
    "<S:log-report><S:start-revision>R</S:start-revision><S:end-revision>R</S:end-revision><S:strict-node-history/><S:path></S:path></S:log-report>",
    "<S:list-report><S:path></S:path><S:revision>R</S:revision><S:depth>infinity</S:depth></S:list-report>",
    "<S:get-locations><S:path></S:path><S:peg-revision>R</S:peg-revision><S:location-revision>1</S:location-revision></S:get-locations>",
    "<S:get-location-segments><S:path></S:path><S:peg-revision>R</S:peg-revision><S:start-revision>R</S:start-revision><S:end-revision>0</S:end-revision></S:get-location-segments>",
    "<S:file-revs-report><S:start-revision>0</S:start-revision><S:end-revision>R</S:end-revision><S:path></S:path></S:file-revs-report>",
    "<S:get-deleted-rev-report><S:path></S:path><S:peg-revision>1</S:peg-revision><S:end-revision>R</S:end-revision></S:get-deleted-rev-report>",
    "<S:mergeinfo-report><S:revision>R</S:revision><S:inherit>inherited</S:inherit><S:path></S:path></S:mergeinfo-report>",
    "<S:inherited-props-report><S:revision>R</S:revision><S:path></S:path></S:inherited-props-report>",
    "<S:get-locks-report depth=\"infinity\"/>",
    "<S:replay-report><S:revision>R</S:revision><S:low-water-mark>0</S:low-water-mark><S:send-deltas>1</S:send-deltas></S:replay-report>",
];

/// The same, sent to the address of the root, with the path in the report.
const AT_ROOT: &[&str] = &[
    "<S:log-report><S:start-revision>R</S:start-revision><S:end-revision>0</S:end-revision><S:path>P</S:path></S:log-report>",
    "<S:list-report><S:path>P</S:path><S:revision>R</S:revision><S:depth>empty</S:depth></S:list-report>",
    "<S:get-locations><S:path>P</S:path><S:peg-revision>R</S:peg-revision><S:location-revision>1</S:location-revision></S:get-locations>",
    "<S:get-location-segments><S:path>P</S:path><S:peg-revision>R</S:peg-revision><S:start-revision>R</S:start-revision><S:end-revision>0</S:end-revision></S:get-location-segments>",
    "<S:file-revs-report><S:start-revision>0</S:start-revision><S:end-revision>R</S:end-revision><S:path>P</S:path></S:file-revs-report>",
    "<S:get-deleted-rev-report><S:path>P</S:path><S:peg-revision>R</S:peg-revision><S:end-revision>4</S:end-revision></S:get-deleted-rev-report>",
    "<S:mergeinfo-report><S:revision>R</S:revision><S:inherit>explicit</S:inherit><S:path>P</S:path></S:mergeinfo-report>",
    "<S:inherited-props-report><S:revision>R</S:revision><S:path>P</S:path></S:inherited-props-report>",
];

/// Update reports, to the address of all of them.
const UPDATES: &[&str] = &[
    "<S:update-report send-all=\"true\"><S:src-path>/repo</S:src-path><S:target-revision>R</S:target-revision><S:update-target>P</S:update-target><S:depth>infinity</S:depth><S:entry rev=\"4\" depth=\"infinity\"></S:entry></S:update-report>",
    "<S:update-report send-all=\"true\"><S:src-path>/repo/P</S:src-path><S:target-revision>R</S:target-revision><S:depth>infinity</S:depth><S:entry rev=\"R\" depth=\"infinity\"></S:entry></S:update-report>",
    "<S:update-report send-all=\"true\"><S:src-path>/repo</S:src-path><S:target-revision>R</S:target-revision><S:dst-path>/repo/P</S:dst-path><S:update-target>b</S:update-target><S:ignore-ancestry>yes</S:ignore-ancestry><S:depth>infinity</S:depth><S:entry rev=\"4\" depth=\"infinity\"></S:entry></S:update-report>",
    "<S:update-report send-all=\"true\"><S:src-path>/repo/b</S:src-path><S:target-revision>R</S:target-revision><S:dst-path>/repo/P</S:dst-path><S:ignore-ancestry>yes</S:ignore-ancestry><S:depth>infinity</S:depth><S:entry rev=\"4\" depth=\"infinity\"></S:entry></S:update-report>",
    "<S:update-report><S:src-path>/repo</S:src-path><S:target-revision>R</S:target-revision><S:text-deltas>no</S:text-deltas><S:update-target>P</S:update-target><S:depth>infinity</S:depth><S:entry rev=\"4\" depth=\"infinity\"></S:entry></S:update-report>",
    "<S:update-report send-all=\"true\"><S:src-path>/repo</S:src-path><S:target-revision>R</S:target-revision><S:depth>infinity</S:depth><S:entry rev=\"4\" depth=\"infinity\"></S:entry><S:entry rev=\"R\" linkpath=\"/P\" depth=\"infinity\">b</S:entry></S:update-report>",
];

/// Methods, at the plain address and at the one of a revision, with headers and a body.
const METHODS: &[(&str, &str, &str)] = &[
    ("GET", "", ""),
    ("HEAD", "", ""),
    ("OPTIONS", "", "<D:options xmlns:D=\"DAV:\"><D:activity-collection-set/></D:options>"),
    ("PROPFIND", "Depth: 0\r\n", "<D:propfind xmlns:D=\"DAV:\"><D:allprop/></D:propfind>"),
    (
        "PROPFIND",
        "Depth: 1\r\n",
        "<D:propfind xmlns:D=\"DAV:\"><D:prop><D:resourcetype/></D:prop></D:propfind>",
    ),
    (
        "LOCK",
        "Depth: 0\r\n",
        "<D:lockinfo xmlns:D=\"DAV:\"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>",
    ),
    ("UNLOCK", "Lock-Token: <opaquelocktoken:none>\r\n", ""),
    (
        "PROPPATCH",
        "",
        "<D:propertyupdate xmlns:D=\"DAV:\" xmlns:C=\"http://subversion.tigris.org/xmlns/custom/\"><D:set><D:prop><C:p>v</C:p></D:prop></D:set></D:propertyupdate>",
    ),
];

/// The whole answer to a request.
fn answer(port: u16, method: &str, address: &str, headers: &str, body: &str) -> String {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let request = format!(
        "{method} {address} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\
         Content-Type: text/xml\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ended = socket.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// The status of an answer.
fn status(port: u16, method: &str, address: &str, headers: &str, body: &str) -> String {
    let text = answer(port, method, address, headers, body);
    text.split(' ').nth(1).unwrap_or("none").to_owned()
}

/// The status of an answer, and the code of the error in it.
fn asked(port: u16, method: &str, address: &str, headers: &str, body: &str) -> String {
    let text = answer(port, method, address, headers, body);
    let status = text.split(' ').nth(1).unwrap_or("none").to_owned();
    let code = text.split("errcode=\"").nth(1).and_then(|rest| rest.split('"').next());
    // How exactly a refusal is said differs, and a client shows what it is told.
    let mut found = match status.as_bytes().first() {
        Some(b'2' | b'3') => "answered".to_owned(),
        _ => return "refused".to_owned(),
    };
    if let Some(code) = code {
        write!(found, " but {code}").unwrap();
    }
    // What a report says is there, and what it takes away.
    for mark in [
        "delete-entry",
        "add-directory",
        "add-file",
        "replace-",
        "<S:entry",
        "<S:item",
        "log-item",
        "location-segment ",
        "<S:location ",
        "file-rev ",
        "iprop-item",
        "mergeinfo-item",
    ] {
        let count = text.matches(mark).count();
        if count > 0 {
            write!(found, " {mark}{count}").unwrap();
        }
    }
    found
}

/// Where both differ and both are right for clients: the beginning of the question, what httpd says, what
/// ours says, why.
const EXCUSED: &[(&str, &str, &str, &str)] = &[
    (
        "PROPFIND /repo/!svn/ver/",
        "answered",
        "refused",
        "no client asks; httpd says that it is there",
    ),
    ("GET /repo/!svn/ver/", "refused", "answered", "ours has a page for directories there, too"),
    ("HEAD /repo/!svn/ver/", "refused", "answered", "the same"),
    ("OPTIONS /repo/!svn/", "refused", "answered", "what the server can do, not what is there"),
    // httpd begins an answer that it cannot go on with; the client is told in both cases.
    ("REPORT /repo/!svn/me <S:update-report", "answered", "refused", "a link to what is not there"),
    ("REPORT /repo/!svn/vcc/default <S:update-report", "answered", "refused", "the same"),
];

#[test]
fn every_method_and_report_as_httpd() {
    let twins = Twins::new();
    let (_httpd, theirs) = twins.httpd();
    let (_served, ours) = twins.serve();
    let mut told = String::new();
    let mut compare = |method: &str, address: &str, headers: &str, body: &str| {
        let body = match body.split_once([' ', '>', '/']) {
            Some((name, rest)) if body.starts_with("<S:") => {
                let cut = &body[name.len()..];
                let _rest = rest;
                format!("{name} xmlns:S=\"svn:\" xmlns:D=\"DAV:\"{cut}")
            }
            _ => body.to_owned(),
        };
        let wanted = asked(theirs, method, address, headers, &body);
        let found = asked(ours, method, address, headers, &body);
        let question =
            format!("{method} {address} {}", body.split([' ', '>']).next().unwrap_or(""));
        let excused = EXCUSED.iter().any(|(begin, want, have, _)| {
            question.starts_with(begin) && wanted == *want && found == *have
        });
        if wanted != found && !excused {
            writeln!(told, "{question}\n httpd: {wanted}\n ours: {found}\n  {body}").unwrap();
        }
    };
    for path in PATHS {
        for (method, headers, body) in METHODS {
            compare(method, &format!("/repo/{path}"), headers, body);
        }
        for report in AT_NODES {
            let body = report.replace(">R<", ">4<").replace("\"R\"", "\"4\"");
            compare("REPORT", &format!("/repo/{path}"), "", &body);
        }
        for revision in REVISIONS {
            let with = |text: &str| {
                text.replace("/P", &format!("/{path}"))
                    .replace(">P<", &format!(">{path}<"))
                    .replace(">R<", &format!(">{revision}<"))
                    .replace("\"R\"", &format!("\"{revision}\""))
            };
            for report in AT_NODES {
                compare("REPORT", &format!("/repo/!svn/rvr/{revision}/{path}"), "", &with(report));
                compare("REPORT", &format!("/repo/!svn/bc/{revision}/{path}"), "", &with(report));
            }
            for report in AT_ROOT {
                compare("REPORT", &format!("/repo/!svn/rvr/{revision}"), "", &with(report));
            }
            for report in UPDATES {
                // The target of an update is one name.
                if path.contains('/') && report.contains("update-target>P") {
                    continue;
                }
                compare("REPORT", "/repo/!svn/me", "", &with(report));
                compare("REPORT", "/repo/!svn/vcc/default", "", &with(report));
            }
            for (method, headers, body) in METHODS {
                for kind in ["rvr", "bc", "ver"] {
                    let address = format!("/repo/!svn/{kind}/{revision}/{path}");
                    compare(method, &address, headers, body);
                }
            }
        }
    }
    assert!(told.is_empty(), "{told}");
}

/// Methods that would change something at its plain address, where no autoversioning is on.
const WRITES: &[(&str, &str, &str)] = &[
    ("PUT", "", "text"),
    ("DELETE", "", ""),
    ("MKCOL", "", ""),
    ("MKCOL", "", "text"),
    ("COPY", "Destination: http://localhost/repo/b/copy\r\n", ""),
    ("MOVE", "Destination: http://localhost/repo/b/copy\r\n", ""),
    ("MOVE", "Destination: http://localhost/repo/other\r\n", ""),
    (
        "PROPPATCH",
        "",
        "<D:propertyupdate xmlns:D=\"DAV:\"><D:set><D:prop><x xmlns=\"urn:x\">v</x></D:prop></D:set></D:propertyupdate>",
    ),
    (
        "LOCK",
        "Depth: 0\r\n",
        "<D:lockinfo xmlns:D=\"DAV:\"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>",
    ),
    ("CHECKOUT", "", ""),
    ("CHECKIN", "", ""),
    ("UNCHECKOUT", "", ""),
    ("ACL", "", ""),
    ("ORDERPATCH", "", ""),
    ("LABEL", "", ""),
    ("SEARCH", "", ""),
];

/// The very status, of what is there and of what is not.
#[test]
fn methods_that_write_have_the_status_of_httpd() {
    let twins = Twins::new();
    let (_httpd, theirs) = twins.httpd();
    let (_served, ours) = twins.serve();
    let mut told = String::new();
    for path in ["", "b", "b/", "b/f", "f", "gone", "gone/x", "new", "new/", "f/x", "nope/x"] {
        for (method, headers, body) in WRITES {
            let address = format!("/repo/{path}");
            let [wanted, found] = [theirs, ours].map(|port| {
                // Both look at where a copy goes by name and port of the server.
                let headers = headers.replace("//localhost/", &format!("//localhost:{port}/"));
                status(port, method, &address, &headers, body)
            });
            if wanted != found {
                writeln!(told, "{method} {address} {headers}: httpd {wanted}, ours {found}")
                    .unwrap();
            }
        }
    }
    assert!(told.is_empty(), "{told}");
}
