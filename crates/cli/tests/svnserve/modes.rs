//! How the server is started, ended and told to look again.

use std::fs;
use std::io::Read as _;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sapwood_testkit::server::free_port;
use sapwood_testkit::{Output, Programs, Repository, Shape};

fn repo() -> Repository {
    Repository::scripted(&Shape::few()[0])
}

/// Ends a process that is no child of ours, when the test ends.
struct Daemon(u32);

impl Daemon {
    fn signal(&self, name: &str) -> bool {
        Command::new("kill")
            .arg(format!("-{name}"))
            .arg(self.0.to_string())
            .status()
            .unwrap()
            .success()
    }
    fn runs(&self) -> bool {
        // A zombie whose parent does not look has ended all the same.
        fs::read_to_string(format!("/proc/{}/stat", self.0))
            .is_ok_and(|stat| !stat.contains(") Z "))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if self.runs() {
            self.signal("KILL");
        }
    }
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    assert!(sapwood_testkit::patience::wait(20, &mut done), "{what} does not happen");
}

fn svn(args: &[&str]) -> Output {
    Programs::reference().run("svn", args.iter().chain(&["--non-interactive", "--no-auth-cache"]))
}

#[test]
fn a_daemon_listens_when_the_parent_returns_and_ends_on_sigterm() {
    let repo = repo();
    let port = free_port();
    let pid_file = repo.parent().join("pid");
    let log = repo.parent().join("log");
    fs::write(&pid_file, "an old one").unwrap();
    // Paths relative to where it is started hold in the background, too.
    let out = Output::of(
        Programs::ours()
            .command("svnserve")
            .current_dir(repo.parent())
            .args(["-d", "--listen-host", "127.0.0.1", "--listen-port", &port.to_string()])
            .args(["-r", ".", "--pid-file", "pid", "--log-file", "log"]),
    )
    .expect_success("svnserve -d");
    assert!(out.stdout.is_empty() && out.stderr.is_empty(), "{out:?}");
    let daemon = Daemon(fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap());
    let url = format!("svn://127.0.0.1:{port}/repo");
    svn(&["info", &url]).expect_success("info");
    assert_eq!(fs::read_link(format!("/proc/{}/cwd", daemon.0)).unwrap(), Path::new("/"));
    let name = fs::read_to_string(format!("/proc/{}/comm", daemon.0)).unwrap();
    assert_eq!(name.trim(), "svnserve", "it is found by the name it was started by");
    // SIGHUP: the log was moved away, and a new one is begun.
    fs::rename(&log, repo.parent().join("old-log")).unwrap();
    daemon.signal("HUP");
    wait_until("a new log", || {
        svn(&["info", &url]).expect_success("info");
        fs::read_to_string(&log).is_ok_and(|text| text.contains("get-latest-rev"))
    });
    // An open connection does not keep it from ending.
    let idle = TcpStream::connect(("127.0.0.1", port)).unwrap();
    assert!(daemon.runs());
    daemon.signal("TERM");
    wait_until("the end", || !daemon.runs());
    drop(idle);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn listen_once_serves_one_and_ends() {
    let repo = repo();
    let port = free_port();
    let mut child = Programs::ours()
        .command("svnserve")
        .args(["-X", "--listen-host", "127.0.0.1", "--listen-port", &port.to_string(), "-r"])
        .arg(repo.parent())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let url = format!("svn://127.0.0.1:{port}/repo");
    wait_until("an answer", || svn(&["info", &url]).code == 0);
    assert!(child.wait().unwrap().success());
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(log.contains(" 127.0.0.1 - repo open 2 cap=("), "{log}");
    assert_eq!(svn(&["info", &url]).code, 1);
}

/// Whether a server on this port greets within a moment.
fn greets(stream: &mut TcpStream, moment: Duration) -> bool {
    stream.set_read_timeout(Some(moment)).unwrap();
    stream.read_exact(&mut [0; 10]).is_ok()
}

#[test]
fn addresses_are_those_of_the_reference() {
    let ipv6 = std::net::TcpListener::bind(("::1", 0));
    assert!(ipv6.is_ok(), "this machine has no IPv6 (::1), without which nothing can be compared");
    let repo = repo();
    let reached = |programs: &Programs, options: &[&str]| {
        let port = free_port();
        let mut child = programs
            .command("svnserve")
            .args(["-d", "--foreground", "--listen-port", &port.to_string(), "-r"])
            .arg(repo.parent())
            .args(options)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let reach = || ["127.0.0.1", "::1"].map(|host| TcpStream::connect((host, port)).is_ok());
        wait_until("a listener", || reach().contains(&true));
        let reached = reach();
        child.kill().unwrap();
        child.wait().unwrap();
        reached
    };
    for (options, expected) in [
        (&["-6"][..], [true, true]),
        (&[], [true, false]),
        (&["--listen-host", "::1"], [false, true]),
        (&["-6", "--listen-host", "127.0.0.1"], [true, false]),
    ] {
        assert_eq!(reached(&Programs::reference(), options), expected, "reference: {options:?}");
        assert_eq!(reached(&Programs::ours(), options), expected, "{options:?}");
    }
}

#[test]
fn as_many_at_once_as_there_are_threads() {
    let repo = repo();
    for (options, room) in
        [(&["--single-thread"][..], 1), (&["--max-threads", "1"], 1), (&["--max-threads", "3"], 3)]
    {
        let server = sapwood_testkit::Server::start(&Programs::ours(), repo.parent(), options);
        let connect = || TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        let mut served: Vec<TcpStream> = (0..room).map(|_| connect()).collect();
        for stream in &mut served {
            assert!(greets(stream, Duration::from_secs(20)), "{options:?}");
        }
        // The next one has to wait until one of them goes.
        let mut next = connect();
        assert!(!greets(&mut next, Duration::from_millis(300)), "{options:?}");
        served.pop();
        assert!(greets(&mut next, Duration::from_secs(20)), "{options:?}");
    }
}

/// Whether a line says that a connection has ended, in one of the ways that there are.
fn is_of_an_end(line: &str) -> bool {
    let ends =
        ["Network connection closed unexpectedly", "read from connection", "write to connection"];
    line.contains(" ERR ") && ends.iter().any(|end| line.contains(end))
}

#[test]
fn log_lines_are_those_of_the_reference() {
    let repo = repo();
    let run = |programs: &Programs| -> Vec<String> {
        let log = repo.parent().join(programs.label);
        let options = ["--log-file", log.to_str().unwrap()];
        let server = sapwood_testkit::Server::start(programs, repo.parent(), &options);
        let url = server.url("repo");
        let folder = repo.parent().join(format!("{}-wc", programs.label));
        let wc = folder.to_str().unwrap();
        for args in [
            &["log", "-v", "-l", "3", "--with-all-revprops", &url][..],
            &["info", &format!("{}/nope", server.url(""))],
            &["log", "-g", &format!("{url}/trunk")],
            &["ls", "-R", &url],
            &["ls", "--search", "*.c", &url],
            &["cat", &format!("{url}/trunk/README")],
            &["cat", &format!("{url}/none such")],
            &["checkout", "-q", "-r", "9", &url, wc],
            &["update", "-q", wc],
            &["switch", "-q", "--ignore-ancestry", &format!("{url}/branches/b1"), wc],
            &["status", "-u", "-q", wc],
            &["diff", "-r", "9:12", &url],
            &["diff", "--summarize", "--depth", "files", "-r", "9:12", &format!("{url}/trunk")],
            &["blame", "-g", &format!("{url}/trunk/src/main.c")],
            &["mergeinfo", &format!("{url}/branches/b1"), &format!("{url}/trunk")],
            &["propget", "--revprop", "-r", "3", "svn:log", &url],
            &["info", "-r", "{2004-02-28}", &url],
            &["lock", "--force", &format!("{url}/trunk/README")],
        ] {
            svn(args);
        }
        let server_port = server.port().to_string();
        drop(server);
        let text = fs::read_to_string(&log).unwrap();
        let mut lines: Vec<String> = text
            .lines()
            .map(|line| line.splitn(3, ' ').nth(2).unwrap().replace(&server_port, "PORT"))
            // The reference's server may write, and this is a question of who may.
            .filter(|line| !line.contains(" lock ("))
            // A client that ends in the middle of a reply resets the connection or only closes it: what of
            // that a server meets first is a matter of time, with both.
            .filter(|line| !is_of_an_end(line))
            .collect();
        // Some requests come in the order of the client's hash tables.
        lines.sort();
        lines
    };
    let reference = run(&Programs::reference());
    let ours = run(&Programs::ours());
    let differing: Vec<_> = ours
        .iter()
        .filter(|l| !reference.contains(l))
        .chain(reference.iter().filter(|l| !ours.contains(l)))
        .collect();
    assert!(reference.len() > 40);
    assert!(differing.is_empty(), "{differing:#?}");
}

/// Starts `sapwood serve` and reads what it says up to the hint at its end.
fn serve(args: &[&str], home: &Path) -> (Child, String) {
    let mut child = Programs::ours()
        .command("sapwood")
        .arg("serve")
        .args(args)
        .env("XDG_DATA_HOME", home)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut said = Vec::new();
    let mut byte = [0];
    while !said.ends_with(b"Ctrl-C ends it.\n") {
        assert_eq!(out.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&said));
        said.push(byte[0]);
    }
    child.stdout = Some(out);
    (child, String::from_utf8(said).unwrap())
}

