//! Several `sapwood serve` processes for one repository in a store, which know each other.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

use sapwood_peers::{Name, owner::owner};
use sapwood_testkit::server::free_port;
use sapwood_testkit::{Output, Programs, patience};
use socket2::{Domain, Socket, Type};

use super::certificates;
use super::places::{self, ADA, status};

/// The secret of all of them.
pub const SECRET: &str = "the secret of all servers of a test";

/// One of the servers.
pub struct Member {
    child: Option<Child>,
    pub svn: u16,
    pub http: u16,
    pub peers: u16,
    metrics: u16,
}

/// The servers, and what is theirs: the folder `N/repo` is the repository of server N.
pub struct Cluster {
    folder: tempfile::TempDir,
    pub members: Vec<Member>,
}

/// A configuration's part that says who may do what.
const OPEN: &str =
    "[general]\nanon-access = read\nauth-access = write\npassword-db = passwd\nauthz-db = authz\n";
/// What is in `authz`: one folder is hidden from all but ada.
const AUTHZ: &str = "[/]\n* = rw\n[/hidden]\n* =\nada = rw\n";

fn ours(args: &[&str]) {
    Programs::ours().run("sapwood", args).expect_success(args[0]);
}

impl Drop for Cluster {
    fn drop(&mut self) {
        (0..self.members.len()).for_each(|at| self.kill(at));
    }
}

impl Cluster {
    /// So many servers, of which all begin. `more` is added to the configuration of each.
    pub fn new(count: usize, more: &str) -> Self {
        let mut all = Self::at_rest(count, more);
        (0..count).for_each(|at| all.start(at));
        all
    }

    /// The same without starting them.
    pub fn at_rest(count: usize, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("file://{}/store", folder.path().display());
        fs::write(folder.path().join("secret"), format!("{SECRET}\n")).unwrap();
        let member = |_| Member {
            child: None,
            svn: free_port(),
            http: free_port(),
            peers: free_port(),
            metrics: free_port(),
        };
        let all = Self { folder, members: (0..count).map(member).collect() };
        for at in 0..count {
            let repository = all.repository(at);
            fs::create_dir_all(repository.parent().unwrap()).unwrap();
            let verb = if at == 0 { "create" } else { "attach" };
            ours(&["store", verb, &address, repository.to_str().unwrap()]);
            all.configure(at, &all.list(), more);
        }
        let conf = all.repository(0).join("conf");
        fs::write(conf.join("svnserve.conf"), OPEN).unwrap();
        fs::write(conf.join("passwd"), "[users]\nada = a\nbob = b\n").unwrap();
        fs::write(conf.join("authz"), AUTHZ).unwrap();
        ours(&["store", "push", all.repository(0).to_str().unwrap()]);
        all
    }

    /// As [`Cluster::new`], with TLS between them.
    pub fn encrypted(count: usize, more: &str) -> Self {
        let mut all = Self::encrypted_at_rest(count, more);
        (0..count).for_each(|at| all.start(at));
        all
    }

    /// The same without starting them: `N.pem`, `N.key` and `ca.pem` are the files of server N.
    pub fn encrypted_at_rest(count: usize, more: &str) -> Self {
        let all = Self::at_rest(count, more);
        let authority = certificates::authority("Our servers");
        fs::write(all.path("ca.pem"), authority.pem()).unwrap();
        for at in 0..count {
            certificates::peer(&authority, "127.0.0.1", 2100, &all.path(&at.to_string()));
            all.configure(at, &all.list(), more);
        }
        all
    }

    /// The list of all, as a configuration has it.
    pub fn list(&self) -> String {
        let names: Vec<_> =
            self.members.iter().map(|m| format!("'127.0.0.1:{}'", m.peers)).collect();
        format!("own = {{own}}\nlist = [{}]\n", names.join(", "))
    }

