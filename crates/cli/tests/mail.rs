//! Mail after commits by a real mail server, which takes it only over TLS and after a login.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;

use sapwood_testkit::Programs;
use sapwood_testkit::exim::{Exim, LOGIN};

use crate::common::{certificates, places};
use crate::monitor::until;
use places::Served;

/// A server that sends mail to one at this URL; `more` is of the section.
fn served(folder: &Path, url: &str, more: &str) -> Served {
    served_with_password(folder, url, LOGIN.1, more)
}

fn served_with_password(folder: &Path, url: &str, password: &str, more: &str) -> Served {
    fs::write(folder.join("password"), format!("{password}\n")).unwrap();
    let at = folder.display();
    let served = Served::start(&format!(
        "path = '.'\nsvn-port = 0\nlog-file = '{at}/log'\nqueue-folder = '{at}/queue'\n[[mail]]\nname = 'devs'\n\
         server = '{url}'\nfrom = 'Svn <svn@example.com>'\nto = ['a@example.com', 'b@example.com']\n\
         user = '{}'\npassword-file = '{at}/password'\n{more}\n",
        LOGIN.0
    ));
    let conf = served.repo.path().join("conf/svnserve.conf");
    fs::write(conf, "[general]\nanon-access = write\n").unwrap();
    served
}

fn commit(served: &Served, message: &str) {
    let url = format!("http://127.0.0.1:{}/repo/{message}", served.port);
    let args = ["--no-auth-cache", "--non-interactive", "mkdir", "-m", message, &url];
    Programs::reference().run("svn", args).expect_success("mkdir");
}

/// The lines of the server's log about its mail server.
fn log(folder: &Path) -> String {
    let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
    log.lines().filter(|line| line.contains("devs")).collect::<Vec<_>>().join("\n")
}

#[test]
fn mail_goes_out_over_tls_after_a_login() {
    let folder = tempfile::tempdir().unwrap();
    let authority = certificates::authority("The Test");
    certificates::server(&authority, folder.path());
    fs::write(folder.path().join("ca"), authority.pem()).unwrap();
    let [certificate, key] = ["certificate", "key"].map(|name| folder.path().join(name));
    let exim = Exim::start(&certificate, &key);
    let ca = format!("ca = '{}/ca'", folder.path().display());
    let urls = [
        format!("smtp://localhost:{}", exim.port()),
        format!("smtps://localhost:{}", exim.wrapped_port()),
    ];
    for (at, url) in urls.iter().enumerate() {
        let served = served(folder.path(), url, &ca);
        let revision = served.youngest() + 1;
        commit(&served, &format!("number{at}"));
        until("a mail", || exim.mail().len() == at + 1);
        let all = exim.mail();
        let mail = all.iter().find(|mail| mail.contains(&format!("number{at}"))).unwrap();
        for part in [
            "-received_protocol esmtpsa",
            "-auth_id svn",
            "<svn@example.com>",
            "b@example.com\n",
            &format!("Subject: [repo] r{revision} (no author): number{at}\n"),
            &format!("   A /number{at}\n"),
        ] {
            assert!(mail.contains(part), "{url}: {part}: {mail}");
        }
    }
}

#[test]
fn no_mail_and_no_password_goes_to_a_server_that_is_not_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let [own, other] = ["The Test", "Another"].map(certificates::authority);
    certificates::server(&own, folder.path());
    fs::write(folder.path().join("ca"), own.pem()).unwrap();
    fs::write(folder.path().join("other"), other.pem()).unwrap();
    let [certificate, key] = ["certificate", "key"].map(|name| folder.path().join(name));
    let exim = Exim::start(&certificate, &key);
    let urls = [
        format!("smtp://localhost:{}", exim.port()),
        format!("smtps://localhost:{}", exim.wrapped_port()),
        // The certificate is of another name.
        format!("smtps://127.0.0.1:{}", exim.wrapped_port()),
    ];
    let at = folder.path().display();
    for (url, ca) in urls.iter().zip(["other", "other", "ca"]) {
        let folder = tempfile::tempdir().unwrap();
        let served = served(folder.path(), url, &format!("ca = '{at}/{ca}'"));
        commit(&served, "new");
        until("a line about it", || log(folder.path()).contains("certificate"));
    }
    assert_eq!(exim.mail(), [""; 0]);
    // A wrong password goes to a trusted server, over TLS, which takes nothing after it.
    let served = served_with_password(folder.path(), &urls[0], "x", &format!("ca = '{at}/ca'"));
    commit(&served, "new");
    until("a line about it", || log(folder.path()).contains("535"));
    assert_eq!(exim.mail(), [""; 0]);
}

/// A server that offers no TLS gets neither the mail nor the password.
#[test]
fn nothing_is_sent_to_a_server_without_tls() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let said = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"220 here\r\n").unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let mut said = Vec::new();
        for line in lines.map_while(Result::ok) {
            said.push(line);
            if stream.write_all(b"250-here\r\n250 AUTH PLAIN LOGIN\r\n").is_err() {
                break;
            }
        }
        said
    });
    let served = served(folder.path(), &format!("smtp://127.0.0.1:{port}"), "");
    commit(&served, "new");
    until("a line about it", || !log(folder.path()).is_empty());
    drop(served);
    let said = said.join().unwrap();
    let is_harmless = |line: &String| line.starts_with("EHLO ") || line == "QUIT";
    assert!(!said.is_empty() && said.iter().all(is_harmless), "{said:?}");
}
