//! Kerberos over svn:// and http: both clients and both servers in a realm of their own.
//!
//! The program has to be built with the feature: Debian's `libkrb5-dev`, `libclang1-14` and `libclang-common-14-dev`, and
//! for the tests `krb5-kdc krb5-admin-server krb5-user libsasl2-modules-gssapi-mit libapache2-mod-auth-gssapi`; then
//! `cargo test -p sapwood-cli --features kerberos --test it kerberos::`.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Stdio};

use sapwood_testkit::kdc::Kdc;
use sapwood_testkit::server::free_port;
use sapwood_testkit::{Output, Programs, Repository, Shape};

use crate::common::httpd::{self, Httpd};
use crate::common::places::{self, Served};

struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(programs: &Programs, repo: &Repository, kdc: &Kdc) -> Self {
        let port = free_port();
        let mut command = programs.command("svnserve");
        command
            .args(["-d", "--foreground", "--listen-host", "127.0.0.1", "--listen-port"])
            .arg(port.to_string())
            .arg("-r")
            .arg(repo.parent())
            .arg("--log-file")
            .arg(repo.parent().join("log"))
            .env("SASL_CONF_PATH", repo.parent())
            .stdout(Stdio::null());
        let mut server = Self { child: kdc.serve(&mut command).spawn().unwrap(), port };
        let is_up = sapwood_testkit::patience::wait(20, || {
            assert!(server.child.try_wait().unwrap().is_none(), "svnserve does not start");
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        assert!(is_up, "svnserve does not listen");
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configure(repo: &Repository, more: &str, sasl: &str) {
    let conf = repo.path().join("conf");
    let general = "[general]\npassword-delay = 0\nanon-access = none\npassword-db = passwd\nrealm = A place\n";
    fs::write(conf.join("svnserve.conf"), format!("{general}[sasl]\nuse-sasl = true\n{more}"))
        .unwrap();
    fs::write(conf.join("passwd"), "[users]\nada = secret\n").unwrap();
    fs::write(repo.parent().join("svn.conf"), sasl).unwrap();
}

fn run(client: &Programs, kdc: &Kdc, tickets: &Path, port: u16, args: &[&str]) -> Output {
    svn(client, kdc, tickets, &format!("svn://localhost:{port}/repo"), args)
}

fn svn(client: &Programs, kdc: &Kdc, tickets: &Path, url: &str, args: &[&str]) -> Output {
    let mut command = client.command("svn");
    let args = args.iter().map(|arg| arg.replace("URL", url));
    command.args(args).args(["--non-interactive", "--no-auth-cache"]);
    let output = kdc.visit(&mut command, tickets).output().unwrap();
    Output { code: output.status.code().unwrap(), stdout: output.stdout, stderr: output.stderr }
}

#[test]
fn tickets_open_svnserve() {
    let kdc = Kdc::start(&["svn/localhost"], &[("ada", "secret")]);
    let tickets = kdc.tickets("ada", "secret");
    let none = Path::new("/nonexistent/tickets");
    let both = [Programs::reference(), Programs::ours()];
    for (server, is_ours) in both.iter().zip([false, true]) {
        let repo = Repository::scripted(&Shape::few()[0]);
        for limits in [
            "max-encryption = 0\n",
            "min-encryption = 1\nmax-encryption = 1\n",
            "min-encryption = 2\n",
            "",
        ] {
            configure(&repo, limits, "mech_list: GSSAPI\n");
            let server = Server::start(server, &repo, &kdc);
            for client in &both {
                let what = format!("server ours: {is_ours}, {limits:?}");
                let cat = run(client, &kdc, &tickets, server.port, &["cat", "URL/trunk/README"]);
                let cat = cat.expect_success(&what);
                assert!(cat.stdout_text().starts_with("Read me."), "{what}");
                let large = repo.parent().join("large");
                fs::write(&large, "0123456789abcdef".repeat(10_000)).unwrap();
                let large = large.to_str().unwrap();
                let import = ["import", "-q", "-m", "x", large, "URL/trunk/ticket"];
                run(client, &kdc, &tickets, server.port, &import).expect_success(&what);
                let log = run(client, &kdc, &tickets, server.port, &["log", "-l1", "URL"]);
                assert!(log.expect_success(&what).stdout_text().contains("| ada |"), "{what}");
                let remove = ["rm", "-q", "-m", "x", "URL/trunk/ticket"];
                run(client, &kdc, &tickets, server.port, &remove).expect_success(&what);
                let refused = run(client, &kdc, none, server.port, &["cat", "URL/trunk/README"]);
                assert_eq!(refused.code, 1, "{what}: without a ticket");
            }
        }
        if is_ours {
            // Users without a ticket have passwords.
            configure(&repo, "", "mech_list: GSSAPI SCRAM-SHA-256\n");
            let server = Server::start(server, &repo, &kdc);
            for client in &both {
                let mut args = vec!["cat", "URL/trunk/README"];
                args.extend(["--username", "ada", "--password", "secret"]);
                run(client, &kdc, none, server.port, &args).expect_success("a password");
                args.truncate(2);
                run(client, &kdc, &tickets, server.port, &args).expect_success("a ticket");
            }
        }
    }
}

#[test]
fn a_ticket_for_another_service_is_refused() {
    let kdc = Kdc::start(&["imap/localhost"], &[("ada", "secret")]);
    let tickets = kdc.tickets("ada", "secret");
    let repo = Repository::scripted(&Shape::few()[0]);
    configure(&repo, "", "mech_list: GSSAPI\n");
    let server = Server::start(&Programs::ours(), &repo, &kdc);
    let refused = run(&Programs::ours(), &kdc, &tickets, server.port, &["cat", "URL/trunk/README"]);
    assert_eq!(refused.code, 1);
    // A client that sends something else is a failed login like others.
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let url = format!("svn://localhost:{}/repo", server.port);
    let greeting = format!("( 2 ( edit-pipeline ) {}:{url} 1:x ( ) ) ", url.len());
    stream.write_all(greeting.as_bytes()).unwrap();
    stream.write_all(b"( GSSAPI ( 12:bm90aGluZw== ) ) ").unwrap();
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut said = String::new();
    let _ = stream.read_to_string(&mut said);
    let has_log = sapwood_testkit::patience::wait(20, || {
        let log = fs::read_to_string(repo.parent().join("log")).unwrap_or_default();
        log.contains("Authentication Failed GSSAPI")
    });
    assert!(has_log, "{said}");
}

/// Reading, a commit and its author, and no ticket, over http.
fn tickets_count(kdc: &Kdc, client: &Programs, url: &str, what: &str) {
    let tickets = kdc.tickets("ada", "secret");
    let svn = |tickets: &Path, args: &[&str]| svn(client, kdc, tickets, url, args);
    let cat = svn(&tickets, &["cat", "URL/trunk/README"]).expect_success(what);
    assert!(cat.stdout_text().starts_with("Read me."), "{what}");
    let folder = tempfile::tempdir().unwrap();
    let large = folder.path().join("large");
    fs::write(&large, "0123456789abcdef".repeat(10_000)).unwrap();
    let import = ["import", "-q", "-m", "x", large.to_str().unwrap(), "URL/trunk/ticket"];
    svn(&tickets, &import).expect_success(what);
    let log = svn(&tickets, &["log", "-l1", "URL"]).expect_success(what);
    assert!(log.stdout_text().contains("| ada |"), "{what} {}", log.stdout_text());
    svn(&tickets, &["rm", "-q", "-m", "x", "URL/trunk/ticket"]).expect_success(what);
    let refused = svn(Path::new("/nonexistent/tickets"), &["cat", "URL/trunk/README"]);
    assert_eq!(refused.code, 1, "{what}: without a ticket");
}

#[test]
fn tickets_open_our_http_server() {
    let kdc = Kdc::start(&["HTTP/localhost", "imap/localhost"], &[("ada", "secret"), ("bob", "b")]);
    let config = "log-file = 'log'\n[[location]]\nurl = '/svn'\nfolder = '.'\nlogin = 'required'\nkerberos = true\n\
                  members = ['ada']\npassword-delay = 0\n[[location]]\nurl = '/both'\nfolder = '.'\n\
                  login = 'required'\nkerberos = true\nusers = 'users'\n";
    let served = Served::start_with(config, |command| {
        kdc.serve(command);
    });
    let url = format!("http://localhost:{}/svn/repo", served.port);
    for client in [Programs::reference(), Programs::ours()] {
        tickets_count(&kdc, &client, &url, "our server");
        // The ticket is right, and the user is not one of the members.
        let bob = kdc.tickets("bob", "b");
        let refused = svn(&client, &kdc, &bob, &url, &["ls", "URL"]);
        assert!(refused.stderr_text().contains("E175013"), "{}", refused.stderr_text());
    }
    // A user without a ticket has a password.
    let both = url.replace("/svn/", "/both/");
    let with_password = ["ls", "URL", "--username", "ada", "--password", "a"];
    for client in [Programs::reference(), Programs::ours()] {
        let none = Path::new("/nonexistent/tickets");
        svn(&client, &kdc, none, &both, &with_password).expect_success("a password");
    }
    let answer = served.get("/both/repo/", "");
    assert_eq!(places::status(&answer), 401);
    assert!(answer.contains("Negotiate\r\n") && answer.contains("Basic realm="), "{answer}");
    assert!(!served.get("/svn/repo/", "").contains("Basic"), "no password file");
    // What is no ticket is a failed login like others.
    for token in ["bm90aGluZw==", "TlRMTVNTUAABAAAA", "!", ""] {
        let answer = served.get("/svn/repo/", &format!("Authorization: Negotiate {token}\r\n"));
        assert_eq!(places::status(&answer), 401, "{token}");
    }
    let log = fs::read_to_string(served.repo.parent().join("log")).unwrap();
    assert!(log.contains("Authentication Failed Negotiate"), "{log}");
}

#[test]
fn tickets_open_httpd() {
    let kdc = Kdc::start(&["HTTP/localhost"], &[("ada", "secret")]);
    let repo = Repository::scripted(&Shape::few()[0]);
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let conf = httpd::configuration(folder.path(), port, &["auth_gssapi"])
        + &format!(
            "<Location /svn>\nDAV svn\nSVNParentPath {}\nAuthType GSSAPI\nAuthName Ours\nGssapiLocalName On\n\
             GssapiCredStore keytab:{}\nRequire valid-user\n</Location>\n",
            repo.parent().display(),
            kdc.keytab().display()
        );
    httpd::hand_over(repo.parent());
    httpd::hand_over(folder.path());
    let _httpd = Httpd::start_with(folder.path(), port, &conf, |command| {
        kdc.serve(command);
    });
    let url = format!("http://localhost:{port}/svn/repo");
    for client in [Programs::reference(), Programs::ours()] {
        tickets_count(&kdc, &client, &url, "httpd");
    }
}
