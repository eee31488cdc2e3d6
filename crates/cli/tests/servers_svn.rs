//! Several servers of one repository in a store: connections of svn:// go to the server that it belongs to.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use sapwood_testkit::patience;

use crate::common::cluster::{Cluster, connect, done, reference, talk};

/// What a client says first, to any server.
const GREETING: &str = "( 2 ( edit-pipeline svndiff1 accepts-svndiff2 absent-entries depth mergeinfo log-revprops ) \
                        21:svn://any.server/repo 3:raw ( ) ) ";
/// An anonymous login, and questions.
const QUESTIONS: &str = "( ANONYMOUS ( 0: ) ) ( get-latest-rev ( ) ) ( get-dir ( 0: ( ) false true ( ) ) ) \
                         ( get-file ( 8:hidden/f ( ) true true ) ) ( get-file ( 7:nothere ( ) true true ) ) \
                         ( check-path ( 8:hidden/f ( ) ) ) ( log ( ( 0: ) ( 2 ) ( 0 ) true false 0 false revprops ( ) ) ) ";

/// Commits, locks and questions through a server, each by a working copy of its own.
fn work(all: &Cluster, url: &str, name: &str) {
    let wc = all.path(&format!("wc-{name}"));
    let file = wc.join(name);
    let (wc, file) = (wc.to_str().unwrap(), file.to_str().unwrap());
    done(&["co", "-q", url, wc]);
    fs::write(file, "one\n").unwrap();
    done(&["add", "-q", file]);
    assert!(done(&["ci", "-m", "one", wc]).contains("Committed revision"));
    // What was committed is there at once, wherever it is asked for.
    for at in 0..all.members.len() {
        assert_eq!(done(&["cat", &format!("{}/{name}", all.svn_url(at))]), "one\n");
    }
    assert!(done(&["lock", "-m", "mine", file]).contains("locked by user 'ada'"));
    let locked = format!("{url}/{name}");
    let refused = reference(&["rm", "-m", "no", &locked]);
    assert!(refused.code != 0 && refused.stderr_text().contains("lock"), "{refused:?}");
    fs::write(file, "two\n").unwrap();
    done(&["ci", "-m", "two", wc]);
    assert!(done(&["log", "-q", "-l", "1", url]).contains("ada"));
    fs::remove_dir_all(wc).unwrap();
}

#[test]
fn clients_work_through_each_server_and_the_owner_does_it() {
    clients_work(Cluster::new(3, ""));
}

#[test]
fn clients_work_where_servers_speak_tls() {
    clients_work(Cluster::encrypted(3, ""));
}

fn clients_work(mut all: Cluster) {
    let owner = all.owner();
    for at in 0..3 {
        work(&all, &all.svn_url(at), &format!("f{at}"));
    }
    for at in (0..3).filter(|at| *at != owner) {
        assert!(all.routed(at, "svn", "forwarded") >= 8, "{}", all.routed(at, "svn", "forwarded"));
        assert!(!all.log(at).contains("commit"), "{}", all.log(at));
    }
    assert_eq!(all.routed(owner, "svn", "forwarded"), 0);
    assert_eq!(all.log(owner).matches("commit r").count(), 6, "{}", all.log(owner));

    // Without the owner each serves by itself, or by the next.
    all.kill(owner);
    for at in (0..3).filter(|at| *at != owner) {
        work_without(&all, owner, at);
    }
    let unreachable = |at: usize| all.routed(at, "svn", "unreachable");
    assert!((0..3).filter(|at| *at != owner).all(|at| unreachable(at) > 0));
    all.start(owner);
    work(&all, &all.svn_url(owner), "again");
}

/// A commit through a server while the owner is gone, and what the others say of it.
fn work_without(all: &Cluster, owner: usize, at: usize) {
    let name = format!("without{at}");
    done(&["mkdir", "-m", "x", &format!("{}/{name}", all.svn_url(at))]);
    for other in (0..3).filter(|other| *other != owner) {
        assert!(done(&["ls", &all.svn_url(other)]).contains(&name));
    }
}

#[test]
fn answers_are_the_same_forwarded_and_direct() {
    [Cluster::new(2, ""), Cluster::encrypted(2, "")].iter().for_each(answers_are_the_same);
}

