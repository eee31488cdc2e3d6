//! `sapwood serve --config` with a configuration of the test, and plain requests to it.

#![allow(dead_code, reason = "not every test needs everything")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sapwood_testkit::server::free_port;
use sapwood_testkit::{Programs, Repository, Shape};

/// The status of an answer.
pub(crate) fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
}

/// A running server, and the repository below its folder.
pub(crate) struct Served {
    child: Child,
    pub(crate) port: u16,
    pub(crate) repo: Repository,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The users ada and bob, with the passwords `a` and `b`.
pub(crate) const USERS: &str =
    "ada:{SHA}hvfkN/qlp/zhXR3cuerq6jd2Z7g=\nbob:{SHA}6dcfXufJLW3J6S/9rRe4vUlBj5g=\n";
/// What `htdigest` writes for the passwords `a` and `b`, in the realm `Ours`.
const DIGESTS: &str =
    "ada:Ours:ab6b978b263b8f63cfdb43ea3c47051d\nbob:Ours:44ab9e3fdfebbcbd49d80d4ec756c183\n";
pub(crate) const ADA: &str = "Authorization: Basic YWRhOmE=\r\n";
pub(crate) const BOB: &str = "Authorization: Basic Ym9iOmI=\r\n";
pub(crate) const WRONG: &str = "Authorization: Basic YWRhOng=\r\n";

/// The repository at `/svn/repo`, where users have to log in.
pub(crate) const LOGIN_PLACE: &str =
    "[[location]]\nurl = \"/svn\"\nfolder = \".\"\nanonymous = \"read\"\nusers = \"users\"\n";

/// Runs our `svn` as ada.
pub(crate) fn svn_as_ada(args: &[&str]) -> sapwood_testkit::Output {
    let login = ["--username", "ada", "--password", "a", "--no-auth-cache", "--non-interactive"];
    Programs::ours().run("svn", [args, &login].concat())
}

/// What 1.14's client says as a user; `URL` is the repository's.
pub(crate) fn reference_svn(
    served: &Served,
    (name, secret): (&str, &str),
    args: &[&str],
) -> Result<(), String> {
    let login = ["--no-auth-cache", "--non-interactive", "--username", name, "--password", secret];
    let base = format!("http://127.0.0.1:{}/svn/repo", served.port);
    let args = args.iter().map(|arg| arg.replace("URL", &base));
    let args: Vec<String> = args.chain(login.map(str::to_owned)).collect();
    let output = Programs::reference().run("svn", args);
    if output.code == 0 { Ok(()) } else { Err(output.stderr_text()) }
}

/// Starts `sapwood serve` with a configuration, and waits until it serves.
pub(crate) fn serve(config: &Path) -> Child {
    serve_with(config, |_| {})
}

/// The same, as a command that `change` has changed.
fn serve_with(config: &Path, change: impl FnOnce(&mut Command)) -> Child {
    let mut command = Programs::ours().command("sapwood");
    command.args(["serve", "--config"]).arg(config).stdout(Stdio::piped());
    change(&mut command);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("Ctrl-C")), "it serves");
    std::thread::spawn(move || lines.for_each(drop));
    child
}

impl Served {
    pub(crate) fn start(config: &str) -> Self {
        Self::start_with(config, |_| {})
    }

    /// The same, as a command that `change` has changed.
    pub(crate) fn start_with(config: &str, change: impl FnOnce(&mut Command)) -> Self {
        Self::start_at(config, |_| {}, change)
    }

    /// The same, with more files in the folder of the configuration, which may name its port as `{PORT}`.
    pub(crate) fn start_in(config: &str, prepare: impl FnOnce(&Path)) -> Self {
        Self::start_at(config, prepare, |_| {})
    }

    fn start_at(
        config: &str,
        prepare: impl FnOnce(&Path),
        change: impl FnOnce(&mut Command),
    ) -> Self {
        let repo = Repository::scripted(&Shape::few()[0]);
        let base = repo.parent();
        fs::write(base.join("users"), USERS).unwrap();
        fs::write(base.join("digests"), DIGESTS).unwrap();
        fs::write(base.join("rules"), "[/]\n* = r\nada = rw\n[/trunk]\n* =\nada = rw\n").unwrap();
        fs::write(base.join("deep"), "[/]\n* =\n[/trunk]\n* = rw\n").unwrap();
        let port = free_port();
        prepare(base);
        let file = base.join("sapwood.toml");
        let config = config.replace("{PORT}", &port.to_string());
        fs::write(&file, format!("http-port = {port}\n{config}")).unwrap();
        Self { child: serve_with(&file, change), port, repo }
    }

    /// The server's process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Starts a server that has ended again.
    pub(crate) fn start_again(&mut self) {
        self.child.wait().unwrap();
        self.child = serve(&self.repo.parent().join("sapwood.toml"));
    }

    /// Ends the server as an administrator would, and waits for that.
    pub(crate) fn end(&mut self) {
        let pid = self.child.id().to_string();
        assert!(std::process::Command::new("kill").arg(pid).status().unwrap().success());
        self.child.wait().unwrap();
    }

    pub(crate) fn get(&self, path: &str, headers: &str) -> String {
        self.request("GET", path, headers, "")
    }

    /// Ada's request, and its status.
    pub(crate) fn ada(&self, method: &str, path: &str, headers: &str, body: &str) -> u16 {
        status(&self.request(method, path, &format!("{ADA}{headers}"), body))
    }

    /// The youngest revision, as the reference reads it from the repository's files.
    pub(crate) fn youngest(&self) -> u64 {
        let url = format!("file://{}", self.repo.path().display());
        let args = ["info", "--show-item", "revision", "--no-newline", &url];
        let said = Programs::reference().run("svn", args).expect_success("svn").stdout_text();
        said.parse().unwrap()
    }

    /// A request with a body, and all of its answer.
    pub(crate) fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        String::from_utf8_lossy(&self.raw(&self.bytes(method, path, headers, body.as_bytes())))
            .into_owned()
    }

    /// The bytes of a request.
    pub(crate) fn bytes(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
        let length = match (method, body.len()) {
            ("GET" | "HEAD", 0) => String::new(),
            (_, length) => format!("Content-Length: {length}\r\n"),
        };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: h:1\r\nConnection: close\r\n{headers}{length}\r\n"
        );
        [head.as_bytes(), body].concat()
    }

    /// Sends bytes, and reads all that comes back.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Vec<u8> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        // The server may close before it has read all.
        let _ = socket.write_all(bytes);
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        answer
    }

    /// The statuses of requests for a path by an anonymous user, ada, bob and ada with a wrong password.
    pub(crate) fn statuses(&self, path: &str) -> Vec<u16> {
        let status = |headers: &str| {
            let answer = self.get(path, headers);
            answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
        };
        ["", ADA, BOB, WRONG].into_iter().map(status).collect()
    }
}