    /// Writes the configuration of a server. In `servers` `{own}` is its own name.
    pub fn configure(&self, at: usize, servers: &str, more: &str) {
        let Member { svn, http, peers, metrics, .. } = self.members[at];
        let servers = servers.replace("{own}", &format!("'127.0.0.1:{peers}'"));
        let tls = match self.path("ca.pem").exists() {
            true => {
                format!("tls-certificate = '{at}.pem'\ntls-key = '{at}.key'\ntls-ca = 'ca.pem'\n")
            }
            false => String::new(),
        };
        let conf = format!(
            "path = '{at}'\nsvn-port = {svn}\nhttp-port = {http}\nmetrics-listen = '127.0.0.1:{metrics}'\n\
             log-file = 'log{at}'\n{more}\n[servers]\n{servers}listen = '127.0.0.1:{peers}'\nsecret-file = 'secret'\n{tls}"
        );
        fs::write(self.path(&format!("{at}.toml")), conf).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn repository(&self, at: usize) -> PathBuf {
        self.path(&format!("{at}/repo"))
    }

    pub fn start(&mut self, at: usize) {
        let child = places::serve(&self.path(&format!("{at}.toml")));
        self.members[at].child = Some(child);
    }

    pub fn kill(&mut self, at: usize) {
        if let Some(mut child) = self.members[at].child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    pub fn pid(&self, at: usize) -> u32 {
        self.members[at].child.as_ref().unwrap().id()
    }

    /// The server that the repository belongs to.
    pub fn owner(&self) -> usize {
        let text = fs::read_to_string(self.repository(0).join("db/fs-type")).unwrap();
        let token = text.lines().nth(2).unwrap();
        let name = |m: &Member| Name::parse(&format!("127.0.0.1:{}", m.peers)).unwrap();
        let names: Vec<Name> = self.members.iter().map(name).collect();
        let found = owner(token, names.iter()).unwrap();
        names.iter().position(|name| name == found).unwrap()
    }

    /// A server that it does not belong to.
    pub fn other(&self) -> usize {
        (self.owner() + 1) % self.members.len()
    }

    pub fn svn_url(&self, at: usize) -> String {
        format!("svn://127.0.0.1:{}/repo", self.members[at].svn)
    }

    pub fn http_url(&self, at: usize) -> String {
        format!("http://127.0.0.1:{}/repo", self.members[at].http)
    }

    /// What a server has counted; 0 for what it has not.
    pub fn routed(&self, at: usize, door: &str, result: &str) -> u64 {
        let labels = format!("door=\"{door}\",result=\"{result}\"");
        self.count(at, &format!("sapwood_routed_total{{{labels}}} "))
    }

    /// How many connections of a protocol a server has.
    pub fn connections(&self, at: usize, protocol: &str) -> u64 {
        self.count(at, &format!("sapwood_connections{{protocol=\"{protocol}\"}} "))
    }

    fn count(&self, at: usize, series: &str) -> u64 {
        let answer = talk(self.members[at].metrics, None, b"GET /metrics HTTP/1.0\r\n\r\n");
        let text = String::from_utf8(answer).unwrap();
        text.lines().find_map(|line| line.strip_prefix(series)?.parse().ok()).unwrap_or(0)
    }

    /// The operation log of a server.
    pub fn log(&self, at: usize) -> String {
        fs::read_to_string(self.path(&format!("log{at}"))).unwrap_or_default()
    }

    /// Waits until a server's log has a text.
    #[track_caller]
    pub fn logs(&self, at: usize, text: &str) {
        let is_there = patience::wait(30, || self.log(at).contains(text));
        assert!(is_there, "{text} is not in the log of {at}: {}", self.log(at));
    }
}

/// What 1.14's client says as ada.
pub fn reference(args: &[&str]) -> Output {
    let who = ["--username", "ada", "--password", "a", "--no-auth-cache", "--non-interactive"];
    Programs::reference().run("svn", [args, &who].concat())
}

/// The same, of a command that succeeds.
#[track_caller]
pub fn done(args: &[&str]) -> String {
    reference(args).expect_success(&args.join(" ")).stdout_text()
}

/// A connection to a port of this machine, from an address of it.
pub fn connect(port: u16, from: Option<&str>) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    if let Some(from) = from {
        let from: SocketAddr = format!("{from}:0").parse().unwrap();
        socket.bind(&from.into()).unwrap();
    }
    let to: SocketAddr = format!("127.0.0.1:{port}").parse().unwrap();
    socket.connect(&to.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// Says something, and returns all that the other side says until it closes the connection.
pub fn talk(port: u16, from: Option<&str>, said: &[u8]) -> Vec<u8> {
    let mut stream = connect(port, from);
    stream.write_all(said).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// A request over a connection of its own, from an address, and the answer without what differs by its time and number.
pub fn ask(all: &Cluster, at: usize, head: &str, headers: &str, body: &str) -> String {
    let request = format!(
        "{head} HTTP/1.1\r\nHost: any.example\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    let answer = talk(all.members[at].http, Some("127.0.0.77"), request.as_bytes());
    let text = String::from_utf8(answer).unwrap();
    let differs = |line: &&str| {
        let line = line.to_ascii_lowercase();
        line.starts_with("date:") || line.starts_with("x-request-id:")
    };
    text.split_inclusive("\r\n").filter(|line| !differs(line)).collect()
}

/// The value of a header in an answer.
pub fn header<'a>(answer: &'a str, name: &str) -> &'a str {
    let line =
        answer.lines().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}: ")));
    line.unwrap_or_else(|| panic!("no {name} in {answer}")).split_once(": ").unwrap().1
}

/// Begins a commit through a server: its name.
pub fn begin(all: &Cluster, at: usize) -> String {
    let kind = format!("{ADA}Content-Type: application/vnd.svn-skel\r\n");
    let answer = ask(all, at, "POST /repo/!svn/me", &kind, "( create-txn )");
    assert_eq!(status(&answer), 201, "{answer}");
    header(&answer, "svn-txn-name").to_owned()
}

pub fn merge(name: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><D:merge xmlns:D=\"DAV:\"><D:source><D:href>/repo/!svn/txn/{name}\
         </D:href></D:source></D:merge>"
    )
}
