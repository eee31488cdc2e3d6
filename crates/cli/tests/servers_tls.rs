//! Servers of one repository that demand TLS of each other: who has no good certificate is refused, and nothing goes without.

use std::fs;
use std::process::Command;

use sapwood_testkit::{Programs, patience};

use crate::common::certificates::{authority, peer};
use crate::common::cluster::{Cluster, ask, connect, done, talk};
use crate::common::places::ADA;

/// Two servers of which the one that forwards is another one than its owner expects.
fn refused(make: impl Fn(&Cluster, usize), seen: &str) {
    let mut all = Cluster::encrypted_at_rest(2, "");
    let (owner, other) = (all.owner(), all.other());
    make(&all, other);
    [owner, other].into_iter().for_each(|at| all.start(at));
    // Both ways of asking are answered where they arrive.
    done(&["mkdir", "-m", "x", &format!("{}/x", all.svn_url(other))]);
    done(&["mkdir", "-m", "x", &format!("{}/y", all.http_url(other))]);
    assert_eq!(done(&["ls", &all.svn_url(owner)]), "x/\ny/\n");
    for door in ["svn", "http"] {
        assert_eq!(all.routed(other, door, "forwarded"), 0, "{door}");
    }
    let untaken = |result| all.routed(other, "svn", result) + all.routed(other, "http", result);
    assert!(untaken("refused") + untaken("unreachable") > 0, "{}", all.log(other));
    all.logs(owner, &format!("A connection to the port for other servers is refused: {seen}"));
}

#[test]
fn a_server_of_another_authority_is_refused() {
    let make = |all: &Cluster, at: usize| {
        let stem = all.path(&at.to_string());
        peer(&authority("Strangers"), "127.0.0.1", 2100, &stem);
    };
    refused(make, "its certificate is of no known authority");
}

#[test]
fn a_server_without_tls_is_refused() {
    let make = |all: &Cluster, at: usize| {
        let file = all.path(&format!("{at}.toml"));
        let conf = fs::read_to_string(&file).unwrap();
        let kept: Vec<&str> = conf.lines().filter(|line| !line.starts_with("tls-")).collect();
        fs::write(&file, kept.join("\n")).unwrap();
    };
    refused(make, "it ends before TLS has begun");
}

#[test]
fn what_is_no_tls_gets_no_word() {
    let all = Cluster::encrypted(2, "");
    let port = all.members[0].peers;
    let nonce = "0123456789abcdef0123456789abcdef";
    let code = "0".repeat(64);
    for said in [
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
        format!("{nonce} http 127.0.0.1:1 127.0.0.1:{port} - - {code}\n"),
    ] {
        let answer = talk(port, None, said.as_bytes());
        let text = String::from_utf8_lossy(&answer);
        // An alert of TLS at most.
        assert!(answer.len() < 8 && !text.contains("sapwood"), "{text:?}");
    }
    all.logs(0, "is refused: it does not speak TLS");
    // Others are answered while one says nothing.
    let _silent = connect(port, None);
    done(&["mkdir", "-m", "x", &format!("{}/x", all.svn_url(all.other()))]);
    assert!(all.routed(all.other(), "svn", "forwarded") > 0);
}

#[test]
fn a_configuration_that_cannot_be_used_is_refused_with_its_line() {
    let all = Cluster::encrypted_at_rest(2, "");
    let file = all.path("0.toml");
    let conf = fs::read_to_string(&file).unwrap();
    let check = |text: &str| {
        fs::write(&file, text).unwrap();
        Programs::ours().run("sapwood", ["serve", "--config", file.to_str().unwrap(), "--check"])
    };
    assert_eq!(check(&conf).code, 0);
    let line = |name: &str| conf.lines().position(|l| l.starts_with(name)).unwrap() + 1;
    let first = line("tls-certificate");
    for (from, to, why) in [
        ("'0.key'", "'1.key'", format!("0.toml:{first}: [servers]: '")),
        (
            "'0.key'",
            "'1.key'",
            "1.key', line 1: the key is not that of the certificate in".to_owned(),
        ),
        ("'0.key'", "'none'", "none': No such file".to_owned()),
        ("'ca.pem'", "'0.key'", "0.key': there is no certificate in it".to_owned()),
        ("tls-ca = 'ca.pem'\n", "", "'tls-ca' is missing: TLS needs".to_owned()),
    ] {
        let checked = check(&conf.replace(from, to));
        let said = checked.stderr_text() + &checked.stdout_text();
        assert!(checked.code != 0 && said.contains(&why), "{why}: {said}");
    }
    // It does not start either.
    let config = ["serve", "--config", file.to_str().unwrap()];
    let started = Programs::ours().run("sapwood", config);
    assert!(started.code != 0 && started.stderr_text().contains("'tls-ca' is missing"));
}

#[test]
fn doctors_see_whose_certificate_is_refused() {
    let mut all = Cluster::encrypted_at_rest(2, "");
    peer(&authority("Our servers"), "127.0.0.1", 2100, &all.path("1"));
    [0, 1].into_iter().for_each(|at| all.start(at));
    let config = all.path("0.toml");
    let said = Programs::ours().run("sapwood", ["doctor", "--config", config.to_str().unwrap()]);
    let text = said.stdout_text() + &said.stderr_text();
    let names = [0, 1].map(|at| format!("'127.0.0.1:{}'", all.members[at].peers));
    assert!(text.contains(&format!("server {} is there", names[0])), "{text}");
    assert!(
        text.contains(&format!("Server {} is refused: its certificate is refused", names[1])),
        "{text}"
    );
}

#[test]
fn a_server_that_begins_to_demand_tls_ends_plain_connections() {
    let mut all = Cluster::encrypted_at_rest(2, "");
    let (owner, other) = (all.owner(), all.other());
    let conf = [0, 1].map(|at| fs::read_to_string(all.path(&format!("{at}.toml"))).unwrap());
    for (at, text) in conf.iter().enumerate() {
        let plain: Vec<&str> = text.lines().filter(|line| !line.starts_with("tls-")).collect();
        fs::write(all.path(&format!("{at}.toml")), plain.join("\n")).unwrap();
        all.start(at);
    }
    let make = |name: &str| ask(&all, other, &format!("MKCOL /repo/{name}"), ADA, "");
    let forwarded = || all.routed(other, "http", "forwarded");
    make("a");
    assert!(patience::wait(30, || forwarded() == 1), "{}", all.log(other));
    // Only the owner demands it: the connection that the other one keeps is of no use any more.
    fs::write(all.path(&format!("{owner}.toml")), &conf[owner]).unwrap();
    let kill = Command::new("kill").args(["-s", "HUP", &all.pid(owner).to_string()]).status();
    assert!(kill.unwrap().success());
    let refused = || {
        make("b");
        all.routed(other, "http", "unreachable") + all.routed(other, "http", "refused") > 0
    };
    assert!(patience::wait(60, refused), "{}", all.log(other));
}
