//! Several servers of one repository in a store: over http, what writes goes to the server that it belongs to.

use std::fs;
use std::io::{Read as _, Write as _};

use sapwood_peers::Name;
use sapwood_testkit::patience;

use crate::common::cluster::{Cluster, ask, begin, connect, done, header, merge, reference};
use crate::common::places::{ADA, BOB, status};

/// Commits, locks and questions through a server, each by a working copy of its own.
fn work(all: &Cluster, at: usize, name: &str, alive: &[usize]) {
    let url = all.http_url(at);
    let wc = all.path(&format!("wc-{name}"));
    let file = wc.join(name);
    let (wc, file) = (wc.to_str().unwrap(), file.to_str().unwrap());
    done(&["co", "-q", &url, wc]);
    fs::write(file, "one\n".repeat(50_000)).unwrap();
    done(&["add", "-q", file]);
    assert!(done(&["ci", "-m", "one", wc]).contains("Committed revision"));
    // What was committed is there at once, wherever it is asked for.
    for other in alive {
        let read = done(&["cat", &format!("{}/{name}", all.http_url(*other))]);
        assert_eq!(read.len(), 200_000);
    }
    assert!(done(&["lock", "-m", "mine", file]).contains("locked by user 'ada'"));
    let refused = reference(&["rm", "-m", "no", &format!("{url}/{name}")]);
    assert!(refused.code != 0 && refused.stderr_text().contains("lock"), "{refused:?}");
    fs::write(file, "two\n").unwrap();
    done(&["ps", "-q", "p", "v", file]);
    done(&["ci", "-m", "two", wc]);
    done(&["ps", "-q", "--revprop", "-r", "HEAD", "svn:log", "other words", &url]);
    assert!(done(&["log", "-l", "1", &url]).contains("other words"));
    fs::remove_dir_all(wc).unwrap();
}