fn answers_are_the_same(all: &Cluster) {
    let (owner, other) = (all.owner(), all.other());
    let hidden = format!("{}/hidden", all.svn_url(owner));
    done(&["mkdir", "-m", "x", &hidden]);
    fs::write(all.path("f"), "secret\n").unwrap();
    done(&["import", "-q", "-m", "y", all.path("f").to_str().unwrap(), &format!("{hidden}/f")]);
    // The last one is none: the server closes the connection.
    let said = format!("{GREETING}{QUESTIONS}) ) ");
    let answers =
        [owner, other].map(|at| talk(all.members[at].svn, Some("127.0.0.77"), said.as_bytes()));
    let [direct, forwarded] = answers.map(|answer| String::from_utf8(answer).unwrap());
    assert_eq!(direct, forwarded);
    assert!(direct.contains("svn://any.server/repo") && !direct.contains("secret"), "{direct}");
    assert_eq!(all.routed(other, "svn", "forwarded"), 1);
    // The owner knows where the client is.
    let opened = |log: &str| log.lines().filter(|l| l.contains("127.0.0.77 - repo open")).count();
    assert_eq!(opened(&all.log(owner)), 2, "{}", all.log(owner));
    assert_eq!(opened(&all.log(other)), 0, "{}", all.log(other));
    // So does what refuses a greeting, and what is no repository at all.
    for said in [
        "( 1 ( edit-pipeline ) 21:svn://any.server/repo ) ",
        "( 2 ( edit-pipeline ) 20:svn://any.server/not ) ) ) ",
    ] {
        let answers = [owner, other].map(|at| talk(all.members[at].svn, None, said.as_bytes()));
        assert_eq!(answers[0], answers[1]);
    }
}

#[test]
fn wrong_lists_of_servers_cost_only_speed() {
    let mut all = Cluster::at_rest(2, "");
    let [a, b] = [0, 1].map(|at| format!("127.0.0.1:{}", all.members[at].peers));
    let url = |all: &Cluster, at: usize| all.svn_url(at);
    // Each believes that it is the other one, and would forward to itself.
    let list = format!("list = ['{a}', '{b}']\n");
    all.configure(0, &format!("own = '{b}'\n{list}"), "");
    all.configure(1, &format!("own = '{a}'\n{list}"), "");
    [0, 1].into_iter().for_each(|at| all.start(at));
    for at in [0, 1] {
        work(&all, &url(&all, at), &format!("swapped{at}"));
    }
    assert!([0, 1].iter().any(|at| all.routed(*at, "svn", "refused") > 0));
    assert!([0, 1].iter().all(|at| all.routed(*at, "svn", "forwarded") == 0));
    // Each of them knows another third server, which is not there, and the second another secret.
    [0, 1].into_iter().for_each(|at| all.kill(at));
    for (at, own) in [(0, &a), (1, &b)] {
        let third = sapwood_testkit::server::free_port();
        let list = format!("list = ['{a}', '{b}', '127.0.0.1:{third}']\n");
        all.configure(at, &format!("own = '{own}'\n{list}"), "");
    }
    fs::write(all.path("other secret"), "another secret, which is long\n").unwrap();
    let conf = fs::read_to_string(all.path("1.toml")).unwrap();
    fs::write(all.path("1.toml"), conf.replace("'secret'", "'other secret'")).unwrap();
    [0, 1].into_iter().for_each(|at| all.start(at));
    for at in [0, 1] {
        work(&all, &url(&all, at), &format!("split{at}"));
    }
    assert!([0, 1].iter().all(|at| all.routed(*at, "svn", "forwarded") == 0));
}

#[test]
fn a_server_without_the_repository_is_passed_by() {
    let mut all = Cluster::at_rest(2, "");
    let (owner, other) = (all.owner(), all.other());
    // It is there under another name.
    fs::rename(all.repository(owner), all.path(&format!("{owner}/renamed"))).unwrap();
    all.start(owner);
    all.start(other);
    done(&["mkdir", "-m", "x", &format!("{}/x", all.svn_url(other))]);
    assert_eq!(done(&["ls", &all.svn_url(other)]), "x/\n");
    assert!(all.routed(other, "svn", "elsewhere") > 0);
    assert_eq!(all.routed(other, "svn", "forwarded"), 0);
}