#[test]
fn the_demonstration() {
    let home = tempfile::tempdir().unwrap();
    let port = free_port().to_string();
    let (mut child, said) = serve(&["--demo", "--port", &port], home.path());
    let url = format!("svn://127.0.0.1:{port}/demo");
    assert!(said.contains(&format!("svn log -v {url}\n")), "{said}");
    let log = svn(&["log", "-q", &url]).expect_success("log").stdout_text();
    assert_eq!(log.matches("\nr").count(), 12);
    svn(&["checkout", "-q", &url, home.path().join("wc").to_str().unwrap()]).expect_success("co");
    let new = format!("{url}/branches/new");
    let refused = svn(&["mkdir", "-q", "-m", "new", &new]);
    assert!(refused.stderr_text().contains("E170001"), "{}", refused.stderr_text());
    let user = "--username demo --password demo";
    assert!(said.contains(&format!("svn mkdir -m 'Something new.' {user} {new}\n")), "{said}");
    let mut commit = vec!["mkdir", "-q", "-m", "new", &new];
    commit.extend(user.split(' '));
    svn(&commit).expect_success("commit");
    assert!(
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success()
    );
    let ended = std::os::unix::process::ExitStatusExt::signal(&child.wait().unwrap());
    assert_eq!(ended, Some(2), "what is interrupted dies of that");
    let made = home.path().join("sapwood/demo");
    let verify = Programs::reference().run("svnadmin", ["verify", "-q", made.to_str().unwrap()]);
    verify.expect_success("verify");
}