/// Revision properties may be changed.
fn allow_revprops(all: &Cluster) {
    use std::os::unix::fs::PermissionsExt as _;
    let hook = all.repository(0).join("hooks/pre-revprop-change");
    fs::write(&hook, "#!/bin/sh\nexit 0\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let repository = all.repository(0);
    let pushed = ["store", "push", repository.to_str().unwrap()];
    sapwood_testkit::Programs::ours().run("sapwood", pushed).expect_success("push");
}

#[track_caller]
fn clients_work_through_each_server(mut all: Cluster) {
    allow_revprops(&all);
    (0..3).for_each(|at| all.start(at));
    let owner = all.owner();
    for at in 0..3 {
        work(&all, at, &format!("f{at}"), &[0, 1, 2]);
    }
    let others: Vec<usize> = (0..3).filter(|at| *at != owner).collect();
    for at in &others {
        assert!(all.routed(*at, "http", "forwarded") >= 8, "{}", all.log(*at));
        assert!(!all.log(*at).contains("commit"), "{}", all.log(*at));
    }
    assert_eq!(all.routed(owner, "http", "forwarded"), 0);
    assert_eq!(all.log(owner).matches("commit r").count(), 6, "{}", all.log(owner));
    // Without the owner each serves by itself, or by the next.
    all.kill(owner);
    for at in &others {
        work(&all, *at, &format!("without{at}"), &others);
    }
    all.start(owner);
    work(&all, owner, "again", &[0, 1, 2]);
}

#[test]
fn clients_work_and_the_owner_writes() {
    clients_work_through_each_server(Cluster::at_rest(3, ""));
}

#[test]
fn clients_without_the_second_protocol_too() {
    clients_work_through_each_server(Cluster::at_rest(3, "http-v2 = false"));
}

#[test]
fn clients_work_where_servers_speak_tls() {
    clients_work_through_each_server(Cluster::encrypted_at_rest(3, ""));
}

const LOCK: &str = "<?xml version=\"1.0\"?><lockinfo xmlns=\"DAV:\"><lockscope><exclusive/></lockscope>\
                    <locktype><write/></locktype></lockinfo>";
const PROPPATCH: &str = "<?xml version=\"1.0\"?><propertyupdate xmlns=\"DAV:\"><set><prop><x xmlns=\"y\">z</x></prop></set></propertyupdate>";

#[test]
fn answers_are_the_same_forwarded_and_direct() {
    let all = Cluster::new(2, "");
    let (owner, other) = (all.owner(), all.other());
    let url = all.http_url(owner);
    done(&["mkdir", "-m", "x", &format!("{url}/hidden")]);
    fs::write(all.path("f"), "secret\n").unwrap();
    let file = all.path("f").display().to_string();
    done(&["import", "-q", "-m", "y", &file, &format!("{url}/hidden/f")]);
    done(&["import", "-q", "-m", "y", &file, &format!("{url}/shown")]);
    let same = |head: &str, headers: &str, body: &str| {
        let before = all.routed(other, "http", "forwarded");
        let [direct, forwarded] = [owner, other].map(|at| ask(&all, at, head, headers, body));
        assert_eq!(direct, forwarded, "{head}");
        // It is counted after its reply.
        let is_counted = || all.routed(other, "http", "forwarded") > before;
        assert!(patience::wait(30, is_counted), "{head}: {direct}");
        direct
    };
    let wrong = "Authorization: Basic YWRhOng=\r\n";
    let unknown =
        same("POST /repo/!svn/me", "Content-Type: application/vnd.svn-skel\r\n", "( create-txn )");
    assert!(
        unknown.starts_with("HTTP/1.1 401")
            && unknown.to_lowercase().contains("www-authenticate: ")
    );
    assert_eq!(status(&same("LOCK /repo/shown", wrong, LOCK)), 401);
    assert_eq!(
        status(&same("POST /repo/!svn/me", &format!("{ADA}Content-Type: text/plain\r\n"), "x")),
        501
    );
    assert_eq!(status(&same("MERGE /repo/", ADA, "<x/>")), 400);
    let made = ask(&all, other, "MKACTIVITY /repo/!svn/act/one", ADA, "");
    assert_eq!((status(&made), header(&made, "location")), (201, "/repo/!svn/act/one"), "{made}");
    // A second of the same name.
    assert_eq!(status(&same("MKACTIVITY /repo/!svn/act/one", ADA, "")), 409);
    let delete = ask(&all, other, "DELETE /repo/!svn/act/one", ADA, "");
    assert_eq!(status(&delete), 204, "{delete}");
    // What is hidden stays so, forwarded and direct.
    for (method, body) in
        [("LOCK", LOCK), ("PROPPATCH", PROPPATCH), ("DELETE", ""), ("UNLOCK", ""), ("MKCOL", "")]
    {
        for path in ["hidden/f", "nothere/f"] {
            let answer = same(&format!("{method} /repo/{path}"), BOB, body);
            assert!(status(&answer) >= 400 && !answer.contains("secret"), "{answer}");
        }
    }
    // The owner knows where the client is.
    let from = "127.0.0.77 ada";
    same("UNLOCK /repo/shown", &format!("{ADA}Lock-Token: <opaquelocktoken:none>\r\n"), "");
    let locked = ask(&all, other, "LOCK /repo/shown", ADA, LOCK);
    assert_eq!(status(&locked), 200, "{locked}");
    all.logs(owner, from);
    assert!(!all.log(other).contains("lock"), "{}", all.log(other));
}

#[test]
fn forged_statements_are_refused() {
    let all = Cluster::new(2, "");
    for name in ["f0", "f1"] {
        let url = format!("{}/{name}", all.http_url(0));
        done(&["import", "-q", "-m", "x", all.path("secret").to_str().unwrap(), &url]);
    }
    for at in [0, 1] {
        for head in ["GET /repo/", "POST /repo/!svn/me", "LOCK /repo/f"] {
            let forged = "Sapwood-Forwarded: 10.9.8.7 https 1 5bd9d3a6 any.example -\r\n";
            let answer = ask(&all, at, head, &format!("{ADA}{forged}"), "");
            assert_eq!(status(&answer), 400, "{answer}");
        }
        let others = format!("{ADA}X-Forwarded-For: 10.9.8.7\r\nForwarded: for=10.9.8.7\r\n");
        assert_eq!(status(&ask(&all, at, &format!("LOCK /repo/f{at}"), &others, LOCK)), 200);
        assert_eq!(all.log(at).matches("10.9.8.7").count(), 0, "{}", all.log(at));
    }
}

#[test]
fn a_commit_stays_with_the_server_that_began_it() {
    let mut all = Cluster::new(3, "");
    let owner = all.owner();
    let others: Vec<usize> = (0..3).filter(|at| *at != owner).collect();
    let tag =
        |at: usize| Name::parse(&format!("127.0.0.1:{}", all.members[at].peers)).unwrap().tag();
    let tags = [0, 1, 2].map(tag);
    let put = |all: &Cluster, at: usize, name: &str, file: &str| {
        status(&ask(all, at, &format!("PUT /repo/!svn/txr/{name}/{file}"), ADA, "text\n"))
    };
    // Begun while the owner is gone, and continued through all of them when it is there again.
    all.kill(owner);
    // The first finds out.
    drop(begin(&all, others[0]));
    let name = begin(&all, others[0]);
    let has = others.iter().find(|at| name.ends_with(&tags[**at]));
    assert!(has.is_some(), "{name} {tags:?}");
    all.start(owner);
    for (at, file) in [(others[0], "a"), (others[1], "b"), (owner, "c")] {
        assert_eq!(put(&all, at, &name, file), 201, "{file}");
    }
    let read = ask(&all, owner, &format!("PROPFIND /repo/!svn/txr/{name}/b"), ADA, "");
    assert_eq!(status(&read), 207, "{read}");
    let merged = ask(&all, owner, "MERGE /repo", ADA, &merge(&name));
    assert_eq!(status(&merged), 200, "{merged}");
    for at in 0..3 {
        assert_eq!(done(&["ls", &all.http_url(at)]), "a\nb\nc\n");
    }
    // With its server it is gone, as one that never was.
    let name = begin(&all, owner);
    assert!(name.ends_with(&tags[owner]), "{name}");
    all.kill(owner);
    assert_eq!(put(&all, others[0], &name, "d"), 404);
    let gone = ask(&all, others[0], "MERGE /repo", ADA, &merge(&name));
    assert_eq!((status(&gone), gone.contains("No transaction named")), (404, true), "{gone}");
    all.start(owner);
    assert_eq!(put(&all, others[0], &name, "d"), 404);
    assert_eq!(put(&all, others[0], "1-1.00000000", "d"), 404);
}

#[test]
fn requests_in_a_row_and_bodies_that_wait_to_be_asked_for() {
    [Cluster::new(2, ""), Cluster::encrypted(2, "")].iter().for_each(requests_in_a_row);
}

fn requests_in_a_row(all: &Cluster) {
    let other = all.other();
    let name = begin(all, other);
    let mut stream = connect(all.members[other].http, None);
    // Three in a row: a write, a read that is answered here, a write.
    let put = |file: &str| {
        format!(
            "PUT /repo/!svn/txr/{name}/{file} HTTP/1.1\r\nHost: x\r\n{ADA}Content-Length: 5\r\n\r\n{file}{file}{file}{file}\n"
        )
    };
    let get = "OPTIONS /repo HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
    stream.write_all(format!("{}{get}{}", put("a"), put("b")).as_bytes()).unwrap();
    let read = |stream: &mut std::net::TcpStream, wanted: usize| {
        let (mut text, mut some) = (String::new(), [0; 4096]);
        // The heads are complete.
        while text.matches("\r\n\r\n").count() < wanted {
            let count = stream.read(&mut some).unwrap();
            assert!(count > 0, "{text}");
            text.push_str(&String::from_utf8_lossy(&some[..count]));
        }
        text
    };
    let answers = read(&mut stream, 3);
    let order: Vec<u16> =
        answers.split("HTTP/1.1 ").skip(1).map(|a| a[..3].parse().unwrap()).collect();
    assert_eq!(order, [201, 200, 201], "{answers}");
    // A body that has to be asked for: not before the owner has let the user in.
    let expects = |who: &str, file: &str| {
        format!(
            "PUT /repo/!svn/txr/{name}/{file} HTTP/1.1\r\nHost: x\r\n{who}Content-Length: 5\r\nExpect: 100-continue\r\n\r\n"
        )
    };
    let mut stream = connect(all.members[other].http, None);
    stream.write_all(expects("", "c").as_bytes()).unwrap();
    assert_eq!(status(&read(&mut stream, 1)), 401);
    let mut stream = connect(all.members[other].http, None);
    stream.write_all(expects(ADA, "c").as_bytes()).unwrap();
    assert_eq!(status(&read(&mut stream, 1)), 100);
    stream.write_all(b"cccc\n").unwrap();
    assert_eq!(status(&read(&mut stream, 1)), 201);
    // In pieces of unknown length.
    let mut stream = connect(all.members[other].http, None);
    let chunked = format!(
        "PUT /repo/!svn/txr/{name}/d HTTP/1.1\r\nHost: x\r\n{ADA}Transfer-Encoding: chunked\r\n\r\n5\r\ndddd\n\r\n0\r\n\r\n"
    );
    stream.write_all(chunked.as_bytes()).unwrap();
    assert_eq!(status(&read(&mut stream, 1)), 201);
    assert_eq!(status(&ask(all, other, "MERGE /repo", ADA, &merge(&name))), 200);
    for file in ["a", "b", "c", "d"] {
        assert_eq!(
            done(&["cat", &format!("{}/{file}", all.http_url(other))]),
            format!("{}\n", file.repeat(4))
        );
    }
    // One begins a body, and goes: nothing of it is in the commit.
    let name = begin(all, other);
    let mut stream = connect(all.members[other].http, None);
    let half = format!(
        "PUT /repo/!svn/txr/{name}/e HTTP/1.1\r\nHost: x\r\n{ADA}Content-Length: 5000\r\n\r\neeee"
    );
    stream.write_all(half.as_bytes()).unwrap();
    drop(stream);
    let large = "x".repeat(3_000_000);
    let answer = ask(all, other, &format!("PUT /repo/!svn/txr/{name}/f"), ADA, &large);
    assert_eq!(status(&answer), 201, "{answer}");
    assert_eq!(status(&ask(all, other, "MERGE /repo", ADA, &merge(&name))), 200);
    let read = done(&["cat", &format!("{}/f", all.http_url(other))]);
    assert!(read == large, "another text of {} bytes", read.len());
}

#[test]
fn what_dav_programs_save_is_read_at_once_through_each_server() {
    let all = Cluster::new(2, "autoversioning = true\nautoversioning-wait = 20");
    for at in [all.other(), all.owner()] {
        let path = format!("/repo/saved{at}");
        assert_eq!(status(&ask(&all, at, &format!("PUT {path}"), ADA, "text\n")), 201);
        for reader in 0..2 {
            let read = ask(&all, reader, &format!("GET {path}"), ADA, "");
            assert!(read.ends_with("text\n"), "{read}");
        }
    }
}