#[test]
fn the_port_for_servers_believes_no_stranger() {
    let all = Cluster::new(2, "");
    let port = all.members[0].peers;
    let code = "0".repeat(64);
    let nonce = "0123456789abcdef0123456789abcdef";
    for said in [
        format!("{GREETING}\n"),
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
        format!("{nonce} svn 127.0.0.1:1 127.0.0.1:{port} 10.0.0.1 - {code}\n{GREETING}"),
        "x".repeat(5000),
    ] {
        let answer = talk(port, None, said.as_bytes());
        assert_eq!(
            answer.len(),
            "sapwood 1 \n".len() + 32,
            "{:?}",
            String::from_utf8_lossy(&answer)
        );
    }
    all.logs(0, "does not prove that it knows the secret");
    // It is silent: it does not wait for ever, and others are answered meanwhile.
    let _silent: Vec<TcpStream> = (0..20).map(|_| connect(port, None)).collect();
    done(&["mkdir", "-m", "x", &format!("{}/x", all.svn_url(all.other()))]);
    assert!(all.routed(all.other(), "svn", "forwarded") > 0);
}

/// A value of `/proc/PID/status`.
fn of_process(pid: u32, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_matches([':', '\t', ' ', 'k', 'B']).parse().unwrap()
}

#[test]
fn connections_that_are_forwarded_have_no_thread_and_end_with_either_side() {
    forwarded_connections_end(Cluster::new(2, ""), 4096);
}

#[test]
fn encrypted_ones_do_so_too() {
    forwarded_connections_end(Cluster::encrypted(2, ""), 8192);
}

/// 200 connections take at most so many KiB of the server that forwards them.
fn forwarded_connections_end(mut all: Cluster, most: u64) {
    const COUNT: u64 = 200;
    let (owner, other) = (all.owner(), all.other());
    let open = |all: &Cluster| {
        let mut stream = connect(all.members[other].svn, None);
        stream.write_all(format!("{GREETING}( ANONYMOUS ( 0: ) ) ").as_bytes()).unwrap();
        let (mut said, mut some) = (Vec::new(), [0; 4096]);
        // Until the description of the repository is there.
        while !String::from_utf8_lossy(&said).contains("any.server") {
            let count = stream.read(&mut some).unwrap();
            assert!(count > 0, "{:?}", String::from_utf8_lossy(&said));
            said.extend_from_slice(&some[..count]);
        }
        stream
    };
    let pid = all.pid(other);
    let first: Vec<_> = (0..20).map(|_| open(&all)).collect();
    // The thread of the greeting has gone by then, or goes.
    assert!(
        patience::wait(30, || of_process(pid, "Threads") < 20),
        "{}",
        of_process(pid, "Threads")
    );
    let (threads, memory) = (of_process(pid, "Threads"), of_process(pid, "VmRSS"));
    let open: Vec<_> = (0..COUNT).map(|_| open(&all)).collect();
    assert!(patience::wait(30, || of_process(pid, "Threads") <= threads), "{threads}");
    let more = of_process(pid, "VmRSS").saturating_sub(memory);
    assert!(more < most, "{COUNT} connections take {more} KiB");
    // The client goes: the owner's side ends, too.
    drop(first);
    let left = || all.connections(owner, "svn");
    assert!(patience::wait(30, || left() == COUNT), "{}", left());
    // The owner goes: the clients' sides end.
    all.kill(owner);
    for mut stream in open {
        assert!(matches!(stream.read(&mut [0; 16]), Ok(0) | Err(_)));
    }
}

#[test]
fn large_texts_go_both_ways() {
    [Cluster::new(2, ""), Cluster::encrypted(2, "")].iter().for_each(large_texts_go);
}

fn large_texts_go(all: &Cluster) {
    let url = all.svn_url(all.other());
    let text: Vec<u8> =
        (0..6_000_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    fs::write(all.path("large"), &text).unwrap();
    done(&[
        "import",
        "-q",
        "-m",
        "x",
        all.path("large").to_str().unwrap(),
        &format!("{url}/large"),
    ]);
    let copy = all.path("copy");
    done(&["export", "-q", &format!("{url}/large"), copy.to_str().unwrap()]);
    assert!(fs::read(copy).unwrap() == text, "the text is another one");
    assert!(all.routed(all.other(), "svn", "forwarded") >= 2);
}