#[test]
fn a_folder_of_repositories() {
    let repo = repo();
    fs::create_dir(repo.parent().join("not a repository")).unwrap();
    let port = free_port().to_string();
    let (mut child, said) =
        serve(&[repo.parent().to_str().unwrap(), "--port", &port], repo.parent());
    assert!(said.contains(&format!("  svn://127.0.0.1:{port}/repo\n")), "{said}");
    svn(&["info", &format!("svn://127.0.0.1:{port}/repo")]).expect_success("info");
    child.kill().unwrap();
    child.wait().unwrap();
    // One repository by itself is served alone, under its own name.
    fs::create_dir(repo.parent().join("x")).unwrap();
    let (mut child, said) = serve(&[&repo.arg(), "--port", &port], repo.parent());
    assert!(said.contains(&format!("  svn://127.0.0.1:{port}/repo\n")), "{said}");
    svn(&["info", &format!("svn://127.0.0.1:{port}/repo")]).expect_success("info");
    child.kill().unwrap();
    child.wait().unwrap();
    let nothing =
        Programs::ours().run("sapwood", ["serve", repo.parent().join("x").to_str().unwrap()]);
    assert_eq!(nothing.code, 1);
    assert!(nothing.stderr_text().contains("No repository found in"));
}

/// Idle clients of svn:// and http:// are no reason for a server to wait when it is to end.
#[test]
fn a_server_with_idle_clients_ends_at_once() {
    let repo = repo();
    let (port, http) = (free_port(), free_port());
    let ports = [port, http].map(|port| port.to_string());
    let args = [&repo.arg(), "--port", &ports[0], "--http-port", &ports[1]];
    let (mut child, _) = serve(&args, repo.parent());
    let idle: Vec<_> = [port, http]
        .into_iter()
        .cycle()
        .take(40)
        .map(|port| std::net::TcpStream::connect(("127.0.0.1", port)).unwrap())
        .collect();
    for mut client in idle.iter().step_by(2) {
        assert_eq!(client.read(&mut [0; 9]).unwrap(), 9, "the server's greeting");
    }
    let begun = Instant::now();
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    child.wait().unwrap();
    // Requests under way would be given five seconds.
    assert!(begun.elapsed() < Duration::from_secs(4), "after {:?}", begun.elapsed());
}
